#!/usr/bin/env python3
"""Feed the readers of untrusted files as many random inputs as asked for; the tests try a few.

    scripts/fuzz.py --inputs 1000000               all readers, one after the other
    scripts/fuzz.py --inputs 1000000 --jobs 2      in two processes
    scripts/fuzz.py --reader plda --seed 7
    scripts/fuzz.py --reader onnx --inputs 2000    a second each, and not among all readers

In batches of 10 000; a batch is a function of the reader's name and its seed, which is one more
than that of the batch before. Prints how many inputs were read and how many refused; a wrong answer
ends the run with the smallest such input that Hypothesis finds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "hostile")]

from readers import READERS, SLOW_READERS, fuzz  # noqa: E402

BATCH = 10_000


def main() -> int:
    parser = argparse.ArgumentParser(description="Feed readers random inputs.")
    parser.add_argument("--inputs", type=int, default=BATCH, help="of each reader")
    parser.add_argument("--reader", action="append", choices=[*READERS, *SLOW_READERS])
    parser.add_argument("--seed", type=int, default=0, help="of the first batch")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        names = arguments.reader or READERS
        waiting = [pool.submit(batches, name, arguments.inputs, arguments.seed) for name in names]
        for done in as_completed(waiting):
            print(done.result(), flush=True)
    return 0


def batches(name: str, inputs: int, seed: int) -> str:
    """Fuzz one reader; return a line with the counts."""
    begin = time.monotonic()
    counts = [0, 0]
    with tempfile.TemporaryDirectory(prefix="fuzz.") as folder:
        for number, first in enumerate(range(0, inputs, BATCH)):
            size = min(BATCH, inputs - first)
            batch = fuzz(name, Path(folder), inputs=size, seed=seed + number)
            counts = [a + b for a, b in zip(counts, batch, strict=True)]
    return f"{name}: {counts[0]} read, {counts[1]} refused, {time.monotonic() - begin:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
