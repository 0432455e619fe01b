"""Amount of speech and attributes in one system: tables, and sentences on all systems."""

from __future__ import annotations

from collections.abc import Iterator

from ..choices import AMOUNT, SITUATIONS
from ..errors import counted
from ..metrics import METRICS, NOT_AVAILABLE
from ..metrics.amount import Amount
from ..numbers.disclosures import ONE_SESSION, condition_text
from ..numbers.identification import percent
from ..numbers.report_data import ReportData
from ..results.records import AmountRecord, AttributeRecord, Results
from .split_tables import table_of_records
from .table import INFERENCE, Column, Key, Table, aligned, nonempty

_BY_SCORES = (
    "* Of the sentences of a test, scores were averaged, otherwise x-vectors; ranks of averaged "
    "scores are those of averaged cosine vectors, but their EER is higher"
)
_EQUAL = (
    "Speakers: the same at every number of sentences, those of the largest / those who have a test "
    "of so many / enrolled ones of the trial key, with whom every test is compared"
)
_SECONDS = "Seconds: mean speech of a test"
_SESSIONS = (
    "Session: the id of an utterance without its last part, such as a chapter. Any session: all "
    "tests of the same speakers, of consecutive utterances"
)
_SITUATIONS = (
    "Classifier of original speech, tested on original speech (o-o, what there is to protect) and "
    "on anonymized speech (o-a); a-a: it learned from anonymized speech, too. UAR: unweighted "
    "average recall of utterances; chance is 1 / classes",
    "Risk: share of what a control that says the most frequent label misses that the stronger of "
    "o-a and a-a guesses, a vote per speaker (anonymeter)",
)
_SHORT = dict(zip(SITUATIONS, ("o-o", "o-a", "a-a"), strict=True))


def amount_table(results: Results, title: str) -> Table:
    """Tabulate error rates by the number of sentences of a test: a row per condition, attacker and
    number."""
    has_seconds = any(a.seconds is not None for r in results.amounts for a in r.equal)

    def rows(r: AmountRecord) -> Iterator[Key]:
        remaining = {a.length: a.speakers for a in r.all}
        for a in r.equal:
            speakers = f"{a.speakers}/{remaining[a.length]}/{r.n_enrolled}"
            mean = NOT_AVAILABLE if a.seconds is None else f"{a.seconds:.1f}"
            seconds = [mean] if has_seconds else []
            counts = speakers, str(a.length), *seconds, str(a.conversations)
            yield *counts, *_rates(a)

    by_scores = any(r.averaged == "scores" for r in results.amounts)
    counts = "Speakers", "Sentences", *(["Seconds"] if has_seconds else []), "Tests"
    notes = (_EQUAL, *([_SECONDS] if has_seconds else []), *([_BY_SCORES] if by_scores else ()))
    return table_of_records(
        Table(
            "amount_of_speech",
            f"Error rates by the number of sentences per test: {title}.",
            tuple(aligned("r", *counts, "EER, %", "Rank-1, %")),
            notes=notes,
            section=AMOUNT,
            title="By the number of sentences",
        ),
        results.protocol,
        results.amounts,
        rows,
        flag=_of_scores,
    )


def amount_by_session_table(results: Results, title: str) -> Table:
    """Tabulate error rates of tests within one session beside all tests of the same speakers: a row
    per condition, attacker, number of sentences and kind."""

    def rows(r: AmountRecord) -> Iterator[Key]:
        both = zip(r.one_session, r.any_session, strict=True)
        for of_length in (pair for pair in both if pair[0].length > 1):  # one is of one session
            for kind, a in zip(("one", "any"), of_length, strict=True):
                counts = str(a.speakers), str(a.length), kind, str(a.conversations)
                yield *counts, *_rates(a)

    columns = aligned("r", "Speakers", "Sentences", "Session", "Tests", "EER, %", "Rank-1, %")
    return table_of_records(
        Table(
            "amount_by_session",
            f"Error rates of tests within one session and of all tests: {title}.",
            tuple(columns),
            notes=(_SESSIONS,),
            section=AMOUNT,
            title="By session",
        ),
        results.protocol,
        [r for r in results.amounts if r.one_session],
        rows,
        flag=_of_scores,
    )


def _of_scores(record: AmountRecord) -> str:
    """Mark records whose scores, not x-vectors, were averaged."""
    return "*" * (record.averaged == "scores")


def _rates(amount: Amount) -> Iterator[str]:
    """Yield EER and rank-1 rate with their intervals."""
    eer = METRICS["eer"]
    rates = ((amount.eer, amount.eer_interval), (amount.rank1, amount.rank1_interval))
    for value, bounds in rates:
        text = NOT_AVAILABLE if value is None else eer.format(value)
        yield text if bounds is None else f"{text} {eer.interval(bounds)}"


def attribute_table(results: Results, title: str) -> Table:
    """Tabulate what vectors give away about attributes: a row per data set, split and attribute."""
    protocol = results.protocol
    eer = METRICS["eer"]

    def row(r: AttributeRecord) -> Key:
        uars = (r.situations[s] for s in SITUATIONS)
        strongest, few = r.strongest, "*" * bool(r.caveat)
        return (
            protocol.data_set(r.condition.data_set).row_name(r.condition.split) + few,
            r.condition.attribute,
            ", ".join(f"{name} {n}" for name, n in r.classes.items()),
            f"{100 / len(r.classes):.3g}",
            *(f"{eer.format(of.uar)} {eer.interval(of.interval)}" for of in uars),
            f"{strongest.bits:.2f}",
            _SHORT[r.reported],
            "{:.2f} [{:.2f}, {:.2f}]".format(strongest.risk, *strongest.risk_interval),
        )

    columns = [Column("Data", align="l", sparse=True), *aligned("l", "Attribute", "Speakers")]
    columns += aligned("r", "Chance, %", *(f"UAR {_SHORT[s]}, %" for s in SITUATIONS))
    columns += aligned("r", "Bits", "Reported", "Risk")
    caveats = dict.fromkeys(r.caveat for r in results.attributes if r.caveat)
    rows = [
        [row(r) for r in results.attributes if r.condition.split == split]
        for split in protocol.splits
    ]
    return Table(
        "attributes",
        f"What vectors give away about attributes of speakers: {title}.",
        tuple(columns),
        nonempty(rows),
        notes=(*_SITUATIONS, *(f"* {caveat}" for caveat in caveats)),
        turned=True,
        section=INFERENCE,
        title="By data set",
    )


def amount_sentences(data: ReportData) -> list[str]:
    """Say of each system how much more an attacker with more speech finds."""
    sentences = []
    for record, number in data.attacks_with_most_speech:
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
    for r in data.attributes_of_main_split:
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
