"""Records: the numbers of a condition or trial set, validated.

Rates are fractions, disclosures and costs bits, G_VD dB.
"""

from __future__ import annotations

import copy
import html
import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, TypeVar

from ..errors import PrivacyEvalError, abbreviate, printable
from ..io.edition_summary import SummaryLayout
from ..io.names import check_name
from ..io.schema import INLINED
from ..io.wer import WerLine
from ..metrics import (
    CAVEATS,
    METRICS,
    VARIANTS,
    Caveat,
    Variant,
    find_caveats,
    of_kind,
    withholding_caveat,
)
from ..metrics.caveats import INVERTED, INVERTED_ORIGINAL, marked_text
from ..metrics.identification import SinglingOutCurve, SpeakerLinkage
from ..metrics.registry import Kind
from ..metrics.similarity import SpeakerSimilarity
from ..protocol.protocol import EERS, ORIGINAL, SPEECH, Protocol
from ..tree.conditions import RecognitionCondition, SetCondition, TrialCondition

T = TypeVar("T")

# Approximations of the released scripts, and rounded numbers.
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
    caveats : mapping
        Reasons why the metrics are uninformative about privacy, by key in `metrics.CAVEATS`:
        always recomputed from metrics and counts, and by `Results` from original speech.
    n_target, n_nontarget : int or None
        Numbers of trials; None where they are not known (imported results).
    n_speakers : int or None
        Enrolled speakers.
    eer_interval_if_independent : tuple or None
        95 % interval of the EER if trials were independent (Bengio & Mariethoz), which
        they are not.
    speaker_intervals : mapping
        By variant and metric: 95 % bounds from the bootstrap over speakers.
    trials_without_score, scores_without_trial : int or None
        How many were left out, on explicit request; None where it is not known.
    remarks : tuple of str
        Warnings about its input files.
    curves, curves_sha256 : str or None
        File of the curves (.npz) below `records/`, and its digest.
    provenance : mapping
        Digests of inputs, options, version.
    """

    condition: Annotated[TrialCondition, INLINED]
    metrics: Mapping[str, Mapping[str, float]]
    zebra_tag: Mapping[str, str]
    caveats: Mapping[str, str] = field(init=False)
    n_target: int | None = None
    n_nontarget: int | None = None
    n_speakers: int | None = None
    eer_interval_if_independent: tuple[float, ...] | None = None
    speaker_intervals: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    trials_without_score: int | None = None
    scores_without_trial: int | None = None
    remarks: tuple[str, ...] = ()
    curves: str | None = None
    curves_sha256: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        eers = (v[key] for key in EERS[:2] for v in self.metrics.values() if key in v)
        is_original = self.condition.is_original and self.condition.asv_model == ORIGINAL
        caveats = find_caveats(
            next(eers, None), self.n_target, self.n_nontarget, is_original=is_original
        )
        object.__setattr__(self, "caveats", caveats)

    def values(self, variant: Variant) -> Mapping[str, float]:
        """Return the metrics of a variant, or of the only one stored."""
        return _select_variant(self.metrics, variant, {})

    def of_inverted_system(self) -> VerificationRecord:
        """Return the record with the caveat of a system whose scores of original speech are
        implausible."""
        if {INVERTED, INVERTED_ORIGINAL} & self.caveats.keys():
            return self
        record, reason = copy.copy(self), CAVEATS[INVERTED_ORIGINAL].reason
        object.__setattr__(record, "caveats", {INVERTED_ORIGINAL: reason, **self.caveats})
        return record

    def caveat(self, metric: str) -> Caveat | None:
        """Return the caveat for which a value must be neither ranked nor graded."""
        return withholding_caveat(self.caveats, metric)

    @property
    def left_out(self) -> int:
        """Trials and scores that were left out on request."""
        return (self.trials_without_score or 0) + (self.scores_without_trial or 0)

    def tag(self, variant: Variant) -> str | None:
        """Return the ZEBRA category of a variant, or of the only one stored; None of implausible
        scores."""
        if self.caveat("zebra_individual") is not None:
            return None
        return _select_variant(self.zebra_tag, variant, None)


@dataclass(frozen=True)
class RecognitionRecord:
    """One word error rate.

    Attributes
    ----------
    condition : RecognitionCondition
    language_model, asr_model : str or None
        Ids of the protocol; None where the path of the decoding names none.
    line : WerLine
    speaker_interval : tuple of float
        95 % bounds from the bootstrap over speakers; empty without transcripts or bootstrap.
    """

    condition: Annotated[RecognitionCondition, INLINED]
    language_model: str | None
    asr_model: str | None
    line: Annotated[WerLine, INLINED]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    speaker_interval: tuple[float, ...] = ()


@dataclass(frozen=True)
class EmotionRecord:
    """Emotion recognition of a set of original or anonymized speech.

    Attributes
    ----------
    condition : RecognitionCondition
    values : mapping
        `uar` and the recall of each emotion, `acc_*`: means over the folds, each of a speaker.
    folds : mapping
        The same by fold; empty where they are not known. Five speakers: far too few for an
        interval.
    """

    condition: Annotated[RecognitionCondition, INLINED]
    values: Mapping[str, float]
    folds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
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
        Training speech of the ASV model that computed it.
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
        """Return the metrics of a variant, or of the only one stored."""
        return _select_variant(self.metrics, variant, {})


@dataclass(frozen=True)
class IdentificationRecord:
    """Rates at which the speakers of a trial set are identified in galleries.

    Attributes
    ----------
    condition : TrialCondition
    sizes : tuple of int
        Of the galleries, the right speaker included.
    linkage : tuple of float
        Probability that the right speaker is found, by size.
    intervals : tuple of (float, float)
        95 % bounds over test speakers, by size; empty without a bootstrap.
    rank : int
        Number of top scores among which the right speaker counts as found.
    length : int
        Utterances that a test averages.
    n_tests, n_test_speakers, n_enrolled : int
    not_enrolled, utterances_left_out : int
        Test speakers who are not enrolled; utterances that are in no test.
    speakers_size : int
        Size of the galleries of `speakers`; 0 where none was small enough.
    speakers : tuple of SpeakerLinkage
        Those with enough tests, from the most often found one.
    distractors : str
        Data set of more enrolled speakers; "" for none.
    n_distractors : int
        Of `n_enrolled`.
    genders : tuple of str
        Of the gallery, sorted; empty where they are not known.
    singling_out : SinglingOutCurve
        Of the speakers who are enrolled and tested.
    curves, curves_sha256 : str or None
        File of the tests' ranks (.npz) below `records/`, and its digest.
    """

    condition: Annotated[TrialCondition, INLINED]
    sizes: tuple[int, ...]
    linkage: tuple[float, ...]
    intervals: tuple[tuple[float, ...], ...]
    rank: int
    length: int
    n_tests: int
    n_test_speakers: int
    n_enrolled: int
    not_enrolled: int
    utterances_left_out: int
    speakers_size: int = 0
    speakers: tuple[SpeakerLinkage, ...] = ()
    distractors: str = ""
    n_distractors: int = 0
    genders: tuple[str, ...] = ()
    singling_out: SinglingOutCurve = SinglingOutCurve()
    curves: str | None = None
    curves_sha256: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def chance(self) -> list[float]:
        """Return the chance level of the linkage, by size."""
        return [min(self.rank / size, 1.0) for size in self.sizes]


def _select_variant(stored: Mapping[str, T], variant: Variant, default: T) -> T:
    """Return what is stored of a variant, or of the only one."""
    if variant in stored or len(stored) != 1:
        return stored.get(variant, default)
    return next(iter(stored.values()))


AnyRecord = (
    VerificationRecord
    | RecognitionRecord
    | EmotionRecord
    | UtilityRecord
    | SimilarityRecord
    | IdentificationRecord
)


@dataclass(frozen=True)
class Results:
    """Records of one or more systems under one protocol.

    Attributes
    ----------
    protocol : Protocol
    verification, recognition, utility, similarity, identification, emotion : tuples of records
    not_evaluated : tuple of str
        Conditions that were left out on request, each with the reason.
    layouts : tuple of SummaryLayout
        Layouts of imported summaries, needed to export them unchanged.
    """

    protocol: Protocol
    verification: tuple[VerificationRecord, ...] = ()
    recognition: tuple[RecognitionRecord, ...] = ()
    utility: tuple[UtilityRecord, ...] = ()
    similarity: tuple[SimilarityRecord, ...] = ()
    identification: tuple[IdentificationRecord, ...] = ()
    not_evaluated: tuple[str, ...] = ()
    emotion: tuple[EmotionRecord, ...] = ()
    layouts: tuple[SummaryLayout, ...] = ()

    def __post_init__(self) -> None:
        """Add the caveat of records of systems with implausible scores of original speech."""
        inverted = {
            r.condition.system
            for r in self.verification
            if r.condition.is_original and INVERTED in r.caveats
        }
        records = tuple(
            r.of_inverted_system() if r.condition.system in inverted else r
            for r in self.verification
        )
        object.__setattr__(self, "verification", records)

    @property
    def systems(self) -> list[str]:
        """Names of the systems, in the order of their first records."""
        return list(dict.fromkeys(r.condition.system for r in self.records()))

    def results_folders(self, system: str) -> list[str]:
        """List the suffixes of the results folders with records of a system."""
        found = (r.condition for r in self.records())
        return sorted({c.results_folder for c in found if c.system == system})

    def of(self, system: str, results_folder: str | None = None) -> Results:
        """Select the records of one system, or of one of its results folders."""

        def selected(record: AnyRecord) -> bool:
            c = record.condition
            return c.system == system and results_folder in (None, c.results_folder)

        kinds = {kind: tuple(filter(selected, getattr(self, kind))) for kind in _KINDS}
        layouts = self.layouts if results_folder in (None, "") else ()
        kinds["layouts"] = tuple(entry for entry in layouts if entry.system == system)
        return Results(self.protocol, **kinds)

    def under(self, protocol: Protocol) -> Results:
        """Return the records under another protocol, checked."""
        results = replace(self, protocol=protocol)
        results.check()
        return results

    def check(self) -> None:
        """Check that every record fits the protocol, is unique and has valid values.

        Raises
        ------
        PrivacyEvalError
            Names the first record that does not.
        """
        protocol = self.protocol
        trial_sets = {(t.data_set.id, t.split, t.gender) for t in protocol.trial_sets()}
        decoded = {
            kind: {(d.id, s) for d in sets for s in protocol.splits}
            for kind, sets in (
                (RecognitionRecord, protocol.recognition.data_sets),
                (EmotionRecord, protocol.emotion),
            )
        }
        suffixes = {f.suffix for f in protocol.results_folders}
        unique: set[tuple[object, ...]] = set()
        for r in self.records():
            c = r.condition
            if not c.system:
                raise PrivacyEvalError(f"{c.name}: the system has no name")
            for name in (c.system, c.name, getattr(getattr(r, "line", None), "decode", "")):
                check_name(name, f"record of {printable(c.system)}")
            _check_numbers(r)
            if isinstance(c, RecognitionCondition):
                key: tuple[str, ...] = (c.data_set, c.split)
                known = isinstance(r, RecognitionRecord | EmotionRecord) and key in decoded[type(r)]
                key = (*key, c.speech) if isinstance(r, EmotionRecord) else key
            else:
                key = (c.data_set, c.split, c.gender)
                known = key in trial_sets
            speech = {getattr(x, name, None) for x in (c, r) for name in _SPEECH_ENTRIES}
            unmatched = sorted(str(word) for word in speech - {None, *SPEECH})
            if not known or unmatched or c.results_folder not in suffixes:
                raise PrivacyEvalError(
                    f"record of {c.system} does not fit protocol {protocol.name} (unknown data "
                    f"set, split, gender or results folder): {', '.join([*key, *unmatched])}, "
                    f"results folder {c.results_folder!r}"
                )
            if isinstance(c, TrialCondition):
                key = (*key, c.enrollment, c.trial)
            identity = (type(r), c.system, c.results_folder, key)
            if identity in unique and not isinstance(r, RecognitionRecord):
                raise PrivacyEvalError(f"{c.system} {c.name}: duplicate {', '.join(key)}")
            unique.add(identity)

    def records(self) -> Iterator[AnyRecord]:
        """Iterate over all records, kind by kind."""
        for kind in _KINDS:
            yield from getattr(self, kind)

    def to_rows(self) -> list[dict[str, Any]]:
        """List every value as a row of results.csv: identity, unit, interval, caveat."""
        return [
            {name: row.get(name) for name in CSV_COLUMNS}
            for record in self.records()
            for row in _rows(record)
        ]

    def to_frame(self) -> Any:
        """Make a pandas DataFrame of `to_rows`.

        Raises
        ------
        PrivacyEvalError
            pandas, an optional package, is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise PrivacyEvalError("to_frame() needs pandas: pip install pandas") from error
        return pandas.DataFrame(self.to_rows(), columns=list(CSV_COLUMNS))

    def __repr__(self) -> str:
        found = [f"{len(getattr(self, kind))} {kind}" for kind in _KINDS if getattr(self, kind)]
        systems = abbreviate(self.systems) if self.systems else "no systems"
        return f"Results({self.protocol.name}: {systems}; records: {', '.join(found) or 'none'})"

    def _repr_html_(self) -> str:
        """Make a table of the EERs of anonymized speech."""
        from tabulate import tabulate

        eer, variant = METRICS[self.protocol.eer], self.protocol.variant
        attacks = {a.id: a.title for a in self.protocol.attack_models}
        rows = [
            {
                "system": r.condition.system,
                "condition": r.condition.name,
                "attack model": attacks.get(r.condition.attack_model or ""),
                "EER, %": marked_text(eer.format(r.values(variant)[eer.key]), r.caveat(eer.key)),
            }
            for r in self.verification
            if not r.condition.is_original and eer.key in r.values(variant)
        ]
        table = tabulate(rows, headers="keys", tablefmt="html", disable_numparse=True)
        return f"<p>{html.escape(repr(self))}</p>{table}"


#: Columns of results.csv.
CSV_COLUMNS = tuple(
    (
        "system results_folder name data_set split gender enrollment trial model attack_model "
        "n_target n_nontarget trials_without_score scores_without_trial variant metric unit value "
        "low_95 high_95 caveat"
    ).split()
)

#: Fields of `Results` that hold records.
_KINDS = ("verification", "recognition", "utility", "similarity", "identification", "emotion")

#: Entries that are `original` or `anonymized` (or None).
_SPEECH_ENTRIES = ("enrollment", "trial", "speech", "asv_model", "asr_model")

_COUNTS = {
    "n_target": 1,
    "n_nontarget": 1,
    **dict.fromkeys(("trials_without_score", "scores_without_trial"), 0),
    **dict.fromkeys(("errors", "words", "insertions", "deletions", "substitutions"), 0),
    **dict.fromkeys(("n_speakers", "n_utterances", "utterances_left_out", "not_enrolled"), 0),
    "n_distractors": 0,
    **dict.fromkeys(("rank", "length", "n_tests", "n_test_speakers", "n_enrolled"), 1),
}


#: Kind of the metrics of each kind of record; a word error rate is a number of its own.
_METRICS: Mapping[type, Kind | None] = {
    VerificationRecord: "scores",
    RecognitionRecord: None,
    UtilityRecord: "utility",
    EmotionRecord: "emotion",
    SimilarityRecord: "matrices",
}

_NO_VARIANT = ""


def by_variant(record: AnyRecord) -> Mapping[str, Mapping[str, float]]:
    """Return the metrics of any record by variant; the key is "" if it has no variants."""
    if isinstance(record, RecognitionRecord):
        return {_NO_VARIANT: {"wer": record.line.wer}}
    if isinstance(record, IdentificationRecord):
        return {}
    if isinstance(record, UtilityRecord | EmotionRecord):
        return {_NO_VARIANT: record.values}
    return record.metrics


def _check_numbers(record: AnyRecord) -> None:
    """Check counts, that metrics are known and within their range, and intervals."""
    where = f"{record.condition.system} {record.condition.name}"
    counted = record.line if isinstance(record, RecognitionRecord) else record
    for name, least in _COUNTS.items():
        count = getattr(counted, name, None)
        if count is not None and count < least:
            raise PrivacyEvalError(f"{where}: {name}: {count} is less than {least}")
    if isinstance(record, IdentificationRecord):
        _check_linkage(record, where)
        return
    metrics, kind = by_variant(record), _METRICS[type(record)]
    known: Collection[str] = of_kind(kind) if kind is not None else ("wer",)
    if kind not in (None, "scores") and not any(metrics.values()):
        raise PrivacyEvalError(f"{where}: expected {' or '.join(known)}")
    without = isinstance(record, RecognitionRecord | UtilityRecord | EmotionRecord)
    _check_known(metrics, known, f"{where}: metrics", [_NO_VARIANT] if without else VARIANTS)
    for variant, values in metrics.items():
        for key, value in values.items():
            low, high = METRICS[key].range
            # The released scripts may return infinite values of any metric.
            if not (low - _SLACK <= value <= high + _SLACK or value == math.inf):
                raise PrivacyEvalError(
                    f"{where}: {variant} {key}: {value:g} is not within {low:g} to {high:g}"
                )
    if isinstance(record, RecognitionRecord) and record.speaker_interval:
        _check_bounds([record.speaker_interval], where)
    if isinstance(record, VerificationRecord):
        _check_known(record.speaker_intervals, known, f"{where}: speaker_intervals")
        bounds = [b for of in record.speaker_intervals.values() for b in of.values()]
        _check_bounds((*bounds, record.eer_interval_if_independent or (0.0, 1.0)), where)


def _check_linkage(record: IdentificationRecord, where: str) -> None:
    n_sizes = len(record.sizes)
    if len(record.linkage) != n_sizes or len(record.intervals) not in (0, n_sizes):
        raise PrivacyEvalError(f"{where}: expected a linkage for every gallery size")
    sizes = (*record.sizes, record.speakers_size) if record.speakers else record.sizes
    if any(not 1 <= size <= record.n_enrolled for size in sizes):
        raise PrivacyEvalError(f"{where}: a gallery size is not within 1 to {record.n_enrolled}")
    for speaker in record.speakers:
        check_name(speaker.speaker, f"{where}: speakers")
    singled = record.singling_out
    for text in filter(None, (record.distractors, singled.refused, *record.genders)):
        check_name(text, where)
    if record.n_distractors >= record.n_enrolled:
        raise PrivacyEvalError(f"{where}: n_distractors: not below {record.n_enrolled}")
    sizes = singled.sizes
    if len(singled.values) != len(sizes) or any(not 2 <= n <= singled.n_speakers for n in sizes):
        raise PrivacyEvalError(f"{where}: singling_out: expected a value for every size")
    of_speakers = [p for s in record.speakers for p in (s.linkage, s.first, s.second)]
    bounds = [b for i in record.intervals for b in i]
    if any(not 0 <= p <= 1 for p in (*record.linkage, *bounds, *of_speakers, *singled.values)):
        raise PrivacyEvalError(f"{where}: linkage: a probability is not within 0 to 1")
    _check_bounds(record.intervals, where)


def _check_bounds(intervals: Iterable[Sequence[float]], where: str) -> None:
    if any(len(i) != 2 or i[0] > i[1] for i in intervals):
        raise PrivacyEvalError(f"{where}: an interval has two bounds, the lower one first")


def _check_known(
    metrics: Mapping[str, Mapping[str, object]],
    known: Collection[str],
    where: str,
    variants: Collection[str] = VARIANTS,
) -> None:
    for variant, values in metrics.items():
        for key in values:
            if variant not in variants or key not in known:
                raise PrivacyEvalError(f"{where}: unknown value {variant} {key}")


def merge(parts: Iterable[Results]) -> Results:
    """Merge the results of several files under one protocol.

    Raises
    ------
    PrivacyEvalError
        Different protocols; a condition of one system in two files.
    """
    parts = list(parts)
    protocol = parts[0].protocol
    if any(part.protocol != protocol for part in parts):
        of_systems = {f"{', '.join(part.systems)}: {part.protocol.name}": None for part in parts}
        raise PrivacyEvalError(
            "results under different protocols cannot be merged, as editions differ in data and "
            f"attackers; show each alone ({'; '.join(of_systems)})"
        )
    seen: dict[tuple[object, ...], int] = {}
    for number, part in enumerate(parts):
        for r in part.records():
            c = r.condition
            if seen.setdefault((type(r), c.system, c.results_folder, c.name), number) != number:
                raise PrivacyEvalError(
                    f"system {c.system!r}: duplicate {c.name} in two results files"
                )
    combined: dict[str, Any] = {
        name: tuple(entry for part in parts for entry in getattr(part, name))
        for name in (*_KINDS, "not_evaluated", "layouts")
    }
    return Results(protocol, **combined)


def _rows(record: AnyRecord) -> Iterator[dict[str, object]]:
    shared = {**vars(record), **vars(record.condition)}
    suffix = ""
    if isinstance(record, RecognitionRecord):
        shared.update(trial=record.condition.speech, model=record.asr_model)
        suffix = f"_{record.language_model}" if record.language_model else ""
    elif isinstance(record, EmotionRecord):
        shared["trial"] = record.condition.speech
    elif isinstance(record, VerificationRecord | IdentificationRecord):
        shared["model"] = record.condition.asv_model
    if isinstance(record, IdentificationRecord):
        shared["name"], shared["unit"] = record.condition.name, "fraction"
        bounds = record.intervals or itertools.repeat((None, None))
        for size, value, (low, high) in zip(record.sizes, record.linkage, bounds, strict=False):
            row = {"metric": f"linkage_{size}", "value": value, "low_95": low, "high_95": high}
            yield {**shared, **row}
        singled = record.singling_out
        for size, value in zip(singled.sizes, singled.values, strict=True):
            yield {**shared, "metric": f"singling_out_{size}", "value": value}
    intervals = shared.get("speaker_intervals", {})
    for variant, metrics in by_variant(record).items():
        for metric, value in metrics.items():
            low, high = intervals.get(variant, {}).get(metric, (None, None))
            yield {
                **shared,
                "name": record.condition.name,
                "variant": variant,
                "metric": f"{metric}{suffix}",
                "unit": METRICS[metric].unit,
                "value": value,
                "low_95": low,
                "high_95": high,
                "caveat": "; ".join(
                    reason
                    for key, reason in shared.get("caveats", {}).items()
                    if CAVEATS[key].concerns(metric)
                ),
            }
