"""mcadams: anonymize the speech of a data folder by the McAdams coefficient (baseline B2)."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..errors import PrivacyEvalError
from .options import add, add_data, choice, fill, flag, log, number, progress, value

_LARGEST = 10

EXAMPLE = "--data data/libri_test --out data/libri_test_anon --variant 2022"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_data(parser)
    add(parser, "--out", required=True, help="data folder to write, with wav/UTTERANCE.wav")
    add_coefficients(parser)


def add_coefficients(parser: argparse.ArgumentParser) -> None:
    """Add variant and coefficients."""
    variant = "baseline of the challenge of that year; default: 2020"
    parser.add_argument("--variant", **choice(["2020", "2022"], variant, default="2020"))
    coefficient = "default: 0.8 in 2020; in 2022 from 0.5 to 0.9, by --seed and --level"
    parser.add_argument("--coefficient", **value("X", coefficient, type=_coefficient))
    add(parser, "--seed", help="seed of the coefficients; default: 0")
    level = "one coefficient per speaker (default), or per utterance, as for training data"
    parser.add_argument("--level", **choice(["speaker", "utterance"], level, default="speaker"))
    parser.add_argument("--per-set", **flag("draw different coefficients for each data folder"))


def run(arguments: argparse.Namespace) -> int:
    from ..products.freshness import Run
    from ..protocol.protocol import COEFFICIENTS
    from ..stages.anonymize import McAdams, anonymize_data
    from .audio import audio_reader, log_remarks

    data, out, base = arguments.data, arguments.out, arguments.scp_base or Path()
    if os.path.realpath(data) == os.path.realpath(out):
        raise PrivacyEvalError(f"{out}: --out must be another folder than --data")
    reader = audio_reader(arguments, mix=arguments.variant == "2020")
    data_set = Path(os.path.abspath(data)).name if arguments.per_set else ""
    mcadams = fill(McAdams, arguments, data_set=data_set)
    outcome = anonymize_data(data, out, reader, mcadams, base=base, run=Run(progress=progress()))
    log_remarks(reader)
    for message in outcome.failed.values():
        log(f"privacy-eval: {message}")
    print(
        f"{out}: {len(reader.ids)} utterances; speakers: {len(outcome.made)} converted, "
        f"{len(outcome.current)} current, {len(outcome.failed)} failed; coefficients in "
        f"{COEFFICIENTS}"
    )
    return 1 if outcome.failed else 0


def _coefficient(text: str) -> float:
    """Read a coefficient."""
    if not 0 < number(text) <= _LARGEST:
        raise argparse.ArgumentTypeError(f"expected a number above 0, at most {_LARGEST}")
    return number(text)
