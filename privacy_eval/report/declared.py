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
from ..metrics import NOT_AVAILABLE, Label, withholding_caveat
from ..metrics.caveats import note_of
from ..metrics.identification import OF_SPEAKERS, singling_out_chance
from ..metrics.printed import escape_latex
from ..numbers.groups import recognizer
from ..numbers.report_data import ReportData
from ..protocol.protocol import CHALLENGE_ATTACKERS, Protocol, resource
from ..results.measurements import (
    ADDED,
    CIRCUMSTANCES,
    COUNTS,
    FURTHER,
    PRESENT,
    TITLES,
    VALUES,
    WHOLE,
    Measurements,
    Row,
    metric_of,
)
from ..wings import OR_ABSENT
from .split_tables import value_text
from .table import SIDE_BY_SIDE, Column, Key, Table, aligned


@dataclass(frozen=True)
class Shown:
    """A column of an entry.

    Attributes
    ----------
    title : str
        With `{}`, where the value of a `pivot` or the metric's title stands; by default these.
    metric : str
        Whose value is shown, with its interval; of whatever row of the group is first by default.
    show : str
        Instead of the value: a count, a circumstance, `p`, `p_corrected`, `printed` or
        `difference`; several joined by `/`.
    where : mapping
        Values of circumstances, as of `select`; no differences by default.
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
    sparse, rule : bool
        As of `Column`.
    bold_below : float or None
        Cells are bold where the p-value is less.
    """

    title: str = ""
    metric: str = ""
    show: str = ""
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    at: Literal["", "first", "last", "range"] = ""
    pivot: str = ""
    decimals: int | None = None
    most: int = 1000
    optional: bool = False
    align: str = "r"
    sparse: bool = False
    rule: bool = False
    bold_below: float | None = None


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
    blocks : str
        A circumstance: a group of rows for each of its values, instead of each trial set.
    headings : mapping
        Headings of blocks by these values, in their order.
    bold_means : str
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
    blocks: str = ""
    headings: Mapping[str, str] = field(default_factory=dict)
    bold_means: str = ""


#: What captions may have in braces.
_WORDS_OF_CAPTIONS = ("system", "group_by", "number")


@dataclass(frozen=True)
class _Entries:
    tables: tuple[Declared, ...]


@functools.cache
def read_entries(path: Path, *, bundled: bool = False) -> tuple[Declared, ...]:
    """Read the entries of a file; those of bundled ones may have words that code fills in.

    Raises
    ------
    PrivacyEvalError
        Unreadable, a missing, unknown or wrong entry.
    """
    plain = {"tables": parse_yaml(read_text(path), str(path))}
    entries = from_plain(_Entries, plain, str(path)).tables
    for entry in entries:
        where = f"{path}: table {printable(entry.name)}"
        _check(entry, where, FURTHER if bundled else ())
        if not bundled:
            _check_words(entry, where)
            _check_rows(entry, where)
    return entries


def _check(entry: Declared, where: str, further: Iterable[str]) -> None:
    """Refuse names that no measurement can have."""
    shown = (name for c in entry.columns for name in (c.pivot, *c.show.split("/"), *c.where))
    columns = {*CIRCUMSTANCES, *COUNTS, *VALUES, *further, "tag", "", *_TEXTS}
    for names, known in (
        ((*entry.select, *entry.without, entry.each, entry.blocks, *shown), columns),
        (entry.rows, columns | _KEYS.keys()),
    ):
        for name in names:
            if name not in known:
                expected = known_names(name, known) + OR_ABSENT
                raise PrivacyEvalError(f"{where}: {printable(name)}: {expected}")
    if entry.headings and not entry.blocks:
        raise PrivacyEvalError(f"{where}: headings: of which blocks is missing")
    if not re.fullmatch(r"[\w.{}+-]+", entry.name, re.ASCII):
        raise PrivacyEvalError(f"{where}: name: expected letters, digits, hyphens and underscores")


def _check_words(entry: Declared, where: str) -> None:
    """Refuse words that no caption can be filled with."""
    words = dict.fromkeys(_WORDS_OF_CAPTIONS, "")
    try:
        texts = (entry.name, entry.title, entry.caption, *entry.notes)
        _ = [text.format(**words) for text in texts]
        _ = [shown.title.format("", **words) for shown in entry.columns]
    except (KeyError, IndexError, ValueError) as error:
        text = f"{where}: in braces: {error}: {known_names(str(error), _WORDS_OF_CAPTIONS)}"
        raise PrivacyEvalError(text) from error


def _check_rows(entry: Declared, where: str) -> None:
    """Refuse what identifies rows but would be in no column."""
    named, shown = {**_KEYS, **_added()}, {n for c in entry.columns for n in c.show.split("/")}
    for name in entry.rows:
        if name not in (*named, *shown):
            raise PrivacyEvalError(
                f"{where}: rows: {name}: expected {', '.join(named)}, or what a column shows"
            )


def bundled_entries(name: str) -> tuple[Declared, ...]:
    """Return the entries of a file of conf/tables."""
    return read_entries(resource("conf/tables") / f"{name}.yaml", bundled=True)


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
        rows = _selected(measurements, entry)
        values = data.measurements.values(entry.each) if entry.each else [""]
        for number, value in enumerate(values):
            of_value = rows.select(**{entry.each: value}) if entry.each else rows
            columns = " / ".join(of_value.values("group_by"))
            words = {"system": title, "number": str(number), "group_by": columns}
            table = _Rendering(data, entry, of_value, words).table()
            if table.groups:
                yield table


def declared_table(
    entry: Declared, measurements: Measurements, words: Mapping[str, str]
) -> Table | None:
    """Return the table of an entry, None without rows, of measurements in their order.

    Parameters
    ----------
    words : mapping
        What fills the texts.
    """
    table = _Rendering(None, entry, _selected(measurements, entry), words).table()
    return table if table.groups else None


def _selected(measurements: Measurements, entry: Declared) -> Measurements:
    rows = measurements.select(**_wanted(entry))
    for name, left_out in entry.without.items():
        rows = rows.select(**{name: {*rows.values(name)} - {*left_out}})
    return rows


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

    data: ReportData | None
    entry: Declared
    rows: Measurements
    words: Mapping[str, str]

    def table(self) -> Table:
        """Make the table, which has no groups if it would be too wide."""
        entry, data = self.entry, self.data
        facts = _FACTS.get(entry.name, _no_facts) if data is not None else _no_facts
        words, notes = facts(self.rows, data)
        fill = {**self.words, **words}
        known = {**_KEYS, **_added()}
        keys = [known[name] for name in entry.rows if name in known and data is not None]
        heads = [head for key in keys for head in key.heads(self.words, data)]
        columns = list(itertools.chain.from_iterable(map(self._column, entry.columns)))
        shown = self.rows if all(self._fits(c) for c in entry.columns) else Measurements.of([])
        blocks: dict[Key, list[Key]] = {}
        bold = set()
        for block, of in self._lines(shown):
            cells = [(by, _own(by, value, of)) for _, by, value in columns]
            texts = [_cell(*cell) for cell in cells]
            if any(texts):
                number = sum(map(len, blocks.values()))
                low = (i for i, cell in enumerate(cells, len(heads)) if _is_bold(*cell))
                bold |= {(number, i) for i in low}
                identity = (text for key in keys for text in key.cells(of[0], data))
                blocks.setdefault(block, []).append((*identity, *texts))
        titles = [entry.headings.get(block[0], block[0]) for block in blocks if entry.headings]
        return Table(
            entry.name.format(**fill),
            entry.caption.format(**fill),
            (*heads, *(column for column, _, _ in columns)),
            tuple(map(tuple, blocks.values())),
            headings=tuple(map(Label, titles)),
            bold=frozenset(bold),
            bold_means=entry.bold_means,
            notes=(*(n.format(**fill) for n in entry.notes), *notes, *self._marks()),
            section=entry.section,
            title=entry.title.format(**fill),
            turned="attack" in entry.rows,
        )

    def _lines(self, rows: Measurements) -> Iterator[tuple[Key, list[Row]]]:
        """Yield the rows of each line by what identifies it, block by block: those that the entry
        names, or trial sets in the order of the protocol."""
        data, blocks = self.data, self.entry.blocks
        names = (blocks,) if blocks else ("split", "data_set", "gender") if data else ()
        groups: dict[Key, dict[Key, list[Row]]] = {}
        of_set = ("results_folder", "name", "attacker", "language_model", "asr_model")
        pivots = {shown.pivot for shown in self.entry.columns}
        # A row of several systems has the names of one.
        identity = (*(() if "system" in pivots else of_set), *map(_circumstance, self.entry.rows))
        for row in rows:
            place = tuple(row.get(name, "") for name in names)
            of = tuple(str(row.get(name, "")) for name in identity)
            groups.setdefault(place, {}).setdefault(of, []).append(row)
        order: Iterable[Key] = groups
        if blocks:
            numbers = {value: n for n, value in enumerate(self.entry.headings)}
            order = sorted(groups, key=lambda place: numbers.get(place[0], len(numbers)))
        if data is not None and not blocks:
            p = data.protocol
            order = itertools.product(p.splits, _sets(p), ("", *p.genders))
        for place in order:
            for of_line in groups.get(place, {}).values():
                yield place, of_line

    def _column(self, shown: Shown) -> Iterator[tuple[Column, Shown, object]]:
        """Yield a column, or one for each value of its pivot."""
        of_metric = self.rows.select(metric=shown.metric)
        if shown.optional and not len(of_metric.select(value=PRESENT)):
            return
        for value in self._pivoted(shown) if shown.pivot else [None]:
            of = Label("" if value is None else str(value))
            if shown.metric and value is None:
                of = metric_of(shown.metric).column
            elif shown.show in TITLES and value is None:
                of = Label(TITLES[shown.show])
            yield (
                Column(
                    shown.title.format(of.title, **self.words) if shown.title else of.title,
                    _latex(shown.title or "{}", of.latex),
                    align=shown.align,
                    sparse=shown.sparse,
                    rule=shown.rule,
                ),
                shown,
                value,
            )

    def _fits(self, shown: Shown) -> bool:
        return not shown.pivot or len(self._pivoted(shown)) <= shown.most

    def _pivoted(self, shown: Shown) -> list[Any]:
        of_metric = self.rows.select(metric=shown.metric) if shown.metric else self.rows
        values = [v for v in of_metric.values(shown.pivot) if v != 1]  # a gallery of one: nothing
        return values if self.data is None else sorted(values)

    def _marks(self) -> Iterator[str]:
        """Explain the marks of values, and say what holds of some rows."""
        metrics = {shown.metric for shown in self.entry.columns}
        valued = self.rows.select(value=PRESENT)
        present = {*valued.values("metric"), *valued.values("averaged")}
        yield from (note for name, note in self.entry.notes_where.items() if name in present)
        caveats = (
            withholding_caveat(r.get("caveats", {}), r["metric"])
            for r in self.rows
            if r["metric"] in metrics
        )
        yield from (note_of(c) for c in dict.fromkeys(caveats) if c is not None)


def _latex(title: str, name: str | None) -> str | None:
    """Return the title of a column in LaTeX, if the name within it has any."""
    if name is None or "{}" not in title:
        return None
    return name.join(map(escape_latex, title.split("{}")))


def _own(shown: Shown, value: object, rows: Sequence[Row]) -> list[Row]:
    """Select the rows of a cell from those of its line."""
    own = [r for r in rows if not shown.metric or (r["metric"] == shown.metric)]
    where = {"against": ("",), **shown.where} if shown.metric else shown.where
    for name, values in where.items():
        own = [r for r in own if r.get(name, "") in values or ("*" in values and name in r)]
    own = [r for r in own if value is None or r.get(shown.pivot) == value]
    if shown.at in ("first", "last"):
        own = sorted(own, key=lambda r: r.get("gallery", 0))[:: -1 if shown.at == "last" else 1]
    return own


def _is_bold(shown: Shown, own: Sequence[Row]) -> bool:
    p = own[0].get("p_corrected" if shown.show == "p_corrected" else "p") if own else None
    return p is not None and shown.bold_below is not None and p < shown.bold_below


def _cell(shown: Shown, own: Sequence[Row]) -> str:
    """Format a cell from its rows."""
    if shown.show in _TEXTS or not shown.show:
        form = _TEXTS.get(shown.show, functools.partial(_value, shown=shown))
        chosen = sorted(own, key=_number) if shown.at == "range" else own
        ends = (chosen[0], chosen[-1]) if shown.at == "range" and own else chosen[:1]
        text = "\u2013".join(map(form, ends))
        return text or ("" if shown.pivot in _OF_SOME else NOT_AVAILABLE)
    if shown.at == "range":
        numbers = sorted(r[shown.show] for r in own)
        return " to ".join(dict.fromkeys(map(str, (numbers[0], numbers[-1]))))
    names = shown.show.split("/")
    texts = [next((_word(name, r[name]) for r in own if name in r), "") for name in names]
    return "/".join(texts) or ("" if own and names[0] in own[0] else NOT_AVAILABLE)


def _difference(row: Row) -> str:
    return f"{100 * row['value']:+.1f} ± {100 * row['se']:.1f}"


def _number(row: Row) -> float:
    return float(row["value"])


def _value(row: Row, shown: Shown) -> str:
    """Format the value of a row, with the sign of a difference."""
    text = value_text(row, decimals=shown.decimals)
    return f"+{text}" if "against" in row and text[:1].isdigit() else text


def _p_value(row: Row, name: str) -> str:
    p = row.get(name)
    return "" if p is None else f"{p:.3f}" if p >= 0.001 else "< 0.001"


#: What columns show beside counts and circumstances.
_TEXTS: Mapping[str, Callable[[Row], str]] = {
    "difference": _difference,
    "p": functools.partial(_p_value, name="p"),
    "p_corrected": functools.partial(_p_value, name="p_corrected"),
    "printed": lambda row: row.get("printed", ""),
    "caveats": lambda row: "; ".join(row["caveats"].values()),
    "se": lambda row: metric_of(row["metric"]).format(row["se"]),
}

#: Pivots of which rows have some values only.
_OF_SOME = ("gallery", "against", "design")

#: Words for values of circumstances.
_WORDS = {("session", "other"): "not enrolled"}


def _word(name: str, value: object) -> str:
    if name == "metric":
        return metric_of(str(value)).column.title
    return _WORDS.get((name, str(value)), str(value))


def _sets(protocol: Protocol) -> list[str]:
    """Return all data sets in the order of rows."""
    decoded = (d.id for d in (*protocol.recognition.data_sets, *protocol.emotion))
    return list(dict.fromkeys((*protocol.table_rows, *decoded)))


@dataclass(frozen=True)
class _KeyColumns:
    """Columns that identify rows, of the words and `ReportData`: their heads, and their cells of a
    row."""

    heads: Callable[[Mapping[str, str], Any], Sequence[Column]]
    cells: Callable[[Row, Any], Sequence[str]]


def _left(*titles: str) -> Callable[[Mapping[str, str], Any], Sequence[Column]]:
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


def _no_facts(rows: Measurements, data: ReportData | None) -> _Facts:
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


_FACTS: Mapping[str, Callable[[Measurements, Any], _Facts]] = {
    "identification": _of_galleries,
    "identification_singling_out": _of_singling_out,
    "groups_{number}_identification": _of_groups,
}
