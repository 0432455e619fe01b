"""Groups of speakers: their rates as dots with intervals, around that of the whole condition."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from matplotlib.figure import Figure as Canvas

from ..metrics import withholding_caveat
from ..numbers.cells import interval_of
from ..numbers.report_data import ReportData, main_split
from ..protocol.protocol import ORIGINAL, Protocol
from ..report.declared import recognizer
from ..report.figures import style
from ..report.figures.drawing import Drawing
from ..results.measurements import PRESENT, WHOLE, Row
from ..results.records import Record
from ..results.rows import measurements_of
from .in_words import columns_of, group_columns

#: Conditions of a figure.
_MOST = 12
#: Of the row of a condition, in inches, and the share of it that its dots take.
_ROW, _SPREAD = 0.45, 0.7


class _Row(NamedTuple):
    """A condition: its label, the values of its groups, and the one that they are around."""

    label: str
    groups: Mapping[str, Row]
    whole: Row | None


class _Kind(NamedTuple):
    """A kind of figures: its stem and texts, the kind of its records, and the row of one."""

    stem: str
    what: str
    axis: str
    around: str
    records: str
    row: Callable[[Protocol, Record, str], _Row]


def group_figures(data: ReportData) -> Iterator[Drawing]:
    """Yield figures of each system and column of metadata, of anonymized speech of the last split
    with groups: EERs, identification and word error rates."""
    results, protocol, columns = data.results, data.protocol, group_columns(data)
    for kind, system, column in itertools.product(_KINDS, results.systems, columns):
        of_scores = kind.records != "recognition"
        records = [r for r in getattr(results, kind.records) if _is_shown(r, column)]
        split = main_split(protocol, records)
        drawn = [
            (r.condition, kind.row(protocol, r, column))
            for r in records
            if (r.condition.system, r.condition.split) == (system, split)
        ]
        drawn = [(c, row) for c, row in drawn if row.groups or kind.records != "identification"]
        for number, page in enumerate(style.split_evenly(drawn, _MOST), start=1):
            yield Drawing(
                style.page_name(style.file_stem(kind.stem, column, system), number),
                f"{kind.what} by {column}, {system} on the {protocol.split_name(split)}: dots with "
                f"95 % intervals over speakers, where there are any; grey: {kind.around}.",
                functools.partial(_draw, kind.axis, [row for _, row in page]),
                metrics=("eer",) * (kind.records == "verification"),
                conditions=[c for c, _ in page] if of_scores else [],
            )


def _is_shown(record: Record, column: str) -> bool:
    """Whether a record has groups by a column, of anonymized speech, of scores under attack by the
    challenge's own attacker."""
    c = record.condition
    attacked = bool(c.attack_model) and c.is_by_challenge and not c.is_original
    shown = c.trial != ORIGINAL if record.kind == "recognition" else attacked
    return shown and column in columns_of(record)


def _eers(protocol: Protocol, record: Record, column: str) -> _Row:
    """Return the EERs of groups, those that are not withheld."""
    measured = measurements_of([record]).select(metric="eer", value=PRESENT)
    groups = {
        row["group"]: row
        for row in measured.select(group_by=column, group=PRESENT, against=None)
        if withholding_caveat(row["caveats"], "eer") is None
    }
    return _Row(_label(protocol, record), groups, measured.find(**WHOLE, variant="exact"))


def _linkage(protocol: Protocol, record: Record, column: str) -> _Row:
    """Return the identification rates of groups in galleries of equal size."""
    of_column = record.measurements.select(group_by=column, group=PRESENT, gallery=PRESENT)
    first = {name: found[0] for (name,), found in of_column.groups("group").items()}
    size = next((row["gallery"] for row in first.values()), 1)
    chance = min(record.facts["rank"] / size, 1.0)
    return _Row(f"{_label(protocol, record)}, N = {size}", first, {"value": chance})


def _words(protocol: Protocol, record: Record, column: str) -> _Row:
    """Return the word error rates of groups."""
    c, sets = record.condition, {d.id: d for d in protocol.recognition.data_sets}
    rates = record.measurements.select(group_by=column, group=PRESENT, value=PRESENT)
    words = (sets[c.data_set].row_name(c.split), recognizer(record.facts, protocol))
    label = "\n".join(style.escape_mathtext(text, 40) for text in words if text)
    return _Row(label, {row["group"]: row for row in rates}, record.find("wer", group_by=None))


_KINDS = (
    _Kind(
        "groups",
        "EER within groups of speakers",
        "EER within the group, %",
        "the whole condition with its interval. Variant exact; withheld values are left out",
        "verification",
        _eers,
    ),
    _Kind(
        "groups-identification",
        "How often the right speaker is found among N enrolled speakers of the own group",
        "found among N of the own group, %",
        "chance. N is the size of the smallest group of the condition",
        "identification",
        _linkage,
    ),
    _Kind(
        "groups-wer",
        "Word error rates of groups of speakers",
        "WER of the group, %",
        "all speakers with their interval",
        "recognition",
        _words,
    ),
)


def _draw(axis: str, rows: Sequence[_Row]) -> Canvas:
    names = sorted({name for r in rows for name in r.groups})
    with style.figure(6, 1.2 + _ROW * len(rows)) as canvas:
        axes = canvas.subplots()
        for y, row in enumerate(rows):
            if row.whole is not None:
                value, bounds = row.whole["value"], interval_of(row.whole)
                if bounds is not None:
                    low, high = bounds
                    axes.fill_betweenx([y - 0.4, y + 0.4], 100 * low, 100 * high, color="0.88")
                axes.plot([100 * value] * 2, [y - 0.4, y + 0.4], color=style.GREY)
        handles = []
        for number, name in enumerate(names):
            offset = _SPREAD * ((number + 0.5) / len(names) - 0.5)
            colour = style.PALETTE[number % len(style.PALETTE)]
            for y, row in enumerate(rows):
                if name in row.groups:
                    value = row.groups[name]["value"]
                    low, high = interval_of(row.groups[name]) or (value, value)
                    axes.plot([100 * low, 100 * high], [y + offset] * 2, color=colour)
                    axes.plot(100 * value, y + offset, _marker(number), color=colour)
            handles += axes.plot([], [], _marker(number), color=colour)
        axes.set_yticks(range(len(rows)), [row.label for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(axis)
        labels = [style.escape_mathtext(name) for name in names]
        columns = style.legend_columns(5.5, labels)
        style.legend(canvas, handles, labels, loc="outside upper center", ncols=columns)
    return canvas


def _marker(number: int) -> str:
    """Return the marker of a group."""
    return style.MARKERS[number % len(style.MARKERS)]


def _label(protocol: Protocol, record: Record) -> str:
    """Name a condition beside its row."""
    c = record.condition
    place = f"{protocol.data_set(c.data_set).title}, {protocol.genders[c.gender]}"
    attack = style.attack_label(protocol, c.attack_model or "")
    return f"{style.escape_mathtext(place, 40)}\n{attack}"
