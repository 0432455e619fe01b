"""Model folders of a tree: the stored back end and the x-vectors beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import PrivacyEvalError, abbreviate
from ..io.data_dir import read_utt2spk
from ..io.files import digest, read_bytes, relative
from ..io.kaldi_objects import read_matrix, read_vector, write_matrix, write_vector
from ..io.plda import read_plda, write_plda
from ..io.scp import Vectors, read_vectors, vector_places
from ..protocol.protocol import AsvModel, Protocol
from .backend import PldaBackend, train_backend

#: Files of a back end; only the first must be there.
BACKEND_FILES = ("plda", "mean.vec", "transform.mat")


@dataclass(frozen=True)
class StoredBackend:
    """A back end on disk.

    Attributes
    ----------
    folder : Path
    model : Model
    sha256 : mapping
        Digest of each of its files by name.
    """

    folder: Path
    model: PldaBackend
    sha256: Mapping[str, str]

    def noted(self, tree: Path) -> dict[str, object]:
        """What is noted of it beside what was made with it."""
        return {"path": relative(self.folder, tree), "sha256": dict(self.sha256)}


def load_backend(folder: Path) -> StoredBackend:
    """Read a back end: `plda`, and `mean.vec` and `transform.mat` where they are.

    Raises
    ------
    PrivacyEvalError
        No `plda`, a damaged file, dimensions that do not fit each other.
    """
    paths = {name: folder / name for name in BACKEND_FILES if (folder / name).is_file()}
    if "plda" not in paths:
        raise PrivacyEvalError(f"{folder}: no file plda, expected {', '.join(BACKEND_FILES)}")
    model = PldaBackend(
        read_plda(paths["plda"]),
        read_vector(paths["mean.vec"]) if "mean.vec" in paths else None,
        read_matrix(paths["transform.mat"]) if "transform.mat" in paths else None,
    )
    try:
        model.dimension()
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{folder}: {error}") from error
    sha256 = {name: digest(read_bytes(path)) for name, path in paths.items()}
    return StoredBackend(folder, model, sha256)


def save_backend(folder: Path, model: PldaBackend) -> None:
    """Write a back end; `plda`, by which it is known, comes last."""
    if model.mean is not None:
        write_vector(folder / "mean.vec", model.mean, binary=False)
    if model.transform is not None:
        write_matrix(folder / "transform.mat", model.transform)
    write_plda(folder / "plda", model.plda)


def train_on(vectors: Vectors, utt2spk: Path, **options: Any) -> PldaBackend:
    """A back end from x-vectors and their speakers; options as of `train_backend`.

    Raises
    ------
    PrivacyEvalError
        A vector without a speaker; as `train_backend`.
    """
    speaker_of = read_utt2spk(utt2spk)
    unknown = [u for u in vectors.ids if u not in speaker_of]
    if unknown:
        raise PrivacyEvalError(
            f"{vectors.path}: {len(unknown)} utterances have no speaker in {utt2spk}: "
            f"{abbreviate(unknown)}"
        )
    try:
        return train_backend(vectors.matrix, [speaker_of[u] for u in vectors.ids], **options)
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{vectors.path}: {error}") from error


class TreeVectors:
    """The x-vectors that one model made of a tree's data sets, each read once.

    Parameters
    ----------
    folder : Path
        The model folder.
    """

    def __init__(
        self,
        tree: Path,
        protocol: Protocol,
        folder: Path,
        *,
        allow_pipes: bool = False,
        allow_outside: bool = False,
    ) -> None:
        self._tree, self._config, self.folder = tree, protocol, folder
        self._allow_pipes, self._allow_outside = allow_pipes, allow_outside
        self._read: dict[Path, Vectors] = {}
        self._places: dict[Path, Mapping[str, str]] = {}

    def candidates(self, name: str, suffix: str) -> list[Path]:
        """Where the x-vectors of a set may be: its own, then those of sets that hold it."""
        names = (name, *self._config.supersets(name))
        return [self.folder / f"xvect_{n}{suffix}" / "xvector.scp" for n in names]

    def find(self, name: str, suffix: str) -> Path | None:
        """The first candidate that is there."""
        return next((p for p in self.candidates(name, suffix) if p.is_file()), None)

    def read(self, path: Path) -> Vectors:
        """The x-vectors of an scp.

        Raises
        ------
        PrivacyEvalError
            As `read_vectors`; a file that leads out of the tree.
        """
        if path not in self._read:
            self._read[path] = self._vectors(path)
        return self._read[path]

    def places(self, path: Path) -> Mapping[str, str]:
        """Where an scp says that each x-vector is, see `vector_places`; of an archive only
        the ids. Errors as of `read`."""
        if path not in self._places:
            self._check_inside(path)
            places = vector_places(path)
            self._places[path] = (
                dict.fromkeys(self.read(path).ids, "") if places is None else places
            )
        return self._places[path]

    def abbreviate(self, path: Path, ids: Collection[str]) -> Vectors:
        """The x-vectors of some ids of an scp, or more than these; errors as of `read`."""
        return self._read[path] if path in self._read else self._vectors(path, ids)

    def _vectors(self, path: Path, only: Collection[str] | None = None) -> Vectors:
        self._check_inside(path)
        return read_vectors(
            path,
            tree=self._tree,
            allow_pipes=self._allow_pipes,
            allow_outside=self._allow_outside,
            only=only,
        )

    def _check_inside(self, path: Path) -> None:
        root = self._tree.resolve()
        if not self._allow_outside and not path.resolve().is_relative_to(root):
            raise PrivacyEvalError(
                f"{path}: leads out of the tree to {path.resolve()}; --allow-outside reads it all "
                "the same"
            )


def backend_folder(tree: Path, model: AsvModel, suffix: str) -> Path | None:
    """Where the back end of a model lies, if it is there."""
    folder = tree / model.model_folder(suffix)
    candidates = (folder / f"xvect_{model.training_name(suffix)}", folder)
    return next((f for f in candidates if (f / "plda").is_file()), None)
