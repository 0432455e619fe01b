#!/usr/bin/env python3
"""Kill runs of the recipe's stages 2 to 11 at random moments and compare what later runs make.

    scripts/crash_test.py --kills 200

On a tree small enough for a run of seconds. After some kills in a row a run may end: every
file must then have the bytes of a run that nothing disturbed, and no file may ever stand half
written under its own name. Half of the kills take every process, half only the group of
run.sh, so that jobs of the killed run may still be at work beside the next. Not compared: logs,
which have times. Needs Linux (/proc) and the test environment; exit code 1 at the first difference.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from crashes import Runs, crash, crash_tree, undisturbed  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill runs of the recipe and compare.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--in-a-row", type=int, default=8, help="kills before a run may end")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    arguments = parser.parse_args()

    def recipe(tree: Path) -> list[str]:
        run = ROOT / "recipes" / "vpc2020" / "run.sh"
        options = "--stage 2 --conf small.yaml --bootstrap 20".split()
        return [str(run), *options, "--tree", str(tree)]

    begin = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="crash_test.") as name,
        Runs(Path(name), recipe) as runs,
    ):
        os.environ["XDG_STATE_HOME"] = f"{name}/state"
        tree = crash_tree(Path(name) / "tree")
        try:
            whole, duration = undisturbed(runs, tree)
            n_killed, n_finished = crash(
                runs,
                tree,
                whole,
                # What a killed run has made stays, so that the next one is shorter.
                duration=duration / 2,
                kills=arguments.kills,
                in_a_row=arguments.in_a_row,
                moments=random.Random(arguments.seed),
                log=lambda text: print(text, file=sys.stderr, flush=True),
            )
        except AssertionError as error:
            print(f"crash_test.py: {error}", file=sys.stderr)
            return 1
    seconds = time.monotonic() - begin
    print(f"{n_killed} kills, {n_finished} runs to the end, all of the same bytes, {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
