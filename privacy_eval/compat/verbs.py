"""The ZEBRA toolkit's command line."""

from __future__ import annotations

import argparse

from ..choices import VARIANTS
from ..cli.options import Options, log
from ..errors import PrivacyEvalError
from ..options import choice, flag, path

_VARIANT = "challenge: the toolkit's numbers (default); exact: the paper's"

VERBS: dict[str, Options] = {
    "zebra": {
        "example": "--scores scores --trials trials --label 'LibriSpeech, B1' --export pdf",
        "-s --scores": path("F", required=True),
        "-k --trials --key": path("F", "trial key", required=True),
        "-l --label": {"default": "ZEBRA profile", "help": "default: %(default)s"},
        "-p --plot": flag("show the profile in a window"),
        "-e --export": choice(["tex", "pdf", "png"], "write the profile as ZEBRA-LABEL.EXT, here"),
        "-t --tags": path("YAML", "user-defined categories, such as `A: 0`, one per line"),
        "--variant": choice(VARIANTS, _VARIANT, default="challenge"),
    },
}


def run_zebra(arguments: argparse.Namespace) -> int:
    from ..metrics.llr import CATEGORICAL_TAGS
    from . import zebra  # matplotlib, which few verbs need

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
