"""The speech of Kaldi's data folders, as of lhotse's exports, as a folder of audio files."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from ..errors import InputWarning, PrivacyEvalError
from ..io.files import atomic_folder
from ..speech.audio import OTHER_LENGTH, AudioReader, soundfile
from .speech_folder import refuse


def speech_of_data_folder(data: Path, out: Path) -> Path:
    """Write a folder of a data folder's utterances: links to files, and FLAC of 16 bits where a
    command converts or segments cut them. Nothing is run.

    Parameters
    ----------
    data, out : Path
        The data folder, and the new one, which replaces an earlier one.

    Returns
    -------
    Path
        `out`.

    Raises
    ------
    PrivacyEvalError
        As of `AudioReader`; an id that cannot name a file; a recording that is not as long as
        reco2dur says.
    """
    reader = AudioReader(data, mix=True, allow_outside=True)
    odd = [u for u in reader.ids if "/" in u or u[0] == "."]
    refuse(odd, data, "ids that cannot name a file (write - for /, in utt2spk, too)")
    with atomic_folder(out) as folder:
        for utterance in reader.ids:
            whole = reader.whole_file(utterance)
            if whole is not None:
                link = folder / f"{utterance}{whole.suffix or '.wav'}"
                link.symlink_to(os.path.abspath(whole))
                continue
            audio = reader.read(utterance)
            samples = np.rint(audio.samples).clip(-(1 << 15), (1 << 15) - 1).astype(np.int16)
            soundfile().write(folder / f"{utterance}.flac", samples, audio.rate, "PCM_16")
    for note in reader.notes():
        if note.startswith(OTHER_LENGTH):
            raise PrivacyEvalError(f"{data / 'wav.scp'}: {note}")
        warnings.warn(f"{data / 'wav.scp'}: {note}", InputWarning, stacklevel=2)
    return out
