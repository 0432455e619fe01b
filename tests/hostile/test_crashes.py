"""Runs that are killed, run out of space or may not write, and the runs after them.

Two hundred kills of the recipe by hand: scripts/crash_test.py.
"""

import contextlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from crashes import OUT, Runs, crash, crash_tree, differences, half_written, products
from support import ROOT, Run, cli, executable, ok, script, until


def stages(tree: Path) -> list[list[str]]:
    """Every stage from training to the report; figures as TeX only, which is fast."""
    common = ["--tree", f"{tree}", "--results", "exp", "--conf", "small.yaml"]
    out = f"{tree}/exp/privacy_eval"
    results = ["--results", f"{out}/results.json"]
    ratings = ["--ratings", f"{tree}/ratings.csv"]
    return [
        ["stage", "train-backend", *common],
        ["stage", "subsets", *common],
        ["stage", "subsets", *common, "--anonymized"],
        ["stage", "asv-scores", *common],
        ["stage", "privacy-metrics", *common, "--bootstrap", "8"],
        ["stage", "similarity", *common],
        ["stage", "identification", *common, "--bootstrap", "8"],
        ["stage", "collect", *common],
        ["tables", *results, "--out", f"{out}/tables"],
        ["figures", *results, "--out", f"{out}/figures", "--format", "tex"],
        ["listening", *ratings, *results, "--out", f"{out}/subjective", "--format", "tex"],
        ["report", *results, "--out", f"{out}/report.html"],
    ]


#: Runs commands in one process, up to the one that fails.
RUN = """
import json, sys
from privacy_eval.cli import main
sys.exit(next(filter(None, map(main, json.loads(sys.argv[1]))), 0))
"""


def process_of(tree: Path) -> list[str]:
    return [sys.executable, "-c", RUN, json.dumps(stages(tree))]


def stages_here(tree: Path, last: str = "report") -> Run:
    """The same in this process, up to a verb; the last one's end."""
    run = Run(0, "", "")
    for arguments in stages(tree):
        run = cli(*arguments)
        if run.code or last in arguments[:2]:
            break
    return run


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crash_tree(tmp_path_factory.mktemp("crash") / "tree")


@pytest.fixture(scope="module")
def whole(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Products of an undisturbed run."""
    folder = tmp_path_factory.mktemp("whole") / "tree"
    shutil.copytree(tree, folder)
    ok(stages_here(folder))
    return products(folder)


def test_killed_at_random_moments(tree: Path, whole: dict[str, bytes], tmp_path: Path) -> None:
    options = {"duration": 3, "kills": 3, "in_a_row": 3, "moments": random.Random(7)}
    with Runs(tmp_path, process_of) as runs:
        n_killed, n_finished = crash(runs, tree, whole, **options)  # type: ignore[arg-type]
    assert n_killed == 3 and n_finished >= 1


def test_recipe_killed_with_its_jobs(
    tree: Path, whole: dict[str, bytes], preloaded_venv: Path, tmp_path: Path
) -> None:
    """Killed when the first of several records is written, then run again."""
    folder = tmp_path / "tree"
    shutil.copytree(tree, folder)
    assert stages_here(folder, "asv-scores").code == 0
    recipe = [str(ROOT / "recipes/vpc2020/run.sh"), "--tree", str(folder), "--conf", "./small.yaml"]
    recipe += ["--stage", "6", "--stop-stage", "8", "--bootstrap", "8"]
    # However late the kill comes, stage 7 waits for it.
    waits = "case $* in *similarity*) exec sleep 600 ;; esac"
    jobs = f'#!/bin/bash\n{waits}\nexec "{ROOT}/scripts/run_jobs.sh" "$@"\n'
    runner = ["--cmd", str(executable(tmp_path / "runner", jobs))]
    with Runs(tmp_path, lambda _: [*recipe, *runner]) as runs:
        first = runs.start(folder)
        assert until(lambda: [*folder.glob(f"{OUT}/records/*/*.json")] or first.poll() is not None)
        runs.kill(first, everything=False)
        assert first.returncode == -signal.SIGKILL
        assert not (folder / OUT / "results.json").exists()
        assert half_written(folder, whole) == []
        runner.clear()
        runs.finish(folder, VIRTUAL_ENV=str(preloaded_venv))
    made = products(folder)
    later = (
        "tables/",
        "figures/",
        "subjective/",
        "report.html",
        ".report.html",
    )  # of stages 9 to 11
    assert set(whole) - set(made) == {
        n for n in whole if n.startswith(tuple(f"{OUT}/{x}" for x in later))
    }
    assert differences(made, {name: whole[name] for name in made}) == []


def test_two_runs_at_once(
    tree: Path, whole: dict[str, bytes], preloaded_venv: Path, tmp_path: Path
) -> None:
    shutil.copytree(tree, tmp_path / "tree")
    command = str(preloaded_venv / "bin/privacy-eval")
    script = "\n".join(shlex.join([command, *verb]) for verb in stages(tmp_path / "tree"))
    log = tmp_path / "log"
    with open(log, "wb") as file:
        both = [
            subprocess.Popen(["bash", "-ec", script], stdout=file, stderr=file) for _ in range(2)
        ]
        codes = [process.wait(timeout=600) for process in both]
    assert codes == [0, 0], log.read_text()
    assert differences(products(tmp_path / "tree"), whole) == []


# A disk without space


class Disk:
    """A folder that can be filled: a file system of its own where we may mount one, else one
    in which files cannot become larger than what is left."""

    def __init__(self, folder: Path, *, mounted: bool) -> None:
        self.folder = folder
        self.mounted = mounted

    @contextlib.contextmanager
    def filled(self, left: int) -> Iterator[None]:
        """While no more than `left` bytes can be written."""
        if not self.mounted:
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (left, hard))
            try:
                yield
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            return
        ballast = self.folder / "ballast"
        free = os.statvfs(self.folder)
        size = free.f_bavail * free.f_frsize - left
        with open(ballast, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
        try:
            yield
        finally:
            ballast.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)],
            capture_output=True,
            check=False,
        ).returncode
    )
    try:
        yield Disk(folder, mounted=mounted)
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("left", [0, 20_000, 300_000])
def test_a_full_disk(left: int, disk: Disk, tree: Path, whole: dict[str, bytes]) -> None:
    """The file is named, nothing is half written; with space again the next run goes on."""
    folder = disk.folder / "tree"
    shutil.copytree(tree, folder)
    with disk.filled(left):
        run = stages_here(folder)
        assert half_written(folder, whole) == []
    if disk.mounted or left < 20_000:
        assert run.code == 1
        place = folder if disk.mounted else ""  # else temporary files are concerned, too
        said = re.search(rf"{place}/\S+: cannot be written \((.*)\)", run.err)
        assert said, run.err
        assert said[1] == ("No space left on device" if disk.mounted else "File too large")
    assert not [p for p in folder.rglob(".*") if p.name.endswith(".tmp")]
    ok(stages_here(folder))
    assert differences(products(folder), whole) == []


def test_a_read_only_disk(disk: Disk, tree: Path, whole: dict[str, bytes], tmp_path: Path) -> None:
    """Every stage names the file it cannot write and keeps existing ones; with --out elsewhere
    all products but those in the data folders are written."""
    if not disk.mounted:
        pytest.skip("only root can mount a file system")
    folder = disk.folder / "tree"
    shutil.copytree(tree, folder)
    common = ("--tree", folder, "--results", "exp", "--conf", "small.yaml")
    for verb in ("train-backend", "subsets", "asv-scores"):
        assert cli("stage", verb, *common).code == 0
    before = products(folder)
    subprocess.run(["mount", "-o", "remount,ro", str(disk.folder)], check=True)
    for verb in ("privacy-metrics", "similarity", "identification"):
        run = cli("stage", verb, *common)
        assert run.code == 1
        assert re.search(rf"{folder}/\S+: cannot be written \(Read-only file system\)", run.err)
    out = tmp_path / "out"
    out.mkdir()
    shutil.copy(folder / OUT / "speaker_key.json", out)
    for verb, *more in (
        ("privacy-metrics", "--bootstrap", 8),
        ("similarity",),
        ("identification", "--bootstrap", 8),
        ("collect",),
    ):
        run = ok(cli("stage", verb, *common, "--out", out, *more))
    results = out / "results.json"
    assert results.read_bytes() == whole["exp/privacy_eval/results.json"]
    for verb, *more in (
        ("tables", "--out", folder / "tables"),
        ("figures", "--out", folder / "figures", "--format", "tex"),
        ("report", "--out", folder / "report.html"),
    ):
        run = cli(verb, "--results", results, *more)
        assert run.code == 1
        assert re.search(rf"{folder}/\S+: cannot be written \(Read-only file system\)", run.err)
    assert products(folder) == before


# The same bytes


def test_outputs_contain_no_dates(whole: dict[str, bytes]) -> None:
    """No date of creation and no current date, but for that of the results."""
    for name, content in whole.items():
        if name.startswith("exp/privacy_eval/") and not name.endswith((".npz", ".npy")):
            content = re.sub(rb"((results\.json) of |\"day\": \")[-\d]{10}\b", rb"\1", content)
            assert not re.search(rb"/CreationDate|tIME|\b20[2-9]\d-[01]\d-[0-3]\d\b", content), name


def test_crash_script() -> None:
    done = script("crash_test.py", "--help")
    assert done.code == 0 and "--kills" in done.out
