"""The speech of Kaldi's data folders, as of lhotse's exports, as a folder of audio files."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path

import numpy as np

from ..errors import InputWarning, PrivacyEvalError
from ..io.files import atomic_path
from ..speech.audio import OTHER_LENGTH, AudioReader, soundfile
from .speech_folder import refuse


def speech_of_data_folder(data: Path, out: Path) -> Path:
    """Write a folder of a data folder's utterances: links to files, and FLAC of 16 bits where a
    command converts or segments cut them. Nothing is run.

    Parameters
    ----------
    data, out : Path
        The data folder, and the new one; what is there of it already stays.

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
    out.mkdir(parents=True, exist_ok=True)
    names = set()
    for utterance in reader.ids:
        whole = reader.whole_file(utterance)
        path = out / f"{utterance}{'.flac' if whole is None else whole.suffix or '.wav'}"
        names.add(path.name)
        if whole is not None:
            path.unlink(missing_ok=True)
            path.symlink_to(os.path.abspath(whole))
            continue
        audio, content = reader.read(utterance), io.BytesIO()
        samples = np.rint(audio.samples).clip(-(1 << 15), (1 << 15) - 1).astype(np.int16)
        soundfile().write(content, samples, audio.rate, format="FLAC", subtype="PCM_16")
        if not path.is_file() or path.read_bytes() != content.getvalue():
            with atomic_path(path) as temporary:
                temporary.write_bytes(content.getvalue())
    for path in out.iterdir():
        if path.name not in names:
            path.unlink()
    for note in reader.notes():
        if note.startswith(OTHER_LENGTH):
            raise PrivacyEvalError(f"{data / 'wav.scp'}: {note}")
        warnings.warn(f"{data / 'wav.scp'}: {note}", InputWarning, stacklevel=2)
    return out
