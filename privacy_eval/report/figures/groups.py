"""Groups of speakers: their rates as dots with intervals, around that of the whole condition."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from matplotlib.figure import Figure as Canvas

from ...metrics import withholding_caveat
from ...numbers.cells import interval_of
from ...numbers.groups import main_split, recognizer
from ...numbers.report_data import ReportData
from ...protocol.protocol import ORIGINAL, Protocol
from ...results.measurements import PRESENT, WHOLE, Row
from ...results.records import Record
from ...results.rows import measurements_of
from ...tree.conditions import Condition
from . import style
from .drawing import Drawing

#: Conditions of a figure.
_MOST = 12
#: Of the row of a condition, in inches, and the share of it that its dots take.
_ROW, _SPREAD = 0.45, 0.7

_Attacked = TypeVar("_Attacked", bound=Record)


@dataclass(frozen=True)
class _Row:
    """A condition: its label, the values of its groups, and the one that they are around."""

    label: str
    groups: Mapping[str, Row]
    whole: Row | None
    condition: Condition | None = None


@dataclass(frozen=True)
class _Kind:
    """A kind of figures: its stem, texts and metrics, and the split and rows of a system."""

    stem: str
    what: str
    axis: str
    around: str
    rows: Callable[[ReportData, str, str], tuple[str, list[_Row]]]
    metrics: tuple[str, ...] = ()


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield figures of each system and column of metadata, of anonymized speech of the last split
    with groups: EERs, identification and word error rates."""
    for kind in _KINDS:
        for system in data.results.systems:
            for column in data.group_columns:
                split, rows = kind.rows(data, system, column)
                for number, page in enumerate(style.split_evenly(rows, _MOST), start=1):
                    yield Drawing(
                        style.page_name(style.file_stem(kind.stem, column, system), number),
                        f"{kind.what} by {column}, {system} on the "
                        f"{data.protocol.split_name(split)}: dots with 95 % intervals over "
                        f"speakers, where there are any; grey: {kind.around}.",
                        functools.partial(_draw, kind.axis, page),
                        metrics=kind.metrics,
                        conditions=[r.condition for r in page if r.condition is not None],
                    )


def _eers(data: ReportData, system: str, column: str) -> tuple[str, list[_Row]]:
    """Return the main split, and its conditions with EERs of groups."""
    split, records = _attacked(data, data.results.verification, system, column)
    rows = []
    for r in records:
        measured = measurements_of([r]).select(metric="eer", value=PRESENT)
        groups = {
            row["group"]: row
            for row in measured.select(group_by=column, group=PRESENT, against=None)
            if withholding_caveat(row["caveats"], "eer") is None
        }
        around = measured.find(**WHOLE, variant="exact")
        rows.append(_Row(_label(data.protocol, r.condition), groups, around, r.condition))
    return split, rows


def _linkage(data: ReportData, system: str, column: str) -> tuple[str, list[_Row]]:
    """Return the main split, and its conditions with identification rates of groups in galleries
    of equal size."""
    split, records = _attacked(data, data.results.identification, system, column)
    rows = []
    for r in records:
        of_column = r.measurements.select(group_by=column, group=PRESENT, gallery=PRESENT)
        first = {name: found[0] for (name,), found in of_column.groups("group").items()}
        if first:
            size = next(iter(first.values()))["gallery"]
            label = f"{_label(data.protocol, r.condition)}, N = {size}"
            chance = min(r.facts["rank"] / size, 1.0)
            rows.append(_Row(label, first, {"value": chance}, r.condition))
    return split, rows


def _words(data: ReportData, system: str, column: str) -> tuple[str, list[_Row]]:
    """Return the last split with word error rates of groups, and its anonymized sets."""
    protocol = data.protocol
    records = [r for r in data.results.recognition if column in r.group_columns]
    split = main_split(protocol, records)
    titles = {d.id: d.row_name(split) for d in protocol.recognition.data_sets}
    rows = []
    for r in records:
        c = r.condition
        if (c.system, c.split) == (system, split) and c.trial != ORIGINAL:
            rates = r.measurements.select(group_by=column, group=PRESENT, value=PRESENT)
            groups = {row["group"]: row for row in rates}
            words = (titles[c.data_set], recognizer(r.facts, protocol))
            whole = r.find("wer", group_by=None)
            label = "\n".join(style.escape_mathtext(text, 40) for text in words if text)
            rows.append(_Row(label, groups, whole))
    return split, rows


_KINDS = (
    _Kind(
        "groups",
        "EER within groups of speakers",
        "EER within the group, %",
        "the whole condition with its interval. Variant exact; withheld values are left out",
        _eers,
        ("eer",),
    ),
    _Kind(
        "groups-identification",
        "How often the right speaker is found among N enrolled speakers of the own group",
        "found among N of the own group, %",
        "chance. N is the size of the smallest group of the condition",
        _linkage,
    ),
    _Kind(
        "groups-wer",
        "Word error rates of groups of speakers",
        "WER of the group, %",
        "all speakers with their interval",
        _words,
    ),
)


def _attacked(
    data: ReportData, records: Iterable[_Attacked], system: str, column: str
) -> tuple[str, list[_Attacked]]:
    """Return the main split of records with groups, and those of a system and column in it under
    attack by the challenge's own attacker."""
    grouped = [r for r in records if [*r.group_columns] and not r.condition.is_original]
    split = main_split(data.protocol, grouped)
    return split, [
        r
        for r in grouped
        if (r.condition.system, r.condition.split) == (system, split)
        and r.condition.attack_model
        and r.condition.is_by_challenge
        and column in r.group_columns
    ]


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


def _label(protocol: Protocol, c: Condition) -> str:
    """Name a condition beside its row."""
    place = f"{protocol.data_set(c.data_set).title}, {protocol.genders[c.gender]}"
    attack = style.attack_label(protocol, c.attack_model or "")
    return f"{style.escape_mathtext(place, 40)}\n{attack}"
