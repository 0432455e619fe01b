"""What `metrics` prints on request beside the metrics: worst cases, groups of speakers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import counted
from .group_options import check_groups, group_caveats, read_by

if TYPE_CHECKING:
    from ..metrics import GroupReport, Trials, TrialScores, WorstCase


def print_worst_case(values: WorstCase, scores: TrialScores) -> None:
    """Print the estimates with the number of trials and what they are worth."""
    from tabulate import tabulate

    counts = f"{counted(scores.n_target, 'target')} and {counted(scores.n_nontarget, 'nontarget')}"
    print(f"\n{values.heading}, of {counts}")
    rows = [tuple(row.values()) for row in values.cells()]
    print(tabulate(rows, tablefmt="plain", disable_numparse=True))
    for note in values.notes:
        print(f"caveat: {note}")


def groups_of_trials(
    trials: Trials,
    by: Sequence[str],
    files: tuple[Path, Path | None],
    *,
    bootstrap: int,
    seed: int,
) -> dict[str, tuple[GroupReport, list[str]]]:
    """Evaluate the groups of every `FILE:COLUMN`; also return the caveats of each, by column.
    `files`: the speakers of trial utterances and of enrolled ones."""
    from ..metrics import groups
    from ..stages.group_trials import grouped_trials

    found = {}
    for labels in read_by(by):
        known, group_of, without = grouped_trials(trials, labels, *files)
        check_groups(group_of, labels, without)
        report = groups(known, group_of, bootstrap=bootstrap, seed=seed)
        found[labels.column] = (
            report,
            [*report.caveats, *group_caveats({}, labels.column, without)],
        )
    return found


def plain_report(report: GroupReport, caveats: Sequence[str]) -> dict[str, Any]:
    """Return a report as plain values, with the intervals beside the values of each group."""
    from ..io.schema import to_plain

    plain: dict[str, Any] = to_plain(report)
    for name, kinds in plain.pop("intervals").items():
        for kind, bounds in kinds.items():
            plain["groups"][name][kind]["intervals"] = bounds
    return plain | {"caveats": [*caveats]}


def print_groups(column: str, report: GroupReport, caveats: Sequence[str]) -> None:
    """Print the values of groups as a table, and the largest difference."""
    from tabulate import tabulate

    print(f"\n# by {column}")
    rows = [{column: row["group"], **row} for row in report.cells()]
    for row in rows:
        del row["group"]
    print(tabulate(rows, headers="keys", disable_numparse=True))
    print(*report.findings, sep="\n")
    for caveat in (*caveats, report.notes[-1]):
        print(f"caveat: {caveat}")
