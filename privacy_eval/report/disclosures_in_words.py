"""What groups, galleries, amounts of speech and attributes disclose, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..choices import SITUATIONS, grouped
from ..errors import counted
from ..metrics import METRICS
from ..metrics.amount import Amount
from ..metrics.groups import MIN_TESTED
from ..metrics.identification import singling_out_chance
from ..numbers.disclosures import (
    ONE_SESSION,
    attribute_records,
    condition_text,
    with_most_speech,
)
from ..numbers.groups import lacking_groups, main_split
from ..numbers.identification import Overlap, overlaps, percent, rate_of
from ..numbers.report_data import ReportData
from ..protocol.protocol import ANONYMIZED, CHALLENGE_ATTACKERS, ORIGINAL, Protocol
from ..results.measurements import Measurements, Row
from ..results.records import AmountRecord

#: A group that people ask about.
_LARGE = 1000

OVERLAP = "Statistics of the quarters found most often"

_NOT_TESTED = "the largest of {} such differences, which are not tested"


def group_sentences(data: ReportData) -> list[str]:
    """Say of each column of metadata where groups differ most, and how surely, and of what the tree
    does not tell."""
    sentences = privacy_sentences(data)
    for column in data.group_columns:
        recognized = data.measurements.select(metric="wer", group_by=column, trial=ANONYMIZED)
        sentences += _most_uneven(data, recognized, f"By {column}, the word error rate differs")
        sentences += lacking_groups(data.results, column)
    return sentences


def privacy_sentences(data: ReportData) -> list[str]:
    """Say of each column of metadata which group's privacy differs most, and how surely."""
    sentences: list[str] = []
    own = data.measurements.select(attacker=(None, *CHALLENGE_ATTACKERS))
    attacked = own.select(attack_model={*own.values("attack_model")} - {ORIGINAL})
    for column in data.group_columns:
        of_column = attacked.select(group_by=column)
        sentences += _tested(data, of_column.select(metric="eer", against="others"))
        found = of_column.select(metric="linkage")
        sentences += _most_uneven(data, found, f"By {column}, identification differs")
    return sentences


def _where(data: ReportData, row: Row) -> str:
    """Name the system, the data set, and of scores the gender and the attacker of a value."""
    protocol = data.protocol
    if row["metric"] == "wer":
        (of_set,) = (d for d in protocol.recognition.data_sets if d.id == row["data_set"])
        return f"{row['system']}, {of_set.row_name(row['split'])}"
    attacks = {a.id: a.phrase for a in protocol.attack_models}
    place = f"{protocol.data_set(row['data_set']).title}, {protocol.genders[row['gender']]}"
    return f"{row['system']}, {place}, {attacks.get(row['attack_model'], '')} attacker"


def _of_main_split(data: ReportData, rows: Measurements) -> Measurements:
    present = rows.values("split")
    return rows.select(split=[s for s in data.protocol.splits if s in present][-1:])


def _tested(data: ReportData, rows: Measurements) -> Iterator[str]:
    """Say which group's EER differs most from the others, and how surely."""
    of_split = list(_of_main_split(data, rows))
    if of_split:
        row = max(of_split, key=lambda row: abs(row["value"]) / row["se"])
        conditions = len({(r["system"], r.get("results_folder"), r["name"]) for r in of_split})
        yield (
            f"By {row['group_by']}, the largest difference to the others in standard errors: "
            f"{row['group']} ({_where(data, row)}): {100 * row['value']:+.1f} points of EER within "
            f"the group (standard error {100 * row['se']:.1f}), p = {row['p']:.3f}, corrected over "
            f"the groups but not over the {conditions} conditions; no difference found is no proof "
            "of equal protection"
        )


def _most_uneven(data: ReportData, rows: Measurements, beginning: str) -> Iterator[str]:
    """Say where the rates of groups are furthest apart, of galleries in those of equal size."""
    enough = [
        r for r in _of_main_split(data, rows) if "value" in r and r["n_speakers"] >= MIN_TESTED
    ]
    identity = ("system", "results_folder", "name", "language_model", "asr_model", "attacker")
    cases = []
    for of in grouped(enough, lambda r: tuple(r.get(n) for n in identity)).values():
        least = min(row.get("gallery", 0) for row in of)
        equal = sorted((r for r in of if r.get("gallery", 0) == least), key=lambda r: r["value"])
        if len(equal) > 1:
            cases.append(equal)
    if not cases:
        return
    low, *_, high = rates = max(cases, key=lambda rates: rates[-1]["value"] - rates[0]["value"])
    among = f", among {low['gallery']} enrolled people of the own group" if "gallery" in low else ""
    metric, texts = METRICS["eer"], []
    for row in (low, high):
        interval = metric.interval((row["low"], row["high"]) if "low" in row else None)
        value = f"{metric.format(row['value'])} % {interval}".rstrip()
        texts.append(f"{value} ({row['group']}, {row['n_speakers']} speakers)")
    where = f"{_where(data, rates[0])}{among}: {' to '.join(texts)}"
    yield f"{beginning} most for {where}; {_NOT_TESTED.format(len(cases))}"


def overlap_notes(protocol: Protocol, overlaps: Iterable[Overlap]) -> tuple[list[str], list[str]]:
    """Describe in plain words how far the most often found speakers agree between two attack models
    or, under a single one, between systems; and name the statistics."""
    attacks = {
        a.id: "original-speech" if a.is_original else a.phrase for a in protocol.attack_models
    }
    sentences, statistics = [], []
    for overlap in overlaps:
        one, other = (attacks.get(a, a) for a in overlap.attack_models)
        share = "{:.0f} % [{:.0f}, {:.0f}]".format(*(100 * value for value in overlap.shared))
        others = (
            f"by the {one} attacker, {share} are also among those found most often by the {other} "
            "one"
        )
        if one == other:
            others = (
                f"in one system, {share} are also among those found most often in another ({one} "
                "attacker)"
            )
        sentences.append(
            f"Of the quarter of the people found most often {others}; by chance it would "
            f"be {100 * overlap.chance:.0f} %"
        )
        jaccard, correlation = (
            "{:.2f} [{:.2f}, {:.2f}]".format(*value)
            for value in (overlap.jaccard, overlap.correlation)
        )
        title = f"systems, {one}" if one == other else f"{one} and {other}"
        statistics.append(
            f"{title}: Jaccard index {jaccard}, rank correlation of all speakers {correlation}"
        )
    return sentences, statistics


def group_text(size: int, *, mixed: bool) -> str:
    """Describe a group in words that follow "in"; `mixed` if it is of several genders."""
    return f"a group of {size}{' (both genders mixed)' * mixed}"


def basis_text(rates: Row) -> str:
    """Describe the tests that a rate is of, and the recordings behind one."""
    enrolled = ""
    if rates["enrollment"] is not None:
        number = f"{rates['enrollment']:.1f}".removesuffix(".0")
        average = " on average" * (rates["enrollment"] % 1 > 0)
        enrolled = f", each person enrolled with {number}{average}"
    tests, of_test = counted(rates["n_tests"], "test"), counted(rates["length"], "recording")
    return f"{tests}, each of {of_test}{enrolled}"


def identification_sentences(data: ReportData) -> list[str]:
    """Describe identification in plain words, a sentence per system and attack model."""
    attacks = {a.id: a for a in data.protocol.attack_models}
    sentences = []
    reached: dict[str, list[tuple[float, str]]] = {}
    main = main_split(data.protocol, data.results.identification)
    title = data.protocol.split_title(main)
    for (system, attack, split), rates in data.identified.items():
        if attack not in attacks or split != main:
            continue
        kind = attacks[attack]
        speech = "original speech" if kind.is_original else f"{kind.phrase} attacker"
        picks = (
            "picks the right person"
            if rates["rank"] == 1
            else f"has the right person in {rates['rank']} picks"
        )
        group = group_text(rates["gallery"], mixed=rates["mixed"])
        found, chance = f"{rate_of(rates)} of the time", rates["chance"]
        sentences.append(
            f"{system}, {speech} ({title}): in {group}, this attacker {picks} "
            f"{found}; chance is {100 * chance:.3g} % ({basis_text(rates)})."
        )
        if rates["singled_out"] is not None:
            sentences[-1] += _singled(rates["singled_out"])
        if not kind.is_original:
            text = f"{kind.phrase}: {found} in a group of {rates['gallery']}"
            reached.setdefault(system, []).append((rates["value"] - chance, text))
    for system, of_system in reached.items():
        if len(of_system) > 1:
            sentences.append(f"{system}, the strongest of its attackers is {max(of_system)[1]}.")
    plain, statistics = overlap_notes(
        data.protocol, overlaps(data.counted_identification, of_systems=True)
    )
    notes = [f"{OVERLAP}: {'; '.join(statistics)}"] if statistics else []
    return [*sentences, *_largest(data), *(f"{s}." for s in (*plain, *notes))]


def _largest(data: ReportData) -> list[str]:
    """Say which groups the data allow if they are smaller than those that people ask about."""
    largest = max((r.n_enrolled for r in data.results.identification), default=_LARGE)
    if largest >= _LARGE:
        return []
    return [
        f"These data allow statements on groups of 2 to {largest} people. Larger ones, such as "
        f"{_LARGE}, need more enrolled people: recordings of others by the option --distractors "
        "(docs/identification.md)."
    ]


def _singled(out: Row) -> str:
    """Describe singling out in plain words."""
    size = out["gallery"]
    return (
        f" Looking for one person among {size} voices, this attacker takes exactly one voice "
        f"for that person {rate_of(out)} of the time; by guessing, "
        f"{100 * singling_out_chance([size])[0]:.0f} % (more seldom is not safer: then the "
        "attacker takes several voices, or none)."
    )


def amount_sentences(data: ReportData) -> list[str]:
    """Say of each system how much more an attacker with more speech finds."""
    sentences = []
    for record, number in with_most_speech(data.results):
        first, last = record.equal[0], record.equal[-1]
        if first.length == last.length or first.rank1 is None or last.rank1 is None:
            continue
        more, less = (_found(a) for a in (last, first))
        sentences.append(
            f"{record.condition.system}: with {counted(last.length, 'sentence')}{_seconds(last)} "
            f"instead of {first.length}{_seconds(first)}, the right one of {record.n_enrolled} "
            f"enrolled people is found {more} instead of {less} of the time "
            f"({condition_text(data.protocol, record)}; {counted(last.speakers, 'speaker')}; the "
            f"attack that finds most of {number}, so partly by chance{_by_session(record)})"
        )
    return sentences


def _seconds(amount: Amount) -> str:
    return "" if amount.seconds is None else f" ({amount.seconds:.3g} s)"


def _by_session(record: AmountRecord) -> str:
    """Say what the longest tests within one session find, or that there are no others."""
    if record.is_of_one_session:
        return f"; {ONE_SESSION}"
    longer = [
        (one, whole)
        for one, whole in zip(record.one_session, record.any_session, strict=True)
        if one.length > 1
    ]
    if not longer:
        return ""
    one, whole = longer[-1]
    return (
        f"; with {counted(one.length, 'sentence')} of one session {_found(one)}, of any session "
        f"{_found(whole)}, of {counted(one.speakers, 'speaker')}"
    )


def _found(amount: Amount) -> str:
    return percent(amount.rank1 or 0, amount.rank1_interval)


def attribute_sentences(data: ReportData) -> list[str]:
    """Say of each system, attribute and data set what vectors give away."""
    sentences = []
    for r in attribute_records(data.results):
        c, of = r.condition, r.strongest
        knows = "anonymized" if r.reported == SITUATIONS[2] else "original"
        caveat = f"; {r.caveat}" * bool(r.caveat)
        sentences.append(
            f"{c.system}, {c.attribute} ({data.protocol.data_set(c.data_set).title}): a classifier "
            f"that learned from {knows} speech of others has an average recall of "
            f"{percent(of.uar, of.interval)} on anonymized speech, with original speech "
            f"{percent(r.situations[SITUATIONS[0]].uar)}; chance is "
            f"{100 / len(r.classes):.3g} %{caveat}"
        )
    return sentences
