#!/usr/bin/env python3
"""Feeds the readers of strangers' files inputs changed at random, as many as asked for.

    scripts/fuzz.py --inputs 1000000               all readers, one after the other
    scripts/fuzz.py --inputs 1000000 --jobs 2      in two processes
    scripts/fuzz.py --reader plda --seed 7

Every input is a function of the reader's name, the seed and its number. Prints how many were
read and how many refused; exit code 1 where one was answered wrongly, with that input.
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

from readers import READERS, Failure, fuzz, memory_folder  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description="Feed readers inputs changed at random.")
    parser.add_argument("--inputs", type=int, default=10_000, help="of each reader")
    parser.add_argument("--reader", action="append", choices=list(READERS), help="default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    arguments = parser.parse_args()
    failed = []
    with (
        tempfile.TemporaryDirectory(prefix="fuzz.", dir=memory_folder()) as folder,
        ProcessPoolExecutor(arguments.jobs) as pool,
    ):
        waiting = [
            pool.submit(_one, name, Path(folder) / name, arguments)
            for name in arguments.reader or READERS
        ]
        for done in as_completed(waiting):
            good, line = done.result()
            print(line, flush=True)
            if not good:
                failed.append(line)
    return 1 if failed else 0


def _one(name: str, folder: Path, arguments: argparse.Namespace) -> tuple[bool, str]:
    """Whether all inputs of a reader were answered rightly, and a line that says so."""

    def show(done: int) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{name}: {done} of {arguments.inputs}")
            sys.stderr.flush()

    begin = time.monotonic()
    try:
        read, refused = fuzz(
            name,
            folder,
            inputs=arguments.inputs,
            seed=arguments.seed,
            first=arguments.first,
            progress=show,
        )
    except Failure as failure:
        return False, f"{failure}"
    finally:
        show(arguments.inputs)
    seconds = time.monotonic() - begin
    return True, f"{name}: {read + refused} inputs, {read} read, {refused} refused, {seconds:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
