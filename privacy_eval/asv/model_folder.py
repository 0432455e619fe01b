"""Model folders of a tree: the stored back end and the x-vectors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import PrivacyEvalError, abbreviate
from ..io.confine import check_inside
from ..io.data_dir import read_utt2spk
from ..io.files import Loaded, digest, load
from ..io.kaldi_objects import FloatMatrix, read_matrix, read_vector, write_matrix, write_vector
from ..io.plda import read_plda, write_plda
from ..io.scp import Vectors, read_vectors, vector_locations, write_vectors
from ..protocol.protocol import AsvModel, Protocol
from .backend import PldaBackend, speaker_means, train_backend

#: Files of a back end; only the first is required.
BACKEND_FILES = ("plda", "mean.vec", "transform.mat")


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
    """
    files = {name: load(folder / name) for name in BACKEND_FILES if (folder / name).is_file()}
    if "plda" not in files:
        raise PrivacyEvalError(f"{folder}: no file plda, expected {', '.join(BACKEND_FILES)}")
    model = PldaBackend(
        read_plda(files["plda"]),
        read_vector(files["mean.vec"]) if "mean.vec" in files else None,
        read_matrix(files["transform.mat"]) if "transform.mat" in files else None,
    )
    try:
        model.dimension()
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{folder}: {error}") from error
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
    speaker_of = _speakers(utt2spk, vectors.ids, vectors.path)
    try:
        return train_backend(vectors.matrix, [speaker_of[u] for u in vectors.ids], **options)
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{vectors.path}: {error}") from error


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
        Speakers, at least of `ids`.
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
    speaker_of = _speakers(utt2spk, ids, folder)
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(ids):
        rows.setdefault(speaker_of[name], []).append(row)
    speakers = sorted(rows)
    means, _ = speaker_means(matrix, [rows[speaker] for speaker in speakers])
    write_vectors(folder / "spk_xvector.scp", speakers, means, tree=tree)
    write_vectors(folder / "xvector.scp", ids, matrix, tree=tree)
    return len(speakers)


def _speakers(utt2spk: Path | Loaded, ids: Iterable[str], where: Path) -> dict[str, str]:
    """Read the speakers of utterances."""
    speaker_of = read_utt2spk(utt2spk)
    unknown = [name for name in ids if name not in speaker_of]
    if unknown:
        raise PrivacyEvalError(
            f"{where}: {len(unknown)} utterances have no speaker in {utt2spk}: "
            f"{abbreviate(unknown)}"
        )
    return speaker_of


class TreeVectors:
    """The x-vectors of a tree's data sets from one model, each read once.

    Parameters
    ----------
    tree : Path
    protocol : Protocol
    folder : Path
        The model folder.
    allow_pipes, allow_outside : bool
        As in `read_vectors`.
    load : callable, optional
        Loads the scp, which is otherwise read from disk.
    """

    def __init__(
        self,
        tree: Path,
        protocol: Protocol,
        folder: Path,
        *,
        allow_pipes: bool = False,
        allow_outside: bool = False,
        load: Callable[[Path], Path | Loaded] = Path,
    ) -> None:
        self._tree, self._protocol, self.folder = tree, protocol, folder
        self._allow_pipes, self._allow_outside = allow_pipes, allow_outside
        self._load = load
        self._read: dict[Path, Vectors] = {}
        self._locations: dict[Path, Mapping[str, str]] = {}

    def candidates(self, name: str, suffix: str) -> list[Path]:
        """List possible paths of a set's x-vectors: in its own folder, then in those of its
        supersets."""
        names = (name, *self._protocol.supersets(name))
        return [self.folder / f"xvect_{n}{suffix}" / "xvector.scp" for n in names]

    def find(self, name: str, suffix: str) -> Path | None:
        """Return the first existing candidate."""
        return next((p for p in self.candidates(name, suffix) if p.is_file()), None)

    def read(self, path: Path) -> Vectors:
        """Read the x-vectors of an scp.

        Raises
        ------
        PrivacyEvalError
            As `read_vectors`; a file outside the tree.
        """
        if path not in self._read:
            self._read[path] = self._vectors(path)
        return self._read[path]

    def locations(self, path: Path) -> Mapping[str, str]:
        """Read the location of each x-vector from an scp, see `vector_locations`; an archive
        gives ids only. Raises as `read` does."""
        if path not in self._locations:
            self._check_inside(path)
            locations = vector_locations(path)
            self._locations[path] = (
                dict.fromkeys(self.read(path).ids, "") if locations is None else locations
            )
        return self._locations[path]

    def read_some(self, path: Path, ids: Collection[str]) -> Vectors:
        """Read at least the x-vectors of some ids of an scp; raises as `read` does."""
        return self._read[path] if path in self._read else self._vectors(path, ids)

    def _vectors(self, path: Path, only: Collection[str] | None = None) -> Vectors:
        self._check_inside(path)
        return read_vectors(
            self._load(path),
            tree=self._tree,
            allow_pipes=self._allow_pipes,
            allow_outside=self._allow_outside,
            only=only,
        )

    def _check_inside(self, path: Path) -> None:
        if not self._allow_outside:
            check_inside([path], [self._tree])


def backend_folder(tree: Path, model: AsvModel, suffix: str) -> Path | None:
    """Find the back end of an ASV model.

    Parameters
    ----------
    tree : Path
    model : AsvModel
    suffix : str
        Anonymization suffix of its training set.

    Returns
    -------
    Path or None
        The folder of its `plda`.
    """
    folder = tree / model.model_folder(suffix)
    candidates = (folder / f"xvect_{model.training_name(suffix)}", folder)
    return next((f for f in candidates if (f / "plda").is_file()), None)
