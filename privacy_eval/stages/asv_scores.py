"""Stages 2 and 5: train the missing back ends of a tree on the x-vectors of its training sets, for
attackers whose ASV model is trained on anonymized speech, and compute the scores of the trial
conditions from x-vectors.

External and edited back ends and score files are kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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
    absent,
    bring_up_to_date,
)
from ..protocol.protocol import (
    ANONYMIZED,
    CROPS,
    ORIGINAL,
    PLDA_CROPS,
    AsvModel,
)
from ..tree.conditions import Condition, original_sets
from ..tree.discovery import model_of
from .access import VECTORS, AsvSystems
from .attackers import (
    TRAINING,
    UNSCORED,
    Scoring,
    as_optional,
    attacked,
    learnt_from,
    not_installed,
    scorings_of_wings,
    trained_remarks,
)

if TYPE_CHECKING:
    from ..asv.backend import BackendName


# Back ends


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
        return missing_training(self.model, self.suffix, self.asv)

    def find(self, inputs: Inputs) -> Sources:
        scp, utt2spk = _training_set(self.model, self.suffix, self.asv.access.tree)
        self.asv.access.check_inside(utt2spk)
        return {"vectors": self.asv.vectors_source(scp), "utt2spk": utt2spk}

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        import tempfile

        from ..asv.model_folder import save_backend, train_from_vectors
        from ..asv.shared_speech import DIMENSIONS

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


def missing_training(model: AsvModel, suffix: str, asv: AsvSystems) -> list[MissingInput]:
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


# Scores


def make_scores(
    asv: AsvSystems, run: Run = Run(), attackers: Collection[str] | None = None
) -> Outcome:
    """Compute the score files of the systems under test that are not current.

    `attackers`: ids, see `select_attackers`; by default the challenge's own, those who compare the
    vectors of an encoder and, wherever the tree has transcripts beside what that needs, the words,
    and those that were computed before.
    A run without jobs fuses the scores that are there then.
    """
    outcome = asv.access.bring_up_to_date(_chosen(asv, attackers), run)
    of_scores = _products(s for s in scorings_of_wings(asv) if s.of_scores)
    fused = _named(of_scores, attackers) if run.job == (1, 1) else []
    if fused:
        outcome.add(asv.access.bring_up_to_date(fused, replace(run, start_jobs=None)))
    if left_out := not_installed(asv.protocol):
        outcome.notes.append(left_out)
    return outcome


def _chosen(asv: AsvSystems, attackers: Collection[str] | None) -> list[Product]:
    """Return the products of the chosen attackers that do not need the scores of others."""
    own, added = _products(_scorings(asv)), scorings_of_wings(asv)
    scorings = [*(s for s in added if not s.of_scores), *_other_scorings(asv)]
    others = _products(scorings)
    if attackers is not None:
        own = own if asv.protocol.own_attacker in attackers else []
        return own + _named(others, attackers)
    scored = {p.note.parent for p in own if p.is_there() or not p.absent()}
    scored |= {folder for system in asv.under_test for folder, _ in system.of_edition}
    able = [p for p, s in zip(others, scorings, strict=True) if s.by_default]
    able = [p for p in able if p.note.parent.parent in scored and not p.absent()]
    encoders = {a.id for a in asv.protocol.encoder_attackers}
    others = [p for p in others if p.note.parent.name in encoders or p.read_fingerprint()]
    return list({p.note: p for p in (*own, *able, *others)}.values())


def _named(products: Iterable[Product], attackers: Collection[str] | None) -> list[Product]:
    """Return the products of some attackers; by default those that were computed before."""
    if attackers is None:
        return [p for p in products if p.read_fingerprint() is not None]
    return [p for p in products if p.note.parent.name in attackers]


def score_products(asv: AsvSystems) -> list[Product]:
    """The score files of all conditions of the protocol, by every attacker."""
    return _products(_scorings(asv), _other_scorings(asv), scorings_of_wings(asv))


def _products(*scorings: Iterable[Scoring]) -> list[Product]:
    return [one.product() for one in itertools.chain(*scorings)]


@dataclass(frozen=True)
class _Scoring(Scoring):
    """The scores of one condition; `training`: the data set that an attacker beside the
    challenge's own learns from, or its encoder."""

    anon_suffix: str
    trained_on: str
    training: str = ""

    @property
    def by_default(self) -> bool:
        """Who learns from crops."""
        return self.training.endswith(CROPS)

    @property
    def backend(self) -> BackendName:
        """The back end of the condition's ASV model."""
        return self.asv.default_backend(self.trained_on)

    def product(self) -> Product:
        return self.score_product({"backend": self.backend})

    def absent(self) -> list[MissingInput]:
        lacking = missing_inputs(self.condition, self.anon_suffix, self.asv, self.trained_on)
        if self.asv.reads_saved_vectors:
            return [as_optional(e, UNSCORED) if e.kind == VECTORS else e for e in lacking]
        return [*map(as_optional, lacking)] if self.training else lacking

    def find(self, inputs: Inputs) -> Sources:
        model = self.trained_on, self.anon_suffix
        sets = dict(zip(("enrollment", "trial"), self.original_sets, strict=True))
        own = self.compared()
        if self.training:
            training = self.asv.access.tree / "data" / self.training / "utt2spk"
            if self.training.endswith(CROPS) or training.is_file():  # else of another program
                own["training_utt2spk"] = self.asv.access.existing(TRAINING, training)
        return self.asv.sources(model, sets, inputs, own)

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        from ..asv.cosine import cosine_scorer
        from ..asv.shared_speech import refuse_shared
        from ..asv.trials import score_trials
        from ..io.data_dir import read_utt2spk
        from ..io.scores import read_trial_list

        of_edition = self.asv.reads_saved_vectors  # whose means are of vectors as they are
        double = self.backend == "cosine" and not of_edition
        enrolled, tried = (
            self.asv.read_vectors(paths[f"{side}_vectors"], double=double)
            for side in ("enrollment", "trial")
        )
        model, learnt = (self.trained_on, self.anon_suffix), list[str]()
        trials = read_trial_list(inputs.load(paths["trials"]))
        if "training_utt2spk" in paths:
            path = paths["training_utt2spk"]
            speaker_of = read_utt2spk(inputs.load(path))
            refuse_shared(path, speaker_of, self.enrollment().members, trials.utterance.used)
        if self.training:
            learnt = trained_remarks(self.asv, self.attacker, self.anon_suffix)
        if self.training.endswith(CROPS):
            data = self.asv.access.tree / "data" / self.training.removesuffix(CROPS)
            learnt += learnt_from(speaker_of.values(), self.asv.protocol.crop, ANONYMIZED, data)
        scored, left_out, remarks = score_trials(
            enrolled,
            self.enrollment(),
            tried,
            trials,
            backend=cosine_scorer if double else self.backend,
            model=self.asv.backend(*model),
            allow_missing=self.asv.access.allow_missing,
        )
        return self.content(scored, left_out, (*learnt, *remarks))


def missing_inputs(
    condition: Condition, anon_suffix: str, asv: AsvSystems, trained_on: str = ""
) -> list[MissingInput]:
    """Return the missing inputs of a condition's scores, without reading any file; `trained_on`:
    which of the models, by default that of the condition."""
    enrolled, tested = original_sets(condition, asv.protocol)
    return absent(
        lambda: asv.access.find_key(condition, asv.protocol),
        lambda: asv.access.find_enrollment(*enrolled),
        *asv.finders((trained_on or condition.asv_model, anon_suffix), enrolled, tested),
    )


def _scorings(asv: AsvSystems) -> Iterator[_Scoring]:
    is_scored_elsewhere, there = asv.protocol.has_own_scoring, set[Path]()
    for system in asv.under_test:
        own, every = asv.of_system(system), system.conditions(asv.protocol)
        for folder, condition in system.by_checkpoint if is_scored_elsewhere else every:
            if folder not in there:  # of original speech, which systems share
                yield _Scoring(folder, condition, own, system.anon_suffix, condition.asv_model)
            there.add(folder)


def _other_scorings(asv: AsvSystems) -> Iterator[_Scoring]:
    """Yield the conditions of attackers who compare the vectors of an encoder of their own: those
    without a model trained on anonymized speech, or by an encoder, or PLDA of crops, trained on
    such speech."""
    for one in (*attacked(asv, "cosine"), *attacked(asv, PLDA_CROPS)):
        c, suffix, crops = one.beside, one.system.anon_suffix, one.attacker.scoring == PLDA_CROPS
        learns = crops or one.attacker.is_trained
        if c.asv_model == ORIGINAL and (not learns or c.enrollment == c.trial == ANONYMIZED):
            own = asv.of_system(one.system).of_attacker(one.attacker)
            name = f"{asv.protocol.attacker_training}{suffix}{CROPS * crops}" * learns
            yield _Scoring(one.folder, one.condition, own, suffix, ORIGINAL, name)


def vector_sets(asv: AsvSystems, attackers: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return the data sets with speech whose x-vectors are needed for back ends and for scores of
    the challenge's own and the named attackers, and not included in those of a superset: pairs of
    data set and model folder in the tree."""
    needed = training_sets(asv)
    for scoring in scorings_of_wings(asv):
        if scoring.condition.attacker in attackers:
            foreign = scoring.product().is_foreign(asv.access.inputs)
            needed += [] if foreign else scoring.vector_sets()
    others = (s for s in _other_scorings(asv) if s.condition.attacker in attackers)
    for scoring in (*_scorings(asv), *others):
        model = scoring.asv.protocol.asv_model(scoring.trained_on)
        if model is None or scoring.product().is_foreign(asv.access.inputs):
            continue
        folder = model.model_folder(scoring.anon_suffix)
        needed += [(*name, folder) for name in scoring.original_sets]
        needed += [(scoring.training, "", folder)] * scoring.training.endswith(CROPS)
    sets: dict[tuple[str, str], None] = {}
    data = asv.access.tree / "data"
    spoken = {one for one in needed if (data / f"{one[0]}{one[1]}" / "wav.scp").is_file()}
    for name, suffix, folder in needed:
        vectors = asv.vectors(asv.access.tree / folder)
        whole = {(superset, suffix, folder) for superset in asv.protocol.supersets(name)}
        there = vectors.find(name, suffix)
        own = there == next(vectors.candidates(name, suffix))
        if (name, suffix, folder) in spoken and (own or there is None and not whole & spoken):
            sets[f"{name}{suffix}", folder] = None
    return list(sets)


def checkpoint_sets(asv: AsvSystems) -> dict[tuple[Path, str], Path]:
    """Return the files of the vectors that scores by checkpoints need, and that no evaluation has
    left elsewhere, by model folder and data set."""
    sets: dict[tuple[Path, str], Path] = {}
    for scoring in _scorings(asv) if asv.reads_saved_vectors else ():
        if scoring.product().is_foreign(asv.access.inputs):
            continue
        for name, suffix in scoring.original_sets:
            data_set, model = f"{name}{suffix}", model_of(scoring.folder)
            own = model / asv.protocol.speaker_vectors.replace("{set}", data_set)
            of_set = scoring.trained_on, scoring.anon_suffix, name, suffix
            if own.is_file() or absent(partial(scoring.asv.find_vectors, *of_set)):
                sets[model, data_set] = own
    return sets


def vector_folders(asv: AsvSystems) -> list[Path]:
    """Return the folders of the x-vectors that the scores of all attackers need."""
    attackers = {attacker.id for attacker in asv.protocol.other_attackers}
    tree = asv.access.tree
    return [tree / folder / f"xvect_{name}" for name, folder in vector_sets(asv, attackers)]
