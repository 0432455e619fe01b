"""merge: add counts of parts of the scores, or ranks in parts of a gallery."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from .options import path

EXAMPLE = "counts.1 counts.2 counts.3 --out counts"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    files = "files of `count`, or of the jobs of `identification`"
    parser.add_argument("counts", nargs="+", **path("C", files))
    parser.add_argument("--out", required=True, **path("C", "file of the same kind to write"))


def run(arguments: argparse.Namespace) -> int:
    from ..asv.identification import holds_ranks

    paths = arguments.counts
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError("a file is given twice")
    return (_ranks if holds_ranks(paths[0]) else _counts)(arguments)


def _counts(arguments: argparse.Namespace) -> int:
    from ..io.counts import merge_shards, read_counts, write_counts
    from .count import log_counts

    shards = merge_shards({path: read_counts(path) for path in arguments.counts})
    write_counts(arguments.out, shards)
    log_counts(arguments.out, shards.counts.n_target, shards.counts.n_nontarget, shards.missing)
    return 0


def _ranks(arguments: argparse.Namespace) -> int:
    from ..asv.identification import merge_ranks, read_ranks, write_ranks
    from .identification import log_ranks

    ranks = merge_ranks({path: read_ranks(path) for path in arguments.counts})
    write_ranks(arguments.out, ranks)
    log_ranks(arguments.out, ranks)
    return 0
