"""Attackers in words: which were tried, and what the strongest leaves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from ..errors import abbreviate, printable, shorten
from ..metrics import describe
from ..metrics.caveats import CAVEATS, WEAK_ATTACKER
from ..metrics.strongest import TOO_LOW
from ..numbers.attackers import Tried, is_weak
from ..numbers.report_data import ReportData
from ..protocol.protocol import ANONYMIZED, LEARNT, Attacker, AttackModel
from ..results.attacker_costs import duration_text, read_costs
from ..results.rows import measurements_of

#: Mark of attackers that cannot be told from the strongest.
LIKE_LOWEST = "\u2248"

#: Mark of attackers that were not tested against the strongest.
UNTESTED = "#"

#: Mark of attackers without scores of all trial sets.
PARTIAL = " (part)"

_CORRECTED = (
    "Corrected: the lowest EER, corrected for the choice among the attackers. Its 95 % interval "
    "is not widened for few speakers. Quote the lowest EER as measured first"
)

#: What is stronger than attackers by whom privacy is overestimated, by its key in `Tried.weaker`.
_STRONGER = {
    "words": "the words alone are",
    "spectrum": "the spectrum is",
    "variant": "the same with alignment, a discriminant or score normalization is",
}

#: Systems and splits that a note names.
_NAMED = 4


def verdict_by_strongest(data: ReportData) -> tuple[str, str]:
    """State what the strongest attacker leaves of the two systems that rank first, and which one
    ranks first by it, if that is another; and corrected for the choice."""
    ranking, best = data.main_ranking, _first_by_strongest(data)
    ranked = [r for r in ranking.ranked if r["system"] in ranking.own]
    ranked = [*ranked[:2], *(r for r in ranked[2:] if r["system"] == best)]
    rows = {r["system"]: r["tried"] for r in ranked if r.get("tried") and r["tried"].lowest}
    if not rows:
        return "", ""
    lowest = {s: row.lowest for s, row in rows.items()}
    leaves = ", ".join(f"{s} {of['printed']} % ({of['phrase']})" for s, of in lowest.items())
    untested = ". The difference is not tested" * (len(rows) > 1)
    if best:
        how = "better" if len(ranking.own) == 2 else "best"
        sentence = f"But by the strongest attacker, {best} protects {how}: {leaves}{untested}."
    else:
        untested *= ranking.by_strongest
        sentence = f"The strongest attacker leaves these EERs: {leaves}{untested}."
    corrected = (f"{s} {words}." for s, row in rows.items() if (words := corrected_words(row)))
    return sentence, " ".join(corrected)


def corrected_words(row: Tried) -> str:
    """Write the lowest EER corrected for the choice, with its interval, in words that follow a
    system; "" without one."""
    value, _, bounds = row.corrected_text.partition(" ")
    text = f"corrected for the choice among {len(row.compared)}: {value} % {bounds}"
    return f"{text}{f' ({TOO_LOW})' * row.is_too_low}" * bool(value)


def attackers_tried(data: ReportData) -> Iterator[str]:
    """Say which attackers were tried, and which the protocol names besides."""
    protocol = data.protocol
    titles = {a.id: a.title for a in protocol.attackers}
    own_records = (r for r in data.results.verification if r.condition.is_by_challenge)
    present = {r.condition.attack_model for r in own_records}
    attacks = [a for a in protocol.attack_models if a.id in present and not a.is_original]
    others, informed = _others(data), dict[str, list[str]]()
    encoders = dict[tuple[str, ...], None]()
    for r in data.others:
        title = titles.get(r.condition.attacker, r.condition.attacker)
        for remark in r.remarks if r.condition.asv_model == ANONYMIZED else ():
            system, learnt, text = remark.partition(f": {LEARNT}")
            text, *trained = text.split("; ")
            of_text = informed.setdefault(f"{LEARNT}{text}", []) if learnt else []
            of_text += [title] * (title not in of_text)
            encoders |= {(system, *trained): None} if learnt and trained else {}
    by = "; ".join(f"{', '.join(of)} ({text})" for text, of in informed.items())
    if by:
        yield f"Who trains on anonymized speech: {by}."
    for system, network, *more in encoders:
        yield f"The encoder that was trained for {system}: {network}."
        yield from (f"{text[:1].upper()}{text[1:]}." for text in more)
    tried = [titles.get(name, name) for name in others]
    if attacks:
        own = titles.get(protocol.own_attacker, protocol.own_attacker)
        tried.insert(0, f"{own} ({', '.join(a.phrase for a in attacks)})")
    yield f"Attackers that were tried: {'; '.join(tried) or 'none'}."
    of_split = [row for (_, split), row in data.tried.items() if split == data.main_split]
    yield from (f"{note}." for note in weak_attackers(of_split))
    partial = [
        f"{a['phrase']} ({row.system})"
        for row in data.tried.values()
        if row.split == data.main_split
        for a in row.partial
    ]
    if partial:
        yield f"Tried on some trial sets only, and not counted: {'; '.join(partial)}."
    outside = [a for a in protocol.other_attackers if a.scoring == "outside"]
    if unscored := [a.title for a in outside if a.id not in others]:
        yield f"Named in the protocol, but without scores: {'; '.join(unscored)}."


def _others(data: ReportData) -> list[str]:
    """List the attackers beside the challenge's own that have scores, by id."""
    return list(dict.fromkeys(r.condition.attacker for r in data.others))


def untried(data: ReportData) -> list[Attacker]:
    """List the attackers of the protocol that stage 5 could run, but has not run."""
    able = [a for a in data.protocol.other_attackers if a.scoring != "outside"]
    return [a for a in able if a.id not in _others(data)]


def _first_by_strongest(data: ReportData) -> str:
    """Return the system that ranks first by the lowest EER of the same attackers, also as
    corrected; "" if none does, or if it is the first of the ranking."""
    ranked = [r for r in data.main_ranking.ranked if r["system"] in data.cells.own]
    rows = {r["system"]: r["tried"] for r in ranked if r.get("tried") is not None}
    lowest = {s: row.lowest["of_present"] for s, row in rows.items() if row.lowest is not None}
    corrected = {s: of.corrected for s, row in rows.items() if (of := row.strongest) is not None}
    best = max(lowest, key=lambda s: lowest[s], default="")
    if len(corrected) == len(lowest) and best != max(
        corrected, key=corrected.__getitem__, default=""
    ):
        return ""
    alike = len(lowest) == len(ranked) and len({row.titles for row in rows.values()}) == 1
    return best if alike and best != ranked[0]["system"] else ""


def hints(data: ReportData) -> Iterator[str]:
    """Say which option runs attackers that were not tried, and which one ranks by the strongest."""
    if others := ",".join(a.id for a in untried(data)):
        yield f"Stage 5 with --attackers {others} runs the others, or says what the tree lacks."
    if _first_by_strongest(data):
        yield "The option --by-strongest ranks by the strongest attacker."


def costs_of_attackers(data: ReportData) -> Iterator[str]:
    """Say what the challenge's own and other attackers cost, by their titles."""
    protocol, costs = data.protocol, read_costs(data.sources.paths)
    known = {a.id: a.title for a in protocol.attackers}
    titles = {name: known.get(name) or name for name in (protocol.own_attacker, *_others(data))}
    cost: dict[str, list[str]] = {}
    for name, seconds in costs.seconds.items():
        if name in titles:
            cost.setdefault(duration_text(seconds), []).append(titles[name])
    took = "; ".join(f"{', '.join(names)}: {text}" for text, names in cost.items())
    if took:
        yield f"Scoring took, from the x-vectors and texts of the tree: {took}."
    if costs.extraction:
        yield f"Extracting the x-vectors took {duration_text(costs.extraction)}."
    for folder, text in list(costs.commands.items())[:_NAMED]:
        model, command = shorten(printable(folder)), shorten(printable(text))
        yield f"The x-vectors of {model} were extracted by the command: {command}"


def reached_by_others(data: ReportData, system: str) -> Iterator[str]:
    """Say what attackers beside the challenge's own reach: the words alone, and the strongest."""
    if (row := data.tried.get((system, data.main_split))) is None:
        return
    words, challenge = row.words, row.challenge
    if words is not None and not words["withheld"]:
        reached = f"an attacker who reads the words alone reaches an EER of {words['printed']} %"
        if challenge is not None and any(a is challenge for a, _ in row.weaker["words"]):
            yield (
                f"{_overestimates(row)}: {reached}. The {challenge['phrase']} attacker reaches "
                f"{challenge['printed']} % ({row.how_compared})."
            )
        else:
            yield f"{reached[:1].upper()}{reached[1:]}."
    yield from _by_session(row, data)
    for one, other in (*row.weaker["spectrum"], *row.weaker["variant"]):
        if one["attacker"] == data.protocol.own_attacker:
            yield (
                f"{_overestimates(row)}: an attacker with {other['phrase']} reaches "
                f"{other['printed']} %. The {one['phrase']} attacker reaches {one['printed']} % "
                f"({row.how_compared})."
            )
    if row.lowest is not None:
        yield (
            f"The strongest of {len(row.compared)} attackers that were tried is "
            f"{row.lowest['phrase']}: EER {row.lowest['printed']} %."
        )


def _overestimates(*rows: Tried) -> str:
    tested = all(row.is_tested for row in rows)
    return "Privacy is overestimated" if tested else "Privacy may be overestimated"


def _by_session(row: Tried, data: ReportData) -> Iterator[str]:
    """Say what the words alone reach where the target enrolled the trial's session."""
    place = row.system, row.split
    conditions = [
        r
        for r in data.others
        if (r.condition.system, r.condition.split) == place
        and r.condition.attacker in data.protocol.word_attackers
    ]
    texts = {}
    for name in ("enrolled", "other"):
        rows = measurements_of(conditions).select(metric="eer", session=name)
        strata = [of for of in rows if "few_trials" not in of["caveats"]]
        eers = sorted(of["value"] for of in strata)
        if eers:
            ends = [describe("eer").format(eer) for eer in dict.fromkeys((eers[0], eers[-1]))]
            targets = sum(of.get("n_target", 0) for of in strata)
            texts[name] = f"{' to '.join(ends)} % (target trials: {targets})"
    if len(texts) == 2:
        yield (
            "By session and trial set, the words alone reach these EERs (table sessions). The "
            f"target enrolled other speech of the same session: {texts['enrolled']}. Elsewhere: "
            f"{texts['other']}."
        )


def attacker_notes(rows: Sequence[Tried], data: ReportData) -> list[str]:
    """Explain a table of all attackers, and say by whom privacy is overestimated."""
    notes = [*weak_attackers(rows), *_overestimated(rows, data), *strongest_notes(rows)]
    if any(row.pairs for row in rows):
        like = "not significantly weaker than the strongest of its row (paired by replicate)"
        notes += [f"{LIKE_LOWEST}: {like}"] * any(row.like_lowest for row in rows)
        why = "too few speakers or replicates, or other replicates"
        untested = f"{UNTESTED}: not tested against the strongest of its row ({why})"
        notes += [untested] * any(row.untested for row in rows)
        notes.append("All pairs: in the sections of the systems")
    return notes + list(dict.fromkeys(remark for r in data.others for remark in r.remarks))


def weak_attackers(rows: Iterable[Tried]) -> list[str]:
    """Name the attackers beside the challenge's own that err too often on original speech."""
    weak = {
        f"{a['phrase']} ({row.system}, {a['original']['printed']} %)": None
        for row in rows
        for a in row.attackers
        if is_weak(a)
    }
    return [f"{CAVEATS[WEAK_ATTACKER].reason}: {'; '.join(weak)}"] if weak else []


def strongest_notes(rows: Sequence[Tried]) -> list[str]:
    """Explain corrected EERs, if there are any, and warn of low ones and of those without."""
    notes = [_CORRECTED] if any(row.strongest is not None for row in rows) else []
    if any(row.is_too_low for row in rows):
        notes.append(f"{TOO_LOW[:1].upper()}{TOO_LOW[1:]}")
    if any(row.strongest is None and row.lowest is not None for row in rows):
        notes.append(
            "Without a corrected EER: attackers without the same bootstrap replicates (option "
            "--bootstrap of the evaluation), or with too few speakers"
        )
    if any(row.partial for row in rows):
        notes.append(f"{PARTIAL.strip()}: of some trial sets only, so not compared with the others")
    return notes


def strongest_attacker_notes(data: ReportData) -> list[str]:
    """Explain corrected EERs, and name the strongest attacker of each system and split."""
    rows, of_attacker = list(data.tried.values()), dict[str, list[str]]()
    for row in rows:
        if row.lowest is not None:
            place = f"{row.system} {data.protocol.split_name(row.split)}"
            of_attacker.setdefault(row.lowest["phrase"], []).append(place)
    named = (f"{phrase} ({abbreviate(places)})" for phrase, places in of_attacker.items())
    return [*[f"Strongest: {'; '.join(named)}"] * bool(of_attacker), *strongest_notes(rows)]


def overestimates(
    data: ReportData, splits: Collection[str], models: Collection[AttackModel]
) -> list[str]:
    """Say, below EERs of the challenge's own attacker under attack models, which of them
    overestimate privacy."""
    rows = (row.of_own(models) for (_, split), row in data.tried.items() if split in splits)
    return list(_overestimated(rows, data))


def _overestimated(rows: Iterable[Tried], data: ReportData) -> Iterator[str]:
    """Name the attackers by whom privacy is overestimated, as the words alone, or an aligned or
    normalized variant, are stronger."""
    rows = list(rows)
    texts, how = {kind: list[str]() for kind in _STRONGER}, set[str]()
    for row in rows:
        where = f"{row.system}, {data.protocol.split_name(row.split)}"
        for kind, pairs in row.weaker.items():
            than = ("" if kind == "words" else f" (stronger: {b['phrase']})" for _, b in pairs)
            weaker = [f"{one['phrase']}{by}" for (one, _), by in zip(pairs, than, strict=True)]
            texts[kind] += [f"{where}: {', '.join(weaker)}"] * bool(pairs)
            how |= {row.how_compared} if pairs else set()
    for kind, texts_of in texts.items():
        if texts_of:
            named = "; ".join([*texts_of[:_NAMED], *(["..."] if len(texts_of) > _NAMED else [])])
            yield (
                f"{_overestimates(*rows)}: {_STRONGER[kind]} stronger than these attackers "
                f"({' or '.join(sorted(how))}). {named[:1].upper()}{named[1:]}"
            )
