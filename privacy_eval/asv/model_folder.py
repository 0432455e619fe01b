"""Read and write the back end of a model folder, and read its x-vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import PrivacyEvalError, located
from ..io.data_dir import speakers_of_crops
from ..io.files import Loaded, digest, load
from ..io.vectors import (
    Vectors,
    read_matrix,
    read_plda,
    read_vector,
    write_matrix,
    write_plda,
    write_vector,
)
from .backend import PldaBackend, train_backend
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
