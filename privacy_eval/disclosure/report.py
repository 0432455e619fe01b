"""What reports say of disclosure, see `ReportData.disclosed`: sentences, tables of a system, and
what fills in the entries of conf/tables/disclosure.yaml."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..choices import AMOUNT, GROUPS, SITUATIONS
from ..errors import counted
from ..metrics.caveats import few_speakers
from ..numbers.report_data import ReportData
from ..report.answer import attack_rows, best_attack
from ..report.declared import (
    Declared,
    Part,
    bundled_entries,
    declared_table,
    entry_of,
    value_text,
)
from ..report.sections import AMONG_MANY, INFERENCE
from ..report.system_tables import WORST_SPEAKERS
from ..report.table import Table
from ..results.measurements import Measurements, Row
from ..results.records import Record
from . import in_words
from .in_words import group_columns, group_sentences, lacking
from .linkage import OF_SPEAKERS, SpeakerLinkage, singling_out_chance, wilson_interval
from .numbers import (
    counted_once,
    identified,
    inferred,
    is_mixed,
    mean_halves,
    named_for_others,
    overlaps,
    percent,
    rate_of,
    speakers_of,
    speakers_size,
    tests_of,
    worst_protected,
)

_Fill = Callable[[Measurements, ReportData], Part]

_SHORT = dict(zip(SITUATIONS, ("oo", "oa", "aa"), strict=True))


def _found_most_often(_: Measurements, data: ReportData) -> Part:
    """Write how often the speakers of every trial set and attack model who are found most often
    are found, hidden in averages."""
    rows = []
    for r in filter(speakers_of, data.results.identification):
        for of_rate in _most_often_found(speakers_of(r)):
            tied = len(of_rate) > 1
            who = f"{len(of_rate)} speakers alike" if tied else of_rate[0].speaker
            rates = zip(*((s.linkage, s.first, s.second) for s in of_rate), strict=True)
            percent = (_span(f"{100 * v:.1f}" for v in sorted(values)) for values in rates)
            tests = _span(map(str, sorted(s.n_tests for s in of_rate)))
            texts = dict(zip(("found", "first", "second"), percent, strict=True))
            of = {"gallery": speakers_size(r), "speaker": who, "tests": tests}
            bounds = wilson_interval(of_rate[0].linkage, min(s.n_tests for s in of_rate))
            of["interval"] = "[{:.1f}, {:.1f}]".format(*(100 * end for end in bounds))
            rows.append({**vars(r.condition), **of, **texts})
    notes = []
    if (halves := mean_halves(Disclosed(data).counted)) is not None:
        first, second = halves
        notes.append(
            "The worst of many speakers are so partly by chance. Odd tests choose the quarter who "
            f"are named most often: {100 * first:.1f} % of these tests name them. Of the even "
            f"tests, {100 * second:.1f} % do (means over trial sets)"
        )
    return Measurements.of(rows), {}, notes


def _most_often_found(speakers: Sequence[SpeakerLinkage]) -> Iterator[Sequence[SpeakerLinkage]]:
    """Yield the most often found speakers one by one; those who tie with the last of them and with
    more speakers together, as nothing but the order of their ids would choose among them."""
    last = speakers[:WORST_SPEAKERS][-1].linkage
    above = [s for s in speakers if s.linkage > last]
    tied = [s for s in speakers if s.linkage == last]
    yield from ([s] for s in above)
    yield from [[s] for s in tied] if len(above) + len(tied) <= WORST_SPEAKERS else [tied]


def _named_for_others(_: Measurements, data: ReportData) -> Part:
    """Write whom every attack model names most often for others, in each trial set."""
    rows = []
    for r in data.results.identification:
        named = r.measurements.select(metric="named_instead").to_rows()
        most = max((row["value"] for row in named), default=0)
        if alike := [row for row in named if row["value"] == most]:
            who = alike[0]["speaker"] if len(alike) == 1 else f"{len(alike)} alike"
            chance = {"chance": f"{100 / alike[0]['gallery']:.3g}"}
            rows.append({**vars(r.condition), **alike[0], "speaker": who, **chance})
    return Measurements.of(rows), {}, []


def _span(texts: Iterable[str]) -> str:
    """Write the first and last of sorted values, or what they have in common."""
    first, *_, last = [*texts] * 2
    return first if first == last else f"{first} to {last}"


def _of_attributes(_: Measurements, data: ReportData) -> Part:
    """Write what vectors give away about attributes of each data set and split."""
    rows, notes = [], dict[str, None]()
    for r in data.results.attributes:
        (risk, recalls), classes, c = inferred(r), r.facts["classes"], r.condition
        few = few_speakers(classes)
        notes |= {f"* {few}": None} if few else {}
        name = data.protocol.data_set(c.data_set).row_name(c.split) + "*" * bool(few)
        bits = r.find("attribute_bits", situation=risk["situation"])
        texts = {
            "data": name,
            "speakers": ", ".join(f"{name} {n}" for name, n in classes.items()),
            "chance": f"{100 / len(classes):.3g}",
            **{short: value_text(recalls[s]) for s, short in _SHORT.items()},
            "bits": value_text(bits),
            "reported": "-".join(_SHORT[risk["situation"]]),
            "risk": "{value:.2f} [{low:.2f}, {high:.2f}]".format(**risk),
        }
        rows.append({**vars(c), **texts})
    rows.sort(key=lambda row: data.protocol.splits.index(row["split"]))
    return Measurements.of(rows), {}, [*notes]


def _of_galleries(rows: Measurements, data: ReportData) -> Part:
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
        f"The data allow groups of up to {largest} people. Larger ones need more enrolled people "
        "(--distractors)"
    ]
    if any(row["value"] in (0.0, 1.0) and "low" in row for row in rows):
        notes.append(OF_SPEAKERS)
    if left_out := sum(r.facts["not_enrolled"] for r in records):
        notes.append(f"{left_out} trial speakers of all rows are not enrolled and left out")
    if any(map(is_mixed, records)):
        notes.append("Groups are of both genders")
    usual = {model.backend for model in data.protocol.asv_models} or {"plda"}
    if others := sorted({str(r.provenance.get("backend", "plda")) for r in records} - usual):
        usual_names = " or ".join(sorted(usual)).replace("plda", "PLDA")
        notes.append(f"Scored by {' and '.join(others)} instead of {usual_names}")
    if more := [r.facts for r in records if "distractors" in r.facts]:
        least, most = (f(of.get("n_distractors", 0) for of in more) for f in (min, max))
        notes.append(
            f"Of the enrolled speakers {least}{f' to {most}' * (most > least)} are distractors of "
            f"{', '.join(sorted({of['distractors'] for of in more}))}"
        )
    return rows, {"chance": ", ".join(chance), "highest": highest}, notes


def _of_singling_out(rows: Measurements, data: ReportData) -> Part:
    """Say what singling out by chance reaches, and where it is refused."""
    chance = singling_out_chance(sorted(rows.values("gallery")))
    refused = Counter(r.facts.get("refused", "") for r in data.results.identification)
    notes = [f"Not computed in {counted(n, 'row')}: {why}" for why, n in refused.items() if why]
    return rows, {"chance": ", ".join(f"{100 * p:.1f}" for p in chance)}, notes


def _of_groups(rows: Measurements, data: ReportData) -> Part:
    """Say what of identification by groups is not rank 1 of one gender."""
    records, ranks = data.results.identification, sorted({*rows.values("rank")})
    notes = ["Galleries are of both genders"] * any(map(is_mixed, records))
    if ranks != [1]:
        notes.append(f"Found: among the {' or '.join(map(str, ranks))} highest scores")
    return rows, {}, notes


#: What the entries, by their names, make of the rows that they select.
_PARTS: Mapping[str, _Fill] = {
    "identification": _of_galleries,
    "identification_singling_out": _of_singling_out,
    "groups_{number}_identification": _of_groups,
    "identification_speakers": _found_most_often,
    "identification_named_instead": _named_for_others,
    "attributes": _of_attributes,
}


#: Tables at the end of those of a system, and those over all systems.
_LAST = ("identification_speakers", "identification_named_instead", "attributes")
_OF_SYSTEMS = ("identified", "overlap")


def _with_entries(entries: Iterable[Declared]) -> Iterator[Declared]:
    """Yield the core's entries with those of the wing, before two of them and at the end."""
    own = [e for e in bundled_entries("disclosure") if e.name not in _OF_SYSTEMS]
    before = {
        "groups_{number}_wer": [e for e in own if e.section == GROUPS],
        "sessions": [e for e in own if e.section != GROUPS and e.name not in _LAST],
    }
    for entry in entries:
        yield from before.get(entry.name, ())
        yield entry
    yield from (e for e in own if e.name in _LAST)


def _identified_rows(found: Disclosed) -> Iterator[Row]:
    """Yield how often people are named and singled out, by system, split and attack model."""
    models = {a.id: a.title for a in found.data.protocol.attack_models}
    for (system, attack, split), rates in found.identified.items():
        row = {
            **{name: rates[name] for name in ("n_tests", "length", "gallery", "rank")},
            **{"system": system, "attack_model": models.get(attack, attack)},
            "split": found.data.protocol.split_title(split),
            "enrolled": "" if rates["enrollment"] is None else f"{rates['enrollment']:.3g}",
            "genders": "mixed" if rates["mixed"] else "one",
            **{"named": rate_of(rates).replace(" %", ""), "chance": f"{100 * rates['chance']:.3g}"},
        }
        if (out := rates["singled_out"]) is not None:
            chance = 100 * singling_out_chance([out["gallery"]])[0]
            row |= {"voices": out["gallery"], "singled": rate_of(out).replace(" %", "")}
            row["singled_chance"] = f"{chance:.0f}"
        yield row


def _overlap_rows(found: Disclosed) -> Iterator[Row]:
    """Yield how far the most often named speakers agree between two attack models of a system or,
    under a single one, between systems."""
    data = found.data
    models = {a.id: a.title for a in data.protocol.attack_models}
    groups = [(data.evaluations[of], Disclosed(one).counted) for of, one in data.by_folder.items()]
    every = [(system, overlap) for system, records in groups for overlap in overlaps(records)]
    every += [("All systems", overlap) for overlap in overlaps(found.counted, of_systems=True)]
    for system, overlap in every:
        one, other = (models.get(a, a) for a in overlap["attack_models"])
        row = {"system": system, "attacker": one, "other": other if one != other else "the same"}
        row["shared"] = percent(overlap["shared"][0], overlap["shared"][1:]).replace(" %", "")
        row["chance"] = f"{100 * overlap['chance']:.0f}"
        for name in ("jaccard", "correlation"):
            row[name] = "{:.2f} [{:.2f}, {:.2f}]".format(*overlap[name])
        yield row


@dataclass(frozen=True)
class Disclosed:
    """How often people are identified in the results of a report, and what it says of that, of
    amounts of speech and of attributes.

    Attributes
    ----------
    data : ReportData
    """

    data: ReportData

    @functools.cached_property
    def counted(self) -> list[Record]:
        """The records of identification without those whose tests are in another one, too."""
        return counted_once(self.data.protocol, self.data.results.identification)

    @functools.cached_property
    def identified(self) -> Mapping[tuple[str, str, str], Row]:
        """How often people are identified, by system, attack model and split."""
        return identified(self.counted)

    @functools.cached_property
    def worst_protected(self) -> Mapping[str, Row | None]:
        """The speaker of the main split who is identified most often, by system."""
        return self._of_main_split(worst_protected)

    @functools.cached_property
    def named_for_others(self) -> Mapping[str, Row]:
        """The person of the main split who is named for others, by system."""
        of_systems = self._of_main_split(named_for_others)
        return {s: row for s, row in of_systems.items() if row is not None}

    def _of_main_split(
        self, find: Callable[[Iterable[Record]], Row | None]
    ) -> dict[str, Row | None]:
        """Return what is found in the records of each system."""
        of_split = [r for r in self.counted if r.condition.split == self.data.main_split]
        systems = self.data.results.systems
        return {s: find(r for r in of_split if r.condition.system == s) for s in systems}

    def found(self, system: str, attack_model: str, split: str) -> str:
        """Write how often an attack finds the right person; "" if that is unknown."""
        rates = self.identified.get((system, attack_model, split))
        return in_words.named_text(rates) if rates else ""

    def worst(self, system: str) -> str:
        """Name the speaker of a system who is found most often; "" without rates of speakers."""
        worst = self.worst_protected[system]
        return f"{in_words.worst_text(worst, self.data)}." if worst else ""

    def columns(self) -> dict[str, dict[str, str]]:
        """Return how often people are identified, and the least protected speaker, by system."""
        data, most, least = self.data, dict[str, Row](), dict[str, str]()
        models = [a.id for a in data.protocol.attack_models if not a.is_original]
        for system in data.systems_by_rank:
            places = ((system, model, data.main_split) for model in models)
            if rates := [self.identified[p] for p in places if p in self.identified]:
                most[system] = max(rates, key=lambda row: row["value"])
            if (worst := self.worst_protected[system]) is not None:
                also = ", also for others" * (worst["instead"] is not None)
                rate = tests_of(worst).removesuffix(" of tests")
                least[system] = f"{worst['speaker']}: {rate}{also}"
        sizes = {row["gallery"] for row in most.values()}
        best = (best_attack(rows) or {} for rows in attack_rows(data).values())
        own = data.protocol.own_attacker
        is_stronger = any(row.get("attacker", own) != own for row in best)
        by = f" by {next((a.title for a in data.protocol.attackers), own)}" * is_stronger
        head = f"Named in a group{by}"
        if len(sizes) == 1:
            chance = min(row["chance"] for row in most.values())
            head = f"Named among {min(sizes)}{by} (guessing {100 * chance:.0f} %)"
        of_group = " of {} people" * (len(sizes) > 1)
        named = {
            s: tests_of(row).removesuffix(" of tests") + of_group.format(row["gallery"])
            for s, row in most.items()
        }
        return {
            title: of
            for title, of in ((head, named), (f"Least protected speaker: named{by} in", least))
            if of
        }

    def sentences(self) -> Mapping[str, Sequence[str]]:
        """Return the sentences of the sections."""
        return {
            GROUPS: [f"{text}." for text in group_sentences(self.data)],
            AMONG_MANY: in_words.identification_sentences(self.data),
            AMOUNT: [f"{text}." for text in in_words.amount_sentences(self.data)],
            INFERENCE: [f"{text}." for text in in_words.attribute_sentences(self.data)],
        }

    def across(self) -> list[Table]:
        """Return the tables over all systems."""
        rows = _identified_rows(self), _overlap_rows(self)
        tables = (
            declared_table(entry_of(name, "disclosure"), Measurements.of(of), {})
            for name, of in zip(_OF_SYSTEMS, rows, strict=True)
        )
        return [table for table in tables if table is not None]

    def tables(self, entries: Iterable[Declared]) -> tuple[list[Declared], Mapping[str, _Fill]]:
        """Return the entries of the tables of a system with those of the wing in their places, and
        what fills in their words."""
        return list(_with_entries(entries)), _PARTS

    def with_lacking(self, tables: Iterable[Table]) -> Iterator[Table]:
        """Yield tables; the first of each column of groups says what the tree does not tell."""
        columns = group_columns(self.data)
        for table in tables:
            for column in [c for c in columns if table.title.startswith(f"By {c}")]:
                columns.remove(column)
                notes = (*table.notes, *lacking(self.data.results, column))
                table = replace(table, notes=notes)
            yield table
