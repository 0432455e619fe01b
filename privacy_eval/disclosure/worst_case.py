"""Worst case: the largest |log likelihood ratio| of any trial, estimated in four ways.

ZEBRA's estimate is set by the size of the last block of PAV: about 1 nat too high where the truth
is bounded, far too low where tails leak. Beside it stand a Gaussian and a Student t fit per class
and the ranks of the right speakers. All values are natural logarithms. None has an interval: in
simulations intervals of maxima held the truth in 0 to 55 % of cases. The largest value grows with
the number of trials: never compare sets of different size.

References: Nautsch et al., "The Privacy ZEBRA" (Interspeech 2020); Wang and Miao (2026), arXiv
2608.10318, for the Gaussian and the rank estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..metrics.caveats import NOT_AVAILABLE
from ..metrics.llr import individual_disclosure
from ..metrics.pav import FloatArray
from ..metrics.printed import Printed
from ..metrics.trial_scores import TrialScores, check_scores
from ..metrics.trials import Table, Trials

#: Fewest scores of a class that a Student t is fitted to: three have one of any spread.
MIN_SCORES = 10

#: Permutations of the labels from which the chance level is taken.
PERMUTATIONS = 200

#: Bounds of the degrees of freedom; above them a Student t is a Gaussian.
_DEGREES = (1.0, 1000.0)

#: Bounds of the logarithms of both parameters of the beta-binomial.
_LOG_SHAPES = (-12.0, 12.0)


@dataclass(frozen=True, repr=False)
class WorstCase(Printed):
    """Estimates of the largest |LLR|, in nats.

    Attributes
    ----------
    pav_exact : float
        PAV with Laplace's rule, ties pooled: ZEBRA's individual disclosure times log 10.
    pav_released : float
        The same with every trial its own point, nontargets first at ties, as in released code.
    gauss : float or None
        None where a class has no spread.
    student : float or None
        None where a class has fewer than `MIN_SCORES` scores, or half of them are equal.
    rank : mapping of str to float, or None
        See `rank_evidence`; None unless every test is compared with its speaker and equally many
        others.
    quantile_99 : float
        99 % quantile of the targets' LLR by `pav_exact`, the number to compare.
    chance_95 : float
        95 % quantile of `pav_exact` where labels are permuted: below it a value is no evidence.
    """

    pav_exact: float
    pav_released: float
    gauss: float | None
    student: float | None
    rank: Mapping[str, float] | None
    quantile_99: float
    chance_95: float

    @property
    def tails_decide(self) -> bool:
        """Whether the largest of the four estimates exceeds twice the smallest."""
        estimates = self.pav_exact, self.gauss, self.student, (self.rank or {}).get("laplace")
        values = [value for value in estimates if value is not None]
        return max(values) > 2 * min(values)

    def __getitem__(self, estimate: str) -> float | None:
        return dict(self._estimates().values())[estimate]

    def _estimates(self) -> dict[str, tuple[str, float | None]]:
        """Return the estimates with their keys, by title."""
        rank = (self.rank or {}).get
        return {
            "PAV, as ZEBRA (exact)": ("pav_exact", self.pav_exact),
            "PAV, as released": ("pav_released", self.pav_released),
            "Gaussian": ("gauss", self.gauss),
            "Student t": ("student", self.student),
            "ranks, Laplace's rule": ("rank_laplace", rank("laplace")),
            "ranks, raw": ("rank_raw", rank("raw")),
            "ranks, beta-binomial": ("rank_beta_binomial", rank("beta_binomial")),
            "99 % quantile of the targets (PAV)": ("quantile_99", self.quantile_99),
            "chance, 95 % quantile of permuted labels (PAV)": ("chance_95", self.chance_95),
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """List the estimates as numbers, in nats."""
        return [{"estimate": key, "value": value} for key, value in self._estimates().values()]

    def cells(self) -> list[dict[str, str]]:
        """Format the estimates as rows."""
        return [
            {"estimate": title, "nats": NOT_AVAILABLE if value is None else f"{value:.3f}"}
            for title, (_, value) in self._estimates().items()
        ]

    @property
    def heading(self) -> str:
        """What is estimated."""
        return "Largest |log likelihood ratio|, in nats"

    @property
    def notes(self) -> list[str]:
        """What the estimates are worth."""
        notes = {
            "estimates differ: the tails decide": self.tails_decide,
            "PAV's value is not above what chance alone reaches: no evidence of a leak": (
                self.pav_exact <= self.chance_95
            ),
            "without intervals, which would not hold the truth; compare quantiles, and never "
            "maxima of sets of different size": True,
        }
        return [text for text, holds in notes.items() if holds]


def worst_case(
    trials: Table,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> WorstCase:
    """Estimate the largest |LLR| of any trial in four ways, and what chance alone reaches.

    Parameters
    ----------
    trials : Trials, what they are made of, or TrialScores
        There are no ranks without the utterances of the tests.
    permutations : int
        Of the labels among all trials.
    seed : int
        Of the permutations.

    Returns
    -------
    WorstCase

    Raises
    ------
    PrivacyEvalError
        A score that is not finite, a class without trials.

    Examples
    --------
    >>> trials = Trials(score=[0, 1, 2, 3], label=[0, 1, 0, 1], utterance=["a", "a", "b", "b"])
    >>> values = worst_case(trials)
    >>> round(values.pav_exact, 3), values.student, values.rank["raw"]
    (0.693, None, inf)
    >>> round(values.rank["laplace"], 3)
    1.099
    """
    if isinstance(trials, TrialScores):
        trials = Trials(dict(zip(("score", "label"), trials.in_file_order, strict=True)))
    trials = Trials.of(trials).counted
    values = trials.score
    if values.size:  # estimates do not depend on the scale, squares of huge scores overflow
        values = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    scores = TrialScores.from_labels(values, trials.is_target)
    exact, released = (scores.pav_laplace(v) for v in ("exact", "challenge"))
    counts = rank_counts(trials) if "utterance" in trials else None
    return WorstCase(
        pav_exact=_largest(exact.llr),
        pav_released=_largest(released.llr),
        gauss=gaussian_worst_case(scores),
        student=student_worst_case(scores),
        rank=None if counts is None else rank_evidence(counts),
        quantile_99=float(np.quantile(np.repeat(exact.llr, exact.targets), 0.99)),
        chance_95=float(np.quantile(list(_chance(scores, permutations, seed)), 0.95)),
    )


def _chance(trials: TrialScores, permutations: int, seed: int) -> Iterator[float]:
    """Yield the PAV estimate, in nats, of permuted labels."""
    generator = np.random.default_rng(seed)
    pooled = np.sort(np.concatenate([trials.target, trials.nontarget]))
    for _ in range(permutations):
        is_target = np.zeros(pooled.size, dtype=np.bool_)
        is_target[generator.choice(pooled.size, trials.n_target, replace=False)] = True
        permuted = TrialScores.from_sorted(pooled[is_target], pooled[~is_target])
        yield math.log(10) * individual_disclosure(permuted)


def gaussian_worst_case(trials: TrialScores) -> float | None:
    """Compute the largest |LLR| at the scores from a Gaussian fitted to each class.

    Parameters
    ----------
    trials : TrialScores

    Returns
    -------
    float or None
        In nats; None where a class has no spread.

    Examples
    --------
    >>> gaussian_worst_case(TrialScores([1.0, 3.0], [-1.0, 1.0]))
    4.0
    """
    check_scores(trials)
    classes = (trials.target, trials.nontarget)
    if any(of[0] == of[-1] for of in classes):
        return None
    log_density = [
        -0.5 * ((_pooled(trials) - of.mean()) / of.std()) ** 2 - np.log(of.std()) for of in classes
    ]
    return _largest(log_density[0] - log_density[1])


def student_worst_case(trials: TrialScores) -> float | None:
    """Compute the largest |LLR| at the scores from a Student t fitted to each class.

    Parameters
    ----------
    trials : TrialScores

    Returns
    -------
    float or None
        In nats; None where a class has fewer than `MIN_SCORES` scores, or where half of them are
        equal, which makes the likelihood unbounded.

    Examples
    --------
    >>> student_worst_case(TrialScores([1.0, 3.0], [-1.0, 1.0])) is None
    True
    """
    check_scores(trials)
    log_ratio = np.zeros(trials.n_target + trials.n_nontarget)
    for of, sign in ((trials.target, 1), (trials.nontarget, -1)):
        repeats = np.diff(np.flatnonzero(np.append(True, of[1:] != of[:-1])), append=of.size)
        if of.size < MIN_SCORES or 2 * repeats.max() >= of.size:
            return None
        degrees, location, scale = fit_student(of)
        z = (_pooled(trials) - location) / scale
        log_ratio += sign * (_student_log_density(z, degrees) - math.log(scale))
    return _largest(log_ratio)


def fit_student(scores: ArrayLike) -> tuple[float, float, float]:
    """Fit a Student t by maximum likelihood, with 1 to 1000 degrees of freedom.

    Parameters
    ----------
    scores : array_like, shape (P,)
        Not all equal.

    Returns
    -------
    degrees, location, scale : float

    Examples
    --------
    >>> degrees, location, scale = fit_student(np.linspace(-1, 1, 101))
    >>> round(degrees), abs(location) < 1e-6
    (1000, True)
    """
    values = np.asarray(scores, dtype=np.float64)
    middle, spread = float(np.median(values)), float(values.std())
    z = (values - middle) / spread
    quartiles = np.quantile(z, [0.25, 0.75])
    scale = max(1e-3, 0.741 * float(quartiles[1] - quartiles[0]))
    least_scale = math.log(1e-8)  # no density of scores, but of ties
    bounds = [(math.log(_DEGREES[0]), math.log(_DEGREES[1])), (None, None), (least_scale, None)]
    starts = [[math.log(degrees), 0.0, math.log(scale)] for degrees in (2.0, 5.0, 300.0)]
    log_degrees, location, log_scale = _best_fit(_student_cost, starts, z, bounds)
    return (
        math.exp(log_degrees),
        middle + spread * float(location),
        spread * math.exp(log_scale),
    )


def _best_fit(
    cost: Callable[[FloatArray, FloatArray], tuple[float, FloatArray]],
    starts: Iterable[list[float]],
    values: FloatArray,
    bounds: Sequence[tuple[float | None, float | None]],
) -> FloatArray:
    """Minimize a cost of parameters and values from several starts; return the best parameters."""
    from scipy.optimize import minimize  # slow to import, and not always needed

    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}
    settings = {"args": (values,), "jac": True, "bounds": bounds, "options": options}
    fits = [minimize(cost, start, method="L-BFGS-B", **settings) for start in starts]
    return np.asarray(min(fits, key=lambda fit: float(fit.fun)).x)


def _student_log_density(z: FloatArray, degrees: float) -> FloatArray:
    """Compute the log density of the standard Student t."""
    from scipy import special  # slow to import

    half = (degrees + 1) / 2
    constant = special.gammaln(half) - special.gammaln(degrees / 2)
    constant -= 0.5 * math.log(degrees * math.pi)
    return np.asarray(constant - half * np.log1p(z**2 / degrees))


def _student_cost(parameters: FloatArray, values: FloatArray) -> tuple[float, FloatArray]:
    """Compute the negative mean log likelihood and its gradient, by the logarithms of degrees of
    freedom and scale, and the location."""
    from scipy import special  # slow to import

    degrees, scale = math.exp(parameters[0]), math.exp(parameters[2])
    z = (values - parameters[1]) / scale
    square = z**2
    weight = (degrees + 1) / (degrees + square)
    digamma = special.digamma
    by_degrees = 0.5 * (
        digamma((degrees + 1) / 2)
        - digamma(degrees / 2)
        - 1 / degrees
        - np.log1p(square / degrees).mean()
        + (weight * square).mean() / degrees
    )
    gradient = [degrees * by_degrees, (weight * z).mean() / scale, (weight * square).mean() - 1]
    likelihood = _student_log_density(z, degrees).mean() - parameters[2]
    return -float(likelihood), -np.array(gradient)


def rank_counts(trials: Trials) -> FloatArray | None:
    """Count the tests whose speaker has each rank; a tie shares its count evenly.

    Parameters
    ----------
    trials : Trials
        With scores, labels and utterances, the tests.

    Returns
    -------
    float array, shape (N,), or None
        N enrolled speakers, the best rank first; None unless each test is compared with its
        speaker once and with equally many others.

    Examples
    --------
    >>> rank_counts(Trials(score=[2, 1, 3, 3], label=[1, 0, 1, 0], utterance=["u", "u", "v", "v"]))
    array([1.5, 0.5])
    """
    values, labels = trials.score, trials.is_target
    names = sorted(trials.utterance.used)
    test, n_tests = trials.utterance.among(names).codes, len(names)
    others = np.bincount(test[~labels], minlength=n_tests)
    own = np.bincount(test[labels], minlength=n_tests)
    if (own != 1).any() or (others != others[0]).any() or not others[0]:
        return None
    right = np.empty(n_tests)
    right[test[labels]] = values[labels]
    test, values = test[~labels], values[~labels]
    above = np.bincount(test[values > right[test]], minlength=n_tests)
    equal = np.bincount(test[values == right[test]], minlength=n_tests)
    steps = np.zeros(others[0] + 2)
    np.add.at(steps, above, 1 / (equal + 1))
    np.add.at(steps, above + equal + 1, -1 / (equal + 1))
    counts: FloatArray = np.maximum(np.cumsum(steps)[:-1], 0.0)
    return counts


def rank_evidence(counts: ArrayLike) -> dict[str, float]:
    """Compute the largest |LLR| of any rank: LLR(k) = log(g_k (N - 1) / (1 - g_k)).

    Parameters
    ----------
    counts : array_like, shape (N,)
        Tests by the rank of their speaker, as from `rank_counts`.

    Returns
    -------
    dict of str to float
        In nats: `raw` of the shares of tests themselves, inf where a rank never or always occurs;
        `laplace` of shares by Laplace's rule; `beta_binomial` of one fitted to the ranks, inf where
        all have the first or the last one.

    Examples
    --------
    >>> evidence = rank_evidence([3.0, 1.0])
    >>> round(evidence["raw"], 4), round(evidence["laplace"], 4)
    (1.0986, 0.6931)
    """
    of_ranks = np.asarray(counts, dtype=np.float64)
    n_tests, n_ranks = of_ranks.sum(), of_ranks.size
    laplace = (of_ranks + 1) / (n_tests + n_ranks)
    with np.errstate(divide="ignore"):
        raw, smooth = np.log(of_ranks / n_tests), np.log(laplace)
    fitted = math.inf
    if max(of_ranks[0], of_ranks[-1]) < n_tests:
        fitted = _rank_llr(_fitted_log_shares(of_ranks))
    return {"raw": _rank_llr(raw), "laplace": _rank_llr(smooth), "beta_binomial": fitted}


def _rank_llr(log_shares: FloatArray) -> float:
    """Compute the largest |LLR| of any rank from the logarithms of the shares."""
    with np.errstate(divide="ignore"):
        others = np.log(-np.expm1(np.minimum(log_shares, 0.0)))
    return _largest(log_shares + math.log(log_shares.size - 1) - others)


def _fitted_log_shares(counts: FloatArray) -> FloatArray:
    """Fit a beta-binomial to the ranks less 1; return the logarithms of its probabilities."""
    starts = [[0.0, 0.0], [-1.0, 1.0], [-2.0, 2.0], [1.0, -1.0], [4.0, 4.0]]
    log_shapes = _best_fit(_beta_binomial_cost, starts, counts, [_LOG_SHAPES] * 2)
    first, second = np.exp(log_shapes).tolist()
    return _beta_binomial(first, second, counts.size)


def _beta_binomial(first: float, second: float, size: int) -> FloatArray:
    """Compute the log probabilities of the beta-binomial on 0 .. size - 1."""
    from scipy import special  # slow to import

    number, top = np.arange(size), size - 1
    combinations = -np.log(size) - special.betaln(number + 1, top - number + 1)
    joint = special.betaln(number + first, top - number + second)
    return np.asarray(combinations + joint - special.betaln(first, second))


def _beta_binomial_cost(log_shapes: FloatArray, counts: FloatArray) -> tuple[float, FloatArray]:
    """Compute the negative mean log likelihood and its gradient by the logarithms of the shapes."""
    from scipy import special  # slow to import

    first, second = np.exp(log_shapes)
    shares, number = counts / counts.sum(), np.arange(counts.size)
    digamma, top = special.digamma, counts.size - 1
    common = digamma(first + second) - digamma(top + first + second)
    by_first = shares @ digamma(number + first) - digamma(first) + common
    by_second = shares @ digamma(top - number + second) - digamma(second) + common
    cost = -float(shares @ _beta_binomial(first, second, counts.size))
    return cost, -np.array([first * by_first, second * by_second])


def _pooled(trials: TrialScores) -> FloatArray:
    return np.concatenate([trials.target, trials.nontarget]).astype(np.float64, copy=False)


def _largest(log_ratios: FloatArray) -> float:
    return float(np.abs(log_ratios).max())
