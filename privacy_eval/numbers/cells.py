"""Single values of evaluated and of published systems, by their identity."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import abbreviate, counted
from ..metrics import CAVEATS, Caveat, describe, of_kind, withholding_caveat
from ..metrics.caveats import WEAK_ATTACKER
from ..metrics.registry import SUBJECTIVE
from ..metrics.utility import SpeakerSums
from ..protocol.protocol import ANONYMIZED, ORIGINAL
from ..protocol.published import Family, PublishedResults, PublishedValue
from ..results.records import EmotionRecord, MeasureRecord, RecognitionRecord, Results
from ..results.signature import comparability_notes
from ..tree.conditions import Condition

#: The column of original speech.
ORIGINAL_COLUMN = "Orig"

#: The attack model of values of original speech, whatever its id in the protocol.
ORIGINAL_ATTACK = ORIGINAL


#: Source of the values of evaluated systems.
OWN_SOURCE = "your own evaluation"


def _weak_attackers(results: Results) -> dict[str, Caveat]:
    """Return, by system, the caveat on all its values that follows from original speech."""
    return {
        r.condition.system: Caveat(f"{r.condition.system}: {r.caveats[WEAK_ATTACKER]}", ranked=True)
        for r in results.verification
        if WEAK_ATTACKER in r.caveats
    }


@dataclass(frozen=True)
class Cell:
    """One value.

    Attributes
    ----------
    metric : str
        As in its `CellKey`.
    value : float
        In the unit of records (rates are fractions).
    printed : str
        Text to print instead of the value with the metric's decimals; "" for none.
    exact : str
        The published digits, if its tables have more decimals than the metric; else "".
    tag : str or None
        ZEBRA category.
    interval : (float, float) or None
        95 % bounds, in the unit of records: from the bootstrap over speakers.
    n_target, n_nontarget : int or None
        Numbers of trials.
    left_out : bool
        Trials were left out on request.
    caveat : Caveat or None
        The first reason why it is uninformative about privacy.
    sources : frozenset of int
        Numbers of the merged sources that agree on a value of original speech.
    other_source : str
        The source of an original-speech value, if it differs from that of the adjacent columns.
    conditions : tuple of Condition
        Conditions whose scores it is computed from; empty if published or not from scores.
    speaker_sums : SpeakerSums or None
        Counts of a word error rate or measure, from which replicates are drawn.
    """

    metric: str
    value: float
    tag: str | None = None
    interval: tuple[float, float] | None = None
    n_target: int | None = None
    n_nontarget: int | None = None
    left_out: bool = False
    caveat: Caveat | None = None
    other_source: str = ""
    conditions: tuple[Condition, ...] = ()
    printed: str = ""
    exact: str = ""
    speaker_sums: SpeakerSums | None = None
    sources: frozenset[int] = frozenset()

    @functools.cached_property
    def text(self) -> str:
        """The value without its unit: as printed, or with the metric's decimals."""
        if self.printed:
            return self.printed
        # Published digits are decimals, which are rounded half up, as means are.
        return describe(self.metric).format(self.value, mean=bool(self.exact))

    @property
    def is_longer(self) -> bool:
        """Whether more decimals are printed than the metric has."""
        return len(self.printed.partition(".")[2]) > describe(self.metric).decimals

    @property
    def withheld(self) -> bool:
        """Whether it must be neither ranked nor graded."""
        return self.caveat is not None and not self.caveat.ranked


@dataclass(frozen=True)
class CellKey:
    """Identity of a value: `attack_model` is None for voice similarity, utility and listening
    tests; original speech is the system Orig, always under `ORIGINAL_ATTACK`."""

    metric: str
    attack_model: str | None
    split: str
    data_set: str
    gender: str
    system: str

    def __post_init__(self) -> None:
        if self.system == ORIGINAL_COLUMN and self.attack_model is not None:
            object.__setattr__(self, "attack_model", ORIGINAL_ATTACK)


@dataclass(frozen=True)
class Cells:
    """Values by their identity.

    Attributes
    ----------
    systems : tuple of str
        Columns in order, without Orig.
    own : frozenset of str
        Submitted systems, to be highlighted among published ones.
    family : mapping
        Baseline from which a published system was developed, or other.
    families : mapping
        Style of systems' names by their family.
    notes : tuple of str
        Notes for the reader, e.g. on conflicting values of original speech.
    orders : mapping
        Columns by attack model, if a source has another order.
    sources : tuple of str
        The sources by number, in words.
    results : tuple of Results
        Results of the evaluated systems.
    unlike_sources : tuple of str
        Notes on sources whose values must not be compared with each other.
    """

    values: Mapping[CellKey, Cell]
    systems: tuple[str, ...]
    own: frozenset[str] = frozenset()
    family: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[str, Family] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    orders: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)
    sources: tuple[str, ...] = ("",)
    results: tuple[Results, ...] = ()
    unlike_sources: tuple[str, ...] = ()

    def style(self, system: str) -> Family | None:
        """Style of a system's name; None of one without."""
        return self.families.get(self.family.get(system, ""))

    def columns(self, attack_model: str | None) -> tuple[str, ...]:
        """Return the systems in the order of the sources for an attack model."""
        return self.orders.get(attack_model, self.systems)

    def get(self, key: CellKey) -> Cell | None:
        """Return the value of a key; that of original speech for any attack model."""
        return self.values.get(key)

    def beside(self, key: CellKey, columns: Collection[str]) -> Cell | None:
        """Return the value of a key for a table with these columns, flagging original speech from
        another source than theirs: the first source if it has any of them, else the second."""
        cell = self.get(key)
        of_columns = 0 if self.own.intersection(columns) else 1
        if cell is None or len(self.sources) == 1 or not cell.sources or of_columns in cell.sources:
            return cell
        return replace(cell, other_source=self.sources[min(cell.sources)])

    @functools.cached_property
    def not_comparable(self) -> tuple[str, ...]:
        """Notes on values that must not be compared."""
        return self._comparability(utility=True)

    @functools.cached_property
    def scores_not_comparable(self) -> tuple[str, ...]:
        """The same, without those on utility."""
        return self._comparability(utility=False)

    def _comparability(self, *, utility: bool) -> tuple[str, ...]:
        notes = (n for of in self.results for n in comparability_notes(of, utility=utility))
        return (*notes, *self.unlike_sources)

    @functools.cached_property
    def failed(self) -> set[str]:
        """The columns of systems of which something failed; any system has original speech."""
        columns = {system_column(s) for of in self.results for s in of.failed}
        return columns | {ORIGINAL_COLUMN} if columns else columns

    @functools.cached_property
    def measures(self) -> list[str]:
        """The measures of speech that have values."""
        present = {key.metric for key in self.values}
        return [key for key in of_kind("measures") if key in present]

    def has(self, metric: str, attack_model: str | None = None) -> bool:
        """Whether any system has the metric (under an attack model)."""
        keys = select(self, metric=metric, attack_model=attack_model)
        return any(key.system != ORIGINAL_COLUMN for key in keys)


def select(cells: Cells, **wanted: str | None) -> dict[CellKey, Cell]:
    """Select values by parts of their keys: `select(cells, metric="eer", split="dev")`."""
    return {
        place: cell
        for place, cell in cells.values.items()
        if all(getattr(place, name) == value for name, value in wanted.items())
    }


def cells_from_results(results: Results) -> Cells:
    """Take the values of evaluated systems in the protocol's variant, under its attack models."""
    variant = results.protocol.variant
    values, disagree = _score_cells(results)
    for s, metrics, preferred in (
        *((u.condition, u.values, False) for u in results.utility),
        # Systems are compared by the model trained on original speech, where there are several.
        *(
            (s.condition, s.values(variant), s.condition.asv_model == ORIGINAL)
            for s in results.similarity
        ),
    ):
        for metric, value in metrics.items():
            system = system_column(s.system)
            key = CellKey(metric, None, s.split, s.data_set, s.gender, system)
            if key not in values or preferred:
                values[key] = Cell(metric, value)
    utility, conflicts = _utility_cells(results)
    values |= utility
    notes = []
    if conflicts:
        notes.append(f"Left out, as results folders differ: {abbreviate(conflicts)}")
    if disagree:
        notes.append(
            "Original speech differs between systems (the first one's is shown): "
            f"{abbreviate(disagree)}"
        )
    systems = tuple(system_column(s) for s in results.systems)
    return Cells(
        values,
        systems,
        frozenset(systems),
        notes=tuple(notes),
        sources=(OWN_SOURCE,),
        results=(results,),
    )


def _score_cells(results: Results) -> tuple[dict[CellKey, Cell], list[str]]:
    """Take the values of scores, and name the systems whose original speech differs."""
    variant = results.protocol.variant
    weak = _weak_attackers(results)
    values: dict[CellKey, Cell] = {}
    disagree: dict[str, set[str]] = {}
    for r in results.verification:
        c = r.condition
        if c.attack_model is None:
            continue
        system = ORIGINAL_COLUMN if c.is_original else system_column(c.system)
        intervals = r.intervals(variant)
        for metric, value in r.values(variant).items():
            key = CellKey(metric, c.attack_model, c.split, c.data_set, c.gender, system)
            bounds = intervals.get(metric)
            cell = Cell(
                metric,
                value,
                r.tag(variant) if metric == "zebra_individual" else None,
                (bounds[0], bounds[1]) if bounds else None,
                r.n_target,
                r.n_nontarget,
                r.left_out > 0,
                r.caveat(metric, variant) or weak.get(c.system),
                conditions=(c,),
            )
            if not c.is_original:
                values[key] = cell
            elif values.setdefault(key, cell).text != cell.text:
                disagree.setdefault(c.system, set()).add(c.name)
    return values, [f"{counted(len(c), 'condition')} of {s}" for s, c in disagree.items()]


def _utility_cells(results: Results) -> tuple[dict[CellKey, Cell], list[str]]:
    """Word error rates by the averaged recognizer, recalls of emotions, and measures of speech; of
    original speech the first system's. Values that differ between results folders are left out, and
    named in the list."""
    protocol, recognition = results.protocol, results.protocol.recognition
    attack = protocol.average_attack
    recognizer = {ORIGINAL: ORIGINAL, ANONYMIZED: recognition.average_model or attack.asv_model}
    measured: list[RecognitionRecord | EmotionRecord | MeasureRecord] = [
        r
        for r in results.recognition
        if r.language_model == recognition.average and r.asr_model == recognizer[r.condition.trial]
    ]
    # Without the path of its decoding, a partial rate is of an unknown model: blank the average.
    partial = (r for r in results.recognition if r.line.partial and r.language_model is None)
    unnamed = {r.condition: r for r in partial}
    measured += (*unnamed.values(), *results.emotion, *results.measures)
    stored: dict[tuple[str, CellKey], list[Cell]] = {}
    for r in measured:
        c = r.condition
        column = ORIGINAL_COLUMN if c.trial == ORIGINAL else system_column(c.system)
        gender = c.gender if isinstance(c, Condition) else ""
        is_named = getattr(r, "language_model", "") is not None
        for metric, value in r.by_variant()[""].items():
            key = CellKey(metric, None, c.split, c.data_set, gender, column)
            low, high = r.interval("", metric)
            interval = None if low is None or high is None or not is_named else (low, high)
            sums = r.speaker_sums(metric) if is_named else None
            first = next((CAVEATS[key] for key in r.caveats), None)
            caveat = withholding_caveat(r.caveats, metric) or first
            cell = Cell(metric, value, interval=interval, caveat=caveat, speaker_sums=sums)
            stored.setdefault((c.system, key), []).append(cell)
    cells: dict[CellKey, Cell] = {}
    conflicts = []
    for (system, key), of_key in stored.items():
        if len({cell.value for cell in of_key}) == 1:
            if key not in cells or cells[key].withheld:
                cells[key] = of_key[0]
        else:
            name = describe(key.metric).name
            conflicts.append(f"{name} of {system} on {key.data_set} {key.split}")
    return cells, conflicts


def cells_from_published(
    published: PublishedResults,
    *,
    tables: Collection[int] | None = None,
    beside: Collection[str] = (),
) -> Cells:
    """Take published values, with the decimals of tables where the source has more of a metric.

    Parameters
    ----------
    tables : collection of int, optional
        Numbers of tables; default: all.
    beside : collection of str
        Systems of the user. A published one of the same name is called `... (published)`: a
        baseline B1 run by the user differs from the published one.
    """
    systems = published.systems
    names = {s.id: f"{s.id} (published)" if s.id in beside else s.id for s in systems.systems}
    values: dict[CellKey, PublishedValue] = {}
    columns: dict[str, None] = {}
    orders: dict[str | None, dict[str, None]] = {}
    for p in published.values:
        if tables is not None and p.table not in tables:
            continue
        system = names.get(p.system, ORIGINAL_COLUMN)
        if system != ORIGINAL_COLUMN:
            columns[system] = None
            orders.setdefault(p.attack_model, {})[system] = None
        key = CellKey(p.metric, p.attack_model, p.split, p.data_set, p.gender, system)
        # Table 18 repeats values of Table 3 with other digits: those of the first table count.
        values.setdefault(key, p)
    cells = {key: Cell(p.metric, p.number, printed=p.value) for key, p in values.items()}
    longer = {cell.metric for cell in cells.values() if cell.is_longer}
    return Cells(
        {
            key: replace(cell, printed="", exact=cell.printed) if cell.metric in longer else cell
            for key, cell in cells.items()
        },
        tuple(columns),
        family={names[s.id]: s.family for s in systems.systems},
        families=systems.families,
        notes=(systems.note,) if systems.note else (),
        sources=(f"published results {published.name}",),
        # A system without a value under an attack model comes last there.
        orders={a: tuple(first | columns) for a, first in orders.items()},
    )


def merge_cells(parts: Iterable[Cells]) -> Cells:
    """Merge the systems of several sources; of values in two (of original speech) the first is
    taken.

    Raises
    ------
    ValueError
        A duplicate system.
    """
    parts = list(parts)
    systems = tuple(s for part in parts for s in part.systems)
    if len(set(systems)) < len(systems):
        raise ValueError("duplicate system in two sources")
    values: dict[CellKey, Cell] = {}
    for number, part in enumerate(parts):
        for place, cell in part.values.items():
            chosen = values.setdefault(place, cell)
            if place.system == ORIGINAL_COLUMN and not _differ(cell, chosen):
                values[place] = replace(chosen, sources=chosen.sources | {number})
    attack_models = {a for part in parts for a in part.orders}
    of_sources = tuple(source for part in parts for source in part.sources)
    unlike = [note for part in parts for note in part.unlike_sources]
    having = dict.fromkeys(s for part in parts if part.values for s in part.sources if s)
    if len(having) > 1:
        unlike.append(
            f"Values of {' and '.join(having)} are comparable only for the "
            "same trials and the same back end of the attacker"
        )
    return Cells(
        values,
        systems,
        frozenset(s for part in parts for s in part.own),
        {system: f for part in parts for system, f in part.family.items()},
        {family: style for part in parts for family, style in part.families.items()},
        (*(note for part in parts for note in part.notes), *_originals_note(parts, values)),
        {a: tuple(s for part in parts for s in part.columns(a)) for a in attack_models},
        of_sources,
        tuple(results for part in parts for results in part.results),
        tuple(unlike),
    )


def conflicting_originals(cells: Cells, places: Iterable[CellKey]) -> str:
    """Return a note if no single source has all these values of original speech, so that they
    cannot be averaged; "" otherwise."""
    sources = {p: cell.sources for p in places if (cell := cells.get(p)) and cell.sources}
    if not sources or frozenset.intersection(*sources.values()):
        return ""
    elsewhere = [place for place, numbers in sources.items() if 0 not in numbers]
    return _other_source_note(elsewhere, cells.sources)


def system_column(system: str) -> str:
    """Return the column of a system of records: its name, unless that is original speech."""
    return f"{system} (system)" if system == ORIGINAL_COLUMN else system


def _originals_note(parts: list[Cells], chosen: Mapping[CellKey, Cell]) -> list[str]:
    """Return notes on original speech of several sources."""
    originals = [
        p
        for p in chosen
        if p.system == ORIGINAL_COLUMN and p.attack_model in (ORIGINAL_ATTACK, None)
    ]
    objective = [p for p in originals if not p.metric.startswith(SUBJECTIVE)]
    elsewhere = [p for p in objective if 0 not in chosen[p].sources]
    others = [part.values for part in parts[1:]]
    several = [p for p in originals if sum(p in part.values for part in parts) > 1]
    differ = [p for p in several if any(p in o and _differ(o[p], chosen[p]) for o in others)]
    notes = []
    if differ:
        notes.append(
            f"Original speech: sources differ in {len(differ)} of the {len(several)} values that "
            f"several have; those of {parts[0].sources[0] or 'the first'} are shown"
        )
    if elsewhere and len(elsewhere) < len(originals):
        notes.append(_other_source_note(elsewhere, [s for part in parts for s in part.sources]))
    return notes


def _other_source_note(elsewhere: Iterable[CellKey], sources: Sequence[str]) -> str:
    metrics = dict.fromkeys(f"{describe(p.metric).name} ({p.split})" for p in elsewhere)
    first, *others = sources
    other = " or ".join(filter(None, dict.fromkeys(others))) or "another source"
    return f"Original speech: {other} if missing in {first or 'the first'}: {', '.join(metrics)}"


def _differ(one: Cell, two: Cell) -> bool:
    return float(one.text) != float(two.text)
