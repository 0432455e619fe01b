"""Records: the numbers of a condition or trial set, validated.

Rates are fractions, disclosures and costs bits, G_VD dB.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from ..errors import PrivacyEvalError
from ..io.schema import INLINED
from ..metrics import METRICS, VARIANTS, Variant, of_kind
from ..metrics.registry import Kind
from ..metrics.similarity import SpeakerSimilarity
from ..protocol.protocol import SPEECH, Protocol
from ..tree.conditions import RecognitionCondition, SetCondition, TrialCondition

# What the released scripts' shortcuts may be off, and rounded numbers.
_SLACK = 1e-3


@dataclass(frozen=True)
class VerificationRecord:
    """Metrics of one condition.

    Attributes
    ----------
    condition : TrialCondition
    metrics : mapping
        By variant (`challenge`, `exact`), then by metric.
    zebra_tag : mapping
        Category of the individual disclosure by variant.
    n_target, n_nontarget : int or None
        Numbers of trials; None where they are not known (imported results).
    eer_interval_if_independent : tuple or None
        95 % interval of the EER if trials were independent (Bengio & Mariethoz), which
        they are not.
    speaker_intervals : mapping
        By variant and metric: 95 % bounds from the bootstrap over speakers.
    trials_without_score, scores_without_trial : int or None
        How many were left out, on explicit request; None where it is not known.
    curves, curves_sha256 : str or None
        File of the curves (.npz) below `records/`, and its digest.
    provenance : mapping
        Digests of inputs, options, version.
    """

    condition: Annotated[TrialCondition, INLINED]
    metrics: Mapping[str, Mapping[str, float]]
    zebra_tag: Mapping[str, str]
    n_target: int | None = None
    n_nontarget: int | None = None
    eer_interval_if_independent: tuple[float, ...] | None = None
    speaker_intervals: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    trials_without_score: int | None = None
    scores_without_trial: int | None = None
    curves: str | None = None
    curves_sha256: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def values(self, variant: Variant) -> Mapping[str, float]:
        """Metrics of a variant; of the only one there is where that is another."""
        return _of_variant(self.metrics, variant)

    @property
    def left_out(self) -> int:
        """Trials and scores that were left out on request."""
        return (self.trials_without_score or 0) + (self.scores_without_trial or 0)

    def tag(self, variant: Variant) -> str | None:
        """ZEBRA category of a variant, with `values`' way out."""
        if variant in self.zebra_tag or len(self.zebra_tag) != 1:
            return self.zebra_tag.get(variant)
        return next(iter(self.zebra_tag.values()))


@dataclass(frozen=True)
class RecognitionRecord:
    """One word error rate.

    Attributes
    ----------
    condition : RecognitionCondition
    language_model, asr_model : str or None
        Ids of the plan; None where the decoding's path names none.
    wer : float
        Fraction, to the four decimals that Kaldi prints.
    errors, words, insertions, deletions, substitutions : int
    decode : str
        Folder of the decoding.
    lm_weight : int or None
    word_insertion_penalty : float or None
    """

    condition: Annotated[RecognitionCondition, INLINED]
    language_model: str | None
    asr_model: str | None
    wer: float
    errors: int
    words: int
    insertions: int
    deletions: int
    substitutions: int
    decode: str
    lm_weight: int | None
    word_insertion_penalty: float | None
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class UtilityRecord:
    """Utility metrics of a trial set, by their keys: pitch correlation and the like."""

    condition: Annotated[SetCondition, INLINED]
    values: Mapping[str, float]
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SimilarityRecord:
    """Voice similarity of a trial set.

    Attributes
    ----------
    condition : SetCondition
    asv_model : str
        What the speaker-verification model that measured it was trained on.
    metrics : mapping
        By variant, then by metric: `deid` (fraction), `gvd_db` (dB) and D_diag of the three
        matrices.
    n_speakers, n_utterances : int or None
        None where they are not known (imported results).
    utterances_left_out : int or None
        How many were left out, on explicit request: without a vector, or of a speaker left
        with one.
    speakers : tuple of SpeakerSimilarity
        From the least to the best protected by their DeID.
    curves, curves_sha256 : str or None
        File of the matrices (.npz) below `records/`, and its digest.
    """

    condition: Annotated[SetCondition, INLINED]
    asv_model: str
    metrics: Mapping[str, Mapping[str, float]]
    n_speakers: int | None = None
    n_utterances: int | None = None
    utterances_left_out: int | None = None
    speakers: tuple[SpeakerSimilarity, ...] = ()
    curves: str | None = None
    curves_sha256: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def values(self, variant: Variant) -> Mapping[str, float]:
        """Metrics of a variant; of the only one there is where that is another."""
        return _of_variant(self.metrics, variant)


def _of_variant(
    metrics: Mapping[str, Mapping[str, float]], variant: Variant
) -> Mapping[str, float]:
    if variant in metrics or len(metrics) != 1:
        return metrics.get(variant, {})
    return next(iter(metrics.values()))


AnyRecord = VerificationRecord | RecognitionRecord | UtilityRecord | SimilarityRecord


@dataclass(frozen=True)
class Results:
    """Records of one or more systems under one plan.

    Attributes
    ----------
    protocol : Protocol
    verification, recognition, utility, similarity : tuples of records
    not_evaluated : tuple of str
        Conditions that were left out on request, each with the reason.
    """

    protocol: Protocol
    verification: tuple[VerificationRecord, ...] = ()
    recognition: tuple[RecognitionRecord, ...] = ()
    utility: tuple[UtilityRecord, ...] = ()
    similarity: tuple[SimilarityRecord, ...] = ()
    not_evaluated: tuple[str, ...] = ()

    @property
    def systems(self) -> list[str]:
        """Names of the systems, in order of their first record."""
        return list(dict.fromkeys(r.condition.system for r in self.records()))

    def results_folders(self, system: str) -> list[str]:
        """Suffixes of the results folders that a system has records of."""
        found = (r.condition for r in self.records())
        return sorted({c.results_folder for c in found if c.system == system})

    def of(self, system: str, results_folder: str | None = None) -> Results:
        """The records of one system, or of one of its results folders."""

        def kept(record: AnyRecord) -> bool:
            c = record.condition
            return c.system == system and results_folder in (None, c.results_folder)

        return Results(
            self.protocol,
            tuple(filter(kept, self.verification)),
            tuple(filter(kept, self.recognition)),
            tuple(filter(kept, self.utility)),
            tuple(filter(kept, self.similarity)),
        )

    def under(self, protocol: Protocol) -> Results:
        """The same records under another plan, checked."""
        results = replace(self, protocol=protocol)
        results.check()
        return results

    def check(self) -> None:
        """Make sure that every record has a place in the plan, of its own, and every value a
        meaning.

        Raises
        ------
        PrivacyEvalError
            Names the first that has none.
        """
        protocol = self.protocol
        trial_sets = {(t.data_set.id, t.split, t.gender) for t in protocol.trial_sets()}
        decoded = {(d.id, s) for d in protocol.recognition.data_sets for s in protocol.splits}
        suffixes = {f.suffix for f in protocol.results_folders}
        taken: set[tuple[object, ...]] = set()
        for r in self.records():
            c = r.condition
            place: tuple[str, ...] = (c.data_set, c.split)
            speech: set[str | None] = set()
            if not c.system:
                raise PrivacyEvalError(f"{c.name}: the system has no name")
            if isinstance(r, RecognitionRecord):
                _check_recognition(r)
                known = place in decoded
                speech = {r.condition.speech, r.asr_model} - {None}
            else:
                place = (*place, r.condition.gender)
                known = place in trial_sets
            if isinstance(r, VerificationRecord):
                speech = {r.condition.enrollment, r.condition.trial, r.condition.asv_model}
                _check_verification(r)
            elif isinstance(r, UtilityRecord):
                _check_utility(r)
            elif isinstance(r, SimilarityRecord):
                speech = {r.asv_model}
                _check_similarity(r)
            strange = sorted(str(word) for word in speech - set(SPEECH))
            if not known or strange or c.results_folder not in suffixes:
                raise PrivacyEvalError(
                    f"record of {c.system} does not fit protocol {protocol.name} (unknown data "
                    f"set, split, gender or results folder): {', '.join([*place, *strange])}, "
                    f"results folder {c.results_folder!r}"
                )
            if isinstance(r, VerificationRecord):
                place = (*place, r.condition.enrollment, r.condition.trial)
            full = (type(r), c.system, c.results_folder, place)
            if full in taken and not isinstance(r, RecognitionRecord):
                raise PrivacyEvalError(f"{c.system} {c.name}: duplicate {', '.join(place)}")
            taken.add(full)

    def records(self) -> Iterator[AnyRecord]:
        """All records, kind by kind."""
        yield from self.verification
        yield from self.recognition
        yield from self.utility
        yield from self.similarity


def _check_verification(record: VerificationRecord) -> None:
    where = _title(record)
    _check_metrics(record.metrics, "scores", where)
    bounds: list[tuple[float, ...]] = [record.eer_interval_if_independent or (0.0, 1.0)]
    for variant, by_metric in record.speaker_intervals.items():
        _check_known(variant, by_metric, "scores", f"{where}: speaker_intervals")
        bounds += by_metric.values()
    for b in bounds:
        if len(b) != 2 or b[0] > b[1]:
            raise PrivacyEvalError(f"{where}: an interval has two bounds, the lower one first")
    _check_counts(record, where, 1, "n_target", "n_nontarget")
    _check_counts(record, where, 0, "trials_without_score", "scores_without_trial")


def _check_recognition(record: RecognitionRecord) -> None:
    where = _title(record)
    _check_values({"wer": record.wer}, where)
    _check_counts(record, where, 0, "errors", "words", "insertions", "deletions", "substitutions")


def _check_utility(record: UtilityRecord) -> None:
    where = _title(record)
    if not record.values:
        raise PrivacyEvalError(f"{where}: expected {' or '.join(of_kind('utility'))}")
    _check_known("exact", record.values, "utility", f"{where}: values")
    _check_values(record.values, where)


def _check_similarity(record: SimilarityRecord) -> None:
    where = _title(record)
    if not any(record.metrics.values()):
        raise PrivacyEvalError(f"{where}: expected {' or '.join(of_kind('matrices'))}")
    _check_metrics(record.metrics, "matrices", where)
    _check_counts(record, where, 0, "n_speakers", "n_utterances", "utterances_left_out")


def _check_metrics(metrics: Mapping[str, Mapping[str, float]], kind: Kind, where: str) -> None:
    for variant, values in metrics.items():
        _check_known(variant, values, kind, f"{where}: metrics")
        _check_values(values, f"{where}: {variant}")


def _check_known(variant: str, keys: Iterable[str], kind: Kind, where: str) -> None:
    for key in keys:
        if variant not in VARIANTS or key not in of_kind(kind):
            raise PrivacyEvalError(f"{where}: unknown value {variant} {key}")


def _check_values(values: Mapping[str, float], where: str) -> None:
    for key, value in values.items():
        low, high = METRICS[key].range
        # Infinite is what the released scripts may make of anything.
        if not (low - _SLACK <= value <= high + _SLACK or value == math.inf):
            raise PrivacyEvalError(f"{where} {key}: {value:g} is not within {low:g} to {high:g}")


def _check_counts(record: AnyRecord, where: str, low: int, *names: str) -> None:
    for name in names:
        count = getattr(record, name)
        if count is not None and count < low:
            raise PrivacyEvalError(f"{where}: {name}: {count} is less than {low}")


def merge(parts: Iterable[Results]) -> Results:
    """Results of several files under one plan.

    Raises
    ------
    PrivacyEvalError
        Different plans; a condition that two files give for one system.
    """
    parts = list(parts)
    protocol = parts[0].protocol
    if any(part.protocol != protocol for part in parts):
        raise PrivacyEvalError("results under different plans cannot be put together")
    merged = Results(
        protocol,
        tuple(r for part in parts for r in part.verification),
        tuple(r for part in parts for r in part.recognition),
        tuple(r for part in parts for r in part.utility),
        tuple(r for part in parts for r in part.similarity),
        tuple(n for part in parts for n in part.not_evaluated),
    )
    seen: set[tuple[object, ...]] = set()
    for part in parts:
        keys = {
            (type(r), c.system, c.results_folder, c.name): c
            for r in part.records()
            if (c := r.condition)
        }
        for key, c in keys.items():
            if key in seen:
                raise PrivacyEvalError(
                    f"system {c.system!r}: duplicate {c.name} in two results files"
                )
        seen.update(keys)
    return merged


def _title(record: AnyRecord) -> str:
    return f"{record.condition.system} {record.condition.name}"
