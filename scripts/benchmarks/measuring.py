"""Rows: some work against a plain operation on the same data, in turns, as a ratio of costs."""

from __future__ import annotations

import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tabulate import tabulate

import privacy_eval

#: What one turn costs: seconds, and GiB where whole processes are measured.
Costs = tuple[float, ...]
#: Do some work once and return its costs.
Measure = Callable[[], Costs]
#: Make the data in a folder, which is removed at the end, and return the measures of the work and
#: of the plain operation.
Prepare = Callable[[Path], tuple[Measure, Measure]]

UNITS = ("s", "GiB")


@dataclass(frozen=True)
class Row:
    """Some work and the plain operation that limits it.

    Attributes
    ----------
    work, limit : str
        Their names.
    goals : tuple of float
        Of the ratios of their costs.
    prepare : callable
    checked : bool
        Whether `--check` measures it: rows of seconds, whose ratios do not depend on the machine.
    packages : tuple of str
        Packages that it needs beside those of the toolkit.
    """

    work: str
    limit: str
    goals: tuple[float, ...]
    prepare: Prepare
    checked: bool = True
    packages: tuple[str, ...] = ()

    @property
    def lacking(self) -> list[str]:
        """Packages that are not installed."""
        return [name for name in self.packages if importlib.util.find_spec(name) is None]


@dataclass(frozen=True)
class Measured:
    """Costs of a row."""

    row: Row
    ours: Costs
    limit: Costs

    @property
    def ratios(self) -> tuple[float, ...]:
        return tuple(a / b for a, b in zip(self.ours, self.limit, strict=True))

    @property
    def is_met(self) -> bool:
        return all(r <= goal for r, goal in zip(self.ratios, self.row.goals, strict=True))

    def cells(self) -> list[tuple[str, ...]]:
        """Format a line for each cost."""
        columns = zip(UNITS, self.ours, self.limit, self.ratios, self.row.goals, strict=False)
        return [
            (self.row.work, f"{ours:.3f} {unit}", self.row.limit, f"{limit:.3f} {unit}")
            + (f"{ratio:.3g}", f"{goal:g}", "yes" if ratio <= goal else "NO")
            for unit, ours, limit, ratio, goal in columns
        ]


def measure(row: Row, turns: int, *, best: bool = False) -> Measured:
    """Measure both sides of a row one after the other, so that both meet the same load: the best
    turn of each, or the median, in which a first one is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        sides = row.prepare(Path(folder))
        if not best:
            _ = [side() for side in sides]
        costs = np.array([[side() for side in sides] for _ in range(turns)])
    ours, limit = (np.min if best else np.median)(costs, axis=0).tolist()
    return Measured(row, tuple(ours), tuple(limit))


def show(rows: Iterable[Row], repeats: int) -> bool:
    """Print rows and return whether all goals are met."""
    measured = []
    for row in rows:
        if row.lacking:
            print(f"left out, without {', '.join(row.lacking)}: {row.work}")
        else:
            measured.append(measure(row, repeats))
    return show_measured(measured)


def show_measured(measured: Sequence[Measured]) -> bool:
    """Print what was measured and return whether all goals are met."""
    table(
        [line for one in measured for line in one.cells()],
        *("work", "", "limit", "", "ratio", "goal", "met"),
    )
    return all(one.is_met for one in measured)


def table(rows: Sequence[Sequence[object]], *headers: str) -> None:
    """Print a table."""
    print(tabulate(rows, headers=headers, disable_numparse=True), flush=True)


def wall(work: Callable[[], object], times: int = 1) -> Measure:
    """Measure the seconds of some work, which does the same so many times."""

    def seconds() -> Costs:
        start = time.perf_counter()
        work()
        return ((time.perf_counter() - start) / times,)

    return seconds


def processor(work: Callable[[], object], times: int = 1) -> Measure:
    """Measure the seconds of all cores, whatever else they do."""

    def seconds() -> Costs:
        start = time.process_time()
        work()
        return ((time.process_time() - start) / times,)

    return seconds


def constant(seconds: float) -> Measure:
    """Stand for a duration, such as that of the audio."""
    return lambda: (seconds,)


def process(command: Sequence[str]) -> Measure:
    """Measure the seconds and the peak GiB of a whole process."""
    return lambda: run(command)[:2]


def peak_memory(goal: float | None = None) -> bool:
    """Print the peak memory of this process and return whether the goal, in GiB, is met."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    wanted = "" if goal is None else f" (goal {goal:g})"
    print(f"peak memory of this process: {peak:.2f} GiB{wanted}")
    return goal is None or peak <= goal


# Linux counts the memory of the parent at the time of the fork to a process's peak memory: a
# small parent starts the command.
_STARTER = """
import os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
seconds, processor = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
print(os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss, processor)
"""


def program(*words: object) -> list[str]:
    """Return a command of the toolkit."""
    return [sys.executable, "-m", "privacy_eval", *map(str, words)]


def environment() -> dict[str, str]:
    """Return this process's environment, with the programs of its Python and its package first:
    commands run in other folders, where a relative PYTHONPATH leads nowhere."""
    package = Path(os.path.abspath(privacy_eval.__file__)).parents[1]
    inherited = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(package), *map(os.path.abspath, inherited)]),
    }


def run(command: Sequence[str]) -> tuple[float, float, float]:
    """Return seconds, peak memory in GiB and processor time of a command, or of a process that it
    starts."""
    # In another folder, as `python -m` would import the package of a clone in this one.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", _STARTER, *command],
            check=False,
            capture_output=True,
            text=True,
            env=environment(),
            cwd=folder,
        )
    code, *costs = done.stdout.split() if done.returncode == 0 else [""]
    if code != "0":
        sys.exit(f"{done.stderr}exit code {code or done.returncode}: {' '.join(command)}")
    seconds, peak_kib, processor_seconds = map(float, costs)
    return seconds, peak_kib / 2**20, processor_seconds
