"""Stages that run in parallel jobs: which have work after a change, and what the jobs do."""

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import (
    ENROLLS,
    MODEL,
    TRIALS,
    SpeechTree,
    executable,
    lines_to,
    ok,
    refused,
    run_program,
    snapshot,
    times,
    undrawn,
)

from privacy_eval.cli import inputs, jobs, main
from privacy_eval.products.freshness import NOTE
from privacy_eval.tree.discovery import find_systems

#: The verbs of stages 5 to 10, in the order of the recipe.
STAGES = {
    "subsets": 5,
    "asv-scores": 5,
    "privacy-metrics": 6,
    "similarity": 7,
    "identification": 7,
    "collect": 8,
    "tables": 9,
    "figures": 10,
    "report": 10,
}
NOTHING = 11


class Recipe:
    """A tree, the recipe's options in a file, and the jobs that would be started."""

    def __init__(self, tree: SpeechTree, patch: pytest.MonkeyPatch) -> None:
        self.tree, self.config = tree, tree.root.with_name("options.conf")
        self.started: list[tuple[str, int]] = []
        patch.setattr(jobs, "run_script", self._run_script)

    def _run_script(self, script: str, verb: str, *words: str) -> int:
        assert script == "scripts/split_jobs.sh"
        numbers = [int(word[5:]) for word in words if word.startswith("--nj=")]
        self.started.append((verb.removeprefix("stage "), numbers[0]))
        return main([*verb.split(), *words[words.index("--") + 1 :], "--job", "1/1"])

    def write(self, **options: object) -> None:
        given = {"tree": self.tree.root, "results": "exp", "conf": "./small.yaml", "out": "out"}
        given |= {"nj": 1000, "cmd": "run_jobs.sh", **options}
        lines_to(self.config, (f"--{n.replace('_', '-')}={v}" for n, v in given.items()))

    def stage(self, verb: str, *more: str) -> None:
        anonymized = ["--anonymized"] * (verb == "subsets")
        try:
            code = main(["stage", verb, "--config", str(self.config), *anonymized, *more])
        except SystemExit as stop:
            code = int(stop.code or 0)
        assert code == 0, verb

    def all_stages(self) -> None:
        for verb in STAGES:
            self.stage(verb)

    def first(self, **options: object) -> int:
        """The first stage that starts jobs or writes a file."""
        self.write(**options)
        for verb, number in STAGES.items():
            before = times(self.tree.root.rglob("*"))
            self.stage(verb)
            if self.started or times(self.tree.root.rglob("*")) != before:
                return number
        return NOTHING


@pytest.fixture(scope="module", autouse=True)
def _undrawn() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        undrawn(patch)
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> SpeechTree:
    tree = SpeechTree(tmp_path_factory.mktemp("jobs") / "tree")
    with pytest.MonkeyPatch.context() as patch:
        recipe = Recipe(tree, patch)
        recipe.write()
        recipe.all_stages()
    assert recipe.started == [
        *(("asv-scores", 3), ("privacy-metrics", 3), ("similarity", 1), ("identification", 3)),
        ("figures", 1000),
    ]
    return tree


@pytest.fixture(name="recipe")
def _recipe(finished: SpeechTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """A finished tree to be changed."""
    return Recipe(finished.copied(tmp_path / "tree"), monkeypatch)


def test_current_stages_start_no_jobs_and_write_nothing(
    recipe: Recipe, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recipe.first() == NOTHING
    printed = capsys.readouterr().out
    assert "score files: 3 up to date\n" in printed
    assert "conditions: 3 up to date\n" in printed
    assert re.search(r"out/figures: [1-9]\d* figures up to date\n", printed)


@pytest.mark.parametrize("verb", ["asv-scores", "privacy-metrics", "similarity"])
def test_files_are_read_and_the_tree_is_walked_once(
    recipe: Recipe, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: Counter[str] = Counter()
    real = os.open

    def counted(path: Any, *arguments: Any, **options: Any) -> int:
        opened[os.path.relpath(path, recipe.tree.root)] += 1
        return real(path, *arguments, **options)

    walks: list[Path] = []
    monkeypatch.setattr(os, "open", counted)
    monkeypatch.setattr(
        inputs, "find_systems", lambda *a, **o: walks.append(a[0]) or find_systems(*a, **o)
    )
    recipe.write()
    recipe.stage(verb)
    assert len(walks) <= 1
    notes = [times for path, times in opened.items() if path.endswith(NOTE)]
    assert notes and max(notes) == 1


def new_vectors(tree: SpeechTree) -> None:
    tree.vectors(TRIALS + tree.suffix, seed=7)


def edit(path: str, change: Callable[[str], str]) -> Callable[[SpeechTree], object]:
    """Change the text of the first file of a pattern."""

    def run(tree: SpeechTree) -> None:
        file = next(tree.root.glob(path))
        file.write_text(change(file.read_text()))

    return run


def remove(path: str) -> Callable[[SpeechTree], object]:
    """Delete the first file of a pattern, or the folder."""

    def run(tree: SpeechTree) -> None:
        file = next(tree.root.glob(path))
        shutil.rmtree(file) if file.is_dir() else file.unlink()

    return run


def fewer_trials(tree: SpeechTree) -> None:
    for file in tree.root.glob(f"data/{TRIALS}*/trials"):
        lines_to(file, file.read_text().splitlines()[:-1])


def new_word_error_rate(tree: SpeechTree) -> None:
    line = "%WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] x/decode_y_tgsmall/wer_12_0.5"
    lines_to(tree.root / tree.results / "ASR-libri_dev_asr" / "WER", [line])


ONE = f"exp/*/ASV-{ENROLLS}-{TRIALS}_*/scores"


@pytest.mark.parametrize(
    ("change", "stage"),
    [
        pytest.param(change, stage, id=f"{stage} {name}")
        for stage, name, change in (
            (5, "new x-vectors", new_vectors),
            (5, "keys", fewer_trials),
            (5, "enrollment", edit(f"data/{ENROLLS}/enrolls", lambda x: x.split("\n", 1)[1])),
            (5, "no scores", remove(ONE)),
            (5, "back end", lambda tree: tree.backend(f"{MODEL}/xvect_train_clean_360", seed=3)),
            (6, "external scores, kept", edit(ONE, lambda x: x.replace("\n", "1\n", 1))),
            (6, "damaged record", edit("out/records/**/ASV-*.json", lambda _: "{}")),
            (6, "no arrays", remove("out/records/**/ASV-*.npz")),
            (7, "speakers", edit(f"data/{TRIALS}/utt2spk", lambda x: x + "\n")),
            (7, "no similarity", remove("out/records/**/similarity-*.json")),
            (7, "no identification", remove("out/records/**/identification-*.json")),
            (8, "word error rate", new_word_error_rate),
            (8, "protocol", edit("small.yaml", lambda x: x.replace("title: Libri", "title: L"))),
            (8, "results by hand", edit("out/results.csv", lambda x: x + "\n")),
            (8, "no results", remove("out/results.json")),
            (9, "table by hand", edit("out/tables/*.tex", lambda x: x + "%\n")),
            (10, "no figure", remove("out/figures/*.png")),
            (10, "no report", remove("out/report.html")),
        )
    ],
)
def test_first_stage_with_work_after_a_change(
    change: Callable[[SpeechTree], object], stage: int, recipe: Recipe
) -> None:
    change(recipe.tree)
    assert recipe.first() == stage
    recipe.all_stages()
    recipe.started.clear()
    assert recipe.first() == NOTHING


@pytest.mark.parametrize(
    ("options", "stage"),
    [
        ({"bootstrap": 20}, 6),
        ({"published": "vpc2020"}, 9),
        ({"conventional": "true"}, 10),
        ({"system": "other"}, 6),
    ],
)
def test_first_stage_with_work_after_changed_options(
    options: dict[str, object], stage: int, recipe: Recipe
) -> None:
    assert recipe.first(**options) == stage


def test_intervals_are_not_dropped_in_silence(
    recipe: Recipe, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe.write(bootstrap=20)
    recipe.stage("privacy-metrics")
    capsys.readouterr()
    recipe.stage("privacy-metrics")
    assert "intervals" not in capsys.readouterr().err
    recipe.write()
    recipe.stage("privacy-metrics")
    message = r"--bootstrap 20\b.* 3 conditions lose .* 20 replicates"
    assert len(re.findall(message, capsys.readouterr().err)) == 1
    recipe.stage("privacy-metrics")
    assert "intervals" not in capsys.readouterr().err


def test_jobs_are_no_more_than_conditions_with_inputs(recipe: Recipe) -> None:
    """Of three conditions, one has scores, one could have some, and one lacks x-vectors."""
    shutil.rmtree(recipe.tree.scp(f"{ENROLLS}_anon").parent)
    for name in ("oa", "aa"):
        recipe.tree.all_scores[name].unlink()
    recipe.write(allow_missing="true")
    recipe.stage("asv-scores")
    assert recipe.started == [("asv-scores", 2)]


# Jobs that are run

RUNNER = """#!/bin/bash
# Logs its call and runs the jobs one after the other, as queue.pl would; $DO precedes each.
echo "$# $1 ${2##*/} $5" >>"$CALLS"
range=${1#*=} name=${1%%=*} log=$2 code=0
shift 2
for ((i = 1; i <= ${range#*:}; i++)); do
    (eval "$DO"; "${@//"$name"/$i}") >"${log//"$name"/$i}" 2>&1 || code=1
    printf '# Ended (code %s)\\n' "${ENDED-0}" >>"${log//"$name"/$i}"
done
exit "$code"
"""


class Cluster:
    """A tree with an odd name, and a runner of jobs."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.tree = SpeechTree(folder / "a JOB & tree")
        self.folder, self.calls, self.program = folder, folder / "calls", program
        self.runner = executable(folder / "bin/runner", RUNNER)
        self.calls.touch()

    def run(self, verb: str, *more: object, do: str = "", **environment: str) -> Any:
        options = ("--tree", self.tree.root, "--results", "exp", "--conf", "small.yaml")
        return run_program(
            *(self.program, "stage", verb, *options, "--nj", 2, "--cmd", "runner", *more),
            cwd=self.folder,
            PATH=f"{self.runner.parent}:{self.program.parent}:{os.environ['PATH']}",
            CALLS=str(self.calls),
            DO=do,
            **environment,
        )

    @property
    def logs(self) -> Path:
        return self.tree.root / "exp/privacy_eval/log"


@pytest.fixture(name="cluster")
def _cluster(tmp_path: Path, preloaded_venv: Path) -> Cluster:
    return Cluster(tmp_path, preloaded_venv / "bin/privacy-eval")


def test_jobs_make_everything_and_the_verb_tells_what_is_there(cluster: Cluster) -> None:
    run = cluster.run("asv-scores")
    assert (run.code, run.out.splitlines()[-1]) == (
        0,
        "score files: 3 up to date (3 new)",
    ), run.err
    metrics = cluster.run("privacy-metrics", "--out", "my out", "--log-dir", cluster.folder / "l")
    told = "evaluated trial conditions: 3 up to date (3 new)\n"
    assert (metrics.code, metrics.out) == (0, told)
    assert [line.split()[-2:] for line in cluster.calls.read_text().splitlines()] == [
        ["asv_scores.JOB_N.log", "asv-scores"],
        ["privacy_metrics.JOB_N.log", "privacy-metrics"],
    ]
    assert {path.name for path in cluster.logs.iterdir()} == {
        f"asv_scores.{number}.log" for number in (1, 2)
    }
    assert (cluster.folder / "l/privacy_metrics.2.log").is_file()
    assert len(list(cluster.tree.root.glob("my out/records/*/ASV-*.json"))) == 3


def test_failures_in_jobs_are_reported_once(cluster: Cluster) -> None:
    (cluster.tree.root / "data" / TRIALS / "trials").write_text("a b c\n")
    run = cluster.run("asv-scores")
    assert run.code == 1
    assert " failed" in run.out.splitlines()[-1] and "Traceback" not in run.err
    lines_to(cluster.tree.all_scores["oo"], ["s1 s1-u0 1"])
    metrics = cluster.run("privacy-metrics")
    assert metrics.code == 1 and "1 of 1 failed" in metrics.out
    assert "one by one" not in run.err + metrics.err


@pytest.mark.parametrize("verb", ["asv-scores", "privacy-metrics"])
def test_after_a_killed_job_products_are_made_one_by_one(cluster: Cluster, verb: str) -> None:
    if verb == "privacy-metrics":
        assert cluster.run("asv-scores").code == 0
    run = ok(cluster.run(verb, do="[ $i != 1 ] || exit 1", ENDED="137"))
    assert "one by one" in run.err
    assert all(path.is_file() for path in cluster.tree.all_scores.values())


def test_an_output_that_cannot_be_written_ends_the_stage(cluster: Cluster) -> None:
    assert cluster.run("asv-scores", do="exit 3", ENDED="3").code == 3
    assert not any(path.is_file() for path in cluster.tree.all_scores.values())
    shutil.rmtree(cluster.logs)
    cluster.logs.write_text("no folder")
    run = cluster.run("asv-scores")
    assert run.code == 3
    assert run.err.count("cannot be written to; choose another --out") == 1


def test_a_runner_that_is_interrupted_or_absent_ends_the_stage(cluster: Cluster) -> None:
    assert cluster.run("asv-scores", do="kill -TERM $$; exit 1").code == 143
    assert cluster.run("asv-scores", "--cmd", "nosuch.pl").code == 2
    cluster.runner.unlink()
    assert cluster.run("asv-scores").code == 127
    assert not any(path.is_file() for path in cluster.tree.all_scores.values())


def test_log_links_in_a_results_folder_are_refused(cluster: Cluster) -> None:
    precious = cluster.folder / "precious"
    precious.mkdir()
    out = cluster.logs.parent
    out.mkdir(parents=True)
    cluster.logs.symlink_to(precious)
    before = snapshot(cluster.tree.root)
    refused(cluster.run("asv-scores"), "symlink")
    assert snapshot(cluster.tree.root) == before and not list(precious.iterdir())
