"""Stage 7: what x-vectors give away about attributes of speakers, such as their gender.

The trial sets of a data set and split, of all genders, are taken together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ..choices import ATTRIBUTE_FOLDS, GENDER, SITUATIONS, grouped
from ..errors import PrivacyEvalError, abbreviate, located
from ..io.data_dir import read_spk2gender, read_utt2spk
from ..io.files import Inputs, file_names, relative
from ..io.user_tables import path_of_labels, read_labels
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
)
from ..results.record_files import record_product, record_text
from ..tree.conditions import AttributeCondition, System
from ..version import __version__
from .access import AsvSystems, Experiment
from .vector_sources import asv_sources

if TYPE_CHECKING:
    from ..attackers.attributes import AttributeInference
    from ..io.vectors import Vectors
    from ..results.records import AttributeRecord

#: Kinds of `MissingInput`.
LABELS, CLASSES = "labels of speakers", "two labels, each of two speakers"

#: Incremented when the same inputs yield different numbers.
_REVISION = 1


@dataclass(frozen=True)
class AttributeOptions:
    """Options that affect the numbers of a record.

    Attributes
    ----------
    bootstrap, seed : int
        Replicates of speakers, and their seed.
    folds : int
        See `infer_attribute`.
    """

    bootstrap: int = 1000
    seed: int = 0
    folds: int = ATTRIBUTE_FOLDS


def make_attributes(
    experiment: Experiment, labels: Sequence[str], run: Run, options: AttributeOptions
) -> Outcome:
    """Compute the records of systems under test that are not current.

    Parameters
    ----------
    labels : sequence of str
        `gender`, of `spk2gender` of the trial sets, or `FILE:COLUMN`, relative to the tree.
    """
    systems = [s for s in experiment.systems if s.name in experiment.under_test]
    products = [
        one.product()
        for system in systems
        for text in labels
        for one in _attributes(experiment, system, text, options)
    ]
    return experiment.asv.access.bring_up_to_date(products, run)


def attribute_products(experiment: Experiment) -> list[Product]:
    """The records that were made, of all systems."""
    products = {}
    for system in experiment.systems:
        for part in experiment.asv.protocol.results_folders:
            folder = experiment.records_of(system.name, part.suffix)
            notes = map(Fingerprint.read, sorted(folder.glob(f".attributes-*{NOTE}")))
            texts = {str(n.options.get("labels")) for n in notes if n is not None}
            for text in sorted(texts):
                for one in _attributes(experiment, system, text, AttributeOptions()):
                    products[one.path] = one.product()
    return list(products.values())


@dataclass(frozen=True)
class _Attribute:
    """The record of a data set and split.

    Attributes
    ----------
    labels : str
        `gender` or `FILE:COLUMN`.
    sets : tuple of str
        Trial sets.
    """

    condition: AttributeCondition
    labels: str
    sets: tuple[str, ...]
    anon_suffix: str
    path: Path
    asv: AsvSystems
    options: AttributeOptions

    def product(self) -> Product:
        return record_product(
            self,
            self.asv.access.tree,
            f"{self.condition.system} {self.condition.name}",
            options={"labels": self.labels, **asdict(self.options)},
            revision=_REVISION,
        )

    def find(self, inputs: Inputs) -> Sources:
        access = self.asv.access
        own: dict[str, Path] = {f"utt2spk of {n}": access.find_utt2spk(n) for n in self.sets}
        own |= self._label_files()
        access.check_inside(*own.values())
        label_of, _ = self._label_of_speaker(inputs)
        counts = [*label_of.values()]
        if sum(counts.count(label) > 1 for label in set(counts)) < 2:
            where = " and ".join(relative(p, access.tree) for p in self._label_files().values())
            raise MissingInput(CLASSES, f"{where} ({self.condition.name})", self.condition.name)
        sets = {f"{n}{s}": (n, s) for s in ("", self.anon_suffix) for n in self.sets}
        model = self.condition.asv_model, self.anon_suffix
        return asv_sources(self.asv, model, sets, inputs, own, plda=False)

    def _label_files(self) -> dict[str, Path]:
        """Find the files that name labels, by role."""
        tree = self.asv.access.tree
        if self.labels == GENDER:
            files = {f"genders of {n}": tree / "data" / n / "spk2gender" for n in self.sets}
        else:
            files = {"labels": path_of_labels(tree / self.labels)}
        for path in files.values():
            if not path.is_file():
                raise MissingInput(LABELS, relative(path, tree), path.name)
        return files

    def _speaker_of(self, inputs: Inputs) -> dict[str, str]:
        """Read the speakers of the utterances."""
        speaker_of: dict[str, str] = {}
        for name in self.sets:
            path = self.asv.access.find_utt2spk(name)
            for utterance, speaker in read_utt2spk(inputs.load(path)).items():
                if speaker_of.setdefault(utterance, speaker) != speaker:
                    raise PrivacyEvalError(
                        f"{path}: {utterance} is of {speaker}, in another trial set of "
                        f"{speaker_of[utterance]}"
                    )
        return speaker_of

    def _label_of_speaker(self, inputs: Inputs) -> tuple[dict[str, str], list[str]]:
        """Read the labels of speakers; also return the speakers without one.

        Raises
        ------
        PrivacyEvalError
            A speaker with several labels, or without a gender.
        """
        speaker_of = self._speaker_of(inputs)
        speakers = sorted({*speaker_of.values()})
        if self.labels != GENDER:
            return read_labels(str(self.asv.access.tree / self.labels)).groups(speaker_of)
        genders: dict[str, str] = {}
        for path in self._label_files().values():
            for speaker, gender in read_spk2gender(inputs.load(path)).items():
                if genders.setdefault(speaker, gender) != gender:
                    raise PrivacyEvalError(
                        f"{path}: speaker {speaker!r} has another gender than in another trial set"
                    )
        unknown = [s for s in speakers if s not in genders]
        if unknown:
            raise PrivacyEvalError(f"{path}: no gender of {abbreviate(unknown)}")
        return {speaker: genders[speaker] for speaker in speakers}, []

    def make(self, inputs: Inputs, paths: Paths, made_of: Fingerprint) -> Content:
        import numpy as np

        from ..attackers.attributes import infer_attribute

        label_of, without = self._label_of_speaker(inputs)
        speaker_of = {u: s for u, s in self._speaker_of(inputs).items() if s in label_of}
        read = partial(self._vectors, paths)
        sets = [[f"{n}{s}" for n in self.sets] for s in ("", self.anon_suffix)]
        both = [dict(chain.from_iterable(map(read, names))) for names in sets]
        lacking = [u for u in speaker_of if any(u not in of for of in both)]
        if lacking and not self.asv.access.allow_missing:
            raise PrivacyEvalError(
                f"{self.condition.name}: {len(lacking)} utterances have no vector of original or "
                f"anonymized speech: {abbreviate(lacking)}"
            )
        utterances = [u for u in speaker_of if all(u in of for of in both)]
        speakers = [speaker_of[u] for u in utterances]
        with located(f"{self.labels}, {self.condition.name}"):
            results = infer_attribute(
                np.array([both[0][u] for u in utterances]),
                [label_of[s] for s in speakers],
                speakers,
                anonymized=np.array([both[1][u] for u in utterances]),
                folds=self.options.folds,
                bootstrap=self.options.bootstrap,
                seed=self.options.seed,
            )
        tested = {s: label_of[s] for s in speakers}
        record = self._record(results, tested, made_of, (len(utterances), without, lacking))
        record.check()
        remark = f"{len(without)} of {len(label_of) + len(without)} speakers have no "
        remarks = (remark + self.condition.attribute,) if without else ()
        left_out = f"{len(lacking)} utterances without x-vectors left out" if lacking else ""
        return Content({self.path: record_text(record)}, left_out, remarks)

    def _vectors(self, paths: Paths, name: str) -> Iterator[tuple[str, object]]:
        """Yield the vectors of the utterances of a set."""
        vectors: Vectors = self.asv.read_vectors(paths[f"{name}_vectors"])
        rows = vectors.rows(vectors.ids, name)
        vectors.warn_if_equal(vectors.ids)
        return zip(vectors.ids, vectors.matrix[rows], strict=True)

    def _record(
        self,
        results: Mapping[str, AttributeInference],
        label_of: Mapping[str, str],
        made_of: Fingerprint,
        counts: tuple[int, Sequence[str], Sequence[str]],
    ) -> AttributeRecord:
        from ..attackers.attributes import few_speakers, reported_situation
        from ..results.records import AttributeRecord, InferenceSummary

        names = sorted({*label_of.values()})
        utterances, without, lacking = counts
        return AttributeRecord(
            self.condition,
            {
                name: InferenceSummary(
                    of.uar, of.interval, of.bits, of.risk.value, (of.risk.low, of.risk.high)
                )
                for name, of in ((name, results[name]) for name in SITUATIONS)
            },
            reported_situation(results),
            {name: [*label_of.values()].count(name) for name in names},
            utterances,
            len(without),
            len(lacking),
            few_speakers(label_of) or "",
            {"version": __version__, **made_of.provenance()},
        )


def _attributes(
    experiment: Experiment, system: System, labels: str, options: AttributeOptions
) -> Iterator[_Attribute]:
    """Yield the records of an attribute in the results folders of a system."""
    protocol, asv = experiment.asv.protocol, experiment.asv.of_system(system)
    column = labels if labels == GENDER else read_column(labels)
    seen: set[str] = set()
    for part in protocol.results_folders:
        model = protocol.asv_model(part.asv_model)
        vectors = part.asv_model
        if model is not None and not protocol.speaker_vectors:
            vectors = model.model_folder(system.anon_suffix)
        if part.suffix not in system.parts or vectors in seen:
            continue  # back ends of the same x-vectors
        seen.add(vectors)
        sets = grouped(protocol.trial_sets(), lambda t: (t.data_set.id, t.split))
        for (data_set, split), trial_sets in sets.items():
            place = system.name, part.suffix, data_set, split
            condition = AttributeCondition(*place, column, part.asv_model)
            stem = next(iter(file_names([f"attributes-{condition.name}"]).values()))
            path = experiment.records_of(system.name, part.suffix) / f"{stem}.json"
            unique = tuple(dict.fromkeys(t.trials_name for t in trial_sets))
            yield _Attribute(condition, labels, unique, system.anon_suffix, path, asv, options)


def read_column(labels: str) -> str:
    """Return the name of the attribute that `FILE:COLUMN` names."""
    return labels.rpartition(":")[2] if ":" in labels else Path(labels).name.rpartition("2")[2]
