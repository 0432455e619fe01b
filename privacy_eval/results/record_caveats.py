"""Caveats of records that follow from other records: recognition that cannot be right, and score
files that two systems have. Who knows that they are right confirms them by name (`--confirm`)."""

from __future__ import annotations

import functools
import os
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple, TypeAlias

from ..choices import grouped
from ..errors import abbreviate, counted
from ..metrics import CAVEATS
from ..metrics.caveats import (
    FAR_SET,
    IMPLAUSIBLE_ORIGINAL,
    IMPLAUSIBLE_SET,
    LEVEL,
    MANY_INSERTIONS,
    MOST_LEVEL_DIFFERENCE,
    OTHER_LEVEL,
    OTHER_WORDS,
    PARTIAL,
    RATED_ABOVE,
    SAME_SCORES,
    WORSE_ORIGINAL,
)
from ..protocol.protocol import ANONYMIZED, ORIGINAL, SPEECH
from ..protocol.published import load_systems, published_names
from .measurements import PRESENT

#: Any of the records of `records`, which imports this module, and its `Results`.
Record: TypeAlias = Any
Results: TypeAlias = Any
#: Reasons by the key of the caveat, by the `id` of the record.
Found = dict[int, dict[str, str]]


#: By metric, the highest plausible error of original speech (None: that of guessing), and how many
#: times that of anonymized speech it may be; the error of a recall is what it lacks to 1.
#: Published WER of original speech: at most 12.8 %, and 1.23 times that of anonymized speech (VCTK,
#: 2022); 25.4 % of IEMOCAP in result files of 2024. UAR: 69 to 79 %, 13 points above that of
#: anonymized speech. No PER is published; pronunciations of transcripts have errors of their own.
LIMITS = {"wer": (0.5, 1.5), "per": (0.75, 1.5), "per_original": (0.75, 1.5), "uar": (None, 1.0)}
#: Error of original speech above that of anonymized speech that may be, and recall above guessing
#: by chance: three standard deviations with 700 utterances.
POINTS = 0.05
#: A set is far from the others above this multiple of their median, and above this error rate.
#: Published: 3.4 times (VCTK, original, 2022) at 12.8 %, 2.6 times (French, BM2, 2026) at 52 %.
FAR_RATIO, FAR_ERROR = 5.0, 0.3
#: Difference of opinion scores (1 to 5) that a caution is worth.
RATED_POINTS = 0.1


class _Value(NamedTuple):
    """A value of a record; `error` is higher for worse recognition, and for better opinions."""

    record: Record
    metric: str
    error: float
    series: tuple[str, ...]  # what data sets share whose values are comparable
    speech: str

    @property
    def of_set(self) -> tuple[str, ...]:
        return *self.series, *self.record.place()


def _values(records: Iterable[Record]) -> Iterator[_Value]:
    for r in records:
        c, model = r.condition, str(r.facts.get("language_model"))
        # A recognizer of anonymized speech may be worse on original speech.
        if c.trial == ANONYMIZED or r.facts.get("asr_model") != ANONYMIZED:
            for metric, value in r.values().items():
                error = 1 - value if metric == "uar" else value
                yield _Value(r, metric, error, (c.system, metric, model), c.trial)


def utility_caveats(results: Results) -> Found:
    """Find the caveats of recognition and of measures of speech."""
    found: Found = {}

    def add(record: Record, key: str, text: str = "") -> None:
        reason = CAVEATS[key].reason
        found.setdefault(id(record), {}).setdefault(key, f"{reason}: {text}" if text else reason)

    for r, text in _unusual_word_counts(results.recognition):
        add(r, OTHER_WORDS, text)
    for r in results.recognition:
        if r.facts.get("partial"):
            add(r, PARTIAL)
    values = list(_values((*results.recognition, *results.emotion, *results.measures)))
    series = grouped(values, lambda v: (v.series, v.speech))
    for of_set in grouped(values, lambda v: v.of_set).values():
        original, anonymized = ([v for v in of_set if v.speech == speech] for speech in SPEECH)
        metric, errors = of_set[0].metric, [v.error for v in original]
        if metric.startswith("dnsmos_"):
            for v in (v for v in anonymized if errors and v.error > errors[0] + RATED_POINTS):
                scores = f"{v.record.metric(metric).name} {v.error:.2f}, original {errors[0]:.2f}"
                add(v.record, RATED_ABOVE, f"{v.record.condition.name} {scores}")
        elif metric == LEVEL:
            for v in anonymized if original else ():
                if abs(louder := v.error - errors[0]) > MOST_LEVEL_DIFFERENCE:
                    add(v.record, OTHER_LEVEL, f"{v.record.condition.name} {louder:+.1f} dB")
        elif metric in LIMITS:
            least = min((v.error for v in anonymized), default=1.0)
            for v in original:
                if key := _implausible(v, least) or _far_from(series[v.series, v.speech], v):
                    add(v.record, key)
                    for other in anonymized:
                        add(other.record, IMPLAUSIBLE_ORIGINAL)
            for v in anonymized:
                is_far = _far_from(series[v.series, v.speech], v, *errors[:1])
                if key := is_far or MANY_INSERTIONS * (v.error > 1):
                    add(v.record, key)
    return found


def _implausible(v: _Value, least: float) -> str:
    """Return the caveat of a value of original speech; "" if it is plausible. `least`: the least
    error of anonymized speech."""
    highest, ratio = LIMITS[v.metric]
    if v.error > (_guessing(v.record) if highest is None else highest):
        return IMPLAUSIBLE_SET
    return WORSE_ORIGINAL * (v.error > max(ratio * least, least + POINTS))


def _guessing(record: Record) -> float:
    """Return the error of guessing one of the classes, less what chance may add to the recall."""
    classes = sum(key.startswith("acc_") for key in record.values()) or 4
    folds = record.measurements.select(metric="uar", fold=PRESENT, value=PRESENT)["value"]
    spread = 2 * statistics.stdev(folds) / len(folds) ** 0.5 if len(folds) > 1 else 0.0
    return 1 - 1 / classes - max(POINTS, spread)


def _far_from(series: Iterable[_Value], v: _Value, own: float = 0.0) -> str:
    """Return the caveat of a set whose error is far above those of the others, and that of its
    original speech (`own`); "" if it is not."""
    others = [o.error for o in series if o.of_set != v.of_set and v.metric != "uar"]
    usual = max(statistics.median(others), own) if others else 1.0
    return FAR_SET * (v.error > max(FAR_ERROR, FAR_RATIO * usual))


def _unusual_word_counts(records: Iterable[Record]) -> Iterator[tuple[Record, str]]:
    """Yield the records whose number of words is not that of most of the same set, described."""
    for of_set in grouped(records, lambda r: r.place()).values():
        counts = ((r.condition, r.facts.get("n_words")) for r in of_set)
        words = {condition: n for condition, n in counts if n is not None}
        frequencies = Counter(words.values())
        usual = max(frequencies, key=lambda n: (frequencies[n], n), default=None)
        for r in of_set:
            if (n := words.get(r.condition, usual)) != usual:
                yield r, f"{r.condition.name}: {n} words, most have {usual}"


def shared_scores(results: Results) -> dict[tuple[str, ...], int]:
    """Count the score files of anonymized speech that are the same, in whatever order and almost
    to the digit, by the systems that have them; the words of all systems are those of original
    speech."""
    owners: dict[object, dict[str, None]] = {}
    for r in results.verification:
        c, sha256 = r.condition, str(r.scores_file.get("sha256", ""))
        by_voice = c.attacker not in results.protocol.word_attackers
        if sha256 and by_voice and not c.is_original:
            # Of 540 published conditions of 2020, none agrees with another system's in EER and both
            # Cllr as printed, in three or four digits.
            of = sorted(r.by_variant().get("exact", {}).items())
            values = r.place(), c.attack_model, [f"{key} {value:.5g}" for key, value in of]
            owners.setdefault(str(values) if of else sha256, {})[c.system] = None
    return Counter(tuple(systems) for systems in owners.values() if len(systems) > 1)


def held_back(results: Results) -> set[str]:
    """Return the systems that have score files of others: of a published one only the others."""
    systems = {s for several in shared_scores(results) for s in several}
    return systems - _published_systems() if systems else systems


@functools.cache
def _published_systems() -> set[str]:
    """Return the names of all published systems and baselines."""
    return {s.id for name in published_names() for s in load_systems(name).systems}


def names_of(record: Record, key: str) -> list[str]:
    """Return the names by which a caveat of a record is confirmed, the most exact first."""
    c = record.condition
    of_original = key == IMPLAUSIBLE_ORIGINAL or _is_original(record)
    owners = [ORIGINAL] if of_original else [c.system, c.system.partition("/")[0]]
    if key == SAME_SCORES:
        return owners
    return [*(f"{owner}:{record.place()[0]}" for owner in owners), *owners]


def with_found(
    records: Iterable[Record], found: Found, confirmed: Mapping[str, str]
) -> tuple[tuple[Record, ...], dict[str, str]]:
    """Add caveats to records, but for those that are confirmed: of these return the days by their
    descriptions."""
    marked, ended = [], {}
    for r in records:
        caveats = {**r.caveats, **found.get(id(r), {})}
        for key in [key for key in caveats if CAVEATS[key].confirmable]:
            if days := [confirmed[name] for name in names_of(r, key) if name in confirmed]:
                del caveats[key]
                ended[described(r, key)] = min(days)
        marked.append(r.with_caveats(caveats) if caveats != r.caveats else r)
    return tuple(marked), ended


def described(record: Record, key: str, systems: str = "") -> str:
    """Describe the values of a record that have a caveat, such as `WER of original speech (B1),
    vctk test (99.50 %)`; `systems`: those that share the value of original speech."""
    c = record.condition
    if key == SAME_SCORES:
        return f"score files of {c.system}"
    if detail := record.caveats.get(key, "").removeprefix(CAVEATS[key].reason):
        return f"{c.system} {detail.removeprefix(': ')}"
    values = record.values()
    name = next((name for name in values if name in LIMITS), next(iter(values)))
    metric, value = record.metric(name), values[name]
    of = f"original speech ({systems or c.system})" if _is_original(record) else c.system
    unit = " %" if metric.percent else ""
    return f"{metric.name} of {of}, {' '.join(record.place())} ({metric.format(value)}{unit})"


def _is_original(record: Record) -> bool:
    return bool(record.condition.trial == ORIGINAL)


def utility_notes(records: Iterable[Record]) -> list[str]:
    """Describe the caveats of records of recognition and measures, each with its values."""
    items: dict[str, dict[str, list[tuple[Record, str]]]] = {}
    for r in records:
        for key in r.caveats:
            reason = CAVEATS[key].reason.replace("NAME:DATA_SET", names_of(r, key)[0])
            items.setdefault(reason, {}).setdefault(described(r, key, "all"), []).append((r, key))
    notes = []
    for reason, alike in items.items():
        systems = [dict.fromkeys(r.condition.system for r, _ in of) for of in alike.values()]
        named = zip(alike.values(), map(abbreviate, map(list, systems)), strict=True)
        notes.append(f"{reason}: {abbreviate([described(*of[0], names) for of, names in named])}")
    return notes


def confirmed_notes(results: Results) -> list[str]:
    """Name what was confirmed, by day: the names that were given, then what they ended."""
    days = grouped(results.confirmations, results.confirmations.__getitem__)
    names = grouped(results.confirmed, results.confirmed.__getitem__)
    return [
        f"Confirmed on {day} by --confirm {', '.join(names.get(day, ()))} "
        f"({counted(len(of), 'value')}): {abbreviate(of)}"
        for day, of in days.items()
    ]


def today() -> str:
    """Return the day (UTC), or that of SOURCE_DATE_EPOCH."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(epoch) if epoch.isdecimal() and len(epoch) < 12 else time.time()
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d")
