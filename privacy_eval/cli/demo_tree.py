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
    default = "12, or, from 2022 on, as in the challenge"
    for name, size, text in (
        (
            "speakers",
            None,
            f"trial speakers per trial set; a third more are enrolled (default: {default})",
        ),
        ("utterances", None, f"utterances per speaker (default: {default})"),
        ("systems", 2, "B1, B2, S3, S4, ... (default: 2)"),
    ):
        parser.add_argument(f"--{name}", **value("N", text, type=_size(name), default=size))


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
