"""Find the back end and the x-vectors in the model folders of a tree; reading them needs NumPy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError
from ..io.confine import check_inside
from ..io.files import Loaded
from ..io.vector_digest import stored_digest
from ..protocol.protocol import AsvModel, Protocol

if TYPE_CHECKING:
    from ..io.scp import Vectors

#: Files of a back end; only the first is required.
BACKEND_FILES = ("plda", "mean.vec", "transform.mat")


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
        self._read: dict[tuple[Path, bool], Vectors] = {}
        self._digests: dict[Path, str] = {}
        self._locations: dict[Path, Mapping[str, str]] = {}

    def candidates(self, name: str, suffix: str) -> list[Path]:
        """List possible paths of a set's x-vectors: in its own folder, then in those of its
        supersets."""
        names = (name, *self._protocol.supersets(name))
        return [self.folder / f"xvect_{n}{suffix}" / "xvector.scp" for n in names]

    def find(self, name: str, suffix: str) -> Path | None:
        """Return the first existing candidate."""
        return next((p for p in self.candidates(name, suffix) if p.is_file()), None)

    def read(self, path: Path, *, double: bool = False) -> Vectors:
        """Read the x-vectors of an scp; `double` as in `read_vectors`.

        Raises
        ------
        PrivacyEvalError
            As `read_vectors`; a file outside the tree, or one that has changed since `digest`.
        """
        if (path, double) not in self._read:
            vectors = self._vectors(path, double=double)
            if self._digests.setdefault(path, vectors.digest) != vectors.digest:
                raise PrivacyEvalError(f"{path}: its vectors changed while they were read")
            self._read[path, double] = vectors
        return self._read[path, double]

    def digest(self, path: Path) -> str:
        """Compute the digest of the x-vectors of an scp, usually without parsing them; raises as
        `read` does."""
        if path not in self._digests:
            self._check_inside(path)
            roots = [] if self._allow_outside else [self._tree, path.parent]
            stored = stored_digest(self._load(path), tree=self._tree, roots=roots)
            self._digests[path] = stored or self.read(path).digest
        return self._digests[path]

    def locations(self, path: Path) -> Mapping[str, str]:
        """Read the location of each x-vector from an scp, see `vector_locations`; an archive
        gives ids only. Raises as `read` does."""
        if path not in self._locations:
            self._check_inside(path)
            from ..io.scp import vector_locations

            locations = vector_locations(path)
            self._locations[path] = (
                dict.fromkeys(self.read(path).ids, "") if locations is None else locations
            )
        return self._locations[path]

    def read_some(self, path: Path, ids: Collection[str]) -> Vectors:
        """Read at least the x-vectors of some ids of an scp; raises as `read` does."""
        return self._read.get((path, False)) or self._vectors(path, ids)

    def _vectors(
        self, path: Path, only: Collection[str] | None = None, *, double: bool = False
    ) -> Vectors:
        from ..io.scp import read_vectors

        self._check_inside(path)
        return read_vectors(
            self._load(path),
            tree=self._tree,
            allow_pipes=self._allow_pipes,
            allow_outside=self._allow_outside,
            only=only,
            double=double,
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
