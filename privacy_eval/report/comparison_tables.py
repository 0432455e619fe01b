"""Tables of many systems side by side, in the form of Tables 1-15 of the supplement of the
VoicePrivacy 2020 Challenge: blocks of a metric under an attack model, a row per data set
and gender, a column per system, original speech first.

They are made of `Cells`, so a table may contain evaluated and published systems. Missing values
are blank; blocks, tables and columns without values are omitted.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import enumerated
from ..io.files import file_names
from ..metrics import CAVEATS, METRICS, Label, Metric
from ..metrics.caveats import INCOMPLETE, LEFT_OUT_MARK, marked_text, note_of
from ..metrics.latex_text import escape_latex
from ..metrics.printed import CHANCE_OF_ZEBRA
from ..metrics.zebra import categorical_tag
from ..numbers.cells import ORIGINAL_COLUMN, Cell, CellKey, Cells
from ..numbers.means import Means
from ..protocol.protocol import ANONYMIZED, ORIGINAL, AttackModel, Protocol
from ..protocol.published import PublishedSystem, PublishedSystems
from .notes import OTHER_SOURCE_MARK, blank_notes, directions_text, evaluated_text
from .table import AVERAGE, PUBLISHED, SIDE_BY_SIDE, Column, Table

#: Meaning of the categories of worst-case disclosure (footnote 4 of the supplement).
POSTERIOR_ODDS: Mapping[str, str] = {
    "0": "50 : 50 (flat posterior)",
    "A": "more disclosure than 50 : 50",
    "B": "one wrong in 10 to 100",
    "C": "one wrong in 100 to 10 000",
    "D": "one wrong in 10 000 to 100 000",
    "E": "one wrong in 100 000 to 1 000 000",
    "F": "one wrong in at least 1 000 000",
}


@dataclass(frozen=True)
class TableLayout:
    """The tables of some metrics, one per split.

    Attributes
    ----------
    name : str
        Name of their files, before the split.
    metrics : tuple of str
        Metrics in order; each has a block for every attack model.
    training : str or None
        Training speech of the attack models' ASV model; None for metrics without attack models.
    """

    name: str
    metrics: tuple[str, ...]
    training: str | None

    def attacks(self, protocol: Protocol) -> list[AttackModel]:
        """List the attack models of anonymized speech that have a block for each metric."""
        models = protocol.attack_models
        return [a for a in models if a.asv_model == self.training and not a.is_original]


#: Metrics that share a table.
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "asv": ("eer", "cllr", "cllr_min"),
    "zebra": ("zebra_population", "zebra_individual"),
    "linkability": ("linkability",),
    "voice": ("gvd_db", "deid"),
}


def layouts(protocol: Protocol) -> list[TableLayout]:
    """List all tables, in the order of the 2020 supplement, with the EER that the protocol shows; a
    metric of no group has its own."""
    grouped = {key for keys in _GROUPS.values() for key in keys}
    groups = {n: tuple(map(protocol.shown, keys)) for n, keys in _GROUPS.items()}
    groups |= {m.key: (m.key,) for m in METRICS.values() if m.compared and m.key not in grouped}
    of_scores = {n: keys for n, keys in groups.items() if METRICS[keys[0]].kind == "scores"}
    others = {n: keys for n, keys in groups.items() if n not in of_scores}
    return [
        *(TableLayout(name, keys, ORIGINAL) for name, keys in of_scores.items()),
        *(TableLayout(name, keys, None) for name, keys in others.items()),
        *(TableLayout(f"{name}_retrained", keys, ANONYMIZED) for name, keys in of_scores.items()),
    ]


#: More systems than this make a page wide.
_MOST_UPRIGHT = 10

#: Rows, headings among them, of a page in landscape.
_MOST_TURNED_ROWS = 44

#: Longer names than this are turned in LaTeX.
_MOST_LEVEL = 9

_LEVEL_BESIDE_TURNED = 4


def submissions_table(published: PublishedSystems) -> Table | None:
    """Make a table of published systems, as Table 1 of the supplement: the baselines first, a
    group for each team; None if there are baselines only.
    """
    if all(s.role == "baseline" for s in published.systems):
        return None
    columns = (
        Column("Team", align="l", sparse=True, wrap=8),
        Column("Reference", align="l", sparse=True, wrap=14),
        Column("System", align="l"),
        Column("Role", align="l"),
        Column("Developed from", align="l", wrap=6),
        Column("Deadline"),
        Column("Anonymized training data", align="l", wrap=7),
        Column("Details", align="l", wrap=30),
    )

    def row(s: PublishedSystem) -> tuple[str, ...]:
        family = "" if s.role == "baseline" else s.family
        training_data = "yes" if s.anonymized_training_data else ""
        deadline = str(s.deadline or "")
        return s.team or "", s.reference, s.id, s.role, family, deadline, training_data, s.details

    teams = itertools.groupby(published.systems, key=lambda s: s.team)
    return Table(
        "published_systems",
        "Published systems.",
        columns,
        tuple(tuple(map(row, systems)) for _, systems in teams),
        notes=(
            "Developed from: a baseline, or none of these (other); deadline: the first or second "
            "one of the challenge; anonymized training data: also submitted by the team",
        ),
        turned=True,
        section=PUBLISHED,
    )


def comparison_tables(means: Means) -> list[Table]:
    """Make the supplement's tables of any systems, in its order. Blocks end with averages over
    data sets and genders, with the protocol's weights, of the systems with all values."""
    forms = {
        f"comparison_{layout.name}_{split}": _SplitTable(means, layout, split)
        for layout, split in itertools.product(layouts(means.protocol), means.protocol.splits)
    }
    names = file_names(forms)
    tables = [form.table(names[name]) for name, form in forms.items()]
    return [table for table in tables if table is not None]


def system_columns(
    cells: Cells, systems: Sequence[str], *, own: Collection[str] = (), turned: bool
) -> Iterator[Column]:
    """Make a column per system, in order.

    Parameters
    ----------
    own : collection of str
        Systems to be highlighted.
    turned : bool
        Turn long names in the challenge's style.
    """
    # Next to turned names, level ones would be several times as wide.
    longest = max(map(len, systems), default=0)
    most = _LEVEL_BESIDE_TURNED if longest > _MOST_LEVEL else _MOST_LEVEL
    for index, system in enumerate(systems):
        style = cells.style(system)
        yield Column(
            system,
            rule=index == 0,
            highlight=system in own,
            colour=style.colour if style else None,
            turned=turned and len(system) > most,
        )


def table_of_systems(
    table: Table, cells: Cells, systems: Sequence[str], *, highlight: bool = True
) -> Table:
    """Add a column per system to the columns of a table that identify its rows.

    Parameters
    ----------
    highlight : bool
        Shade the columns of submitted systems among published ones.
    """
    upright, lines = len(systems) <= _MOST_UPRIGHT, len(table.rows) + len(table.headings)
    published = set(systems) - {ORIGINAL_COLUMN} - cells.own
    own = cells.own if highlight and published else ()
    colours = ", ".join(f"{style.colour} {family}" for family, style in cells.families.items())
    return replace(
        table,
        columns=(*table.columns, *system_columns(cells, systems, own=own, turned=not upright)),
        highlight_means="submitted systems; the others are published",
        colour_means=f"Names by the baseline that systems were developed from: {colours}",
        turned=not upright and lines <= _MOST_TURNED_ROWS,
    )


def zebra_category(cell: Cell) -> str | None:
    """Return the ZEBRA category of a worst-case disclosure; of a published one, without a printed
    tag, only if all numbers that round to it share a category."""
    if cell.tag is not None:
        return cell.tag
    half = 0.5 * 10.0 ** -len(cell.text.partition(".")[2])
    bounds = (cell.value - half, cell.value + half)
    low, high = (categorical_tag(max(bound, 0.0), variant="exact") for bound in bounds)
    return low if low == high else None


@dataclass(frozen=True)
class _SplitTable:
    """A table of one split."""

    means: Means
    layout: TableLayout
    split: str

    def table(self, name: str) -> Table | None:
        """Make the table; None if no system has a value."""
        attacks: list[AttackModel | None] = [None]
        if self.layout.training is not None:
            attacks = [*self.layout.attacks(self.means.protocol)]
        blocks = [
            (METRICS[key], attack)
            for key, attack in itertools.product(self.layout.metrics, attacks)
            if any(self._rows(key, attack, self.means.cells.systems))
        ]
        if not blocks:
            return None
        present = [a for a in attacks if any(a is other for _, other in blocks)]
        columns = self.means.cells.columns(present[0].id if present[0] else None)
        systems = [
            s
            for s in (ORIGINAL_COLUMN, *columns)
            if any(any(self._rows(metric.key, attack, [s])) for metric, attack in blocks)
        ]
        groups: list[tuple[tuple[str, ...], ...]] = []
        bold: set[tuple[int, int]] = set()
        exact: dict[tuple[int, int], str] = {}
        printed: list[tuple[str, Cell]] = []
        for metric, attack in blocks:
            cells = self._rows(metric.key, attack, systems)
            printed += [(s, row[s]) for s in systems for row in cells if s in row]
            first = sum(map(len, groups))
            rows, best = self._block(metric, attack, systems, cells)
            bold |= {(first + row, 2 + column) for row, column in best}
            groups.append(tuple(rows))
            for number, row in enumerate(cells, start=first):
                exact |= exact_cells(metric, number, row, systems, 2)
        title = self._title([metric for metric, _ in blocks], present)
        table = Table(
            name,
            f"Objective results: {title} ({self.means.protocol.split_name(self.split)}).",
            (Column("Data", align="l", sparse=True), Column("Gender", align="l")),
            tuple(groups),
            headings=tuple(
                heading_of(m, f" \u2013 {a.title} ({a.enrollment[0]}{a.trial[0]})" if a else "")
                for m, a in blocks
            ),
            bold=frozenset(bold),
            exact=exact,
            bold_means="the best of the anonymized systems of a row, by its printed value, where "
            "they differ",
            notes=tuple(self._notes(blocks, groups, systems, printed)),
            section=SIDE_BY_SIDE,
            title=title[:1].upper() + title[1:],
        )
        return table_of_systems(table, self.means.cells, systems)

    def _rows(
        self, key: str, attack: AttackModel | None, systems: Sequence[str]
    ) -> list[dict[str, Cell]]:
        """Return the values of systems side by side, a row per data set and gender."""
        model = attack.id if attack else None
        rows, protocol = [], self.means.protocol
        for data_set, gender in itertools.product(protocol.data_sets, protocol.genders):
            of_systems = {
                s: self.means.cells.beside(
                    CellKey(key, model, self.split, data_set.id, gender, s), systems
                )
                for s in systems
            }
            rows.append({s: cell for s, cell in of_systems.items() if cell is not None})
        return rows

    def _block(
        self,
        metric: Metric,
        attack: AttackModel | None,
        systems: Sequence[str],
        cells: Sequence[Mapping[str, Cell]],
    ) -> tuple[list[tuple[str, ...]], set[tuple[int, int]]]:
        """Return the rows of a metric with their averages, and which of their cells are best."""
        model = attack.id if attack else None
        best: set[tuple[int, int]] = set()
        rows: list[tuple[str, ...]] = []

        def add(title: str, gender: str, row: Mapping[str, Cell]) -> None:
            printed = {
                column: float(row[system].text)
                for column, system in enumerate(systems)
                if system in row and system != ORIGINAL_COLUMN and not row[system].withheld
            }
            best.update((len(rows), column) for column in best_columns(metric, printed))
            rows.append((title, gender, *(cell_text(metric, row.get(s)) for s in systems)))

        protocol = self.means.protocol
        sets = itertools.product(protocol.data_sets, protocol.genders.values())
        for (data_set, word), row in zip(sets, cells, strict=True):
            add(row_title(data_set.title), word, row)
        averages: dict[str, Cell] = {}
        for s in systems:
            mean = self.means.of(metric.key, model, self.split, s).cell
            if mean is not None:
                sources = [row[s].other_source for row in reversed(cells) if s in row]
                averages[s] = replace(mean, other_source=next(filter(None, sources), ""))
        if averages:
            add(AVERAGE, "", averages)
        return rows, best

    def _title(self, metrics: Iterable[Metric], attacks: Sequence[AttackModel | None]) -> str:
        names = enumerated(list(dict.fromkeys(metric.name for metric in metrics)))
        titles = [a.phrase for a in attacks if a]
        models = ""
        if titles:
            plural = "s" if len(titles) > 1 else ""
            models = f" under the {enumerated(titles)} attack model{plural}"
        return names + models

    def _notes(
        self,
        pairs: Sequence[tuple[Metric, AttackModel | None]],
        groups: Sequence[Sequence[tuple[str, ...]]],
        systems: Sequence[str],
        printed: Sequence[tuple[str, Cell]],
    ) -> Iterator[str]:
        if directions := directions_text(metric for metric, _ in pairs):
            yield directions
        model = self.layout.training
        asv_models = [model] if model else ()
        yield evaluated_text(self.means.protocol.variant, asv_models=asv_models).removesuffix(".")
        if any(attack for _, attack in pairs):
            yield "Speech in enrollment and trial: o original, a anonymized"
        if any(metric.key == "zebra_individual" for metric, _ in pairs):
            odds = "; ".join(f"{tag}: {text}" for tag, text in POSTERIOR_ODDS.items())
            yield f"Worst-case disclosure, posterior odds ratio at a flat prior: {odds}"
            yield CHANCE_OF_ZEBRA
        if any(row[0] == AVERAGE for rows in groups for row in rows):
            yield f"{AVERAGE}: {weights_text(self.means.protocol)}, blank where a value is missing"
        yield from blank_notes(
            (s, self.means.of(metric.key, attack.id if attack else None, self.split, s))
            for metric, attack in pairs
            for s in systems
        )
        caveats = (cell.caveat for _, cell in printed)
        yield from dict.fromkeys(note_of(caveat) for caveat in caveats if caveat is not None)
        absent = sorted(self.means.cells.own - set(systems))
        if absent:
            yield f"Without a value here: {', '.join(absent)}"
        left_out = Counter(system for system, cell in printed if cell.left_out)
        for system, number in left_out.items():
            yield f"{LEFT_OUT_MARK} {system}: trials were left out of {number} of its values"
        for source in dict.fromkeys(cell.other_source for _, cell in printed):
            if source:
                yield f"{OTHER_SOURCE_MARK} Original speech: {source}, unlike those unmarked"
        cells, of_scores = self.means.cells, all(metric.kind == "scores" for metric, _ in pairs)
        yield from cells.scores_not_comparable if of_scores else cells.not_comparable
        yield from cells.notes


def cell_text(metric: Metric, cell: Cell | None) -> str:
    """Return a value with its category and marks; "" for none."""
    if cell is None:
        return ""
    graded = metric.key == "zebra_individual" and not cell.withheld
    tag = zebra_category(cell) if graded else None
    text = marked_text(f"{cell.text} {tag}" if tag else cell.text, cell.caveat)
    text += OTHER_SOURCE_MARK * bool(cell.other_source)
    is_marked = cell.caveat is CAVEATS[INCOMPLETE]
    return f"{text}{LEFT_OUT_MARK}" if cell.left_out and not is_marked else text


def text_with_interval(metric: Metric, cell: Cell | None) -> str:
    """Return a value as `cell_text`, and its interval in brackets."""
    bounds = metric.interval(cell.interval) if cell is not None else ""
    return f"{cell_text(metric, cell)} {bounds}".rstrip()


def with_bounds(table: Table, systems: Collection[str]) -> Table:
    """Mark the columns of the systems with intervals, whose bounds are columns in CSV."""
    columns = (replace(c, interval=c.title in systems) for c in table.columns)
    return replace(table, columns=tuple(columns))


def exact_cells(
    metric: Metric, number: int, row: Mapping[str, Cell], systems: Sequence[str], first: int
) -> dict[tuple[int, int], str]:
    """Return the cells of a row, and their places, whose published digits are more than printed.

    Parameters
    ----------
    number, first : int
        Of the row, and of the first system's column.
    """
    return {
        (number, first + column): cell_text(metric, replace(cell, printed=cell.exact))
        for column, s in enumerate(systems)
        if (cell := row.get(s)) is not None and cell.exact
    }


def heading_of(metric: Metric, rest: str) -> Label:
    """Return the heading of a block of a metric with more words in plain text."""
    title = metric.heading
    latex = title.latex or escape_latex(title.title)
    return Label(title.title + rest, latex + escape_latex(rest)) if rest else title


def best_columns(metric: Metric, printed: Mapping[int, float]) -> list[int]:
    """Return the columns of the best value; none if there is one value only, or all are equal."""
    if metric.best is None or len(set(printed.values())) < 2:
        return []
    best = (max if metric.best == "higher" else min)(printed.values())
    return [column for column, number in printed.items() if number == best]


def weights_text(protocol: Protocol) -> str:
    """Describe the weight of each data set and gender in averages."""
    genders = len(protocol.genders)
    whole = genders * sum(d.weight for d in protocol.data_sets)
    weights = ", ".join(f"{row_title(d.title)} {d.weight / whole:.3g}" for d in protocol.data_sets)
    return f"{weights} for each gender" if genders > 1 else weights


def row_title(title: str) -> str:
    """Return a data set's title as in the supplement's tables: without parentheses."""
    return re.sub(r"[()]", "", title)
