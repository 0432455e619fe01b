"""subsets: evaluation subsets of the data folders."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from .options import add_tree, flag, log


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_tree(parser)
    parser.add_argument("--anonymized", **flag("of anonymized speech (default: original)"))


def run(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import load_protocol
    from ..stages.subsets import make_subsets
    from .inputs import some, targets_of

    protocol = load_protocol(arguments.conf, base=arguments.tree)
    suffixes = [""]
    if arguments.anonymized:
        targets, _ = targets_of(arguments, protocol)
        suffixes = list(dict.fromkeys(target.anon_suffix for target in targets))
        if arguments.anon_suffix is None:  # they are from folders' names, which may be any
            unused = [s for s in suffixes if not _has_sets(arguments.tree / "data", s)]
            suffixes = [s for s in suffixes if s not in unused]
            for suffix in unused:
                log(f"privacy-eval: {arguments.tree / 'data'}: no set is marked by {suffix!r}")
    made = make_subsets(
        arguments.tree, protocol, suffixes=suffixes, allow_outside=arguments.allow_outside
    )
    for note in made.notes:
        log(f"privacy-eval: {note}")
    for reason, names in _by_reason(made.lacking).items():
        log(f"privacy-eval: not made: {some(names)}: {reason}")
    print(
        f"{arguments.tree / 'data'}: {len(made.made)} folders made, {len(made.kept)} there, "
        f"{len(made.lacking)} lack what they are made of"
    )
    return 0


def _has_sets(data: Path, suffix: str) -> bool:
    return data.is_dir() and any(p.is_dir() and p.name.endswith(suffix) for p in data.iterdir())


def _by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        grouped.setdefault(reason, []).append(name)
    return grouped
