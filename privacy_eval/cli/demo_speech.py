"""demo-speech: folders of simulated speech."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from .options import add, log, number, one_of, path, progress, value

EXAMPLE = "audio --speakers 8 --utterances 6"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("directory", **path("DIR"))
    add(parser, "--seed")
    for name, size, text in (
        ("speakers", 20, "speakers, half of them female"),
        ("training", 60, "other speakers, to train back ends on"),
        ("utterances", 10, "utterances per speaker"),
    ):
        sizes = value("N", f"{text} (default: {size})", type=_size(name), default=size)
        parser.add_argument(f"--{name}", **sizes)
    seconds = "length of an utterance, 1 to 60 (default: 3)"
    parser.add_argument("--seconds", **value("X", seconds, type=_seconds, default=3.0))


def _size(name: str) -> Callable[[str], int]:
    def size(text: str) -> int:
        from ..simulate.speech import SPEECH_SIZES

        return one_of(SPEECH_SIZES[name])(text)

    return size


def _seconds(text: str) -> float:
    if not 1 <= number(text) <= 60:
        raise argparse.ArgumentTypeError("expected 1 to 60 seconds")
    return number(text)


def run(arguments: argparse.Namespace) -> int:
    from ..simulate.speech import DemoSpeech, write_demo_speech

    given = vars(arguments)
    demo = DemoSpeech(**{name: given[name] for name in DemoSpeech.__dataclass_fields__})
    made = write_demo_speech(arguments.directory, demo, progress())
    log(f"{arguments.directory}: {'created' if made else 'already exists'}")
    return 0
