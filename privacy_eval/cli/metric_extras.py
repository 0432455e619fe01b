"""What `metrics` prints on request beside the metrics: worst cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import counted

if TYPE_CHECKING:
    from ..io.scores import PairedTrials
    from ..metrics import TrialScores, WorstCase


def worst_case_of_trials(trials: PairedTrials, seed: int) -> WorstCase:
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
