"""results.csv and speakers.csv."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from ..io.csv_text import csv_text
from ..io.schema import to_plain
from ..metrics import CAVEATS, METRICS
from ..metrics.similarity import SpeakerSimilarity
from ..tree.conditions import SetCondition
from .records import (
    AnyRecord,
    EmotionRecord,
    IdentificationRecord,
    RecognitionRecord,
    Results,
    VerificationRecord,
    by_variant,
)

CSV_COLUMNS = tuple(
    (
        "system results_folder name data_set split gender enrollment trial model attack_model "
        "n_target n_nontarget trials_without_score scores_without_trial variant metric unit value "
        "low_95 high_95 caveat"
    ).split()
)


def to_csv(results: Results) -> str:
    """Write results.csv: one line per value, with its unit."""
    rows = (
        [row.get(name) for name in CSV_COLUMNS]
        for record in results.records()
        for row in _csv_rows(record)
    )
    return csv_text([CSV_COLUMNS, *rows])


def _csv_rows(record: AnyRecord) -> Iterator[dict[str, object]]:
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
        for number, size in enumerate(record.sizes):
            low, high = record.intervals[number] if record.intervals else (None, None)
            yield {
                **shared,
                "metric": f"linkage_{size}",
                "value": record.linkage[number],
                "low_95": low,
                "high_95": high,
            }
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


def speakers_csv(speakers: Iterable[tuple[Mapping[str, str], SpeakerSimilarity]]) -> str:
    """Write a line for each speaker, after the columns that identify the trial set."""
    rows = [{**identity, **to_plain(speaker)} for identity, speaker in speakers]
    columns = [f.name for kind in (SetCondition, SpeakerSimilarity) for f in fields(kind)]
    return csv_text([list(rows[0]) if rows else columns, *(row.values() for row in rows)])


def to_speakers_csv(results: Results) -> str:
    """Write speakers.csv: every speaker of every trial set, the least protected first."""
    return speakers_csv(
        (to_plain(r.condition), speaker) for r in results.similarity for speaker in r.speakers
    )
