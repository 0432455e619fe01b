"""What the verbs share: options of a tree, number types, progress and messages."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import PrivacyEvalError, abbreviate, printable
from ..protocol.protocol import Protocol, bundled, load_protocol
from ..stages.asv_scores import Place
from ..stages.jobs import Cost, Progress, needed_bytes
from ..tree.conditions import System
from ..tree.confine import refuse_links
from ..tree.discovery import beside_each_other, find_systems, unknown_folders

#: Environment variable that asks for lines of progress.
PROGRESS = "PRIVACY_EVAL_PROGRESS"

# More would not end, and tell nothing more.
_MOST_REPLICATES = 1_000_000

#: What argparse's `add_subparsers` gives.
Verbs = Any


def add_tree(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tree", type=Path, default=Path(), metavar="DIR", help="default: .")
    parser.add_argument(
        "--results",
        required=True,
        type=Path,
        metavar="DIR",
        help="folder of ASV-* folders, or a collection of such; relative to the tree",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="relative to the tree; default: RESULTS/privacy_eval",
    )
    parser.add_argument(
        "--conf",
        default="vpc2020",
        metavar="FILE",
        help=f"{', '.join(bundled())}, or a YAML file relative to the tree",
    )
    parser.add_argument(
        "--system", metavar="NAME", help="evaluate this one of several, or name the only one"
    )
    parser.add_argument("--anon-suffix", metavar="SUFFIX", help="what marks anonymized sets")
    parser.add_argument(
        "--allow-outside", action="store_true", help="follow links that lead out of the tree"
    )
    parser.add_argument("--keys", type=Path, metavar="DIR", help="folder of trial keys")


def systems_of(
    arguments: argparse.Namespace, *, needed: bool = True, warn: bool = True
) -> tuple[list[System], Protocol, Path]:
    """Systems, plan and output folder that the options of a tree name; with a warning of
    folders that are odd."""
    tree: Path = arguments.tree
    if not tree.is_dir():
        raise PrivacyEvalError(f"{tree}: no such folder (experiment tree)")
    protocol = load_protocol(arguments.conf, base=tree)
    results = tree / arguments.results
    out = tree / (arguments.out or arguments.results / "privacy_eval")
    if not needed and not results.exists():
        log(f"privacy-eval: {results}: not there yet (results folder)")
        return [], protocol, out
    refuse_links(out, results)
    systems = find_systems(
        tree,
        results,
        protocol,
        name=arguments.system,
        anon_suffix=arguments.anon_suffix,
        keys=None if arguments.keys is None else tree / arguments.keys,
        allow_outside=arguments.allow_outside,
    )
    if needed and not systems:
        raise PrivacyEvalError(
            f"{results}: no results, expected folders ASV-<enrollment set>-<trial set> in it, or "
            "folders results-* below that hold them"
        )
    if warn:
        for parent, names in unknown_folders(systems).items():
            log(
                f"privacy-eval: warning: {parent}: {len(names)} folders are no conditions of the "
                f"plan {protocol.name} and left out (another plan: --conf; another mark of "
                f"anonymized sets: --anon-suffix): {abbreviate(names)}"
            )
        for parent, names in beside_each_other(systems, results).items():
            log(
                f"privacy-eval: warning: {parent}: {abbreviate(names)} are treated as separate "
                "systems; move aside any that are not"
            )
    return systems, protocol, out


def place_of(arguments: argparse.Namespace) -> Place:
    """Where the options of a tree say that files are, and what may be read."""
    tree: Path = arguments.tree
    return Place(
        tree,
        tree / arguments.results,
        keys=None if arguments.keys is None else tree / arguments.keys,
        allow_pipes=getattr(arguments, "allow_pipes", False),
        allow_outside=arguments.allow_outside,
        allow_missing=getattr(arguments, "allow_missing", False),
    )


def progress() -> Progress | None:
    """How a verb shows where it is: on a terminal in a line that changes, in the log of a job
    (`scripts/run_shares.sh` says that there is one) a line now and then, otherwise not."""
    if sys.stderr.isatty():
        return show_progress
    return _LogLines().show if os.environ.get(PROGRESS) == "lines" else None


class _LogLines:
    def __init__(self) -> None:
        self._last = -math.inf

    def show(self, done: int, total: int, name: str) -> None:
        if time.monotonic() >= self._last + 1 or done == total:
            self._last = time.monotonic()
            log(_place(done, total, name))


def show_progress(done: int, total: int, name: str) -> None:
    """One line of a terminal; a total of 0 is not known."""
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r\033[K{_place(done, total, name)}{end}")
    sys.stderr.flush()


def _place(done: int, total: int, name: str) -> str:
    return f"{done}/{total} {name}" if total else f"{done} {name}"


def say_needed(costs: Sequence[Cost]) -> None:
    """Before a job begins, so that it stands in its log if it is killed for want of memory."""
    gib = needed_bytes(costs) / 2**30
    log(f"privacy-eval: this job needs about {gib:.1f} GiB of memory")


def log(text: str) -> None:
    """Print to stderr, with escapes for what is not printable."""
    print("\n".join(map(printable, text.split("\n"))), file=sys.stderr)


def natural(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, not {text!r}")
    return int(text)


def replicates(text: str) -> int:
    if natural(text) == 1 or natural(text) > _MOST_REPLICATES:
        raise argparse.ArgumentTypeError(
            f"expected 0 or 2 to {_MOST_REPLICATES} resamplings, not {text}"
        )
    return int(text)


def positive(text: str) -> int:
    if natural(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, not {text!r}")
    return int(text)


def one_of(numbers: range) -> Callable[[str], int]:
    """The type of a whole number of a range."""

    def number(text: str) -> int:
        if natural(text) not in numbers:
            raise argparse.ArgumentTypeError(
                f"expected a whole number from {numbers[0]} to {numbers[-1]}, not {text!r}"
            )
        return int(text)

    return number


def add_job(parser: argparse.ArgumentParser, *, verb: str = "do") -> None:
    parser.add_argument(
        "--job", type=_share, metavar="J/N", help=f"{verb} the J-th of N shares (default: all)"
    )


def _share(text: str) -> tuple[int, int]:
    number, slash, total = text.partition("/")
    share = (positive(number), positive(total)) if slash else (0, 0)
    if not 1 <= share[0] <= share[1]:
        raise argparse.ArgumentTypeError(f"expected J/N with 1 <= J <= N, not {text!r}")
    return share
