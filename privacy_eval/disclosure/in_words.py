"""What galleries, amounts of speech, attributes and groups of speakers disclose, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..choices import SITUATIONS, grouped
from ..errors import counted
from ..metrics import METRICS
from ..metrics.caveats import few_speakers
from ..metrics.strata import MIN_TESTED
from ..numbers.report_data import ReportData, main_split
from ..protocol.protocol import ANONYMIZED, CHALLENGE_ATTACKERS, ORIGINAL
from ..report.first_screen import highest_of, set_title
from ..results.measurements import PRESENT, Measurements, Row
from ..results.records import Record, Results
from .numbers import (
    ONE_SESSION,
    attribute_records,
    condition_text,
    inferred,
    is_of_one_session,
    percent,
    rate_at,
    seconds_at,
    speakers_of,
    tests_of,
    with_most_speech,
)

#: A group that people ask about.
_LARGE = 1000

_NOT_TESTED = "the largest of {} such differences, which are not tested"


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


def named_text(rates: Row, who: str = "the attacker") -> str:
    """Write how often an attacker names the right person of a group, and how often by guessing."""
    picks = f" in {rates['rank']} picks" * (rates["rank"] > 1)
    return (
        f"Among {rates['gallery']} people, {who} names the right one{picks} in {tests_of(rates)}. "
        f"Guessing gives {100 * rates['chance']:.3g} %"
    )


def worst_text(worst: Row, data: ReportData) -> str:
    """Name the speaker who is identified most often, for the first screen."""
    record, tied = worst["record"], worst["tied"]
    who, whom, tests = f"speaker: {worst['speaker']}", "this person", tests_of(worst)
    if tied > 1:
        every = "all " * (tied == len(speakers_of(record)))
        who, whom, tests = f"speakers: {every}{tied} alike", "each of them", f"{tests}, or as often"
    chosen = f". {highest_of(worst['among'])}" * (not (tied > 1 and worst["alike"]))
    attack = data.protocol.attack(record.condition.attack_model or "").phrase
    return (
        f"Least protected {who} ({set_title(data, record.condition)}). The {attack} attacker names "
        f"{whom} in {tests}. The search is among {worst['gallery']} people{chosen}"
        f"{also_instead(worst)}"
    )


def also_instead(worst: Row) -> str:
    """Say that the person who is identified most often is named for others, too, after a sentence
    without its full stop; "" if not."""
    if (row := worst["instead"]) is None:
        return ""
    whom = "this person" if worst["tied"] == 1 else "one of them"
    return f". Others are taken for {whom} in {tests_of(row)}, so a match is weak evidence"


def identification_sentences(data: ReportData) -> list[str]:
    """Say in plain words what the strongest attack model on each system finds."""
    most = dict[str, tuple[float, str]]()
    attacks = {a.id: a for a in data.protocol.attack_models if not a.is_original}
    main = main_split(data.protocol, data.results.identification)
    for (system, attack, split), rates in data.disclosed.identified.items():
        if attack in attacks and split == main:
            text = named_text(rates, f"the {attacks[attack].phrase} attacker")
            text = f"{system}: {text[:1].lower()}{text[1:]}."
            reached = rates["value"] - rates["chance"], text
            most[system] = max(most.get(system, reached), reached)
    instead = (
        f"{system}: the {attacks[row['record'].condition.attack_model].phrase} attacker takes "
        f"{instead_text(row)}"
        for system, row in data.disclosed.named_for_others.items()
    )
    return [*(text for _, text in most.values()), *instead, *_largest(data)]


#: What follows if a person is named more often than by guessing, if not, or if that is unknown.
_INSTEAD = {
    True: "This is more than chance: do not take a match for evidence against a person",
    False: "This can be chance",
    None: "Whether this is chance was not tested: it needs --bootstrap and two test speakers",
}


def instead_text(row: Row) -> str:
    """Write how often others are taken for one person, after "takes"."""
    return (
        f"others for one and the same person in {tests_of(row)}. Guessing gives "
        f"{100 * row['chance']:.3g} %. {_INSTEAD[row['is_more']]}."
    )


def _largest(data: ReportData) -> list[str]:
    """Say which groups the data allow if they are smaller than those that people ask about."""
    largest = max((r.facts["n_enrolled"] for r in data.results.identification), default=_LARGE)
    if largest >= _LARGE:
        return []
    return [
        f"These data allow statements on groups of 2 to {largest} people. A group of {_LARGE} "
        "needs more enrolled people: recordings of others by the option --distractors "
        "(docs/identification.md)."
    ]


def amount_sentences(data: ReportData) -> list[str]:
    """Say of each system how much more an attacker with more speech finds."""
    sentences = []
    for record, lengths, number in with_most_speech(data.results):
        first, last = lengths[0], lengths[-1]
        if len(lengths) == 1 or rate_at(first) is None:
            continue
        longest, shortest = last["rank1"], first["rank1"]
        sentences.append(
            f"{record.condition.system}: with {counted(longest['sentences'], 'sentence')}"
            f"{_seconds(last)} of a person, the attacker names the right one in "
            f"{tests_of(longest)}. With {shortest['sentences']}{_seconds(first)}, "
            f"in {tests_of(shortest)}. It is the {condition_text(data.protocol, record)}, "
            f"among {record.facts['n_enrolled']} enrolled people. Of {number} attacks it finds "
            f"most, so partly by chance{_by_session(record)}"
        )
    return sentences


def _seconds(of_length: Mapping[str, Row]) -> str:
    seconds = seconds_at(of_length)
    return "" if seconds is None else f" ({seconds:.3g} s)"


def _by_session(record: Record) -> str:
    """Say what the longest tests within one session find, or that there are no others."""
    if is_of_one_session(record):
        return f". {ONE_SESSION[:1].upper()}{ONE_SESSION[1:]}"
    rows = record.measurements.select(metric="rank1", session=("one", "any"), value=PRESENT)
    pairs = [pair for _, pair in sorted(rows.groups("sentences").items()) if len(pair) == 2]
    if not pairs or pairs[-1][0]["sentences"] == 1:
        return ""
    one, whole = pairs[-1]
    return (
        f". With {counted(one['sentences'], 'sentence')} of one session, in "
        f"{tests_of(one)}. With those of any session, in {tests_of(whole)}"
    )


def attribute_sentences(data: ReportData) -> list[str]:
    """Say of each system, attribute and data set what vectors give away."""
    sentences = []
    for r in attribute_records(data.results):
        c, (risk, recalls) = r.condition, inferred(r)
        knows = "anonymized" if risk["situation"] == SITUATIONS[2] else "original"
        few = few_speakers(r.facts["classes"])
        sentences.append(
            f"{c.system}, {c.attribute} ({data.protocol.data_set(c.data_set).title}): average "
            f"recall is {percent(recalls[risk['situation']]['value'])} on anonymized "
            f"speech, on original speech {percent(recalls[SITUATIONS[0]]['value'])}. Chance is "
            f"{100 / len(r.facts['classes']):.3g} %. The classifier learned from {knows} speech of "
            "others" + (f". {few[:1].upper()}{few[1:]}" if few else "")
        )
    return sentences


def columns_of(record: Record) -> list[str]:
    """Return the columns of metadata by whose groups of speakers a record has values."""
    return record.measurements.values("group_by")


def group_columns(data: ReportData) -> list[str]:
    """Return the columns of metadata that have results by group."""
    return data.results.measurements.values("group_by")


def group_sentences(data: ReportData) -> list[str]:
    """Say of each column of metadata where groups differ most, and how surely, and of what the tree
    does not tell."""
    sentences = privacy_sentences(data)
    for column in group_columns(data):
        recognized = data.measurements.select(metric="wer", group_by=column, trial=ANONYMIZED)
        sentences += _most_uneven(data, recognized, f"By {column}, the word error rate differs")
        sentences += lacking(data.results, column)
    return sentences


def lacking(results: Results, column: str) -> Iterator[str]:
    """Say what cannot be computed by the groups of a column from what the tree has."""
    without = [r for r in results.recognition if column not in columns_of(r)]
    if without:
        yield (
            f"Not by {column}: {len(without)} of {len(results.recognition)} word error rates, for "
            "which there are no transcripts of speakers with a group"
        )
    if results.emotion:
        yield (
            f"Not by {column}: recalls of emotions, of which the tree has means over folds only, "
            "no predictions (uar --by takes these)"
        )


def privacy_sentences(data: ReportData) -> list[str]:
    """Say of each column of metadata which group's privacy differs most, and how surely."""
    sentences: list[str] = []
    own = data.measurements.select(attacker=(None, *CHALLENGE_ATTACKERS))
    attacked = own.select(attack_model={*own.values("attack_model")} - {ORIGINAL})
    for column in group_columns(data):
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
