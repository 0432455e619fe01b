"""zebra: the ZEBRA toolkit's command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import PrivacyEvalError
from ..metrics import CATEGORICAL_TAGS, VARIANTS
from .options import log


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the toolkit's `zero_evidence.py`."""
    parser.add_argument("-s", "--scores", required=True, type=Path, metavar="F")
    parser.add_argument(
        *("-k", "--trials", "--key"), required=True, type=Path, metavar="F", help="trial key"
    )
    parser.add_argument("-l", "--label", default="ZEBRA profile", help="default: %(default)s")
    parser.add_argument("-p", "--plot", action="store_true", help="show the profile in a window")
    parser.add_argument(
        "-e",
        "--export",
        choices=["tex", "pdf", "png"],
        help="write the profile as ZEBRA-LABEL.EXT, here",
    )
    parser.add_argument(
        "-t",
        "--tags",
        type=Path,
        metavar="YAML",
        help="own categories, such as `A: 0`, a line each",
    )
    parser.add_argument(
        "--variant",
        choices=VARIANTS,
        default="challenge",
        help="challenge: the toolkit's numbers (default); exact: the paper's",
    )


def run(arguments: argparse.Namespace) -> int:
    from ..compat import zebra  # matplotlib, which few verbs need

    if not arguments.label:
        raise PrivacyEvalError("the label is empty")
    profile = zebra.assess(
        arguments.scores,
        arguments.trials,
        label=arguments.label,
        variant=arguments.variant,
        tags=zebra.read_tags(arguments.tags) if arguments.tags else CATEGORICAL_TAGS,
    )
    print(profile.text, flush=True)
    if arguments.export:
        log(f"written: {zebra.export([profile], extension=arguments.export)}")
    if arguments.plot:
        zebra.display([profile])
    return 0
