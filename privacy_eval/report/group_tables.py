"""Groups of speakers: tables of one system by column of metadata, and sentences on all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..choices import GROUPS
from ..metrics import METRICS, NOT_AVAILABLE
from ..metrics.groups import FEW_SPEAKERS, MIN_TESTED, GroupSummary
from ..metrics.identification import GroupLinkage
from ..metrics.wer import GroupRate
from ..numbers.groups import main_split, recognizer
from ..numbers.report_data import ReportData
from ..protocol.protocol import ORIGINAL
from ..results.records import (
    IdentificationRecord,
    RecognitionRecord,
    Results,
    VerificationRecord,
)
from .notes import notes_of_values
from .split_tables import table_of_records
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
            _eer_table(results, column),
            _disparity_table(results, column),
            _false_match_table(results, column),
            _identification_table(results, column),
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


def _eer_table(results: Results, column: str) -> Table:
    """EER within each group, its test, and more."""

    def rows(r: VerificationRecord) -> Iterator[Key]:
        return ((name, *_cells(of)) for name, of in r.groups.get(column, {}).items())

    values = aligned("r", "Speakers", "Targets", "Nontargets", "EER within, %", "min Cllr")
    values += aligned("r", "Rank-1, %", "Difference", "p")
    records = _attacked(results)
    within = [of.within for r in records for of in r.groups.get(column, {}).values()]
    return table_of_records(
        Table(
            "",
            "trials within each group; variant exact",
            (Column(column, align="l"), *values),
            notes=(*_NOTES, *notes_of_values(within, ["eer"])),
        ),
        results.protocol,
        records,
        rows,
    )


def _attacked(results: Results) -> list[VerificationRecord]:
    """Return the records of verification under an attack model."""
    return [r for r in results.verification if r.condition.attack_model]


def _disparity_table(results: Results, column: str) -> Table:
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
    return table_of_records(
        Table(
            "_disparities",
            "how far error rates within groups are apart at common thresholds",
            (_THRESHOLD, *values),
            notes=(_FMR, f"{gaps}n/a if that is 0; {more}", _BY_CHANCE),
            title=": gaps and ratios",
        ),
        results.protocol,
        _attacked(results),
        rows,
    )


def _threshold(rate: str) -> str:
    return f"{100 * float(rate):g} %"


def _disparity(of: object, key: str) -> str:
    value = getattr(of, key, None)
    if value is None:
        return NOT_AVAILABLE
    return f"{value:.2f}" if key.endswith("ratio") else f"{100 * value:.1f}"


def _false_match_table(results: Results, column: str) -> Table:
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
    return table_of_records(
        Table(
            "_false_match",
            "false-match rates, %, of enrolled (rows) against tested groups (columns) at common "
            "thresholds",
            columns,
            notes=(
                _FMR,
                "Nontargets: those of the smallest and the largest cell of the row",
                _BY_CHANCE,
            ),
            title=": false matches",
        ),
        results.protocol,
        records,
        rows,
    )


def _identification_table(results: Results, column: str) -> Table:
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
    return table_of_records(
        Table(
            "_identification",
            "how often the right speaker scores highest among the enrolled speakers of the own "
            "group",
            (Column(column, align="l"), *values),
            notes=notes,
            title=": identification",
        ),
        results.protocol,
        [r for r in results.identification if r.condition.attack_model],
        rows,
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


#: Rate, its interval and number of speakers, by group.
_Rates = Mapping[str, tuple[float, tuple[float, ...], int]]

_NOT_TESTED = "the largest of {} such differences, which are not tested"


def group_sentences(data: ReportData) -> list[str]:
    """Say of each column of metadata where groups differ most, and how surely, and of what the tree
    does not tell."""
    sentences = privacy_sentences(data)
    for column in data.group_columns:
        sentences += _wer_sentence(data, column)
        sentences += data.lacking_groups[column]
    return sentences


def privacy_sentences(data: ReportData) -> list[str]:
    """Say of each column of metadata which group's privacy differs most, and how surely."""
    sentences: list[str] = []
    tested = _eer_sentences(data)
    for column in data.group_columns:
        sentences += filter(None, (tested.get(column, ""),))
        sentences += _identification_sentence(data, column)
    return sentences


def _eer_sentences(data: ReportData) -> dict[str, str]:
    """Say by column which group's EER differs most from the others, and how surely."""
    protocol = data.protocol
    records = [r for r in data.results.verification if r.groups and not r.condition.is_original]
    split = main_split(protocol, records)
    tested: dict[str, list[tuple[float, VerificationRecord, str, GroupSummary]]] = {}
    for r in records:
        if r.condition.split == split and r.condition.is_by_challenge:
            for column, groups in r.groups.items():
                for name, of in groups.items():
                    if of.test is not None:
                        statistic = abs(of.test.difference) / of.test.se
                        tested.setdefault(column, []).append((statistic, r, name, of))
    attacks = {a.id: a.phrase for a in protocol.attack_models}
    sentences: dict[str, str] = {}
    for column, values in tested.items():
        _, r, name, of = max(values, key=lambda value: value[0])
        c, test = r.condition, of.test
        if test is not None:
            conditions = len({id(record) for _, record, _, _ in values})
            sentences[column] = (
                f"By {column}, the largest difference to the others in standard errors: {name} "
                f"({c.system}, {protocol.data_set(c.data_set).title}, {protocol.genders[c.gender]}"
                f", {attacks.get(c.attack_model or '', '')} attacker): "
                f"{100 * test.difference:+.1f} points of EER within the group (standard error "
                f"{100 * test.se:.1f}), p = {test.p_value:.3f}, corrected over the groups but "
                f"not over the {conditions} conditions; no difference found is no proof of "
                "equal protection"
            )
    return sentences


def _identification_sentence(data: ReportData, column: str) -> Iterator[str]:
    """Say where groups are identified most unevenly in galleries of equal size."""
    records = [r for r in data.results.identification if not r.condition.is_original]
    split = main_split(data.protocol, records)
    attacks = {a.id: a.phrase for a in data.protocol.attack_models}
    cases: list[tuple[str, _Rates]] = []
    for r in records:
        groups = {
            name: of
            for name, of in r.groups.get(column, {}).items()
            if of.sizes and of.n_test_speakers >= MIN_TESTED
        }
        c = r.condition
        if c.split == split and c.is_by_challenge and len(groups) > 1:
            size = next(iter(groups.values())).sizes[0]
            where = (
                f"{c.system}, {data.protocol.data_set(c.data_set).title}, "
                f"{data.protocol.genders[c.gender]}, {attacks.get(c.attack_model or '', '')} "
                f"attacker, among {size} enrolled people of the own group"
            )
            cases.append((where, {name: _at_equal_size(of) for name, of in groups.items()}))
    if cases:
        yield _most_uneven(f"By {column}, identification differs most for", cases)


def _at_equal_size(of: GroupLinkage) -> tuple[float, tuple[float, ...], int]:
    return of.linkage[0], of.intervals[0] if of.intervals else (), of.n_test_speakers


def _wer_sentence(data: ReportData, column: str) -> Iterator[str]:
    """Say where word error rates of groups differ most."""
    protocol = data.protocol
    records = [r for r in data.results.recognition if r.condition.speech != ORIGINAL]
    split = main_split(protocol, (r for r in records if column in r.groups))
    titles = {d.id: d.row_name(split) for d in protocol.recognition.data_sets}
    cases: list[tuple[str, _Rates]] = []
    for r in records:
        rates = {
            name: (of.rate, of.interval, of.n_speakers)
            for name, of in r.groups.get(column, {}).items()
            if of.rate is not None and of.n_speakers >= MIN_TESTED
        }
        if r.condition.split == split and len(rates) > 1:
            cases.append((f"{r.condition.system}, {titles[r.condition.data_set]}", rates))
    if cases:
        yield _most_uneven(f"By {column}, the word error rate differs most for", cases)


def _most_uneven(beginning: str, cases: list[tuple[str, _Rates]]) -> str:
    """Describe the case in which the rates of groups are furthest apart."""

    def extremes(case: tuple[str, _Rates]) -> tuple[str, str]:
        low, *_, high = sorted(case[1], key=lambda name: case[1][name][0])
        return low, high

    def gap(case: tuple[str, _Rates]) -> float:
        low, high = extremes(case)
        return case[1][high][0] - case[1][low][0]

    where, rates = max(cases, key=gap)
    texts = []
    for name in extremes((where, rates)):
        rate, bounds, n_speakers = rates[name]
        interval = METRICS["eer"].interval(bounds or None)
        value = f"{METRICS['eer'].format(rate)} % {interval}".rstrip()
        texts.append(f"{value} ({name}, {n_speakers} speakers)")
    return f"{beginning} {where}: {' to '.join(texts)}; {_NOT_TESTED.format(len(cases))}"
