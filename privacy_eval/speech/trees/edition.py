"""Stage 5 in trees of an edition with its own evaluation: vectors by the checkpoints that it left,
in the files that it writes, of recordings as it reads them.

Vectors that are there, but not made here, are kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...asv.cosine import unit_vectors
from ...asv.inputs import KALDI_VECTORS, OTHER_VECTORS
from ...errors import PrivacyEvalError
from ...io.arrays import write_torch_vectors
from ...io.files import digest, read_bytes, refuse_symlinks, relative
from ...io.vectors import FloatMatrix
from ...products.freshness import Outcome, Product, Run
from ...stages.access import AsvSystems
from ...stages.asv_scores import checkpoint_sets
from ...tree.discovery import checkpoints
from ..audio import Audio
from ..ecapa import Ecapa
from ..encoders import EncoderChoice
from .xvectors import ExtractedSet, Part, SharedExtraction, extract

_FULL_SCALE = 32768.0
#: Kind of `MissingInput`.
_SPEECH = "speech of data sets"


@dataclass(frozen=True)
class TrimmedEcapa(Ecapa):
    """An ECAPA-TDNN of recordings as the challenge's evaluation of 2024 reads them.

    Attributes
    ----------
    normalize : bool
        Bring vectors to unit length.
    """

    normalize: bool = False

    def encode(self, audio: Audio) -> NDArray[np.float32]:
        """Compute the vector of an utterance: without samples of 0 at its ends, its peak scaled
        to full scale; arguments and errors as of `Ecapa.encode`."""
        samples = np.asarray(np.trim_zeros(audio.samples), np.float32)
        peak = float(np.abs(samples).max(initial=0.0)) or 1.0
        scaled = samples * np.float32(_FULL_SCALE / peak)
        vector = super().encode(replace(audio, samples=scaled))
        return unit_vectors(vector[None])[0].astype(np.float32) if self.normalize else vector


@dataclass(frozen=True)
class CheckpointChoice(EncoderChoice):
    """The checkpoint of an ASV model's folder, as `TrimmedEcapa`.

    Attributes
    ----------
    normalize : bool
        As of `TrimmedEcapa`.
    others : tuple of Path
        Further checkpoints of the folder, of which none is then taken.
    """

    normalize: bool = False
    others: tuple[Path, ...] = ()

    @property
    def files(self) -> dict[str, Path]:
        """As of `EncoderChoice`; several checkpoints are an error."""
        if self.others:
            raise PrivacyEvalError(
                f"{', '.join(map(str, (self.path, *self.others)))}: which checkpoint is the ASV "
                "model's? Keep one, and move the others out of its folder"
            )
        return super().files

    @property
    def options(self) -> dict[str, Any]:
        """As of `EncoderChoice`."""
        own = {"recordings": "peak of 1, no zeros at the ends", "normalize": self.normalize}
        return super().options | own

    def identity(self, sha256: str) -> str:
        """Return the digest that results name vectors by: the checkpoint's, unless vectors are
        normalized."""
        return digest(f"{sha256} unit length".encode()) if self.normalize else sha256

    def load(self) -> TrimmedEcapa:
        """Read the network."""
        network = super().load()
        assert isinstance(network, Ecapa)
        return TrimmedEcapa(**vars(network), normalize=self.normalize)


def make_checkpoint_vectors(asv: AsvSystems, run: Run = Run()) -> Outcome:
    """Make the vectors that scores by checkpoints need, and that are not current; jobs as of
    `make_vectors`."""
    needed, normalize = checkpoint_sets(asv), asv.protocol.normalize_embeddings
    shared: dict[Path, SharedExtraction] = {}
    for model in dict.fromkeys(model for model, _ in needed):
        one, *others = checkpoints(model)
        choice = CheckpointChoice(str(one), normalize=normalize, others=tuple(others))
        shared[model] = SharedExtraction(asv, choice)
    sets = [
        _CheckpointSet(data_set, relative(model, asv.access.tree), asv, shared[model], path)
        for (model, data_set), path in needed.items()
    ]
    return extract(sets, asv, run)


@dataclass(frozen=True)
class _CheckpointSet(ExtractedSet):
    """The vectors of a data set, in the files that the edition's own evaluation writes."""

    path: Path

    @property
    def name(self) -> str:
        return relative(self.path.parent, self.asv.access.tree)

    @cached_property
    def parts(self) -> list[Part]:
        self.asv.access.existing(_SPEECH, self.data / "wav.scp", self.data_set)
        self.asv.access.check_inside(*self.shared.extractor_files(Path()).values())
        refuse_symlinks(self.folder / "parts", self.asv.access.results)
        return super().parts

    def packed(self, ids: Sequence[str], matrix: FloatMatrix) -> dict[Path, bytes]:
        with tempfile.TemporaryDirectory() as scratch:
            write_torch_vectors(Path(scratch, self.path.name), ids, matrix)
            return {path: read_bytes(Path(scratch, path.name)) for path in self.product().files}

    def product(self) -> Product:
        others = (KALDI_VECTORS, *(n for n in OTHER_VECTORS if n != self.path.name))
        return replace(
            super().product(),
            files=(self.path.with_name("id2idx"), self.path),
            rivals=tuple(self.folder / name for name in others),
            within=self.asv.access.results,
        )
