"""The verb zebra: the ZEBRA toolkit's command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import PrivacyEvalError
from ..metrics import CATEGORICAL_TAGS, VARIANTS
from .options import Verbs, log


def add_verbs(verbs: Verbs) -> None:
    """The verb zebra, with the options of the toolkit's `zero_evidence.py`."""
    zebra = verbs.add_parser("zebra", help="ZEBRA of one score file: numbers and profile")
    zebra.set_defaults(verb=_zebra)
    zebra.add_argument("-s", "--scores", required=True, type=Path, metavar="F")
    zebra.add_argument("-k", "--key", required=True, type=Path, metavar="F", help="trial key")
    zebra.add_argument("-l", "--label", default="ZEBRA profile", help="default: %(default)s")
    zebra.add_argument("-p", "--plot", action="store_true", help="show the profile in a window")
    zebra.add_argument(
        "-e",
        "--export",
        choices=["tex", "pdf", "png"],
        help="write the profile as ZEBRA-LABEL.EXT, here",
    )
    zebra.add_argument(
        "-t",
        "--tags",
        type=Path,
        metavar="YAML",
        help="own categories, such as `A: 0`, a line each",
    )
    zebra.add_argument(
        "--variant",
        choices=VARIANTS,
        default="challenge",
        help="challenge: the toolkit's numbers (default); exact: the paper's",
    )


def _zebra(arguments: argparse.Namespace) -> int:
    from ..compat import zebra  # matplotlib, which no other verb waits for

    if not arguments.label:
        raise PrivacyEvalError("the label is empty")
    profile = zebra.assess(
        arguments.scores,
        arguments.key,
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
