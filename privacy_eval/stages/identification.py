"""Stage 7: how often speakers are found in galleries, under every trial condition of a tree.

The gallery holds the enrolled speakers of the condition's enrollment set, all of one gender
where the protocol's sets are; the tests are all utterances of its trial set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ..asv.galleries import Gallery, Identification, identify
from ..io.files import file_names
from ..io.inputs import Inputs
from ..results.record_files import record_content, record_paths
from ..results.records import IdentificationRecord
from ..tree.conditions import System, TrialCondition, original_sets, trial_conditions
from ..version import __version__
from .access import AsvSystems
from .asv_scores import extractor_of
from .freshness import (
    NOTE,
    Content,
    Fingerprint,
    MissingInput,
    Outcome,
    Product,
    Run,
    Source,
    Sources,
    absent,
    bring_up_to_date,
)
from .jobs import likely_lines, scoring_cost

#: Grows when the same inputs give other numbers or arrays.
_REVISION = 1


@dataclass(frozen=True)
class GalleryOptions:
    """What changes the numbers of a record.

    Attributes
    ----------
    bootstrap : int
        Replicates of the bootstrap over test speakers; 0 for none.
    seed : int
    rank, length : int
        See `identify`.
    """

    bootstrap: int = 0
    seed: int = 0
    rank: int = 1
    length: int = 1


def make_identifications(
    systems: Iterable[System],
    chosen: Iterable[str],
    asv: AsvSystems,
    out: Path,
    run: Run = Run(),
    options: GalleryOptions = GalleryOptions(),
) -> Outcome:
    """Compute the identification records of some systems that are not current.

    Parameters
    ----------
    systems : iterable of System
        All systems of the results, by which their folders are named.
    chosen : iterable of str
        Names of those whose x-vectors the tree has.
    """
    names = set(chosen)
    found = _galleries(list(systems), asv, out, options)
    products = [g.product() for g in found if g.condition.system in names]
    access = asv.access
    return bring_up_to_date(products, access.inputs, run, allow_missing=access.allow_missing)


def identification_products(systems: Iterable[System], asv: AsvSystems, out: Path) -> list[Product]:
    """The identification records of all systems."""
    return [g.product() for g in _galleries(list(systems), asv, out, GalleryOptions())]


@dataclass(frozen=True)
class _Galleries:
    """The galleries of one condition."""

    condition: TrialCondition
    anon_suffix: str
    path: Path
    asv: AsvSystems
    options: GalleryOptions

    def product(self) -> Product:
        key, _ = self.asv.access.trial_key(self.condition, self.asv.protocol)
        return Product(
            f"{self.condition.system} {self.condition.label}",
            self.asv.access.tree,
            self.path.with_name(f".{self.path.stem}{NOTE}"),
            record_paths(self.path),
            self.find,
            self.make,
            subject={
                **asdict(self.condition),
                "fields": [entry.name for entry in fields(IdentificationRecord)],
            },
            options=asdict(self.options),
            revision=_REVISION,
            cost=scoring_cost(likely_lines(key)),
        )

    def find(self, inputs: Inputs) -> Sources:
        for error in missing_inputs(self.condition, self.anon_suffix, self.asv):
            raise error
        model = self.condition.asv_model, self.anon_suffix
        enrolled, tested = original_sets(self.condition, self.asv.protocol)
        enrollment = self.asv.enrollment(*enrolled)
        utt2spk = self.asv.access.find_utt2spk(tested[0])
        self.asv.access.check_inside(utt2spk)
        _, sources = self.asv.backend(*model)
        sources |= {
            "enrollment": Source(enrollment.path, enrollment.digest),
            "utt2spk": Source(utt2spk, inputs.sha256(utt2spk)),
        }
        scps = {
            role: self.asv.find_vectors(*model, *name)
            for role, name in (("enrollment_vectors", enrolled), ("trial_vectors", tested))
        }
        for role, scp in scps.items():
            sources[role] = Source(scp, self.asv.read_vectors(scp).digest)
        return {**sources, **extractor_of(scps.values(), self.asv, inputs)}

    def make(self, inputs: Inputs, sources: Sources, made_of: Fingerprint) -> Content:
        enrolled, _ = original_sets(self.condition, self.asv.protocol)
        utt2spk = sources["utt2spk"].path
        with inputs.supplied(utt2spk):
            found = identify(
                Gallery(
                    self.asv.read_vectors(sources["enrollment_vectors"].path),
                    self.asv.enrollment(*enrolled),
                ),
                self.asv.read_vectors(sources["trial_vectors"].path),
                utt2spk,
                backend=self.asv.compared_by,
                model=self.asv.backend(self.condition.asv_model, self.anon_suffix)[0],
                rank=self.options.rank,
                length=self.options.length,
                allow_missing=self.asv.access.allow_missing,
            )
        provenance = {
            "version": __version__,
            "backend": self.asv.compared_by,
            **made_of.provenance(),
        }
        record = to_record(self.condition, found, self.options, provenance)
        arrays = {
            "speakers": found.test_speakers,
            "speaker": found.speaker,
            "beaten": found.beaten,
        }
        lost = found.without_vector
        left_out = f"{lost} utterances without x-vectors left out" if lost else ""
        return Content(record_content(self.path, record, arrays), left_out)


def to_record(
    condition: TrialCondition,
    found: Identification,
    options: GalleryOptions,
    provenance: dict[str, object],
) -> IdentificationRecord:
    """Compose the record of a condition."""
    intervals = found.intervals(options.bootstrap, options.seed) if options.bootstrap else ()
    return IdentificationRecord(
        condition,
        sizes=found.sizes,
        linkage=tuple(found.linkage.tolist()),
        intervals=tuple((i.low, i.high) for i in intervals),
        rank=found.rank,
        length=found.length,
        n_tests=found.beaten.size,
        n_test_speakers=len(found.test_speakers),
        n_enrolled=found.n_enrolled,
        not_enrolled=len(found.not_enrolled),
        utterances_left_out=found.utterances_left_out,
        speakers_size=found.speakers_size,
        speakers=found.speakers(),
        provenance=provenance,
    )


def missing_inputs(
    condition: TrialCondition, anon_suffix: str, asv: AsvSystems
) -> list[MissingInput]:
    """What a condition's galleries lack, found without reading it."""
    enrolled, tested = original_sets(condition, asv.protocol)
    model = condition.asv_model, anon_suffix
    return absent(
        lambda: asv.access.find_enrollment(*enrolled),
        lambda: asv.access.find_utt2spk(tested[0]),
        lambda: asv.find_backend(*model),
        lambda: asv.find_vectors(*model, *enrolled),
        lambda: asv.find_vectors(*model, *tested),
    )


def _galleries(
    systems: list[System], asv: AsvSystems, out: Path, options: GalleryOptions
) -> Iterator[_Galleries]:
    names = file_names(system.name for system in systems)
    for system in systems:
        for part in asv.protocol.results_folders:
            if part.suffix not in system.parts:
                continue
            folder = out / "records" / f"{names[system.name]}{part.suffix}"
            conditions = trial_conditions(asv.protocol, part, system.anon_suffix, system.name)
            for name, condition in conditions.items():
                if condition.attack_model is not None:
                    path = folder / f"identification-{name}.json"
                    yield _Galleries(condition, system.anon_suffix, path, asv, options)
