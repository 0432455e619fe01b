"""Tables as data: entries of one's own, and what is refused of them."""

import re
from pathlib import Path

import pytest
from support import B1, B2, cells_of, cli, declared_table, imported, lines_to

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.numbers.report_data import read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.report.declared import bundled_entries, read_entries, tables_of_ones_own
from privacy_eval.report.declared import declared_table as of_entry
from privacy_eval.results.json_store import to_json
from privacy_eval.results.measurements import Measurements

ENTRY = """
- name: both
  caption: "EER of {system}."
  select: {metric: [eer], split: [test], attack_model: [ignorant], attacker: [challenge]}
  rows: [trial_set]
  columns:
    - {title: 'EER of {}, %', metric: eer, pivot: system}
"""


ALSO = "rows: [trial_set, system]\n  columns:\n    - {title: Of, show: system}"


@pytest.fixture(scope="module", name="files")
def _files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("results")
    paths = {"B1": B1, "B2": B2}
    return [
        lines_to(folder / f"{s}.json", [to_json(imported(p, system=s))]) for s, p in paths.items()
    ]


def test_a_table_of_ones_own_is_in_files_on_stdout_and_in_the_report(
    files: list[Path], tmp_path: Path
) -> None:
    own = lines_to(tmp_path / "own.yaml", [ENTRY])
    options = ("--results", *files, "--tables", own)
    assert cli("tables", *options, "--out", tmp_path / "t").code == 0
    rows = cells_of((tmp_path / "t/tables.csv").read_text(), "both")
    values = {
        (r.condition.data_set, r.condition.gender, s): r.by_variant()["challenge"]["eer"]
        for s, path in (("B1", B1), ("B2", B2))
        for r in imported(path, system=s).verification
        if (r.condition.split, r.condition.attack_model) == ("test", "ignorant")
    }
    shown = {(row["Gen"], float(row[f"EER of {s}, %"])) for row in rows for s in ("B1", "B2")}
    assert shown == {(g, round(100 * value, 2)) for (_, g, _), value in values.items()}
    assert len(rows) == 6 and (tmp_path / "t/both.tex").exists()
    assert "EER of B1, B2." in cli("tables", *options).out
    assert cli("report", *options, "--out", tmp_path / "r.html").code == 0
    assert "EER of B1, B2." in (tmp_path / "r.html").read_text()


def test_numbers_without_a_threshold_have_a_blank_one(files: list[Path], tmp_path: Path) -> None:
    entry = ENTRY.replace("rows: [trial_set]", "rows: [trial_set, threshold]")
    own = lines_to(tmp_path / "own.yaml", [entry])
    run = ("tables", "--results", *files, "--tables", own, "--out", tmp_path / "t")
    assert cli(*run).code == 0
    rows = cells_of((tmp_path / "t/tables.csv").read_text(), "both")
    assert len(rows) == 6 and {row.get("FMR of all", "") for row in rows} == {""}


def test_a_changed_file_of_tables_makes_them_anew(files: list[Path], tmp_path: Path) -> None:
    own = lines_to(tmp_path / "own.yaml", [ENTRY])
    run = ("tables", "--results", *files, "--tables", own, "--out", tmp_path / "t")
    assert "up to date" not in cli(*run).out and "up to date" in cli(*run).out
    own.write_text(ENTRY.replace("ignorant", "lazy-informed"))
    assert "up to date" not in cli(*run).out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("split: [test]", "splot: [test]", "table both: splot: did you mean split?"),
        ("rows: [trial_set]", "rows: [trial_sets]", "did you mean trial_set or trial?"),
        ("rows: [trial_set]", "rows: [data_set]", "rows: data_set: expected trial_set, system"),
        ("pivot: system", "pivot: systems", "did you mean system?"),
        ("of {system}", "of {sytem}", "did you mean system?"),
        ("of {system}", "of {0.__class__}", "in braces"),
        ("metric: eer, ", "metrics: eer, ", "metrics"),
        ("rows: [trial_set]", "rows: [trial_set]\n  headings: {a: A}", "headings: .*blocks"),
        ("title: 'EER", "title: '{sytem} EER", "did you mean system?"),
        ("pivot: system}", "where: {splits: [test]}}", "did you mean split?"),
        ("rows: [trial_set]", "rows: [system]\n  layout: splits", "layout: .*data_set"),
        ("rows: [trial_set]", "rows: [data_set]\n  layout: splits", "layout: .*system"),
        ("name: both", "name: '../both'", "expected letters"),
        ("caption:", "captions:", "caption"),
        ("rows: [trial_set]\n  columns:", ALSO, "columns: show: system: rows has"),
        ("attack_model: [ignorant], ", "", "table both: two lines look alike: add attack to rows"),
        ("rows: [trial_set]", "rows: [system]", "look alike: add trial_set to rows"),
        ("pivot: system}", "decimals: 1}", "look alike: add system to rows"),
        ("rows:", "mean: true\n  rows:", "mean: expected rows and blocks of system, split"),
    ],
)
def test_what_no_table_can_have_is_refused(
    old: str, new: str, message: str, files: list[Path], tmp_path: Path
) -> None:
    assert old in ENTRY
    own = lines_to(tmp_path / "own.yaml", [ENTRY.replace(old, new)])
    run = cli("tables", "--results", *files, "--tables", own, "--out", tmp_path / "t")
    assert run.code == 1 and str(own) in run.err and re.search(message, run.err), run.err
    assert not (tmp_path / "t").exists()


MEANS = """
- name: means
  caption: "Means of {system}."
  mean: true
  select: {metric: [eer], split: [test]}
  rows: [attack]
  columns: [{title: '{}', metric: eer, pivot: system}]
"""


def test_means_have_the_weights_of_the_protocol(files: list[Path], tmp_path: Path) -> None:
    own = lines_to(tmp_path / "own.yaml", [MEANS])
    data = read_report_data(ReportSources(paths=tuple(files), tables=(own,)))
    (table,) = tables_of_ones_own(data)
    assert [column.title for column in table.columns] == ["Attack model", "B1", "B2"]
    assert any("weights" in note for note in table.notes)
    weights = {of.id: of.weight for of in data.protocol.data_sets}
    shown = {row[0]: row[1:] for row in table.rows}
    for number, (system, path) in enumerate((("B1", B1), ("B2", B2))):
        for model in data.protocol.attack_models:
            records = [
                r
                for r in imported(path, system=system).verification
                if (r.condition.split, r.condition.attack_model) == ("test", model.id)
            ]
            of = [(weights[r.condition.data_set], r.values("challenge")["eer"]) for r in records]
            if of:
                mean = sum(w * value for w, value in of) / sum(w for w, _ in of)
                assert shown[model.title][number] == f"{100 * mean:.2f}"
            assert bool(of) == (model.title in shown)


def test_bundled_entries_are_read_and_without_rows_there_is_no_table() -> None:
    names = [entry.name for entry in bundled_entries("system")]
    assert len({*names}) == len(names) > 8
    with pytest.raises(StopIteration):
        declared_table(imported(B1), "identification")


def test_a_file_of_tables_is_named_in_its_errors(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match="own.yaml"):
        read_entries(lines_to(tmp_path / "own.yaml", ["- name: [1"]))


SPLITS = """
- name: beside
  layout: splits
  caption: "min Cllr of {system}."
  select: {metric: [cllr_min], attack_model: [ignorant], attacker: [challenge]}
  blocks: [system]
  rows: [data_set, gender]
  columns: [{title: Who, show: system}, {title: Gen, show: gender}, {metric: cllr_min}]
"""


def test_splits_of_ones_own_stand_side_by_side(files: list[Path], tmp_path: Path) -> None:
    own = lines_to(tmp_path / "own.yaml", [SPLITS])
    sources = ReportSources(paths=tuple(files), tables=(own,))
    (table,) = tables_of_ones_own(read_report_data(sources))
    titles = ["#", "Dev. set", "min Cllr", "Who", "Gen", "Test set", "min Cllr"]
    assert [column.title for column in table.columns] == titles
    assert [column.title for column in table.columns if column.identity] == ["Who", "Gen"]
    values = {
        (c.system, c.gender, c.split, r.by_variant()["challenge"]["cllr_min"])
        for s, path in (("B1", B1), ("B2", B2))
        for r in imported(path, system=s).verification
        if (c := r.condition).attack_model == "ignorant"
    }
    shown = {
        (row[3], row[4], split, row[2 if split == "dev" else 6])
        for row in table.rows
        for split in ("dev", "test")
    }
    assert shown == {(s, g, split, f"{value:.3f}") for s, g, split, value in values}
    assert [len(group) for group in table.groups] == [6, 6]
    assert [row[0] for row in table.rows] == [str(n) for n in range(1, 13)]


BLOCKS = """
- name: against_others
  caption: "Differences {of}."
  select: {metric: [eer, cllr_min], against: ['*'], variant: [exact]}
  blocks: [data_set]
  headings: {vctk: VCTK, libri: LibriSpeech}
  rows: [system]
  columns:
    - {title: System, show: system, align: l}
    - {title: '{} ({of})', metric: cllr_min, where: {against: [others]}}
    - {title: p, metric: cllr_min, where: {against: [others]}, show: p, bold_below: 0.05}
    - {metric: eer, where: {against: ['*']}, at: range}
"""


def test_blocks_headings_and_bold_cells(tmp_path: Path) -> None:
    (entry,) = read_entries(lines_to(tmp_path / "blocks.yaml", [BLOCKS]), bundled=True)
    shared = {"metric": "cllr_min", "against": "others", "variant": "exact"}
    places = [("libri", "B1"), ("vctk", "B1"), ("libri", "B2"), ("other", "B2")]
    rows = [
        {**shared, "data_set": d, "system": s, "value": (0.125, -0.0004)[n % 2], "p": n / 50}
        for n, (d, s) in enumerate(places)
    ]
    of_place = {"data_set": "libri", "system": "B2", "metric": "eer", "variant": "exact"}
    rows += [{**of_place, "value": v, "against": a} for v, a in ((0.5, "x"), (0.25, "y"))]
    rows += [{**rows[0], "value": 0.9, "against": "another"}, {**rows[0], "variant": "challenge"}]
    table = of_entry(entry, Measurements.of(rows), {"of": "by chance"})
    assert table is not None and table.caption == "Differences by chance."
    assert [heading.title for heading in table.headings] == ["VCTK", "LibriSpeech", "other"]
    titles = ["System", "min Cllr (by chance)", "p", "EER, %"]
    assert [column.title for column in table.columns] == titles
    assert table.columns[1].latex is not None and "C_" in table.columns[1].latex
    assert table.groups == (
        (("B1", "+0.000", "0.020", "n/a"),),
        (("B1", "+0.125", "< 0.001", "n/a"), ("B2", "+0.125", "0.040", "+25.00\u2013+50.00")),
        (("B2", "+0.000", "0.060", "n/a"),),
    )
    assert table.bold == {(0, 2), (1, 2), (2, 2)}
    assert of_entry(entry, Measurements.of([]), {"of": ""}) is None
