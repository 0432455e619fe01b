"""subsets: evaluation subsets of the data folders."""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import add, add_tree, flag, log


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_tree(parser)
    add(parser, "--details")
    parser.add_argument("--anonymized", **flag("of anonymized speech (default: original)"))


def run(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import load_protocol
    from ..stages.subsets import make_subsets
    from .inputs import access_of, asv_of, log_items

    protocol = load_protocol(arguments.conf, base=arguments.tree)
    suffixes = [""]
    if arguments.anonymized:
        _, systems, _ = asv_of(arguments, protocol)
        suffixes = list(dict.fromkeys(system.anon_suffix for system in systems))
        if arguments.anon_suffix is None:  # they are from folders' names, which may be any
            unused = [s for s in suffixes if not _has_sets(arguments.tree / "data", s)]
            suffixes = [s for s in suffixes if s not in unused]
            for suffix in unused:
                log(f"privacy-eval: {arguments.tree / 'data'}: no set is marked by {suffix!r}")
    outcome = make_subsets(access_of(arguments), protocol, suffixes=suffixes)
    log_items(arguments, "data folders: notes", outcome.notes)
    missing = [f"{name}: {error.where}" for name, error in outcome.missing.items()]
    log_items(arguments, "data folders not made", missing)
    print(
        f"{arguments.tree / 'data'}: {len(outcome.made)} folders made, {len(outcome.current)} "
        f"current, {len(outcome.kept)} external, {len(outcome.missing)} missing a source"
    )
    return 0


def _has_sets(data: Path, suffix: str) -> bool:
    return data.is_dir() and any(p.is_dir() and p.name.endswith(suffix) for p in data.iterdir())
