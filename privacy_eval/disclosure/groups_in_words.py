"""Where groups of speakers differ most, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from ..choices import grouped
from ..metrics import METRICS
from ..metrics.strata import MIN_TESTED
from ..numbers.report_data import ReportData
from ..protocol.protocol import ANONYMIZED, CHALLENGE_ATTACKERS, ORIGINAL
from ..results.measurements import Measurements, Row
from ..results.records import Record, Results

_NOT_TESTED = "the largest of {} such differences, which are not tested"


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
