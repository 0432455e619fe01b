"""Phone recognition and phone error rates, by the recognizer and pronunciations of hama 1.7.0."""

from __future__ import annotations

import functools
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PrivacyEvalError, missing_library
from ..io.files import digest, read_bytes
from ..metrics.utility import WordErrors, align_symbols
from .audio import Audio
from .models import MODELS, check_models

_VERSION = "1.7.0"


@dataclass(frozen=True)
class PhoneRecognizer:
    """The recognizer, and the pronunciation of words.

    Attributes
    ----------
    recognizer, pronouncer : object
        `hama.ASRModel` and `hama.G2PModel`.
    """

    recognizer: Any
    pronouncer: Any

    def recognize(self, audio: Audio) -> list[str]:
        """Recognize the phones of an utterance.

        Parameters
        ----------
        audio : Audio

        Returns
        -------
        list of str
            In the International Phonetic Alphabet.

        Raises
        ------
        PrivacyEvalError
            No samples.
        """
        if not audio.samples.size:
            raise PrivacyEvalError("no samples")
        samples = audio.samples.astype(np.float32) / np.float32(32768)
        return _phones(self.recognizer.transcribe_waveform(samples, audio.rate).phonemes)

    def pronounce(self, text: str) -> list[str]:
        """Return the phones of a text, word by word.

        Parameters
        ----------
        text : str

        Returns
        -------
        list of str
        """
        return [phone for word in text.split() for phone in self._word(word.lower())]

    @functools.lru_cache(maxsize=1 << 16)  # noqa: B019 (one recognizer per run)
    def _word(self, word: str) -> tuple[str, ...]:
        pronounced = self.pronouncer.predict(word)
        return tuple(_phones([part.phoneme for part in pronounced.alignments]))


def _phones(tokens: list[str]) -> list[str]:
    """Keep the tokens that begin with a letter: no marks, no punctuation."""
    return [token for token in tokens if token and unicodedata.category(token[0])[0] == "L"]


def load_phone_recognizer() -> PhoneRecognizer:
    """Load the recognizer of the installed package.

    Returns
    -------
    PhoneRecognizer

    Raises
    ------
    PrivacyEvalError
        Libraries are missing, all in one command; hama is of another version, or for another
        platform, or its model is not the pinned one.
    """
    check_models(["phones"])
    from importlib.metadata import version

    import hama

    if version("hama") != _VERSION:
        why = f"version {version('hama')} is installed"
        raise missing_library("phone error rates", f"hama=={_VERSION}", why)
    model = MODELS["phones"].files[0]
    path = Path(hama.__file__).parents[1] / model.entry
    if digest(read_bytes(path)) != model.sha256:
        raise PrivacyEvalError(f"{path}: another file than the pinned one")
    try:
        return PhoneRecognizer(hama.ASRModel(), hama.G2PModel())
    except (RuntimeError, OSError) as error:
        raise PrivacyEvalError(f"hama does not run on this machine ({error})") from error


def phone_errors(reference: list[str], hypothesis: list[str]) -> WordErrors:
    """Count the phones of the reference, and the errors of the hypothesis.

    Parameters
    ----------
    reference, hypothesis : list of str

    Returns
    -------
    WordErrors

    Raises
    ------
    PrivacyEvalError
        kaldialign is not installed.

    Examples
    --------
    >>> phone_errors(["k", "a", "t"], ["k", "t", "s"]).errors
    2
    """
    return align_symbols(reference, hypothesis, purpose="phone error rates")
