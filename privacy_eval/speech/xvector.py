"""From features to x-vectors, as Kaldi's extraction script computes and writes them; Kaldi's option
files."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..asv.backend import speaker_means
from ..choices import grouped
from ..errors import PrivacyEvalError, located
from ..io.data_dir import speakers_of_crops
from ..io.files import digest, read_bytes, read_text
from ..io.vectors import FloatMatrix, write_vectors
from .audio import AudioReader
from .features import CHALLENGE_VAD, Features, VadOptions, sliding_cmvn, voice_activity
from .nnet3 import Network
from .nnet3_file import read_model

#: Files of an extractor's folder; only the first is required.
EXTRACTOR_FILES = ("final.raw", "extract.config", "min_chunk_size", "max_chunk_size")

#: Utterances without voiced frames; a key of `AudioReader.remarks`.
UNVOICED = "left out, no voiced frames"

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Vector = NDArray[np.float32]
Options = TypeVar("Options", bound="DataclassInstance")

_BOOLS = {"true": True, "t": True, "": True, "false": False, "f": False}


@dataclass(frozen=True)
class Extractor:
    """A network, and how utterances are cut into chunks and padded for it.

    Attributes
    ----------
    network : Network
    min_chunk_size : int
        Frames; shorter chunks are padded or left out.
    max_chunk_size : int
        Frames; longer utterances are cut into chunks. -1: never.
    pad_input : bool
        Pad short chunks by repeating their first and last frame.
    sha256 : mapping
        Digest of each of the files by name.
    """

    network: Network
    min_chunk_size: int = 25
    max_chunk_size: int = 10000
    pad_input: bool = True
    sha256: Mapping[str, str] = field(default_factory=dict)

    def extract(self, features: NDArray[np.float32]) -> Vector | None:
        """Compute the x-vector of an utterance: the mean over its chunks, weighted by length.

        Parameters
        ----------
        features : float32 array, shape (N, D)
            Normalized, voiced frames only.

        Returns
        -------
        float32 array, shape (E,), or None
            None without frames, and if all chunks are too short and not padded.

        Raises
        ------
        PrivacyEvalError
            Features of another dimension; a padded chunk that is too short for the network; an
            x-vector that is not finite.
        """
        size = self.max_chunk_size if self.max_chunk_size > 0 else len(features)
        total = np.zeros(self.network.output_columns)
        frames = 0
        for begin in range(0, len(features), max(size, 1)):
            chunk = features[begin : begin + size]
            missing = max(self.min_chunk_size - len(chunk), 0)
            if missing and not self.pad_input:
                continue
            padding = (missing // 2, missing - missing // 2)
            padded = np.pad(chunk, (padding, (0, 0)), mode="edge") if missing else chunk
            times, vectors = self.network.compute(padded)
            if not len(times):
                raise PrivacyEvalError(
                    f"{self.network.path}: {len(padded)} frames are too few for the network; "
                    f"min_chunk_size is {self.min_chunk_size}"
                )
            total += len(chunk) * vectors[0].astype(np.float64)
            frames += len(chunk)
        if not frames:
            return None
        with np.errstate(over="ignore"):
            vector: Vector = (total / frames).astype(np.float32)
        if not np.isfinite(vector).all():
            raise PrivacyEvalError(f"{self.network.path}: computes values that are not finite")
        return vector


def load_extractor(folder: Path | None = None, *, network: Path | None = None) -> Extractor:
    """Read the folder of an extractor, as Kaldi's scripts expect it.

    Parameters
    ----------
    folder : Path, optional
        Of `final.raw` and, if they exist, `extract.config`, `min_chunk_size` and
        `max_chunk_size`.
    network : Path, optional
        A raw model, instead of `final.raw`. Either is required.

    Returns
    -------
    Extractor

    Raises
    ------
    ValueError
        Neither folder nor network.
    PrivacyEvalError
        A file that is missing or damaged; a network that cannot be computed; chunks whose
        longest is shorter than the shortest.
    """
    if folder is None and network is None:
        raise ValueError("expected a folder or a network")
    paths = {} if folder is None else {name: folder / name for name in EXTRACTOR_FILES}
    paths = {name: path for name, path in paths.items() if path.is_file()}
    if network is not None:
        paths["final.raw"] = network
    if "final.raw" not in paths:
        raise PrivacyEvalError(f"{folder}: no file final.raw, expected an x-vector network")
    model = read_model(paths["final.raw"], paths.get("extract.config"))
    sizes: dict[str, Any] = {
        name: _read_size(paths[name], name) for name in EXTRACTOR_FILES[2:] if name in paths
    }
    sha256 = {name: digest(read_bytes(path)) for name, path in paths.items()}
    extractor = Extractor(Network(model), sha256=sha256, **sizes)
    if 0 < extractor.max_chunk_size < extractor.min_chunk_size:
        raise PrivacyEvalError(
            f"{folder}: max_chunk_size is {extractor.max_chunk_size} frames, fewer than "
            f"min_chunk_size, {extractor.min_chunk_size}"
        )
    return extractor


def assumed_sizes(files: Container[str]) -> str:
    """Describe which chunk sizes are Kaldi's defaults, as an extractor lacks their files.

    Parameters
    ----------
    files : container of str
        Names of the extractor's files.

    Returns
    -------
    str
        Empty if it has both.

    Examples
    --------
    >>> assumed_sizes(["final.raw", "min_chunk_size"])
    'no file max_chunk_size, so the default holds: 10000 frames'
    """
    absent = [name for name in EXTRACTOR_FILES[2:] if name not in files]
    if not absent:
        return ""
    frames = " and ".join(str(getattr(Extractor, name)) for name in absent)
    holds = "so the defaults hold" if len(absent) > 1 else "so the default holds"
    return f"no file {' or '.join(absent)}, {holds}: {frames} frames"


def utterance_vectors(
    extractor: Extractor,
    reader: AudioReader,
    features: Iterable[tuple[str, Features]],
    vad: VadOptions = CHALLENGE_VAD,
) -> Iterator[tuple[str, Vector | None]]:
    """Compute the x-vectors of utterances, one after another.

    Parameters
    ----------
    extractor : Extractor
    reader : AudioReader
        Of the utterances; its `remarks` list those without voiced frames.
    features : iterable of (str, float32 array of shape (T, D))
    vad : VadOptions

    Returns
    -------
    iterator of (str, float32 array of shape (E,) or None)

    Raises
    ------
    PrivacyEvalError
        With the utterance: as `Extractor.extract`.
    """
    for name, of_frames in features:
        voiced = voice_activity(of_frames, vad)
        with located(reader.where(name)):
            vector = extractor.extract(sliding_cmvn(of_frames)[voiced])
        if vector is None:
            reader.remarks.setdefault(UNVOICED, []).append(name)
        yield name, vector


def _read_size(path: Path, name: str) -> int:
    """Read a chunk size."""
    text = read_text(path).strip()
    if name == "max_chunk_size" and text == "-1":
        return -1
    if not (text.isascii() and text.isdigit() and 0 < int(text[:10]) < 10**9):
        raise PrivacyEvalError(f"{path}:1: expected a number of frames, found {text[:40]!r}")
    return int(text)


def save_vectors(
    folder: Path, ids: Sequence[str], matrix: FloatMatrix, utt2spk: Path, *, tree: Path
) -> int:
    """Write x-vectors and their mean by speaker, as Kaldi's extraction script does.

    Parameters
    ----------
    folder : Path
        Of `xvector.scp`, `spk_xvector.scp` and their archives.
    ids : sequence of str, length N
    matrix : float32 array, shape (N, D)
    utt2spk : Path
        Speakers, at least of `ids`, or of the utterances that these are crops of.
    tree : Path
        Folder that the paths in the scp files are relative to.

    Returns
    -------
    int
        Number of speakers.

    Raises
    ------
    PrivacyEvalError
        An utterance without a speaker; cannot be written.
    """
    speaker_of = speakers_of_crops(utt2spk, ids)
    rows = grouped(range(len(ids)), lambda row: speaker_of[ids[row]])
    speakers = sorted(rows)
    means, _ = speaker_means(matrix, [rows[speaker] for speaker in speakers])
    write_vectors(folder / "spk_xvector.scp", speakers, means, tree=tree)
    write_vectors(folder / "xvector.scp", ids, matrix, tree=tree)
    return len(speakers)


def read_options(path: Path, kind: type[Options]) -> Options:
    """Read one of Kaldi's option files (`--config`): lines of `--name=value`.

    Parameters
    ----------
    path : Path
    kind : dataclass
        Its fields, bools, whole numbers, numbers or texts, are the options, `num_ceps` that of
        `--num-ceps`; what the file does not set keeps its default.

    Returns
    -------
    instance of `kind`

    Raises
    ------
    PrivacyEvalError
        With file and line: no option, an unknown or repeated one, a value of another type. With
        the file: values that `kind` refuses with a ValueError.

    Examples
    --------
    >>> import tempfile
    >>> Vad = dataclasses.make_dataclass("Vad", [("context", "int", 0), ("scale", "float", 0.5)])
    >>> file = Path(tempfile.mkdtemp(), "vad.conf")
    >>> _ = file.write_text("--context=2 # frames\\n")
    >>> read_options(file, Vad)
    Vad(context=2, scale=0.5)
    """
    types = {f.name: str(f.type) for f in dataclasses.fields(kind)}
    values: dict[str, Any] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        where = f"{path}:{number}"
        option, equals, value = (part.strip() for part in text.partition("="))
        name = option[2:].replace("-", "_")
        if not option.startswith("--") or name not in types:
            expected = ", ".join(f"--{n.replace('_', '-')}" for n in types)
            raise PrivacyEvalError(
                f"{where}: unknown option {option!r}, expected one of {expected}"
            )
        if name in values:
            raise PrivacyEvalError(f"{where}: duplicate option {option}")
        values[name] = _value(value, types[name], bool(equals), f"{where}: {option}")
    try:
        return kind(**values)
    except ValueError as error:
        raise PrivacyEvalError(f"{path}: {error}") from error


def _value(text: str, kind: str, given: bool, where: str) -> Any:
    """Parse the value of an option."""
    if kind == "bool":
        if text in _BOOLS and given == bool(text):
            return _BOOLS[text]
        raise PrivacyEvalError(f"{where}: expected true or false, found {text!r}")
    if kind == "str" and text:
        return text
    try:
        value = {"int": int, "float": float}[kind](text)
        if text.isascii() and "_" not in text and abs(value) < 1e9:
            return value
    except (KeyError, ValueError):
        pass
    expected = {"int": "a whole number", "float": "a number", "str": "a value"}[kind]
    raise PrivacyEvalError(f"{where}: expected {expected}, found {text!r}")
