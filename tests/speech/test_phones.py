"""Phone error rates against hama's own code."""

import importlib.util
import json

import pytest
from model_support import DATA, audio

from privacy_eval.speech.utility import load_phone_recognizer, phone_errors

pytest.importorskip("kaldialign", reason="the extra wer is not installed")
GOLDEN = json.loads((DATA / "phones" / "phones.json").read_text())
needs_hama = pytest.mark.skipif(
    importlib.util.find_spec("hama") is None, reason="the extra phones is not installed"
)


def test_errors_are_counted_as_in_words() -> None:
    for reference, hypothesis, errors in (
        ("", "", 0),
        ("a b", "", 2),
        ("", "a", 1),
        ("a b c", "a c d", 2),
    ):
        counts = phone_errors(reference.split(), hypothesis.split())
        assert (counts.errors, counts.words) == (errors, len(reference.split()))


@needs_hama
def test_phones_and_errors_of_speech() -> None:
    recognizer = load_phone_recognizer()
    assert GOLDEN
    for name, golden in GOLDEN.items():
        phones = recognizer.recognize(audio(name))
        assert phones == [p for p in golden["phonemes"].split() if p[0].isalpha()]
        counts = phone_errors(recognizer.pronounce(golden["text"]), phones)
        assert (counts.errors, counts.words) == (golden["token_errors"], golden["tokens_ref"])
