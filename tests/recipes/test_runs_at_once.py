"""Runs beside each other, failing runners, full streams, optional things that are broken."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support import ROOT, Tree, cli, executable, run_program, three_conditions

from privacy_eval.errors import OPTIONAL, MissingLibraryError, PrivacyEvalError, located
from privacy_eval.io.files import Inputs
from privacy_eval.products.freshness import (
    LIBRARY,
    NOTE,
    Content,
    Product,
    Run,
    bring_up_to_date,
    file_set,
)
from privacy_eval.results.json_store import read_results

RECIPE = ROOT / "recipes/vpc2020/run.sh"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return three_conditions(tmp_path / "tree")


def recipe(tree: Tree, *options: object, **environment: str) -> tuple[int, str]:
    words = ("--tree", tree.root, "--results", "exp", "--out", "out", "--nj", 1, *options)
    run = run_program(RECIPE, *words, cwd=tree.root, **environment)
    return run.code, run.err


# Two runs in one folder


def registered(tree: Tree, pid: object, script: str, options: str, host: str = "") -> Path:
    """The file of a run in the output folder."""
    (tree.root / "out").mkdir(exist_ok=True)
    path = tree.root / f"out/.run.x.{pid}"
    name = host or subprocess.run(["bash", "-c", "echo $HOSTNAME"], capture_output=True, text=True)
    host = name if isinstance(name, str) else name.stdout.strip()
    path.write_text(f"{host}\n{pid}\n{script}\n2026-01-02 03:04:05\n{options}\n")
    os.utime(path, (1, 1))
    return path


def test_a_run_with_other_options_is_named(tree: Tree) -> None:
    other = registered(tree, os.getpid(), Path(sys.executable).name[:6], "--bootstrap=30")
    code, err = recipe(tree, "--stage", 6, "--stop-stage", 6)
    assert code == 1 and not (tree.root / "out/records").exists()
    assert f"process {os.getpid()} on " in err and "2026-01-02 03:04:05" in err
    assert str(other) in err and "--bootstrap=30" in err
    assert [p.name for p in (tree.root / "out").glob(".run.*")] == [other.name]


@pytest.mark.parametrize("case", ["gone", "another program", "same options"])
def test_runs_that_do_not_matter(tree: Tree, case: str) -> None:
    """Of a process that is gone or is another program by now; and of the same options."""
    script, pid, options = Path(sys.executable).name[:6], os.getpid(), "--bootstrap=30"
    if case == "gone":
        done = subprocess.Popen(["true"])
        done.wait()
        pid = done.pid
    elif case == "another program":
        script = "nosuch/run.sh"
    else:
        assert recipe(tree, "--stage", 6, "--stop-stage", 6)[0] == 0
        lines = (tree.root / "out/options.conf").read_text().splitlines()
        varying = ("--stage=", "--stop-stage=", "--nj=", "--cmd=", "--details=")
        options = "\n".join(line for line in lines if not line.startswith(varying))
    other = registered(tree, pid, script, options)
    code, err = recipe(tree, "--stage", 6, "--stop-stage", 6)
    assert code == 0, err
    assert other.exists() is (case == "same options")


def test_a_run_on_another_machine_counts(tree: Tree) -> None:
    registered(tree, 1, "run.sh", "--bootstrap=30", host="node7")
    code, err = recipe(tree, "--stage", 6, "--stop-stage", 6)
    assert code == 1 and "process 1 on node7" in err


@pytest.mark.parametrize("rounds", [8])
def test_sets_of_files_at_once_leave_one_of_them(tmp_path: Path, rounds: int) -> None:
    """Tables of two systems: what is not of the last one is removed."""
    sets = [{f"{name}{i}.txt": name for i in range(20)} for name in "ab"]
    for number in range(rounds):
        folder = tmp_path / str(number)
        writers = [
            threading.Thread(target=bring_up_to_date, args=([file_set(folder, s)], Inputs()))
            for s in sets
        ]
        for one in writers:
            one.start()
        for one in writers:
            one.join()
        names = {path.name for path in folder.iterdir() if path.name != NOTE}
        assert names in ({*sets[0]}, {*sets[1]})
        (current,) = (s for s in sets if {*s} == names)
        assert bring_up_to_date([file_set(folder, current)], Inputs()).current


# Runners


@pytest.mark.parametrize("code", [1, 2, 126, 255])
def test_a_runner_that_starts_nothing_is_named(tree: Tree, tmp_path: Path, code: int) -> None:
    runner = executable(tmp_path / "runner.sh", f"#!/bin/sh\nexit {code}\n")
    (tree.root / "out/log").mkdir(parents=True)
    (tree.root / "out/log/privacy_metrics.1.log").write_text("of an earlier run\n")
    ended, err = recipe(tree, "--stage", 6, "--cmd", runner)
    assert ended not in (0, 130, 143) and " Stage 7" not in err
    assert f"exit code {code} and started no job: {runner}" in err and "killed" not in err
    assert not (tree.root / "out/records").exists()


# Streams


def count(tree: Tree, *_: object) -> list[object]:
    folder = tree.root / "exp/results-now/ASV-libri_dev_enrolls-libri_dev_trials_f"
    key = tree.root / "data/libri_dev_trials_f/trials"
    return ["--scores", folder / "scores", "--trials", key]


VERBS: dict[str, tuple[str, Callable[[Tree], list[object]], int]] = {
    "count": ("count", lambda tree: [*count(tree), "--out", tree.root / "counts"], 0),
    "metrics": ("metrics", count, 0),
    "zebra": ("zebra", count, 0),
    "check": ("stage", lambda tree: ["check", "--tree", tree.root, "--results", "exp"], 0),
    "a warning": ("selftest", lambda _: ["--nosuch"], 2),
    "bad data": ("metrics", lambda tree: [*count(tree)[:2], "--trials", tree.root / "none"], 1),
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(("verb", "options", "code"), VERBS.values(), ids=VERBS)
def test_messages_that_cannot_be_written_change_nothing(
    tree: Tree, verb: str, options: Callable[[Tree], list[object]], code: int
) -> None:
    words = [sys.executable, "-m", "privacy_eval", verb, *map(str, options(tree))]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=full, check=False)
    assert done.returncode == code


# Days


def test_the_day_is_that_of_the_results(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = ("--tree", tree.root, "--results", "exp", "--out", "out")
    results = tree.root / "out/results.json"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86400 * 365))
    for verb in ("privacy-metrics", "collect"):
        assert cli("stage", verb, *common).code == 0
    assert read_results(results).day == "1971-01-01"
    before = results.read_bytes()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86400 * 730))
    assert cli("stage", "collect", *common).code == 0  # current
    assert results.read_bytes() == before
    copied = Path(shutil.copy(results, tmp_path / "results.json"))
    for year in (86400 * 3650, 4102444800, 2**40):  # the last is no time of a calendar
        os.utime(copied, (year, year))
        out = tmp_path / f"{year}.html"
        assert cli("report", "--results", copied, "--out", out).code == 0
        assert "results.json of 1971-01-01" in out.read_text()
    assert cli("stage", "privacy-metrics", *common, "--bootstrap", 20).code == 0
    assert cli("stage", "collect", *common).code == 0  # other results
    assert read_results(results).day == "1972-01-01"


# Optional things


def broken_module(folder: Path, name: str) -> str:
    """A path of modules on which one is broken."""
    path = folder / "broken" / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text('raise RuntimeError("broken")\n')
    return str(path.parent)


def broken_tex(folder: Path, text: str) -> str:
    program = executable(folder / "bin/pdflatex", text)
    return f"{program.parent}:{os.environ['PATH']}"


TEX = {
    "fails": "#!/bin/sh\nexit 1\n",
    "has no formats": "#!/bin/sh\necho 'I can'\\''t find the format file' >tables.log; exit 1\n",
    "hangs": "#!/bin/sh\nexec sleep 100\n",
    "is killed": "#!/bin/sh\nkill -9 $$\n",
}


@pytest.mark.parametrize("how", TEX)
def test_a_run_without_tex(tree: Tree, tmp_path: Path, how: str) -> None:
    """One of the runs goes on to its end."""
    path, last = broken_tex(tmp_path, TEX[how]), 100 if how == "fails" else 9
    code, err = recipe(tree, "--stage", 6, "--stop-stage", last, PATH=path, TEX_SECONDS="1")
    assert code == 0, err
    out = tree.root / "out"
    assert "warning: pdflatex failed" in err and not (out / "tables/tables.pdf").exists()
    assert (out / "tables/tables.tex").is_file()
    assert (out / "report.html").is_file() == (last > 9)


def test_a_run_without_pictures(tree: Tree, tmp_path: Path) -> None:
    path = broken_module(tmp_path, "matplotlib")
    code, err = recipe(tree, "--stage", 6, PYTHONPATH=path, VIRTUAL_ENV="")
    assert code == 0, err
    out = tree.root / "out"
    assert f"without {OPTIONAL['matplotlib']}, as matplotlib is missing or broken" in err
    assert json.loads((out / "figures/captions.json").read_text()) == {}
    assert (out / "tables/summary.txt").is_file() and (out / "report.html").is_file()
    code, err = recipe(tree, "--stage", 10)  # mended
    assert code == 0 and "broken" not in err
    drawn = json.loads((out / "figures/captions.json").read_text())
    assert drawn and all((out / f"figures/{name}.png").is_file() for name in drawn)


def raises(error: Exception, *_: object) -> Content:
    raise error


#: Errors of the packages of optional results.
ERRORS = [MissingLibraryError("x needs y: pip install y"), ImportError("libx.so: no such file")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("run", [Run(), Run(nj=2), Run(isolated=True)], ids=["1", "2", "apart"])
def test_results_that_need_an_optional_package(tmp_path: Path, error: Exception, run: Run) -> None:
    def product(name: str, optional: bool) -> Product:
        path = tmp_path / name
        make = partial(raises, error)
        note = tmp_path / f".{name}{NOTE}"
        return Product(name, tmp_path, note, (path,), no_inputs, make, optional=optional)

    outcome = bring_up_to_date([product("a", True), product("b", False)], Inputs(), run)
    assert {n: e.kind for n, e in outcome.missing.items()} == {"a": LIBRARY}
    assert [*outcome.failed] == ["b"] and str(error) in str(outcome.missing["a"])


def no_inputs(_: Inputs) -> dict[str, Path]:
    return {}


def test_a_missing_package_stays_one_whatever_it_was_needed_for() -> None:
    with pytest.raises(MissingLibraryError, match="^x needs y"), located("file"):
        raise ERRORS[0]
    with pytest.raises(PrivacyEvalError, match="^file: other"), located("file"):
        raise PrivacyEvalError("other")
