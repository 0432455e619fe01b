"""Tables of many systems: the supplement's own, and a new system beside the published ones."""

import csv
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from latex_support import compiled, needs_latex, well_set
from support import (
    ANON,
    B1,
    B2,
    ODD_NAME,
    ORIG,
    OTHER_PROTOCOL,
    ROOT,
    cells_of,
    changed,
    imported,
    scored,
    side_by_side,
    with_eer,
)

from privacy_eval.metrics import CAVEATS
from privacy_eval.numbers.cells import Cells, cells_from_published, cells_from_results, merge_cells
from privacy_eval.numbers.means import Means
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.protocol.published import load_published_results, load_systems
from privacy_eval.report.comparison_tables import (
    POSTERIOR_ODDS,
    comparison_tables,
    submissions_table,
    system_columns,
    weights_text,
    zebra_category,
)
from privacy_eval.report.latex import latex_document, to_latex
from privacy_eval.report.table import Table
from privacy_eval.report.table_formats import in_format, to_csv, to_markdown
from privacy_eval.results.records import Results, merge

PROTOCOL = load_protocol("vpc2020")
PUBLISHED = cells_from_published(load_published_results("vpc2020"))


def regenerated() -> dict[int, Table]:
    """The supplement's tables by number, which have neither averages nor categories."""
    uncoloured = replace(PUBLISHED, families={})
    return dict(enumerate(map(printed, comparison_tables(Means(uncoloured, PROTOCOL))), start=2))


def printed(table: Table) -> Table:
    rows = iter(range(len(table.rows)))
    kept = [n for n, row in zip(rows, table.rows, strict=True) if row[0] != "Weighted average"]
    groups = tuple(
        tuple(
            tuple(re.sub(r"(\d) [0A-F]$", r"\1", cell) for cell in row)
            for row in group
            if row[0] != "Weighted average"
        )
        for group in table.groups
    )
    bold = frozenset((kept.index(n), column) for n, column in table.bold if n in kept)
    return replace(table, groups=groups, bold=bold)


# --- the supplement's tables


def test_tables_contain_the_published_file_in_its_order() -> None:
    """By another path: the CSV's lines, of each table one after another."""
    path = ROOT / "conf" / "published" / "vpc2020.csv"
    lines = [r for r in csv.DictReader(path.open()) if int(r["table"]) <= 15]
    titles = {d.id: d.title.replace("(", "").replace(")", "") for d in PROTOCOL.data_sets}
    for number, table in regenerated().items():
        of_table = [r for r in lines if r["table"] == str(number)]
        header = [c.title for c in table.columns]
        marks = re.compile(r"\\textbf\{([^{}]*)\}| \\\\$")
        in_latex = [
            [marks.sub(r"\1", cell).replace("$-$", "-") for cell in row[2:]]
            for row in latex_rows(to_latex(table, "challenge"))
        ]
        assert in_latex == [header[2:], *(list(row[2:]) for g in table.groups for row in g)]
        found = [
            (title, row[0], row[1], system, value)
            for title, group in zip((h.title for h in table.headings), table.groups, strict=True)
            for row in group
            for system, value in zip(header[2:], row[2:], strict=True)
        ]
        assert [f[1:] for f in found] == [
            (titles[r["data_set"]], PROTOCOL.genders[r["gender"]], r["system"], r["value"])
            for r in of_table
        ]
        blocks = list(dict.fromkeys((r["metric"], r["attack_model"]) for r in of_table))
        shown = list(dict.fromkeys(f[0] for f in found))
        assert len(shown) == len(blocks)
        attacks = {a.id: a.title for a in PROTOCOL.attack_models}
        for title, (_, attack) in zip(shown, blocks, strict=True):
            assert attacks.get(attack, "") in title


def test_posterior_odds_are_the_footnote() -> None:
    """Typed by hand from the supplement."""
    assert POSTERIOR_ODDS == {
        "0": "50 : 50 (flat posterior)",
        "A": "more disclosure than 50 : 50",
        "B": "one wrong in 10 to 100",
        "C": "one wrong in 100 to 10 000",
        "D": "one wrong in 10 000 to 100 000",
        "E": "one wrong in 100 000 to 1 000 000",
        "F": "one wrong in at least 1 000 000",
    }


# --- the systems: Table 1


@pytest.mark.parametrize(
    "row",
    [
        "Kyoto Team|Han et al., 2020|K2|primary|other|2|yes|anonymization using x-vectors, SS "
        "models and a voice-indistinguishability metric",
        "DA-IICT Speech Group|Gupta et al., 2020|D1|primary|B2|1||modifications to pole radius",
        "Sigma Technologies SLU|Espinoza-Cuadros et al., 2020|S2c1|contrastive|B1|2|yes|S1c1 with "
        "parameter optimization",
        "|Patino et al., 2021|B2|baseline||||anonymization using McAdams coefficient",
    ],
)
def test_systems_typed_in_by_hand(row: str) -> None:
    table = submissions_table(load_systems("vpc2020"))
    assert table is not None and tuple(row.split("|")) in table.rows


def test_systems_are_grouped_by_team_and_details_wrapped() -> None:
    table = submissions_table(load_systems("vpc2020"))
    assert table is not None and submissions_table(load_systems("voice_similarity")) is None
    assert [[row[2][0] for row in group] for group in table.groups] == [
        [team] * n for team, n in zip("BADIKMOS", (2, 2, 1, 1, 1, 5, 2, 4), strict=True)
    ]
    assert {row[2] for row in table.rows} == set(PUBLISHED.systems)
    assert table.columns[-1].wrap and r"\arraybackslash}p{" in to_latex(table, "challenge")


# --- best values


def test_the_best_of_every_row_is_bold() -> None:
    """Each cell: bold if and only if no other system prints a better number; of actual Cllr
    the supplement names no better one."""
    smaller = ("disclosure", "Linkability")
    for number, table in regenerated().items():
        header = [c.title for c in table.columns]
        titles = [h.title for h, g in zip(table.headings, table.groups, strict=True) for _ in g]
        for i, (title, row) in enumerate(zip(titles, table.rows, strict=True)):
            systems = [j for j, name in enumerate(header) if j > 1 and name != "Orig"]
            sign = -1 if any(word in title for word in smaller) else 1
            for j, cell in enumerate(row):
                best = (
                    j in systems
                    and not title.startswith("Cllr")
                    and not any(sign * Decimal(row[k]) > sign * Decimal(cell) for k in systems)
                )
                assert ((i, j) in table.bold) == best, (number, title, row)


def test_ties_are_all_bold_and_a_single_system_is_not() -> None:
    table = regenerated()[2]
    first = table.groups[1][0]  # LibriSpeech female, lazy-informed
    marked = [table.columns[j].title for i, j in table.bold if i == len(table.groups[0])]
    assert sorted(marked) == ["S1", "S2c1"] and first[-1] == "39.77"
    alone = comparison_tables(Means(cells_from_results(imported(B1)), PROTOCOL))
    assert alone and not any(t.bold for t in alone)


def table_of(metric: str, *rows: list[Any]) -> Table:
    """Systems of dev under the ignorant attack model, a row after the other."""
    places = [(d.id, g) for d in PROTOCOL.data_sets for g in PROTOCOL.genders]
    systems = tuple("abc")
    values = {
        (metric, "ignorant", "dev", *place, system): cell
        for place, row in zip(places, rows, strict=False)
        for system, cell in zip(systems, row, strict=True)
    }
    (table,) = comparison_tables(Means(side_by_side(values, systems), PROTOCOL))
    return table


def test_equal_printed_values_are_not_bold() -> None:
    alike = [0.30001, 0.30002, 0.30003]
    apart = [0.30001, 0.30002, 0.30013]
    assert table_of("eer", alike, apart).bold == {(1, 4)}


def test_linkability_of_few_targets_is_flagged_and_not_bold() -> None:
    few, enough = {"value": 0.0, "caveat": CAVEATS["few_targets"]}, 0.1
    published = 0.2
    table = table_of("linkability", [few, enough, published])
    assert table.rows[0][2:] == ("n/a", "0.100", "0.200")
    assert table.bold == {(0, 3)}
    assert any("fewer than 20 target scores" in note for note in table.notes)
    assert table_of("linkability", [few, few, published]).bold == frozenset()
    other = table_of("linkability", [enough, enough, enough])
    assert not any("uninformative" in note for note in other.notes)


def test_an_average_over_linkability_of_few_targets_is_not_best() -> None:
    rows: list[list[Any]] = [[0.1, 0.2, 0.3] for _ in range(6)]
    average = table_of("linkability", *rows)
    assert average.rows[6][0] == "Weighted average" and (6, 2) in average.bold
    rows[4][0] = {"value": 0.0, "caveat": CAVEATS["few_targets"]}
    table = table_of("linkability", *rows)
    assert table.rows[6][2:4] == ("", "0.200")
    assert any("linkability (too few targets: 1 of 6 values, " in note for note in table.notes)
    assert {column for row, column in table.bold if row == 6} == {3}


# --- averages


@pytest.mark.parametrize("path", [B1, B2], ids=["B1", "B2"])
def test_averages_end_every_block(path: Path) -> None:
    """The weighted mean of what the file prints, in exact decimals."""
    weights = [Decimal("0.25")] * 2 + [Decimal("0.20")] * 2 + [Decimal("0.05")] * 2
    text = path.read_text()
    (table,) = (
        t
        for t in comparison_tables(Means(cells_from_results(imported(path)), PROTOCOL))
        if t.name == "comparison_asv_dev"
    )
    names = [
        f"{data}_dev_trials_{g}{kind}"
        for data, kind in (("libri", ""), ("vctk", ""), ("vctk", "_common"))
        for g in "fm"
    ]
    found = []
    for name in names:
        printed = re.search(rf"^ASV-\w+_anon-{name}_anon\n  EER: (\S+)%", text, re.M)
        found.append(Decimal(printed[1]))
    mean = sum(w * v for w, v in zip(weights, found, strict=True))
    last = table.groups[1][-1]
    assert last[0] == "Weighted average"
    assert abs(Decimal(last[3]) - mean) <= Decimal("0.005")


def test_a_system_with_a_missing_value_has_no_average() -> None:
    results = imported(B1, system="mine")
    records = tuple(r for r in results.verification if r.condition.data_set != "vctk_common")
    cells = merge_cells([cells_from_results(replace(results, verification=records)), PUBLISHED])
    table = comparison_tables(Means(cells, PROTOCOL))[0]
    column = [c.title for c in table.columns].index("mine")
    for group in table.groups:
        assert [bool(row[column]) for row in group] == [True] * 4 + [False] * 3
        assert all(row[column + 1] for row in group)
    only = comparison_tables(
        Means(cells_from_results(replace(results, verification=records)), PROTOCOL)
    )
    assert not any(row[0] == "Weighted average" for t in only for row in t.rows)


# --- a submitted system among published ones


def mixed(name: str = ODD_NAME) -> list[Table]:
    """A system of which some development conditions are evaluated, under the published."""
    results = imported(B1, system=name)
    records = tuple(
        r
        for r in results.verification
        if (r.condition.split, r.condition.data_set) == ("dev", "libri")
    )
    own = cells_from_results(replace(results, verification=records))
    return comparison_tables(Means(merge_cells([own, PUBLISHED]), PROTOCOL))


def test_original_speech_of_another_source_is_marked_and_named() -> None:
    """Own values under columns of published systems only; published ones beside own systems."""
    results = imported(B1, system="mine")
    records = tuple(
        with_eer(r, 0.0408) if r.condition.attack_model == "original" else r
        for r in results.verification
        if (r.condition.split, r.condition.data_set) == ("dev", "libri")
    )
    own = cells_from_results(replace(results, verification=records))
    tables = {t.name: t for t in comparison_tables(Means(merge_cells([own, PUBLISHED]), PROTOCOL))}
    beside, under = tables["comparison_asv_dev"], tables["comparison_asv_retrained_dev"]
    assert "mine" in [c.title for c in beside.columns]
    assert "mine" not in [c.title for c in under.columns]
    first = [row[2] for row in beside.groups[0]]
    assert first[:2] == ["4.08", "4.08"]
    assert all(cell.endswith("\u00a7") for cell in first[2:6])
    first = [row[2] for row in under.groups[0]]
    assert first[:2] == ["4.08\u00a7", "4.08\u00a7"] and not any("\u00a7" in x for x in first[2:])
    for table, source in ((beside, "published results vpc2020"), (under, "your own evaluation")):
        (note,) = [n for n in table.notes if n.startswith("\u00a7")]
        assert source in note
        assert any("same back end of the attacker" in n for n in table.notes)
        assert r"\S{}" in to_latex(table)
    for table in comparison_tables(Means(PUBLISHED, PROTOCOL)) + comparison_tables(
        Means(own, PROTOCOL)
    ):
        assert "\u00a7" not in to_markdown(table) and not any("back end" in n for n in table.notes)


def test_other_numbers_of_trials_are_not_comparable() -> None:
    def note(*counts: tuple[int, int]) -> list[str]:
        record = imported(B1).verification[1]
        records = tuple(
            changed(record, system=s, n_target=t, n_nontarget=n)
            for s, (t, n) in zip("ab", counts, strict=True)
        )
        cells = cells_from_results(Results(PROTOCOL, records))
        return [
            n
            for t in comparison_tables(Means(cells, PROTOCOL))
            for n in t.notes
            if "comparable" in n
        ]

    assert note((50, 400), (50, 400)) == []
    (text, *_) = note((50, 400), (50, 399))
    assert "a 50 + 400, b 50 + 399" in text


def test_a_system_with_inverted_original_speech_is_nowhere_best() -> None:
    """Its anonymized values may look plausible: 62 % of what was 38 %."""
    results = merge([imported(B1, system="mine"), imported(B2, system="other")])
    records = tuple(
        with_eer(r, 1 - r.values("exact")["eer"]) if r.condition.system == "mine" else r
        for r in results.verification
    )
    values = [r.values("exact")["eer"] for r in records if r.condition.system == "mine"]
    assert any(0.5 < v < 0.65 for v in values) and any(v > 0.9 for v in values)
    for table in comparison_tables(
        Means(cells_from_results(replace(results, verification=records)), PROTOCOL)
    ):
        mine = [c.title for c in table.columns].index("mine")
        if table.name.startswith("comparison_voice"):
            continue
        assert not any(column == mine for _, column in table.bold)
        assert all(row[mine].endswith("?") for row in table.rows if row[mine])
        assert any("Implausible scores of original speech" in n for n in table.notes)


def test_blanks_stay_blank_and_published_values_stay() -> None:
    alone = {t.name: t for t in comparison_tables(Means(PUBLISHED, PROTOCOL))}
    for table in mixed("mine"):
        titles = [c.title for c in table.columns]
        kept = [i for i, title in enumerate(titles) if title != "mine"]
        rows = [tuple(row[i].rstrip("\u00a7") for i in kept) for row in table.rows]
        assert rows == alone[table.name].rows
        if "mine" in titles:
            assert table.name == "comparison_asv_dev"
            column = titles.index("mine")
            filled = {row[0] for row in table.rows if row[column]}
            assert filled == {"LibriSpeech"}
            assert table.columns[column].highlight
            assert sum(c.highlight for c in table.columns) == 1
        else:
            assert "Without a value here: mine" in table.notes


def test_submitted_systems_alone_are_not_highlighted() -> None:
    tables = comparison_tables(
        Means(cells_from_results(merge([imported(B1, system="x")])), PROTOCOL)
    )
    assert not any(c.highlight for t in tables for c in t.columns)


def test_names_of_published_systems_are_coloured_by_family() -> None:
    table = mixed()[0]
    colours = {c.title: c.colour for c in table.columns if c.colour}
    assert colours["A1"] == "blue" and colours["D1"] == "red"
    assert "K2" not in colours and ODD_NAME not in colours
    assert r"\textcolor{blue}{\textbf{A1}}" in to_latex(table, "challenge")
    assert "blue" not in to_markdown(table)
    own = comparison_tables(Means(cells_from_results(imported(B1)), PROTOCOL))
    assert own and not any(c.colour for t in own for c in t.columns)


@pytest.mark.parametrize("name", [ODD_NAME, "<script>alert(1)</script>", r"\input{x}", "a|b*c"])
def test_an_odd_name_survives_every_format(name: str) -> None:
    table = mixed(name)[0]
    column = [c.title for c in table.columns].index(name)
    for row in latex_rows(to_latex(table, "challenge")):
        assert len(row) == len(table.columns)
    assert r"\input" not in to_latex(table)
    assert name in {key for row in cells_of(to_csv([table]), table.name) for key in row}
    lines = [re.split(r"(?<!\\)\|", x) for x in to_markdown(table).splitlines() if x[:1] == "|"]
    assert {len(line) for line in lines} == {len(table.columns) + 2}
    assert re.sub(r"\\(.)", r"\1", lines[0][column + 1]).strip() == f"{name} \u2020"


def latex_rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.endswith(r" \\"):
            yield re.split(r"(?<!\\) & ", line)


# --- other protocols and systems


def test_2022_has_averages_of_its_summary() -> None:
    results = imported(ANON, ORIG, protocol="vpc2022", system="M")
    tables = {
        t.name: t for t in comparison_tables(Means(cells_from_results(results), results.protocol))
    }
    informed = tables["comparison_asv_retrained_dev"]
    assert [h.title for h in informed.headings][0] == "EER, % \u2013 Semi-informed (aa)"
    assert [row[0] for row in informed.groups[0]][-1] == "Weighted average"
    zebra = tables["comparison_zebra_retrained_dev"]
    assert re.fullmatch(r"\d\.\d{3} [0A-F]", zebra.groups[1][0][2])
    assert any(POSTERIOR_ODDS["C"] in note for note in zebra.notes)


def test_a_protocol_without_published_names_has_no_tables(tmp_path: Path) -> None:
    (tmp_path / "radio.yaml").write_text(OTHER_PROTOCOL)
    protocol = load_protocol("radio.yaml", base=tmp_path)
    assert comparison_tables(Means(PUBLISHED, protocol)) == []


def test_a_split_of_an_odd_name_names_no_file_elsewhere() -> None:
    split = "x/../../y}"
    protocol = replace(PROTOCOL, splits=(split,))
    place = ("eer", "ignorant", split, "libri", "f", "s")
    (table,) = comparison_tables(Means(side_by_side({place: 0.5}, ("s",)), protocol))
    assert re.fullmatch(r"[A-Za-z0-9._+-]+", table.name)


def test_tags_of_published_values_are_what_their_digits_decide() -> None:
    def category(value: float, **columns: str) -> str | None:
        return zebra_category({"metric": "zebra_individual", "value": value, **columns})

    assert category(3.979) == "C"
    assert category(0.0) is None  # 0 and 0.0004 print the same
    assert category(2.0) is None
    assert category(2.001) == "C"
    assert category(2.0, tag="B") == "B"


def test_left_out_trials_are_named() -> None:
    results = imported(B1, system="mine")
    first = scored(results.verification[1], trials_without_score=3)
    records = (results.verification[0], first, *results.verification[2:])
    tables = comparison_tables(
        Means(cells_from_results(replace(results, verification=records)), PROTOCOL)
    )
    notes = [note for t in tables for note in t.notes if "were left out of" in note]
    assert notes == ["\u2021 mine: trials were left out of 3 of its values"]


def test_incomplete_values_are_never_the_best() -> None:
    """Of two equal systems, one lacks a trial of each condition."""
    systems = {"mine": B1, "other": B1, "third": B2}
    results = merge([imported(text, system=name) for name, text in systems.items()])
    records = tuple(
        scored(r, trials_without_score=int(r.condition.system == "mine"))
        for r in results.verification
    )
    cells = cells_from_results(replace(results, verification=records))
    marked, bold = 0, 0
    for table in comparison_tables(Means(cells, PROTOCOL)):
        best = {table.rows[r][c] for r, c in table.bold}
        assert not any("\u2021" in text for text in best)
        texts = [text for row in table.rows for text in row if "\u2021" in text]
        assert not any(
            re.search("[0A-F]\u2021|\u2021\u2021", text) and " " in text for text in texts
        )
        marked, bold = marked + len(texts), bold + len(best)
        assert any("trials have no score" in note for note in table.notes) is bool(texts)
    assert marked and bold


def test_reversed_scores_are_never_the_best() -> None:
    results = merge([imported(B1, system="mine"), imported(B2, system="other")])

    records = [*results.verification]
    number = next(i for i, r in enumerate(records) if r.condition.attack_model == "ignorant")
    records[number] = with_eer(records[number], 0.8)
    cells = cells_from_results(replace(results, verification=tuple(records)))
    tables = comparison_tables(Means(cells, PROTOCOL))
    assert any("80.00?" in row for t in tables for row in t.rows)
    for table in tables:
        marked = [cell for row in table.rows for cell in row if cell.endswith("?")]
        assert any("EER above 65 % is implausible" in note for note in table.notes) is bool(marked)
        assert not any(table.rows[r][c] in marked for r, c in table.bold)
        assert not any(re.search("[0A-F]\\?$", cell) for cell in marked if " " in cell)  # no grade


def test_names_are_turned_where_one_is_long() -> None:
    def turned(*names: str) -> list[str]:
        return [c.title for c in system_columns(side_by_side({}), names, turned=True) if c.turned]

    assert turned("B1", "team_1/a1") == []
    assert turned("B1", "M1c4", "team1/b", "team_1/b12") == ["team1/b", "team_1/b12"]


def many(systems: int) -> Cells:
    record = imported(B1).verification
    names = [f"System {i} of a long name" for i in range(systems)]
    records = tuple(changed(r, system=name) for name in names for r in record)
    return cells_from_results(Results(PROTOCOL, records))


# --- with LaTeX


@needs_latex
@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
@pytest.mark.parametrize("cells", [PUBLISHED, merge_cells([many(20), PUBLISHED])], ids=["18", "38"])
def test_turned_tables_are_on_their_pages_and_as_large_as_their_notes(
    cells: Cells, tmp_path: Path
) -> None:
    tables = [t for t in comparison_tables(Means(cells, PROTOCOL)) if t.turned]
    for table in tables:
        (tmp_path / f"{table.name}.tex").write_text(to_latex(table, "challenge"))
    document = latex_document("x", [[f"{table.name}.tex"] for table in tables])
    (tmp_path / "tables.tex").write_text(document)
    log = compiled(tmp_path)
    run = ["pdftotext", "-bbox", "tables.pdf", "tables.html"]
    subprocess.run(run, cwd=tmp_path, capture_output=True, check=True)
    box = r'<word xMin="\S+" yMin="(\S+)" xMax="(\S+)" yMax="(\S+)">(?:%s)</word>'
    text = (tmp_path / "tables.html").read_text()
    width = 842  # A4, which a viewer turns
    assert 595 < max(float(right) for _, right, _ in re.findall(box % ".*", text)) < width
    if "lmodern.sty" not in log:
        pytest.skip("lmodern is not installed, and heights of bitmap fonts are not comparable")
    heights = {
        kind: [float(below) - float(above) for above, _, below in re.findall(box % word, text)]
        for kind, word in {"numbers": r"\d\.\d{3}", "notes": "Bold:"}.items()
    }
    assert len(heights["numbers"]) > 1000 and len(heights["notes"]) >= len(tables) > 1
    assert min(heights["numbers"]) > 0.95 * min(heights["notes"])


@needs_latex
@pytest.mark.parametrize("style", ["challenge", "booktabs"])
def test_all_compile_in_one_document_and_fit(style: str, tmp_path: Path) -> None:
    groups = []
    sources = {
        "published": [t for t in [submissions_table(load_systems("vpc2020"))] if t],
        "mixed": mixed(),
        "many": comparison_tables(Means(merge_cells([many(20), PUBLISHED]), PROTOCOL))[:2],
        "own": comparison_tables(Means(cells_from_results(imported(B2)), PROTOCOL)),
    }
    for key, tables in sources.items():
        groups.append([f"{key}_{t.name}.tex" for t in tables])
        for table in tables:
            text = in_format(
                replace(table, name=f"{key}_{table.name}"),
                "latex",
                style,  # type: ignore[arg-type]
            )
            (tmp_path / f"{key}_{table.name}.tex").write_text(text)
    (tmp_path / "tables.tex").write_text(latex_document(ODD_NAME, groups))
    well_set(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vpc2020", "LibriSpeech 0.25, VCTK different 0.2, VCTK common 0.05 for each gender"),
        ("vpc2024", "LibriSpeech 0.5 for each gender"),
        ("vpc2026_track1", "LibriSpeech 1"),
        ("vpc2026_track2", "English 0.25, German 0.25, French 0.25, Spanish 0.25"),
    ],
)
def test_weights_are_those_of_the_average(name: str, text: str) -> None:
    assert weights_text(load_protocol(name)) == text
