"""The challenge's tables: rows, columns, numbers, and typesetting by LaTeX."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from latex_support import compiled, needs_latex
from support import (
    ANON,
    B1,
    B2,
    ODD_NAME,
    ORIG,
    changed,
    csv_rows,
    imported,
    scored,
    with_eer,
    with_first,
    with_line,
)

from privacy_eval import __version__
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.report.system_tables import system_tables, table_groups
from privacy_eval.report.table import Table
from privacy_eval.report.table_formats import FORMATS, in_format, to_csv, write_tables
from privacy_eval.results.arrays import StoredArrays
from privacy_eval.results.records import Record, Results, merge

SETS = ["libri", "vctk_com", "vctk_dif"]
ROWS = [
    (name, gender, *pair)
    for name in SETS
    for gender in "fm"
    for pair in (("o", "o"), ("o", "a"), ("a", "a"))
]


def row_name(name: str, split: str) -> str:
    first, _, rest = name.partition("_")
    return f"{first}_{split}_{rest}" if rest else f"{first}_{split}"


def tables_of(results: Results, folder: str = "") -> dict[str, Table]:
    return {t.name: t for t in system_tables(ReportData(results), results.systems[0], folder)}


def cells(table: Table, column: str, which: int = 0) -> list[str]:
    titles = [c.title for c in table.columns]
    index = [i for i, title in enumerate(titles) if title == column][which]
    return [row[index] for row in table.rows]


def eer_in(text: str, name: str, gender: str, pair: tuple[str, str], split: str) -> dict[str, str]:
    """The printed numbers of one condition, looked up in the file's text."""
    data, _, kind = name.partition("_")
    common = "_common" if kind == "com" else ""
    ends = ["_anon" if speech == "a" else "" for speech in pair]
    folder = f"ASV-{data}_{split}_enrolls{ends[0]}-{data}_{split}_trials_{gender}{common}{ends[1]}"
    block = re.search(rf"^{folder}\n((?:  .*\n)+)", text, re.M)
    assert block is not None, folder
    found = re.search(
        r"EER: (\S+)%\n  Cllr \(min/act\): (\S+)/(\S+)\n  ROCCH-EER: (\S+)%", block[1]
    )
    return dict(zip(("eer", "cllr_min", "cllr", "rocch"), found.groups(), strict=True))


def write(results: Results, out: Path, **options: Any) -> list[Path]:
    return write_tables(out, table_groups(ReportData(results)), results.protocol.title, **options)


# --- rows and columns


def test_columns_of_verification_tables() -> None:
    tables = tables_of(imported(B1))
    dev = ["#", "Dev. set", "EER, %", "min Cllr", "Cllr", "Enroll", "Trial", "Gen"]
    test = ["Test set", "EER, %", "min Cllr", "Cllr"]
    assert [c.title for c in tables["asv"].columns] == dev + test
    assert [c.title for c in tables["asv_dev"].columns] == dev
    assert [c.title for c in tables["asv_test"].columns] == ["#", *test, *dev[-3:]]


@pytest.mark.parametrize("path", [B1, B2], ids=["B1", "B2"])
def test_rows_and_their_numbers(path: Path) -> None:
    """libri, vctk com, vctk dif; f, m; o-o, o-a, a-a: each row's numbers are those of its
    own condition in the file, dev and test."""
    text = path.read_text()
    tables = tables_of(imported(path))
    asv = tables["asv"]
    assert [len(group) for group in asv.groups] == [3] * 6
    assert cells(asv, "#") == [str(n) for n in range(1, 19)]
    for row, (name, gender, *pair) in zip(asv.rows, ROWS, strict=True):
        assert (row[1], row[8]) == (row_name(name, "dev"), row_name(name, "test"))
        assert row[5:8] == (*pair, gender)
        for split, values in (("dev", row[2:5]), ("test", row[9:12])):
            printed = eer_in(text, name, gender, (pair[0], pair[1]), split)
            wanted = [printed["eer"], printed["cllr_min"], printed["cllr"]]
            assert [float(v) for v in values] == [float(w) for w in wanted]
            assert all(re.fullmatch(r"\d+\.\d{3}", v) for v in values)


def test_both_splits_are_the_single_ones_side_by_side() -> None:
    tables = tables_of(imported(B2))
    for which, split in enumerate(("dev", "test")):
        title = ["Dev. set", "Test set"][which]
        assert cells(tables["asv"], title) == cells(tables[f"asv_{split}"], title)
        assert cells(tables["asv"], "EER, %", which) == cells(tables[f"asv_{split}"], "EER, %")


def test_the_strongest_attack_model_of_each_trial_set() -> None:
    """Of B2, the lower EER of its two attackers, as the file has it."""
    table = tables_of(imported(B2))["strongest"]
    assert [c.title for c in table.columns][:4] == ["#", "Dev. set", "EER, %", "Gen"]
    for which, split in enumerate(("dev", "test")):
        found = cells(table, "EER, %", which)
        for cell, (name, gender, *_) in zip(found, ROWS[::3], strict=True):
            pairs = {"ignorant": ("o", "a"), "lazy-informed": ("a", "a")}
            eers = {
                attack: float(eer_in(B2.read_text(), name, gender, pair, split)["eer"])
                for attack, pair in pairs.items()
            }
            value, attack = cell.split()
            assert float(value) == min(eers.values()) == eers[attack]


def test_the_strongest_is_the_most_linkable() -> None:
    """Of all results folders of a system."""
    results = imported(ANON, ORIG, protocol="vpc2022", system="M")
    linkable = {
        (r.condition.split, r.condition.data_set, r.condition.gender): 0.0
        for r in results.verification
    }
    for r in results.verification:
        c = r.condition
        if c.attack_model not in (None, "original"):
            key = (c.split, c.data_set, c.gender)
            linkable[key] = max(linkable[key], r.values("challenge")["linkability"])
    table = tables_of(results)["strongest"]
    found = [float(cell.split()[0]) for cell in cells(table, "Linkability", 1)]
    expected = [v for (split, *_), v in linkable.items() if split == "test"]
    assert sorted(found) == pytest.approx(sorted(expected), abs=5e-4) and any(found)


def test_implausible_values_are_no_attackers_strength() -> None:
    results = imported(B2)
    inverted = tuple(
        with_eer(r, 0.9) if r.condition.attack_model == "lazy-informed" else r
        for r in results.verification
    )
    found = cells(tables_of(replace(results, verification=inverted))["strongest"], "EER, %")
    assert all(cell.endswith("ignorant") for cell in found)


def test_averages_have_no_column_of_a_metric_without_values() -> None:
    of_averages = tables_of(imported(B1))["attacks"]
    titles = [column.title for column in of_averages.columns]
    assert "EER, %" in titles and not any("1 %" in title for title in titles)
    assert all(any(row[n] for row in of_averages.rows) for n in range(len(titles)))


def test_word_error_rates() -> None:
    table = tables_of(imported(B1))["asr"]
    assert [c.title for c in table.columns] == [
        "#",
        "Dev. set",
        "WER, %, small LM",
        "WER, %, large LM",
        "Data",
        "Test set",
        "WER, %, small LM",
        "WER, %, large LM",
    ]
    wanted = []
    text = B1.read_text()
    for data in ("libri", "vctk"):
        for speech, ending in (("o", ""), ("a", "_anon")):
            both = []
            for split in ("dev", "test"):
                block = re.search(rf"^ASR-{data}_{split}_asr{ending}\n((?:  .*\n)+)", text, re.M)
                both.append([f"{data}_{split}", *re.findall(r"%WER (\S+)", block[1])])
            wanted.append((*both[0], speech, *both[1]))
    assert [row[1:] for row in table.rows] == wanted
    assert [len(group) for group in table.groups] == [2, 2]


def test_the_file_of_2022_has_all_its_metrics() -> None:
    results = imported(ANON, ORIG, protocol="vpc2022", system="M")
    tables = tables_of(results)
    text = ANON.read_text()
    assert set(tables) >= {
        *("asv_dev", "asv_test", "asv", "rocch_eer", "linkability", "zebra", "asr", "voice"),
        "strongest",
        "averages",
        "attacks",
    }
    columns = {
        ("linkability", "Linkability"): (r"linkability: (\S+)", "{:.3f}"),
        ("zebra", "Population, bit"): (r"Population: (\S+)", "{:.3f}"),
        ("zebra", "Individual, log10 LR"): (r"Individual: (\S+)", "{:.3f}"),
        ("rocch_eer", "ROCCH-EER, %"): (r"ROCCH-EER: (\S+)%", "{:.3f}"),
        ("voice", "Pitch corr."): (r"mean=(\S+)", "{:.3f}"),
        ("voice", "Pitch std."): (r"std=(\S+)", "{:.3f}"),
        ("voice", "G_VD, dB"): (r"distinctiveness : (\S+)", "{:.2f}"),
    }
    for (name, column), (pattern, form) in columns.items():
        shown = cells(tables[name], column, 0) + cells(tables[name], column, 1)
        assert sorted(shown) == sorted(form.format(float(x)) for x in re.findall(pattern, text))
    deid = re.findall(r"De-Identification : (\S+)", text)
    shown = cells(tables["voice"], "DeID, %", 0) + cells(tables["voice"], "DeID, %", 1)
    assert sorted(shown) == sorted(f"{100 * float(x):.1f}" for x in deid)
    tags = cells(tables["zebra"], "Tag", 0) + cells(tables["zebra"], "Tag", 1)
    assert sorted(tags) == sorted(re.findall(r"Individual: \S+ \((.)\)", text))
    other = tables_of(results, ".orig")
    assert set(other) == set(tables) - {"voice", "strongest", "averages", "attacks"}
    assert cells(other["asv"], "EER, %")[0] == "8.665"
    assert cells(tables["asv"], "EER, %")[0] == "14.910"


def test_two_recognizers_are_told_apart() -> None:
    results = imported(B1)
    other = tuple(
        with_line(r, wer=0.5).with_facts(asr_model="anonymized") for r in results.recognition[:2]
    )
    table = tables_of(replace(results, recognition=(*results.recognition, *other)))["asr"]
    assert cells(table, "Recognizer")[:4] == ["original"] * 4
    assert cells(table, "Recognizer")[4:] == ["anonymized"] * (len(table.rows) - 4)
    assert table.rows[4][2:4] == ("50.00", "50.00")


# --- missing records


def test_cells_without_a_record_stay_blank() -> None:
    results = imported(B1)
    part = replace(results, verification=results.verification[:2])
    tables = tables_of(replace(part, recognition=()))
    assert set(tables) >= {"asv_dev", "asv", "rocch_eer"}
    assert not set(tables) & {"asr", "asv_test", "voice"}
    assert [c.title for c in tables["asv"].columns].count("EER, %") == 1
    assert [row[1:] for row in tables["asv"].rows] == [
        ("libri_dev", "8.665", "0.304", "42.857", "o", "o", "f"),
        ("libri_dev", "50.140", "0.996", "144.112", "o", "a", "f"),
        *[("libri_dev", "", "", "", e, t, "m") for e, t in (("o", "o"), ("o", "a"))],
    ]  # and none of the comparison a-a, which nobody evaluated


def test_one_missing_condition_leaves_three_cells_blank() -> None:
    results = imported(B1)
    whole = tables_of(results)["asv"]
    for gone in (0, 17, 35):
        rest = results.verification[:gone] + results.verification[gone + 1 :]
        table = tables_of(replace(results, verification=rest))["asv"]
        changed = [
            (x, y)
            for row, old in zip(table.rows, whole.rows, strict=True)
            for x, y in zip(row, old, strict=True)
            if x != y
        ]
        assert [x for x, _ in changed] == ["", "", ""]
        record = results.verification[gone]
        assert changed[0][1] == f"{100 * record.by_variant()['challenge']['eer']:.3f}"


# --- intervals and variants


def with_intervals() -> Results:
    results = imported(ANON, protocol="vpc2022", system="M")
    bounds: dict[str, Any] = {
        "eer": (0.1, 0.2),
        "cllr_min": (0.3, 0.4),
        "cllr": (150.0, 188.8888),
        "linkability": (0.5, 0.6),
        "zebra_population": (0.0, float("inf")),
        "zebra_individual": (1.5, 2.5),
    }
    first = scored(results.verification[0], speaker_intervals={"challenge": bounds})
    return with_first(results, first)


def test_intervals() -> None:
    tables = tables_of(with_intervals())
    first = dict(zip(tables["asv_dev"].columns, tables["asv_dev"].rows[0], strict=True))
    assert [text for column, text in first.items() if "[" in text] == [
        "14.910 [10.000, 20.000]",
        "0.466 [0.300, 0.400]",
        "12.520 [150.000, 188.889]",
    ]
    assert not any("[" in cell for row in tables["asv_test"].rows for cell in row)
    assert cells(tables["linkability"], "Linkability")[0] == "0.661 [0.500, 0.600]"
    assert cells(tables["zebra"], "Population, bit")[0] == "0.375 [0, inf]"
    individual = f"{first_individual():.3f} [1.500, 2.500]"
    assert cells(tables["zebra"], "Individual, log10 LR")[0] == individual
    # No other condition has intervals, nor has ROCCH-EER, nor the table of the challenge's form.
    for name in ("asv_dev", "linkability", "zebra", "rocch_eer"):
        later = [text for row in tables[name].rows[1:] for text in row]
        assert not any("[" in text for text in later)
    assert not any("[" in text for name in ("asv", "rocch_eer") for text in tables[name].rows[0])


def test_bounds_are_columns_of_their_own_in_csv(tmp_path: Path) -> None:
    write(with_intervals(), tmp_path)
    rows = [r for r in csv_rows(tmp_path / "tables.csv") if r["table"] == "M_asv_dev"]
    row, second, *_ = (r for r in rows if r["column"] == "EER, %")
    assert [row[name] for name in ("value", "low", "high")] == ["14.910", "10.000", "20.000"]
    assert second["value"] and (second["low"], second["high"]) == ("", "")


def test_intervals_without_width_are_not_printed(tmp_path: Path) -> None:
    results = imported(ANON, protocol="vpc2022", system="M")
    first = results.verification[0]
    zero = {**first.by_variant(), "challenge": {**first.by_variant()["challenge"], "eer": 0.0}}
    bounds = {"eer": (0.0, 0.0), "cllr_min": (0.3, 0.4)}
    flat = scored(first, metrics=zero, speaker_intervals={"challenge": bounds})
    table = tables_of(with_first(results, flat))["asv_dev"]
    assert cells(table, "EER, %")[0] == "0.000 [n/a]"
    text = in_format(table, "markdown")
    assert "equal in all bootstrap replicates" in text and "0.000, 0.000" not in text
    assert "& 0.000 [n/a] &" in in_format(table, "latex")
    assert "0.000 [n/a],0.000,," in to_csv([table])
    others = tables_of(with_intervals())["asv_dev"]
    assert "equal in all" not in in_format(others, "text")


def first_individual() -> float:
    return with_intervals().verification[0].by_variant()["challenge"]["zebra_individual"]


class Drawn(StoredArrays):
    """Replicates that were never written: of every condition the same ones, moved to its EER."""

    def __init__(self, size: int, speakers: int) -> None:
        super().__init__(())
        self.noise = np.linspace(-0.01, 0.01, size)
        self.speakers = speakers

    def of(self, record: Record) -> dict[str, np.ndarray[Any, Any]]:
        return {
            "bootstrap_challenge_eer": record.by_variant()["challenge"]["eer"] + self.noise,
            "bootstrap_design": np.array("d"),
            "bootstrap_seed": np.array(0),
            "bootstrap_speakers": np.array(self.speakers),
        }


@pytest.mark.parametrize(("speakers", "few"), [(1000, False), (3, True)])
def test_weighted_averages_have_intervals(speakers: int, few: bool) -> None:
    """A shift of all conditions by x shifts their average by x: 95 % of -0.01 to 0.01."""
    results = imported(B1, system="M")
    intervals = {"challenge": {"eer": (0.1, 0.2)}}
    results = replace(
        results,
        verification=tuple(scored(r, speaker_intervals=intervals) for r in results.verification),
    )
    data = ReportData(results, arrays=Drawn(1001, speakers))
    tables = {t.name: t for t in system_tables(data, "M", "")}
    averages, table = tables["averages"], tables["attacks"]
    dev = {row[1]: row[2] for row in table.groups[0]}
    by_title = {row[0]: row[1] for row in averages.rows}
    lazy = by_title["EER, %, anon"]
    mean = float(lazy)
    wide = 0.95 if not few else 1.0
    assert f"{lazy} [" in dev["Lazy-informed"]
    low, high = map(float, dev["Lazy-informed"].split("[")[1].rstrip("]").split(", "))
    assert (low, high) == pytest.approx((mean - wide, mean + wide), abs=0.005)
    first = scored(with_eer(results.verification[0], 0.97), n_target=100, n_nontarget=900)
    data = ReportData(with_first(results, first), arrays=Drawn(1001, 30))
    withheld = {t.name: t for t in system_tables(data, "M", "")}["attacks"]
    assert withheld.groups[0][0][2] == ""
    assert any(note.startswith("?") for note in withheld.notes)
    assert any("No average: Original EER (implausible: 6 of" in note for note in withheld.notes)
    noted = {name for name, t in tables.items() if any("Too few" in n for n in t.notes)}
    with_intervals = {name for name, t in tables.items() if "[" in str(t.groups)}
    assert with_intervals == {"asv_dev", "asv_test", "attacks"}
    assert noted == (with_intervals if few else set())


@pytest.mark.parametrize(("n_target", "noted"), [(19, True), (20, False), (None, False)])
def test_linkability_of_few_targets_is_noted(n_target: int | None, noted: bool) -> None:
    results = with_intervals()
    first = scored(results.verification[0], n_target=n_target)
    tables = tables_of(with_first(results, first))
    with_note = {
        name
        for name, table in tables.items()
        if any("Linkability is uninformative with fewer than 20" in note for note in table.notes)
    }
    assert with_note == ({"linkability", "attacks"} if noted else set())


@pytest.mark.parametrize(("values", "left_out"), [((1.0, 1.0), 1), ((1.0, 0.5), 0)])
def test_rows_of_minimum_costs_that_tell_nothing_are_counted(
    values: tuple[float, float], left_out: int
) -> None:
    results = imported(ANON, protocol="vpc2022", system="M")
    costs = dict(zip(("min_dcf_0.01", "min_dcf_0.001"), values, strict=True))
    first, second, *_ = results.verification
    half = dict.fromkeys(costs, 0.5)
    records = [
        scored(r, metrics={"challenge": {**r.by_variant()["challenge"], **of}})
        for r, of in ((first, costs), (second, half))
    ]
    table = tables_of(replace(results, verification=tuple(records)))["min_dcf"]
    assert sum("1.0000" in row for row in table.rows) == 1 - left_out
    assert [note.startswith("Left out: 1 row ") for note in table.notes].count(True) == left_out


def test_pitch_correlation_has_its_value_by_chance() -> None:
    """Of a set whose summary has none, the table says that it is not known."""
    results = imported(ANON, protocol="vpc2022", system="M")
    table = tables_of(results)["voice"]
    assert any("0.25" in note and "By chance" in note for note in table.notes)
    assert any("not known" in note for note in table.notes)
    assert not any("chance" in c.title for c in table.columns)
    known = [
        replace(u, rows=(*u.rows, {"metric": "pitch_correlation_chance", "value": 0.257}))
        for u in results.utility
    ]
    table = tables_of(replace(results, utility=tuple(known)))["voice"]
    assert set(cells(table, "Pitch by chance")) == {"0.257"}
    assert not any("not known" in note for note in table.notes)


def test_rows_without_a_value_are_counted() -> None:
    results = imported(B1, system="mine")
    records = [
        scored(r, metrics={"challenge": {"linkability": 0.5}}, n_target=5 if few else 50)
        for r in results.verification
        for few in (r.condition.gender == "f",)
    ]
    table = tables_of(replace(results, verification=tuple(records)))["linkability"]
    assert len(table.rows) == len(ROWS) // 2 and {*cells(table, "Gen")} == {"m"}
    assert any(note.startswith(f"Left out: {len(ROWS) // 2} rows ") for note in table.notes)


def test_variants_that_print_differently() -> None:
    results = imported(ANON, protocol="vpc2022", system="M")
    first = results.verification[0]
    same = {**first.by_variant()["challenge"], "min_dcf_0.01": 0.5, "min_dcf_0.001": 0.5}
    other = {**same, "linkability": 0.75, "cllr_min": same["cllr_min"] + 1e-9}
    record = scored(
        first,
        metrics={"challenge": same, "exact": other},
        zebra_tag={"challenge": "C", "exact": "B"},
    )
    table = tables_of(with_first(results, record))["variants"]
    assert table.rows == [
        (first.condition.name, "Linkability", "0.661", "0.750"),
        (first.condition.name, "Tag", "C", "B"),
    ]
    assert "variants" not in tables_of(imported(ANON, protocol="vpc2022"))


# --- files


def test_files_of_two_systems(tmp_path: Path) -> None:
    both = merge([imported(B1, system="B1"), imported(B2, system="B2")])
    files = write(both, tmp_path, formats=("markdown",))
    assert sorted([*files, tmp_path / ".privacy_eval.json"]) == sorted(tmp_path.iterdir())
    names = {p.name for p in files}
    for system in ("B1", "B2"):
        for ending in (".tex", ".md"):
            assert f"{system}_asv{ending}" in names
    comment = f"privacy_eval {__version__}|protocol:vpc2020|variant:challenge|boot:none|inputs:none"
    assert (tmp_path / "B1_asv.tex").read_text().endswith(f"% {comment}\n")
    assert (tmp_path / "B1_asv.md").read_text().endswith(f"<!-- {comment} -->\n")
    included = re.findall(r"\\input\{(.*)\}", (tmp_path / "tables.tex").read_text())
    assert set(included) <= names
    assert {
        f"{s}_{t}.tex" for s in ("B1", "B2") for t in ("asv_dev", "asv_test", "asv", "asr")
    } <= set(included)


@pytest.mark.parametrize("form", ["markdown", "text"])
def test_latex_and_all_cells_are_always_there(form: str, tmp_path: Path) -> None:
    plain = {p.name for p in write(imported(B1), tmp_path)}
    assert {Path(name).suffix for name in plain} == {".tex", ".csv"} and "tables.csv" in plain
    more = {p.name for p in write(imported(B1), tmp_path, formats=(form,))} - plain
    assert {Path(name).suffix for name in more} == {FORMATS[form]}


def test_names_that_differ_in_odd_characters_only_keep_their_files(tmp_path: Path) -> None:
    both = merge([imported(B1, system="a b"), imported(B2, system="a_b")])
    files = write(both, tmp_path)
    assert len({p.name.casefold() for p in files}) == len(files)
    assert len([p for p in files if p.name.endswith("_asv.tex")]) == 2


OUTSIDE = "x/../../../outside"


def untrusted(results: Results, split: str) -> Results:
    """Untrusted results, whose protocol has a split of an odd name."""
    protocol = replace(results.protocol, splits=(split,))
    record = changed(results.verification[0], split=split)
    return Results(protocol, (record,))


def test_no_protocol_leads_to_files_elsewhere(tmp_path: Path) -> None:
    out = tmp_path / "a" / "tables"
    write(untrusted(imported(B1), OUTSIDE), out)
    assert {p.parent for p in tmp_path.rglob("*") if p.is_file()} == {out}


def test_protocols_are_escaped_in_latex(tmp_path: Path) -> None:
    write(untrusted(imported(B1), "dev}\\input{/etc/passwd}"), tmp_path)
    assert not [p for p in tmp_path.rglob("*.tex") if r"\input{/etc/passwd}" in p.read_text()]


# --- with LaTeX


def all_different() -> Results:
    """Variants that differ in all conditions: a long table."""
    results = imported(ANON, ORIG, protocol="vpc2022", system="M")
    records = []
    for r in results.verification:
        same = {**r.by_variant()["challenge"], "min_dcf_0.01": 0.5, "min_dcf_0.001": 0.5}
        metrics = {"challenge": same, "exact": {**same, "linkability": 0.0, "cllr": 0.0}}
        tags = {"challenge": "C", "exact": "C"}
        records.append(scored(r, metrics=metrics, zebra_tag=tags))
    return replace(results, verification=tuple(records))


LATEX_CASES = {
    "odd name": lambda: imported(B1, system=f'{ODD_NAME} \\input{{x}} Zoë 日本 "q" a^b~c <s>'),
    "intervals": with_intervals,
    "long": all_different,
}


@needs_latex
@pytest.mark.parametrize("style", ["challenge", "booktabs"])
@pytest.mark.parametrize("case", LATEX_CASES)
def test_latex_compiles_and_fits(case: str, style: str, tmp_path: Path) -> None:
    write(LATEX_CASES[case](), tmp_path, style=style)
    log = compiled(tmp_path, runs=2)
    wide = [float(x) for x in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", log)]
    assert [w for w in wide if w > 1.0] == []
    assert "undefined" not in log
    assert "multiply defined" not in log
    assert "Missing character" not in log
    assert "Rerun to get" not in log
    assert (tmp_path / "tables.pdf").stat().st_size > 10_000


def test_rows_with_missing_trials_are_flagged() -> None:
    results = imported(B1)
    first = scored(results.verification[0], trials_without_score=3, scores_without_trial=0)
    results = with_first(results, first)
    table = tables_of(results)["asv"]
    assert "*: 3 trials without a score and 0 scores without a trial left out" in table.caption
    assert [row[1] for row in table.rows].count("libri_dev*") == 1
    assert table.rows[0][1] == "libri_dev*"
    assert "left out" not in tables_of(results)["asv_test"].caption


def test_tables_of_a_system_that_is_gone_go_too(tmp_path: Path) -> None:
    both = merge([imported(B1, system="B1"), imported(B2, system="B2")])
    write(both, tmp_path)
    (tmp_path / "notes.md").write_text("mine")
    write(imported(B2, system="B2"), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert "B2_asv.tex" in names and "notes.md" in names
    assert not [name for name in names if name.startswith("B1")]


def test_captions_say_what_models_were_trained_on() -> None:
    """Where a system has several results folders; never the folder's suffix."""
    results = imported(ANON, ORIG, protocol="vpc2022", system="M")
    captions = {
        table.caption for folder in ("", ".orig") for table in tables_of(results, folder).values()
    }
    assert not any(".orig" in caption for caption in captions)
    for speech in ("original", "anonymized"):
        assert any(f"models trained on {speech} speech" in caption for caption in captions)
    assert "models" not in tables_of(imported(B1))["asr"].caption
