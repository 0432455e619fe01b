"""Tables as data: entries of one's own, and what is refused of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import B1, B2, cells_of, cli, declared_table, imported, lines_to

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.report.declared import bundled_entries, read_entries
from privacy_eval.results.json_store import to_json

ENTRY = """
- name: both
  caption: "EER of {system}."
  select: {metric: [eer], split: [test], attack_model: [ignorant], attacker: [challenge]}
  rows: [trial_set]
  columns:
    - {title: 'EER of {}, %', metric: eer, pivot: system}
"""


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
        (r.condition.data_set, r.condition.gender, s): r.metrics["challenge"]["eer"]
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


def test_a_changed_file_of_tables_makes_them_anew(files: list[Path], tmp_path: Path) -> None:
    own = lines_to(tmp_path / "own.yaml", [ENTRY])
    run = ("tables", "--results", *files, "--tables", own, "--out", tmp_path / "t")
    assert "current" not in cli(*run).out and "current" in cli(*run).out
    own.write_text(ENTRY.replace("ignorant", "lazy-informed"))
    assert "current" not in cli(*run).out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("split: [test]", "splot: [test]", "table both: splot: did you mean split?"),
        ("rows: [trial_set]", "rows: [trial_sets]", "did you mean trial_set or trial?"),
        ("pivot: system", "pivot: systems", "did you mean system?"),
        ("of {system}", "of {sytem}", "did you mean system?"),
        ("of {system}", "of {0.__class__}", "in braces"),
        ("metric: eer, ", "metrics: eer, ", "metrics"),
        ("name: both", "name: '../both'", "expected letters"),
        ("caption:", "captions:", "caption"),
    ],
)
def test_what_no_table_can_have_is_refused(
    old: str, new: str, message: str, files: list[Path], tmp_path: Path
) -> None:
    assert old in ENTRY
    own = lines_to(tmp_path / "own.yaml", [ENTRY.replace(old, new)])
    run = cli("tables", "--results", *files, "--tables", own, "--out", tmp_path / "t")
    assert run.code == 1 and str(own) in run.err and message in run.err, run.err
    assert not (tmp_path / "t").exists()


def test_bundled_entries_are_read_and_without_rows_there_is_no_table() -> None:
    names = [entry.name for entry in bundled_entries("system")]
    assert len({*names}) == len(names) > 8
    with pytest.raises(StopIteration):
        declared_table(imported(B1), "identification")


def test_a_file_of_tables_is_named_in_its_errors(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match="own.yaml"):
        read_entries(lines_to(tmp_path / "own.yaml", ["- name: [1"]))
