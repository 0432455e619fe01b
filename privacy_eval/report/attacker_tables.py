"""Attackers side by side: the EERs of all that were tried, the strongest marked."""

from __future__ import annotations

from collections.abc import Iterable

from ..attackers.strongest import LOW_EER
from ..metrics import NOT_AVAILABLE, describe
from ..numbers.attackers import Tried
from ..numbers.report_data import ReportData
from .notes import averaged_text
from .table import ANSWER, Column, Table

_CORRECTED = (
    "Corrected: the lowest EER without the optimism of having been picked, with its 95 % interval"
)

#: Systems and splits that a note names.
_NAMED = 4


def attackers_table(data: ReportData) -> Table | None:
    """Make a row for every system and split, a column for every attacker; None where only the
    challenge's own was tried."""
    protocol, tried = data.protocol, data.tried
    order = [(s, split) for split in protocol.splits for s in data.systems_by_rank]
    rows = [tried[place] for place in order if place in tried]
    if not rows:
        return None
    titles = list(dict.fromkeys(a.title for row in rows for a in row.attackers))
    corrected = any(row.strongest is not None for row in rows)
    extra = [Column("Corrected"), Column("95 % interval")] if corrected else []
    columns = (Column("System", align="l"), Column("Split"), *map(Column, titles), *extra)
    texts = [_texts(row, titles, data, corrected=corrected) for row in rows]
    bold = {
        (number, 2 + titles.index(row.lowest.title))
        for number, row in enumerate(rows)
        if row.lowest is not None
    }
    name = describe(protocol.eer).name
    return Table(
        "attackers",
        f"{protocol.title}: {name} of every attacker that was tried, in %; "
        f"{averaged_text(protocol)}, of the available conditions. {_titles(rows, data)}.",
        columns,
        tuple(
            tuple(text for row, text in zip(rows, texts, strict=True) if row.split == split)
            for split in protocol.splits
            if any(row.split == split for row in rows)
        ),
        bold=frozenset(bold),
        bold_means="the strongest attacker of the row",
        notes=(*_overestimated(rows, data), *_notes(rows, corrected=corrected)),
        fit="shrunk",
        section=ANSWER,
        front=True,
    )


def _overestimated(rows: Iterable[Tried], data: ReportData) -> list[str]:
    """Name the attackers by whom privacy is overestimated, as the words alone are stronger."""
    weaker = []
    for row in rows:
        if (words := row.words) is not None and (others := row.weaker_than_words):
            named = ", ".join(f"{a.title.lower()} {a.eer.text()} %" for a in others)
            where = f"{row.system}, {data.protocol.split_name(row.split)}"
            weaker.append(f"{where}: {named}, words {words.eer.text()} %")
    if not weaker:
        return []
    named = "; ".join([*weaker[:_NAMED], *(["..."] if len(weaker) > _NAMED else [])])
    return [f"Privacy is overestimated by attackers weaker than the words alone ({named})"]


def _titles(rows: Iterable[Tried], data: ReportData) -> str:
    """Say whose the columns of attack models are."""
    own = data.protocol.own_attacker
    titles = dict.fromkeys(a.title for row in rows for a in row.attackers if a.attacker == own)
    named = (a.title for a in data.protocol.attackers if a.id == own)
    return f"{', '.join(titles)}: the challenge's own attacker, {next(named, own)}"


def _texts(row: Tried, titles: list[str], data: ReportData, *, corrected: bool) -> tuple[str, ...]:
    eers = {a.title: a.eer.text() for a in row.attackers}
    texts = [row.system, data.protocol.split_title(row.split)]
    texts += [eers.get(title) or NOT_AVAILABLE for title in titles]
    if corrected:
        metric, best = describe(data.protocol.eer), row.strongest
        texts += (
            [metric.format(best.corrected, mean=True), metric.interval((best.lower, best.upper))]
            if best is not None
            else [NOT_AVAILABLE, NOT_AVAILABLE]
        )
    return tuple(texts)


def _notes(rows: list[Tried], *, corrected: bool) -> list[str]:
    notes = [_CORRECTED] if corrected else []
    if any(row.strongest is not None and row.strongest.corrected < LOW_EER for row in rows):
        notes.append(f"Below {100 * LOW_EER:.0f} % intervals are too short")
    if any(len(row.compared) < len(row.attackers) for row in rows):
        notes.append("Only attackers of the same trial sets are compared")
    return notes
