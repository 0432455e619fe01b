"""Tables of many systems side by side, in the form of Tables 1-15 of the supplement of the
VoicePrivacy 2020 Challenge: blocks of a metric under an attack model, a row per data set
and gender, a column per system, original speech first.

They are made of rows, so a table may contain evaluated and published systems. Missing values
are blank; blocks, tables and columns without values are omitted.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import enumerated
from ..io.files import file_names
from ..metrics import CAVEATS, METRICS, Label, Metric, describe
from ..metrics.caveats import INCOMPLETE, LEFT_OUT_MARK, marked_text, note_of
from ..metrics.llr import categorical_tag
from ..metrics.printed import CHANCE_OF_ZEBRA, escape_latex
from ..numbers.cells import ORIGINAL_COLUMN, Cells, interval_of, is_withheld, text_of
from ..numbers.means import Means, decoded_sets
from ..protocol.protocol import ANONYMIZED, ORIGINAL, AttackModel, Protocol
from ..protocol.published import PublishedSystems
from ..results.measurements import Measurements, Row
from .declared import declared_table, entry_of
from .notes import OTHER_SOURCE_MARK, blank_notes, directions_text, evaluated_note
from .table import AVERAGE, SIDE_BY_SIDE, Column, Table

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
    rows = [
        {
            **{"team": s.team or "", "reference": s.reference, "system": s.id, "role": s.role},
            "family": "" if s.role == "baseline" else s.family,
            "deadline": str(s.deadline or ""),
            "training": "yes" if s.anonymized_training_data else "",
            "details": s.details,
        }
        for s in published.systems
    ]
    return declared_table(entry_of("published_systems"), Measurements.of(rows), {})


def comparison_tables(means: Means) -> list[Table]:
    """Make the supplement's tables of any systems, in its order. Blocks end with averages over
    data sets and genders, with the protocol's weights, of the systems with all values."""
    every = list(itertools.product(layouts(means.protocol), means.protocol.splits))
    names = file_names(f"comparison_{layout.name}_{split}" for layout, split in every)
    tables = [
        _split_table(means, layout, split, names[f"comparison_{layout.name}_{split}"])
        for layout, split in every
    ]
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


def zebra_category(cell: Row) -> str | None:
    """Return the ZEBRA category of a worst-case disclosure; of a published one, without a printed
    tag, only if all numbers that round to it share a category."""
    if cell.get("tag") is not None:
        return str(cell["tag"])
    half = 0.5 * 10.0 ** -len(text_of(cell).partition(".")[2])
    bounds = (cell["value"] - half, cell["value"] + half)
    low, high = (categorical_tag(max(bound, 0.0), variant="exact") for bound in bounds)
    return low if low == high else None


@dataclass(frozen=True)
class Line:
    """A row of a block: what identifies it, and by system the rows of its values, or what is
    `printed` without one; `of_intervals`: only shown with intervals."""

    data: str
    gender: str = ""
    cells: Mapping[str, Row] = field(default_factory=dict)
    of_intervals: bool = False


@dataclass(frozen=True)
class Block:
    """Rows of a metric under an attack model, below a heading; without a metric rows of texts."""

    heading: Label
    lines: tuple[Line, ...]
    metric: Metric | None = None
    attack: AttackModel | None = None
    splits: tuple[str, ...] = ()

    @property
    def model(self) -> str | None:
        """Id of the attack model."""
        return self.attack.id if self.attack else None

    @property
    def systems(self) -> set[str]:
        """Systems with values."""
        return {s for line in self.lines for s in line.cells}

    @property
    def resampled(self) -> set[str]:
        """Systems with intervals."""
        return {s for line in self.lines for s, cell in line.cells.items() if interval_of(cell)}

    @property
    def of_sets(self) -> Iterator[tuple[str, Row]]:
        """The values but averages, with their systems."""
        lines = (line for line in self.lines if line.data != AVERAGE)
        return ((s, cell) for line in lines for s, cell in line.cells.items())


def lines_of(means: Means, metric: Metric, attack: AttackModel | None, split: str) -> list[Line]:
    """Return the values of all systems side by side, a row per data set and gender, or decoded set,
    and a row of their averages."""
    protocol, model = means.protocol, attack.id if attack else None
    titles = {d.id: row_title(d.title) for d in protocol.data_sets}
    sets = [
        (d.id, titles[d.id], gender, word)
        for d, (gender, word) in itertools.product(protocol.data_sets, protocol.genders.items())
    ]
    if decoded := decoded_sets(protocol, metric.key):
        named = ((d.id, d.title or titles.get(d.id, d.id)) for d in decoded if d.weight)
        sets = [(data_set, title, "", "") for data_set, title in named]
    everyone, place = (ORIGINAL_COLUMN, *means.cells.systems), (metric.key, model, split)
    averages = {s: means.of(*place, s) for s in everyone}
    return [
        *(
            Line(title, word, means.cells.of(everyone, *place, data_set, gender))
            for data_set, title, gender, word in sets
        ),
        Line(AVERAGE, "", {s: m for s, m in averages.items() if m["value"] is not None}),
    ]


def beside(cells: Cells, blocks: Iterable[Block], systems: Sequence[str]) -> list[Block]:
    """Return the blocks of a table of systems, with original speech flagged that is from another
    source than they are."""

    def shown(line: Line) -> Line:
        of = {s: cells.beside(line.cells[s], systems) for s in systems if s in line.cells}
        return replace(line, cells=of)

    return [replace(block, lines=tuple(map(shown, block.lines))) for block in blocks]


def blank_averages(
    means: Means, blocks: Iterable[Block], systems: Sequence[str], splits: Sequence[str]
) -> list[str]:
    """Name the averages that are blank because parts of them are withheld."""
    return blank_notes(
        (s, means.of(block.metric.key, block.model, split, s))
        for block in blocks
        if block.metric
        for split in block.splits or splits
        for s in systems
    )


def caveats_in(blocks: Iterable[Block]) -> list[str]:
    """Explain the caveats of values."""
    caveats = (cell.get("caveat") for block in blocks for _, cell in block.of_sets)
    return list(dict.fromkeys(note_of(caveat) for caveat in caveats if caveat is not None))


def table_of_blocks(
    table: Table, blocks: Sequence[Block], systems: Sequence[str], cells: Cells, *, intervals: bool
) -> Table:
    """Add blocks of rows, and a column per system, to a table whose columns are those that identify
    rows: data, and gender if there are two. The best of a row is bold if the table says so."""
    first, number = len(table.columns), 0
    groups, bold = [], set()
    exact: dict[tuple[int, int], str] = {}
    for block in blocks:
        rows = []
        for line in block.lines:
            texts = (_text(line.cells.get(s), intervals=intervals) for s in systems)
            rows.append((*(line.data, line.gender)[:first], *texts))
            of = {n: line.cells[s] for n, s in enumerate(systems, first) if s in line.cells}
            for column, cell in of.items():
                if "exact" in cell:
                    exact[number, column] = _text({**cell, "printed": cell["exact"]})
            if block.metric is not None and table.bold_means:
                bold |= {(number, column) for column in _best(block.metric, of)}
            number += 1
        groups.append(tuple(rows))
    headings = tuple(block.heading for block in blocks)
    filled = replace(
        table, groups=tuple(groups), headings=headings, bold=frozenset(bold), exact=exact
    )
    return table_of_systems(filled, cells, systems)


def _best(metric: Metric, cells: Mapping[int, Row]) -> list[int]:
    """Return the columns of the best printed value of anonymized speech; none if there is one value
    only, or all are equal."""
    printed = {
        n: float(text_of(cell))
        for n, cell in cells.items()
        if "value" in cell and cell["system"] != ORIGINAL_COLUMN and not is_withheld(cell)
    }
    if metric.best is None or len(set(printed.values())) < 2:
        return []
    best = (max if metric.best == "higher" else min)(printed.values())
    return [column for column, number in printed.items() if number == best]


def _split_table(means: Means, layout: TableLayout, split: str, name: str) -> Table | None:
    """Make a table of one split; None if no system has a value."""
    cells, protocol = means.cells, means.protocol
    attacks = layout.attacks(protocol) if layout.training is not None else [None]
    blocks = []
    for key, attack in itertools.product(layout.metrics, attacks):
        if decoded_sets(protocol, key):
            continue
        lines = lines_of(means, METRICS[key], attack, split)
        under = (
            f" \u2013 {attack.title} ({attack.enrollment[0]}{attack.trial[0]})" if attack else ""
        )
        of_metric = tuple(line for line in lines if line.data != AVERAGE or line.cells)
        block = Block(heading_of(METRICS[key], under), of_metric, METRICS[key], attack)
        blocks += [block] if block.systems - {ORIGINAL_COLUMN} else []
    if not blocks:
        return None
    present = [a for a in attacks if any(a is block.attack for block in blocks)]
    columns = cells.columns(present[0].id if present[0] else None)
    having = {s for block in blocks for s in block.systems}
    systems = [s for s in (ORIGINAL_COLUMN, *columns) if s in having]
    blocks = beside(cells, blocks, systems)
    title = _title([block.metric for block in blocks if block.metric], present)
    table = Table(
        name,
        f"Objective results: {title} ({protocol.split_name(split)}).",
        (Column("Data", align="l", sparse=True), Column("Gender", align="l")),
        bold_means="the best of the anonymized systems of a row, by its printed value, where "
        "they differ",
        notes=tuple(_notes(means, layout, split, blocks, systems)),
        section=SIDE_BY_SIDE,
        title=title[:1].upper() + title[1:],
    )
    return table_of_blocks(table, blocks, systems, cells, intervals=False)


def _title(metrics: Iterable[Metric], attacks: Sequence[AttackModel | None]) -> str:
    names = enumerated(list(dict.fromkeys(metric.name for metric in metrics)))
    titles = [a.phrase for a in attacks if a]
    models = ""
    if titles:
        plural = "s" if len(titles) > 1 else ""
        models = f" under the {enumerated(titles)} attack model{plural}"
    return names + models


def _notes(
    means: Means, layout: TableLayout, split: str, blocks: Sequence[Block], systems: Sequence[str]
) -> Iterator[str]:
    metrics = [block.metric for block in blocks if block.metric]
    of_sets = [pair for block in blocks for pair in block.of_sets]
    if directions := directions_text(metrics):
        yield directions
    asv_models = [layout.training] if layout.training else ()
    yield evaluated_note((), means.protocol.variant, asv_models)
    if any(block.attack for block in blocks):
        yield "Speech in enrollment and trial: o original, a anonymized"
    if any(metric.key == "zebra_individual" for metric in metrics):
        odds = ". ".join(f"{tag}: {text}" for tag, text in POSTERIOR_ODDS.items())
        yield f"Tags of worst-case disclosure: posterior odds ratio at a flat prior. {odds}"
        yield CHANCE_OF_ZEBRA
    if any(line.data == AVERAGE for block in blocks for line in block.lines):
        yield f"{AVERAGE}: {weights_text(means.protocol)}, blank where a value is missing"
    yield from blank_averages(means, blocks, systems, [split])
    yield from caveats_in(blocks)
    if absent := sorted(means.cells.own - set(systems)):
        yield f"Without a value here: {', '.join(absent)}"
    left_out = Counter(system for system, cell in of_sets if cell.get("left_out"))
    for system, number in left_out.items():
        yield f"{LEFT_OUT_MARK} {system}: trials were left out of {number} of its values"
    for source in dict.fromkeys(cell.get("other_source") for _, cell in of_sets):
        if source:
            yield f"{OTHER_SOURCE_MARK} Original speech: {source}, unlike those unmarked"
    cells, of_scores = means.cells, all(metric.kind == "scores" for metric in metrics)
    yield from cells.comparability(utility=not of_scores)
    yield from cells.notes


def _text(cell: Row | None, *, intervals: bool = False) -> str:
    """Return a value with its category and marks, and its interval in brackets; "" for none."""
    if cell is None:
        return ""
    text, caveat = text_of(cell), cell.get("caveat")
    graded = cell.get("metric") == "zebra_individual" and not is_withheld(cell)
    tag = zebra_category(cell) if graded else None
    text = marked_text(f"{text} {tag}" if tag else text, caveat)
    text += OTHER_SOURCE_MARK * bool(cell.get("other_source"))
    is_marked = caveat is CAVEATS[INCOMPLETE]
    text += LEFT_OUT_MARK * (bool(cell.get("left_out")) and not is_marked)
    bounds = interval_of(cell) if intervals else None
    interval = describe(cell["metric"]).interval(bounds) if bounds else ""
    return f"{text} {interval}".rstrip()


def heading_of(metric: Metric, rest: str) -> Label:
    """Return the heading of a block of a metric with more words in plain text."""
    title = metric.heading
    latex = title.latex or escape_latex(title.title)
    return Label(title.title + rest, latex + escape_latex(rest)) if rest else title


def weights_text(protocol: Protocol) -> str:
    """Describe the weight of each data set and gender in averages."""
    genders = len(protocol.genders)
    whole = genders * sum(d.weight for d in protocol.data_sets)
    weights = ", ".join(f"{row_title(d.title)} {d.weight / whole:.3g}" for d in protocol.data_sets)
    return f"{weights} for each gender" if genders > 1 else weights


def row_title(title: str) -> str:
    """Return a data set's title as in the supplement's tables: without parentheses."""
    return re.sub(r"[()]", "", title)
