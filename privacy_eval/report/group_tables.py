"""Groups of speakers in one system: tables by column of metadata, and a sentence on each."""

from __future__ import annotations

from collections.abc import Iterator

from ..choices import GROUPS
from ..metrics import METRICS, NOT_AVAILABLE
from ..metrics.groups import FEW_SPEAKERS, MIN_TESTED, GroupSummary
from ..numbers.groups import main_split
from ..numbers.report_data import ReportData
from ..results.records import Results, VerificationRecord
from .split_tables import Key, set_groups
from .table import Column, Table, aligned

_NOTES = (
    "Trials within the group: both speakers belong to it; against all others, large groups would "
    "look worse, as they have more near impostors",
    "Difference: EER within the group minus that within all other groups, ± standard error (mean "
    "of both error rates where they are nearest); p by the bootstrap, corrected over the groups of "
    f"a condition; groups of fewer than {MIN_TESTED} speakers are not tested, and fewer than "
    f"{FEW_SPEAKERS} are too few for conclusions",
)


def group_tables(results: Results, title: str) -> list[Table]:
    """Return a table for each column of metadata: a row per condition and group."""
    records = [r for r in results.verification if r.condition.attack_model]
    columns = dict.fromkeys(column for r in records for column in r.groups)
    return [
        _group_table(results, records, column, title, number)
        for number, column in enumerate(columns)
    ]


def _group_table(
    results: Results,
    records: list[VerificationRecord],
    column: str,
    title: str,
    number: int,
) -> Table:
    attacks = {a.id: a.title for a in results.protocol.attack_models}

    def rows(r: VerificationRecord) -> Iterator[Key]:
        attack = attacks.get(r.condition.attack_model or "", "")
        by = "" if r.condition.is_by_challenge else f" ({r.condition.attacker})"
        for name, of in r.groups.get(column, {}).items():
            yield f"{attack}{by}", name, *_cells(of)

    identity = (
        Column("Trial set", align="l", sparse=True),
        Column("Gen", sparse=True),
        Column("Attack model", align="l", sparse=True),
        Column(column, align="l"),
    )
    values = aligned("r", "Speakers", "Targets", "Nontargets", "EER within, %", "min Cllr")
    values += aligned("r", "Rank-1, %", "Difference", "p")
    caption = f"Groups of speakers by {column}: {title} (trials within each group; variant exact)."
    return Table(
        f"groups_{number}",
        caption,
        (*identity, *values),
        set_groups(results.protocol, records, rows),
        notes=_NOTES,
        fit="landscape",
        section=GROUPS,
        title=f"By {column}",
    )


def _cells(of: GroupSummary) -> tuple[str, ...]:
    """Return counts, values with intervals, and the test of a group as cells."""
    counts = (of.within.n_speakers, of.within.n_target, of.within.n_nontarget)
    texts = []
    for key, metric in (("eer", "eer"), ("cllr_min", "cllr_min"), ("rank1", "eer")):
        value, bounds = getattr(of.within, key), of.intervals.get(key)
        text = NOT_AVAILABLE if value is None else METRICS[metric].format(value)
        texts.append(text if bounds is None else f"{text} {METRICS[metric].interval(bounds)}")
    difference, p_value = NOT_AVAILABLE, NOT_AVAILABLE
    if of.test is not None:
        difference = f"{100 * of.test.difference:+.1f} ± {100 * of.test.se:.1f}"
        p_value = f"{of.test.p_value:.3f}"
    return (*map(str, counts), *texts, difference, p_value)


def group_sentences(data: ReportData) -> list[str]:
    """Say of each column of metadata which group differs most from the others, and how surely."""
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
    sentences = []
    for column, values in tested.items():
        _, r, name, of = max(values, key=lambda value: value[0])
        c, test = r.condition, of.test
        if test is not None:
            conditions = len({id(record) for _, record, _, _ in values})
            sentences.append(
                f"By {column}, the largest difference to the other groups is that of {name} "
                f"({c.system}, {protocol.data_set(c.data_set).title}, {protocol.genders[c.gender]}"
                f", {attacks.get(c.attack_model or '', '')} attacker): "
                f"{100 * test.difference:+.1f} points of EER within the group (standard error "
                f"{100 * test.se:.1f}), p = {test.p_value:.3f}, corrected over the groups but "
                f"not over the {conditions} conditions; no difference found is no proof of "
                "equal protection"
            )
    return sentences
