"""What `metrics` prints as JSON, and groups of speakers, which it evaluates on request."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .group_options import check_groups, group_caveats, read_by

if TYPE_CHECKING:
    from ..metrics import Evaluation, Trials, Variant
    from ..metrics.groups import GroupReport


def groups_of_trials(
    trials: Trials,
    by: Sequence[str],
    files: tuple[Path, Path | None],
    *,
    bootstrap: int,
    seed: int,
) -> dict[str, tuple[GroupReport, list[str]]]:
    """Evaluate the groups of every `FILE:COLUMN`; also tell who is in none, by column.
    `files`: the speakers of trial utterances and of enrolled ones."""
    from ..metrics.groups import groups
    from ..stages.records import grouped_trials

    found = {}
    for labels in read_by(by):
        known, group_of, without = grouped_trials(trials, labels, *files)
        check_groups(group_of, labels, without)
        report = groups(known, group_of, bootstrap=bootstrap, seed=seed)
        found[labels.column] = report, group_caveats({}, labels.column, without)
    return found


def plain_report(report: GroupReport, caveats: Sequence[str]) -> dict[str, Any]:
    """Return a report as plain values, with the intervals beside the values of each group."""
    from ..io.schema import to_plain

    plain: dict[str, Any] = to_plain(report)
    del plain["left_out"]  # the caveats tell it
    for name, kinds in plain.pop("intervals").items():
        for kind, bounds in kinds.items():
            plain["groups"][name][kind]["intervals"] = bounds
    return plain | {"caveats": [*report.caveats, *caveats]}


def shown_variants(arguments: argparse.Namespace) -> Sequence[Variant]:
    """Return the variants to print."""
    from ..metrics import VARIANTS

    return VARIANTS if arguments.variant == "both" else (arguments.variant,)


def plain_metrics(
    arguments: argparse.Namespace, evaluated: Mapping[Variant, Evaluation]
) -> dict[str, Any]:
    """Return counts, caveats, metrics and intervals as plain values for JSON."""
    from ..metrics import CAVEATS, zebra_tag

    exact, variants = evaluated["exact"], shown_variants(arguments)
    caveats = {key: why for of in evaluated.values() for key, why in of.caveats.items()}
    plain: dict[str, Any] = {"n_target": exact.n_target, "n_nontarget": exact.n_nontarget}
    plain["caveats"] = {key: caveats[key] for key in CAVEATS if key in caveats}
    for variant in variants:
        plain[variant] = dict(values := evaluated[variant].values)
        if "zebra_individual" in values:
            plain[variant]["zebra_tag"] = zebra_tag(values, variant)
    if exact.intervals:
        plain["intervals"] = {v: evaluated[v].intervals for v in variants}
    return plain
