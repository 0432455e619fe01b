"""count: scores as a mergeable table of counts."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import PrivacyEvalError, UsageError, counted
from . import metrics
from .options import choice, log, path

EXAMPLE = "--scores scores.1 --trials trials --out counts.1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("--scores", required=True, **metrics.SCORES)
    trials = "trial key, if the scores have no labels; it may list the trials of all parts"
    metrics.add_scores(parser, trials)
    bits = "leading bits of a float32 that are counted apart; 32: exact (default)"
    parser.add_argument("--bits", type=int, **choice((16, 20, 24, 32), bits, default=32))  # type: ignore[arg-type]
    parser.add_argument("--out", required=True, **path("C", "file of counts to write"))


def run(arguments: argparse.Namespace) -> int:
    from ..io.counts import count_shard, write_counts
    from ..io.files import OPEN_END

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
