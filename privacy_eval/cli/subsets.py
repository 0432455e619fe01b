"""The verb subsets: data folders of the evaluation."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..protocol.protocol import load_protocol
from ..stages.subsets import make_subsets
from .options import Verbs, access_of, add_tree, asv_of, log, some


def add_verbs(verbs: Verbs) -> None:
    """The verb of data folders."""
    subsets = verbs.add_parser("subsets", help="cut and unite the data folders of the evaluation")
    subsets.set_defaults(verb=_subsets)
    add_tree(subsets)
    subsets.add_argument(
        "--anonymized", action="store_true", help="those of anonymized speech (default: original)"
    )


def _subsets(arguments: argparse.Namespace) -> int:
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
    for note in outcome.notes:
        log(f"privacy-eval: {note}")
    by_reason: dict[str, list[str]] = {}
    for name, error in outcome.missing.items():
        by_reason.setdefault(error.where, []).append(name)
    for reason, names in by_reason.items():
        log(f"privacy-eval: not made: {some(names)}: {reason}")
    print(
        f"{arguments.tree / 'data'}: {len(outcome.made)} folders made, {len(outcome.current)} "
        f"current, {len(outcome.kept)} external, {len(outcome.missing)} missing a source"
    )
    return 0


def _has_sets(data: Path, suffix: str) -> bool:
    return data.is_dir() and any(p.is_dir() and p.name.endswith(suffix) for p in data.iterdir())
