"""A slow second implementation of every score metric, to test the package against.

Written from the definitions alone (the papers, and what the challenge's scripts are
known to print), trial by trial in plain Python, so that it shares neither code nor
shortcuts with `privacy_eval.metrics`. Posteriors are fractions; a trial is a pair
(score, is it a target).
"""

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from scipy import integrate

Trial = tuple[float, bool]
SLOPE = 1e-6
TAGS = (("A", 1.0), ("B", 2.0), ("C", 4.0), ("D", 5.0), ("E", 6.0), ("F", math.inf))


def trials_of(target: Sequence[float], nontarget: Sequence[float]) -> list[Trial]:
    """Nontargets, then targets: the order in which the released scripts see trials."""
    return [(float(s), False) for s in nontarget] + [(float(s), True) for s in target]


def counts(trials: Sequence[Trial]) -> tuple[int, int]:
    """T and N."""
    n_target = sum(1 for _, is_target in trials if is_target)
    return n_target, len(trials) - n_target


def isotonic(points: Sequence[tuple[int, int]]) -> list[Fraction]:
    """Isotonic regression by merging violators until none is left.

    A point is (targets, trials); returned is the share of targets of its block.
    """
    blocks: list[tuple[int, int, int]] = []  # targets, trials, points
    for targets, trials in points:
        blocks.append((targets, trials, 1))
        while len(blocks) > 1:
            (t0, n0, p0), (t1, n1, p1) = blocks[-2:]
            if Fraction(t0, n0) < Fraction(t1, n1):
                break
            blocks[-2:] = [(t0 + t1, n0 + n1, p0 + p1)]
    return [Fraction(t, n) for t, n, points_in_it in blocks for _ in range(points_in_it)]


def log_odds(p: Fraction) -> float:
    """Natural logit; 0 and 1 give infinities."""
    if p == 0:
        return -math.inf
    if p == 1:
        return math.inf
    odds = p / (1 - p)
    return math.log(odds.numerator) - math.log(odds.denominator)


def pooled_points(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Trials of equal score together, by ascending score."""
    return [[t for t in trials if t[0] == score] for score in sorted({s for s, _ in trials})]


def single_points(trials: Sequence[Trial], *, targets_first: bool = False) -> list[list[Trial]]:
    """Every trial alone, by ascending score; at a tie one class before the other."""
    ordered = sorted(trials, key=lambda t: (t[0], t[1] != targets_first))
    return [[t] for t in ordered]


def calibrated(points: Sequence[Sequence[Trial]], *, laplace: bool = False) -> list[Trial]:
    """Every trial with its LLR in place of its score, in the order of `points`."""
    everything = [trial for point in points for trial in point]
    n_target, n_nontarget = counts(everything)
    regressed = [(sum(is_target for _, is_target in point), len(point)) for point in points]
    if laplace:
        dummies = [(1, 1), (0, 1)]
        posterior = isotonic([*dummies, *regressed, *dummies])[2:-2]
    else:
        posterior = isotonic(regressed)
    offset = log_odds(Fraction(n_target, n_target + n_nontarget))
    return [
        (log_odds(p) - offset, is_target)
        for p, point in zip(posterior, points, strict=True)
        for _, is_target in point
    ]


def with_slope(llrs: Sequence[Trial]) -> list[Trial]:
    """k * 1e-6 / (T + N) added to the k-th LLR, k from 0."""
    total = len(llrs)
    return [(llr + k * SLOPE / total, is_target) for k, (llr, is_target) in enumerate(llrs)]


def min_llrs(trials: Sequence[Trial], variant: str) -> list[Trial]:
    """LLRs of min Cllr."""
    if variant == "exact":
        return calibrated(pooled_points(trials))
    return with_slope(calibrated(single_points(trials)))


def softplus(x: float) -> float:
    """log(1 + e^x)."""
    if x == math.inf:
        return math.inf
    if x == -math.inf:
        return 0.0
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def class_means(values: Sequence[Trial]) -> tuple[float, float]:
    """Mean over the targets, mean over the nontargets."""
    n_target, n_nontarget = counts(values)
    return (
        math.fsum(v for v, is_target in values if is_target) / n_target,
        math.fsum(v for v, is_target in values if not is_target) / n_nontarget,
    )


def cllr(trials: Sequence[Trial], variant: str = "exact") -> float:
    """Eq. (2) of the comparative study; `challenge` forms the sigmoid first."""

    def cost(trial: Trial) -> float:
        llr, is_target = trial
        right = llr if is_target else -llr
        if variant == "exact":
            return softplus(-right)
        try:
            sigmoid = 1.0 / (1.0 + math.exp(-right))
        except OverflowError:
            return math.inf
        return -math.log(sigmoid)

    of_target, of_nontarget = class_means([(cost(t), t[1]) for t in trials])
    return (of_target + of_nontarget) / (2.0 * math.log(2.0))


def min_cllr(trials: Sequence[Trial], variant: str) -> float:
    return cllr(min_llrs(trials, variant))


def kaldi_eer(target: Sequence[float], nontarget: Sequence[float]) -> tuple[float, float]:
    """The loop of Kaldi's compute-eer on float32 scores: EER and threshold.

    Kaldi rounds the EER itself to float32 too, which its four digits hide.
    """
    with np.errstate(over="ignore"):
        t = sorted(np.float32(s) for s in target)
        n = sorted(np.float32(s) for s in nontarget)
    i = 0
    while i + 1 < len(t):
        j = max(0, len(n) - 1 - math.trunc(len(n) * i / len(t)))
        if n[j] < t[i]:
            break
        i += 1
    return i / len(t), float(t[i])


def speechbrain_eer(target: Sequence[float], nontarget: Sequence[float]) -> tuple[float, float]:
    """Go through all thresholds as SpeechBrain's EER does: EER and threshold."""
    with np.errstate(over="ignore", invalid="ignore"):
        t, n = np.float32(target), np.float32(nontarget)
        distinct = np.unique(np.concatenate([t, n]))
        between = (distinct[:-1] + distinct[1:]) / np.float32(2)
    thresholds = np.sort(np.concatenate([distinct, np.clip(between, distinct[:-1], distinct[1:])]))
    best = math.inf
    value = at = 0.0
    for threshold in thresholds:
        miss = float(np.float32(np.sum(t <= threshold)) / np.float32(t.size))
        false_alarm = float(np.float32(np.sum(n > threshold)) / np.float32(n.size))
        if float(np.float32(abs(false_alarm - miss))) < best:
            best = abs(false_alarm - miss)
            value, at = (false_alarm + miss) / 2, float(threshold)
    return value, at


def rocch_eer(trials: Sequence[Trial], variant: str) -> float:
    """Where the convex hull of the ROC meets miss = false alarm.

    The hull has a vertex after every PAV block; on the segment between two of them
    miss - false alarm changes its sign.
    """
    points = pooled_points(trials) if variant == "exact" else single_points(trials)
    n_target, n_nontarget = counts(trials)
    posterior = isotonic([(sum(t[1] for t in point), len(point)) for point in points])
    miss, alarm = Fraction(0), Fraction(1)
    for level in sorted(set(posterior)):
        block = [t for p, point in zip(posterior, points, strict=True) if p == level for t in point]
        new_miss = miss + Fraction(sum(t[1] for t in block), n_target)
        new_alarm = alarm - Fraction(sum(not t[1] for t in block), n_nontarget)
        if new_miss >= new_alarm:
            before, after = miss - alarm, new_miss - new_alarm
            share = -before / (after - before)
            return float(miss + share * (new_miss - miss))
        miss, alarm = new_miss, new_alarm
    raise AssertionError("the last vertex of a ROC has miss 1 and false alarm 0")


def min_dcf(trials: Sequence[Trial], p_target: float, variant: str) -> float:
    """Every threshold tried; `trials` in file order."""
    n_target, n_nontarget = counts(trials)

    def cost(rejected: Sequence[Trial]) -> float:
        miss = sum(t[1] for t in rejected) / n_target
        alarm = 1.0 - sum(not t[1] for t in rejected) / n_nontarget
        return (p_target * miss + (1.0 - p_target) * alarm) / min(p_target, 1.0 - p_target)

    if variant == "challenge":
        ordered = sorted(trials, key=lambda t: t[0])  # stable: file order at ties
        return min(cost(ordered[:k]) for k in range(1, len(ordered) + 1))
    thresholds = [*sorted({s for s, _ in trials}), math.inf]
    return min(cost([t for t in trials if t[0] < threshold]) for threshold in thresholds)


def miss_rate(trials: Sequence[Trial], false_alarm: Fraction) -> float:
    """Every threshold tried."""
    n_target, n_nontarget = counts(trials)
    found = [Fraction(1)]
    for threshold in {score for score, _ in trials}:
        accepted = [is_target for score, is_target in trials if score >= threshold]
        if Fraction(accepted.count(False), n_nontarget) <= false_alarm:
            found.append(1 - Fraction(accepted.count(True), n_target))
    return float(min(found))


def z_closed_form(a: float) -> float:
    """Z of eq. (6) of the ZEBRA paper at x = e^a, with so many digits that none is missed where
    they cancel."""
    if a == math.inf:
        return 0.25
    if a == 0.0:
        return 0.0
    with localcontext() as context:
        context.prec = 150
        exact = Decimal(a)
        x = exact.exp()
        return float(((x - 3) * (x - 1) + 2 * exact) / (4 * (x - 1) ** 2))


def population(trials: Sequence[Trial], variant: str) -> float:
    """D_ECE by the closed form, eq. (6), trial by trial."""
    if variant == "exact":
        llrs = calibrated(pooled_points(trials))
        values = [(z_closed_form(a if is_target else -a), is_target) for a, is_target in llrs]
    else:
        llrs = with_slope(calibrated(single_points(trials, targets_first=True)))
        values = [
            (0.0 if abs(a) <= SLOPE else z_closed_form(a if is_target else -a), is_target)
            for a, is_target in llrs
        ]
    return sum(class_means(values)) / math.log(2.0)


def ece(llrs: Sequence[Trial], prior: float) -> float:
    """Eq. (4) of the ZEBRA paper at one prior, 0 < prior < 1."""
    log_prior_odds = math.log(prior) - math.log1p(-prior)

    def bits(trial: Trial) -> float:
        llr, is_target = trial
        return softplus(-(llr + log_prior_odds) if is_target else llr + log_prior_odds)

    of_target, of_nontarget = class_means([(bits(t), t[1]) for t in llrs])
    return (prior * of_target + (1.0 - prior) * of_nontarget) / math.log(2.0)


def binary_entropy(prior: float) -> float:
    """Footnote 5: ECE without evidence, in bit."""
    return -prior * math.log2(prior) - (1.0 - prior) * math.log2(1.0 - prior)


def population_integral(trials: Sequence[Trial]) -> float:
    """D_ECE by numerical integration of eq. (5)."""
    llrs = calibrated(pooled_points(trials))
    value, _ = integrate.quad(
        lambda prior: binary_entropy(prior) - ece(llrs, prior), 0.0, 1.0, epsabs=1e-11, limit=200
    )
    return float(value)


def individual(trials: Sequence[Trial], variant: str) -> float:
    """Largest |log10 LR| of any trial after PAV with Laplace's dummies."""
    if variant == "exact":
        llrs = calibrated(pooled_points(trials), laplace=True)
    else:
        llrs = with_slope(calibrated(single_points(trials), laplace=True))
    return max(abs(llr) for llr, _ in llrs) / math.log(10.0)


def tag(log10_lr: float, variant: str, tags: Sequence[tuple[str, float]] = TAGS) -> str:
    """Table 1; `tags` are (name, upper bound). `challenge` counts the bound to the lower one."""
    if log10_lr <= np.finfo(float).eps:
        return "0"
    for name, upper in tags:
        if log10_lr < upper or (variant == "challenge" and log10_lr == upper):
            return name
    return tags[-1][0]


def linkability(target: Sequence[float], nontarget: Sequence[float], variant: str) -> float:
    """D_sys from histograms of equal bins over all scores, with omega 1."""
    bins = min(len(target) // 10, 100)
    if variant == "exact":
        bins = max(bins, 1)
    everything = [*target, *nontarget]
    low, high = min(everything), max(everything)
    if bins == 0 or (variant == "challenge" and low == high):
        return 0.0
    if low == high:
        target_mass, nontarget_mass = np.array([1.0]), np.array([1.0])
    elif variant == "exact":
        edges = np.linspace(low, high, bins + 1)
        target_mass = np.histogram(target, bins=edges)[0] / len(target)
        nontarget_mass = np.histogram(nontarget, bins=edges)[0] / len(nontarget)
    else:
        edges = np.linspace(low, high, bins + 1)
        target_mass = np.histogram(target, bins=edges, density=True)[0]
        nontarget_mass = np.histogram(nontarget, bins=edges, density=True)[0]
    local = []
    for y1, y2 in zip(target_mass, nontarget_mass, strict=True):
        if y2 == 0.0:
            local.append(1.0 if y1 > 0.0 else 0.0)
        else:
            ratio = y1 / y2
            local.append(2.0 * ratio / (1.0 + ratio) - 1.0 if ratio > 1.0 else 0.0)
    if variant == "exact":
        return math.fsum(d * y1 for d, y1 in zip(local, target_mass, strict=True))
    centres = (edges[:-1] + edges[1:]) / 2.0
    heights = [d * y1 for d, y1 in zip(local, target_mass, strict=True)]
    return math.fsum(
        (centres[i + 1] - centres[i]) * (heights[i] + heights[i + 1]) / 2.0
        for i in range(len(heights) - 1)
    )


def all_metrics(
    target: Sequence[float], nontarget: Sequence[float], variant: str
) -> dict[str, float]:
    """Every metric by the key it has in records."""
    trials = trials_of(target, nontarget)
    return {
        "eer": kaldi_eer(target, nontarget)[0],
        "eer_speechbrain": speechbrain_eer(target, nontarget)[0],
        "cllr": cllr(trials, variant),
        "cllr_min": min_cllr(trials, variant),
        "rocch_eer": rocch_eer(trials, variant),
        "linkability": linkability(target, nontarget, variant),
        "zebra_population": population(trials, variant),
        "zebra_individual": individual(trials, variant),
        "min_dcf_0.01": min_dcf(trials, 0.01, variant),
        "min_dcf_0.001": min_dcf(trials, 0.001, variant),
        "miss_at_fa_0.01": miss_rate(trials, Fraction(1, 100)),
        "miss_at_fa_0.001": miss_rate(trials, Fraction(1, 1000)),
    }
