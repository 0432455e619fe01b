"""Groups of speakers: their EERs as dots with intervals, around that of the whole condition."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from matplotlib.figure import Figure as Canvas

from ...numbers.groups import main_split
from ...numbers.report_data import ReportData
from ...protocol.protocol import Protocol
from ...results.records import VerificationRecord
from . import style
from .drawing import Drawing

#: Conditions of a figure.
_MOST = 12
#: Of the row of a condition, in inches, and the share of it that its dots take.
_ROW, _SPREAD = 0.45, 0.7


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield figures of each system and column of metadata, of anonymized speech of the last split
    with groups."""
    records = [r for r in data.results.verification if r.groups and not r.condition.is_original]
    split = main_split(data.protocol, records)
    for system in dict.fromkeys(r.condition.system for r in records):
        own = [
            r
            for r in records
            if (r.condition.system, r.condition.split) == (system, split)
            and r.condition.attack_model
            and r.condition.is_by_challenge
        ]
        for column in dict.fromkeys(column for r in own for column in r.groups):
            of_column = [r for r in own if column in r.groups]
            for number, page in enumerate(style.split_evenly(of_column, _MOST), start=1):
                name = style.page_name(style.file_stem("groups", column, system), number)
                yield Drawing(
                    name,
                    f"EER within groups of speakers by {column}, {system} on the "
                    f"{data.protocol.split_name(split)}: dots with 95 % intervals over speakers, "
                    "where there are any; grey: the whole condition with its interval. Variant "
                    "exact.",
                    functools.partial(_draw, data.protocol, column, page),
                    metrics=("eer",),
                    conditions=[r.condition for r in page],
                )


def _draw(protocol: Protocol, column: str, records: Sequence[VerificationRecord]) -> Canvas:
    names = sorted({name for r in records for name in r.groups[column]})
    with style.figure(6, 1.2 + _ROW * len(records)) as canvas:
        axes = canvas.subplots()
        for row, r in enumerate(records):
            low, high = r.speaker_intervals.get("exact", {}).get("eer", (None, None))
            if low is not None and high is not None:
                axes.fill_betweenx([row - 0.4, row + 0.4], 100 * low, 100 * high, color="0.88")
            whole = r.values("exact").get("eer")
            if whole is not None:
                axes.plot([100 * whole] * 2, [row - 0.4, row + 0.4], color=style.GREY)
        handles = []
        for number, name in enumerate(names):
            offset = _SPREAD * ((number + 0.5) / len(names) - 0.5)
            colour = style.PALETTE[number % len(style.PALETTE)]
            for row, r in enumerate(records):
                of = r.groups[column].get(name)
                if of is not None and of.within.eer is not None:
                    low, high = of.intervals.get("eer", (of.within.eer, of.within.eer))
                    axes.plot([100 * low, 100 * high], [row + offset] * 2, color=colour)
                    axes.plot(100 * of.within.eer, row + offset, _marker(number), color=colour)
            handles += axes.plot([], [], _marker(number), color=colour)
        axes.set_yticks(range(len(records)), [_label(protocol, r) for r in records])
        axes.set_ylim(len(records) - 0.5, -0.5)
        axes.set_xlabel("EER within the group, %")
        labels = [style.escape_mathtext(name) for name in names]
        columns = style.legend_columns(5.5, labels)
        style.legend(canvas, handles, labels, loc="outside upper center", ncols=columns)
    return canvas


def _marker(number: int) -> str:
    """Return the marker of a group."""
    return style.MARKERS[number % len(style.MARKERS)]


def _label(protocol: Protocol, record: VerificationRecord) -> str:
    """Name a condition beside its row."""
    c = record.condition
    place = f"{protocol.data_set(c.data_set).title}, {protocol.genders[c.gender]}"
    attack = style.attack_label(protocol, c.attack_model or "")
    return f"{style.escape_mathtext(place, 40)}\n{attack}"
