"""Groups of speakers: sentences on each column of metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..metrics import METRICS
from ..metrics.groups import MIN_TESTED, GroupSummary
from ..metrics.identification import GroupLinkage
from ..numbers.groups import main_split
from ..numbers.report_data import ReportData
from ..protocol.protocol import ORIGINAL
from ..results.records import VerificationRecord

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
