"""One failure is one failure: the recipe goes on to the report, names it, and ends with 1."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from support import ROOT, Run, cells_of, cli, executable, lines_to, of_libri, ok, run_program

from privacy_eval.numbers.rankings import rankings
from privacy_eval.numbers.report_data import read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.results.json_store import read_results
from privacy_eval.results.records import merge

OF_B1 = "exp/B1/results-demo_B1"
VECTORS = "exp/models/asv_eval/xvect_01709_1/xvect_libri_dev_trials_f_B1"


def run_recipe(tree: Path, *options: object) -> Run:
    """Run the recipe; pdflatex is broken, as TeX is optional."""
    broken = executable(tree.parent / "bin/pdflatex", "#!/bin/sh\nexit 1\n").parent
    words = (
        "--tree",
        tree,
        "--out",
        "results",
        "--conf",
        "libri.yaml",
        "--nj",
        1,
        "--bootstrap",
        20,
    )
    path = f"{broken}:{os.environ['PATH']}"
    return run_program(ROOT / "recipes/vpc2020/run.sh", *words, *options, cwd=tree, PATH=path)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The simulated tree of two systems, of LibriSpeech alone, evaluated."""
    tree = tmp_path_factory.mktemp("evaluated") / "tree"
    protocol = tree.with_name("libri.yaml")
    protocol.write_text(yaml.safe_dump({**of_libri("vpc2020"), "name": "libri"}))
    ok(cli("demo-tree", tree, "--conf", protocol, "--speakers", 4, "--utterances", 4))
    protocol.rename(tree / protocol.name)
    ok(run_recipe(tree, "--stage", 5, "--stop-stage", 8))
    return tree


@pytest.fixture
def tree(evaluated: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(evaluated, tmp_path / "tree"))


def external_scores(tree: Path) -> Path:
    """Scores that another program has written."""
    folder = tree / OF_B1 / "ASV-libri_dev_enrolls-libri_dev_trials_f_B1"
    (folder / ".privacy_eval.json").unlink()
    return folder / "scores"


def word(tree: Path) -> None:
    path = external_scores(tree)
    lines_to(path, [*path.read_text().splitlines()[:4], "broken line", ""])


def cut(tree: Path) -> None:
    path = external_scores(tree)
    lines_to(path, path.read_text().splitlines()[:-3])


def no_file_of_genders(tree: Path) -> None:
    (tree / "data/libri_dev_enrolls_B1/spk2gender").write_text("")


def no_word_errors(tree: Path) -> None:
    (tree / OF_B1 / "ASR-libri_dev_asr_B1/WER").write_text("%WER abc\n")


def cut_vectors(tree: Path) -> None:
    path = tree / VECTORS / "xvector.ark"
    path.write_bytes(path.read_bytes()[:1000])


NAME = "ASV-libri_dev_enrolls-libri_dev_trials_f_B1"
#: What is damaged and named in one run, and the columns of B1 on the dev. set that are blank.
CASES: dict[str, tuple[dict[Callable[[Path], None], str], set[str]]] = {
    "a word among the scores, genders, word error rates": (
        {
            word: f"B1 {NAME}: ",
            no_file_of_genders: "spk2gender: empty file",
            no_word_errors: "B1 ASR-libri_dev_asr_B1 (",
        },
        {"EER, %", "WER, %"},
    ),
    "scores of fewer trials": ({cut: f"B1 {NAME}: "}, {"EER, %"}),
    "vectors": ({cut_vectors: "B1 libri_dev_trials_f: "}, {"EER, %", "DeID, %"}),
}


@pytest.mark.parametrize(("damages", "blank"), CASES.values(), ids=CASES)
def test_one_failure_is_one_failure(
    tree: Path, damages: dict[Callable[[Path], None], str], blank: set[str]
) -> None:
    for damage in damages:
        damage(tree)
    run = run_recipe(tree, "--stage", 5, "--stop-stage", 9)
    assert run.code == 1 and "Traceback" not in run.err
    done = run.err.index(" Done, but ")
    assert all(named in run.err[done:] for named in damages.values())
    out = tree / "results"
    results = read_results(out / "results.json")
    assert {*results.failed} == {"B1"}
    assert all(named in " ".join(results.failures) for named in damages.values())
    rows = summary(out / "tables")
    ignorant = rows["B1", "Dev. set", "Ignorant"]
    values = {"EER, %", "DeID, %", "WER, %"}
    assert {name for name in values if ignorant[name] == "n/a"} == blank
    for whole in (rows["B2", "Dev. set", "Ignorant"], rows["B1", "Test set", "Ignorant"]):
        assert "n/a" not in {whole[name] for name in values}
    # Neither ranked, nor over the data sets that it has.
    means = read_report_data(ReportSources((out / "results.json",))).means
    whole, part = rankings(means, metric="eer", attack_model="ignorant", split="dev")
    assert [one["system"] for one in (*whole.ranked, *part.ranked)] == ["B2", "B2"]
    assert whole.unranked == {"B1": "no value of 1 of 2: libri f"}
    assert ignorant["Conditions"] == "1"


def summary(tables: Path) -> dict[tuple[str, ...], dict[str, str]]:
    """The rows of the main results by system, split and attack model."""
    rows = cells_of((tables / "tables.csv").read_text(), "main_results")
    return {tuple([*row.values()][:3]): row for row in rows}


def test_what_was_left_out_on_request_is_averaged(tree: Path) -> None:
    word(tree)
    run = run_recipe(tree, "--stage", 6, "--stop-stage", 9, "--allow-missing")
    assert run.code == 1  # a condition could not be evaluated
    results = read_results(tree / "results/results.json")
    assert not results.failed and any(NAME in line for line in results.not_evaluated)
    row = summary(tree / "results/tables")["B1", "Dev. set", "Ignorant"]
    assert (row["Conditions"], row["EER, %"]) != ("1", "n/a")


def test_what_failed_of_one_system_is_not_that_of_the_others(tree: Path) -> None:
    word(tree)
    common = ("--tree", tree, "--results", "exp", "--out", "results", "--conf", "libri.yaml")
    assert cli("stage", "privacy-metrics", *common).code == 1
    cli("stage", "collect", *common, "--system", "B2")
    failures = read_results(tree / "results/results.json").failures
    assert not [line for line in failures if line.startswith("B1 ")]
    run = cli("stage", "collect", *common)
    assert run.code == 1 and f"B1 {NAME}: " in run.err and "broken line" not in run.out


def test_mended_files_end_the_failure(tree: Path) -> None:
    path = tree / "data/libri_dev_enrolls_B1/spk2gender"
    good = path.read_text()
    no_file_of_genders(tree)
    assert run_recipe(tree, "--stage", 7, "--stop-stage", 8).code == 1
    assert (tree / "results/failed/identification.txt").is_file()
    path.write_text(good)
    ok(run_recipe(tree, "--stage", 7, "--stop-stage", 8))
    assert not (tree / "results/failed").exists()
    assert "failed" not in json.loads((tree / "results/results.json").read_text())


def test_a_stage_that_cannot_begin_ends_the_run(tree: Path) -> None:
    (tree / "results/results.json").write_text("{}")
    run = run_recipe(tree, "--stage", 9)
    assert run.code == 1 and " Stage 10" not in run.err
    assert run_recipe(tree, "--stage", 6, "--conf", "nosuch").code == 2


def test_failures_and_days_of_several_files_are_merged(tree: Path) -> None:
    word(tree)
    assert run_recipe(tree, "--stage", 6, "--stop-stage", 8).code == 1
    results = read_results(tree / "results/results.json")
    parts = [results.of(system) for system in ("B1", "B2")]
    assert [bool(part.failed) for part in parts] == [True, False]
    assert merge(parts).failed == results.failed and merge(parts).day == results.day != ""


@pytest.mark.parametrize("ratings", ["", "a,b\n1,2\n"], ids=["empty", "other columns"])
def test_ratings_that_cannot_be_used(tree: Path, ratings: str) -> None:
    (tree / "ratings.csv").write_text(ratings)
    run = run_recipe(tree, "--stage", 11)
    assert run.code == 1, run.err
    assert "listening: " in run.err.splitlines()[-1] and "ratings.csv" in run.err
    report = (tree / "results/report.html").read_text()
    assert "Subjective evaluation" not in report
    (tree / "ratings.csv").unlink()
    assert run_recipe(tree, "--stage", 11).code == 0
