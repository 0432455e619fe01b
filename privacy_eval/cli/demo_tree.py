"""demo-tree: a simulated challenge tree."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..simulate import DEMO_SIZES
from .options import log, natural, one_of, progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--seed", type=natural, default=0)
    parser.add_argument("--conf", default="vpc2020", metavar="FILE", help="protocol")
    for name, size, text in (
        ("speakers", 12, "trial speakers of every trial set; a third more are enrolled"),
        ("utterances", 12, "of each of them"),
        ("systems", 2, "B1, B2, S3, S4, ..."),
    ):
        parser.add_argument(
            f"--{name}",
            type=one_of(DEMO_SIZES[name]),
            default=size,
            metavar="N",
            help=f"{text} (default: {size})",
        )


def run(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import load_protocol
    from ..simulate import write_demo_tree

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
