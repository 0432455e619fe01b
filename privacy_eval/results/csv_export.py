"""results.csv and speakers.csv."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from ..io.csv_text import csv_text
from ..io.schema import to_plain
from ..metrics import METRICS
from ..metrics.similarity import SpeakerSimilarity
from .records import AnyRecord, Results

CSV_COLUMNS = (
    "system",
    "results_folder",
    "name",
    "data_set",
    "split",
    "gender",
    "enrollment",
    "trial",
    "model",
    "attack_model",
    "n_target",
    "n_nontarget",
    "trials_without_score",
    "scores_without_trial",
    "variant",
    "metric",
    "unit",
    "value",
    "low_95",
    "high_95",
)


def to_csv(results: Results) -> str:
    """results.csv: one line per value, with its unit."""
    rows = ([row.get(name) for name in CSV_COLUMNS] for row in _csv_rows(results))
    return csv_text([CSV_COLUMNS, *rows])


def _csv_rows(results: Results) -> Iterator[dict[str, object]]:
    for v in results.verification:
        shared = {**_columns_of(v), "model": v.condition.asv_model}
        for variant, metrics in v.metrics.items():
            intervals = v.speaker_intervals.get(variant, {})
            for metric, value in metrics.items():
                low, high = intervals.get(metric, (None, None))
                found = {**_value(metric, value, variant), "low_95": low, "high_95": high}
                yield {**shared, **found}
    for r in results.recognition:
        name = f"wer_{r.language_model}" if r.language_model else "wer"
        shared = {**_columns_of(r), "trial": r.condition.speech, "model": r.asr_model}
        yield {**shared, **_value("wer", r.wer), "metric": name}
    for p in results.utility:
        for metric, value in p.values.items():
            yield {**_columns_of(p), **_value(metric, value)}
    for s in results.similarity:
        for variant, metrics in s.metrics.items():
            for metric, value in metrics.items():
                yield {**_columns_of(s), **_value(metric, value, variant)}


def _columns_of(record: AnyRecord) -> dict[str, object]:
    """What a record has of the columns under their names, and its name."""
    condition = record.condition
    return {
        **{c: getattr(record, c) for c in CSV_COLUMNS if hasattr(record, c)},
        **{c: getattr(condition, c) for c in CSV_COLUMNS if hasattr(condition, c)},
    }


def _value(metric: str, value: float, variant: str | None = None) -> dict[str, object]:
    return {"variant": variant, "metric": metric, "unit": METRICS[metric].unit, "value": value}


def speakers_csv(speakers: Iterable[tuple[Mapping[str, str], SpeakerSimilarity]]) -> str:
    """Speakers with the columns that say of which set they are, a line each."""
    rows = [{**place, **to_plain(speaker)} for place, speaker in speakers]
    columns = list(rows[0]) if rows else _SPEAKER_COLUMNS
    return csv_text([columns, *(row.values() for row in rows)])


_SPEAKER_PLACE = ("system", "results_folder", "trial_set", "data_set", "split", "gender")

_SPEAKER_COLUMNS = (*_SPEAKER_PLACE, *(f.name for f in fields(SpeakerSimilarity)))


def to_speakers_csv(results: Results) -> str:
    """speakers.csv: every speaker of every trial set, the least protected first."""
    return speakers_csv(
        ({name: getattr(r.condition, name) for name in _SPEAKER_PLACE}, speaker)
        for r in results.similarity
        for speaker in r.speakers
    )
