"""Stage 5: scores of attackers who compare original enrollment with anonymized trials by an
alignment that they learn from training speech and its anonymized copy.

Training speech must be of others than the speakers of the trials. Edited and external score files
are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..choices import grouped
from ..errors import PrivacyEvalError
from ..io.inputs import Inputs
from ..products.freshness import (
    Content,
    Fingerprint,
    MissingInput,
    Paths,
    Product,
    Sources,
    absent,
)
from ..protocol.protocol import ORIGINAL, Attacker
from ..tree.conditions import TrialCondition
from .access import AsvSystems
from .attackers import Scoring, attacked
from .vector_sources import asv_sources

if TYPE_CHECKING:
    from ..asv.enrollment import Enrollment
    from ..asv.galleries import Conversations, Gallery
    from ..asv.trials import Scorer
    from ..attackers.alignment import Alignment
    from ..attackers.normalization import Cohorts
    from ..io.scp import Vectors
    from ..metrics.pav import FloatArray
    from ..metrics.trials import Trials

#: Kinds of `MissingInput`: stages go on without the scores of these attackers.
ALIGNED_VECTORS, TRAINING = "vectors to align", "training speech of attackers"

_TRAINING_ROLES = "training", "training_anonymized"


def aligned_products(asv: AsvSystems) -> list[Product]:
    """The scores of all conditions of original enrollment and anonymized trials."""
    return [scoring.product() for scoring in _scorings(asv)]


def aligned_sets(asv: AsvSystems, attackers: Collection[str]) -> list[tuple[str, str, str]]:
    """Return the sets whose x-vectors some attackers need: name, suffix and model folder."""
    return [
        (*name, model.model_folder(scoring.training.suffix))
        for scoring in _scorings(asv)
        if scoring.attacker.id in attackers
        for name in scoring.sets.values()
        for model in (scoring.asv.protocol.asv_model(ORIGINAL),)
        if model is not None and not scoring.product().is_foreign(asv.access.inputs)
    ]


def aligned_scorings(asv: AsvSystems) -> dict[TrialCondition, AlignedScoring]:
    """Return the scores of all conditions of original enrollment and anonymized trials."""
    return {scoring.condition: scoring for scoring in _scorings(asv)}


def aligned_scorer(alignment: Alignment, cohorts: Cohorts | None) -> Scorer:
    """Return what scores speakers by the cosine of aligned vectors, normalized if there are
    cohorts."""
    from ..attackers.alignment import mean_unit_vectors, unit_vectors
    from ..attackers.normalization import aligned_scores

    return lambda vectors, members, trial: aligned_scores(
        mean_unit_vectors(vectors, members), unit_vectors(trial), alignment, cohorts
    )


def _scorings(asv: AsvSystems) -> Iterator[AlignedScoring]:
    training: dict[tuple[str, str], _Training] = {}
    for one in attacked(asv, "aligned"):
        if one.is_ignorant:
            own = asv.of_system(one.system).of_attacker(one.attacker)
            learnt = _Training(one.system.anon_suffix, own)
            learnt = training.setdefault((one.system.name, one.attacker.encoder), learnt)
            yield AlignedScoring(one.folder, one.condition, own, one.attacker, learnt)


@dataclass(frozen=True)
class _Training:
    """Training speech and its anonymized copy, and what is learnt from them, once."""

    suffix: str
    asv: AsvSystems
    _learnt: dict[str, Alignment] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """The data set."""
        return self.asv.protocol.attacker_training

    def utt2spk(self) -> Path:
        """Speakers of the training speech.

        Raises
        ------
        MissingInput
        """
        path = self.asv.access.tree / "data" / self.name / "utt2spk"
        if not self.name or not path.is_file():
            where = f"data/{self.name}/utt2spk" if self.name else "no training_set in the protocol"
            raise MissingInput(TRAINING, where, self.name)
        return path

    @cached_property
    def vectors(self) -> tuple[Vectors, Vectors]:
        """Original and anonymized x-vectors."""
        model = ORIGINAL, self.suffix
        original, anonymized = (
            self.asv.read_vectors(self.asv.find_vectors(*model, self.name, suffix), double=True)
            for suffix in ("", self.suffix)
        )
        return original, anonymized

    @cached_property
    def pairs(self) -> list[str]:
        """Utterances that both have."""
        from ..attackers.training import pairs_of

        return pairs_of(*self.vectors)

    @cached_property
    def speaker_of(self) -> dict[str, str]:
        """The speaker of each of them."""
        from ..io.data_dir import read_utt2spk

        path = self.utt2spk()
        speakers = read_utt2spk(self.asv.access.inputs.load(path))
        missing = [u for u in self.pairs if u not in speakers]
        if missing:
            raise PrivacyEvalError(f"{path}: no speaker of {len(missing)} utterances: {missing[0]}")
        return {u: speakers[u] for u in self.pairs}

    def alignment(self, attacker: Attacker) -> Alignment:
        """Learn the alignment of an attacker."""
        from ..attackers.alignment import no_alignment
        from ..attackers.training import learn_alignment

        name = attacker.alignment
        if name == "none":
            return no_alignment()
        if name not in self._learnt:
            self._learnt[name] = learn_alignment(name, *self.vectors, self.pairs)
        return self._learnt[name]

    def cohorts(self, attacker: Attacker) -> Cohorts | None:
        """The training speakers that an attacker normalizes scores by."""
        if not attacker.norm:
            return None
        return replace(self._cohorts, top=attacker.top if attacker.norm == "asnorm" else None)

    @cached_property
    def _cohorts(self) -> Cohorts:
        from ..attackers.training import learn_cohorts

        members = grouped(self.speaker_of, self.speaker_of.__getitem__)
        return learn_cohorts(members, *self.vectors, top=None, where=f"{self.utt2spk()}")


@dataclass(frozen=True)
class AlignedAttack:
    """What an attacker compares, and how.

    Attributes
    ----------
    enrolled, tried : Vectors
        In double precision, of original enrollment and anonymized trials.
    """

    enrollment: Enrollment
    enrolled: Vectors
    tried: Vectors
    alignment: Alignment
    cohorts: Cohorts | None

    def scorer(self, gallery: Gallery) -> Callable[[Conversations], FloatArray]:
        """Return what scores all speakers of a gallery of `enrolled` vectors with tests of `tried`
        ones: float64 array, shape (enrolled, tests).

        Maps are affine: that of a mean of vectors is the mean of the maps of the vectors.
        """
        import numpy as np

        from ..attackers.alignment import mean_unit_vectors
        from ..attackers.normalization import aligned_scores

        rows, of_speaker = gallery.rows(), map(len, gallery.enrollment.members.values())
        groups = np.split(rows, np.cumsum([*of_speaker])[:-1])
        enrolled = mean_unit_vectors(gallery.vectors.matrix, groups)

        def score(tests: Conversations) -> FloatArray:
            rows = tests.vectors.rows(tests.used, f"the tests in {tests.vectors.path}")
            averaged = mean_unit_vectors(tests.vectors.matrix, [*rows.reshape(-1, tests.length)])
            return aligned_scores(enrolled, averaged, self.alignment, self.cohorts)

        return score


@dataclass(frozen=True)
class AlignedScoring(Scoring):
    """The scores of one condition."""

    attacker: Attacker
    training: _Training

    def product(self) -> Product:
        options: dict[str, Any] = {"alignment": self.attacker.alignment}
        if self.attacker.norm:
            options["norm"] = self.attacker.norm
        if self.attacker.norm == "asnorm":
            options["top"] = self.attacker.top
        return self.score_product({"scoring": "aligned"}, options)

    @property
    def sets(self) -> dict[str, tuple[str, str]]:
        """Data sets with x-vectors by role: name and suffix."""
        enrolled, tested = self.original_sets
        name, suffix = self.training.name, self.training.suffix
        training = dict(zip(_TRAINING_ROLES, ((name, ""), (name, suffix)), strict=True))
        learns = self.attacker.alignment != "none" or self.attacker.norm
        return {"enrollment": enrolled, "trial": tested, **(training if learns else {})}

    def absent(self) -> list[MissingInput]:
        sets, model = self.sets, (ORIGINAL, self.training.suffix)
        finders: list[Callable[[], object]] = [
            self.key,
            lambda: self.asv.access.find_enrollment(*sets["enrollment"]),
        ]
        finders += [self.training.utt2spk] if "training" in sets else []
        vectors = absent(*(partial(self.asv.find_vectors, *model, *name) for name in sets.values()))
        return absent(*finders) + [
            MissingInput(ALIGNED_VECTORS, error.where, error.name, error.folder)
            for error in vectors
        ]

    def find(self, inputs: Inputs) -> Sources:
        sets, own = self.sets, self.compared()
        if "training" in sets:
            own["training_utt2spk"] = self.training.utt2spk()
            self.asv.access.check_inside(self.training.utt2spk())
        model = ORIGINAL, self.training.suffix
        return asv_sources(self.asv, model, sets, inputs, own, plda=False)

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        from ..asv.trials import score_trials
        from ..attackers.training import describe_pairs
        from ..io.scores import read_trial_list

        trials = read_trial_list(inputs.load(paths["trials"]))
        attack = self.attack(paths, trials)
        remarks: list[str] = []
        if "training_utt2spk" in paths and (name := self.attacker.alignment) != "none":
            where = ", ".join("".join(self.sets[role]) for role in _TRAINING_ROLES)
            remarks = describe_pairs(name, *self.training.vectors, self.training.pairs, where)
        scored, left_out, of_vectors = score_trials(
            attack.enrolled,
            attack.enrollment,
            attack.tried,
            trials,
            backend=aligned_scorer(attack.alignment, attack.cohorts),
            allow_missing=self.asv.access.allow_missing,
        )
        return self.content(scored, left_out, (*remarks, *of_vectors))

    def attack(self, paths: Paths, trials: Trials) -> AlignedAttack:
        """Read what the attacker compares, and learn how.

        Raises
        ------
        PrivacyEvalError
            Training speech of speakers or utterances of the trials.
        """
        from ..attackers.disjoint import refuse_shared

        enrollment = self.enrollment()
        if "training_utt2spk" in paths:
            speaker_of = self.training.speaker_of
            refuse_shared(
                paths["training_utt2spk"], speaker_of, enrollment.members, trials.utterance.used
            )
        enrolled, tried = (
            self.asv.read_vectors(paths[f"{role}_vectors"], double=True)
            for role in ("enrollment", "trial")
        )
        alignment = self.training.alignment(self.attacker)
        cohorts = self.training.cohorts(self.attacker)
        return AlignedAttack(enrollment, enrolled, tried, alignment, cohorts)
