"""results.csv and speakers.csv."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from ..io.csv_text import csv_text
from ..io.schema import to_plain
from ..metrics.similarity import SpeakerSimilarity
from .records import (
    UNITS,
    PitchRecord,
    Results,
    SimilarityRecord,
)

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
        shared = {
            "system": v.system,
            "results_folder": v.results_folder,
            "name": v.condition,
            "data_set": v.data_set,
            "split": v.split,
            "gender": v.gender,
            "enrollment": v.enrollment,
            "trial": v.trial,
            "model": v.asv_model,
            "attack_model": v.attack_model,
            "n_target": v.n_target,
            "n_nontarget": v.n_nontarget,
            "trials_without_score": v.trials_without_score,
            "scores_without_trial": v.scores_without_trial,
        }
        for variant, metrics in v.metrics.items():
            intervals = v.speaker_intervals.get(variant, {})
            for metric, value in metrics.items():
                low, high = intervals.get(metric, (None, None))
                yield {
                    **shared,
                    "variant": variant,
                    "metric": metric,
                    "unit": UNITS[metric],
                    "value": value,
                    "low_95": low,
                    "high_95": high,
                }
    for r in results.recognition:
        yield {
            "system": r.system,
            "results_folder": r.results_folder,
            "name": r.name,
            "data_set": r.data_set,
            "split": r.split,
            "trial": r.speech,
            "model": r.asr_model,
            "metric": f"wer_{r.language_model}" if r.language_model else "wer",
            "unit": UNITS["wer"],
            "value": r.wer,
        }
    of_trial_sets: list[tuple[PitchRecord | SimilarityRecord, str | None, Mapping[str, float]]] = [
        *((p, None, p.values) for p in results.pitch),
        *(
            (s, variant, values)
            for s in results.similarity
            for variant, values in s.metrics.items()
        ),
    ]
    for t, of_variant, values in of_trial_sets:
        for metric, value in values.items():
            yield {
                "system": t.system,
                "results_folder": t.results_folder,
                "name": t.trial_set,
                "data_set": t.data_set,
                "split": t.split,
                "gender": t.gender,
                "variant": of_variant,
                "metric": metric,
                "unit": UNITS[metric],
                "value": value,
            }


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
        ({name: getattr(r, name) for name in _SPEAKER_PLACE}, speaker)
        for r in results.similarity
        for speaker in r.speakers
    )
