"""Caveats: reasons why values of a condition are uninformative about privacy.

An EER far above 50 % does not protect better than one of 50 %: the scores are inverted, and an
attacker can invert them back. The rules use values and numbers of trials only, so that records,
single score files and imported results are judged alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..choices import LEAST_SPEAKERS
from .eer import IMPLAUSIBLE_EER, bengio_mariethoz_interval, kaldi_eer, lowest_eer
from .linkability import LINKABILITY_MIN_TARGETS
from .llr import cllr, min_cllr
from .pav import FloatArray, IntArray
from .trial_scores import VARIANTS, BoolArray, TrialScores, Variant, check_scores
from .trials import IDS, Trials

#: EER of original speech with a model of original speech. The challenge's are between 1.1 and
#: 8.7 % (2020 supplement, tables 2 and 3); an attacker at twice that is not useful.
MAX_ORIGINAL_EER = 0.20

#: Expected false alarms below which a miss rate at a false-alarm rate is not estimable
#: (Doddington's rule of 30).
MIN_FALSE_ALARMS = 30

#: Fewest speakers of a class whose results carry a claim about others.
LEAST_OF_A_CLASS = 10

#: Minimum number of nontarget scores by the false-alarm rate of the miss rate.
_MIN_NONTARGETS = {"0.01": 100 * MIN_FALSE_ALARMS, "0.001": 1000 * MIN_FALSE_ALARMS}

#: Fewest target scores of a linkability that is ranked: one of fewer is too low by up to 0.6
#: and reads as privacy (`scripts/coverage_few_targets.py`).
MIN_RANKED_TARGETS: Mapping[Variant, int] = {"challenge": 100, "exact": 50}

#: Fewest trials of each class of values that are ranked: an EER by chance of fewer is often more
#: than 15 points from 50 % (same program); below the second, one trial moves it by 3 points.
MIN_TRIALS, MIN_EER_TRIALS = 10, 30

#: Two scores are equal if they differ by less, relative to the larger of their own size and the
#: usual one: cosines near 0 have the rounding of those near 1.
_SAME_SCORE = 1e-6

#: Share of the target trials and of the nontarget trials that have the score of their group for
#: it to be constant: nearly all. Scores of two decimals share one with a few of a hundred trials.
NEARLY_ALL = 0.9

#: Least number of trials beside the first of each group, as in few trials coarse scores may tie.
_MIN_REPEATED = 5

#: Difference between the EERs of two orders of tied trials that matters.
_MAX_TIE_RANGE = 0.01

#: Scores of each class that tell decimal LLRs, the largest LLR, the least fall of Cllr if they are
#: multiplied by ln 10, and the share of the loss by calibration that may be left then:
#: `scripts/decimal_llrs.py` has the rates of alarms.
_FEW, _MAX_LLR, _LEAST_FALL, _MOST_LOSS = 10_000, 1e4, 0.01, 0.4

#: Printed instead of a value or category that does not exist.
NOT_AVAILABLE = "n/a"

#: Flags of implausible values, and of values computed without some trials.
IMPLAUSIBLE_MARK, LEFT_OUT_MARK = "?", "\u2021"


@dataclass(frozen=True)
class Caveat:
    """A reason why values are uninformative, and its effect on them.

    Attributes
    ----------
    reason : str
        A sentence without its period.
    metric : str
        Key of the only metric concerned; "" for all metrics on scores.
    variant : str
        The only variant concerned; "" for both.
    ranked : bool
        Values are ranked, may be the best and have a ZEBRA category.
    printed : bool
        Values are printed; else `NOT_AVAILABLE`, except in results.json and results.csv.
    announced : bool
        Logged even if the metric is in no table.
    mark : str
        Flag of values that are printed but not ranked.
    word : str
        Legend of the flag in figures.
    confirmable : bool
        `--confirm` ends it.
    """

    reason: str
    metric: str = ""
    variant: str = ""
    ranked: bool = False
    printed: bool = True
    announced: bool = True
    mark: str = IMPLAUSIBLE_MARK
    word: str = "implausible"
    confirmable: bool = False

    def concerns(self, metric: str) -> bool:
        """Tell whether the caveat applies to a metric on scores.

        Parameters
        ----------
        metric : str

        Returns
        -------
        bool

        Examples
        --------
        >>> CAVEATS["few_targets"].concerns("eer"), CAVEATS["inverted"].concerns("eer")
        (False, True)
        """
        return self.metric in ("", metric)


INVERTED, INVERTED_ORIGINAL, WEAK_ATTACKER = "inverted", "inverted_original", "weak_attacker"
RAW_SPEECH = "raw_speech"
OTHER_WORDS, PARTIAL = "other_words", "partial"
#: A caveat, the metric that it rests on, and the difference in dB from which it applies.
OTHER_LEVEL, LEVEL, MOST_LEVEL_DIFFERENCE = "other_level", "level_db", 6.0
SAME_SCORES, IMPLAUSIBLE_SET, FAR_SET = "same_scores", "implausible_set", "far_set"
WORSE_ORIGINAL, IMPLAUSIBLE_ORIGINAL = "worse_original", "implausible_original"
MANY_INSERTIONS, RATED_ABOVE = "many_insertions", "rated_above_original"
WEAKER_THAN_WORDS, WEAKER_THAN_VARIANT = "weaker_than_words", "weaker_than_variant"
WEAKER_THAN_SPECTRUM = "weaker_than_spectrum"
CONSTANT, LOWEST_EER, INCOMPLETE = "constant", "lowest_eer", "incomplete"
DECIMAL, STATED, FEW_SPEAKERS = "decimal_llrs", "stated_interval", "few_speakers"
SAME_SESSION = "same_session"
#: What does not differ, by the key of the caveat.
_CONSTANT_SIDES = {"constant_trials": "trial utterances", "constant_enrolled": "enrolled speakers"}


#: Caveats by their key in records.
CAVEATS: Mapping[str, Caveat] = {
    INVERTED: Caveat(
        f"An EER above {100 * IMPLAUSIBLE_EER:.0f} % is implausible: inverted scores (distances, "
        "or swapped labels?), or many equal scores; no metric of such scores measures privacy"
    ),
    CONSTANT: Caveat(
        "(Nearly) all scores are equal: they are uninformative about privacy", word="equal scores"
    ),
    **{
        key: Caveat(
            f"The scores of (nearly) all {side} are equal (same vector for all?): they are "
            "uninformative about privacy",
            word="equal scores",
        )
        for key, side in _CONSTANT_SIDES.items()
    },
    "tied": Caveat(
        "Coarse scores: the EER depends on the order of tied trials (give more digits)",
        ranked=True,
    ),
    # Who leaves out hard trials would gain by it.
    INCOMPLETE: Caveat(
        "Incomplete: some trials have no score and were left out (--allow-missing)",
        mark=LEFT_OUT_MARK,
        word="incomplete",
    ),
    INVERTED_ORIGINAL: Caveat(
        "Implausible scores of original speech: metrics of anonymized speech are uninformative too"
    ),
    RAW_SPEECH: Caveat(
        "Original speech is still in the anonymized audio (check --audio): no value of the system "
        "is ranked",
        word="original speech left in",
    ),
    WEAK_ATTACKER: Caveat(
        f"EER of original speech above {100 * MAX_ORIGINAL_EER:.0f} % (wrong model, trials or "
        "key?): a weak attacker, whose errors look like privacy",
        ranked=True,
    ),
    WEAKER_THAN_WORDS: Caveat(
        "Privacy may be overestimated: an attacker who reads the words alone has a lower EER",
        ranked=True,
        announced=False,
    ),
    WEAKER_THAN_SPECTRUM: Caveat(
        "Privacy may be overestimated: an attacker who compares spectra, without a model, has a "
        "lower EER",
        ranked=True,
        announced=False,
    ),
    WEAKER_THAN_VARIANT: Caveat(
        "Privacy may be overestimated: the same attacker with alignment, a discriminant or score "
        "normalization has a lower EER",
        ranked=True,
        announced=False,
    ),
    OTHER_WORDS: Caveat(
        "Word error rates of another number of words than most systems have on the same set, so "
        "neither comparable nor ranked",
        "wer",
        word="other words",
    ),
    PARTIAL: Caveat(
        "partial: recognition of some utterances is missing",
        "wer",
        word="partial recognition",
        confirmable=True,
    ),
    SAME_SCORES: Caveat(
        "Another system has the same scores: not ranked until confirmed (--confirm SYSTEM)",
        word="same scores",
        confirmable=True,
    ),
    **{
        key: Caveat(
            f"{reason}: check the recognition, or confirm it (--confirm NAME:DATA_SET)",
            confirmable=True,
        )
        for key, reason in {
            IMPLAUSIBLE_SET: "Original speech is hardly recognized",
            WORSE_ORIGINAL: "Original speech has more errors than anonymized speech",
            FAR_SET: "A data set has far more errors than the others",
            IMPLAUSIBLE_ORIGINAL: "Original speech is recognized implausibly, so anonymized speech "
            "is not trusted",
        }.items()
    },
    MANY_INSERTIONS: Caveat(
        "Error rates above 100 %: more errors than words; look for insertions in the transcripts",
        ranked=True,
    ),
    RATED_ABOVE: Caveat(
        "Anonymized speech is rated above original speech, as synthetic voices often are: ask "
        "listeners before calling it better",
        ranked=True,
    ),
    DECIMAL: Caveat(
        "Scores look like log10 LRs, and Cllr takes natural LLRs (--log10, or calibrate them)",
        "cllr",
        ranked=True,
    ),
    STATED: Caveat(
        "Stated by an imported file, in results.csv only: intervals are over trials (feerci), not "
        "over speakers",
        ranked=True,
    ),
    OTHER_LEVEL: Caveat(
        "Speech levels differ by over 6 dB, and DNSMOS depends on them: compare at one level",
        "dnsmos_ovrl",
        ranked=True,
    ),
    "few_trials": Caveat(
        f"Values of fewer than {MIN_TRIALS} target or nontarget scores vary by chance (add trials)",
        word="too few trials",
    ),
    SAME_SESSION: Caveat(
        "All target trials are of a session that their speaker enrolled: what voices share by the "
        "session, such as the room, the channel or the subject, looks like the speaker",
        ranked=True,
    ),
    FEW_SPEAKERS: Caveat(
        "Values of few speakers carry no claim about others", ranked=True, announced=False
    ),
    "coarse_eer": Caveat(
        f"EERs of fewer than {MIN_EER_TRIALS} target or nontarget scores are coarse (add trials)",
        "eer",
        ranked=True,
        announced=False,
    ),
    "few_targets": Caveat(
        f"Linkability is uninformative with fewer than {LINKABILITY_MIN_TARGETS} target scores",
        "linkability",
        printed=False,
        word="too few targets",
    ),
    **{
        f"few_targets_{variant}": Caveat(
            f"Linkability ({variant}) of fewer than {least} target scores is too low: it reads as "
            "privacy (add target trials)",
            "linkability",
            variant,
            announced=False,
            word="too few targets",
        )
        for variant, least in MIN_RANKED_TARGETS.items()
    },
    **{
        f"few_nontargets_{rate}": Caveat(
            f"The miss rate at {100 * float(rate):g} % false alarms is not estimable with fewer "
            f"than {least} nontarget scores ({MIN_FALSE_ALARMS} expected false alarms)",
            f"miss_at_fa_{rate}",
            printed=False,
            announced=False,
            word="too few nontargets",
        )
        for rate, least in _MIN_NONTARGETS.items()
    },
}


def find_caveats(
    eer: float | None,
    n_target: int | None = None,
    n_nontarget: int | None = None,
    *,
    is_original: bool = False,
    ties: Mapping[str, float] = MappingProxyType({}),
    variant: str = "",
) -> dict[str, str]:
    """Find the caveats of a condition.

    An EER is implausible if it is above 65 % and its interval under independent trials above
    50 %. The interval alone is too narrow a criterion, since trials share speakers: EERs of up
    to 60 % on thousands of trials were published for attackers unaware of the anonymization.

    Parameters
    ----------
    eer : float or None
        Kaldi's, as a fraction; None if unknown.
    n_target, n_nontarget : int or None
        Numbers of trials; None if unknown.
    is_original : bool
        Original speech, scored with a model trained on original speech.
    ties : mapping
        As from `find_ties`.
    variant : str
        As of `caveats_of`.

    Returns
    -------
    dict of str to str
        Reasons by their key in `CAVEATS`, in its order.

    Examples
    --------
    >>> list(find_caveats(0.96, 500, 30000)), list(find_caveats(0.6, 10, 10000))
    (['inverted'], ['coarse_eer', 'few_targets', 'few_nontargets_0.001'])
    >>> list(find_caveats(0.25, 500, 30000, is_original=True))
    ['weak_attacker']
    """
    constant = (CONSTANT, *_CONSTANT_SIDES)
    keys = set([key for key in constant if ties.get(key, 0) >= NEARLY_ALL][:1])
    low = ties.get(LOWEST_EER)
    if eer is not None and low is not None and _matters(eer - low, n_target) and not keys:
        keys.add("tied")
    if eer is not None and IMPLAUSIBLE_EER < eer < math.inf and not keys & {*constant}:
        if not (n_target and n_nontarget):
            keys.add(INVERTED)
        elif bengio_mariethoz_interval(min(eer, 1.0), n_target, n_nontarget)[0] > 0.5:
            keys.add(INVERTED)
    if is_original and eer is not None and eer > MAX_ORIGINAL_EER and not keys - {"tied"}:
        keys.add(WEAK_ATTACKER)
    fewest = min((n for n in (n_target, n_nontarget) if n is not None), default=math.inf)
    if fewest < MIN_EER_TRIALS:
        keys.add("few_trials" if fewest < MIN_TRIALS else "coarse_eer")
    if n_target is not None and n_target < LINKABILITY_MIN_TARGETS:
        keys.add("few_targets")
    elif n_target is not None:
        keys |= {f"few_targets_{v}" for v, least in MIN_RANKED_TARGETS.items() if n_target < least}
    if DECIMAL in ties and not keys & {INVERTED, *constant}:
        keys.add(DECIMAL)
    for rate, least in _MIN_NONTARGETS.items():
        if n_nontarget is not None and n_nontarget < least:
            keys.add(f"few_nontargets_{rate}")
    reasons = {key: caveat.reason for key, caveat in CAVEATS.items() if key in keys}
    if "tied" in keys:
        reasons["tied"] += f": {100 * (low or 0):.2f} to {100 * (eer or 0):.2f} %"
    if DECIMAL in keys:
        reasons[DECIMAL] += f"; Cllr is {ties[DECIMAL]:.3f} then"
    return caveats_of(reasons, variant)


def find_ties(trials: Trials | TrialScores) -> dict[str, float]:
    """Find what equal scores say about a set of trials, and whether they look like decimal LLRs.

    Parameters
    ----------
    trials : Trials or TrialScores

    Returns
    -------
    dict of str to float
        By key in `CAVEATS`, the share of trials with the score of all the others, of all the others
        of their enrolled speaker, or of their utterance, if it is `NEARLY_ALL`; `lowest_eer`
        over the orders of tied trials, if it is well below Kaldi's, which is the highest; and
        `decimal_llrs`, Cllr of the scores as decimal LLRs, if they look like calibrated ones.

    Examples
    --------
    >>> find_ties(TrialScores([0.5, 0.5], [0.5, 0.5]))
    {'constant': 1.0}
    >>> trials = {"score": [3.0] * 4 + [7.0] * 4, "label": np.arange(8) % 4 == 0}
    >>> find_ties(Trials(trials, enrolled=np.repeat(["a", "b"], 4)))["constant_trials"]
    1.0
    """
    scores = trials.scores if isinstance(trials, Trials) else trials
    check_scores(scores)
    n, eer, low = scores.n_nontarget, kaldi_eer(scores).value, lowest_eer(scores)
    # Differences as small as rounding that tell speakers apart are information, not rounding.
    is_chance = bengio_mariethoz_interval(min(eer, 1.0), scores.n_target, n)[1] >= 0.5
    relative = _SAME_SCORE if is_chance else 0.0
    usual = float(max(abs(scores.nontarget[n // 4]), abs(scores.nontarget[3 * n // 4])))
    middle = float(scores.nontarget[n // 2])
    margin = relative * max(abs(middle), usual)
    found = {
        CONSTANT: min(
            float(np.searchsorted(of, middle + margin, "right")) / of.size
            - float(np.searchsorted(of, middle - margin)) / of.size
            for of in (scores.target, scores.nontarget)
        )
    }
    for key, side in _sides(trials):
        values, is_target = scores.in_file_order
        if may_be_constant(values, side):
            order = np.lexsort((values, side))
            margins = relative * usual, relative
            found[key] = _constant_share(values[order], is_target[order], side[order], margins)
    found = {key: share for key, share in found.items() if share >= NEARLY_ALL}
    if _looks_decimal(scores):
        found[DECIMAL] = _scaled_cllr(scores, math.log(10))
    return found | ({LOWEST_EER: low} if _matters(eer - low, scores.n_target) else {})


def _sides(trials: Trials | TrialScores) -> Iterator[tuple[str, IntArray]]:
    """Yield the codes of the enrolled and of the trial side, by the key of the caveat."""
    if isinstance(trials, Trials):
        trials = trials.counted
        for key, names in zip(_CONSTANT_SIDES, (IDS[::2], IDS[1:2]), strict=True):
            yield from ((key, trials[name].codes) for name in [n for n in names if n in trials][:1])


def _scaled_cllr(scores: TrialScores, factor: float) -> float:
    return cllr(TrialScores.from_sorted(factor * scores.target, factor * scores.nontarget)).value


def _looks_decimal(scores: TrialScores) -> bool:
    """Tell whether scores are far better calibrated as decimal than as natural LLRs, and than if
    multiplied by ln 10 once more: of cosines, Cllr falls with any larger scale."""
    if np.abs(scores.extremes).max() > _MAX_LLR:
        return False
    sides = scores.target, scores.nontarget
    few = TrialScores.from_sorted(*(x[x.size // _FEW // 2 :: x.size // _FEW + 1] for x in sides))
    natural, decimal, more = (_scaled_cllr(few, math.log(10) ** power) for power in range(3))
    error = 1 / scores.n_target  # roughly that of Cllr of few trials
    if decimal >= min(1, more) or natural - decimal < max(_LEAST_FALL, error):
        return False
    ideal = min_cllr(few).value
    return decimal - ideal <= _MOST_LOSS * (natural - ideal) + error


def _matters(tie_range: float, n_target: int | None) -> bool:
    """Tell whether an EER varies by more than one target trial and than little."""
    return tie_range > max(_MAX_TIE_RANGE, 1.5 / (n_target or math.inf))


def may_be_constant(values: FloatArray, side: NDArray[Any]) -> bool:
    """Tell whether so few trials differ from a neighbour of the same side that nearly all may have
    one score each; a trial with another score than its group differs from two at most.

    Parameters
    ----------
    values : array, shape (P,)
        Scores of all trials, or of all those of some speakers or utterances.
    side : array, shape (P,)
        Enrolled speaker or trial utterance of each, or a hash of it.

    Returns
    -------
    bool

    Examples
    --------
    >>> side = np.array([0, 1, 0, 1])
    >>> may_be_constant(np.array([1.0, 2.0, 1.0, 2.0]), side)
    True
    >>> may_be_constant(np.array([1.0, 2.0, 3.0, 4.0]), np.arange(4))
    False
    """
    # By buckets, where the codes of a side have at most two bytes.
    order = np.argsort(side, kind="stable" if side.dtype.itemsize <= 2 else None)
    score, of = values[order], side[order]
    # Far more than rounding: what differs here differs by any usual size of the scores.
    usual = np.median(np.abs(score[:: score.size // 1000 + 1])) if score.size else 0.0
    margin = 100 * _SAME_SCORE * np.maximum(np.abs(score[1:]), usual)
    repeated = of[1:] == of[:-1]
    with np.errstate(over="ignore"):  # the largest floats
        different = np.count_nonzero((np.abs(np.diff(score)) > margin) & repeated)
    is_same = different <= 2 * (1 - NEARLY_ALL) * score.size + _SAME_SCORE
    return bool(is_same and 5 * np.count_nonzero(repeated) >= 2 * score.size)


def _constant_share(
    score: FloatArray, label: BoolArray, of: NDArray[Any], margins: tuple[float, float]
) -> float:
    """Return the share of target or of nontarget trials, the smaller one, that have the median
    score of their side, within a least and a relative margin; 0 if too few sides have several
    trials. Scores ascend within their side."""
    first = np.flatnonzero(np.append(True, of[1:] != of[:-1]))
    if of.size - first.size < _MIN_REPEATED:
        return 0.0
    size = np.diff(np.append(first, of.size))
    middle = np.repeat(score[first + (size - 1) // 2], size)
    margin = np.maximum(margins[1] * np.abs(middle), margins[0])
    with np.errstate(over="ignore"):
        same = (np.abs(score - middle) <= margin) & (np.repeat(size, size) > 1)
    return float(min(same[label].mean(), same[~label].mean()))


def caveats_of(caveats: Mapping[str, str], variant: str) -> dict[str, str]:
    """Select the caveats of the values of a variant.

    Parameters
    ----------
    caveats : mapping of str to str
        Reasons by key, as from `find_caveats`.
    variant : {"challenge", "exact", ""}
        Both for "".

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> found = find_caveats(0.3, 70, 30000)
    >>> list(found), list(caveats_of(found, "exact"))
    (['few_targets_challenge'], [])
    """
    others = {*VARIANTS} - {variant} if variant else ()
    return {key: why for key, why in caveats.items() if CAVEATS[key].variant not in others}


def withholding_caveat(caveats: Mapping[str, str], metric: str) -> Caveat | None:
    """Return the caveat for which a value must be neither ranked nor graded.

    Parameters
    ----------
    caveats : mapping of str to str
        Reasons by key, as from `find_caveats`.
    metric : str
        On scores.

    Returns
    -------
    Caveat or None
        The strictest, if there are several: one that forbids printing goes first.

    Examples
    --------
    >>> withholding_caveat(find_caveats(0.3, 10, 100), "eer") is None
    True
    """
    applicable = (CAVEATS[key] for key in caveats if key in CAVEATS)
    return worst_caveat(c for c in applicable if c.concerns(metric))


def withholding_key(caveats: Mapping[str, str], metric: str) -> str | None:
    """Return the key in `CAVEATS` of `withholding_caveat`.

    Parameters
    ----------
    caveats : mapping of str to str
    metric : str

    Returns
    -------
    str or None

    Examples
    --------
    >>> withholding_key(find_caveats(0.3, 10, 100), "miss_at_fa_0.01")
    'few_nontargets_0.01'
    """
    caveat = withholding_caveat(caveats, metric)
    return next((key for key in caveats if CAVEATS.get(key) is caveat is not None), None)


def worst_caveat(caveats: Iterable[Caveat | None]) -> Caveat | None:
    """Return the strictest withholding caveat among the parts of a mean, or None.

    Parameters
    ----------
    caveats : iterable of Caveat or None

    Returns
    -------
    Caveat or None

    Examples
    --------
    >>> worst_caveat([None, CAVEATS["weak_attacker"]]) is None
    True
    """
    withheld = (c for c in caveats if c is not None and not c.ranked)
    return min(withheld, key=lambda caveat: caveat.printed, default=None)


def marked_text(text: str, caveat: Caveat | None) -> str:
    """Mark a formatted value as its caveat demands, or replace it.

    Parameters
    ----------
    text : str
    caveat : Caveat or None

    Returns
    -------
    str

    Examples
    --------
    >>> marked_text("96.94", CAVEATS["inverted"]), marked_text("0", CAVEATS["few_targets"])
    ('96.94?', 'n/a')
    """
    if caveat is None or caveat.ranked or not text:
        return text
    return f"{text}{caveat.mark}" if caveat.printed else NOT_AVAILABLE


def note_of(caveat: Caveat) -> str:
    """Format a caveat as a table note, preceded by the mark of its values.

    Parameters
    ----------
    caveat : Caveat

    Returns
    -------
    str
    """
    if not caveat.printed:
        return f"{NOT_AVAILABLE}: {caveat.reason}"
    return caveat.reason if caveat.ranked else f"{caveat.mark}: {caveat.reason}"


def few_speakers(classes: Mapping[str, int]) -> str | None:
    """Describe why so few speakers carry little, if they do.

    Parameters
    ----------
    classes : mapping of str to int
        Numbers of speakers by label.

    Returns
    -------
    str or None

    Examples
    --------
    >>> few_speakers({"f": 1, "m": 1})
    '2 speakers (1 of f): too few for a claim about others; ...'
    """
    speakers, least = sum(classes.values()), min(sorted(classes), key=classes.__getitem__)
    if speakers >= LEAST_SPEAKERS and classes[least] >= LEAST_OF_A_CLASS:
        return None
    return (
        f"{speakers} speakers ({classes[least]} of {least}): too few for a claim about "
        f"others; {LEAST_SPEAKERS}, and {LEAST_OF_A_CLASS} of each class, would say more"
    )
