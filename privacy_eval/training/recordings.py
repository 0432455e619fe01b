"""Training speech: read once into a cache of 16-bit samples at one rate, and cut into crops.

The cache consists of parts of some hundred utterances, which processes make side by side. A part
that is there is kept, so that a killed run goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate, counted
from ..io.data_dir import read_utt2spk
from ..io.files import atomic_path, digest, read_text, write_text
from ..speech.audio import AudioReader
from ..speech.features import fractions_at
from ..speech.onnx_encoder import FRONT_ENDS

RATE = FRONT_ENDS["speechbrain"].rate
_PART_UTTERANCES = 500
FULL_SCALE = 32768
Samples = NDArray[np.int16]


@dataclass(frozen=True)
class Recordings:
    """Utterances in a cache.

    Attributes
    ----------
    ids, speakers : tuple of str
        Of each utterance; a speaker is named once in all folders.
    samples : tuple of int16 array
        Mapped into memory.
    sha256 : str
        Digest of names, speakers and samples.
    """

    ids: tuple[str, ...]
    speakers: tuple[str, ...]
    samples: tuple[Samples, ...]
    sha256: str

    @property
    def seconds(self) -> float:
        """Their length."""
        return sum(one.size for one in self.samples) / RATE

    def crops(
        self, utterances: NDArray[np.int64], starts: NDArray[np.int64], size: int
    ) -> NDArray[np.int16]:
        """Return a piece of each of some utterances, shape (B, size)."""
        crops = np.empty((len(utterances), size), np.int16)
        for crop, utterance, start in zip(crops, utterances, starts, strict=True):
            crop[:] = self.samples[utterance][start : start + size]
        return crops


@dataclass(frozen=True)
class _Part:
    """Utterances of a folder that are read together."""

    data: Path
    ids: tuple[str, ...]
    path: Path
    options: dict[str, Any]

    def make(self) -> None:
        """Read the utterances, unless they are in the cache; the list of lengths comes last."""
        if self.path.with_suffix(".json").is_file():
            return
        reader, lengths = AudioReader(self.data, mix=True, **self.options), []
        sha256 = hashlib.sha256()
        with atomic_path(self.path) as temporary, temporary.open("wb") as file:
            for name in self.ids:
                audio = reader.read(name)
                if not audio.samples.any():
                    raise PrivacyEvalError(f"{reader.where(name)}: no speech, digital silence")
                samples = np.rint(fractions_at(audio, RATE) * FULL_SCALE)
                samples = samples.clip(-FULL_SCALE, FULL_SCALE - 1).astype("<i2")
                file.write(samples.tobytes())
                sha256.update(samples.tobytes())
                lengths.append(samples.size)
        described = {"lengths": lengths, "sha256": sha256.hexdigest()}
        write_text(self.path.with_suffix(".json"), json.dumps(described))

    @cached_property
    def made(self) -> dict[str, Any]:
        """The digest of the samples, and the lengths of the utterances."""
        described: dict[str, Any] = json.loads(read_text(self.path.with_suffix(".json")))
        return described

    def samples(self) -> Iterator[Samples]:
        """Map the utterances into memory."""
        lengths = self.made["lengths"]
        mapped = np.memmap(self.path, "<i2", "r")
        if mapped.size != sum(lengths) or len(lengths) != len(self.ids):
            raise PrivacyEvalError(f"{self.path}: damaged; remove the folder {self.path.parent}")
        ends = np.cumsum(lengths)
        yield from (mapped[end - n : end] for end, n in zip(ends, lengths, strict=True))


def read_recordings(
    folders: Sequence[Path],
    cache: Path,
    nj: int,
    options: dict[str, Any],
    show: Callable[[int, int, str], None] | None = None,
) -> Recordings:
    """Read the speech of data folders, by `nj` processes, or take it from the cache.

    `options` are those of `AudioReader`. A part is made again where a list of the folder, the size
    or the time of a file has changed.
    """
    parts, speakers = [], []
    for folder in folders:
        reader, speaker_of = AudioReader(folder, **options), read_utt2spk(folder / "utt2spk")
        if absent := [name for name in reader.ids if name not in speaker_of]:
            raise PrivacyEvalError(f"{folder / 'utt2spk'}: no speaker of {abbreviate(absent)}")
        for first in range(0, len(reader.ids), _PART_UTTERANCES):
            ids = reader.ids[first : first + _PART_UTTERANCES]
            key = digest(json.dumps([str(folder), ids, _state(reader, ids)]).encode())
            parts.append(_Part(folder, ids, cache / f"{key[:16]}.i16", options))
            speakers += [speaker_of[name] for name in ids]
    with ProcessPoolExecutor(min(nj, len(parts)) or 1) as pool:
        for done, _ in enumerate(pool.map(_Part.make, parts), 1):
            if show is not None:
                show(done, len(parts), "parts of the speech read")
    ids = tuple(name for part in parts for name in part.ids)
    sha256 = digest(json.dumps([ids, speakers, [p.made["sha256"] for p in parts]]).encode())
    samples = tuple(one for part in parts for one in part.samples())
    return Recordings(ids, tuple(speakers), samples, sha256)


def _state(reader: AudioReader, ids: Sequence[str]) -> list[Any]:
    """Return what tells whether the files of utterances have changed."""
    states = [(str(p), p.stat()) for p in reader.existing_files(ids).values()]
    files = [(name, state.st_size, state.st_mtime_ns) for name, state in states]
    return [[reader.target(name) for name in ids], files]


def check_lengths(recordings: Recordings, seconds: float, *, leave_out: bool) -> Recordings:
    """Refuse utterances that are shorter than a crop, or leave them out."""
    size = round(seconds * RATE)
    long = [i for i, one in enumerate(recordings.samples) if one.size >= size]
    short = [name for i, name in enumerate(recordings.ids) if recordings.samples[i].size < size]
    if short and not (leave_out and long):
        raise PrivacyEvalError(
            f"{counted(len(short), 'recording')} of {len(recordings.ids)} shorter than a crop of "
            f"{seconds:g} s: {abbreviate(short)} (--crop SECONDS, in the recipe --set "
            "crop=SECONDS, takes shorter crops; "
            "--allow-missing leaves these recordings out)"
        )
    return Recordings(
        tuple(recordings.ids[i] for i in long),
        tuple(recordings.speakers[i] for i in long),
        tuple(recordings.samples[i] for i in long),
        recordings.sha256,
    )
