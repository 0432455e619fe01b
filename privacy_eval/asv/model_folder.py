"""Read and write the back end and the x-vectors of a model folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..choices import grouped
from ..errors import PrivacyEvalError, located
from ..io.data_dir import speakers_of_crops
from ..io.files import Loaded, digest, load
from ..io.vectors import (
    FloatMatrix,
    Vectors,
    read_matrix,
    read_plda,
    read_vector,
    write_matrix,
    write_plda,
    write_vector,
    write_vectors,
)
from .backend import PldaBackend, speaker_means, train_backend
from .inputs import BACKEND_FILES


@dataclass(frozen=True)
class StoredBackend:
    """A back end on disk.

    Attributes
    ----------
    folder : Path
    model : PldaBackend
    sha256 : mapping
        Digest of each of its files by name.
    """

    folder: Path
    model: PldaBackend
    sha256: Mapping[str, str]


def load_backend(folder: Path, load: Callable[[Path], Loaded] = load) -> StoredBackend:
    """Read a back end: `plda`, and optionally `mean.vec` and `transform.mat`.

    Parameters
    ----------
    folder : Path
    load : callable
        Reads a file.

    Returns
    -------
    StoredBackend

    Raises
    ------
    PrivacyEvalError
        No `plda`, a damaged file, inconsistent dimensions.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "plda").write_bytes(Path("tests/data/golden/plda/plda.bin").read_bytes())
    >>> load_backend(folder).model.mean is None
    True
    """
    files = {name: load(folder / name) for name in BACKEND_FILES if (folder / name).is_file()}
    if "plda" not in files:
        raise PrivacyEvalError(f"{folder}: no file plda, expected {', '.join(BACKEND_FILES)}")
    model = PldaBackend(
        read_plda(files["plda"]),
        read_vector(files["mean.vec"]) if "mean.vec" in files else None,
        read_matrix(files["transform.mat"]) if "transform.mat" in files else None,
    )
    with located(folder):
        model.dimension()
    sha256 = {name: digest(file.content) for name, file in files.items()}
    return StoredBackend(folder, model, sha256)


def save_backend(folder: Path, model: PldaBackend) -> None:
    """Write a back end; `plda`, whose presence marks it complete, last.

    Parameters
    ----------
    folder : Path
    model : PldaBackend
    """
    if model.mean is not None:
        write_vector(folder / "mean.vec", model.mean)
    if model.transform is not None:
        write_matrix(folder / "transform.mat", model.transform)
    write_plda(folder / "plda", model.plda)


def train_from_vectors(vectors: Vectors, utt2spk: Path | Loaded, **options: Any) -> PldaBackend:
    """Train a back end on x-vectors and their speakers.

    Parameters
    ----------
    vectors : Vectors
    utt2spk : Path or Loaded
    **options
        As of `train_backend`.

    Returns
    -------
    PldaBackend

    Raises
    ------
    PrivacyEvalError
        A vector without a speaker; as `train_backend`.
    """
    speaker_of = speakers_of_crops(utt2spk, vectors.ids)
    vectors.rows(vectors.ids, "the training")
    with located(vectors.path):
        return train_backend(vectors.matrix, [speaker_of[u] for u in vectors.ids], **options)


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
