"""The tables of each edition's papers: blocks, order, digits, intervals, and their files."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest
from latex_support import compiled, needs_latex, well_set_paper
from support import B1, cli, imported, scored

from privacy_eval.numbers.cells import cells_from_published, cells_from_results, merge_cells
from privacy_eval.numbers.report_data import ReportData, read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.protocol.published import load_published_results
from privacy_eval.report.latex import to_latex
from privacy_eval.report.side_by_side import across_tables, paper_tables
from privacy_eval.report.system_tables import system_tables
from privacy_eval.report.table import Table
from privacy_eval.report.table_formats import to_csv, to_text
from privacy_eval.results.records import Results

EDITIONS = ("vpc2020", "vpc2022", "vpc2024", "vpc2026_track1", "vpc2026_track2")


def published(name: str, **changes: object) -> Table:
    data = read_report_data(ReportSources(published=name))
    results = Results(replace(data.protocol, **changes))  # type: ignore[arg-type]
    return paper_tables(replace(data, results=results))[0]


def test_2024_has_its_blocks_in_one_table() -> None:
    table = published("vpc2024")
    assert table.name == "paper" and not table.parts and table.caption.count(". ") == 0
    assert [h.title.split(",")[0] for h in table.headings] == [
        "EER (SpeechBrain)",
        "WER",
        "UAR",
        "Rank by WER",
        "Rank by UAR",
    ]
    assert [c.title for c in table.columns] == [
        "Data",
        "Gender",
        "Orig",
        *(f"B{n}" for n in range(1, 7)),
    ]
    eers, wers, uars, by_wer, by_uar = table.groups
    assert [row[:2] for row in eers] == [
        (f"{name} {split}".strip(), gender)
        for split in ("dev", "test")
        for name, gender in (("LibriSpeech", "female"), ("LibriSpeech", "male"), ("Average", ""))
    ]
    # Averages as the organizers print them for the baselines on the test set.
    assert eers[5][3:] == ("6.07", "4.52", "27.32", "30.27", "34.34", "21.14")
    decimals = {
        len(cell.partition(".")[2]) for g in (eers, wers, uars) for r in g for cell in r[2:]
    }
    assert decimals == {2}
    assert [row[0] for row in by_wer] == ["10 %", "20 %", "30 %", "40 %: none"]
    # At least 20 %: B3 4.35, B4 5.90, B5 4.37, B6 9.09 % WER; UAR 37.57, 42.78, 38.17, 36.13 %.
    assert by_wer[1][5:] == ("1", "3", "2", "4") and by_uar[1][5:] == ("3", "1", "2", "4")
    assert by_wer[2][5:] == ("", "2", "1", "") and set(by_wer[3][1:]) == {""}


@pytest.mark.parametrize("name", EDITIONS)
def test_published_digits_are_exact_in_csv_only(name: str) -> None:
    table = published(name)
    values = {
        row["value"]
        for row in csv.DictReader((Path("conf/published") / f"{name}.csv").open())
        if row["metric"] in ("eer", "eer_speechbrain", "wer", "uar", "linkability")
    }
    cells = {cell for row in csv.reader(to_csv([table]).splitlines()) for cell in row}
    assert len(values & cells) > 0.4 * len(values)
    shown = to_text(table)
    longer = {v for v in values & cells if len(v.partition(".")[2]) > 3}
    assert not [v for v in longer if v in shown]


def test_2020_keeps_the_digits_of_its_papers() -> None:
    table = published("vpc2020")
    assert not table.exact and any("19.6" in row for row in table.rows)
    assert [re.sub(r" under.*", "", part.caption) for part in table.parts[::2]] == [
        "VoicePrivacy 2020: EER and min Cllr",
        "VoicePrivacy 2020: linkability",
        "VoicePrivacy 2020: expected privacy disclosure and worst-case privacy disclosure",
        "VoicePrivacy 2020: de-identification (DeID) and gain of voice distinctiveness (G_VD), "
        "dev. set.",
        "VoicePrivacy 2020: EER, min Cllr and linkability",
    ]
    assert len(table.rows) == sum(len(part.rows) for part in table.parts)


def test_own_systems_are_beside_published_ones_with_intervals_apart() -> None:
    results = imported(B1, system="mine")
    first = results.verification[1]
    assert first.condition.attack_model == "ignorant"
    resampled = scored(
        first,
        speaker_intervals={"challenge": {"eer": (0.25, 0.75), "linkability": (0.5, 0.75)}},
        provenance={"options": {"bootstrap": 40}},
    )
    records = (results.verification[0], resampled, *results.verification[2:])
    results = replace(results, verification=records)
    cells = merge_cells(
        [cells_from_results(results), cells_from_published(load_published_results("vpc2020"))]
    )
    sources = ReportSources(published="vpc2020")
    plain, intervals = paper_tables(ReportData(results, cells, sources=sources))
    assert [c.title for c in plain.columns][2:5] == ["Orig", "mine", "A1"]
    assert [c.title for c in plain.columns if c.highlight] == ["mine"]
    assert not any("[" in cell for row in plain.rows for cell in row)
    assert sum("[25.00, 75.00]" in cell for row in intervals.rows for cell in row) == 1
    columns = zip(intervals.columns, zip(*intervals.rows, strict=True), strict=True)
    assert [c.title for c, cells in columns if "[" in "".join(cells)] == ["mine"]
    assert not {t.caption for t in (plain, *plain.parts)} & {
        t.caption for t in (intervals, *intervals.parts) if any("[" in "".join(r) for r in t.rows)
    }
    for part in intervals.parts:
        text = " ".join(part.notes)
        cells = [cell for row in part.rows for cell in row if "[" in cell]
        assert ("bootstrap over speakers (40 replicates)" in text) == bool(cells)
        assert ("less private side" in text) == ("[0.500, 0.750]" in " ".join(cells))
    assert not any("intervals" in note for part in plain.parts for note in part.notes)
    cells = csv.DictReader(to_csv([intervals]).splitlines())
    assert sum((r["low"], r["high"]) == ("25.00", "75.00") for r in cells) == 1


def test_blocks_of_original_speech_alone_are_left_out() -> None:
    results = imported(B1, system="mine")
    attacks = {r.condition.attack_model for r in results.verification}
    records = [r for r in results.verification if r.condition.attack_model != "lazy-informed"]
    assert "lazy-informed" in attacks
    results = replace(results, verification=tuple(records))
    (table,) = paper_tables(ReportData(results, cells_from_results(results)))
    assert {len(part.columns) for part in table.parts if "EER" in part.caption} == {4}
    for part in table.parts:
        assert "informed" not in part.caption + " ".join(h.title for h in part.headings)


def test_captions_are_one_sentence_each() -> None:
    results = imported(B1, system="mine")
    cells = merge_cells(
        [cells_from_results(results), cells_from_published(load_published_results("vpc2020"))]
    )
    data = ReportData(results, cells, sources=ReportSources(published="vpc2020"))
    tables = [*paper_tables(data), *across_tables(data)[0], *system_tables(data, "mine", "")]
    assert len(tables) > 20
    for table in tables:
        assert not re.search(r"[.:] [A-Z][a-z]* [a-z].*\.$", table.caption.partition(": ")[2]), (
            table.caption
        )
        assert table.caption.endswith(".") and len(table.caption) < 220


def test_an_edition_without_paper_has_no_table() -> None:
    data = read_report_data(ReportSources(published="vpc2024"))
    assert paper_tables(replace(data, results=Results(replace(data.protocol, paper=())))) == []


def test_an_unknown_metric_is_named(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("extends: vpc2024\nname: p\npaper: [{metrics: [ear]}]\n")
    run = cli("tables", "--conf", tmp_path / "p.yaml", "--published", "vpc2024")
    assert run.code == 1 and "protocol p: paper: unknown metric ear" in run.err


@pytest.fixture(name="written", scope="module")
def _written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {name: tmp_path_factory.mktemp(name) / "D" for name in EDITIONS}
    for name, folder in folders.items():
        assert cli("tables", "--published", name, "--out", folder).code == 0
    return folders


def test_the_index_names_all_files_and_the_front_has_few(written: dict[str, Path]) -> None:
    for name, folder in written.items():
        index = (folder / "README.md").read_text()
        linked = set(re.findall(r"\]\(([^)]*)\)", index))
        again = cli("tables", "--published", name, "--out", folder)
        assert again.out.endswith(" files up to date\n")
        files = {str(p.relative_to(folder)) for p in folder.rglob("*.*") if p.is_file()}
        own = {n for n in files if not n.startswith(".")}
        assert linked == own - {"README.md", "tables.tex"}
        assert not any("from memory" in (folder / n).read_text() for n in own)
        front = {n for n in own if "/" not in n}
        assert front == {"paper.tex", "paper.txt", "README.md", "tables.tex", "tables.csv"}


@needs_latex
def test_the_five_papers_compile_in_one_article(written: dict[str, Path], tmp_path: Path) -> None:
    for name, folder in written.items():
        text = (folder / "paper.tex").read_text()
        assert text.startswith("% needs \\usepackage{booktabs}\n")
        (tmp_path / f"{name}.tex").write_text(text.replace("table{paper", f"table{{{name}"))
    well_set_paper(tmp_path)


def test_thresholds_are_those_of_the_edition() -> None:
    assert load_protocol("vpc2026_track1").eer_thresholds == ()
    assert len(published("vpc2026_track1").groups) == 3
    parts = published("vpc2022").parts
    assert [len(part.groups) for part in parts] == [1, 2, 2, 2]


#: A page of many conferences, with columns of 3.3 inches; it logs the kinds of floats, and the size
#: of letters in the last table.
TWO_COLUMNS = r"""\documentclass[twocolumn]{article}
\usepackage[textwidth=6.9in,columnsep=0.3in]{geometry}\usepackage{booktabs}
\newcommand{\privacyevalfloat}[1]{%
  \typeout{KIND \privacyevalkind}\begin{\privacyevalkind}[htbp]#1\end{\privacyevalkind}}
\makeatletter\let\rule@\bottomrule\def\bottomrule{\noalign{\global\let\size\f@size}\rule@}
\makeatother\begin{document}\input{paper.tex}\typeout{SIZE \size}\end{document}
"""


def of_systems(table: Table, number: int) -> Table:
    """A table with the values of two of its systems, repeated, below names of a usual length."""
    named = next(n for n, c in enumerate(table.columns) if c.align != "l") + 1
    first = [*range(named), *[named, named + 1] * (number // 2)]
    names = [f"System {n:02d}" for n in range(1, number + 1)]
    titles = [*(c.title for c in table.columns[:named]), *names]
    columns = [replace(table.columns[n], title=t) for n, t in zip(first, titles, strict=True)]
    groups = tuple(tuple(tuple(row[n] for n in first) for row in rows) for rows in table.groups)
    rows = range(len(table.rows))
    bold = frozenset((row, column) for row in rows for column in (named, named + 1))
    return replace(table, columns=tuple(columns), groups=groups, bold=bold, parts=())


@needs_latex
@pytest.mark.parametrize(("number", "kind"), [(2, "table"), (4, "table"), (12, "table*")])
@pytest.mark.parametrize("edition", EDITIONS)
def test_tables_fit_the_columns_of_a_paper(
    edition: str, number: int, kind: str, tmp_path: Path
) -> None:
    """Up to 4 systems fit one column, and up to 12 both: side by side, in letters of footnotes."""
    table = published(edition)
    for part in table.parts or (table,):
        text = to_latex(of_systems(part, number))
        assert text.count("\n\\privacyevaltable{") == 1
        (tmp_path / "paper.tex").write_text(text)
        (tmp_path / "article.tex").write_text(TWO_COLUMNS)
        log = compiled(tmp_path, "article.tex")
        assert {*re.findall("^KIND (.*)$", log, re.M)} == {kind}, part.name
        assert "SIZE 8\n" in log and "Overfull" not in log, part.name
