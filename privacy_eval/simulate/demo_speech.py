"""Write folders of simulated speech, and an extractor that needs no training."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ..io.files import write_text
from ..speech.audio import soundfile
from .marked_folder import marked_folder
from .network import mfcc_statistics_network
from .speech import RATE, draw_voice, speak
from .words import simulate_words

#: Allowed sizes of simulated speech.
SPEECH_SIZES = {
    "speakers": range(0, 1001),
    "training": range(0, 1001),
    "utterances": range(2, 1001),
}


@dataclass(frozen=True)
class DemoSpeech:
    """Seed and sizes of simulated speech.

    Attributes
    ----------
    seed : int
    speakers, training : int
        Speakers to evaluate, half of them female, and others to train on.
    utterances : int
        Of each.
    seconds : float
        Of an utterance.
    """

    seed: int = 0
    speakers: int = 20
    training: int = 60
    utterances: int = 10
    seconds: float = 3.0


def write_demo_speech(
    folder: Path, demo: DemoSpeech, progress: Callable[[int, int, str], None] | None = None
) -> bool:
    """Write the folders `speech`, `training` and `extractor`, with `utt2spk`, `spk2gender`
    and `text`, which is not what the voices say.

    The same seed and sizes give the same bytes on one machine.

    Returns
    -------
    bool
        False if the same speech already exists.

    Raises
    ------
    PrivacyEvalError
        `folder` contains something else; the library soundfile is missing.
    """
    marker = {"demo_speech": 2, **asdict(demo)}
    total, done = (demo.speakers + demo.training) * demo.utterances, itertools.count(1)
    with marked_folder(folder, "demo_speech", marker) as new:
        if new is None:
            return False
        for name, speakers in (("speech", demo.speakers), ("training", demo.training)):
            (new / name).mkdir()
            lines, said = [], []
            for speaker, utterance, samples in _speech(name, speakers, demo):
                path = new / name / f"{utterance}.wav"
                soundfile().write(path, samples, RATE, subtype="PCM_16")
                lines.append(f"{utterance} {speaker}\n")
                said.append(f"{utterance} {simulate_words(speaker, utterance, demo.seed)}\n")
                if progress is not None:
                    progress(next(done), total, utterance)
            write_text(new / f"{name}_utt2spk", "".join(lines))
            write_text(new / f"{name}_text", "".join(said))
        genders = [f"{_name('speech', n)} {_gender(n)}\n" for n in range(demo.speakers)]
        write_text(new / "speech_spk2gender", "".join(genders))
        write_text(new / "extractor" / "final.raw", mfcc_statistics_network())
    return True


def _speech(name: str, speakers: int, demo: DemoSpeech) -> Iterator[tuple[str, str, np.ndarray]]:
    """Simulate the utterances of a folder."""
    key = demo.seed, zlib.crc32(name.encode())
    for number in range(speakers):
        voice = draw_voice(_gender(number), np.random.default_rng([*key, number]))
        for index in range(demo.utterances):
            generator = np.random.default_rng([*key, number, index])
            samples = speak(voice, demo.seconds, generator)
            speaker = _name(name, number)
            yield speaker, f"{speaker}-{index:03d}", samples


def _gender(number: int) -> str:
    return "fm"[number % 2]


def _name(folder: str, number: int) -> str:
    return f"{folder[0]}{number:03d}"
