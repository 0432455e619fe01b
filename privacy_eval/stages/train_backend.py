"""Stage 2: train the missing back ends of a tree on the x-vectors of its training sets, for
attackers whose ASV model is trained on anonymized speech."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..asv.inputs import BACKEND_FILES, KALDI_VECTORS, backend_folder, vector_file
from ..io.data_dir import read_utt2spk
from ..io.files import Inputs, read_bytes, relative
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    MissingInput,
    Outcome,
    Paths,
    Product,
    Run,
    Sources,
    bring_up_to_date,
)
from ..protocol.protocol import CROPS, PLDA_CROPS, AsvModel
from .access import AsvSystems
from .attackers import attacked


def train_backends(asv: AsvSystems, run: Run = Run(), *, lda_dim: int | None = None) -> Outcome:
    """Train every missing or stale back end that the systems' results folders need and whose
    training set has x-vectors.

    `lda_dim`: dimension of LDA, by default as `train_backend`.
    """
    products = [replace(training, lda_dim=lda_dim).product() for training in _trainings(asv)]
    return bring_up_to_date(products, asv.access.inputs, run)


def training_sets(asv: AsvSystems) -> list[tuple[str, str, str]]:
    """Return the training sets of all back ends that are not external: name, empty suffix, and
    model folder."""
    return [
        (t.model.training_name(t.suffix), "", t.model.model_folder(t.suffix))
        for t in _trainings(asv)
        if not t.product().is_foreign(asv.access.inputs)
    ]


def _trainings(asv: AsvSystems) -> list[_Training]:
    trainings: dict[Path, _Training] = {}  # systems may share one
    for system in asv.under_test:
        for _, part in system.folders:
            model = asv.protocol.asv_model(part.asv_model)
            if model is not None and model.backend == "plda":
                training = _Training(model, system.anon_suffix, asv)
                trainings.setdefault(training.folder, training)
    for one in attacked(asv, PLDA_CROPS):
        own = asv.of_system(one.system).of_attacker(one.attacker)
        for model in own.protocol.asv_models:
            training = _Training(model, one.system.anon_suffix, own)
            if vector_file(training.folder) is not None:  # else nobody wants it
                trainings.setdefault(training.folder, training)
    return list(trainings.values())


@dataclass(frozen=True)
class _Training:
    """The training of one back end."""

    model: AsvModel
    suffix: str
    asv: AsvSystems
    lda_dim: int | None = None

    @property
    def folder(self) -> Path:
        """Existing or expected folder of the back end: beside its training set's x-vectors."""
        tree = self.asv.access.tree
        training = f"xvect_{self.model.training_name(self.suffix)}"
        wanted = tree / self.model.model_folder(self.suffix) / training
        return backend_folder(tree, self.model, self.suffix) or wanted

    @property
    def name(self) -> str:
        """The model folder; if several models share it, the folder in it."""
        tree, folder = self.asv.access.tree, self.model.model_folder(self.suffix)
        of_all = [m.model_folder(self.suffix) for m in self.asv.protocol.asv_models]
        return folder if of_all.count(folder) == 1 else relative(self.folder, tree)

    def product(self) -> Product:
        return Product(
            self.name,
            self.asv.access.tree,
            self.folder / NOTE,
            tuple(self.folder / name for name in ("mean.vec", "transform.mat", "plda")),
            self.find,
            self.make,
            options={} if self.lda_dim is None else {"lda_dim": self.lda_dim},
            guarded=True,
            absent=self.absent,
        )

    def absent(self) -> list[MissingInput]:
        return missing_inputs(self.model, self.suffix, self.asv)

    def find(self, inputs: Inputs) -> Sources:
        scp, utt2spk = _training_set(self.model, self.suffix, self.asv.access.tree)
        self.asv.access.check_inside(utt2spk)
        return {"vectors": self.asv.vectors_source(scp), "utt2spk": utt2spk}

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        import tempfile

        from ..asv.model_folder import save_backend, train_from_vectors
        from ..attackers.discriminant import DIMENSIONS

        vectors = self.asv.read_vectors(paths["vectors"])
        utt2spk, lda_dim = inputs.load(paths["utt2spk"]), self.lda_dim
        if lda_dim is None and self.model.training_set.endswith(CROPS):  # of few speakers
            speakers = len({*read_utt2spk(utt2spk).values()})
            lda_dim = max(1, min(DIMENSIONS, vectors.matrix.shape[1], speakers - 1))
        trained = train_from_vectors(vectors, utt2spk, lda_dim=lda_dim)
        with tempfile.TemporaryDirectory() as scratch:
            save_backend(Path(scratch), trained)
            files = {name: Path(scratch, name) for name in reversed(BACKEND_FILES)}
            there = {name: path for name, path in files.items() if path.is_file()}
            return Content({self.folder / n: read_bytes(path) for n, path in there.items()})


def missing_inputs(model: AsvModel, suffix: str, asv: AsvSystems) -> list[MissingInput]:
    """Return the missing inputs of training a back end."""
    tree = asv.access.tree
    return [
        MissingInput("training set of a back end", relative(path, tree))
        for path in _training_set(model, suffix, tree)
        if not path.is_file()
    ]


def _training_set(model: AsvModel, suffix: str, tree: Path) -> tuple[Path, Path]:
    """x-vectors and speakers of the training set."""
    name = model.training_name(suffix)
    folder = tree / model.model_folder(suffix) / f"xvect_{name}"
    return vector_file(folder) or folder / KALDI_VECTORS, tree / "data" / name / "utt2spk"
