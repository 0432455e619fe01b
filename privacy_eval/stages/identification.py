"""Stage 7: compute speaker identification rates in galleries for every trial condition of a tree.

The gallery contains all enrolled speakers of the condition's enrollment set, usually of both
genders, and on request those of another data set as distractors; the tests are all utterances of
the trial set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError
from ..io.data_dir import read_spk2gender
from ..io.files import Inputs
from ..products.freshness import (
    Content,
    Fingerprint,
    MissingInput,
    Outcome,
    Paths,
    Product,
    Run,
    Source,
    Sources,
    absent,
)
from ..results.record_files import record_content, record_paths, record_product
from ..tree.conditions import TrialCondition, original_sets, trial_conditions
from ..version import __version__
from .access import BACKEND, AsvSystems, Experiment
from .group_trials import label_sources, labels_in_tree, without_group
from .vector_sources import asv_sources

if TYPE_CHECKING:
    from ..asv.backend import BackendName
    from ..asv.galleries import Gallery
    from ..asv.identification import Identification
    from ..results.records import IdentificationRecord

#: Incremented when the same inputs yield different numbers or arrays.
_REVISION = 3


@dataclass(frozen=True)
class GalleryOptions:
    """Options that affect the numbers of a record.

    Attributes
    ----------
    bootstrap : int
        Replicates of the bootstrap over test speakers; 0 for none.
    rank, length : int
        See `identify`.
    distractors : str or None
        Data set of additional enrolled speakers: original or anonymized like the enrollment, by the
        same system, with x-vectors of the same model. Speakers of a gender that is absent from the
        enrollment set are left out, if `spk2gender` is known.
    backend : {"plda", "cosine", "euclidean"}
    """

    bootstrap: int = 0
    seed: int = 0
    rank: int = 1
    length: int = 1
    distractors: str | None = None
    backend: BackendName = "plda"


def make_identifications(
    experiment: Experiment, run: Run = Run(), options: GalleryOptions = GalleryOptions()
) -> Outcome:
    """Compute the identification records of the systems under test that are not current."""
    names, galleries = experiment.under_test, _galleries(experiment, options)
    products = [g.product() for g in galleries if g.condition.system in names]
    return experiment.asv.access.bring_up_to_date(products, run)


def identification_products(experiment: Experiment) -> list[Product]:
    """Return the identification records of all systems, with the back end and distractors that
    they were made with."""
    products = []
    for galleries in _galleries(experiment, GalleryOptions()):
        stored = galleries.product().read_fingerprint()
        made_with = {} if stored is None else stored.options
        inputs = {n: made_with[n] for n in ("backend", "distractors") if n in made_with}
        options = replace(galleries.options, **inputs)
        products.append(replace(galleries, options=options).product())
    return products


@dataclass(frozen=True)
class _Galleries:
    """The galleries of one condition."""

    condition: TrialCondition
    anon_suffix: str
    path: Path
    asv: AsvSystems
    options: GalleryOptions

    def product(self) -> Product:
        groups = {"groups": list(self.groups)} if self.groups else {}
        return record_product(
            self,
            self.asv.access.tree,
            f"{self.condition.system} {self.condition.label}",
            files=record_paths(self.path),
            options={**asdict(self.options), **groups},
            revision=_REVISION,
            cost=partial(self.asv.scoring_cost, self.condition),
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """`FILE:COLUMN` of the groups of speakers that are evaluated, too."""
        return self.asv.protocol.groups

    @property
    def backend(self) -> BackendName:
        """The requested back end, or by default the one of the ASV model."""
        if self.options.backend != "plda":
            return self.options.backend
        return self.asv.default_backend(self.condition.asv_model)

    def find(self, inputs: Inputs) -> Sources:
        enrolled, tested = original_sets(self.condition, self.asv.protocol)
        more = self.options.distractors
        galleries = {"enrollment": enrolled}
        if more:
            galleries["distractors"] = more, enrolled[1]
        for error in missing_inputs(self.condition, self.anon_suffix, self.asv, more):
            if self.backend == "plda" or error.kind != BACKEND:
                raise error
        model = self.condition.asv_model, self.anon_suffix
        utt2spk = self.asv.access.find_utt2spk(tested[0])
        self.asv.access.check_inside(utt2spk)
        sources: dict[str, Path | Source] = {"utt2spk": utt2spk}
        sources |= label_sources(self.groups, self.asv.access.tree, inputs)
        for role, name in galleries.items():
            enrollment = self.asv.enrollment(*name)
            sources[role] = Source(enrollment.path, enrollment.digest)
            genders = self.asv.access.find_enrollment(*name)[0].with_name("spk2gender")
            if genders.is_file():
                self.asv.access.check_inside(genders)
                sources[f"{role}_genders"] = genders
        sets = {**galleries, "trial": tested}
        return asv_sources(self.asv, model, sets, inputs, sources, plda=self.backend == "plda")

    def make(self, inputs: Inputs, paths: Paths, made_of: Fingerprint) -> Content:
        from ..asv.galleries import GalleryTests
        from ..asv.identification import identified

        enrolled, _ = original_sets(self.condition, self.asv.protocol)
        more = self.options.distractors
        gallery, genders = self._gallery("enrollment", enrolled, paths, inputs)
        distractors = None
        if more:
            name = more, enrolled[1]
            distractors, of_more = self._gallery("distractors", name, paths, inputs, genders)
            genders = genders if of_more else set()
        model = self.condition.asv_model, self.anon_suffix
        rank, drawn = self.options.rank, (self.options.bootstrap, self.options.seed)
        tests = GalleryTests(
            gallery,
            self.asv.compared_vectors(self.condition.asv_model, paths["trial_vectors"]),
            inputs.load(paths["utt2spk"]),
            self.backend,
            self.asv.backend(*model) if self.backend == "plda" else None,
            self.options.length,
            distractors,
            self.asv.access.allow_missing,
            *drawn,
        )
        attack = identified(tests.rank(), None, rank, *drawn)
        groups, remarks = {}, []
        for labels in labels_in_tree(self.groups, self.asv.access.tree):
            group_of, without = tests.groups(labels)
            if of_groups := tests.identify_groups(group_of, rank):
                groups[labels.column] = of_groups
            n_own = attack.n_enrolled - attack.n_distractors
            n_speakers = n_own + len(attack.not_enrolled)
            remarks += without_group(labels, self.asv.access.tree, without, n_speakers)
        provenance = {"version": __version__, "backend": self.backend, **made_of.provenance()}
        record = replace(self._record(attack, genders), provenance=provenance, groups=groups)
        arrays = {
            "speakers": attack.test_speakers,
            "speaker": attack.speaker,
            "beaten": attack.beaten,
        }
        lost = attack.without_vector
        left_out = f"{lost} utterances without x-vectors left out" if lost else ""
        refused = attack.singling_out.refused
        notes = (f"no singling out: {refused}",) if refused else ()
        content = record_content(self.path, record, arrays)
        return Content(content, left_out, tuple(remarks), notes)

    def _record(self, found: Identification, genders: Collection[str]) -> IdentificationRecord:
        """Compose the record of the condition."""
        from ..results.records import IdentificationRecord

        alike = (
            *("sizes", "rank", "length", "n_enrolled", "enrollment_utterances"),
            *("utterances_left_out", "speakers_size", "n_distractors", "singling_out"),
        )
        return IdentificationRecord(
            self.condition,
            linkage=tuple(found.linkage.tolist()),
            intervals=tuple((i.low, i.high) for i in found.bounds),
            n_tests=len(found.speaker),
            n_test_speakers=len(found.test_speakers),
            not_enrolled=len(found.not_enrolled),
            speakers=found.speakers(),
            distractors=self.options.distractors or "",
            genders=tuple(sorted(genders)),
            **{name: getattr(found, name) for name in alike},
        )

    def _gallery(
        self,
        role: str,
        name: tuple[str, str],
        paths: Paths,
        inputs: Inputs,
        only: Collection[str] = (),
    ) -> tuple[Gallery, set[str]]:
        """Read a gallery and its genders, none if the gender of any speaker is unknown; with
        `only`, leave out speakers of other genders."""
        from ..asv.galleries import Gallery

        trained_on = self.condition.asv_model
        vectors = self.asv.compared_vectors(trained_on, paths[f"{role}_vectors"])
        enrollment, of = self.asv.enrollment(*name), paths.get(f"{role}_genders")
        if of is None:
            return Gallery(vectors, enrollment), set()
        gender_of = read_spk2gender(inputs.load(of))
        if any(speaker not in gender_of for speaker in enrollment.members):
            return Gallery(vectors, enrollment), set()
        members = {s: u for s, u in enrollment.members.items() if not only or gender_of[s] in only}
        if not members:
            raise PrivacyEvalError(f"{of}: no distractor of gender {' or '.join(only)}")
        return Gallery(vectors, replace(enrollment, members=members)), {
            gender_of[s] for s in members
        }


def missing_inputs(
    condition: TrialCondition, anon_suffix: str, asv: AsvSystems, distractors: str | None = None
) -> list[MissingInput]:
    """Return the missing inputs of a condition's galleries, without reading any file."""
    enrolled, tested = original_sets(condition, asv.protocol)
    more = (distractors or enrolled[0], enrolled[1])
    return absent(
        lambda: asv.access.find_enrollment(*enrolled),
        lambda: asv.access.find_enrollment(*more),
        lambda: asv.access.find_utt2spk(tested[0]),
        *asv.finders((condition.asv_model, anon_suffix), enrolled, more, tested),
    )


def _galleries(experiment: Experiment, options: GalleryOptions) -> Iterator[_Galleries]:
    asv = experiment.asv
    for system, part in experiment.parts:
        folder = experiment.records_of(system.name, part.suffix)
        conditions = trial_conditions(asv.protocol, part, system.anon_suffix, system.name)
        for name, condition in conditions.items():
            if condition.attack_model is not None:
                path, own = folder / f"identification-{name}.json", asv.of_system(system)
                yield _Galleries(condition, system.anon_suffix, path, own, options)
