#!/usr/bin/env python3
"""Speed of the toolkit, on simulated data, as ratios to plain operations in the same run.

    scripts/bench.py score             metrics; reading and pairing; whole commands; bootstrap
    scripts/bench.py identification    linkage in all gallery sizes, and its peak memory
    scripts/bench.py disclosure        amount of speech, groups of speakers, audit of audio
    scripts/bench.py similarity        voice similarity of a trial set, and its peak memory
    scripts/bench.py system            stages 5 to 10 of a whole system, twice
    scripts/bench.py speech            features and McAdams anonymization, per second of speech;
                                       x-vectors of a full-size network, against its products
    scripts/bench.py attackers         words, ridge map and score normalization, and their
                                       peak memory
    scripts/bench.py models            neural encoders, against their products or onnxruntime;
                                       front ends, per second of speech; two jobs against one
    scripts/bench.py help              --help of every verb
    scripts/bench.py growth            time and memory against the number of trials,
                                       utterances and systems
    scripts/bench.py scale             10^7 and 10^8 trials: text, arrays, Parquet, counts;
                                       2000 tests in a gallery of 10^6
    scripts/bench.py train             training of encoders, with torch: crops a second against
                                       bare steps, first step, speech a second
    scripts/bench.py score --quick     smaller sizes
    scripts/bench.py --check           fail where a ratio exceeds the stored one (3 minutes)

Rows have the medians of both times, their ratio, and the goal. Ratios vary with the versions of
NumPy and SciPy (mostly the speed of argsort), which are printed. A whole system is measured in
seconds, stage by stage: first everything, then once more, with nothing changed. Growth is that of
whole commands, from files to results, with the exponent from one size to the next.
`recipes/bench/RESULTS.md` has the results of one machine. Commands are run outside of the clone:
they use the package that this script imports.

--check measures the shorter rows, best of five turns of both sides, and those that fail up to five
times more, with a pause, on fresh data.
It exits with 1 where a ratio exceeds 1.25 times that of recipes/bench/ratios.json. --check --store
writes lower ratios, and those of new rows, into that file. To let a ratio rise, edit the file, and
give the reason in the commit.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import scipy
from benchmarks.measuring import Row, measure, peak_memory, show

#: The greatest ratio by row, a value of seconds or also one of memory.
Ratios = dict[str, list[float]]

STORED = Path(__file__).resolve().parents[1] / "recipes" / "bench" / "ratios.json"
#: By how much a ratio may exceed the stored one, and the turns of which the best one counts.
TOLERANCE, TURNS = 1.25, 5
#: How often a row that fails is measured again, and after which seconds: other work on the machine
#: and where the data happen to lie move a ratio by a third.
RETRIES, PAUSE = 5, 5.0
#: Of memory, whose cost varies with what else the machine does.
NO_HUGE_PAGES = {"NUMPY_MADVISE_HUGEPAGE": "0"}
ONE_CORE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
#: Groups measured on one core.
ON_ONE_CORE = ("speech", "attackers", "models")
#: Groups of rows, and their modules.
OF_ROWS = {
    "score": "score",
    "disclosure": "disclosure",
    "speech": "speech",
    "attackers": "attackers",
    "models": "models",
    "help": "system",
}
OTHERS = ("identification", "similarity", "system", "growth", "scale", "train")


def main() -> int:
    """Measure a group, or check the stored ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("group", nargs="?", choices=[*OF_ROWS, *OTHERS])
    parser.add_argument("--check", action="store_true", help="compare with the stored ratios")
    parser.add_argument("--store", action="store_true", help="with --check: write lower ratios")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument(
        "--utterances",
        type=int,
        help="of similarity's trial set (default: 5400), or of each of a system's speakers (30)",
    )
    parser.add_argument("--speakers", type=int, default=30, help="of a system's trial sets")
    arguments = parser.parse_args()
    if (arguments.group is None) != arguments.check or arguments.store > arguments.check:
        parser.error("give a group, or --check with or without --store")
    settings = dict(ONE_CORE) if arguments.check or arguments.group in ON_ONE_CORE else {}
    settings |= NO_HUGE_PAGES if arguments.check else {}
    if not settings.items() <= os.environ.items():  # must be set before NumPy
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | settings)
    print(machine())
    if arguments.check:
        rows = (row for group in OF_ROWS for row in rows_of(group, 1) if row.checked)
        return 0 if check(rows, STORED, store=arguments.store) else 1
    return 0 if measured_group(arguments) else 1


def machine() -> str:
    """Describe what ratios depend on."""
    versions = f"NumPy {np.__version__}, SciPy {scipy.__version__}"
    return f"Python {platform.python_version()}, {versions}, {platform.machine()}"


def rows_of(group: str, scale: int) -> Iterator[Row]:
    """Yield the rows of a group, of sizes divided by `scale`."""
    yield from importlib.import_module(f"benchmarks.{OF_ROWS[group]}").rows(scale)


def measured_group(arguments: argparse.Namespace) -> bool:
    """Measure a group and return whether its goals are met."""
    group, repeats, scale = arguments.group, arguments.repeats, 10 if arguments.quick else 1
    if group in OF_ROWS:
        met = show(rows_of(group, scale), repeats)
        return peak_memory(1.0 if group == "attackers" else None) and met
    if group == "identification":
        from benchmarks.disclosure import identification

        return identification(scale, repeats)
    if group == "similarity":
        from benchmarks.similarity import similarity

        return similarity((arguments.utterances or 5400) // scale, repeats)
    if group == "train":
        from benchmarks.train import train

        return train(scale)
    if group == "scale":
        from benchmarks.scale import large_gallery, many_trials

        met = large_gallery(10**6 // scale)
        return many_trials((10**7 // scale, 10**8 // scale), repeats) and met
    from benchmarks.system import growth, system

    if group == "growth":
        return growth(scale)
    return system(arguments.speakers, arguments.utterances or 30)


def check(rows: Iterable[Row], stored: Path, *, store: bool = False) -> bool:
    """Compare rows with their stored ratios and return whether none is exceeded.

    A row whose packages are not installed is left out; with `store`, lower ratios and those of new
    rows are written.
    """
    start, limits = time.perf_counter(), read_ratios(stored)
    lowest, faults = dict(limits), []
    unknown = set(limits)
    for row in rows:
        unknown.discard(row.work)
        if row.lacking:
            print(f"left out, without {', '.join(row.lacking)}: {row.work}")
            continue
        limit = limits.get(row.work)
        ratios = list(best(row))
        for _ in range(RETRIES):
            if excess(ratios, limit or []):
                time.sleep(PAUSE)
                ratios = [*map(min, ratios, best(row))]
        lowest[row.work] = [round(r, 4) for r in map(min, ratios, limit or ratios)]
        numbers = ", ".join(f"{ratio:.3g}" for ratio in ratios)
        print(f"{numbers:>12} x {row.limit}: {row.work}", flush=True)
        if limit is None:
            faults += [] if store else [f"{row.work}: no ratio is stored (--check --store)"]
        faults += [f"{row.work}: {text}" for text in excess(ratios, limit or [])]
    faults += [f"{work}: stored, but there is no such row" for work in sorted(unknown) if not store]
    if store:
        write_ratios(stored, {work: of for work, of in lowest.items() if work not in unknown})
    print(f"{time.perf_counter() - start:.0f} s")
    for fault in faults:
        print(fault, file=sys.stderr)
    return not faults


def best(row: Row) -> tuple[float, ...]:
    """Return the ratios of the best turns of both sides."""
    return measure(row, TURNS, best=True).ratios


def excess(ratios: Iterable[float], stored: Iterable[float]) -> list[str]:
    """Describe the ratios that exceed the stored ones by too much."""
    return [
        f"{ratio:.3g} x, stored {limit:.3g}, at most {TOLERANCE * limit:.3g}"
        for ratio, limit in zip(ratios, stored, strict=False)
        if ratio > TOLERANCE * limit
    ]


def read_ratios(path: Path) -> Ratios:
    """Read the stored ratios; none, if there is no such file."""
    return json.loads(path.read_text())["ratios"] if path.exists() else {}


def write_ratios(path: Path, ratios: Ratios) -> None:
    """Write the stored ratios, a row a line."""
    lines = ",\n".join(f"  {json.dumps(work)}: {ratios[work]}" for work in sorted(ratios))
    path.write_text(f'{{\n "measured": {json.dumps(machine())},\n "ratios": {{\n{lines}\n }}\n}}\n')


if __name__ == "__main__":
    sys.exit(main())
