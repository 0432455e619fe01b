"""phones: phone error rates of the speech of a data folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError, abbreviate, counted
from .options import add, add_data, log, path, print_json

if TYPE_CHECKING:
    from ..speech.utility import PhoneRecognizer

EXAMPLE = "--data data/libri_test_anon --original data/libri_test"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_data(parser)
    reference = parser.add_mutually_exclusive_group(required=True)
    text = "Kaldi text file: references are the pronunciations of its words"
    reference.add_argument("--reference-text", **path("TEXT", text))
    original = "data folder of the original speech: references are its recognized phones"
    reference.add_argument("--original", **path("DIR", original))
    add(parser, "--allow-missing", "--utt2spk", "--seed", "--format")
    add(parser, "--bootstrap", default=1000)


def run(arguments: argparse.Namespace) -> int:
    import numpy as np

    from ..speech.utility import load_phone_recognizer, phone_errors
    from .audio import audio_reader, speaker_intervals, utterance_values

    recognizer = load_phone_recognizer()
    reader = audio_reader(arguments, mix=True)
    references = _references(arguments, recognizer, set(reader.ids))
    absent = [name for name in reader.ids if name not in references]
    if absent and not arguments.allow_missing:
        raise PrivacyEvalError(
            f"{arguments.reference_text or arguments.original}: no reference for "
            f"{counted(len(absent), 'utterance')}: {abbreviate(absent)}"
        )
    if absent:
        log(f"privacy-eval: left out, no reference: {len(absent)} ({abbreviate(absent)})")
    found = utterance_values(
        arguments,
        reader,
        lambda name, audio: phone_errors(references[name], recognizer.recognize(audio)),
        [name for name in reader.ids if name in references],
    )
    phones = np.array([counts.words for counts in found.values()], np.int64)
    errors = np.array([counts.errors for counts in found.values()], np.int64)
    if not phones.sum():
        raise PrivacyEvalError(f"{arguments.data}: the references have no phones")
    intervals = speaker_intervals(arguments, list(found), phones, errors[None])
    per = float(errors.sum() / phones.sum())
    if arguments.format == "json":
        plain = {
            "errors": int(errors.sum()),
            "phones": int(phones.sum()),
            "per": per,
            "interval": intervals[0] if intervals else None,
            "utterances": {n: {"errors": c.errors, "phones": c.words} for n, c in found.items()},
        }
        print_json(plain)
        return 0
    text = f"PER {100 * per:.2f} % ({errors.sum()} / {phones.sum()})"
    if intervals:
        low, high = 100 * intervals[0]["low"], 100 * intervals[0]["high"]
        text += f", 95 % interval over speakers: {low:.2f} .. {high:.2f} %"
    print(text)
    return 0


def _references(
    arguments: argparse.Namespace, recognizer: PhoneRecognizer, ids: set[str]
) -> dict[str, list[str]]:
    """Return the reference phones of utterances."""
    from ..io.transcripts import read_transcripts
    from .audio import audio_reader, utterance_values

    if arguments.reference_text is not None:
        texts = read_transcripts(Path(arguments.reference_text))
        return {n: recognizer.pronounce(text) for n, text in texts.items() if n in ids}
    reader = audio_reader(arguments, mix=True, data=arguments.original)
    shared = [name for name in reader.ids if name in ids]
    return utterance_values(arguments, reader, lambda _, audio: recognizer.recognize(audio), shared)
