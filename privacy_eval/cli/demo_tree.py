"""The verb demo-tree: a simulated challenge tree."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..protocol.protocol import load_protocol
from ..simulate import DEMO_SIZES, write_demo_tree
from .options import Verbs, log, natural, one_of, progress


def add_verbs(verbs: Verbs) -> None:
    """The verb that simulates a tree."""
    demo = verbs.add_parser("demo-tree", help="a simulated challenge tree")
    demo.set_defaults(verb=_demo_tree)
    demo.add_argument("directory", type=Path, metavar="DIR")
    demo.add_argument("--seed", type=natural, default=0)
    demo.add_argument("--conf", default="vpc2020", metavar="FILE")
    for name, size, text in (
        ("speakers", 12, "that try in every trial set; a third more are enrolled"),
        ("utterances", 12, "of each of them"),
        ("systems", 2, "B1, B2, S3, S4, ..."),
    ):
        demo.add_argument(
            f"--{name}",
            type=one_of(DEMO_SIZES[name]),
            default=size,
            metavar="N",
            help=f"{text} (default: {size})",
        )


def _demo_tree(arguments: argparse.Namespace) -> int:
    made = write_demo_tree(
        arguments.directory,
        load_protocol(arguments.conf),
        seed=arguments.seed,
        speakers=arguments.speakers,
        utterances=arguments.utterances,
        systems=arguments.systems,
        progress=progress(),
    )
    log(f"{arguments.directory}: {'made' if made else 'there already'}")
    return 0
