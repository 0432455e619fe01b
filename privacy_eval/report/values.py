"""Single values of many systems, from results and from published tables alike: what
multi-system tables and figures are made of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import abbreviate
from ..metrics import Variant, describe
from ..metrics.registry import SUBJECTIVE
from ..protocol.protocol import ORIGINAL, Protocol
from ..protocol.published import Family, load_published, load_systems
from ..results.averages import weighted_mean
from ..results.records import Results, VerificationRecord

#: The column of original speech.
ORIGINAL_COLUMN = "Orig"

#: The attack model of the places of original speech, whatever the protocol calls it.
ORIGINAL_ATTACK = ORIGINAL

#: Marks values that trials were left out of.
LEFT_OUT_MARK = "\u2021"


def caveats(
    records: Iterable[VerificationRecord], metrics: Sequence[str], variant: Variant
) -> dict[str, list[VerificationRecord]]:
    """Reasons why values of records are uninformative, with the records of each."""
    found: dict[str, list[VerificationRecord]] = {}
    for record in records:
        values = record.values(variant)
        for key in metrics:
            if key in values and (why := describe(key).caveat(values[key], record.n_target)):
                found.setdefault(why, []).append(record)
    return found


@dataclass(frozen=True)
class Cell:
    """One value.

    Attributes
    ----------
    value : float
        In the unit of records (rates are fractions).
    text : str
        As the supplement prints it; of published values their very digits.
    tag : str or None
        ZEBRA category that goes with it.
    interval : (float, float) or None
        95 % bounds, in the unit of records: from the bootstrap over speakers.
    n_target, n_nontarget : int or None
        Numbers of trials behind it.
    left_out : bool
        Trials were left out on request.
    """

    value: float
    text: str
    tag: str | None = None
    interval: tuple[float, float] | None = None
    n_target: int | None = None
    n_nontarget: int | None = None
    left_out: bool = False


@dataclass(frozen=True)
class Place:
    """Where a value belongs: `attack_model` is None for voice similarity, utility and
    listening tests; original speech is the system Orig under `ORIGINAL_ATTACK`."""

    metric: str
    attack_model: str | None
    split: str
    data_set: str
    gender: str
    system: str


@dataclass(frozen=True)
class Cells:
    """Values by place.

    Attributes
    ----------
    systems : tuple of str
        Columns, in order; without Orig.
    own : frozenset of str
        Systems of the user, to be highlighted among published ones.
    family : mapping
        The baseline that a published system was developed from, or other.
    families : mapping
        Style of systems' names by their family.
    notes : tuple of str
        What a reader must know, e.g. original speech that systems disagree on.
    orders : mapping
        Columns by attack model, where a source has them in another order there.
    original_sources : mapping
        Numbers of the sources that print the value of original speech at a place; empty
        where there is one source only.
    """

    values: Mapping[Place, Cell]
    systems: tuple[str, ...]
    own: frozenset[str] = frozenset()
    family: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[str, Family] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    orders: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)
    original_sources: Mapping[Place, frozenset[int]] = field(default_factory=dict)

    def style(self, system: str) -> Family | None:
        """Style of a system's name; None of one without."""
        return self.families.get(self.family.get(system, ""))

    def columns(self, attack_model: str | None) -> tuple[str, ...]:
        """The systems in the order that the sources have them under an attack model."""
        return self.orders.get(attack_model, self.systems)

    def get(
        self,
        metric: str,
        attack_model: str | None,
        split: str,
        data_set: str,
        gender: str,
        system: str,
    ) -> Cell | None:
        """The value of a place; that of Orig whatever the attack model."""
        return self.at(Place(metric, attack_model, split, data_set, gender, system))

    def at(self, place: Place) -> Cell | None:
        """The same of a place."""
        return self.values.get(_as_stored(place))

    def has(self, metric: str, attack_model: str | None = None) -> bool:
        """Whether any system has the metric (under an attack model)."""
        found = select(self, metric=metric, attack_model=attack_model)
        return any(place.system != ORIGINAL_COLUMN for place in found)


def select(cells: Cells, **wanted: str | None) -> dict[Place, Cell]:
    """The values of some places: `select(cells, metric="eer", split="dev")`."""
    return {
        place: cell
        for place, cell in cells.values.items()
        if all(getattr(place, name) == value for name, value in wanted.items())
    }


def cells_from_results(results: Results) -> Cells:
    """The values of evaluated systems in the protocol's variant, under its attack models."""
    variant = results.protocol.variant
    values: dict[Place, Cell] = {}
    disagree: dict[str, None] = {}
    for r in results.verification:
        c = r.condition
        if c.attack_model is None:
            continue
        attack = ORIGINAL_ATTACK if c.is_original else c.attack_model
        system = ORIGINAL_COLUMN if c.is_original else system_column(c.system)
        intervals = r.speaker_intervals.get(variant, {})
        for metric, value in r.values(variant).items():
            place = Place(metric, attack, c.split, c.data_set, c.gender, system)
            bounds = intervals.get(metric)
            cell = Cell(
                value,
                describe(metric).format(value),
                r.tag(variant) if metric == "zebra_individual" else None,
                (bounds[0], bounds[1]) if bounds else None,
                r.n_target,
                r.n_nontarget,
                r.left_out > 0,
            )
            if c.is_original and place in values:
                if values[place].text != cell.text:
                    disagree[f"{c.name} of {c.system}"] = None
                continue
            values[place] = cell
    for of_set, metrics, preferred in (
        *((u.condition, u.values, False) for u in results.utility),
        # Systems are compared by the model trained on original speech, where there are several.
        *((s.condition, s.values(variant), s.asv_model == ORIGINAL) for s in results.similarity),
    ):
        at = (of_set.split, of_set.data_set, of_set.gender, system_column(of_set.system))
        for metric, value in metrics.items():
            place = Place(metric, None, *at)
            if place not in values or preferred:
                values[place] = Cell(value, describe(metric).format(value))
    notes = []
    if disagree:
        notes.append(
            "Original speech differs between systems (the first one's is shown): "
            f"{abbreviate(list(disagree))}"
        )
    systems = tuple(system_column(s) for s in results.systems)
    return Cells(values, systems, frozenset(systems), notes=tuple(notes))


def cells_from_published(name: str, *, tables: Collection[int] | None = None) -> Cells:
    """Published values, digit for digit.

    Parameters
    ----------
    tables : collection of int, optional
        Numbers of the tables to take; all, unless given.

    Raises
    ------
    PrivacyEvalError
        No published results of that name.
    """
    published = load_systems(name)
    family = {s.id: s.family for s in published.systems}
    values: dict[Place, Cell] = {}
    columns: dict[str, None] = {}
    orders: dict[str | None, dict[str, None]] = {}
    for p in load_published(name):
        if tables is not None and p.table not in tables:
            continue
        if p.system != ORIGINAL_COLUMN:
            columns[p.system] = None
            orders.setdefault(p.attack_model, {})[p.system] = None
        original = p.system == ORIGINAL_COLUMN and p.attack_model is not None
        place = Place(
            p.metric,
            ORIGINAL_ATTACK if original else p.attack_model,
            p.split,
            p.data_set,
            p.gender,
            p.system,
        )
        # Table 18 repeats some of Table 3 with other digits: the tables it repeats count.
        values.setdefault(place, Cell(p.number, p.value))
    # A system without a value under an attack model comes last there.
    ordered = {a: tuple(first | columns) for a, first in orders.items()}
    return Cells(values, tuple(columns), family=family, families=published.families, orders=ordered)


def merged(parts: Iterable[Cells]) -> Cells:
    """Systems of several sources side by side; where two give a value (original speech,
    which both have), that of the first.

    A published system named like one of an earlier source has `(published)` added to its
    name: somebody who ran the baseline B1 wants it beside the published one.

    Raises
    ------
    ValueError
        A system that two of them have, one of them not published.
    """
    parts = _told_apart(parts)
    systems = tuple(s for part in parts for s in part.systems)
    if len(set(systems)) < len(systems):
        raise ValueError("a system stands in two sources")
    values: dict[Place, Cell] = {}
    sources: dict[Place, set[int]] = {}  # of original speech
    for number, part in enumerate(parts):
        for place, cell in part.values.items():
            chosen = values.setdefault(place, cell)
            if place.system == ORIGINAL_COLUMN and not _differ(cell, chosen):
                sources.setdefault(place, set()).add(number)
    attack_models = {a for part in parts for a in part.orders}
    return Cells(
        values,
        systems,
        frozenset(s for part in parts for s in part.own),
        {system: f for part in parts for system, f in part.family.items()},
        {family: style for part in parts for family, style in part.families.items()},
        (*(note for part in parts for note in part.notes), *_originals(parts, values)),
        {a: tuple(s for part in parts for s in part.columns(a)) for a in attack_models},
        {place: frozenset(numbers) for place, numbers in sources.items()},
    )


def average(
    cells: Cells,
    protocol: Protocol,
    metric: str,
    attack_model: str | None,
    split: str,
    system: str,
) -> float | None:
    """Mean over data sets and genders, data sets weighted as the plan says, in the unit of
    records; None unless the system has every cell, original speech all from one source."""
    places = {
        Place(metric, attack_model, split, data_set.id, gender, system): data_set.weight
        for data_set in protocol.data_sets
        for gender in protocol.genders
    }
    found = ((weight, cells.at(place)) for place, weight in places.items())
    mean = weighted_mean((weight, cell.value if cell else None) for weight, cell in found)
    return None if conflicting_originals(cells, places) else mean


def conflicting_originals(cells: Cells, places: Iterable[Place]) -> str:
    """What a reader must know of places whose values of original speech no single source
    prints, so that they have no mean; "" where one does."""
    sources = {}
    for place in map(_as_stored, places):
        if place in cells.original_sources:
            sources[place] = cells.original_sources[place]
    if not sources or frozenset.intersection(*sources.values()):
        return ""
    return _of_another([place for place, numbers in sources.items() if 0 not in numbers])


def system_column(system: str) -> str:
    """The column of a system of records: its name, unless that means original speech."""
    return f"{system} (system)" if system == ORIGINAL_COLUMN else system


def _as_stored(place: Place) -> Place:
    """Where the value of a place stands: original speech knows no other attack model."""
    if place.system == ORIGINAL_COLUMN and place.attack_model is not None:
        return replace(place, attack_model=ORIGINAL_ATTACK)
    return place


def _told_apart(parts: Iterable[Cells]) -> list[Cells]:
    """The parts with the published systems renamed that an earlier part has."""
    apart: list[Cells] = []
    taken: set[str] = set()
    for part in parts:
        names = {s: f"{s} (published)" for s in part.systems if s in taken and s not in part.own}
        taken |= {names.get(s, s) for s in part.systems}
        apart.append(_renamed(part, names) if names else part)
    return apart


def _renamed(part: Cells, names: Mapping[str, str]) -> Cells:
    def new(systems: Iterable[str]) -> tuple[str, ...]:
        return tuple(names.get(s, s) for s in systems)

    return replace(
        part,
        values={
            replace(p, system=names.get(p.system, p.system)): c for p, c in part.values.items()
        },
        systems=new(part.systems),
        family={names.get(s, s): f for s, f in part.family.items()},
        orders={attack: new(systems) for attack, systems in part.orders.items()},
    )


def _originals(parts: list[Cells], chosen: Mapping[Place, Cell]) -> list[str]:
    """What a reader must know of original speech that several sources have."""
    originals = [
        p for p in chosen if p.system == ORIGINAL_COLUMN and p.attack_model == ORIGINAL_ATTACK
    ]
    elsewhere = [
        p
        for p in originals
        if parts and p not in parts[0].values and not p.metric.startswith(SUBJECTIVE)
    ]
    differ = [
        p
        for p in originals
        if any(p in o.values and _differ(o.values[p], chosen[p]) for o in parts[1:])
    ]
    notes = []
    if differ:
        notes.append(
            f"Original speech: sources differ in {len(differ)} of {len(originals)} values; those "
            "of the first are shown"
        )
    if elsewhere and len(elsewhere) < len(originals):
        notes.append(_of_another(elsewhere))
    return notes


def _of_another(elsewhere: Iterable[Place]) -> str:
    metrics = dict.fromkeys(f"{p.metric} ({p.split})" for p in elsewhere)
    return f"Original speech: of another source, where the first has none: {', '.join(metrics)}"


def _differ(one: Cell, two: Cell) -> bool:
    return float(one.text) != float(two.text)
