"""Tables as data: entries of conf/tables/*.yaml, rendered from measurements."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ..errors import PrivacyEvalError, counted, known_names, printable
from ..io.files import read_text
from ..io.schema import from_plain
from ..io.yaml_text import parse_yaml
from ..metrics import NOT_AVAILABLE, withholding_caveat
from ..metrics.caveats import note_of
from ..metrics.identification import OF_SPEAKERS, singling_out_chance
from ..numbers.groups import recognizer
from ..numbers.report_data import ReportData
from ..protocol.protocol import CHALLENGE_ATTACKERS, Protocol, resource
from ..results.measurements import (
    ADDED,
    CIRCUMSTANCES,
    COUNTS,
    PRESENT,
    TITLES,
    VALUES,
    WHOLE,
    Measurements,
    Row,
)
from .split_tables import value_text
from .table import SIDE_BY_SIDE, Column, Key, Table, aligned, nonempty


@dataclass(frozen=True)
class Shown:
    """A column of an entry.

    Attributes
    ----------
    title : str
        Of a `pivot` with `{}`, where its value stands.
    metric : str
        Whose value is shown, with its interval; of whatever row of the group is first by default.
    show : str
        Instead of the value: a count, a circumstance, `p` or `difference`; several joined by `/`.
    against : tuple of str
        Which difference, or none.
    at : {"", "first", "last", "range"}
        Which of several galleries; `range`: from the least to the most.
    pivot : str
        A circumstance: a column for each of its values.
    decimals : int or None
        Instead of the metric's.
    most : int
        The table is left to results.csv if a pivot has more values.
    optional : bool
        Left out where no row has a value.
    align : str
    """

    title: str = ""
    metric: str = ""
    show: str = ""
    against: tuple[str, ...] = ("",)
    at: Literal["", "first", "last", "range"] = ""
    pivot: str = ""
    decimals: int | None = None
    most: int = 1000
    optional: bool = False
    align: str = "r"


@dataclass(frozen=True)
class Declared:
    """An entry: a table.

    Attributes
    ----------
    name, title, section, caption : str
        With `{system}` and, of entries by groups, `{group_by}` and `{number}`.
    select : mapping
        Values of circumstances; `*` is any, "" none, `challenge` the challenge's own attacker.
    without : mapping
        Values of rows that are left out.
    rows : tuple of str
        What identifies a row, see `_KEYS`.
    columns : tuple of Shown
    notes : tuple of str
    notes_where : mapping
        Notes where the rows have a metric, or are of scores.
    each : str
        A circumstance: a table for each of its values.
    """

    name: str
    caption: str
    select: Mapping[str, tuple[str, ...]]
    rows: tuple[str, ...]
    columns: tuple[Shown, ...]
    title: str = ""
    section: str = ""
    without: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    notes_where: Mapping[str, str] = field(default_factory=dict)
    each: str = ""


#: What captions may have in braces.
_WORDS_OF_CAPTIONS = ("system", "group_by", "number")


@dataclass(frozen=True)
class _Entries:
    tables: tuple[Declared, ...]


@functools.cache
def read_entries(path: Path) -> tuple[Declared, ...]:
    """Read the entries of a file.

    Raises
    ------
    PrivacyEvalError
        Unreadable, a missing, unknown or wrong entry.
    """
    plain = {"tables": parse_yaml(read_text(path), str(path))}
    entries = from_plain(_Entries, plain, str(path)).tables
    for entry in entries:
        _check(entry, f"{path}: table {printable(entry.name)}")
    return entries


def _check(entry: Declared, where: str) -> None:
    """Refuse names that no measurement can have, and words that no caption can be filled with."""
    shown = (name for c in entry.columns for name in (c.pivot, *c.show.split("/")))
    columns = {*CIRCUMSTANCES, *COUNTS, *VALUES, "", *_TEXTS}
    for names, known in (
        ((*entry.select, *entry.without, entry.each, *shown), columns),
        (entry.rows, columns | _KEYS.keys()),
    ):
        for name in names:
            if name not in known:
                raise PrivacyEvalError(f"{where}: {printable(name)}: {known_names(name, known)}")
    if not re.fullmatch(r"[\w.{}+-]+", entry.name, re.ASCII):
        raise PrivacyEvalError(f"{where}: name: expected letters, digits, hyphens and underscores")
    words = dict.fromkeys((*_WORDS_OF_CAPTIONS, "highest", "chance"), "")
    try:
        _ = [text.format(**words) for text in (entry.name, entry.title, entry.caption)]
    except (KeyError, IndexError, ValueError) as error:
        text = f"{where}: in braces: {error}: {known_names(str(error), _WORDS_OF_CAPTIONS)}"
        raise PrivacyEvalError(text) from error


def bundled_entries(name: str) -> tuple[Declared, ...]:
    """Return the entries of a file of conf/tables."""
    return read_entries(resource("conf/tables") / f"{name}.yaml")


def tables_of_ones_own(data: ReportData) -> list[Table]:
    """Return the tables of the entries of `--tables`, over all systems."""
    entries = (entry for path in data.sources.tables for entry in read_entries(path))
    tables = declared_tables(data, entries, ", ".join(data.results.systems))
    return [
        replace(t, front=True, section=t.section or SIDE_BY_SIDE, title=t.title or t.name)
        for t in tables
    ]


def declared_tables(data: ReportData, entries: Iterable[Declared], title: str) -> Iterator[Table]:
    """Yield the tables of entries that have rows, such as those of one results folder of a system,
    in the protocol's variant."""
    measurements = data.measurements.in_variant(data.protocol.variant)
    for entry in entries:
        rows = measurements.select(**_wanted(entry))
        for name, left_out in entry.without.items():
            rows = rows.select(**{name: {*rows.values(name)} - {*left_out}})
        values = data.measurements.values(entry.each) if entry.each else [""]
        for number, value in enumerate(values):
            of_value = rows.select(**{entry.each: value}) if entry.each else rows
            columns = " / ".join(of_value.values("group_by"))
            words = {"system": title, "number": str(number), "group_by": columns}
            table = _Rendering(data, entry, of_value, words).table()
            if table.groups:
                yield table


def _wanted(entry: Declared) -> dict[str, object]:
    """Return what `Measurements.select` takes: the entry's selection, and of parts of the trials
    only those that it names."""
    meant = {"": (None,), "challenge": (None, *CHALLENGE_ATTACKERS)}
    several = {
        n: [m for v in values for m in meant.get(v, (v,))] for n, values in entry.select.items()
    }
    shown = (name for column in entry.columns for name in (column.pivot, *column.show.split("/")))
    named = {*entry.select, *entry.rows, entry.each, *shown}
    wanted: dict[str, object] = {name: None for name in WHOLE if name not in named}
    return wanted | {n: PRESENT if values == ["*"] else values for n, values in several.items()}


@dataclass(frozen=True)
class _Rendering:
    """An entry and its measurements; `words` fill its texts."""

    data: ReportData
    entry: Declared
    rows: Measurements
    words: Mapping[str, str]

    def table(self) -> Table:
        """Make the table, which has no groups if it would be too wide."""
        entry, facts = self.entry, _FACTS.get(self.entry.name, _no_facts)
        known = {**_KEYS, **_added()}
        keys = [known[name] for name in entry.rows if name in known]
        words, notes = facts(self.rows, self.data)
        fill = {**self.words, **words}
        cells = list(itertools.chain.from_iterable(map(self._column, entry.columns)))
        shown = self.rows if all(self._fits(c) for c in entry.columns) else Measurements.of([])
        groups = [
            [
                (*(text for key in keys for text in key.cells(of[0], self.data)), *texts)
                for of in of_place.values()
                if any(texts := [text(of) for _, text in cells])
            ]
            for of_place in self._grouped(shown)
        ]
        return Table(
            entry.name.format(**fill),
            entry.caption.format(**fill),
            (
                *(head for key in keys for head in key.heads(self.words, self.data)),
                *(c for c, _ in cells),
            ),
            nonempty(groups),
            notes=(*entry.notes, *notes, *self._marks()),
            section=entry.section,
            title=entry.title.format(**fill),
            turned="attack" in entry.rows,
        )

    def _grouped(self, rows: Measurements) -> Iterator[dict[Key, list[Row]]]:
        """Yield the rows of each place, in the order of the protocol, by what identifies them."""
        protocol = self.data.protocol
        orders = (protocol.splits, _sets(protocol), ("", *protocol.genders))
        groups: dict[Key, dict[Key, list[Row]]] = {}
        of_set = ("results_folder", "name", "attacker", "language_model", "asr_model")
        pivots = {shown.pivot for shown in self.entry.columns}
        # A row of several systems has the names of one.
        identity = (*(() if "system" in pivots else of_set), *map(_circumstance, self.entry.rows))
        for row in rows:
            place = tuple(row.get(name, "") for name in ("split", "data_set", "gender"))
            of = tuple(str(row.get(name, "")) for name in identity)
            groups.setdefault(place, {}).setdefault(of, []).append(row)
        for place in itertools.product(*orders):
            yield groups.get(place, {})

    def _column(self, shown: Shown) -> Iterator[tuple[Column, Callable[[Sequence[Row]], str]]]:
        """Yield the head of a column, or of several, and what formats its cells."""
        of_metric = self.rows.select(metric=shown.metric)
        if shown.optional and not len(of_metric.select(value=PRESENT)):
            return
        for value in self._pivoted(shown) if shown.pivot else [None]:
            title = shown.title or TITLES.get(shown.show, "")
            title = title.format(value) if shown.pivot else title
            by = replace(shown, title=title or str(value))
            yield Column(by.title, align=shown.align), functools.partial(_cell, by, value)

    def _fits(self, shown: Shown) -> bool:
        return not shown.pivot or len(self._pivoted(shown)) <= shown.most

    def _pivoted(self, shown: Shown) -> list[Any]:
        values = self.rows.select(metric=shown.metric).values(shown.pivot)
        return sorted(v for v in values if v != 1)  # a gallery of one tells nothing

    def _marks(self) -> Iterator[str]:
        """Explain the marks of values, and say what holds of some rows."""
        metrics = {shown.metric for shown in self.entry.columns}
        valued = self.rows.select(value=PRESENT)
        present = {*valued.values("metric"), *valued.values("averaged")}
        yield from (note for name, note in self.entry.notes_where.items() if name in present)
        caveats = (
            withholding_caveat(r["caveats"], r["metric"])
            for r in self.rows
            if r["metric"] in metrics
        )
        yield from (note_of(c) for c in dict.fromkeys(caveats) if c is not None)


def _cell(shown: Shown, value: object, rows: Sequence[Row]) -> str:
    """Format a cell from the rows of its line."""
    own = [r for r in rows if not shown.metric or (r["metric"] == shown.metric)]
    own = [r for r in own if r.get("against", "") in shown.against] if shown.metric else own
    own = [r for r in own if value is None or r.get(shown.pivot) == value]
    if shown.at in ("first", "last"):
        own = sorted(own, key=lambda r: r.get("gallery", 0))[:: -1 if shown.at == "last" else 1]
    if shown.show in _TEXTS or not shown.show:
        form = _TEXTS.get(shown.show, functools.partial(value_text, decimals=shown.decimals))
        text = form(own[0]) if own else ""
        return text or ("" if shown.pivot == "gallery" else NOT_AVAILABLE)
    if shown.at == "range":
        numbers = sorted(r[shown.show] for r in own)
        return " to ".join(dict.fromkeys(map(str, (numbers[0], numbers[-1]))))
    names = shown.show.split("/")
    texts = [next((_word(name, r[name]) for r in own if name in r), "") for name in names]
    return "/".join(texts) or NOT_AVAILABLE


def _difference(row: Row) -> str:
    return f"{100 * row['value']:+.1f} ± {100 * row['se']:.1f}"


#: What columns show beside counts and circumstances.
_TEXTS: Mapping[str, Callable[[Row], str]] = {
    "difference": _difference,
    "p": lambda row: f"{row['p']:.3f}",
}

#: Words for values of circumstances.
_WORDS = {("session", "other"): "not enrolled"}


def _word(name: str, value: object) -> str:
    return _WORDS.get((name, str(value)), str(value))


def _sets(protocol: Protocol) -> list[str]:
    """Return all data sets in the order of rows."""
    decoded = (d.id for d in (*protocol.recognition.data_sets, *protocol.emotion))
    return list(dict.fromkeys((*protocol.table_rows, *decoded)))


@dataclass(frozen=True)
class _KeyColumns:
    """Columns that identify rows: their heads, and their cells of a row."""

    heads: Callable[[Mapping[str, str], ReportData], Sequence[Column]]
    cells: Callable[[Row, ReportData], Sequence[str]]


def _left(*titles: str) -> Callable[[Mapping[str, str], ReportData], Sequence[Column]]:
    return lambda words, data: aligned("l", *titles, sparse=True)


def _trial_set(row: Row, data: ReportData) -> Key:
    return data.protocol.data_set(row["data_set"]).row_name(row["split"]), row["gender"]


def _attack(row: Row, data: ReportData) -> Key:
    """Name the attack model, and any attacker other than the challenge's own."""
    titles = {a.id: a.title for a in data.protocol.attack_models}
    own = row.get("attacker", "") in ("", *CHALLENGE_ATTACKERS)
    by = "" if own else f" ({row['attacker']})"
    flag = "*" * (row.get("averaged") == "scores")
    return (f"{titles.get(row.get('attack_model', ''), '')}{by}{flag}",)


def _decoded_set(row: Row, data: ReportData) -> Key:
    (of_set,) = (d for d in data.protocol.recognition.data_sets if d.id == row["data_set"])
    return (of_set.row_name(row["split"]),)


def _recognizers(data: ReportData) -> bool:
    return any(recognizer(row, data.protocol) for row in data.measurements.select(metric="wer"))


def _recognizer(row: Row, data: ReportData) -> Sequence[str]:
    return [recognizer(row, data.protocol)] if _recognizers(data) else []


def _circumstance(key: str) -> str:
    """Return the circumstance behind what identifies rows, beside the place."""
    return {"attack": "attack_model", "speech": "trial", "recognizer": "asr_model"}.get(key, key)


#: Columns that identify rows; what is not here is among the columns of the entry, if it is shown.
_KEYS: Mapping[str, _KeyColumns] = {
    "trial_set": _KeyColumns(_left("Trial set", "Gen"), _trial_set),
    "system": _KeyColumns(_left("System"), lambda row, data: (row["system"],)),
    "attack": _KeyColumns(_left("Attack model"), _attack),
    "attacker": _KeyColumns(_left("Attacker"), lambda row, data: (row["attacker"],)),
    "group": _KeyColumns(
        lambda words, data: aligned("l", words["group_by"]), lambda row, data: (row["group"],)
    ),
    "threshold": _KeyColumns(
        _left("FMR of all"), lambda row, data: (f"{100 * float(row['threshold']):g} %",)
    ),
    "decoded_set": _KeyColumns(_left("Data set"), _decoded_set),
    "speech": _KeyColumns(_left("Speech"), lambda row, data: (row["trial"],)),
    "recognizer": _KeyColumns(
        lambda words, data: aligned("l", *["Recognizer"] * _recognizers(data), sparse=True),
        _recognizer,
    ),
}


def _added() -> dict[str, _KeyColumns]:
    """Return the columns of circumstances that wings add."""

    def cells(name: str, row: Row, data: ReportData) -> Sequence[str]:
        return (str(row.get(name, "")),)

    partial = functools.partial
    return {n: _KeyColumns(_left(title), partial(cells, n)) for n, title in ADDED.items()}


#: Words of a caption, and notes that follow from the rows.
_Facts = tuple[Mapping[str, str], Sequence[str]]


def _no_facts(rows: Measurements, data: ReportData) -> _Facts:
    return {}, ()


def _of_galleries(rows: Measurements, data: ReportData) -> _Facts:
    """Say what identification by chance reaches, and of whom galleries are."""
    records = data.results.identification
    chances: dict[int, set[float]] = {}
    for row in rows.select(speaker=None):
        if row["gallery"] > 1:
            chances.setdefault(row["gallery"], set()).add(min(row["rank"] / row["gallery"], 1.0))
    chance = (" or ".join(f"{100 * c:.3g}" for c in sorted(chances[n])) for n in sorted(chances))
    ranks = " or ".join(map(str, sorted(set(rows.values("rank")))))
    highest = "scores highest" if ranks in ("", "1") else f"is among the {ranks} highest scores"
    largest = max(rows.values("n_enrolled"), default=0)
    notes = [
        f"The data allow groups of up to {largest} people; larger ones need more enrolled people "
        "(--distractors)"
    ]
    if any(row["value"] in (0.0, 1.0) and "low" in row for row in rows):
        notes.append(OF_SPEAKERS)
    if left_out := sum(r.not_enrolled for r in records):
        notes.append(f"{left_out} trial speakers of all rows are not enrolled and left out")
    if any(len(r.genders) > 1 for r in records):
        notes.append("Groups are of both genders")
    usual = {model.backend for model in data.protocol.asv_models} or {"plda"}
    if others := sorted({str(r.provenance.get("backend", "plda")) for r in records} - usual):
        usual_names = " or ".join(sorted(usual)).replace("plda", "PLDA")
        notes.append(f"Scored by {' and '.join(others)} instead of {usual_names}")
    if more := [r for r in records if r.distractors]:
        least, most = (f(r.n_distractors for r in more) for f in (min, max))
        notes.append(
            f"Of the enrolled speakers {least}{f' to {most}' * (most > least)} are distractors of "
            f"{', '.join(sorted({r.distractors for r in more}))}"
        )
    return {"chance": ", ".join(chance), "highest": highest}, notes


def _of_singling_out(rows: Measurements, data: ReportData) -> _Facts:
    """Say what singling out by chance reaches, and where it is refused."""
    chance = singling_out_chance(sorted(rows.values("gallery")))
    refused = Counter(r.singling_out.refused for r in data.results.identification)
    notes = [f"Not computed in {counted(n, 'row')}: {why}" for why, n in refused.items() if why]
    return {"chance": ", ".join(f"{100 * p:.1f}" for p in chance)}, notes


def _of_groups(rows: Measurements, data: ReportData) -> _Facts:
    """Say what of identification by groups is not rank 1 of one gender."""
    records, ranks = data.results.identification, sorted({*rows.values("rank")})
    notes = ["Galleries are of both genders"] * any(len(r.genders) > 1 for r in records)
    if ranks != [1]:
        notes.append(f"Found: among the {' or '.join(map(str, ranks))} highest scores")
    return {}, notes


_FACTS: Mapping[str, Callable[[Measurements, ReportData], _Facts]] = {
    "identification": _of_galleries,
    "identification_singling_out": _of_singling_out,
    "groups_{number}_identification": _of_groups,
}
