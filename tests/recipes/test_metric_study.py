"""The recipe of the metric study on a small one: killed, resumed, the same bytes."""

import json
from pathlib import Path

import pytest
from crashes import Runs
from study_support import small_file, small_values
from support import ROOT, Run, cli, ok, run_program, snapshot, times, undrawn, until

RUN = ROOT / "recipes" / "metric_study" / "run.sh"
METRIC = "def median(scores):\n    return float(scores.target[scores.n_target // 2])\n"


def run(folder: Path, *options: object, **environment: str) -> Run:
    return run_program(RUN, *options, cwd=folder, **environment)


def outputs(folder: Path) -> dict[str, bytes]:
    """Everything but the logs, which say the time, and the PDF's own stamp."""
    return {
        name: content
        for name, content in snapshot(folder).items()
        if not name.startswith("log/") and not name.endswith(".stamp")
    }


def options(folder: Path) -> tuple[str, ...]:
    """Those of a small study with a user-defined metric."""
    (folder / "mine.py").write_text(METRIC)
    gaussian = small_values()["gaussian"]
    gaussian["pairs"].append(["eer", "my_median"])
    conf = small_file(folder, gaussian=gaussian)
    return ("--conf", str(conf), "--metric", f"my_median={folder}/mine.py:median")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    ok(run(folder, *options(folder), "--dir", folder / "out"))
    return folder / "out"


def test_everything_is_there(finished: Path) -> None:
    tables = {p.stem for p in (finished / "tables").glob("*.tex")} - {"tables"}
    assert tables == {
        "discrete",
        "gaussian",
        "clusters",
        "attacks_simulated",
        "matrices",
        "estimators_needed",
        "estimators_ceiling",
        "estimators",
    }
    captions = json.loads((finished / "figures" / "captions.json").read_text())
    for name in captions:
        assert (finished / "figures" / f"{name}.png").stat().st_size > 5000
    for figure in (
        "gaussian_linkability_cllr_min",
        "gaussian_pairs",
        "clusters_points",
        "clusters_scores",
        "attacks_cllr_min_eer_simulated",
        "attacks_cllr_min_linkability_simulated",
        "matrices",
        "estimators_independent_1",
        "estimators_speakers",
    ):
        assert figure in captions
    report = (finished / "report.html").read_text()
    assert report.count("<img ") == len(captions)
    first = report.partition('<section id="answer">')[2].partition("</section>")[0]
    assert "depends on the attacker" in first and "target trials" in first
    assert (finished / "values.csv").read_text().count("\n") > 1000
    assert "my_median" in (finished / "tables/discrete.tex").read_text().replace("\\_", "_")
    assert "gaussian_eer_my_median" in captions


def test_killed_and_resumed(finished: Path, tmp_path: Path) -> None:
    """Killed with all its jobs after some records, then run again."""
    out, chosen = tmp_path / "out", options(tmp_path)
    with Runs(tmp_path, lambda folder: [str(RUN), *chosen, f"--dir={folder}"]) as runs:
        first = runs.start(out)
        assert until(lambda: [*out.glob("records/*.json")] or first.poll() is not None)
        runs.kill(first, everything=True)
    ok(run(tmp_path, *chosen, "--dir", out, "--stop-stage", 0))
    assert snapshot(out / "records") == snapshot(finished / "records")


def test_a_second_run_makes_nothing(finished: Path) -> None:
    """In another number of jobs, too."""
    before, seen = outputs(finished), times(finished.rglob("*.[pj]*"))
    again = run(finished, *options(finished.parent), "--dir", ".", "--nj", 1)
    assert again.code == 0 and "0 figures drawn" in again.out
    assert outputs(finished) == before
    after = times(finished.rglob("*.[pj]*"))
    made = {p.name for p in after if after[p] != seen[p]}
    assert not {n for n in made if n.endswith((".png", ".json", ".pdf"))}


def test_experiments_can_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undrawn(monkeypatch)
    left_out = dict.fromkeys(("clusters", "attacks", "matrices", "estimators"))
    study = ("--conf", small_file(tmp_path, **left_out), "--out", tmp_path / "out")
    assert cli("study", *study).code == cli("study-report", *study).code == 0
    tables = {p.stem for p in (tmp_path / "out/tables").glob("*.tex")}
    assert tables == {"discrete", "gaussian", "tables"}


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--stage", "x"), 2, "--stage takes a whole number, not 'x'"),
        (("--stage", "2"), 2, "--stage is at most 1"),
        (("--nj", "0"), 2, "--nj takes at least 1"),
        (("surplus",), 2, "unexpected argument 'surplus'"),
    ],
)
def test_wrong_options(options: tuple[str, ...], code: int, message: str, tmp_path: Path) -> None:
    done = run(tmp_path, *options)
    assert (done.code, done.out) == (code, "") and message in done.err


@pytest.mark.parametrize("verb", ["study", "study-report"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--conf", "none.yaml"), "none.yaml: unknown protocol"),
        (("--tree", "none"), "none: no such folder (experiment tree)"),
    ],
)
def test_wrong_inputs_are_reported(
    verb: str, options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = cli(verb, "--out", tmp_path / "out", *options)
    code = 2 if "--conf" in options else 1
    assert (done.code, done.out) == (code, "") and message in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("verb", ["study", "study-report"])
@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("x", "expected NAME=FILE.py:FUNCTION"),
        ("EER=mine.py:f", "reads like the built-in metric eer"),
        ("Min_Cllr=mine.py:f", "reads like the built-in metric cllr_min"),
    ],
)
def test_wrong_names_of_metrics(verb: str, metric: str, message: str, tmp_path: Path) -> None:
    done = cli(verb, "--out", tmp_path / "out", "--metric", metric)
    assert (done.code, done.out) == (2, "") and message in done.err


def test_a_report_needs_its_records(tmp_path: Path) -> None:
    done = cli("study-report", "--out", tmp_path, "--conf", small_file(tmp_path))
    assert done.code == 1 and "discrete_cases.json: missing" in done.err
