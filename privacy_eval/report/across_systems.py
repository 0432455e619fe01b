"""Tables of many systems side by side, in the form of Tables 1-15 of the supplement of the
VoicePrivacy 2020 Challenge: blocks of a metric under an attack model, a row per data set
and gender, a column per system, original speech first.

They are made of `Cells`, so evaluated and published systems stand in one table. What a
system has no value for stays blank; blocks, tables and columns without any are left out.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..io.files import file_names
from ..metrics import METRICS
from ..metrics.zebra import categorical_tag
from ..protocol.protocol import ANONYMIZED, ORIGINAL, AttackModel, Protocol
from ..protocol.published import load_systems
from .latex import escape_latex
from .table import Column, Heading, Table
from .titles import TITLES
from .values import (
    LEFT_OUT_MARK,
    ORIGINAL_ATTACK,
    ORIGINAL_COLUMN,
    Cell,
    Cells,
    average,
    caveat,
    text_of,
)

#: The colours of systems' names by the baseline they were developed from.
FAMILY_COLOURS: Mapping[str, str] = {"B1": "blue", "B2": "red"}

#: What the categories of worst-case disclosure mean (footnote 4 of the supplement).
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
class Layout:
    """The tables of some metrics, one per split.

    Attributes
    ----------
    name : str
        Of their files, before the split.
    metrics : tuple of str
        In order; each has a block for every attack model.
    asv_model : str or None
        The attack models are the plan's with a speaker-verification model trained on this;
        None for metrics that have no attack model.
    supplement : mapping
        Numbers of the tables in the supplement, by split.
    """

    name: str
    metrics: tuple[str, ...]
    asv_model: str | None
    supplement: Mapping[str, int]


_ASV = ("eer", "cllr", "cllr_min")

_ZEBRA = ("zebra_population", "zebra_individual")

#: All tables, in the supplement's order.
LAYOUTS: tuple[Layout, ...] = (
    Layout("asv", _ASV, ORIGINAL, {"dev": 2, "test": 3}),
    Layout("zebra", _ZEBRA, ORIGINAL, {"dev": 4, "test": 5}),
    Layout("linkability", ("linkability",), ORIGINAL, {"dev": 6, "test": 7}),
    Layout("voice", ("gvd_db", "deid"), None, {"dev": 8, "test": 9}),
    Layout("asv_retrained", _ASV, ANONYMIZED, {"dev": 10, "test": 11}),
    Layout("zebra_retrained", _ZEBRA, ANONYMIZED, {"dev": 12, "test": 13}),
    Layout("linkability_retrained", ("linkability",), ANONYMIZED, {"dev": 14, "test": 15}),
)

#: What captions say of a direction; of Cllr they leave it open, as calibration counts there.
_DIRECTIONS: Mapping[tuple[str, ...], str] = {
    _ASV: " Larger EER and min Cllr correspond to better privacy.",
    _ZEBRA: " Smaller disclosure corresponds to better privacy.",
    ("linkability",): " Smaller linkability corresponds to better privacy.",
    ("gvd_db", "deid"): (
        " Higher DeID corresponds to better privacy, higher G_VD to voice distinctiveness that "
        "is better preserved."
    ),
}

#: What is said of colours below a table.
COLOURS_MEAN = "Names by the baseline that systems were developed from: " + ", ".join(
    f"{colour} {family}" for family, colour in FAMILY_COLOURS.items()
)

_AVERAGE = "Weighted average"

#: More systems than this make a page wide.
MOST_UPRIGHT = 10

#: Longer names than this are turned in LaTeX.
_MOST_LEVEL = 9

_LEVEL_BESIDE_TURNED = 4


def submissions_table(name: str) -> Table | None:
    """The systems that were published under a name: Table 1 of the supplement, the baselines
    first, a group for each team; None where there are baselines only.

    Raises
    ------
    PrivacyEvalError
        Nothing published of that name.
    """
    published = load_systems(name).systems
    if all(s.role == "baseline" for s in published):
        return None
    groups = [
        tuple(
            (
                s.team or "",
                s.reference,
                s.id,
                s.role,
                "" if s.role == "baseline" else s.family,
                "" if s.deadline is None else str(s.deadline),
                "yes" if s.anonymized_training_data else "",
                s.details,
            )
            for s in systems
        )
        for _, systems in itertools.groupby(published, key=lambda s: s.team)
    ]
    return Table(
        "published_systems",
        "Published systems.",
        (
            Column("Team", align="l", sparse=True),
            Column("Reference", align="l", sparse=True, wrap=14),
            Column("System", align="l"),
            Column("Role", align="l"),
            Column("Developed from", align="l", wrap=6),
            Column("Deadline"),
            Column("Anonymized training data", align="l", wrap=7),
            Column("Details", align="l", wrap=30),
        ),
        tuple(groups),
        notes=(
            "Developed from: a baseline, or other than these; deadline: the challenge's first or "
            "second one; anonymized training data: the team submitted them, too",
        ),
        fit="landscape",
    )


def comparison_tables(
    cells: Cells,
    protocol: Protocol,
    *,
    averages: bool = True,
    tags: bool = True,
    coloured: bool = False,
) -> list[Table]:
    """The supplement's tables of any systems, in its order.

    Parameters
    ----------
    averages : bool
        End every block with the averages over data sets and genders, as the plan weighs
        them, of the systems that have all values.
    tags : bool
        Put the ZEBRA category after every worst-case disclosure that decides it.
    coloured : bool
        Colour the names of systems in LaTeX by the baseline they were developed from.
    """
    pairs = [(layout, split) for layout in LAYOUTS for split in protocol.splits]
    names = file_names(f"comparison_{layout.name}_{split}" for layout, split in pairs)
    tables = []
    for layout, split in pairs:
        form = _Form(cells, protocol, split, averages, tags, coloured)
        table = form.table(layout, names[f"comparison_{layout.name}_{split}"])
        if table is not None:
            tables.append(table)
    return tables


def system_columns(
    systems: Sequence[str],
    *,
    own: Collection[str] = (),
    family: Mapping[str, str],
    turned: bool,
) -> Iterator[Column]:
    """A column per system, in order.

    Parameters
    ----------
    own : collection of str
        Those to be highlighted.
    family : mapping
        Baseline that a system was developed from, which colours its name.
    turned : bool
        Turn long names in LaTeX.
    """
    # Where one has to be turned, level ones would be several times as wide.
    longest = max(map(len, systems), default=0)
    most = _LEVEL_BESIDE_TURNED if longest > _MOST_LEVEL else _MOST_LEVEL
    for index, system in enumerate(systems):
        latex = None
        if turned and len(system) > most:
            latex = rf"\rotatebox{{90}}{{\scriptsize {escape_latex(system)}\ }}"
        yield Column(
            system,
            latex,
            rule=index == 0,
            highlight=system in own,
            colour=FAMILY_COLOURS.get(family.get(system, "")),
        )


def higher_is_better(metric: str) -> bool | None:
    """Whether the largest value is best: the more private one, of G_VD the one that
    preserves distinctiveness better. None of metrics that have no best value."""
    direction = METRICS[metric].more_private if metric in METRICS else "higher"
    return None if direction is None else direction == "higher"


def metric_name(metric: str) -> str:
    """What captions call a metric."""
    return TITLES[metric].name if metric in TITLES else metric


def metric_title(metric: str) -> Heading:
    """What heads a block or column of a metric, with its unit."""
    return TITLES[metric].heading if metric in TITLES else Heading(metric)


def tag_of(cell: Cell) -> str | None:
    """The ZEBRA category of a worst-case disclosure; of a published one, whose tag is not
    printed, only if all numbers that print like it share a category."""
    if cell.tag is not None:
        return cell.tag
    half = 0.5 * 10.0 ** -len(cell.text.partition(".")[2])
    bounds = (cell.value - half, cell.value + half)
    low, high = (categorical_tag(max(bound, 0.0), variant="exact") for bound in bounds)
    return low if low == high else None


@dataclass(frozen=True)
class _Block:
    """Rows of cells; what is printed, and which cells are best."""

    heading: Heading
    rows: tuple[tuple[str, ...], ...]
    best: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class _Form:
    """Tables of one split."""

    cells: Cells
    protocol: Protocol
    split: str
    averages: bool
    tags: bool
    coloured: bool

    def table(self, layout: Layout, name: str) -> Table | None:
        attacks: list[AttackModel | None] = [None]
        if layout.asv_model is not None:
            attacks = [
                a
                for a in self.protocol.attack_models
                if a.asv_model == layout.asv_model and a.id != ORIGINAL_ATTACK
            ]
        pairs = [(m, a) for m in layout.metrics for a in attacks]
        pairs = [(m, a) for m, a in pairs if any(self._found(m, a, self.cells.systems))]
        if not pairs:
            return None
        shown = [a for a in attacks if any(a is other for _, other in pairs)]
        order = self.cells.columns(shown[0].id if shown[0] else None)
        systems = [s for s in order if any(any(self._found(m, a, [s])) for m, a in pairs)]
        if any(any(self._found(m, a, [ORIGINAL_COLUMN])) for m, a in pairs):
            systems.insert(0, ORIGINAL_COLUMN)
        blocks = [self._block(m, a, systems) for m, a in pairs]
        bold, start = set(), 0
        for block in blocks:
            bold |= {(start + row, 2 + column) for row, column in block.best}
            start += len(block.rows)
        own = self.cells.own & set(systems)
        if own.issuperset(set(systems) - {ORIGINAL_COLUMN}):
            own = frozenset()  # nothing to set them off from
        upright = len(systems) <= MOST_UPRIGHT
        return Table(
            name,
            self._caption(layout.metrics, [m for m, _ in pairs], shown),
            (
                Column("Data", align="l", sparse=True),
                Column("Gender", align="l"),
                *system_columns(
                    systems,
                    own=own,
                    family=self.cells.family if self.coloured else {},
                    turned=not upright,
                ),
            ),
            tuple(block.rows for block in blocks),
            headings=tuple(block.heading for block in blocks),
            bold=frozenset(bold),
            bold_means="the best of the anonymized systems of a row, by its printed value, where "
            "they differ",
            highlight_means="own systems; the others are published",
            colour_means=COLOURS_MEAN,
            notes=tuple(self._notes(pairs, blocks, systems)),
            fit="shrunk" if upright else "landscape",
            repeated=3 if systems[0] == ORIGINAL_COLUMN else 2,
        )

    def _rows(self) -> Iterator[tuple[str, str]]:
        for data_set in self.protocol.data_sets:
            for gender in self.protocol.genders:
                yield data_set.id, gender

    def _found(
        self, metric: str, attack: AttackModel | None, systems: Iterable[str]
    ) -> Iterator[Cell]:
        model = attack.id if attack else None
        for system in systems:
            for data_set, gender in self._rows():
                cell = self.cells.get(metric, model, self.split, data_set, gender, system)
                if cell is not None:
                    yield cell

    def _block(self, metric: str, attack: AttackModel | None, systems: Sequence[str]) -> _Block:
        model = attack.id if attack else None
        best: set[tuple[int, int]] = set()
        rows: list[tuple[str, ...]] = []
        doubted: set[str] = set()  # systems of which a value says nothing, nor does the average

        def add(title: str, gender: str, found: Sequence[Cell | None], apart: set[str]) -> None:
            compared = {
                column: float(cell.text)
                for column, (system, cell) in enumerate(zip(systems, found, strict=True))
                if cell is not None and system not in apart
            }
            best.update((len(rows), column) for column in _best(metric, compared))
            rows.append((title, gender, *(self._text(metric, cell) for cell in found)))

        for data_set in self.protocol.data_sets:
            for gender, word in self.protocol.genders.items():
                found = [
                    self.cells.get(metric, model, self.split, data_set.id, gender, s)
                    for s in systems
                ]
                here = {
                    s
                    for s, cell in zip(systems, found, strict=True)
                    if cell is not None and caveat(metric, cell.value, cell.n_target)
                }
                add(_row_title(data_set.title), word, found, {ORIGINAL_COLUMN} | here)
                doubted |= here
        if self.averages:
            means = [
                average(self.cells, self.protocol, metric, model, self.split, s) for s in systems
            ]
            if any(mean is not None for mean in means):
                add(
                    _AVERAGE,
                    "",
                    [None if m is None else Cell(m, text_of(metric, m), "") for m in means],
                    {ORIGINAL_COLUMN} | doubted,
                )
        return _Block(self._heading(metric, attack), tuple(rows), frozenset(best))

    def _text(self, metric: str, cell: Cell | None) -> str:
        if cell is None:
            return ""
        tag = tag_of(cell) if self.tags and metric == "zebra_individual" else None
        text = f"{cell.text} {tag}" if tag else cell.text
        return f"{text}{LEFT_OUT_MARK}" if cell.left_out else text

    def _heading(self, metric: str, attack: AttackModel | None) -> Heading:
        title = metric_title(metric)
        if attack is None:
            return title
        speech = f"{attack.enrollment[0]}{attack.trial[0]}"
        rest = f" \u2013 {attack.title} ({speech})"
        latex = title.latex or escape_latex(title.title)
        return Heading(title.title + rest, latex + escape_latex(rest))

    def _caption(
        self,
        all_metrics: tuple[str, ...],
        metrics: Iterable[str],
        attacks: Sequence[AttackModel | None],
    ) -> str:
        shown = _enumerated([metric_name(m) for m in dict.fromkeys(metrics)])
        titles = [a.title[:1].lower() + a.title[1:] for a in attacks if a]
        models = ""
        if titles:
            plural = "s" if len(titles) > 1 else ""
            models = f" under the {_enumerated(titles)} attack model{plural}"
        split = self.protocol.split_title(self.split)
        direction = _DIRECTIONS.get(all_metrics, "")
        return f"Objective results: {shown}{models} ({split}).{direction}"

    def _notes(
        self,
        pairs: Sequence[tuple[str, AttackModel | None]],
        blocks: Sequence[_Block],
        systems: Sequence[str],
    ) -> Iterator[str]:
        metrics = {m for m, _ in pairs}
        attacks = [a for _, a in pairs if a]
        if attacks:
            yield "Speech in enrollment and trial: o original, a anonymized"
        if "zebra_individual" in metrics:
            odds = "; ".join(f"{tag}: {text}" for tag, text in POSTERIOR_ODDS.items())
            yield f"Worst-case disclosure, posterior odds ratio at a flat prior: {odds}"
        if any(row[0] == _AVERAGE for block in blocks for row in block.rows):
            weights = ", ".join(
                f"{_row_title(d.title)} {d.weight:g}" for d in self.protocol.data_sets
            )
            yield f"{_AVERAGE}: {weights} for each gender, blank where a value is missing"
        caveats = (
            caveat(metric, cell.value, cell.n_target)
            for metric, attack in pairs
            for cell in self._found(metric, attack, systems)
        )
        yield from dict.fromkeys(filter(None, caveats))
        absent = sorted(self.cells.own - set(systems))
        if absent:
            yield f"Without a value here: {', '.join(absent)}"
        left_out = Counter(
            system
            for metric, attack in dict.fromkeys(pairs)
            for system in systems
            for cell in self._found(metric, attack, [system])
            if cell.left_out
        )
        for system, number in left_out.items():
            yield f"{LEFT_OUT_MARK} {system}: trials were left out of {number} of its values"
        yield from self.cells.notes


def _best(metric: str, printed: Mapping[int, float]) -> list[int]:
    """Columns of the best value; none where there is one value only, or all are equal."""
    higher = higher_is_better(metric)
    if higher is None or len(set(printed.values())) < 2:
        return []
    best = (max if higher else min)(printed.values())
    return [column for column, number in printed.items() if number == best]


def _row_title(title: str) -> str:
    """A data set as the supplement's tables call it: without parentheses."""
    return re.sub(r"[()]", "", title)


def _enumerated(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
