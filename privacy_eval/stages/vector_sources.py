"""X-vectors as products of the extractors of a tree and, with back ends, as inputs of others:
scores, similarity, identification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..asv.inputs import OTHER_VECTORS
from ..choices import ENCODERS
from ..io.files import Inputs, read_bytes, relative
from ..products.freshness import (
    Content,
    Fingerprint,
    Paths,
    Product,
    Sources,
    source_from_fingerprint,
)
from .access import AsvSystems

if TYPE_CHECKING:
    from ..io.vectors import FloatMatrix
    from ..speech.encoders import EncoderChoice

#: The fingerprint of a set's x-vectors, and the role of the network in it.
VECTORS_NOTE, EXTRACTOR_ROLE = ".xvectors.json", "extractor"
#: The option that is a user's command.
COMMAND = "command"

_FILES = ("spk_xvector.ark", "spk_xvector.scp", "xvector.ark", "xvector.scp")


@dataclass(frozen=True)
class VectorSet:
    """The x-vectors of a data set, which a subclass finds the inputs of, and makes."""

    data_set: str
    model_folder: str
    asv: AsvSystems

    @property
    def name(self) -> str:
        """Folder of the x-vectors, relative to the tree."""
        return f"{self.model_folder}/xvect_{self.data_set}"

    @property
    def folder(self) -> Path:
        """Folder of the x-vectors."""
        return self.asv.access.tree / self.name

    @property
    def data(self) -> Path:
        """Folder of the speech."""
        return self.asv.access.tree / "data" / self.data_set

    def find(self, inputs: Inputs) -> Sources:
        """Return the inputs by role."""
        raise NotImplementedError

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        """Make the x-vectors."""
        raise NotImplementedError

    def product(self) -> Product:
        """Return the product of the x-vectors; external ones, of any format, are kept."""
        return Product(
            self.name,
            self.asv.access.tree,
            self.folder / VECTORS_NOTE,  # a back end may be there, too
            tuple(self.folder / name for name in _FILES),
            self.find,
            self.make,
            guarded=True,
            rivals=tuple(self.folder / name for name in OTHER_VECTORS),
        )


def packed_vectors(
    folder: Path, ids: Sequence[str], matrix: FloatMatrix, utt2spk: Path, tree: Path
) -> dict[Path, bytes]:
    """Return the files of a set's x-vectors, in an order in which they may be written."""
    import tempfile

    from ..asv.model_folder import save_vectors

    with tempfile.TemporaryDirectory() as scratch:
        new = Path(scratch, relative(folder, tree))
        save_vectors(new, ids, matrix, utt2spk, tree=Path(scratch))
        return {folder / name: read_bytes(new / name) for name in _FILES}


def asv_sources(
    asv: AsvSystems,
    model: tuple[str, str],
    sets: Mapping[str, tuple[str, str]],
    inputs: Inputs,
    own: Sources,
    *,
    plda: bool = True,
) -> Sources:
    """Return the inputs of a product: PLDA back end if needed, `own` sources, x-vectors of sets
    by role, and their network if it is known and the same for all."""
    backend = asv.backend_files(*model) if plda else {}
    scps = {role: asv.find_vectors(*model, *name) for role, name in sets.items()}
    vectors = {f"{r}_vectors": asv.vectors_source(p) for r, p in scps.items()}
    networks = {
        source_from_fingerprint(scp, EXTRACTOR_ROLE, asv.access.tree, inputs, VECTORS_NOTE)
        for scp in scps.values()
    }
    network = networks.pop() if len(networks) == 1 else None
    return {**backend, **own, **vectors, **({EXTRACTOR_ROLE: network} if network else {})}


def encoder_of(asv: AsvSystems, folder: str, cache: Path | None) -> EncoderChoice | None:
    """Return the encoder that the protocol names for the vectors of a model folder; an ONNX file is
    relative to the tree."""
    from ..speech.encoders import EncoderChoice

    name, front_end = asv.protocol.encoder_of(folder)
    if not name:
        return None
    if name in ENCODERS:
        return EncoderChoice(name, cache=cache)
    path, tree = Path(front_end), asv.access.tree
    return EncoderChoice(str(tree / name), str(tree / path) if path.suffix else front_end or None)


def extractor_commands(folders: Iterable[Path], tree: Path) -> dict[str, str]:
    """Return the commands that made x-vectors, by model folder."""
    texts = ((f.parent, command_of(Fingerprint.read(f / VECTORS_NOTE))) for f in sorted(folders))
    return {relative(model, tree): text for model, text in texts if text is not None}


def command_of(stored: Fingerprint | None) -> str | None:
    """Return the command that made x-vectors; None of others."""
    text = None if stored is None else stored.options.get(COMMAND)
    return text if isinstance(text, str) else None
