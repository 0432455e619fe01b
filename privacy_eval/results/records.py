"""Records: the numbers of a condition or trial set, validated.

Rates are fractions, disclosures and costs bits, G_VD dB.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from ..choices import MOST_REPLICATES, SITUATIONS
from ..errors import InputWarning, PrivacyEvalError, abbreviate, printable
from ..io.names import check_name
from ..io.schema import INLINED, SPARSE, from_plain
from ..io.wer import WerLine
from ..metrics import (
    CAVEATS,
    METRICS,
    VARIANTS,
    Caveat,
    Metric,
    MetricDescription,
    Variant,
    find_caveats,
    withholding_caveat,
)
from ..metrics.caveats import (
    INCOMPLETE,
    INVERTED_ORIGINAL,
    RAW_SPEECH,
    SAME_SCORES,
    SAME_SESSION,
    STATED,
    WEAKER_THAN_SPECTRUM,
    WEAKER_THAN_VARIANT,
    WEAKER_THAN_WORDS,
    caveats_of,
    marked_text,
)
from ..metrics.evaluation import is_weaker, overestimate_reason
from ..metrics.llr import categorical_tag
from ..metrics.printed import Printed
from ..metrics.similarity import OF_SPEAKER, VERDICTS
from ..metrics.utility import MAX_DIFFERENCE, SpeakerErrors, SpeakerSums, mean_of_folds
from ..protocol.protocol import ANONYMIZED, EERS, ORIGINAL, SPEECH, Protocol
from ..tree.conditions import Condition
from ..wings import OR_ABSENT, provided
from .measurements import COUNTS, PRESENT, TYPES, WHOLE, Measurements, Row, is_known, metric_of
from .record_caveats import held_back, names_of, today, utility_caveats, with_found
from .rows import measurements_of

T = TypeVar("T")

# Approximations of the released scripts, and rounded numbers.
_SLACK = 1e-3


_NO_VARIANT = ""

#: Data set, split and, but for recognition, gender.
Place = tuple[str, ...]


def input_of(provenance: Mapping[str, Any], role: str) -> Mapping[str, Any]:
    """Return path and SHA-256 of an input by its role; empty if unknown, or not what it should be,
    as provenance may be untrusted."""
    inputs = provenance.get("inputs")
    entry = inputs.get(role) if isinstance(inputs, Mapping) else None
    return entry if isinstance(entry, Mapping) else {}


#: Types of the entries of rows, and those that are numbers.
_NUMBERS = ("value", "low", "high", "se", "p")
#: What values of columns are called by their type; those of other columns may be of any.
_PLAIN = {str: "text", int: "a whole number", float: "a number"}


class Fact(NamedTuple):
    """A fact of a kind of records: its type, the least number, and whether it must be there."""

    type: Any
    least: float = 0
    is_needed: bool = True


class RecordKind(NamedTuple):
    """What is asked of a kind of records.

    Attributes
    ----------
    metrics : mapping of str to tuple of str
        Their keys, kinds or patterns, and what every row of one has.
    facts : mapping
    identity : tuple of str
        Columns that tell a record from others of the same place; without any there may be several.
    place : tuple of str
        Columns of the place in the protocol.
    sets : str
        Whose places these are in the protocol.
    expected : tuple of mapping
        Rows that it has.
    check : callable, optional
        What must hold beside; its second argument begins the message of any error.
    """

    metrics: Mapping[str, tuple[str, ...]] = MappingProxyType({".*": ()})
    facts: Mapping[str, Fact] = MappingProxyType({})
    identity: tuple[str, ...] = ("name",)
    place: tuple[str, ...] = ()
    sets: Literal["trials", "recognition", "emotion"] = "trials"
    expected: tuple[Mapping[str, str | None], ...] = ()
    check: Callable[[Record, str], None] | None = None

    def places(self, protocol: Protocol) -> AbstractSet[Place]:
        """Return all places of such records under a protocol."""
        if self.sets == "trials":
            sets = ((t.data_set.id, t.split, t.gender) for t in protocol.trial_sets())
            return {of[: len(self.place)] for of in sets}
        is_emotion = self.sets == "emotion"
        data_sets = protocol.emotion if is_emotion else protocol.recognition.data_sets
        return {(d.id, split) for d in data_sets for split in protocol.splits}


#: Counts of a `%WER` line, as facts.
_WORDS = ("errors", "n_words", "insertions", "deletions", "substitutions")


def facts_of_line(line: WerLine) -> dict[str, Any]:
    """Return the facts of a `%WER` line; its rate is a row."""
    facts = {**vars(line), "n_words": line.words, "partial": line.partial or None}
    return {name: value for name, value in facts.items() if name not in ("wer", "words")}


def line_of(record: Record) -> WerLine:
    """Return the `%WER` line of a record of recognition."""
    names = (f.name for f in fields(WerLine) if f.name not in ("wer", "words", "partial"))
    known: dict[str, Any] = {name: record.facts.get(name) for name in names}
    known |= {"words": record.facts.get("n_words"), "partial": "partial" in record.facts}
    return WerLine(record.find("wer", group_by=None)["value"], **known)


def _check_recognition(record: Record, where: str) -> None:
    """Check that the word errors of speakers give the rate."""
    wer, of_speakers = record.find("wer", group_by=None).get("value"), record.facts.get("speakers")
    if wer is None:
        raise PrivacyEvalError(f"{where}: expected a word error rate")
    if of_speakers is not None:
        sums, where = of_speakers.sums, f"{where}: speakers"
        _check_speaker_sums(sums, where)
        for count in of_speakers.errors:
            _check_count(count, 0, where)
        if abs(sums.rate - wer) > MAX_DIFFERENCE + _SLACK:
            text = f"{sums.rate:.4f} contradicts the word error rate {wer:.4f}"
            raise PrivacyEvalError(f"{where}: their rate {text}")


def _check_emotion(record: Record, where: str) -> None:
    """Check that means over emotions and folds are such."""
    folds, values = folds_of(record), record.values()
    emotions = {key for fold in folds.values() for key in fold} - {"uar"}
    for name, fold in folds.items():
        recalls = [value for key, value in fold.items() if key != "uar"]
        # An emotion that is not spoken has no recall, but counts 0 if it is predicted.
        means = {sum(recalls) / n for n in range(len(recalls), len(emotions) + 1) if n}
        if means and all(abs(fold.get("uar", -1) - mean) > _SLACK for mean in means):
            raise PrivacyEvalError(
                f"{where}: fold {name}: the UAR is not the mean of the recalls, "
                f"{' or '.join(f'{100 * mean:.3f}' for mean in sorted(means))} %"
            )
    for key, mean in mean_of_folds(folds).items():
        if abs(values.get(key, -1) - mean) > _SLACK:
            raise PrivacyEvalError(f"{where}: {key} is not the mean of the folds, {mean:g}")


def _check_measures(record: Record, where: str) -> None:
    """Check that sums of speakers give the means."""
    values = record.values()
    for key, of in record.facts.get("speakers", {}).items():
        _check_speaker_sums(of, f"{where}: {key}")
        if key not in values:
            raise PrivacyEvalError(f"{where}: unknown value {key}")
        if abs(of.rate - values[key]) > _SLACK * max(1, abs(of.rate)):
            text = f"the mean over speakers {of.rate:.4f} contradicts {values[key]:.4f}"
            raise PrivacyEvalError(f"{where}: {key}: {text}")


def _check_attributes(record: Record, where: str) -> None:
    """Check that one risk is reported, of anonymized speech."""
    risks = [row["situation"] for row in record.measurements.select(metric="inference_risk")]
    if len(risks) != 1 or risks[0] not in SITUATIONS[1:]:
        raise PrivacyEvalError(f"{where}: expected one risk, of {' or '.join(SITUATIONS[1:])}")


def _check_similarity(record: Record, where: str) -> None:
    """Check that speakers have all values, and those of pseudo-voices."""
    needed = {*OF_SPEAKER} - {"speaker", "linkability"}
    for (name,), rows in record.measurements.select(speaker=PRESENT).groups("speaker").items():
        if {row["metric"] for row in rows} - {"linkability"} != needed:
            raise PrivacyEvalError(f"{where}: speaker {name}: expected {', '.join(sorted(needed))}")
    if not all(len(v) == 3 and v[1] <= v[2] for v in record.facts.get("voices", {}).values()):
        raise PrivacyEvalError(f"{where}: voices: expected values with the ends of an interval")
    if record.facts.get("drawn", "") not in VERDICTS:
        raise PrivacyEvalError(f"{where}: drawn: expected one of {', '.join(VERDICTS)}")


def _check_verification(record: Record, where: str) -> None:
    """Check a minimum against its metric, and a grade against its value, as printed; intervals
    among the facts; error rates of groups, which a wing computes."""
    of = record.facts
    independent = of.get("eer_interval_if_independent", (0, 1))
    _check_bounds((independent, *of.get("above", {}).values()), where)
    _check_rates(of.get("ties", {}).values(), f"{where}: ties")
    for variant in VARIANTS:
        values, tag = record.by_variant().get(variant, {}), record.tags.get(variant)
        minimum, actual = values.get("cllr_min"), values.get("cllr")
        if minimum is not None and actual is not None and minimum > actual + _SLACK:
            text = f"cllr_min {minimum:g} is above cllr {actual:g}, whose minimum it is"
            raise PrivacyEvalError(f"{where}: {variant}: {text}")
        eer, hull = values.get("eer"), values.get("rocch_eer")
        is_above = eer is not None and hull is not None and hull > eer + _SLACK
        if is_above and of.get("n_target") != 1:
            text = f"rocch_eer {hull:g} is above eer {eer:g}, whose lower bound it is"
            raise PrivacyEvalError(f"{where}: {variant}: {text}")
        individual = values.get("zebra_individual")
        if tag is not None and individual is not None:
            rounded = (max(individual + step, 0.0) for step in (-_SLACK, 0.0, _SLACK))
            grades = dict.fromkeys(categorical_tag(value, variant=variant) for value in rounded)
            if tag not in grades:
                raise PrivacyEvalError(
                    f"{where}: {variant}: the ZEBRA category {tag!r} contradicts zebra_individual "
                    f"{individual:g}, which is {' or '.join(grades)}"
                )
    errors = record.measurements.select(threshold=PRESENT)
    if len(errors) and (check := provided("check of disparities", needed=False)):
        check(errors, where)


def _check_identification(record: Record, where: str) -> None:
    """Check the numbers of speakers, and the sizes of galleries."""
    of, n_enrolled = record.facts, record.facts["n_enrolled"]
    if 0 < of.get("enrollment_utterances", 0) < n_enrolled:
        text = f"enrollment_utterances must be at least n_enrolled ({n_enrolled})"
        raise PrivacyEvalError(f"{where}: {text}")
    if of.get("n_distractors", 0) >= n_enrolled:
        raise PrivacyEvalError(
            f"{where}: n_distractors must be less than n_enrolled ({n_enrolled})"
        )
    sizes = record.measurements.select(metric="linkage", group_by=None).values("gallery")
    if any(not 1 <= size <= n_enrolled for size in sizes):
        raise PrivacyEvalError(f"{where}: a gallery size is not within 1 to {n_enrolled}")
    if any(not {"value", "gallery"} <= row.keys() for row in galleries(record)):
        raise PrivacyEvalError(f"{where}: expected a linkage for every gallery size")
    of_speakers = galleries(record, speaker=PRESENT)
    for (name,), rows in of_speakers.groups("speaker").items():
        if not {"value", "gallery", "n_tests"} <= rows[0].keys() or "fold" in rows[0]:
            raise PrivacyEvalError(f"{where}: speaker {name}: expected a rate in a gallery")
    for row in record.measurements.select(metric="singling_out"):
        if not 2 <= row["gallery"] <= row["n_speakers"]:
            raise PrivacyEvalError(f"{where}: singling_out: a gallery of another size")
    for row in record.measurements.select(metric="named_instead"):
        if row["gallery"] != n_enrolled or not 0 <= row.get("p", 0) <= 1:
            text = f"expected a gallery of {n_enrolled} and a p-value of at most 1"
            raise PrivacyEvalError(f"{where}: named_instead: {row['speaker']}: {text}")


def galleries(
    record: Record, metric: str = "linkage", speaker: object | None = None
) -> Measurements:
    """Return the rates of a record of identification by size of the gallery, of all speakers or
    of single ones."""
    return record.measurements.select(metric=metric, speaker=speaker, group_by=None)


_OF_SET = ("data_set", "split", "gender")
_UTTERANCES = {"n_utterances": Fact(int, 1), "utterances_left_out": Fact(int)}

#: Kinds of records, by the field of `Results` that holds them.
KINDS: Mapping[str, RecordKind] = {
    # Of scores, by variant, with the category of the individual disclosure as `tag`; in the exact
    # one of groups of speakers, with error rates at common thresholds, and of target trials of a
    # session that the speaker enrolled, or of others, with all nontarget trials. Counts are unknown
    # of imported results. `above`: bounds of the EER minus those of attackers who should not be
    # stronger, in the same replicates; `ties`: what equal scores say, from `find_ties`.
    "verification": RecordKind(
        {"scores": ("variant",)},
        {
            **dict.fromkeys(("n_target", "n_nontarget"), Fact(int, 1, False)),
            **dict.fromkeys(
                ("n_speakers", "trials_without_score", "scores_without_trial"), Fact(int, 0, False)
            ),
            "eer_interval_if_independent": Fact(tuple[float, ...], 0, False),
            "above": Fact(Mapping[str, tuple[float, ...]], 0, False),
            "ties": Fact(Mapping[str, float], -math.inf, False),
        },
        ("enrollment", "trial", "attacker"),
        _OF_SET,
        check=_check_verification,
    ),
    # Of one decoding; of speakers, the counts from which replicates are drawn. No model is named
    # where the path of the decoding names none.
    "recognition": RecordKind(
        {"wer": ()},
        {
            "decode": Fact(str),
            "speakers": Fact(SpeakerErrors, is_needed=False),
            **dict.fromkeys(_WORDS, Fact(int, is_needed=False)),
            **dict.fromkeys(("language_model", "asr_model"), Fact(str, is_needed=False)),
            "lm_weight": Fact(int, -math.inf, is_needed=False),
            "word_insertion_penalty": Fact(float, -math.inf, is_needed=False),
            "partial": Fact(bool, is_needed=False),
        },
        (),
        _OF_SET[:2],
        "recognition",
        ({"metric": "wer", "group_by": None},),
        _check_recognition,
    ),
    "utility": RecordKind({"utility": ("value",)}, {}, (), _OF_SET),
    # By variant, and the speakers from the least to the best protected; whether pseudo-voices are
    # consistent (`metrics.similarity.pseudo_voices`), and whose their coefficients are, where these
    # are known (`drawn_by`).
    "similarity": RecordKind(
        {
            "matrices": ("variant", "value"),
            "linkability": ("variant", "value", "speaker"),
        },
        {
            **dict.fromkeys(
                ("n_speakers", "n_utterances", "utterances_left_out"), Fact(int, is_needed=False)
            ),
            "voices": Fact(Mapping[str, tuple[float, ...]], -math.inf, is_needed=False),
            "drawn": Fact(str, is_needed=False),
        },
        (),
        _OF_SET,
        check=_check_similarity,
    ),
    # Means over folds, each of a speaker, and the folds where they are known: far too few for an
    # interval.
    "emotion": RecordKind(
        {"emotion": ("value",)}, {}, ("trial",), _OF_SET[:2], "emotion", (), _check_emotion
    ),
    # Predicted quality, phone errors, or means of another tool, `source`; sums by speaker.
    "measures": RecordKind(
        {"measures": ("value",)},
        {
            "source": Fact(str),
            **_UTTERANCES,
            "speakers": Fact(Mapping[str, SpeakerSums], is_needed=False),
        },
        ("trial", "source"),
        _OF_SET,
        check=_check_measures,
    ),
    # Rates in galleries by size: of all speakers, of single ones, also in halves of their tests,
    # and of groups in their own; of singling out, unless `refused`; of tests that name a `speaker`
    # who did not speak them, with `p` corrected for all enrolled people; `length`: utterances of a
    # test.
    "identification": RecordKind(
        {
            "linkage": ("rank", "n_speakers"),
            "singling_out": ("gallery", "value", "n_speakers"),
            "named_instead": ("gallery", "value", "speaker", "n_tests", "n_speakers"),
        },
        {
            **dict.fromkeys(
                ("rank", "length", "n_tests", "n_speakers", "n_enrolled"), Fact(int, 1)
            ),
            **dict.fromkeys(("utterances_left_out", "not_enrolled"), Fact(int)),
            **dict.fromkeys(("n_distractors", "enrollment_utterances"), Fact(int, 0, False)),
            **dict.fromkeys(("distractors", "refused"), Fact(str, is_needed=False)),
            "genders": Fact(tuple[str, ...], is_needed=False),
        },
        ("enrollment", "trial", "attacker"),
        _OF_SET,
        check=_check_identification,
    ),
    # Error rates by the number of sentences of a test, and their seconds.
    "amounts": RecordKind(
        {"eer|rank1|seconds": ("sentences", "n_speakers", "n_tests")},
        {"averaged": Fact(Literal["vectors", "scores"]), "n_enrolled": Fact(int, 1)},
        ("enrollment", "trial", "attacker"),
        _OF_SET,
    ),
    # What vectors give away about an attribute in all situations, and the risk of the one that is
    # reported; numbers of speakers by label.
    "attributes": RecordKind(
        {
            "attribute_uar|inference_risk": ("situation", "value", "low", "high"),
            "attribute_bits": ("situation", "value"),
        },
        {"classes": Fact(Mapping[str, int], 2), **_UTTERANCES, "speakers_left_out": Fact(int)},
        ("attribute",),
        _OF_SET[:2],
        expected=(
            *({"metric": "attribute_uar", "situation": name} for name in SITUATIONS),
            *({"metric": name} for name in ("attribute_bits", "inference_risk")),
        ),
        check=_check_attributes,
    ),
    # What an audit found: utterances with `original` speech, and how many have which problem.
    "audio": RecordKind(
        {"raw_utterances": ("value",)},
        {
            "original": Fact(str),
            "n_utterances": Fact(int, 1),
            "raw": Fact(tuple[str, ...]),
            "raw_seconds": Fact(float),
            "problems": Fact(Mapping[str, int], 1),
        },
    ),
    # Those of stages of wings.
    "rows": RecordKind(),
}


@dataclass(frozen=True)
class Record:
    """Numbers of a condition, as rows.

    Attributes
    ----------
    kind : str
        Of `KINDS`.
    rows : tuple of mapping
        Measurements: circumstances, metric, value and, where they are known, the ends of the
        interval and counts.
    facts : mapping
        Entries of `RecordKind.facts`.
    remarks : tuple of str
        Warnings about its input files, and what was left out on explicit request.
    curves, curves_sha256 : str or None
        File of its arrays (.npz) below `records/`, and its digest.
    provenance : mapping
        Digests of inputs, options, version.
    described : mapping
        Descriptions, by key, of its metrics that this version does not have.
    stated : mapping
        Further numbers of an imported file by its own names, as fractions: `EER-ci_lower`, of an
        interval over trials, or `UAR-min`, over folds. Never taken for intervals over speakers.
    caveats : mapping
        Reasons why its metrics are uninformative, by key in `metrics.CAVEATS`: always recomputed,
        from metrics and counts, and by `Results` from other records.
    """

    condition: Annotated[Condition, INLINED]
    kind: str
    rows: tuple[Mapping[str, Any], ...]
    facts: Annotated[Mapping[str, Any], SPARSE] = field(default_factory=dict)
    remarks: Annotated[tuple[str, ...], SPARSE] = ()
    curves: Annotated[str | None, SPARSE] = None
    curves_sha256: Annotated[str | None, SPARSE] = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    described: Mapping[str, MetricDescription] = field(default_factory=dict, kw_only=True)
    stated: Annotated[Mapping[str, float], SPARSE] = field(default_factory=dict, kw_only=True)
    caveats: Annotated[Mapping[str, str], SPARSE] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Read the facts that a file holds, and find the caveats of scores."""
        if (kind := KINDS.get(self.kind)) is None:
            raise PrivacyEvalError(f"{self.condition.name}: unknown kind {printable(self.kind)}")
        where = f"{self.condition.system} {self.condition.name}: facts"
        facts = {name: value for name, value in self.facts.items() if value is not None}
        for name in dict.fromkeys((*kind.facts, *facts)):
            if name not in kind.facts or kind.facts[name].is_needed and name not in facts:
                found = "unknown" if name in facts else "missing"
                raise PrivacyEvalError(f"{where}: {found} entry {printable(name)}")
            if name in facts:
                facts[name] = from_plain(kind.facts[name].type, facts[name], f"{where}: {name}")
        object.__setattr__(self, "facts", facts)
        object.__setattr__(self, "rows", tuple(map(_with_infinite, self.rows)))
        where = f"{self.condition.system} {self.condition.name}: rows"
        for row in self.rows:
            if "metric" not in row:
                raise PrivacyEvalError(f"{where}: expected a metric in every row")
            for name, value in row.items():
                _check_plain(name, value, where)
        if self.kind == "verification":
            object.__setattr__(self, "caveats", self._of_scores())

    def _of_scores(self) -> dict[str, str]:
        """Find the caveats of scores."""
        metrics = self.by_variant().values()
        counts = (self.facts.get(name) for name in ("n_target", "n_nontarget"))
        eers = (values[key] for key in EERS[:2] for values in metrics if key in values)
        is_original = self.condition.is_original and self.condition.asv_model == ORIGINAL
        ties = self.facts.get("ties", {})
        caveats = find_caveats(next(eers, None), *counts, is_original=is_original, ties=ties)
        sessions = (r.get("n_target") for r in self.rows if r.get("session") == "enrolled")
        known = {
            INCOMPLETE: self.facts.get("trials_without_score"),
            SAME_SESSION: next(sessions, None) == self.facts.get("n_target", math.nan),
            STATED: self.stated,
        }
        return caveats | {key: CAVEATS[key].reason for key, is_there in known.items() if is_there}

    @functools.cached_property
    def measurements(self) -> Measurements:
        """Its rows as a table."""
        return Measurements.of(self.rows)

    def find(self, metric: str, **where: object) -> Row:
        """Return the first row of a metric with certain values, None for a blank; an empty one if
        there is none."""
        return self.measurements.find(metric=metric, **where) or {}

    def by_variant(self) -> Mapping[str, Mapping[str, float]]:
        """Return the values of whole sets by variant; the key is "" if there are no variants."""
        return self._by_variant

    @functools.cached_property
    def _by_variant(self) -> Mapping[str, Mapping[str, float]]:
        found: dict[str, dict[str, float]] = {}
        for row in self.rows:
            if "value" in row and row.keys().isdisjoint(WHOLE):
                found.setdefault(row.get("variant", _NO_VARIANT), {})[row["metric"]] = row["value"]
        return found

    def values(self, variant: str = _NO_VARIANT) -> Mapping[str, float]:
        """Return the values of whole sets of a variant, or of the only one stored."""
        return _select_variant(self.by_variant(), variant, {})

    def intervals(self, variant: str = _NO_VARIANT) -> Mapping[str, tuple[float, float]]:
        """Return the 95 % bounds of the values of whole sets, as `values`."""
        found: dict[str, dict[str, tuple[float, float]]] = {}
        for row in self.rows:
            if "low" in row and row.keys().isdisjoint(WHOLE):
                of_variant = found.setdefault(row.get("variant", _NO_VARIANT), {})
                of_variant[row["metric"]] = row["low"], row["high"]
        return _select_variant(found, variant, {})

    @property
    def has_intervals(self) -> bool:
        """Whether any value of whole sets has an interval."""
        return any("low" in row and row.keys().isdisjoint(WHOLE) for row in self.rows)

    @property
    def tags(self) -> Mapping[str, str]:
        """The ZEBRA categories, by variant."""
        return {row["variant"]: row["tag"] for row in self.rows if "tag" in row}

    def tag(self, variant: Variant) -> str | None:
        """Return the ZEBRA category of a variant, or of the only one stored; None of implausible
        scores."""
        if self.caveat("zebra_individual") is not None:
            return None
        return _select_variant(self.tags, variant, None)

    def caveat(self, metric: str, variant: str = _NO_VARIANT) -> Caveat | None:
        """Return the caveat for which a value must be neither ranked nor graded."""
        return withholding_caveat(self.caveats_of(variant), metric)

    def caveats_of(self, variant: str) -> Mapping[str, str]:
        """Return the caveats of the values of a variant, or of the only one stored; all for ""."""
        stored = _select_variant({v: v for v in self.by_variant()}, variant, variant)
        return caveats_of(self.caveats, stored)

    def with_caveats(self, caveats: Mapping[str, str]) -> Record:
        """Return the record with caveats that follow from other records."""
        record = copy.copy(self)
        object.__setattr__(record, "caveats", caveats)
        return record

    def of_held_system(self, key: str) -> Record:
        """Return the record with a caveat of its system, if that concerns it."""
        if key == INVERTED_ORIGINAL:
            is_concerned = self.caveat(EERS[0]) is None
        else:
            is_concerned = ANONYMIZED in (self.condition.enrollment, self.condition.trial)
        caveats = {key: CAVEATS[key].reason, **self.caveats}
        return self.with_caveats(caveats) if is_concerned else self

    @property
    def scores_file(self) -> Mapping[str, Any]:
        """Path and SHA-256 of the scores file; empty if unknown."""
        return input_of(self.provenance, "scores")

    @property
    def left_out(self) -> int:
        """Trials and scores that were left out on request."""
        names = ("trials_without_score", "scores_without_trial")
        return sum(self.facts.get(name, 0) for name in names)

    def with_facts(self, **facts: object) -> Record:
        """Return the record with other facts, without those that are None, and without the caveats
        that follow from other records."""
        return replace(self, facts={**self.facts, **facts})

    def speaker_sums(self, key: str) -> SpeakerSums | None:
        """Return the counts of speakers from which replicates of a value are drawn, if known."""
        of = self.facts.get("speakers")
        return of.sums if isinstance(of, SpeakerErrors) else (of or {}).get(key)

    def keys(self) -> set[str]:
        """Return the keys of its metrics."""
        return {str(row.get("metric", "")) for row in self.rows}

    def metric(self, key: str) -> Metric:
        """Return the entry of a metric, as this version or the record describes it."""
        return self.described[key].metric(key) if key in self.described else metric_of(key)

    def with_descriptions(self, described: Mapping[str, MetricDescription]) -> Record:
        """Return the record with the descriptions of its metrics."""
        of_record = {key: described[key] for key in sorted(self.keys() & described.keys())}
        return replace(self, described=of_record) if of_record else self

    @property
    def entries(self) -> Mapping[str, Any]:
        """Its fields, those of its condition, and its facts, by name."""
        return {**vars(self), **vars(self.condition), **self.facts}

    def place(self) -> Place:
        """Return the place of the record in its protocol."""
        condition = vars(self.condition)
        return tuple(condition[name] for name in KINDS[self.kind].place)

    def identity(self) -> tuple[str, ...]:
        """Return what distinguishes the record from others of its kind in a results folder."""
        entries = self.entries
        return *self.place(), *(str(entries[name]) for name in KINDS[self.kind].identity)

    def names(self) -> tuple[str, ...]:
        """Return the names that are printed."""
        texts = (entry for row in self.rows for pair in row.items() for entry in pair)
        of_facts = itertools.chain.from_iterable(map(_texts_of, self.facts.values()))
        named = (text for text in (*texts, *of_facts) if isinstance(text, str))
        own = (self.condition.system, self.condition.name)
        remarks = self.remarks if self.kind != "verification" else ()  # that name files
        return *own, *self.stated, *remarks, *named

    def check(self) -> None:
        """Check names and counts, and that metrics are known and within their range."""
        c = self.condition
        if not c.system:
            raise PrivacyEvalError(f"{c.name}: the system has no name")
        for name in dict.fromkeys(self.names()):
            check_name(name, f"record of {printable(c.system)}")
        where = f"{c.system} {c.name}"
        _check_rates(self.stated.values(), f"{where}: stated")
        self.check_values(where)

    def check_values(self, where: str) -> None:
        """Check facts and rows; `where` begins the message of any error."""
        kind, identities = KINDS[self.kind], set()
        for name, value in self.facts.items():
            of_type, least, _ = kind.facts[name]
            for number in value.values() if isinstance(value, Mapping) else (value,):
                if (
                    of_type is not bool
                    and isinstance(number, int | float)
                    and not least <= number < math.inf
                ):
                    raise PrivacyEvalError(f"{where}: {name}: {number} is less than {least}")
            if name == "classes" and len(value) < 2:
                raise PrivacyEvalError(f"{where}: expected two classes")
        for row in self.rows:
            self._check_row(kind, row, where)
            counted = (*_NUMBERS, *COUNTS, "unit")
            identity = tuple(sorted((n, str(v)) for n, v in row.items() if n not in counted))
            if identity in identities or "system" in row:
                of = ", ".join("=".join(pair) for pair in identity)
                raise PrivacyEvalError(f"{where}: rows: two of {of}, or of another system")
            identities.add(identity)
        for expected in kind.expected:
            if self.measurements.find(**expected) is None:
                raise PrivacyEvalError(
                    f"{where}: rows: expected one of {' '.join(filter(None, expected.values()))}"
                )
        whole = [key for key, m in METRICS.items() if m.kind in kind.metrics]
        if whole and self.kind != "verification":
            if not any(self.by_variant().values()):
                raise PrivacyEvalError(f"{where}: expected {' or '.join(whole)}")
        if kind.check:
            kind.check(self, where)

    def _check_row(self, kind: RecordKind, row: Row, where: str) -> None:
        """Check columns and numbers of a row."""
        key = row.get("metric", "")
        names = key, self.described.get(key, metric_of(key)).kind
        of_metric = (w for of, w in kind.metrics.items() if any(re.fullmatch(of, n) for n in names))
        wanted = next(of_metric, None)
        if not (key in self.described or is_known(key)) or wanted is None:
            raise PrivacyEvalError(f"{where}: rows: unknown metric {key!r}{OR_ABSENT}")
        if lacking := [name for name in wanted if name not in row]:
            raise PrivacyEvalError(f"{where}: rows: {key}: no {', '.join(lacking)}")
        if self.kind != "rows" and row.get("variant", VARIANTS[0]) not in VARIANTS:
            raise PrivacyEvalError(f"{where}: unknown value {row['variant']} {key}")
        low, high = self.described.get(key, metric_of(key)).range
        low = -high if "against" in row else low  # a difference
        for number in (row[name] for name in ("value", "low", "high") if name in row):
            if not low - _SLACK <= number <= high + _SLACK:
                raise PrivacyEvalError(
                    f"{where}: {key}: {number:g} is not within {low:g} to {high:g}"
                )
        low, high = row.get("low", math.inf), row.get("high", -math.inf)
        if row.keys() & {"low", "high"} and low > high:
            raise PrivacyEvalError(f"{where}: {key}: expected an interval with low <= high")
        for name in row.keys() & {*COUNTS}:
            _check_count(row[name], 0, f"{where}: {key}: {name}")


def _texts_of(value: object) -> Iterable[object]:
    """List a fact, what it has, or its names."""
    return value if isinstance(value, Mapping | tuple) else (value,)


def folds_of(record: Record) -> dict[str, dict[str, float]]:
    """Return the values of folds by fold and metric."""
    folds: dict[str, dict[str, float]] = {}
    for row in record.measurements.select(fold=PRESENT):
        folds.setdefault(row["fold"], {})[row["metric"]] = row["value"]
    return folds


def _with_infinite(row: Row) -> Row:
    """Return a row with infinite numbers for their names in a file."""
    named = [n for n, v in row.items() if v in ("inf", "-inf") and TYPES.get(n) is float]
    return {**row, **{name: float(row[name]) for name in named}} if named else row


def _check_plain(name: str, value: object, where: str) -> None:
    """Check the name of a column and a value of it."""
    if not name.isidentifier():
        raise PrivacyEvalError(f"{where}: {name!r}: expected names of columns")
    wanted: Any = TYPES.get(name)
    allowed = {float: (int, float), None: (*_PLAIN,)}.get(wanted, (wanted,))
    if type(value) not in allowed:
        expected = _PLAIN.get(wanted, "text or a number")
        remedy = "; leave out what has no value" * (value is None)
        found = printable(repr(value))[:80]
        raise PrivacyEvalError(f"{where}: {name}: expected {expected}, found {found}{remedy}")
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        raise PrivacyEvalError(f"{where}: {name}: a number is too large")


def _check_rates(values: Iterable[float | None], where: str) -> None:
    if any(value is not None and not -_SLACK <= value <= 1 + _SLACK for value in values):
        raise PrivacyEvalError(f"{where}: a rate is not within 0 to 1")


def _select_variant(stored: Mapping[str, T], variant: str, default: T) -> T:
    """Return what is stored of a variant, or of the only one."""
    if variant in stored or len(stored) != 1:
        return stored.get(variant, default)
    return next(iter(stored.values()))


@dataclass(frozen=True)
class Results(Printed):
    """Records of one or more systems under one protocol.

    Attributes
    ----------
    protocol : Protocol
    verification, recognition, utility, similarity, identification : tuples of records
    emotion, measures, amounts, attributes, audio, rows : tuples of records
    not_evaluated : tuple of str
        Conditions that were left out on request, each with the reason.
    failed : mapping
        What failed of each system, with the reason: averages that lack a value of it are blank.
    day : str
        When they were collected; "" in files of before it was stored.
    confirmed : mapping
        Days of `--confirm`, by what it named: systems, teams or original speech, of all data sets
        or of one.
    confirmations : mapping
        Days by the values, or files of scores, whose caveats it ended.
    speaker_key : str
        Id of the key that tells who S1, S2, ... are; "" where speakers are named.
    """

    protocol: Protocol
    verification: tuple[Record, ...] = ()
    recognition: tuple[Record, ...] = ()
    utility: tuple[Record, ...] = ()
    similarity: tuple[Record, ...] = ()
    identification: tuple[Record, ...] = ()
    not_evaluated: tuple[str, ...] = ()
    emotion: tuple[Record, ...] = ()
    measures: Annotated[tuple[Record, ...], SPARSE] = ()
    amounts: Annotated[tuple[Record, ...], SPARSE] = ()
    attributes: Annotated[tuple[Record, ...], SPARSE] = ()
    audio: Annotated[tuple[Record, ...], SPARSE] = ()
    rows: Annotated[tuple[Record, ...], SPARSE] = ()
    failed: Annotated[Mapping[str, tuple[str, ...]], SPARSE] = field(default_factory=dict)
    day: Annotated[str, SPARSE] = ""
    confirmed: Annotated[Mapping[str, str], SPARSE] = field(default_factory=dict)
    confirmations: Annotated[Mapping[str, str], SPARSE] = field(init=False, default_factory=dict)
    speaker_key: Annotated[str, SPARSE] = ""

    def __post_init__(self) -> None:
        """Name the attacker in records of before there were several, and add the caveats of records
        that follow from others, unless they are confirmed."""
        for kind in ("verification", "identification", "amounts"):
            own, named = {"attacker": self.protocol.own_attacker}, []
            for r in getattr(self, kind):
                c = r.condition
                named.append(r if c.attacker else replace(r, condition=replace(c, **own)))
            object.__setattr__(self, kind, tuple(named))
        inverted = {
            r.condition.system
            for r in self.verification
            if r.condition.is_original
            and r.condition.is_by_challenge
            and r.caveat(EERS[0]) not in (None, CAVEATS["few_trials"])
        }
        records = self.verification
        for key, systems in (
            (INVERTED_ORIGINAL, inverted),
            (RAW_SPEECH, self.raw_systems),
            (SAME_SCORES, held_back(self)),
        ):
            records = tuple(
                r.of_held_system(key) if r.condition.system in systems else r for r in records
            )
        found = utility_caveats(self)
        kinds = {k: getattr(self, k) for k in ("recognition", "emotion", "measures")}
        for kind, unmarked in (*kinds.items(), ("verification", records)):
            marked, ended = with_found(unmarked, found, self.confirmed)
            object.__setattr__(self, kind, marked)
            object.__setattr__(self, "confirmations", {**self.confirmations, **ended})
        records = tuple(_with_overestimates(self.verification, self.protocol))
        object.__setattr__(self, "verification", records)

    def confirm(self, names: Collection[str], since: Mapping[str, str] | None = None) -> Results:
        """Return the results without the caveats that the user confirms.

        Parameters
        ----------
        names : collection of str
            `NAME` or `NAME:DATA_SET`, of a system, a team or `original`.
        since : mapping, optional
            Days by names that were confirmed before; by default as in these results.

        Returns
        -------
        Results
            Names that end no caveat are not recorded; an `InputWarning` tells those that would.

        Examples
        --------
        >>> from privacy_eval.protocol.protocol import load_protocol
        >>> Results(load_protocol("vpc2020")).confirm([]).confirmed
        {}
        """
        if not names:
            return self
        marked = replace(self, confirmed={})
        ended = {
            tuple(names_of(r, key))
            for r in marked.records()
            for key in r.caveats
            if CAVEATS[key].confirmable
        }
        known = {name for of in ended for name in of}
        for name in names:
            if name not in known:
                there = abbreviate(sorted({of[0] for of in ended})) or "none"
                text = f"--confirm {name}: ends nothing; names that end something: {there}"
                warnings.warn(text, InputWarning, stacklevel=2)
        since = {**self.confirmed, **(since or {})}
        days = {name: since.get(name, today()) for name in names if name in known}
        return replace(marked, confirmed={**self.confirmed, **days})

    @property
    def held(self) -> dict[str, Caveat]:
        """The caveats of systems of which no value is ranked."""
        return {
            r.condition.system: CAVEATS[key]
            for r in self.verification
            for key in (SAME_SCORES, RAW_SPEECH)
            if key in r.caveats
        }

    @property
    def failures(self) -> list[str]:
        """What failed, with the reason."""
        return list(dict.fromkeys(line for lines in self.failed.values() for line in lines))

    @property
    def raw_systems(self) -> set[str]:
        """Names of the systems in whose anonymized audio original speech was found."""
        return {r.condition.system for r in self.audio if r.facts["raw"]}

    @property
    def systems(self) -> list[str]:
        """Names of the systems, in the order of their first records."""
        return list(dict.fromkeys(r.condition.system for r in self.records()))

    @functools.cached_property
    def _of(self) -> Mapping[str, dict[str, list[Record]]]:
        """The records of each system, by kind."""
        found: defaultdict[str, dict[str, list[Record]]] = defaultdict(
            lambda: {kind: [] for kind in KINDS}
        )
        for kind in KINDS:
            for record in getattr(self, kind):
                found[record.condition.system][kind].append(record)
        return found

    def results_folders(self, system: str) -> list[str]:
        """List the suffixes of the results folders with records of a system."""
        return sorted({r.condition.results_folder for of in self._of[system].values() for r in of})

    def of(self, system: str, results_folder: str | None = None) -> Results:
        """Select the records of one system, or of one of its results folders."""

        def selected(record: Record) -> bool:
            return results_folder in (None, record.condition.results_folder)

        kept: dict[str, Any] = {k: getattr(self, k) for k in ("day", "confirmed", "speaker_key")}
        kept |= {kind: tuple(filter(selected, self._of[system][kind])) for kind in KINDS}
        kept["failed"] = {system: self.failed[system]} if system in self.failed else {}
        return Results(self.protocol, **kept)

    def by_challenge(self) -> Results:
        """Return the results without verification by other attackers than the challenge's own."""
        own = tuple(r for r in self.verification if r.condition.is_by_challenge)
        return self if own == self.verification else replace(self, verification=own)

    def selected(self, systems: Sequence[str]) -> Results:
        """Select systems, in this order; raise an error for one without records."""
        for name in systems:
            if name not in self.systems:
                raise PrivacyEvalError(
                    f"no system {printable(name)} in the results: {abbreviate(self.systems)}"
                )
        return merge([self.of(name) for name in dict.fromkeys(systems)])

    def with_descriptions(self, described: Mapping[str, MetricDescription]) -> Results:
        """Return the records with the descriptions of their metrics."""
        kinds: dict[str, Any] = {
            kind: tuple(record.with_descriptions(described) for record in getattr(self, kind))
            for kind in KINDS
        }
        return replace(self, **kinds)

    def under(self, protocol: Protocol) -> Results:
        """Return the records under another protocol, checked; simulated ones stay so."""
        protocol = protocol.simulated() if self.protocol.is_simulated else protocol
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
        places = {name: kind.places(protocol) for name, kind in KINDS.items()}
        suffixes = {f.suffix for f in protocol.results_folders}
        unique: set[tuple[object, ...]] = set()
        for name, r in ((n, r) for n in KINDS for r in getattr(self, n)):
            c = r.condition
            r.check()
            if r.kind != name:
                raise PrivacyEvalError(f"{c.system} {c.name}: {r.kind} among {name}")
            columns = (*KINDS[name].place, *KINDS[name].identity)
            named = [*zip(columns, r.identity(), strict=True)]
            speech = {r.entries.get(name) for name in _SPEECH_ENTRIES}
            unmatched = [f"no {column}" for column, of in named if not of]
            unmatched += sorted(str(word) for word in speech - {None, "", *SPEECH})
            model = r.entries.get("language_model")
            if model is not None and model not in protocol.recognition.language_models:
                unmatched.append(f"language model {model}")
            if r.place() not in places[name] or unmatched or c.results_folder not in suffixes:
                wrong = ", ".join(filter(None, (*r.place(), *unmatched)))
                raise PrivacyEvalError(
                    f"record of {c.system} does not fit protocol {protocol.name} (unknown data "
                    f"set, split, gender or results folder): {wrong}, results folder "
                    f"{c.results_folder!r}"
                )
            identity = (name, c.system, c.results_folder, r.identity())
            if identity in unique and name != "recognition":
                raise PrivacyEvalError(f"{c.system} {c.name}: duplicate {', '.join(r.identity())}")
            unique.add(identity)

    @property
    def described(self) -> dict[str, MetricDescription]:
        """Descriptions, by key, of the metrics that this version does not have.

        Raises
        ------
        PrivacyEvalError
            Two systems describe a metric differently.
        """
        described: dict[str, MetricDescription] = {}
        systems: dict[str, str] = {}
        for r in self.records():
            for key, description in r.described.items():
                system = systems.setdefault(key, r.condition.system)
                if described.setdefault(key, description) != description:
                    raise PrivacyEvalError(
                        f"metric {key!r}: the results of {system} describe it otherwise than "
                        f"those of {r.condition.system} (unit, title, range, ...)"
                    )
        return described

    def records(self) -> Iterator[Record]:
        """Iterate over all records, kind by kind."""
        for kind in KINDS:
            yield from getattr(self, kind)

    @functools.cached_property
    def measurements(self) -> Measurements:
        """All numbers as rows of one table."""
        return measurements_of(self.records())

    def to_rows(self) -> list[dict[str, Any]]:
        """List the numbers as rows, without blanks."""
        return self.measurements.to_rows()

    def to_frame(self) -> Any:
        """Make a data frame of pandas, which must be installed."""
        return self.measurements.to_frame()

    def __repr__(self) -> str:
        numbers = {kind: len(getattr(self, kind)) for kind in KINDS}
        counts = [f"{number} {kind}" for kind, number in numbers.items() if number]
        systems = abbreviate(self.systems) if self.systems else "no systems"
        return f"Results({self.protocol.name}: {systems}; records: {', '.join(counts) or 'none'})"

    @property
    def heading(self) -> str:
        return repr(self)

    def cells(self) -> list[dict[str, str]]:
        """List the EERs of anonymized speech."""
        eer, variant = METRICS[self.protocol.eer], self.protocol.variant
        attacks = {a.id: a.title for a in self.protocol.attack_models}
        return [
            {
                "system": r.condition.system,
                "condition": r.condition.name,
                "attack model": attacks.get(r.condition.attack_model or "", ""),
                "EER, %": marked_text(eer.format(r.values(variant)[eer.key]), r.caveat(eer.key)),
            }
            for r in self.verification
            if not r.condition.is_original
            and r.condition.is_by_challenge
            and eer.key in r.values(variant)
        ]


#: Entries that are `original` or `anonymized` (or None).
_SPEECH_ENTRIES = ("enrollment", "trial", "asv_model", "asr_model")


def _check_count(count: int | None, least: int, where: str) -> None:
    if count is not None and count < least:
        raise PrivacyEvalError(f"{where}: {count} is less than {least}")


#: Records of other attackers, by the caveat that their lower EER leads to.
Others = Mapping[str, list[Record]]


def _with_overestimates(records: Iterable[Record], protocol: Protocol) -> Iterator[Record]:
    """Add caveats to records with a higher EER than the words alone, or than an aligned or
    normalized variant of the same attacker: by the paired difference of their replicates where it
    is known, else by the values, which the caveat says."""
    for record, others in compared_attackers(tuple(records), protocol):
        caveats = {}
        for key, of_key in others.items():
            if stronger := [o for o in of_key if _is_above(record, o, protocol)]:
                lowest = min(stronger, key=lambda o: _eer(o, protocol))
                attacker, eer = lowest.condition.attacker, _eer(lowest, protocol)
                bounds = record.facts.get("above", {}).get(attacker)
                caveats[key] = overestimate_reason(key, protocol.eer, eer, bounds, attacker)
        yield record.with_caveats({**record.caveats, **caveats}) if caveats else record


def compared_attackers(
    records: tuple[Record, ...], protocol: Protocol
) -> Iterator[tuple[Record, Others]]:
    """Yield every record with those of attackers who should not be stronger: who reads the words of
    the same trial set, who compares the spectra of the same speech, and variants of the same
    attacker in the same condition."""
    by_words, by_spectrum = protocol.word_attackers, protocol.spectrum_attackers
    knowing = protocol.knowing_words
    of_words: dict[tuple[str, ...], list[Record]] = {}
    of_spectrum: dict[tuple[str, ...], list[Record]] = {}
    of_condition: dict[tuple[str, ...], list[Record]] = {}
    for r in records:
        if r.caveat(protocol.eer) is None and protocol.eer in r.values(protocol.variant):
            of_condition.setdefault(_shared_condition(r), []).append(r)
            if r.condition.attacker in by_words:
                of_words.setdefault((r.condition.system, *r.place()), []).append(r)
            if r.condition.attacker in by_spectrum:
                of_spectrum.setdefault(_shared_speech(r), []).append(r)
    for r in records:
        attacker, is_original = r.condition.attacker, r.condition.trial == ORIGINAL
        if is_original or protocol.eer not in r.values(protocol.variant):
            yield r, {}
            continue
        beside = of_condition.get(_shared_condition(r), [])
        variants = [o for o in beside if protocol.is_variant(o.condition.attacker, attacker)]
        words = of_words.get((r.condition.system, *r.place()), [])
        spectra = of_spectrum.get(_shared_speech(r), [])
        yield (
            r,
            {
                WEAKER_THAN_WORDS: words if attacker not in knowing else [],
                WEAKER_THAN_SPECTRUM: spectra if attacker not in {*knowing, *by_spectrum} else [],
                WEAKER_THAN_VARIANT: variants,
            },
        )


def _shared_condition(record: Record) -> tuple[str, ...]:
    """Return what all attackers of a condition share."""
    c = record.condition
    return c.system, c.results_folder, *record.place(), c.enrollment, c.trial, c.asv_model


def _shared_speech(record: Record) -> tuple[str, ...]:
    """Return what the attackers of the same speech share, whatever they have learnt."""
    c = record.condition
    return c.system, *record.place(), c.enrollment, c.trial


def _eer(record: Record, protocol: Protocol) -> float:
    return record.values(protocol.variant)[protocol.eer]


def _is_above(record: Record, other: Record, protocol: Protocol) -> bool:
    bounds = record.facts.get("above", {}).get(other.condition.attacker)
    return is_weaker(_eer(record, protocol), _eer(other, protocol), bounds)


def _check_speaker_sums(of: SpeakerSums, where: str) -> None:
    """Check the counts and sums of speakers, and that replicates can be drawn."""
    if not len(set(of.speakers)) == len(of.speakers) == len(of.counts) == len(of.sums):
        raise PrivacyEvalError(f"{where}: expected counts and sums of distinct speakers")
    for name in of.speakers:
        check_name(name, where)
    for count in (*of.counts, of.seed):
        _check_count(count, 0, where)
    if sum(n > 0 for n in of.counts) < 2 or not 2 <= of.replicates <= MOST_REPLICATES:
        raise PrivacyEvalError(
            f"{where}: expected counts of two speakers, and 2 to {MOST_REPLICATES} replicates"
        )


def _check_bounds(intervals: Iterable[Sequence[float]], where: str) -> None:
    if any(len(i) != 2 or i[0] > i[1] for i in intervals):
        raise PrivacyEvalError(f"{where}: expected an interval [low, high] with low <= high")


def merge(parts: Iterable[Results]) -> Results:
    """Merge the results of several files under one protocol.

    Raises
    ------
    PrivacyEvalError
        Different protocols; a condition of one system in two files.
    """
    parts = list(parts)
    genders = {g: title for part in parts for g, title in part.protocol.genders.items()}
    remarks = tuple(dict.fromkeys(text for part in parts for text in part.protocol.remarks))
    protocols = [replace(part.protocol.with_parts(genders), remarks=remarks) for part in parts]
    protocol = max(protocols, key=lambda p: len(p.attackers))
    if differ := {
        f"{f.name}: {a} / {b}" if isinstance(a, str) else f.name: None
        for f, p in itertools.product(fields(protocol), protocols)
        if (a := getattr(protocol, f.name)) != (b := getattr(p, f.name)) and f.name != "attackers"
    }:
        of_systems = {f"{', '.join(part.systems)}: {part.protocol.name}": None for part in parts}
        raise PrivacyEvalError(
            "results under different protocols cannot be merged, as editions differ in data and "
            f"attackers; show each alone ({'; '.join(of_systems)}): {abbreviate([*differ])} differ"
        )
    seen: dict[tuple[object, ...], int] = {}
    for number, part in enumerate(parts):
        for r in part.records():
            c = r.condition
            place = (r.kind, c.system, c.results_folder, c.name, getattr(c, "attacker", ""))
            if seen.setdefault(place, number) != number:
                raise PrivacyEvalError(
                    f"system {c.system!r}: duplicate {c.name} in two results files"
                )
    combined: dict[str, Any] = {
        name: tuple(entry for part in parts for entry in getattr(part, name))
        for name in (*KINDS, "not_evaluated")
    }
    # Who confirmed values of one file has not seen those of the others.
    shared = set.intersection(*({*part.confirmed.items()} for part in parts))
    failed: dict[str, tuple[str, ...]] = {}
    for system, lines in (item for part in parts for item in part.failed.items()):
        failed[system] = tuple(dict.fromkeys((*failed.get(system, ()), *lines)))
    combined["failed"] = failed
    combined["day"] = max(part.day for part in parts)
    keys = sorted({part.speaker_key for part in parts})
    combined["speaker_key"] = "+".join(keys) if all(keys) else ""  # numbered only if all are
    results = Results(protocol, **combined, confirmed=dict(sorted(shared)))
    _ = results.described
    return results
