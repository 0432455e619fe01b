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

from ..asv.backend import BACKENDS, PldaBackend
from ..asv.model_folder import BACKEND_FILES, load_backend
from ..errors import PrivacyEvalError, abbreviate
from ..io.scp import Vectors, read_vectors
from ..protocol.protocol import Protocol, bundled, load_protocol
from ..stages.asv_scores import Place, Scored, Target, find_targets
from ..stages.jobs import Cost, Progress, needed_bytes
from ..stages.privacy_metrics import Options
from ..tree.conditions import System
from ..tree.confine import refuse_links
from ..tree.discovery import beside_each_other, find_systems, unknown_folders

#: Environment variable that asks for lines of progress.
PROGRESS = "PRIVACY_EVAL_PROGRESS"

# More would not end, and tell nothing more.
_MOST_REPLICATES = 1_000_000

_SHOWN = 3

IN_PLACE = "in place"

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
    """Say something on stderr. Names may be strangers': what a terminal would obey, or not
    show, is escaped."""
    shown = (c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
    print("".join(shown), file=sys.stderr)


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


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap",
        type=replicates,
        default=0,
        metavar="N",
        help="95 %% intervals from N resamplings of speakers (at least 2; usual: 1000)",
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="S")
    parser.add_argument("--utt2spk", type=Path, metavar="F", help="speakers of trial utterances")
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="leave out trials without a score and scores without a trial, and say so",
    )


def options_of(arguments: argparse.Namespace, base: Path) -> Options:
    return Options(
        bootstrap=arguments.bootstrap,
        seed=arguments.seed,
        allow_missing=arguments.allow_missing,
        utt2spk=None if arguments.utt2spk is None else base / arguments.utt2spk,
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, metavar="DIR", help="plda, mean.vec, transform.mat")
    parser.add_argument("--backend", choices=BACKENDS, default="plda")


def add_pipes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-pipes", action="store_true", help="run commands that stand in scp files"
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tree", type=Path, default=Path(), metavar="DIR", help="where paths in scp files start"
    )
    parser.add_argument(
        "--allow-outside", action="store_true", help="follow paths that lead out of the tree"
    )
    add_pipes(parser)


def add_missing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="leave out utterances without an x-vector, and say so",
    )


def add_finishing(parser: argparse.ArgumentParser) -> None:
    add_job(parser)
    parser.add_argument(
        "--after-jobs", action="store_true", help="jobs did it: do what is left, say how it stands"
    )


def targets_of(arguments: argparse.Namespace, protocol: Protocol) -> tuple[list[Target], list[str]]:
    return find_targets(
        place_of(arguments), protocol, name=arguments.system, anon_suffix=arguments.anon_suffix
    )


def load_model(arguments: argparse.Namespace) -> PldaBackend | None:
    if arguments.backend != "plda":
        return None
    if arguments.model is None:
        raise PrivacyEvalError("the back end plda needs --model, a folder with plda in it")
    stored = load_backend(arguments.model)
    for name in BACKEND_FILES[1:]:
        if name not in stored.sha256:
            log(f"privacy-eval: {arguments.model}: no {name}, goes on without")
    return stored.model


def read_vectors_of(arguments: argparse.Namespace, path: Path) -> Vectors:
    return read_vectors(
        path,
        tree=arguments.tree,
        allow_pipes=arguments.allow_pipes,
        allow_outside=arguments.allow_outside,
    )


def report_outcome(outcome: Scored, what: str, done: str) -> None:
    """Say what became of a tree's conditions or sets."""
    for text, names in (
        ("of others, kept as they are", outcome.kept),
        ("made anew", outcome.made_anew),
        ("made without some utterances", outcome.left_out),
    ):
        if names:
            log(f"privacy-eval: {text}: {len(names)}:")
            for name in names:
                log(f"  {name}")
    by_kind: dict[str, list[str]] = {}
    for kind, where in outcome.lacking.values():
        by_kind.setdefault(kind, []).append(where)
    for kind, places in by_kind.items():
        log(
            f"privacy-eval: {len(places)} {what} not {done}, no {kind}: "
            + some(list(dict.fromkeys(places)))
        )
    for name, message in outcome.failed.items():
        log(f"{name}: {message}")
    ours = {done: outcome.made, "up to date": outcome.up_to_date}
    if done == IN_PLACE:  # what the jobs before made is up to date by now
        ours = {done: [*outcome.made, *outcome.up_to_date]}
    counts = {
        **ours,
        "of others": outcome.kept,
        "not possible": outcome.lacking,
        "failed": outcome.failed,
    }
    print(f"{what}: " + ", ".join(f"{len(names)} {text}" for text, names in counts.items()))


def some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--conf", metavar="FILE", help="default: the plan of the results, or vpc2020"
    )
    parser.add_argument(
        "--published", metavar="NAME", help="published results beside them, or alone: vpc2020"
    )
