"""results.csv and speakers.csv."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields

from ..io.csv_text import csv_text
from ..io.schema import to_plain
from ..metrics.similarity import SpeakerSimilarity
from ..tree.conditions import SetCondition
from .records import Results


def to_csv(results: Results) -> str:
    """Write results.csv: one line per measurement."""
    return csv_text(results.measurements.csv_rows)


def speakers_csv(speakers: Iterable[tuple[Mapping[str, str], SpeakerSimilarity]]) -> str:
    """Write a line for each speaker, after the columns that identify the trial set."""
    rows = [{**identity, **to_plain(speaker)} for identity, speaker in speakers]
    names = ([f.name for f in fields(kind)] for kind in (SetCondition, SpeakerSimilarity))
    columns = list(rows[0]) if rows else [*next(names), "variant", *next(names)]
    return csv_text([columns, *(row.values() for row in rows)])


def to_speakers_csv(results: Results) -> str:
    """Write speakers.csv: every speaker of every trial set, the least protected first."""
    return speakers_csv(
        ({**to_plain(r.condition), "variant": r.speakers_variant}, speaker)
        for r in results.similarity
        for speaker in r.speakers
    )
