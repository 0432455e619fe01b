"""Groups of speakers in one system: tables by column of metadata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..choices import GROUPS
from ..metrics import METRICS, NOT_AVAILABLE
from ..metrics.groups import FEW_SPEAKERS, MIN_TESTED, GroupSummary
from ..metrics.identification import GroupLinkage
from ..metrics.wer import GroupRate
from ..numbers.groups import recognizer
from ..numbers.report_data import ReportData
from ..results.records import (
    IdentificationRecord,
    RecognitionRecord,
    Results,
    VerificationRecord,
)
from .notes import notes_of_values
from .record_tables import RecordTable
from .table import Column, Key, Table, aligned, nonempty

_NOTES = (
    "Trials within the group: both speakers belong to it; against all others, large groups would "
    "look worse, as they have more near impostors",
    "Difference: EER within the group minus that within all other groups, ± standard error (mean "
    "of both error rates where they are nearest); p by the bootstrap, corrected over the groups of "
    f"a condition; groups of fewer than {MIN_TESTED} speakers have neither test nor intervals, and "
    f"fewer than {FEW_SPEAKERS} are too few for conclusions",
)
_THRESHOLD = Column("FMR of all", align="l", sparse=True)
_FMR = (
    "FMR of all: nontargets of the condition that exceed the threshold; FMR, FNMR: nontargets that "
    "exceed it, and targets that do not, of groups"
)
_BY_CHANCE = (
    "Without intervals or tests: rates of few trials, and so gaps and ratios, differ by chance, "
    "the more the more groups there are; the test is in the table of EERs"
)
_OWN_GALLERY = (
    "Own gallery: all enrolled speakers of the group. Sizes, and so chance (1 / size), differ: "
    "compare groups by galleries of N, the size of the smallest group of the condition",
    "Intervals are of one group at a time; differences between groups are not tested; groups of "
    f"fewer than {MIN_TESTED} speakers have no interval, and fewer than {FEW_SPEAKERS} are too few "
    "for conclusions",
)
#: Groups beyond which a matrix is left to files.
_MOST = 6


def group_tables(data: ReportData, title: str) -> list[Table]:
    """Return the tables of each column of metadata: a row per condition and group, but one of
    disparities a row per condition; those without rows are left out."""
    results = data.results
    tables = []
    for number, column in enumerate(data.group_columns):
        of_column = [
            _eer_table(results, column).table(),
            _disparity_table(results, column).table(),
            _false_match_table(results, column).table(),
            _identification_table(results, column).table(),
            _wer_table(results, column),
        ]
        of_column = [table for table in of_column if table.groups]
        lacking = data.lacking_groups[column]
        tables += [
            replace(
                table,
                name=f"groups_{number}{table.name}",
                caption=f"Groups of speakers by {column}: {title} ({table.caption}).",
                notes=(*table.notes, *(lacking if table is of_column[0] else ())),
                section=GROUPS,
                title=f"By {column}{table.title}",
            )
            for table in of_column
        ]
    return tables


def _eer_table(results: Results, column: str) -> RecordTable[VerificationRecord]:
    """EER within each group, its test, and more."""

    def rows(r: VerificationRecord) -> Iterator[Key]:
        return ((name, *_cells(of)) for name, of in r.groups.get(column, {}).items())

    values = aligned("r", "Speakers", "Targets", "Nontargets", "EER within, %", "min Cllr")
    values += aligned("r", "Rank-1, %", "Difference", "p")
    records = _attacked(results)
    within = [of.within for r in records for of in r.groups.get(column, {}).values()]
    return RecordTable(
        results.protocol,
        "",
        "trials within each group; variant exact",
        (Column(column, align="l"), *values),
        records,
        rows,
        notes=(*_NOTES, *notes_of_values(within, ["eer"])),
    )


def _attacked(results: Results) -> list[VerificationRecord]:
    """Return the records of verification under an attack model."""
    return [r for r in results.verification if r.condition.attack_model]


def _disparity_table(results: Results, column: str) -> RecordTable[VerificationRecord]:
    """Gaps and ratios of the error rates within groups at common thresholds."""
    keys = ("fmr_gap", "fmr_ratio", "fnmr_gap", "fnmr_ratio")

    def rows(r: VerificationRecord) -> Iterator[Key]:
        errors = r.group_errors.get(column)
        for rate, of in {} if errors is None else errors.disparities.items():
            if errors is not None and of is not None:
                matches = errors.false_match[rate]
                within = [matches.fmr_matrix[g][g] for g in matches.groups]
                both = sum(None not in pair for pair in zip(within, matches.fnmr, strict=True))
                yield _threshold(rate), str(both), *(_disparity(of, key) for key in keys)

    values = aligned("r", "Groups", "FMR gap", "FMR ratio", "FNMR gap", "FNMR ratio")
    gaps = "Gap: largest less smallest rate within groups, in points; ratio: largest by smallest, "
    more = "FDR, inequity and GARBE are in results.json and results.csv"
    return RecordTable(
        results.protocol,
        "_disparities",
        "how far error rates within groups are apart at common thresholds",
        (_THRESHOLD, *values),
        _attacked(results),
        rows,
        notes=(_FMR, f"{gaps}n/a if that is 0; {more}", _BY_CHANCE),
        title=": gaps and ratios",
    )


def _threshold(rate: str) -> str:
    return f"{100 * float(rate):g} %"


def _disparity(of: object, key: str) -> str:
    value = getattr(of, key, None)
    if value is None:
        return NOT_AVAILABLE
    return f"{value:.2f}" if key.endswith("ratio") else f"{100 * value:.1f}"


def _false_match_table(results: Results, column: str) -> RecordTable[VerificationRecord]:
    """False-match rates of enrolled by tested group at common thresholds."""
    records = [r for r in _attacked(results) if column in r.group_errors]
    names = sorted({name for r in records for name in r.groups[column]})
    records = records if len(names) <= _MOST else []

    def rows(r: VerificationRecord) -> Iterator[Key]:
        errors = r.group_errors[column]
        for rate, matches in errors.false_match.items():
            for enrolled, missed in zip(matches.groups, matches.fnmr, strict=True):
                counts = errors.n_nontarget[enrolled].values()
                n = " to ".join(map(str, sorted({min(counts), max(counts)})))
                rates = matches.fmr_matrix[enrolled]
                texts = (_rate(rates[name]) if name in rates else "" for name in names)
                yield _threshold(rate), enrolled, n, *texts, _rate(missed)

    columns = (_THRESHOLD, Column(column, align="l"), *aligned("r", "Nontargets", *names, "FNMR"))
    return RecordTable(
        results.protocol,
        "_false_match",
        "false-match rates, %, of enrolled (rows) against tested groups (columns) at common "
        "thresholds",
        columns,
        records,
        rows,
        notes=(
            _FMR,
            "Nontargets: those of the smallest and the largest cell of the row",
            _BY_CHANCE,
        ),
        title=": false matches",
    )


def _identification_table(results: Results, column: str) -> RecordTable[IdentificationRecord]:
    """Rates at which speakers are identified among those of their group."""

    def rows(r: IdentificationRecord) -> Iterator[Key]:
        for name, of in r.groups.get(column, {}).items():
            counts = (of.n_test_speakers, of.n_tests, of.n_enrolled)
            size = str(of.sizes[0]) if of.sizes else NOT_AVAILABLE
            yield name, *map(str, counts), _linkage(of, -1), size, _linkage(of, 0)

    values = aligned("r", "Speakers", "Tests", "Own gallery", "Found, %", "N", "Found among N, %")
    ranks = sorted({r.rank for r in results.identification})
    notes: tuple[str, ...] = _OWN_GALLERY
    if any(len(r.genders) > 1 for r in results.identification):
        notes += ("Galleries are of both genders",)
    if ranks != [1]:
        notes += (f"Found: among the {' or '.join(map(str, ranks))} highest scores",)
    return RecordTable(
        results.protocol,
        "_identification",
        "how often the right speaker scores highest among the enrolled speakers of the own group",
        (Column(column, align="l"), *values),
        [r for r in results.identification if r.condition.attack_model],
        rows,
        notes=notes,
        title=": identification",
    )


def _linkage(of: GroupLinkage, place: int) -> str:
    """Format the rate in galleries of one of the sizes, with its interval."""
    if not of.sizes:
        return NOT_AVAILABLE
    interval = METRICS["eer"].interval(of.intervals[place] if of.intervals else None)
    return f"{_rate(of.linkage[place])} {interval}".rstrip()


def _wer_table(results: Results, column: str) -> Table:
    """Word error rates of groups, of original and anonymized speech."""
    protocol = results.protocol
    are_several = any(recognizer(r, protocol) for r in results.recognition)

    def rows(r: RecognitionRecord, row_name: str) -> Iterator[Key]:
        for name, of in r.groups.get(column, {}).items():
            counts = str(of.n_speakers), str(of.count)
            identity = row_name, r.condition.speech, recognizer(r, protocol)
            yield *identity[: 3 if are_several else 2], name, *counts, _wer(of)

    groups = [
        [
            cells
            for r in results.recognition
            if r.place() == (data_set.id, split)
            for cells in rows(r, data_set.row_name(split))
        ]
        for split in protocol.splits
        for data_set in protocol.recognition.data_sets
    ]
    identity = (
        Column("Data set", align="l", sparse=True),
        *aligned("l", "Speech", *["Recognizer"] * are_several, sparse=True),
        Column(column, align="l"),
    )
    return Table(
        "_wer",
        "word error rates of transcripts",
        (*identity, *aligned("r", "Speakers", "Words", "WER, %")),
        nonempty(groups),
        notes=_OWN_GALLERY[1:],
        title=": word error rates",
    )


def _wer(of: GroupRate) -> str:
    """Format a word error rate with its interval."""
    if of.rate is None:
        return NOT_AVAILABLE
    metric = METRICS["wer"]
    return f"{metric.format(of.rate)} {metric.interval(of.interval or None)}".rstrip()


def _rate(value: float | None) -> str:
    return NOT_AVAILABLE if value is None else METRICS["eer"].format(value)


def _cells(of: GroupSummary) -> tuple[str, ...]:
    """Return counts, values with intervals, and the test of a group as cells."""
    counts = (of.within.n_speakers, of.within.n_target, of.within.n_nontarget)
    texts = []
    for key, metric in (("eer", "eer"), ("cllr_min", "cllr_min"), ("rank1", "eer")):
        text, bounds = of.within.text(key), of.intervals.get(key)
        texts.append(text if bounds is None else f"{text} {METRICS[metric].interval(bounds)}")
    difference, p_value = NOT_AVAILABLE, NOT_AVAILABLE
    if of.test is not None:
        difference = f"{100 * of.test.difference:+.1f} ± {100 * of.test.se:.1f}"
        p_value = f"{of.test.p_value:.3f}"
    return (*map(str, counts), *texts, difference, p_value)
