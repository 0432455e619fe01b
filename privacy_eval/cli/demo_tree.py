"""demo-tree: a simulated challenge tree."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from .options import add, log, one_of, path, progress, value

EXAMPLE = "tree --speakers 4 --utterances 3 --systems 20"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("directory", **path("DIR"))
    add(parser, "--seed")
    add(parser, "--conf", default="vpc2020")
    for name, size, text in (
        ("speakers", 12, "trial speakers per trial set; a third more are enrolled"),
        ("utterances", 12, "utterances per speaker"),
        ("systems", 2, "B1, B2, S3, S4, ..."),
    ):
        sizes = value("N", f"{text} (default: {size})", type=_size(name), default=size)
        parser.add_argument(f"--{name}", **sizes)


def _size(name: str) -> Callable[[str], int]:
    def number(text: str) -> int:
        from ..simulate import DEMO_SIZES

        return one_of(DEMO_SIZES[name])(text)

    return number


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
    log(f"{arguments.directory}: {'created' if made else 'already exists'}")
    return 0
