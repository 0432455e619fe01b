"""What later stages cannot use of recordings, and what is odd in them, found before any work."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..choices import ENCODERS
from ..errors import PrivacyEvalError, describe
from ..io.files import digest
from .audio import CHANNELS, CONVERTED, MIXED, Audio, read_recording, resample
from .audit import CLIPPED, LEAST_CLIPPED, SILENT, clipped_share
from .dnsmos import level_db
from .encoders import EncoderChoice
from .features import CHALLENGE_MFCC, mfcc, voice_activity
from .front_ends import FrontEnd
from .ge2e import RATE, prepare
from .onnx_encoder import OnnxEncoder

#: Names that audio has, whatever is in it.
SUFFIXES = (
    *(".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".sph", ".m4a", ".m4b", ".mp4", ".aac"),
    *(".3gp", ".amr", ".awb", ".wma", ".aif", ".aiff", ".aifc", ".au", ".snd", ".caf", ".webm"),
    *(".mka", ".w64", ".rf64", ".wv", ".ape", ".voc", ".spx", ".pcm"),
)
#: Seconds of speech that ge2e must detect, where stage 4 anonymizes it. In 1 of 150 pieces of
#: LibriSpeech with 0.3 to 0.42 s, it detects none once they are converted; in 1 of 2800 with more.
LEAST_SPEECH = 0.45
#: The lowest rate that McAdams' method converts, and the shortest recording that encoders take.
_LOWEST_RATE, _SHORTEST = 2000, 0.1
#: Shorter recordings are tried on the front ends of encoders.
_TRIED = 1.0
_FULL_SCALE, _QUIET = 32768, -50.0


@dataclass(frozen=True)
class Uses:
    """What recordings are for.

    Attributes
    ----------
    encoders : tuple of str
        Speaker encoders, which average the channels.
    anonymized : bool
        Whether stage 4 anonymizes them, from their first channel.
    extracted : bool
        Whether Kaldi's network extracts x-vectors of the first channel.
    """

    encoders: tuple[str, ...] = ()
    anonymized: bool = True
    extracted: bool = False


@dataclass(frozen=True)
class Recording:
    """What is known of a recording.

    Attributes
    ----------
    problem : str
        Why no later stage can use it; else empty.
    cautions : tuple of str
        What is odd in it.
    seconds : float
    rate, channels : int
    samples : str
        Digest of the samples.
    """

    problem: str = ""
    cautions: tuple[str, ...] = ()
    seconds: float = 0.0
    rate: int = 0
    channels: int = 0
    samples: str = field(default="", repr=False)


def look_at(path: Path, uses: Uses = Uses()) -> Recording:
    """Look at a recording.

    Parameters
    ----------
    path : Path
    uses : Uses

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
        averaged, first, channels = read_recording(path)
        problem = _problem(averaged, first, uses)
    except PrivacyEvalError as error:
        return Recording(str(error).removeprefix(f"{path}: "))
    except Exception as error:  # of a library, on a file that nobody foresaw
        return Recording(describe(error))
    samples = averaged.samples
    of_channels = (MIXED if uses.encoders else CHANNELS,) * (channels > 1)
    share = clipped_share(samples)
    marks = {
        CLIPPED: share >= LEAST_CLIPPED,
        f"level below {_QUIET:g} dB of full scale": level_db(averaged) < _QUIET,
        f"sampled below {RATE} Hz, so without upper frequencies": averaged.rate < RATE,
    }
    return Recording(
        problem,
        (*of_channels, *(mark for mark, holds in marks.items() if holds)),
        samples.size / averaged.rate,
        averaged.rate,
        channels,
        digest(f"{averaged.rate} ".encode() + samples.astype("<f4").tobytes()),
    )


def _problem(averaged: Audio, first: Audio, uses: Uses) -> str:
    """Say what later stages cannot do with samples; "" if nothing.

    Raises
    ------
    PrivacyEvalError
        A front end refuses them.
    """
    of_first = [first] * (uses.anonymized or not uses.encoders)
    seconds = first.samples.size / first.rate
    if not seconds:
        return "no samples"
    if any(_peak(audio) <= 1 for audio in (averaged, *of_first)):
        is_part = _peak(averaged) > 1 or _peak(first) > 1
        return f"{SILENT} first channel or average of channels" if is_part else SILENT
    if seconds < _SHORTEST:
        return f"{seconds:.2f} s, shorter than {_SHORTEST} s"
    if first.rate < _LOWEST_RATE:
        return f"{first.rate} Hz, expected at least {_LOWEST_RATE}"
    if max(_peak(averaged), _peak(first)) > _FULL_SCALE:
        times = max(_peak(averaged), _peak(first)) / _FULL_SCALE
        return f"samples beyond full scale ({times:.3g} times); {CONVERTED}"
    if "ge2e" in uses.encoders:
        speech = prepare(averaged).size / RATE
        if not speech or (uses.anonymized and speech < LEAST_SPEECH):
            return (
                f"{speech:.2f} s of speech, needed are {LEAST_SPEECH} s" if speech else "no speech"
            )
    if uses.encoders and seconds < _TRIED:
        for front_end in _front_ends(uses.encoders):
            front_end.compute(averaged)
    if uses.extracted:
        if first.rate < CHALLENGE_MFCC.rate:
            return f"{first.rate} Hz, the extractor needs at least {CHALLENGE_MFCC.rate}"
        samples = resample(first.samples, first.rate, int(CHALLENGE_MFCC.rate))
        return "" if voice_activity(mfcc(samples)).any() else "no voiced frames"
    return ""


@functools.cache
def _front_ends(encoders: tuple[str, ...]) -> list[FrontEnd]:
    """Read the front ends of encoders that have one of their own."""
    loaded = [EncoderChoice(name).load() for name in encoders if ENCODERS.get(name) != "ge2e"]
    return [encoder.front_end for encoder in loaded if isinstance(encoder, OnnxEncoder)]


def _peak(audio: Audio) -> float:
    return float(np.abs(audio.samples.astype(np.float32)).max())
