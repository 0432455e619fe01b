"""What `metrics` prints on request beside the metrics: worst cases, groups of speakers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import abbreviate, counted
from .group_options import check_groups, group_caveats, read_by

if TYPE_CHECKING:
    from ..metrics import TrialScores, WorstCase
    from ..metrics.groups import GroupedTrials, GroupReport, GroupValues
    from ..metrics.trials import Trials


def worst_case_of_trials(trials: Trials, seed: int) -> WorstCase:
    """Estimate the worst case of paired trials, also by the ranks within each test."""
    from ..metrics import worst_case

    return worst_case(trials.score, trials.is_target, trials.utterance.tolist(), seed=seed)


def worst_case_of_scores(scores: TrialScores, seed: int) -> WorstCase:
    """Estimate the worst case of scores that belong to no known tests: without ranks."""
    import numpy as np

    from ..metrics import worst_case

    pooled = np.concatenate([scores.target, scores.nontarget])
    return worst_case(pooled, np.arange(pooled.size) < scores.n_target, seed=seed)


def print_worst_case(values: WorstCase, scores: TrialScores) -> None:
    """Print the estimates with the number of trials and what they are worth."""
    from tabulate import tabulate

    rank = values.rank
    estimates: dict[str, float | None] = {
        "PAV, as ZEBRA (exact)": values.pav_exact,
        "PAV, as released": values.pav_released,
        "Gaussian": values.gauss,
        "Student t": values.student,
        "ranks, Laplace's rule": None if rank is None else rank.laplace,
        "ranks, raw": None if rank is None else rank.raw,
        "ranks, beta-binomial": None if rank is None else rank.beta_binomial,
        "99 % quantile of the targets (PAV)": values.quantile_99,
        "chance, 95 % quantile of permuted labels (PAV)": values.chance_95,
    }
    rows: list[Any] = [(t, "n/a" if v is None else f"{v:.3f}") for t, v in estimates.items()]
    counts = f"{counted(scores.n_target, 'target')} and {counted(scores.n_nontarget, 'nontarget')}"
    print(f"\nlargest |log likelihood ratio|, in nats, of {counts}")
    print(tabulate(rows, tablefmt="plain", disable_numparse=True))
    if values.tails_decide:
        print("caveat: estimates differ: the tails decide")
    if values.pav_exact <= values.chance_95:
        print("caveat: PAV's value is not above what chance alone reaches: no evidence of a leak")
    print(
        "caveat: without intervals, which would not hold the truth; compare quantiles, and never "
        "maxima of sets of different size"
    )


def groups_of_trials(
    trials: Trials,
    by: Sequence[str],
    files: tuple[Path, Path | None],
    *,
    bootstrap: int,
    seed: int,
) -> dict[str, dict[str, Any]]:
    """Evaluate the groups of every `FILE:COLUMN`, as plain values with caveats; with intervals if
    there is a bootstrap. `files`: the speakers of trial utterances and of enrolled ones."""
    from ..io.schema import to_plain
    from ..metrics import evaluate_groups
    from ..metrics.groups import REPLICATES
    from ..stages.group_trials import grouped_trials

    plain: dict[str, dict[str, Any]] = {}
    for labels in read_by(by):
        grouped, without = grouped_trials(trials, labels, *files)
        check_groups(grouped.names, labels, without)
        report = evaluate_groups(grouped, replicates=bootstrap or REPLICATES, seed=seed)
        of_column = to_plain(report)
        if bootstrap:
            _add_intervals(of_column, grouped, bootstrap, seed)
        of_column["caveats"] = _group_caveats(report, labels.column, without)
        plain[labels.column] = of_column
    return plain


def _add_intervals(
    plain: Mapping[str, Any], trials: GroupedTrials, replicates: int, seed: int
) -> None:
    """Add the bounds of the bootstrap intervals to the plain values of every group."""
    from ..metrics.groups import KINDS, group_intervals

    for number, of_group in enumerate(plain["groups"].values()):
        for kind in KINDS:
            intervals = group_intervals(trials, kind, number, replicates=replicates, seed=seed)
            bounds = {key: [i.low, i.high] for key, i in intervals.items()}
            of_group[kind]["intervals"] = bounds


def _group_caveats(report: GroupReport, column: str, without: Sequence[str]) -> list[str]:
    """Say what the numbers of groups cannot tell, and which are not tested."""
    from ..metrics.groups import MIN_TESTED
    from ..report.notes import notes_of_values

    speakers = {name: of["within"].n_speakers for name, of in report.groups.items()}
    untested = [name for name, n in speakers.items() if n < MIN_TESTED]
    caveats = [f"not tested (below {MIN_TESTED} speakers): {abbreviate(untested)}"]
    values = [of for kinds in report.groups.values() for of in kinds.values()]
    notes = notes_of_values(
        [*values, report.within_all, report.between_all], ["eer", "linkability"]
    )
    return [*(caveats if untested else ()), *group_caveats(speakers, column, without), *notes]


def print_groups(column: str, plain: Mapping[str, Any]) -> None:
    """Print the values of groups as a table, and the largest difference."""
    from tabulate import tabulate

    tests = plain["test"]
    rows = [
        (name, *_within_cells(of["within"]), *_eers_against_all(of), *_test_cells(tests[name]))
        for name, of in plain["groups"].items()
    ]
    rows += [
        (title, *_within_cells(plain[key]), *[""] * 4)
        for title, key in (("all within", "within_all"), ("all between", "between_all"))
    ]
    heads = ("speakers", "targets", "nontargets", "EER within, %", "min Cllr", "linkability")
    more = ("rank-1, %", "enrolled against all", "tested against all", "difference", "p")
    print(f"\n# by {column}")
    print(tabulate(rows, headers=(column, *heads, *more), disable_numparse=True))
    for rate, gaps in plain["disparities"].items():
        if gaps is not None:
            print(
                f"at {100 * float(rate):g} % false matches of all, within groups: false-match "
                f"rates differ by up to {100 * gaps['fmr_gap']:.1f} points, false-nonmatch rates "
                f"by up to {100 * gaps['fnmr_gap']:.1f}"
            )
    if tested := {name: test for name, test in tests.items() if test is not None}:
        name = max(tested, key=lambda n: abs(tested[n]["difference"]) / tested[n]["se"])
        difference, p_value = 100 * tested[name]["difference"], tested[name]["p_value"]
        print(
            f"largest difference in standard errors: {name}, {difference:+.1f} points of EER from "
            f"the others within groups (p = {p_value:.3f}, corrected over the groups)"
        )
    for caveat in plain["caveats"]:
        print(f"caveat: {caveat}")
    print("caveat: compare groups by trials within; against all, large groups look worse")


def _within_cells(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the counts and metrics of some trials as cells."""
    from ..metrics import METRICS

    rate, bounds, of = METRICS["eer"], values.get("intervals", {}), _values_of(values)
    texts = {key: of.text(key) for key in ("eer", "cllr_min", "linkability", "rank1")}
    for key in bounds.keys() & {"eer", "rank1"}:
        texts[key] += f" {rate.interval(bounds[key])}"
    counts = (str(values[f"n_{key}"]) for key in ("speakers", "target", "nontarget"))
    return *counts, *texts.values()


def _values_of(plain: Mapping[str, Any]) -> GroupValues:
    from ..metrics.groups import GroupValues

    return GroupValues(**{key: value for key, value in plain.items() if key != "intervals"})


def _eers_against_all(of_group: Mapping[str, Any]) -> tuple[str, ...]:
    kinds = ("enrolled_against_all", "tested_against_all")
    return tuple(_values_of(of_group[kind]).text("eer") for kind in kinds)


def _test_cells(test: Mapping[str, float] | None) -> tuple[str, str]:
    """Return the difference with its standard error, and the p-value."""
    if test is None:
        return "n/a", "n/a"
    return f"{100 * test['difference']:+.1f} ± {100 * test['se']:.1f}", f"{test['p_value']:.3f}"
