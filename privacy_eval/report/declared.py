"""Tables as data: entries of conf/tables/*.yaml, rendered from measurements."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from ..errors import PrivacyEvalError, counted, known_names, located, printable
from ..io.files import read_text
from ..io.schema import from_plain
from ..io.yaml_text import parse_yaml
from ..metrics import METRICS, NOT_AVAILABLE, Label, describe, of_kind, withholding_caveat
from ..metrics.caveats import marked_text, note_of
from ..metrics.printed import escape_latex
from ..metrics.registry import Kind
from ..numbers.means import decoded_sets
from ..numbers.report_data import ReportData
from ..protocol.protocol import (
    CHALLENGE_ATTACKERS,
    SPEECH,
    DataSet,
    Protocol,
    RecognitionSet,
    resource,
)
from ..results.measurements import (
    ADDED,
    CIRCUMSTANCES,
    COUNTS,
    LEFT_OUT,
    PRESENT,
    TITLES,
    VALUES,
    WHOLE,
    Measurements,
    Row,
    metric_of,
)
from ..wings import OR_ABSENT
from .notes import averaged_text, blank_notes, caveat_notes, evaluated_note, interval_notes
from .table import SIDE_BY_SIDE, Column, Key, Table, nonempty


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
        Left out where no row has what is shown.
    align : str
    sparse, rule, wrap
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
    wrap: int | None = None
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
    layout : {"", "splits"}
        splits: a row for every trial set, also of missing values, with a block of columns for each
        split around the columns that identify rows.
    blocks : tuple of str
        Circumstances: a group of rows for each of their values, instead of each trial set.
    headings : mapping
        Headings of blocks by these values, in their order.
    bold_means : str
    intervals : bool
    blank : str
        In cells that nothing is known of; "" of splits.
    turned : bool
        As of `Table`; rows by attack model always are.
    mean : bool
        Of the challenge's own attacker the means of scores' metrics over data sets and genders, by
        the protocol's weights; in blocks of splits by default.
    """

    name: str
    caption: str
    select: Mapping[str, tuple[str, ...]]
    rows: tuple[str, ...]
    columns: tuple[Shown, ...]
    title: str = ""
    section: str = ""
    without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    notes_where: Mapping[str, str] = field(default_factory=dict)
    each: str = ""
    layout: Literal["", "splits"] = ""
    blocks: tuple[str, ...] = ()
    headings: Mapping[str, str] = field(default_factory=dict)
    bold_means: str = ""
    intervals: bool = True
    blank: str = NOT_AVAILABLE
    turned: bool = False
    mean: bool = False


#: What captions may have in braces.
_WORDS_OF_CAPTIONS = ("system", "group_by", "number")


@functools.cache
def read_entries(path: Path, *, bundled: bool = False) -> tuple[Declared, ...]:
    """Read the entries of a file; those of bundled ones may have words that code fills in.

    Raises
    ------
    PrivacyEvalError
        Unreadable, a missing, unknown or wrong entry.
    """
    plain = parse_yaml(read_text(path), str(path))
    entries = from_plain(tuple[Declared, ...], plain, f"{path}: tables")
    for entry in entries:
        where = f"{path}: table {printable(entry.name)}"
        if not bundled:
            _check(entry, where)
            _check_words(entry, where)
            _check_rows(entry, where)
    return entries


def _check(entry: Declared, where: str) -> None:
    """Refuse names that no measurement can have."""
    shown = (name for c in entry.columns for name in (c.pivot, *c.show.split("/"), *c.where))
    columns = {*CIRCUMSTANCES, *COUNTS, *VALUES, "tag", "kind", "", *_TEXTS}
    for names, known in (
        ((*entry.select, *entry.without, entry.each, *entry.blocks, *shown), columns),
        (entry.rows, columns | _KEYS.keys()),
    ):
        for name in names:
            if name not in known:
                expected = known_names(name, known) + OR_ABSENT
                raise PrivacyEvalError(f"{where}: {printable(name)}: {expected}")
    of_means = ("system", "split", "attack", "attack_model", "metric")
    if entry.mean and not {*entry.rows, *entry.blocks} <= {*of_means}:
        raise PrivacyEvalError(f"{where}: mean: expected rows and blocks of {', '.join(of_means)}")
    for name in ("data_set", "system") if entry.layout else ():
        if name not in (*entry.blocks, *entry.rows):
            raise PrivacyEvalError(f"{where}: layout: blocks or rows must have {name}")
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
    shown = {n for c in entry.columns for n in c.show.split("/")}
    for name in entry.rows:
        if name in _KEYS and name in shown and not entry.layout:
            raise PrivacyEvalError(f"{where}: columns: show: {name}: rows has this column already")
        if name not in (*_KEYS, *shown) and not (entry.layout and name == "data_set"):
            raise PrivacyEvalError(
                f"{where}: rows: {name}: expected {', '.join(_KEYS)}, or what a column shows"
            )


def bundled_entries(name: str) -> tuple[Declared, ...]:
    """Return the entries of a file of conf/tables."""
    return read_entries(resource("conf/tables") / f"{name}.yaml", bundled=True)


def entry_of(name: str, file: str = "systems") -> Declared:
    """Return an entry of a file of conf/tables."""
    return next(entry for entry in bundled_entries(file) if entry.name == name)


def tables_of_ones_own(data: ReportData) -> list[Table]:
    """Return the tables of the entries of `--tables`, over all systems."""
    tables: list[Table] = []
    for path in data.sources.tables:
        entries = read_entries(path)
        with located(path):
            tables += declared_tables(data, entries, ", ".join(data.results.systems), distinct=True)
    return [
        replace(t, front=True, section=t.section or SIDE_BY_SIDE, title=t.title or t.name)
        for t in tables
    ]


#: Rows of an entry, words of its texts, and notes that follow from the rows.
Part = tuple[Measurements, Mapping[str, str], Sequence[str]]


def declared_tables(
    data: ReportData,
    entries: Iterable[Declared],
    title: str,
    parts: Mapping[str, Callable[[Measurements, ReportData], Part]] = MappingProxyType({}),
    *,
    distinct: bool = False,
) -> Iterator[Table]:
    """Yield the tables of entries that have rows, such as those of one results folder of a system,
    in the protocol's variant.

    Parameters
    ----------
    parts : mapping
        What some entries, by their names, make of the rows that they select.
    distinct : bool
        Refuse lines that look alike.
    """
    measurements = data.measurements.in_variant(data.protocol.variant)
    for entry in entries:
        whole = _under(data.protocol, entry) if entry.layout or entry.mean else entry
        rows = _selected(_means(data) if entry.mean else measurements, whole)
        for number, value in enumerate(_each(data, entry, rows)):
            of_value = rows.select(**{entry.each: value}) if entry.each else rows
            columns = " / ".join(of_value.values("group_by"))
            words = {"system": title, "number": str(number), "group_by": columns}
            if entry.each in ("split", "metric"):
                words[entry.each] = value
            if entry.each == "metric":
                words["sentence"] = metric_of(value).sentence
            notes: Sequence[str] = ()
            if entry.name in parts:
                of_value, more, notes = parts[entry.name](of_value, data)
                words |= more
            if entry.mean:
                of_means = ((f"{r['system']} {r['attack_model']}", r) for r in of_value)
                notes = [averaged_text(data.protocol).capitalize(), *blank_notes(of_means)]
            table = _Rendering(data, whole, of_value, words, distinct).table(notes)
            if table.groups:
                yield table


def _means(data: ReportData) -> Measurements:
    """Return the means of every system under every attack model."""
    return Measurements.of(
        {name: mean[name] for name in ("metric", "split", "value", "low", "high")}
        | {"system": system, "name": system, "attack_model": attack["model"].id}
        | {"parts": len(mean["parts"])}
        | dict.fromkeys(("why_blank", "withheld"), mean["why_blank"])
        for system, attacks in data.attacks.items()
        for attack in attacks
        for mean in attack["means"].values()
        if mean["parts"]
    )


def _under(protocol: Protocol, entry: Declared) -> Declared:
    """Return an entry with the EER that the protocol shows."""
    columns = (replace(c, metric=protocol.shown(c.metric)) for c in entry.columns)
    select = {n: tuple(map(protocol.shown, of)) for n, of in entry.select.items()}
    return replace(entry, columns=tuple(columns), select=select)


def _each(data: ReportData, entry: Declared, rows: Measurements) -> Sequence[str]:
    """List the values for each of which an entry has a table."""
    if entry.each in ("split", "metric"):
        return _ordered(data.protocol, entry.each, rows.values(entry.each))
    return data.measurements.values(entry.each) if entry.each else [""]


def ordered_metrics(keys: Iterable[str]) -> list[str]:
    """Sort metrics by kind, and as registered."""
    known = [key for kind in _KINDS for key in of_kind(kind)]
    return sorted(keys, key=lambda key: known.index(key) if key in known else len(known))


def _ordered(protocol: Protocol, name: str, values: Iterable[Any]) -> list[Any]:
    """Sort the values of a circumstance as tables have them."""
    if name == "metric":
        return ordered_metrics(values)
    speech = dict.fromkeys(("enrollment", "trial", "asr_model"), SPEECH)
    known = {
        "split": protocol.splits,
        "gender": (*protocol.genders,),
        "language_model": (*protocol.recognition.language_models,),
        **speech,
    }.get(name, ())
    return sorted(values, key=lambda v: (known.index(v) if v in known else len(known), v))


def declared_table(
    entry: Declared,
    measurements: Measurements,
    words: Mapping[str, str],
    notes: Sequence[str] = (),
) -> Table | None:
    """Return the table of an entry, None without rows, of measurements in their order.

    Parameters
    ----------
    words : mapping
        What fills the texts.
    notes : sequence of str
        Further ones.
    """
    table = _Rendering(None, entry, _selected(measurements, entry), words).table(notes)
    return table if table.groups else None


def _selected(measurements: Measurements, entry: Declared) -> Measurements:
    rows = measurements.select(**_wanted(entry))
    for name, left_out in entry.without.items():
        rows = rows.select(**{name: [v for v in rows.values(name) if str(v) not in left_out]})
    return rows


def _wanted(entry: Declared) -> dict[str, object]:
    """Return what `Measurements.select` takes: the entry's selection, and of parts of the trials
    only those that it names."""
    meant = {"": (None,), "challenge": (None, *CHALLENGE_ATTACKERS)}
    several = {
        n: [m for v in values for m in meant.get(v, (v,))] for n, values in entry.select.items()
    }
    if kinds := several.pop("kind", []):
        several["metric"] = [k for k, m in METRICS.items() if m.kind in kinds and m.tabled]
    shown = (name for column in entry.columns for name in (column.pivot, *column.show.split("/")))
    named = {*entry.select, *entry.rows, entry.each, *entry.blocks, *shown}
    wanted: dict[str, object] = {name: None for name in WHOLE if name not in named}
    return wanted | {n: PRESENT if values == ["*"] else values for n, values in several.items()}


@dataclass(frozen=True)
class _Rendering:
    """An entry and its measurements; `words` fill its texts."""

    data: ReportData | None
    entry: Declared
    rows: Measurements
    words: Mapping[str, str]
    distinct: bool = False

    def table(self, notes: Sequence[str] = ()) -> Table:
        """Make the table, which has no groups if it would be too wide."""
        filled = self._by_split() if self.entry.layout else self._list()
        entry, fill = self.entry, {**self._words(), **self.words}
        fill["title"] = entry.title.format(**fill)
        return replace(
            filled,
            name=entry.name.format(**fill),
            caption=entry.caption.format(**fill),
            notes=(
                *(self._of_scores() if entry.layout else ()),
                *(note.format(**fill) for note in entry.notes),
                *notes,
                *(filled.notes if entry.layout else self._marks()),
            ),
            bold_means=entry.bold_means,
            section=entry.section,
            title=fill["title"],
            turned=entry.turned or "attack" in entry.rows,
        )

    def _list(self) -> Table:
        """Make the rows: a line for each value of what identifies them."""
        entry, data = self.entry, self.data
        keys = [name for name in entry.rows if name in _KEYS and data is not None]
        if "recognizer" in keys and not any(recognizer(r, self._protocol) for r in self.rows):
            keys.remove("recognizer")
        heads = [
            Column(title.format(**self.words), align="l", sparse=key != "group")
            for key in keys
            for title in _KEYS[key]
        ]
        columns = list(itertools.chain.from_iterable(map(self._column, entry.columns)))
        fits = all(len(self._pivoted(c)) <= c.most for c in entry.columns if c.pivot)
        shown = self.rows if fits else Measurements.of([])
        blocks: dict[Key, list[Key]] = {}
        bold, seen = set(), dict[Key, Row]()
        for block, of in self._lines(shown):
            cells = [(by, _own(by, value, of)) for _, by, value in columns]
            texts = [self._cell(*cell) for cell in cells]
            if any(texts):
                number = sum(map(len, blocks.values()))
                low = (i for i, cell in enumerate(cells, len(heads)) if _is_bold(*cell))
                bold |= {(number, i) for i in low}
                identity = [t for key in keys for t in _identity(key, of[0], self._protocol)]
                if self.distinct:
                    told = (
                        t for t, c in zip(texts, cells, strict=True) if c[0].show in CIRCUMSTANCES
                    )
                    line = (block[0] if entry.headings else "", *identity, *told)
                    self._check_alike([seen.setdefault(line, of[0]), of[0]])
                    for by, of_cell in cells:
                        self._check_alike(of_cell[: 1 if by.show or by.at else None])
                blocks.setdefault(block, []).append((*identity, *texts))
        titles = [entry.headings.get(block[0], block[0]) for block in blocks if entry.headings]
        return Table(
            "",
            "",
            (*heads, *(column for column, _, _ in columns)),
            tuple(map(tuple, blocks.values())),
            headings=tuple(map(Label, titles)),
            bold=frozenset(bold),
        )

    def _check_alike(self, rows: Sequence[Row]) -> None:
        """Refuse rows that a reader takes for one, and name what tells them apart."""
        pivots = {shown.pivot for shown in self.entry.columns}
        differ = (n for n in (*CIRCUMSTANCES, "metric") if len({r.get(n) for r in rows}) > 1)
        names = dict.fromkeys(_IN_ROWS.get(name, name) for name in differ if name not in pivots)
        if apart := " or ".join([n for n in names if n in _KEYS] or names):
            remedy = f"add {apart} to rows, or select one value"
            raise PrivacyEvalError(f"table {self.entry.name}: two lines look alike: {remedy}")

    def _by_split(self) -> Table:
        """Make a numbered row for all that may identify one, but for data sets and pairs of speech
        without any value: the first split's columns, those that identify the row, then the other
        splits'. Rows that tell nothing are counted in a note instead."""
        entry, protocol = self.entry, self._protocol
        names = (*entry.blocks, *entry.rows)
        of_places = self.rows.groups("split", *names)
        identity = [c for c in entry.columns if c.show in names]
        values = [of for c in entry.columns if c not in identity for of in self._column(c)]
        cells = {
            place: [self._cell(by, _own(by, value, of)) for _, by, value in values]
            for place, of in of_places.items()
        }
        if all(text in ("", NOT_AVAILABLE) for texts in cells.values() for text in texts):
            return Table("", "", ())
        filled = {place[0] for place, texts in cells.items() if any(texts)}
        splits = [split for split in protocol.splits if split in filled]
        valued = {place[1 + names.index("data_set")] for place, of in cells.items() if any(of)}
        sets = {d.id: d for d in self._sets() if d.id in valued}
        grid = {name: [*sets] if name == "data_set" else self._grid(name) for name in names}
        identity = [c for c in identity if not c.optional or len(grid[c.show]) > 1]
        columns = [Column("#")]
        for split in splits:
            heading = Column(protocol.split_title(split), align="l", rule=split != splits[0])
            columns += [heading, *(column for column, _, _ in values)]
            if split == splits[0]:
                heads = [Column(c.title, identity=True) for c in identity]
                columns += [replace(heads[0], rule=True), *heads[1:]]
        left_out, number, groups = Counter[str](), itertools.count(1), []
        for block in itertools.product(*(grid[name] for name in entry.blocks)):
            rows = []
            for key in self._row_keys(grid):
                of = dict(zip(names, (*block, *key), strict=True))
                places = {split: (split, *of.values()) for split in splits}
                if why := _tells_nothing(t for p in places.values() for t in cells.get(p, ())):
                    left_out[why] += 1
                    continue
                row = [str(next(number))]
                for split, place in places.items():
                    counts = (r.get(name) for r in of_places.get(place, ()) for name in LEFT_OUT)
                    row += [sets[of["data_set"]].row_name(split) + "*" * any(counts)]
                    row += cells.get(place, [""] * len(values))
                    if split == splits[0]:
                        row += (_letter(c.show, of[c.show]) for c in identity)
                rows.append(tuple(row))
            groups.append(rows)
        notes = (f"Left out: {counted(n, 'row')} with {why}" for why, n in left_out.items())
        return Table("", "", tuple(columns), nonempty(groups), notes=tuple(notes))

    def _row_keys(self, grid: Mapping[str, Sequence[str]]) -> list[Key]:
        """Return what rows of a block are of: pairs of speech that have values, in the protocol's
        order."""
        names = self.entry.rows
        keys = [*itertools.product(*(grid[name] for name in names))]
        if "enrollment" not in names:
            return keys
        there = self.rows.groups("enrollment", "trial")
        pairs = [(c.enrollment, c.trial) for c in self._protocol.comparisons]
        order = {pair: n for n, pair in enumerate(pairs) if pair in there}
        at = names.index("enrollment"), names.index("trial")
        of_pairs = [(order.get((key[at[0]], key[at[1]])), key) for key in keys]
        known = [(number, key) for number, key in of_pairs if number is not None]
        return [key for _, key in sorted(known, key=lambda one: one[0])]

    @property
    def _protocol(self) -> Protocol:
        assert self.data is not None
        return self.data.protocol

    def _grid(self, name: str) -> Sequence[str]:
        """Return the values of a circumstance that have rows, side by side."""
        known = {"gender": [*self._protocol.genders], "enrollment": SPEECH, "trial": SPEECH}
        return known.get(name) or _ordered(self._protocol, name, self.rows.values(name))

    def _sets(self) -> Sequence[DataSet | RecognitionSet]:
        """Return the data sets of the rows, in their order."""
        metric = next(iter(self.rows.values("metric")), "")
        is_of_emotion = metric.startswith("acc_")
        of_speech = decoded_sets(self._protocol, "uar" if is_of_emotion else metric)
        return of_speech or [self._protocol.data_set(name) for name in self._protocol.table_rows]

    def _words(self) -> Mapping[str, str]:
        """Return what captions say of splits side by side, and of what was left out."""
        if not self.entry.layout:
            return {}
        splits = self.rows.select(value=PRESENT).values("split")
        where = f", {self._protocol.split_name(splits[0])}" if len(splits) == 1 else ""
        left_out = left_out_text(self.rows)
        return {"in_split": where, "left_out": f"; {left_out}" if left_out else ""}

    def _of_scores(self) -> list[str]:
        """Describe the trials, speakers and model of values of scores, their intervals and what
        makes them uninformative."""
        metrics = ordered_metrics(self.rows.values("metric"))
        kinds = {metric_of(metric).kind for metric in metrics}
        if self.data is None or kinds != {"scores"} or "printed" in self.rows.columns:
            return []
        splits, variant = self.rows.values("split"), self._protocol.variant
        records = [r for r in self.data.results.verification if r.condition.split in splits]
        drawn = self.rows.select(low=PRESENT).values("metric") if self.entry.intervals else ()
        return [
            evaluated_note(records, variant),
            *interval_notes(records, [m for m in metrics if m in drawn]),
            *caveat_notes(records, metrics, variant, marked=True),
        ]

    def _lines(self, rows: Measurements) -> Iterator[tuple[Key, list[Row]]]:
        """Yield the rows of each line by what identifies it, block by block: those that the entry
        names, or trial sets in the order of the protocol."""
        data, blocks = self.data, self.entry.blocks or ("split",) * self.entry.mean
        names = blocks or (("split", "data_set", "gender") if data else ())
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
        of = self.rows.select(metric=shown.metric) if shown.metric else self.rows
        if shown.optional and not len(of.select(**{shown.show or "value": PRESENT})):
            return
        for value in self._pivoted(shown) if shown.pivot else [None]:
            title = self._label(shown.pivot, value) if shown.pivot else Label("")
            if shown.metric and value is None:
                title = metric_of(shown.metric).column
            elif shown.show in TITLES and value is None:
                title = Label(TITLES[shown.show])
            yield (
                Column(
                    shown.title.format(title.title, **self.words) if shown.title else title.title,
                    _latex(shown.title or "{}", title.latex),
                    align="c" if self.entry.layout else shown.align,
                    sparse=shown.sparse,
                    rule=shown.rule,
                    wrap=shown.wrap,
                ),
                shown,
                value,
            )

    def _cell(self, shown: Shown, own: Sequence[Row]) -> str:
        """Format a cell from its rows."""
        blank = "" if self.entry.layout or shown.pivot in _OF_SOME else self.entry.blank
        if shown.show in _TEXTS or not shown.show:
            form = _TEXTS.get(shown.show, functools.partial(self._value, shown=shown))
            chosen = sorted(own, key=_number) if shown.at == "range" else own
            ends = (chosen[0], chosen[-1]) if shown.at == "range" and own else chosen[:1]
            return "\u2013".join(map(form, ends)) or blank
        if shown.at == "range":
            numbers = sorted(r[shown.show] for r in own)
            return " to ".join(dict.fromkeys(map(str, (numbers[0], numbers[-1]))))
        names = shown.show.split("/")
        texts = [next((_word(name, r[name]) for r in own if name in r), "") for name in names]
        return "/".join(texts) or ("" if own and names[0] in own[0] else blank)

    def _value(self, row: Row, shown: Shown) -> str:
        """Format the value of a row, with the sign of a difference."""
        entry = self.entry
        how: dict[str, Any] = {"detailed": bool(entry.layout), "interval": entry.intervals}
        text = value_text(row, decimals=shown.decimals, **how)
        return f"+{text}" if "against" in row and text[:1].isdigit() else text

    def _pivoted(self, shown: Shown) -> list[Any]:
        of_metric = self.rows.select(metric=shown.metric) if shown.metric else self.rows
        values = [v for v in of_metric.values(shown.pivot) if v != 1]  # a gallery of one: nothing
        if self.data is None:
            return values
        if shown.pivot == "language_model":
            return [*self._protocol.recognition.language_models]
        return _ordered(self._protocol, shown.pivot, values)

    def _label(self, pivot: str, value: object) -> Label:
        """Return the title of a column for a value."""
        if isinstance(value, Label):
            return value
        if pivot == "metric":
            return metric_of(str(value)).column
        if self.data is None:
            return Label(str(value))
        if pivot == "language_model":
            several = len(self._protocol.recognition.language_models) > 1
            wer, model = metric_of("wer").column.title, str(value)
            latex = rf"{escape_latex(wer)}, LM$_\mathrm{{{model[0]}}}$"
            return Label(f"{wer}, {model} LM", latex) if several else Label(wer)
        if pivot == "split":
            return Label(self._protocol.split_title(str(value)))
        return Label(str(value))

    def _marks(self) -> Iterator[str]:
        """Explain the marks of values, and say what holds of some rows."""
        metrics = {shown.metric for shown in self.entry.columns}
        valued = self.rows.select(value=PRESENT)
        present = {*valued.values("metric"), *valued.values("averaged")}
        yield from (note for name, note in self.entry.notes_where.items() if name in present)
        caveats = (
            withholding_caveat(r.get("caveats", {}), r["metric"])
            for r in self.rows
            if r.get("metric") in metrics - {""}
        )
        yield from (note_of(c) for c in dict.fromkeys(caveats) if c is not None)


def recognizer(row: Row, protocol: Protocol) -> str:
    """Name the recognizer and the language model of a rate, each where the protocol has several."""
    asr, language = row.get("asr_model"), row.get("language_model")
    models = (
        f"trained on {asr}" if asr and len(protocol.recognition.models) > 1 else "",
        language if language and len(protocol.recognition.language_models) > 1 else "",
    )
    return ", ".join(filter(None, models))


def value_text(
    row: Row, *, detailed: bool = False, decimals: int | None = None, interval: bool = True
) -> str:
    """Format the value of a row, marked or replaced as its caveats demand, with its interval; ""
    without one."""
    if row.get("value") is None:
        return ""
    metric, how = metric_of(row["metric"]), {"detailed": detailed, "decimals": decimals}
    text = metric.format(row["value"], mean="parts" in row, **how)  # type: ignore[arg-type]
    text = marked_text(text, withholding_caveat(row.get("caveats", {}), row["metric"]))
    if row.get("low") is None or not interval or text == NOT_AVAILABLE:
        return text
    return f"{text} {metric.interval((row['low'], row['high']), **how)}"  # type: ignore[arg-type]


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
    low = p is not None and shown.bold_below is not None and p < shown.bold_below
    return low or (shown.show == "printed" and any(row.get("is_bold") for row in own))


def _number(row: Row) -> float:
    return float(row["value"])


def _p_value(row: Row, name: str) -> str:
    p = row.get(name)
    return "" if p is None else f"{p:.3f}" if p >= 0.001 else "< 0.001"


#: What columns show beside counts and circumstances.
_TEXTS: Mapping[str, Callable[[Row], str]] = {
    "difference": lambda row: f"{100 * row['value']:+.1f} ± {100 * row['se']:.1f}",
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


#: Kinds of metrics in the order of columns.
_KINDS: tuple[Kind, ...] = ("scores", "utility", "emotion", "measures", "matrices")

#: Texts of rows that tell nothing, and why.
_NOTHING = {
    NOT_AVAILABLE: "no value (n/a)",
    (ignoring := describe("min_dcf_0.01").format(1.0, detailed=True)): f"a minimum cost of "
    f"{ignoring}, as without scores",
}


def _tells_nothing(cells: Iterable[str]) -> str:
    """Tell why a row tells nothing; "" if it does."""
    texts = {cell.partition(" [")[0] for cell in cells if cell}
    return _NOTHING.get(texts.pop(), "") if len(texts) == 1 else ""


def left_out_text(rows: Measurements) -> str:
    """Say how much was left out, of each condition and source once; "" if nothing was."""
    lacking = (row for row in rows if any(row.get(name) for name in LEFT_OUT))
    once = {(r["name"], r.get("source"), r.get("asv_model")): r for r in lacking}
    trials, scores, utterances = (sum(r.get(n, 0) for r in once.values()) for n in LEFT_OUT)
    of_scores = f"{trials} trials without a score and {scores} scores without a trial"
    of_all = of_scores if trials or scores else f"{utterances} utterances"
    return f"*: {of_all} left out" if once else ""


def _letter(name: str, value: str) -> str:
    return value[0] if name in ("enrollment", "trial") else value


def _word(name: str, value: object) -> str:
    if name == "metric":
        return metric_of(str(value)).column.title
    return _WORDS.get((name, str(value)), str(value))


def _sets(protocol: Protocol) -> list[str]:
    """Return all data sets in the order of rows."""
    decoded = (d.id for d in (*protocol.recognition.data_sets, *protocol.emotion))
    return list(dict.fromkeys((*protocol.table_rows, *decoded)))


def _trial_set(row: Row, protocol: Protocol) -> Key:
    return protocol.data_set(row["data_set"]).row_name(row["split"]), row["gender"]


def _attack(row: Row, protocol: Protocol) -> Key:
    """Name the attack model, and any attacker other than the challenge's own."""
    titles = {a.id: a.title for a in protocol.attack_models}
    own = row.get("attacker", "") in ("", *CHALLENGE_ATTACKERS)
    by = "" if own else f" ({row['attacker']})"
    flag = "*" * (row.get("averaged") == "scores")
    return (f"{titles.get(row.get('attack_model', ''), '')}{by}{flag}",)


def _decoded_set(row: Row, protocol: Protocol) -> Key:
    (of_set,) = (d for d in protocol.recognition.data_sets if d.id == row["data_set"])
    return (of_set.row_name(row["split"]),)


#: What `rows` has in place of a circumstance.
_IN_ROWS = dict.fromkeys(("data_set", "split", "gender"), "trial_set") | {"attack_model": "attack"}


def _circumstance(key: str) -> str:
    """Return the circumstance behind what identifies rows, beside the place."""
    return {"attack": "attack_model", "speech": "trial", "recognizer": "asr_model"}.get(key, key)


#: Titles of the columns of what identifies rows; what is not here is among the columns of the
#: entry, if it is shown.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "trial_set": ("Trial set", "Gen"),
    "system": ("System",),
    "attack": ("Attack model",),
    "attacker": ("Attacker",),
    "group": ("{group_by}",),
    "threshold": ("FMR of all",),
    "decoded_set": ("Data set",),
    "speech": ("Speech",),
    "recognizer": ("Recognizer",),
    **{name: (title,) for name, title in ADDED.items()},
}

#: Their cells of a row, unless they are the circumstance itself.
_CELLS: Mapping[str, Callable[[Row, Protocol], Key]] = {
    "trial_set": _trial_set,
    "attack": _attack,
    "threshold": lambda row, _: (f"{100 * row['threshold']:g} %" if "threshold" in row else "",),
    "decoded_set": _decoded_set,
    "recognizer": lambda row, protocol: (recognizer(row, protocol),),
}


def _identity(name: str, row: Row, protocol: Protocol) -> Key:
    """Return the cells of what identifies a row."""
    form = _CELLS.get(name)
    return form(row, protocol) if form else (str(row.get(_circumstance(name), "")),)
