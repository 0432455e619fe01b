"""Rows of evaluated and of published systems side by side, and what is known of the systems."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..choices import grouped
from ..errors import abbreviate, counted
from ..metrics import CAVEATS, Caveat, describe, of_kind, withholding_caveat
from ..metrics.caveats import WEAK_ATTACKER
from ..metrics.registry import SUBJECTIVE
from ..protocol.protocol import ANONYMIZED, ORIGINAL, Protocol
from ..protocol.published import Family, PublishedResults
from ..results.measurements import Measurements, Row
from ..results.records import Results
from ..results.rows import rows_of
from ..results.signature import comparability_notes
from ..tree.conditions import Condition

#: The column of original speech.
ORIGINAL_COLUMN = "Orig"

#: The attack model of values of original speech, whatever its id in the protocol.
ORIGINAL_ATTACK = ORIGINAL

#: Source of the values of evaluated systems.
OWN_SOURCE = "your own evaluation"

#: The circumstances of values side by side: the attack model is blank for voice similarity, utility
#: and listening tests; original speech is the system Orig, always under `ORIGINAL_ATTACK`.
PLACE = ("metric", "attack_model", "split", "data_set", "gender", "system")
Place = tuple[str | None, ...]


def at(*place: str | None) -> dict[str, str | None]:
    """Return the columns of a `PLACE`; "" is a blank, too."""
    of_place = dict(zip(PLACE, (name or None for name in place), strict=True))
    if of_place["system"] == ORIGINAL_COLUMN and of_place["attack_model"] is not None:
        of_place["attack_model"] = ORIGINAL_ATTACK
    return of_place


def place_of(row: Row) -> Place:
    """Return the circumstances of a row side by side."""
    return tuple(row.get(name) for name in PLACE)


def text_of(row: Row) -> str:
    """Format a value without its unit: as printed, or with the metric's decimals."""
    if printed := row.get("printed"):
        return str(printed)
    # Published digits are decimals, which are rounded half up, as means are.
    return describe(row["metric"]).format(row["value"], mean="exact" in row)


def interval_of(row: Row) -> tuple[float, float] | None:
    """Return the 95 % bounds of a value over speakers, if it has them."""
    return None if row.get("low") is None else (row["low"], row["high"])


def is_withheld(row: Row) -> bool:
    """Tell whether a value must be neither ranked nor graded."""
    caveat: Caveat | None = row.get("caveat")
    return caveat is not None and not caveat.ranked


def conditions_of(rows: Iterable[Row]) -> set[Condition]:
    """Return the conditions whose scores rows are of, or the parts of means."""
    parts = (part for row in rows for part in row.get("parts", (row,)))
    return {r["record"].condition for r in parts if r.get("attack_model") and r.get("record")}


@dataclass(frozen=True)
class Cells:
    """Systems side by side: the rows of their values, and what is known of their columns.

    Attributes
    ----------
    rows : Measurements
        A row for each of `PLACE`. Beside the columns of results.csv: `caveat`, the first reason why
        it is uninformative; `left_out`, where trials were left out on request; `record`, which it
        is of. Of published values: `printed`, the digits, or `exact`, those that are more than the
        metric has. Of original speech: `sources`, the numbers of the merged ones that agree on it.
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

    rows: Measurements = field(default_factory=lambda: Measurements({}))
    systems: tuple[str, ...] = ()
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

    def get(self, *place: str | None) -> Row | None:
        """Return the row of a `PLACE`; that of original speech for any attack model."""
        return self.rows.find(**at(*place))

    def of(self, systems: Iterable[str], *place: str | None) -> dict[str, Row]:
        """Return the rows of systems by their names, at a `PLACE` but for these."""
        found = ((system, self.get(*place, system)) for system in systems)
        return {system: row for system, row in found if row is not None}

    def beside(self, row: Row, columns: Collection[str]) -> Row:
        """Return a row for a table with these columns, flagging original speech from another source
        than theirs, also in means: the first source if it has any of them, else the second."""
        of_columns = 0 if self.own.intersection(columns) else 1
        parts = row.get("parts", (row,)) if len(self.sources) > 1 else ()
        sources = (part.get("sources", ()) for part in parts)
        others = (self.sources[min(of)] for of in sources if of and of_columns not in of)
        return {**row, "other_source": source} if (source := next(others, "")) else row

    @functools.cached_property
    def not_comparable(self) -> list[str]:
        """Notes on values that must not be compared."""
        return self.comparability(utility=True)

    def comparability(self, *, utility: bool) -> list[str]:
        """Note what must not be compared, with utility or without."""
        notes = (n for of in self.results for n in comparability_notes(of, utility=utility))
        return [*notes, *self.unlike_sources]

    @functools.cached_property
    def failed(self) -> set[str]:
        """The columns of systems of which something failed; any system has original speech."""
        columns = {system_column(s) for of in self.results for s in of.failed}
        return columns | {ORIGINAL_COLUMN} if columns else columns

    @functools.cached_property
    def measures(self) -> list[str]:
        """The measures of speech that have values."""
        present = {*self.rows.values("metric")}
        return [key for key in of_kind("measures") if key in present]


def cells_from_results(results: Results) -> Cells:
    """Take the values of evaluated systems in the protocol's variant, under its attack models.

    Where there are several: of original speech those of the first system, of voice similarity that
    of the model trained on original speech, by which systems are compared. Values of utility that
    differ between results folders are left out.
    """
    rows: list[Row] = []
    disagree: dict[str, set[str]] = {}
    conflicts = []
    for of_place in grouped(_rows(results), place_of).values():
        first, *others = of_place
        metric = describe(first["metric"])
        if metric.kind == "scores":
            for row in others if first["system"] == ORIGINAL_COLUMN else ():
                if text_of(row) != text_of(first):
                    disagree.setdefault(_system(row), set()).add(row["name"])
        elif first["metric"] == "wer" or metric.kind in ("emotion", "measures"):
            by_system = grouped(of_place, _system)
            alike = {s: of for s, of in by_system.items() if len({r["value"] for r in of}) == 1}
            where = f"{first['data_set']} {first['split']}"
            conflicts += [f"{metric.name} of {s} on {where}" for s in by_system if s not in alike]
            if not alike:
                continue
            firsts = [of[0] for of in alike.values()]
            first = next((row for row in firsts if not is_withheld(row)), firsts[-1])
        else:
            first = next((row for row in of_place if row.get("asv_model") == ORIGINAL), first)
        rows.append(first)
    notes = []
    if conflicts:
        notes.append(f"Left out, as results folders differ: {abbreviate(conflicts)}")
    if disagree:
        of_systems = [f"{counted(len(c), 'condition')} of {s}" for s, c in disagree.items()]
        notes.append(
            "Original speech differs between systems (the first one's is shown): "
            f"{abbreviate(of_systems)}"
        )
    systems = tuple(system_column(s) for s in results.systems)
    return Cells(
        Measurements.of(rows),
        systems,
        frozenset(systems),
        notes=tuple(notes),
        sources=(OWN_SOURCE,),
        results=(results,),
    )


def _system(row: Row) -> str:
    """Return the name of a row's system, also of original speech."""
    return str(row["record"].condition.system)


def _rows(results: Results) -> Iterator[Row]:
    """Yield the rows of whole trial sets in the protocol's variant, under its attack models, and
    word error rates by the averaged recognizer."""
    weak = {
        r.condition.system: Caveat(f"{r.condition.system}: {r.caveats[WEAK_ATTACKER]}", ranked=True)
        for r in results.verification
        if WEAK_ATTACKER in r.caveats
    }
    of_speech = (*results.recognition, *results.emotion, *results.measures)
    records = (*results.verification, *results.utility, *results.similarity, *of_speech)
    rows = ({**row, "record": r} for r in records for row in rows_of(r, whole=True))
    for row in Measurements.of(rows).in_variant(results.protocol.variant):
        metric, system, trial = row["metric"], row["system"], row.get("trial")
        of_scores = describe(metric).kind == "scores"
        if metric.startswith("stated_") or of_scores and "attack_model" not in row:
            continue
        if metric == "wer":
            is_unnamed = "language_model" not in row
            is_partial = is_unnamed and row["record"].facts.get("partial")
            if not (is_partial or _is_averaged(row, results.protocol)):
                continue
            if is_unnamed:
                row |= {
                    "low": None,
                    "high": None,
                    "record": row["record"].with_facts(speakers=None),
                }
        first = weak.get(system) if of_scores else next(map(CAVEATS.get, row["caveats"]), None)
        row["caveat"] = withholding_caveat(row["caveats"], metric) or first
        row["left_out"] = bool(row.get("trials_without_score") or row.get("scores_without_trial"))
        is_original = trial == row.get("enrollment", ORIGINAL) == ORIGINAL
        row["system"] = ORIGINAL_COLUMN if is_original else system_column(system)
        yield {**row, **at(*place_of(row))}


def _is_averaged(row: Row, protocol: Protocol) -> bool:
    """Tell whether a word error rate is by the averaged recognizer. Without the path of its
    decoding, a partial rate is of an unknown model: it blanks the average, and has no interval."""
    recognition = protocol.recognition
    anonymized = recognition.average_model or protocol.average_attack.asv_model
    recognizer = {ORIGINAL: ORIGINAL, ANONYMIZED: anonymized}
    model = row.get("language_model"), row.get("asr_model")
    return model == (recognition.average, recognizer[row["trial"]])


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
    rows: dict[Place, dict[str, object]] = {}
    columns: dict[str, None] = {}
    orders: dict[str | None, dict[str, None]] = {}
    longer: set[str] = set()
    for p in published.values:
        if tables is not None and p.table not in tables:
            continue
        system = names.get(p.system, ORIGINAL_COLUMN)
        if system != ORIGINAL_COLUMN:
            columns[system] = None
            orders.setdefault(p.attack_model, {})[system] = None
        of_place = at(p.metric, p.attack_model, p.split, p.data_set, p.gender, system)
        place = (*of_place.values(),)
        # Table 18 repeats values of Table 3 with other digits: those of the first table count.
        if place not in rows:
            rows[place] = {**of_place, "value": p.number, "printed": p.value}
            if len(p.value.partition(".")[2]) > describe(p.metric).decimals:
                longer.add(p.metric)
    for row in rows.values():
        if row["metric"] in longer:
            row["exact"] = row.pop("printed")
    return Cells(
        Measurements.of(rows.values()),
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
    rows: dict[Place, Row] = {}
    for number, part in enumerate(parts):
        for row in part.rows:
            place = place_of(row)
            chosen = rows.setdefault(place, row)
            if row["system"] == ORIGINAL_COLUMN and not _differ(row, chosen):
                rows[place] = {**chosen, "sources": chosen.get("sources", frozenset()) | {number}}
    attack_models = {a for part in parts for a in part.orders}
    of_sources = tuple(source for part in parts for source in part.sources)
    unlike = [note for part in parts for note in part.unlike_sources]
    having = dict.fromkeys(s for part in parts if len(part.rows) for s in part.sources if s)
    if len(having) > 1:
        unlike.append(
            f"Values of {' and '.join(having)} are comparable only for the "
            "same trials and the same back end of the attacker"
        )
    return Cells(
        Measurements.of(rows.values()),
        systems,
        frozenset(s for part in parts for s in part.own),
        {system: f for part in parts for system, f in part.family.items()},
        {family: style for part in parts for family, style in part.families.items()},
        (*(note for part in parts for note in part.notes), *_originals_note(parts, rows.values())),
        {a: tuple(s for part in parts for s in part.columns(a)) for a in attack_models},
        of_sources,
        tuple(results for part in parts for results in part.results),
        tuple(unlike),
    )


def conflicting_originals(cells: Cells, rows: Iterable[Row]) -> str:
    """Return a note if no single source has all these values of original speech, so that they
    cannot be averaged; "" otherwise."""
    originals = [row for row in rows if row.get("sources")]
    if not originals or frozenset.intersection(*(row["sources"] for row in originals)):
        return ""
    return _other_source_note((r for r in originals if 0 not in r["sources"]), cells.sources)


def system_column(system: str) -> str:
    """Return the column of a system of records: its name, unless that is original speech."""
    return f"{system} (system)" if system == ORIGINAL_COLUMN else system


def _originals_note(parts: list[Cells], chosen: Iterable[Row]) -> list[str]:
    """Return notes on original speech of several sources."""
    originals = [row for row in chosen if row["system"] == ORIGINAL_COLUMN]
    objective = [row for row in originals if not row["metric"].startswith(SUBJECTIVE)]
    elsewhere = [row for row in objective if 0 not in row["sources"]]
    every = ((row, [part.get(*place_of(row)) for part in parts]) for row in originals)
    several = [(row, of) for row, of in every if len(of) - of.count(None) > 1]
    differ = [row for row, of in several if any(o is not None and _differ(o, row) for o in of)]
    notes = []
    if differ:
        notes.append(
            f"Original speech: sources differ in {len(differ)} of the {len(several)} values that "
            f"several have; those of {parts[0].sources[0] or 'the first'} are shown"
        )
    if elsewhere and len(elsewhere) < len(originals):
        notes.append(_other_source_note(elsewhere, [s for part in parts for s in part.sources]))
    return notes


def _other_source_note(elsewhere: Iterable[Row], sources: Sequence[str]) -> str:
    metrics = dict.fromkeys(f"{describe(r['metric']).name} ({r['split']})" for r in elsewhere)
    first, *others = sources
    other = " or ".join(filter(None, dict.fromkeys(others))) or "another source"
    return f"Original speech: {other} if missing in {first or 'the first'}: {', '.join(metrics)}"


def _differ(one: Row, two: Row) -> bool:
    return float(text_of(one)) != float(text_of(two))
