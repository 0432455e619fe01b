"""How precise an EER will be, before any score is computed.

Conventions: rates are fractions; higher EERs are more private.

References
----------
Kish (1965), Survey Sampling, section 5.4: design effect of clusters.
"""

from __future__ import annotations

import math

from scipy.special import stdtrit

#: Intra-speaker correlation of errors, from the bootstrap over speakers of 22 sets of scores (two
#: encoders, ignorant and lazy-informed, ten speakers with five trials each): median 0.6.
CORRELATION = 0.6


def anticipated_interval(
    eer: float, speakers: int, trials: float, *, level: float = 0.95
) -> tuple[float, float]:
    """Compute the interval that an EER will have, roughly, from the numbers of a trial design.

    The variance is eer (1 - eer) / (m (S - 1)) of S speakers with m effective decisions each,
    m = 4 n / (1 + (n - 1) r) of n target trials with the correlation r = 0.6; the factor 4, as the
    EER is the mean of two error rates of which that of nontargets is far more precise. The interval
    is that of Student's t with S - 1 degrees of freedom.

    Parameters
    ----------
    eer : float
        Fraction, 0 to 1.
    speakers : int
        At least 2.
    trials : float
        Target trials per speaker, at least 1.
    level : float
        Coverage.

    Returns
    -------
    tuple of two floats
        Fractions, within 0 and 1.

    Raises
    ------
    ValueError
        A parameter out of its range.

    Examples
    --------
    >>> [round(end, 2) for end in anticipated_interval(0.2, 10, 5)]
    [0.08, 0.32]
    >>> [round(end, 2) for end in anticipated_interval(0.2, 40, 5)]
    [0.15, 0.25]
    """
    if not (0 <= eer <= 1 and speakers > 1 and trials >= 1 and 0 < level < 1):
        raise ValueError(f"eer {eer}, speakers {speakers}, trials {trials}, level {level}")
    decisions = 4 * trials / (1 + (trials - 1) * CORRELATION)
    deviation = math.sqrt(eer * (1 - eer) / (decisions * (speakers - 1)))
    half = float(stdtrit(speakers - 1, (1 + level) / 2)) * deviation
    return max(0.0, eer - half), min(1.0, eer + half)
