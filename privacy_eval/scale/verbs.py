"""Verbs on scores: counted, merged, and the metrics of counts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..cli import metrics
from ..cli.options import Options, log
from ..errors import PrivacyEvalError, UsageError, counted, located
from ..io.files import OPEN_END
from ..options import choice, path
from ..wings import provided

if TYPE_CHECKING:
    from ..report.single_files import Found

_OF_PARTS = "trial key, if the scores have no labels; it may list the trials of all parts"

VERBS: dict[str, Options] = {
    "count": {
        "example": "--scores scores.1 --trials trials --out counts.1",
        "--scores": {**metrics.SCORES, "required": True},
        **metrics.READING,
        "--trials": path("F", _OF_PARTS),
        "--bits": {
            **choice([], "leading bits of a float32 that are counted apart; 32: exact (default)"),
            "choices": (16, 20, 24, 32),
            "type": int,
            "default": 32,
        },
        "--out": {"metavar": "C", "help": "file of counts to write", "required": True},
    },
    "merge": {
        "example": "counts.1 counts.2 counts.3 --out counts",
        "counts": path("C", "files of `count`, or of the jobs of `identification`", nargs="+"),
        "--out": {"metavar": "C", "help": "file of the same kind to write", "required": True},
    },
    "count-metrics": {
        "example": "counts",
        "shared": "format",
        "counts": path("C", "counts of scores, by the verbs count and merge"),
    },
}


def run_count(arguments: argparse.Namespace) -> int:
    from .counts import count_shard, write_counts

    inputs = [p.resolve() for p in (arguments.scores, arguments.trials) if p is not None]
    if arguments.out.resolve() in inputs:
        raise UsageError(f"--out: {arguments.out} is an input")
    scores, trials = metrics.read_file(arguments, arguments.scores), metrics.read_key(arguments)
    for file in (*scores.ends_open, *(trials.ends_open if trials else ())):
        # No table of counts shows it later.
        raise PrivacyEvalError(f"{file}: {OPEN_END} End it with a newline if not")
    shard = count_shard(scores, trials, arguments.bits)
    write_counts(arguments.out, shard)
    log_counts(arguments.out, shard.counts.n_target, shard.counts.n_nontarget, shard.missing)
    return 0


def log_counts(out: Path, n_target: int, n_nontarget: int, missing: int) -> None:
    """Log what a file of counts holds."""
    log(f"privacy-eval: {out}: {n_target} target and {n_nontarget} nontarget scores")
    if missing:
        log(f"privacy-eval: {counted(missing, 'trial')} of the list without a score so far")


def run_merge(arguments: argparse.Namespace) -> int:
    from .counts import merge_shards, read_counts, write_counts

    paths = arguments.counts
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError("a file is given twice")
    if (merge := provided("merged ranks", needed=False)) and merge(paths, arguments.out):
        return 0
    shards = merge_shards({path: read_counts(path) for path in paths})
    write_counts(arguments.out, shards)
    log_counts(arguments.out, shards.counts.n_target, shards.counts.n_nontarget, shards.missing)
    return 0


def run_count_metrics(arguments: argparse.Namespace) -> Found:
    """Find the metrics of counted scores in their brackets."""
    from ..report.single_files import Found, text_table
    from .counts import Bracket, count_metrics, read_counts

    shards = read_counts(arguments.counts)
    with located(arguments.counts):
        metrics = count_metrics(shards.counts)
    if shards.missing:
        log(
            f"privacy-eval: warning: {arguments.counts}: {counted(shards.missing, 'trial')} of the "
            "list without a score: merge the counts of all parts"
        )
    rows, cells = [], []
    for name, known in metrics.items():
        ends = (known.low, known.high) if isinstance(known, Bracket) else (known, known)
        low, high = ("needs 32 bits" if end is None else f"{end:.9g}" for end in ends)
        rows.append({"metric": name, "at_least": ends[0], "at_most": ends[1]})
        cells.append({"metric": name, "at least": low, "at most": high})
    table = text_table("counts", f"Privacy metrics of {arguments.counts}", {"": cells})
    return Found(metrics, rows, [table])
