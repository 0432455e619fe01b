"""Stage 5: scores of attackers who compare vectors by what they learn: from training speech and its
anonymized copy an alignment of original enrollment and anonymized trials, or a discriminant, or
of the spectrum from the two sides themselves.

Training speech must be of others than the speakers of the trials. Edited and external score files
are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..choices import SPECTRUM, grouped
from ..io.data_dir import speakers_of_crops
from ..io.files import Inputs
from ..products.freshness import (
    Content,
    Fingerprint,
    MissingInput,
    Paths,
    Product,
    Sources,
    absent,
)
from ..protocol.protocol import (
    ANONYMIZED,
    CROPS,
    LDA,
    LDA_JOINT,
    ORIGINAL,
    Attacker,
)
from ..stages.access import AsvSystems
from ..stages.attackers import (
    TRAINING,
    Attacked,
    VectorScoring,
    as_optional,
    learnt_from,
    trained_remarks,
)

if TYPE_CHECKING:
    from ..asv.inputs import Conversations, Enrollment, Gallery
    from ..asv.trials import Scorer
    from ..io.vectors import Vectors
    from ..metrics.pav import FloatArray
    from ..metrics.trials import Trials
    from .alignment import AffineMap, Alignment, Cohorts


_TRAINING_ROLES = "training", "training_anonymized"
#: Enrollment speech that attackers who learn compare with anonymized trials.
_ENROLLMENT = {"aligned": {ORIGINAL}, LDA: {ANONYMIZED}, LDA_JOINT: {ORIGINAL, ANONYMIZED}}


def aligned_scorer(alignment: Alignment, cohorts: Cohorts | None) -> Scorer:
    """Return what scores speakers by the cosine of aligned vectors, normalized if there are
    cohorts."""
    from ..asv.cosine import mean_unit_vectors, unit_vectors
    from .alignment import aligned_scores

    return lambda vectors, members, trial: aligned_scores(
        mean_unit_vectors(vectors, members), unit_vectors(trial), alignment, cohorts
    )


def aligned_scorings(asv: AsvSystems, conditions: Iterable[Attacked]) -> Iterator[AlignedScoring]:
    """Yield the scores of conditions by attackers who learn, and by the spectrum."""
    training: dict[tuple[str, str, str], _Training] = {}
    for one in filter(_is_scored, conditions):
        own = asv.of_system(one.system).of_attacker(one.attacker)
        crops = CROPS * (one.attacker.scoring in (LDA, LDA_JOINT))
        place = one.system.name, one.attacker.encoder, crops
        learnt = training.setdefault(place, _Training(one.system.anon_suffix, own, crops))
        yield AlignedScoring(one.folder, one.condition, own, learnt)


def _is_scored(one: Attacked) -> bool:
    """Whether an attacker scores a condition: the spectrum also original speech."""
    c, scoring = one.beside, one.attacker.scoring
    if scoring == "cosine" or c.asv_model != ORIGINAL:
        return one.attacker.encoder == SPECTRUM and c.asv_model == ORIGINAL
    return c.trial == ANONYMIZED and c.enrollment in _ENROLLMENT[scoring]


@dataclass(frozen=True)
class _Training:
    """Training speech and its anonymized copy, and what is learnt from them, once; `crops`: the
    ending of its data folders."""

    suffix: str
    asv: AsvSystems
    crops: str = ""
    _learnt: dict[str, Any] = field(default_factory=dict, compare=False)

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

    @property
    def sets(self) -> dict[str, tuple[str, str]]:
        """Names and suffixes of both data sets by role."""
        names = (self.name, self.crops), (self.name, f"{self.suffix}{self.crops}")
        return dict(zip(_TRAINING_ROLES, names, strict=True))

    def read(self, role: str) -> Vectors:
        """Read the vectors of a data set."""
        model = ORIGINAL, self.suffix
        return self.asv.read_vectors(self.asv.find_vectors(*model, *self.sets[role]), double=True)

    @cached_property
    def vectors(self) -> tuple[Vectors, Vectors]:
        """Original and anonymized x-vectors."""
        original, anonymized = map(self.read, _TRAINING_ROLES)
        return original, anonymized

    @cached_property
    def pairs(self) -> list[str]:
        """Utterances that both have."""
        from .alignment import pairs_of

        return pairs_of(*self.vectors)

    @cached_property
    def speaker_of(self) -> dict[str, str]:
        """The speaker of each of them."""
        return self._speakers(self.pairs)

    def _speakers(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the speakers of utterances, or of crops of these."""
        return speakers_of_crops(self.asv.access.inputs.load(self.utt2spk()), ids)

    def discriminant(self, attacker: Attacker) -> tuple[AffineMap, dict[str, str]]:
        """Learn the discriminant of an attacker; return it, and the speaker of each crop."""
        from .discriminant import learn_lda

        if attacker.scoring not in self._learnt:
            roles = _TRAINING_ROLES if attacker.scoring == LDA_JOINT else _TRAINING_ROLES[1:]
            sets, where = [self.read(role) for role in roles], f"{self.utt2spk()}"
            speaker_of = self._speakers(u for vectors in sets for u in vectors.ids)
            learnt = learn_lda(sets, speaker_of, where, standardize=attacker.encoder == SPECTRUM)
            self._learnt[attacker.scoring] = learnt, speaker_of
        learnt, speaker_of = self._learnt[attacker.scoring]
        return learnt, speaker_of

    def alignment(self, attacker: Attacker) -> Alignment:
        """Learn the alignment of an attacker."""
        from .alignment import Alignment, learn_alignment

        name = attacker.alignment
        if name == "none":
            return Alignment()
        if name not in self._learnt:
            self._learnt[name] = learn_alignment(name, *self.vectors, self.pairs)
        learnt: Alignment = self._learnt[name]
        return learnt

    def cohorts(self, attacker: Attacker) -> Cohorts | None:
        """The training speakers that an attacker normalizes scores by."""
        if not attacker.norm:
            return None
        return replace(self._cohorts, top=attacker.top if attacker.norm == "asnorm" else None)

    @cached_property
    def _cohorts(self) -> Cohorts:
        from .alignment import learn_cohorts

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
    remarks: tuple[str, ...] = ()

    def scorer(self, gallery: Gallery) -> Callable[[Conversations], FloatArray]:
        """Return what scores all speakers of a gallery of `enrolled` vectors with tests of `tried`
        ones: float64 array, shape (enrolled, tests).

        Maps are affine: that of a mean of vectors is the mean of the maps of the vectors.
        """
        import numpy as np

        from ..asv.cosine import mean_unit_vectors
        from .alignment import aligned_scores

        rows, of_speaker = gallery.rows(), map(len, gallery.enrollment.members.values())
        groups = np.split(rows, np.cumsum([*of_speaker])[:-1])
        enrolled = mean_unit_vectors(gallery.vectors.matrix, groups)

        def score(tests: Conversations) -> FloatArray:
            rows = tests.vectors.rows(tests.used, f"the tests in {tests.vectors.path}")
            averaged = mean_unit_vectors(tests.vectors.matrix, [*rows.reshape(-1, tests.length)])
            return aligned_scores(enrolled, averaged, self.alignment, self.cohorts)

        return score


@dataclass(frozen=True)
class AlignedScoring(VectorScoring):
    """The scores of one condition."""

    training: _Training

    @property
    def by_default(self) -> bool:
        """The spectrum, and those who learn from crops."""
        return self.attacker.way in (LDA, LDA_JOINT, SPECTRUM)

    def vector_sets(self) -> list[tuple[str, str, str]]:
        model = self.asv.protocol.asv_model(ORIGINAL)
        folder = model.model_folder(self.training.suffix) if model is not None else ""
        return [(*name, folder) for name in self.sets.values()] if folder else []

    def product(self) -> Product:
        options: dict[str, Any] = {}
        if self.attacker.scoring == "aligned":
            options["alignment"] = self.attacker.alignment
        if self.attacker.norm:
            options["norm"] = self.attacker.norm
        if self.attacker.norm == "asnorm":
            options["top"] = self.attacker.top
        return self.score_product({"scoring": self.attacker.scoring}, options)

    @property
    def sets(self) -> dict[str, tuple[str, str]]:
        """Data sets with x-vectors by role: name and suffix."""
        enrolled, tested = self.original_sets
        training, attacker = self.training.sets, self.attacker
        if attacker.scoring == LDA:
            del training[_TRAINING_ROLES[0]]
        elif attacker.scoring != LDA_JOINT and attacker.alignment == "none" and not attacker.norm:
            training = {}
        return {"enrollment": enrolled, "trial": tested, **training}

    def absent(self) -> list[MissingInput]:
        sets, model = self.sets, (ORIGINAL, self.training.suffix)
        finders: list[Callable[[], object]] = [
            self.key,
            lambda: self.asv.access.find_enrollment(*sets["enrollment"]),
        ]
        finders += [self.training.utt2spk] if len(sets) > 2 else []
        vectors = absent(*(partial(self.asv.find_vectors, *model, *name) for name in sets.values()))
        return absent(*finders) + [as_optional(error) for error in vectors]

    def find(self, inputs: Inputs) -> Sources:
        sets, own = self.sets, self.compared()
        if len(sets) > 2:
            own["training_utt2spk"] = self.training.utt2spk()
            self.asv.access.check_inside(self.training.utt2spk())
        model = ORIGINAL, self.training.suffix
        return self.asv.sources(model, sets, inputs, own, plda=False)

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        from ..asv.trials import score_trials
        from ..io.scores import read_trial_list

        trials = read_trial_list(inputs.load(paths["trials"]))
        attack = self.attack(paths, trials)
        scored, left_out, of_vectors = score_trials(
            attack.enrolled,
            attack.enrollment,
            attack.tried,
            trials,
            backend=aligned_scorer(attack.alignment, attack.cohorts),
            allow_missing=self.asv.access.allow_missing,
        )
        return self.content(scored, left_out, (*attack.remarks, *of_vectors))

    def attack(self, paths: Paths, trials: Trials) -> AlignedAttack:
        """Read what the attacker compares, and learn how.

        Raises
        ------
        PrivacyEvalError
            Training speech of speakers or utterances of the trials.
        """
        enrollment = self.enrollment()
        enrolled, tried = (
            self.asv.read_vectors(paths[f"{role}_vectors"], double=True)
            for role in ("enrollment", "trial")
        )
        if self.attacker.scoring != "aligned":
            return self._by_discriminant(enrollment, enrolled, tried, trials)
        remarks: list[str] = []
        if "training_utt2spk" in paths:
            from .alignment import describe_pairs

            self._refuse_shared(self.training.speaker_of, enrollment, trials)
            where = ", ".join("".join(self.sets[role]) for role in _TRAINING_ROLES)
            if (name := self.attacker.alignment) != "none":
                remarks = describe_pairs(name, *self.training.vectors, self.training.pairs, where)
        alignment = self.training.alignment(self.attacker)
        cohorts = self.training.cohorts(self.attacker)
        return AlignedAttack(enrollment, enrolled, tried, alignment, cohorts, tuple(remarks))

    def _by_discriminant(
        self, enrollment: Enrollment, enrolled: Vectors, tried: Vectors, trials: Trials
    ) -> AlignedAttack:
        """Return both sides as a discriminant sees them, or the spectrum standardized."""
        from .alignment import Alignment
        from .discriminant import compared_sides, other_conditions

        learnt, remarks = None, list[str]()
        if self.attacker.learns:
            learnt, speaker_of = self.training.discriminant(self.attacker)
            self._refuse_shared(speaker_of, enrollment, trials)
            anonymized_set = "".join(self.training.sets[_TRAINING_ROLES[1]]).removesuffix(CROPS)
            seconds, data = self.asv.protocol.crop, self.asv.access.tree / "data" / anonymized_set
            speech = "original and " * (self.attacker.scoring == LDA_JOINT) + ANONYMIZED
            remarks = trained_remarks(self.asv, self.attacker, self.training.suffix)
            remarks += learnt_from(speaker_of.values(), seconds, speech, data)
        first, second, more = compared_sides(
            enrolled,
            enrollment.members,
            tried,
            trials,
            standardize=self.attacker.encoder == SPECTRUM,
            learnt=learnt,
            allow_missing=self.asv.access.allow_missing,
        )
        if learnt is not None and self.attacker.encoder != SPECTRUM:
            anonymized = self.training.read(_TRAINING_ROLES[1])
            remarks += other_conditions(anonymized, speaker_of, tried, trials, data.name)
        said = (*remarks, *more)
        return AlignedAttack(enrollment, first, second, Alignment(), None, said)

    def _refuse_shared(
        self, speaker_of: Mapping[str, str], enrollment: Enrollment, trials: Trials
    ) -> None:
        from ..asv.shared_speech import refuse_shared

        path, tested = self.training.utt2spk(), trials.utterance.used
        refuse_shared(path, speaker_of, enrollment.members, tested)
