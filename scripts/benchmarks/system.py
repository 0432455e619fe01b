"""Whole commands: a system stage by stage, `--help`, and growth with the size of the input."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from privacy_eval.cli import VERBS
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.simulate import write_demo_tree

from . import similarity
from .measuring import Measure, Row, environment, program, run, table, wall
from .trials import trial_blocks, write_files

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "vpc2020" / "run.sh"
SYSTEM_GOAL, UNCHANGED_GOAL = 20.0, 4.0


def rows(_: int) -> Iterator[Row]:
    """`--help` of verbs against importing NumPy as often."""
    for verbs in (VERBS, VERBS[::7]):
        work = f"--help of {len(verbs)} verbs"
        yield Row(work, "import numpy", (2.0,), partial(helps, verbs), checked=len(verbs) < 10)


def helps(verbs: list[str], _: Path) -> tuple[Measure, Measure]:
    """Print the help of verbs."""

    def each(commands: list[list[str]]) -> Measure:
        def work() -> None:
            for command in commands:
                subprocess.check_output(command, cwd=gettempdir(), env=environment())

        return wall(work, len(commands))

    importing = [sys.executable, "-c", "import numpy"]
    return each([program(verb, "--help") for verb in verbs]), each([importing] * len(verbs))


def system(speakers: int, utterances: int) -> bool:
    """Measure stages 5 to 10 of one system: 36 conditions, 12 similarity sets, tables, figures."""
    with TemporaryDirectory() as name:
        tree = Path(name) / "tree"
        protocol = load_protocol("vpc2020")
        write_demo_tree(tree, protocol, speakers=speakers, utterances=utterances, systems=1)
        runs = [recipe(tree), recipe(tree)]
    # In the second run every stage finds that nothing changed.
    rows = [[stage, *(f"{run.get(stage, 0):.1f}" for run in runs)] for stage in runs[0]]
    seconds = [sum(run.values()) for run in runs]
    met = [seconds[0] <= SYSTEM_GOAL, seconds[1] <= UNCHANGED_GOAL]
    rows.append(["all", *(f"{s:.1f}" for s in seconds)])
    rows.append(["goal", f"{SYSTEM_GOAL:g}", f"{UNCHANGED_GOAL:g}"])
    rows.append(["met", *("yes" if m else "NO" for m in met)])
    print(f"a system of {speakers} speakers and {utterances} utterances of each per trial set")
    table(rows, "stage", "s", "nothing changed, s")
    return all(met)


def recipe(tree: Path) -> dict[str, float]:
    """Return the seconds of every stage, by the recipe's log."""
    command = [str(RECIPE), "--stage", "5", "--stop-stage", "10", "--nj", "2", "--tree", str(tree)]
    start, stage = time.perf_counter(), "start"
    seconds: dict[str, float] = {}
    log = []
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            log.append(line)
            begun = re.search(r" (?:Stage (\d+): |Done$)", line)
            if begun:
                now = time.perf_counter()
                seconds[stage] = now - start
                start, stage = now, begun[1]
    if process.returncode:
        sys.exit("".join(log))
    return seconds


def growth(scale: int) -> bool:
    """Print time and peak memory of whole commands against the size of their input."""
    with TemporaryDirectory() as name:
        for title, sizes, prepare in (
            ("trials: metrics", (10**4, 10**5, 10**6, 10**7), prepare_metrics),
            ("utterances: similarity", (500, 1000, 2000, 5000, 10_000), prepare_similarity),
            ("systems: stages 5 to 9", (1, 2, 5, 10, 20, 50), prepare_systems),
        ):
            rows: list[list[str]] = []
            before: tuple[int, float] | None = None
            for size in (s for s in sizes if scale == 1 or s < sizes[-1]):
                folder = Path(name) / f"{prepare.__name__}_{size}"
                folder.mkdir()
                seconds, gib, _ = run(prepare(folder, size))
                exponent = ""
                if before is not None:
                    exponent = f"{math.log(seconds / before[1]) / math.log(size / before[0]):.2f}"
                rows.append([f"{size}", f"{seconds:.2f}", f"{gib:.2f}", exponent])
                before = size, seconds
                shutil.rmtree(folder)
            print(f"\n{title}")
            table(rows, "size", "s", "peak GiB", "exponent")
    return True


def prepare_metrics(folder: Path, trials: int) -> list[str]:
    """Write the score file and the key of so many trials."""
    scores, key = write_files(folder, trial_blocks(trials))
    return program("metrics", "--scores", scores, "--trials", key)


def prepare_similarity(folder: Path, utterances: int) -> list[str]:
    """Write the x-vectors of a trial set."""
    similarity.write_speech(folder, utterances)
    return similarity.command(folder)


def prepare_systems(folder: Path, systems: int) -> list[str]:
    """Write a small tree of so many systems, of 36 conditions each."""
    tree = folder / "tree"
    write_demo_tree(tree, load_protocol("vpc2020"), speakers=4, utterances=4, systems=systems)
    stages = ("--stage", "5", "--stop-stage", "9", "--nj", "2")
    return [str(RECIPE), *stages, "--tree", str(tree)]
