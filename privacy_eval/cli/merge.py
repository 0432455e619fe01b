"""merge: add counts of parts of the scores."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from .options import path

EXAMPLE = "counts.1 counts.2 counts.3 --out counts"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("counts", nargs="+", **path("C", "files of counts"))
    parser.add_argument("--out", required=True, **path("C", "file of counts to write"))


def run(arguments: argparse.Namespace) -> int:
    from ..io.counts import merge_shards, read_counts, write_counts
    from .count import log_counts

    paths = arguments.counts
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError("a file of counts is given twice")
    shards = merge_shards({path: read_counts(path) for path in paths})
    write_counts(arguments.out, shards)
    log_counts(arguments.out, shards.counts.n_target, shards.counts.n_nontarget, shards.missing)
    return 0
