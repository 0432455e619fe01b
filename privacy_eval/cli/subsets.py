"""subsets: evaluation subsets of the data folders."""

from __future__ import annotations

import argparse
import itertools
from typing import TYPE_CHECKING

from .options import add, add_tree, flag, log

if TYPE_CHECKING:
    from ..products.freshness import Outcome
    from ..protocol.protocol import Protocol

EXAMPLE = "--tree baseline --results exp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_tree(parser)
    add(parser, "--details")
    parser.add_argument("--anonymized", **flag("subsets of anonymized speech (default: original)"))


def run(arguments: argparse.Namespace) -> int:
    from ..errors import counted
    from ..protocol.protocol import load_protocol
    from ..stages.subsets import make_subsets
    from .inputs import exit_code, load_asv_systems, log_items, tree_access

    protocol = load_protocol(arguments.conf, base=arguments.tree)
    suffixes = [""]
    if arguments.anonymized:
        suffixes = load_asv_systems(arguments, protocol).suffixes
        if arguments.anon_suffix is None:  # derived from arbitrary folder names
            data = arguments.tree / "data"
            names = [path.name for path in data.glob("*") if path.is_dir()]
            unused = [s for s in suffixes if not any(name.endswith(s) for name in names)]
            suffixes = [s for s in suffixes if s not in unused]
            for suffix in unused:
                log(f"privacy-eval: {data}: no data set with suffix {suffix!r}")
    outcome = make_subsets(tree_access(arguments), protocol, suffixes=suffixes)
    log_items(arguments, "data folders: notes", outcome.notes)
    log_items(arguments, *_not_made(arguments, outcome, protocol, suffixes))
    print(
        f"{arguments.tree / 'data'}: {counted(len(outcome.made), 'folder')} made, "
        f"{len(outcome.current)} current, {len(outcome.kept)} external, "
        f"{len(outcome.missing)} missing a source"
    )
    for name, message in outcome.failed.items():
        log(f"{name}: {message}")
    return exit_code(arguments, outcome.failed)


def _not_made(
    arguments: argparse.Namespace, outcome: Outcome, protocol: Protocol, suffixes: list[str]
) -> tuple[str, list[str]]:
    """Return title and items of the folders whose sources are missing.

    Anonymized ones without an original are left to stage 3, except with `--details`.
    """
    from collections import Counter

    folders = {folder.name: folder for folder in protocol.folders}
    data_sets: Counter[str] = Counter()
    items = []
    for name, suffix in itertools.product(folders, suffixes):
        error = outcome.missing.get(name + suffix)
        has_original = (arguments.tree / "data" / name).is_dir()
        if error is None or (suffix and not has_original and not arguments.details):
            continue
        source = folders[name]
        while source.cut_from is None and source.combine[0] in folders:
            source = folders[source.combine[0]]
        data_sets[f"{source.cut_from or source.name}{suffix}"] += 1
        items.append(name + suffix + f": {error.where}" * arguments.details)
    counts = ", ".join(f"{name} {number}" for name, number in data_sets.items())
    return f"data folders not made, as their sources are missing ({counts})", items
