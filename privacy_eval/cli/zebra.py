"""zebra: the ZEBRA toolkit's command line."""

from __future__ import annotations

import argparse

from ..errors import PrivacyEvalError
from ..metrics import VARIANTS
from ..metrics.llr import CATEGORICAL_TAGS
from .options import add, flag, log, path

EXAMPLE = "--scores scores --trials trials --label 'LibriSpeech, B1' --export pdf"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the toolkit's `zero_evidence.py`."""
    parser.add_argument("-s", "--scores", required=True, **path("F"))
    parser.add_argument("-k", "--trials", "--key", required=True, **path("F", "trial key"))
    parser.add_argument("-l", "--label", default="ZEBRA profile", help="default: %(default)s")
    parser.add_argument("-p", "--plot", **flag("show the profile in a window"))
    formats = ["tex", "pdf", "png"]
    exported = "write the profile as ZEBRA-LABEL.EXT, here"
    parser.add_argument("-e", "--export", choices=formats, help=exported)
    tags = path("YAML", "user-defined categories, such as `A: 0`, one per line")
    parser.add_argument("-t", "--tags", **tags)
    variants = "challenge: the toolkit's numbers (default); exact: the paper's"
    add(parser, "--variant", choices=VARIANTS, default="challenge", help=variants)


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
        zebra.show([profile])
    return 0
