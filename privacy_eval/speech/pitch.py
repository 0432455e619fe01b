"""Pitch tracks: from Praat, the extra `pitch` of the package, or from text files."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import InputWarning, PrivacyEvalError, library, located
from ..io.confine import check_inside
from ..io.files import read_text
from ..io.text_table import is_number
from ..metrics.utility import HIGHEST, LOWEST
from .audio import Audio, AudioReader

Track = NDArray[np.float64]

_STEP = 0.01  # seconds
_SUFFIX = ".f0"


def praat_track(audio: Audio) -> Track:
    """Track the pitch with Praat's autocorrelation method.

    Parameters
    ----------
    audio : Audio

    Returns
    -------
    float array, shape (F,)
        Hz, a value every 10 ms, 0 where unvoiced.

    Raises
    ------
    PrivacyEvalError
        praat-parselmouth is not installed; the utterance is too short.
    """
    parselmouth = library("parselmouth", "pitch tracks of audio", "praat-parselmouth")
    samples = np.asarray(audio.samples, dtype=np.float64) / 32768
    try:
        sound = parselmouth.Sound(samples, sampling_frequency=audio.rate)
        pitch = sound.to_pitch(time_step=_STEP, pitch_floor=LOWEST, pitch_ceiling=HIGHEST)
    except (parselmouth.PraatError, ValueError) as error:
        raise PrivacyEvalError(f"Praat: {str(error).splitlines()[0]}") from error
    return np.asarray(pitch.selected_array["frequency"], dtype=np.float64)


def read_track(path: Path) -> Track:
    """Read a pitch track: a number per line.

    Parameters
    ----------
    path : Path

    Returns
    -------
    float array, shape (F,)
        Hz, a value every 10 ms, 0 where unvoiced.

    Raises
    ------
    PrivacyEvalError
        With file and line: not a number from 0; an empty file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "u1.f0")
    >>> _ = path.write_text("0\\n110.5\\n")
    >>> read_track(path)
    array([  0. , 110.5])
    """
    values = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            values.append(float(line) if is_number(line) else math.nan)
            if not 0 <= values[-1] < math.inf:
                raise PrivacyEvalError(f"{path}:{number}: not a frequency: {line[:80]!r}")
    if not values:
        raise PrivacyEvalError(f"{path}: empty file, expected a frequency per line")
    return np.array(values)


def tracks_of(
    folder: Path,
    *,
    base: Path | None = None,
    allow_pipes: bool = False,
    allow_outside: bool = False,
) -> dict[str, Callable[[], Track]]:
    """List the pitch tracks of a folder, to be read one by one.

    Parameters
    ----------
    folder : Path
        With `wav.scp`, or with a text file `<utterance>.f0` for each utterance.
    base : Path, optional
        Folder that paths in wav.scp are relative to.
    allow_pipes, allow_outside : bool
        See `AudioReader`.

    Returns
    -------
    dict of str to callable
        Readers by utterance.

    Raises
    ------
    PrivacyEvalError
        As `AudioReader`; neither of these.
    """
    if (folder / "wav.scp").is_file():
        reader = AudioReader(
            folder, base=base, allow_pipes=allow_pipes, allow_outside=allow_outside
        )

        def track_of(utterance: str) -> Track:
            audio = reader.read(utterance)
            with located(reader.where(utterance)):
                track = praat_track(audio)
            for remark in reader.remarks:
                warnings.warn(f"{folder}: {remark}", InputWarning, stacklevel=2)
            return track

        return {u: functools.partial(track_of, u) for u in reader.ids}
    files = sorted(folder.glob(f"*{_SUFFIX}"))
    if not files:
        raise PrivacyEvalError(f"{folder}: neither wav.scp nor <utterance>{_SUFFIX}")
    if not allow_outside:
        check_inside(files, [folder, *filter(None, [base])])
    return {f.name.removesuffix(_SUFFIX): functools.partial(read_track, f) for f in files}
