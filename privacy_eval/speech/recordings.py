"""What later stages cannot use of recordings, and what is odd in them, found before any work."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..errors import describe
from ..io.files import digest
from .audio import CHANNELS, CONVERTED, MIXED, Audio, read_recording, resample
from .audit import CLIPPED, LEAST_CLIPPED, SILENT, clipped_share
from .dnsmos import level_db
from .features import CHALLENGE_MFCC, mfcc, voice_activity
from .ge2e import RATE, prepare

#: Seconds of speech that ge2e must detect, where stage 4 anonymizes it. In 1 of 150 pieces of
#: LibriSpeech with 0.3 to 0.42 s, it detects none once they are converted; in 1 of 2800 with more.
LEAST_SPEECH = 0.45
#: The lowest rate that McAdams' method converts, and the shortest recording that encoders take.
_LOWEST_RATE, _SHORTEST = 2000, 0.1
_FULL_SCALE, _QUIET = 32768, -50.0


@dataclass(frozen=True)
class Recording:
    """What is known of a recording.

    Attributes
    ----------
    path : Path
    problem : str
        Why no later stage can use it; else empty.
    cautions : tuple of str
        What is odd in it.
    seconds : float
    rate : int
    samples : str
        Digest of the samples.
    utterance, speaker : str
    part : str
        What it is one of.
    """

    path: Path
    problem: str = ""
    cautions: tuple[str, ...] = ()
    seconds: float = 0.0
    rate: int = 0
    samples: str = field(default="", repr=False)
    utterance: str = ""
    speaker: str = ""
    part: str = "recordings"


def look_at(
    path: Path, encoders: tuple[str, ...] = (), *, anonymized: bool = True, extracted: bool = False
) -> Recording:
    """Look at a recording.

    Parameters
    ----------
    path : Path
    encoders : tuple of str
        Speaker encoders that it is for, which average the channels.
    anonymized : bool
        Whether stage 4 anonymizes it, from its first channel.
    extracted : bool
        Whether Kaldi's network extracts x-vectors of the first channel.

    Returns
    -------
    Recording

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.wav")
    >>> path.write_bytes(b"")
    0
    >>> look_at(path).problem
    'an empty file'
    """
    try:
        averaged, first = read_recording(path)
        problem = (
            _problem(averaged, first, uses_first=anonymized or not encoders)
            or ("ge2e" in encoders and _no_speech(averaged, anonymized))
            or (extracted and _no_x_vector(first))
            or ""
        )
    except Exception as error:  # also of a library, on a file that nobody foresaw
        return Recording(path, describe(error).removeprefix(f"{path}: "))
    samples = averaged.samples
    marks = {
        MIXED if encoders else CHANNELS: first is not averaged,
        CLIPPED: clipped_share(samples) >= LEAST_CLIPPED,
        f"level below {_QUIET:g} dB of full scale": level_db(averaged) < _QUIET,
        f"sampled below {RATE} Hz, so without upper frequencies": averaged.rate < RATE,
    }
    return Recording(
        path,
        problem,
        tuple(mark for mark, holds in marks.items() if holds),
        samples.size / averaged.rate,
        averaged.rate,
        digest(f"{averaged.rate} ".encode() + samples.astype("<f4").tobytes()),
    )


def _problem(averaged: Audio, first: Audio, *, uses_first: bool) -> str:
    """Say what no stage can use of samples."""
    peaks = [float(np.abs(a.samples.astype(np.float32)).max(initial=0)) for a in (averaged, first)]
    least, most = min(peaks) if uses_first else peaks[0], max(peaks)
    rate, seconds = first.rate, first.samples.size / first.rate
    problems = {
        "no samples": not seconds,
        SILENT: most <= 1,
        f"{SILENT} first channel or average of channels": least <= 1,
        f"too short, {seconds:.2f} s, needed are {_SHORTEST} s": seconds < _SHORTEST,
        f"{rate} Hz, expected at least {_LOWEST_RATE}": rate < _LOWEST_RATE,
        f"samples beyond full scale ({most / _FULL_SCALE:.3g} times); {CONVERTED}": (
            most > _FULL_SCALE
        ),
    }
    return next((problem for problem, holds in problems.items() if holds), "")


def _no_speech(audio: Audio, anonymized: bool) -> str:
    """Say why ge2e makes no vector of samples."""
    speech = prepare(audio).size / RATE
    if speech >= (LEAST_SPEECH if anonymized else 1 / RATE):
        return ""
    needed = f"too short, {speech:.2f} s of speech, needed are {LEAST_SPEECH} s"
    return needed if speech else "no speech"


def _no_x_vector(audio: Audio) -> str:
    """Say why Kaldi's network extracts no x-vector of samples."""
    if audio.rate < CHALLENGE_MFCC.rate:
        return f"{audio.rate} Hz, the extractor needs at least {CHALLENGE_MFCC.rate}"
    samples = resample(audio.samples, audio.rate, int(CHALLENGE_MFCC.rate))
    return "" if voice_activity(mfcc(samples)).any() else "no voiced frames"
