"""Utility: word errors of transcripts, recalls of emotions.

Rates are fractions. Word errors are pooled, all errors by all reference words; words are aligned
by kaldialign, the extra `wer` of the package. Intervals are over speakers.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..choices import NORMALIZATIONS as NORMALIZATIONS
from ..choices import VARIANTS, Variant, grouped
from ..choices import Normalization as Normalization
from ..errors import PrivacyEvalError, library
from .arguments import as_array, as_names
from .confidence import (
    BootstrapReplicates,
    Interval,
    difference_p_value,
    expanded_interval,
    seeded_by,
    text_digest,
)
from .groups import MIN_TESTED

#: Characters that VoicePrivacy 2026 (track 2) deletes without a blank. Inverted marks of Spanish
#: and curly quotes stay, and `est-elle` becomes one word: the references hardly have such marks,
#: so that the rates of Spanish and French are too high.
_DELETED = str.maketrans("", "", '.,!?;:»«"()[]…—–-')
#: Fraction of words by which a reported rate may differ from its transcripts.
MAX_DIFFERENCE = 0.01

_HAN = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True)
class WordErrors:
    """Counts of an alignment of reference and hypothesis.

    Attributes
    ----------
    words : int
        Words of the reference.
    insertions, deletions, substitutions : int
    """

    words: int
    insertions: int
    deletions: int
    substitutions: int

    @property
    def errors(self) -> int:
        """Insertions, deletions and substitutions."""
        return self.insertions + self.deletions + self.substitutions

    @property
    def wer(self) -> float | None:
        """Errors by words, a fraction; None without words."""
        return self.errors / self.words if self.words else None


def total(counts: Iterable[WordErrors]) -> WordErrors:
    """Pool counts.

    Parameters
    ----------
    counts : iterable of WordErrors

    Returns
    -------
    WordErrors

    Examples
    --------
    >>> total([WordErrors(3, 0, 0, 1), WordErrors(1, 1, 0, 0)]).wer
    0.5
    """
    return WordErrors(*map(sum, zip((0, 0, 0, 0), *map(astuple, counts), strict=True)))


@dataclass(frozen=True)
class SpeakerErrors:
    """Word errors by speaker, and how the bootstrap draws speakers, as results store them.

    Attributes
    ----------
    speakers : tuple of str
    words, errors : tuple of int
        Of each speaker.
    replicates, seed : int

    Examples
    --------
    >>> SpeakerErrors(("a", "b"), (10, 30), (1, 3), replicates=10, seed=0).sums.rate
    0.1
    """

    speakers: tuple[str, ...]
    words: tuple[int, ...]
    errors: tuple[int, ...]
    replicates: int
    seed: int

    @property
    def sums(self) -> SpeakerSums:
        """The errors as sums by speaker, whose rate is the word error rate."""
        return SpeakerSums(self.speakers, self.words, self.errors, self.replicates, self.seed)


def split_words(text: str, normalization: Normalization = "none") -> list[str]:
    """Split a transcript into words as an edition of the challenge does.

    Parameters
    ----------
    text : str
    normalization : {"none", "vpc2026"}
        `none` (2024, and track 1 of 2026): case and punctuation count. `vpc2026` (track 2, behind
        Whisper): lower case, some punctuation deleted; of a text with Han characters (U+4E00 to
        U+9FFF) only these, each a word, so that Japanese loses its kana and Chinese its digits.

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        Another normalization.

    Examples
    --------
    >>> split_words("Où est-elle ?", "vpc2026")
    ['où', 'estelle']
    >>> split_words("3月と4日", "vpc2026")
    ['月', '日']
    """
    if normalization == "none":
        return text.split()
    if normalization != "vpc2026":
        raise ValueError(f"normalization must be one of {NORMALIZATIONS}, not {normalization!r}")
    return _HAN.findall(text) or text.lower().translate(_DELETED).split()


def fold_writing(text: str, *, every: bool = False) -> str:
    """Return a text in lower case without the punctuation that `vpc2026` deletes.

    Parameters
    ----------
    text : str
    every : bool
        Also without apostrophes, curly quotes and whatever else Unicode counts as punctuation.

    Returns
    -------
    str

    Examples
    --------
    >>> fold_writing("Don't stop."), fold_writing("¡Don’t stop!", every=True)
    ("don't stop", 'dont stop')
    """
    folded = text.lower().translate(_DELETED)
    if not every:
        return folded
    return "".join(c for c in folded if c != "\u02bc" and unicodedata.category(c)[0] not in "PS")


def word_errors(
    reference: str,
    hypothesis: str,
    *,
    normalization: Normalization = "none",
    variant: Variant = "exact",
) -> WordErrors:
    """Count the errors of one utterance.

    Parameters
    ----------
    reference, hypothesis : str
    normalization : {"none", "vpc2026"}
        See `split_words`.
    variant : {"exact", "challenge"}
        `exact`: an empty side has no words, and text that is canonically equivalent in Unicode is
        equal, as for compute-wer and sclite. `challenge`, as its scripts: characters are compared
        as they are, and with `none` an empty side counts as one empty word (SpeechBrain 0.5).

    Returns
    -------
    WordErrors

    Raises
    ------
    PrivacyEvalError
        kaldialign is not installed.
    ValueError
        Another normalization or variant.

    Examples
    --------
    >>> word_errors("A B C", "A X C D")
    WordErrors(words=3, insertions=1, deletions=0, substitutions=1)
    >>> word_errors("", "A B").words, word_errors("", "A B", variant="challenge")
    (0, WordErrors(words=1, insertions=1, deletions=0, substitutions=1))
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {VARIANTS}, not {variant!r}")
    texts = (reference, hypothesis)
    if variant == "exact":
        texts = (unicodedata.normalize("NFC", reference), unicodedata.normalize("NFC", hypothesis))
    sides = [split_words(text, normalization) for text in texts]
    if variant == "challenge" and normalization == "none" and any(sides):
        sides = [words or [""] for words in sides]
    return align_symbols(*sides, purpose="word error rates of transcripts")


def align_symbols(reference: list[str], hypothesis: list[str], *, purpose: str) -> WordErrors:
    """Count the words or phones of a reference, and the fewest errors that make the hypothesis.

    Parameters
    ----------
    reference, hypothesis : list of str
    purpose : str
        What needs kaldialign, for the error.

    Returns
    -------
    WordErrors

    Raises
    ------
    PrivacyEvalError
        kaldialign is not installed.

    Examples
    --------
    >>> align_symbols(["k", "a", "t"], ["k", "t", "s"], purpose="phone error rates").errors
    2
    """
    counts = library("kaldialign", purpose).edit_distance(reference, hypothesis)
    return WordErrors(len(reference), counts["ins"], counts["del"], counts["sub"])


def ratio_bootstrap(
    counts: NDArray[np.int64],
    sums: NDArray[np.int64] | NDArray[np.float64],
    *,
    name: str,
    speakers: Sequence[str],
    replicates: int,
    seed: int,
) -> BootstrapReplicates:
    """Compute a pooled rate, or a mean over utterances, under resampling of speakers.

    Parameters
    ----------
    counts : int array, shape (S,) or (M, S)
        Words, phones or utterances of each speaker, also of each system if they differ.
    sums : int or float array, shape (S,) or (M, S)
        Errors of each speaker, or the sum of values over their utterances, also of each of M
        systems or kinds of values.
    name : str
        Of the rate.
    speakers : sequence of str
        Distinct names; the same names and seed draw the same speakers.
    replicates : int
        At least 2; 1000 is usual.
    seed : int

    Returns
    -------
    BootstrapReplicates
        `values` holds `name`, or `name 0` to `name M-1`, which are paired.

    Raises
    ------
    PrivacyEvalError
        Fewer than two speakers with counts.
    ValueError
        Fewer than 2 replicates.

    Examples
    --------
    >>> counts, sums = np.array([2, 2]), np.array([2.5, 7.5])
    >>> options = {"name": "mos", "speakers": ["a", "b"], "replicates": 1000, "seed": 1}
    >>> drawn = ratio_bootstrap(counts, sums, **options)
    >>> drawn.interval("mos").low, drawn.interval("mos").high
    (1.25, 3.75)
    """
    if replicates < 2:
        raise ValueError(f"replicates must be at least 2, not {replicates}")
    least = np.atleast_2d(counts).min(axis=0)
    if np.count_nonzero(least) < 2:
        raise PrivacyEvalError("a bootstrap over speakers needs at least two speakers")
    speakers = as_names(speakers, "speakers").tolist()
    generator = seeded_by(seed, [list(speakers)])
    drawn: list[NDArray[Any]] = []
    while len(drawn) < replicates:
        chosen = generator.integers(0, least.size, least.size)
        times = np.bincount(chosen, minlength=least.size)
        if times @ least:  # a rate needs words: draw again
            drawn.append((np.atleast_2d(sums) @ times) / (np.atleast_2d(counts) @ times))
    rates = np.array(drawn).T
    names = [name] if sums.ndim == 1 else [f"{name} {n}" for n in range(sums.shape[0])]
    return BootstrapReplicates(
        values=dict(zip(names, np.ascontiguousarray(rates), strict=True)),
        n_speakers=int(least.size),
        design=text_digest([list(speakers), counts.tolist()]),
        seed=seed,
    )


@dataclass(frozen=True)
class SpeakerSums:
    """Sums of a measure of utterances by speaker, and how the bootstrap draws speakers.

    Attributes
    ----------
    speakers : tuple of str
    counts : tuple of int
        Utterances, or phones, of each speaker.
    sums : tuple of float
        Of the values, or errors, of each speaker.
    replicates, seed : int

    Examples
    --------
    >>> of_speakers = SpeakerSums(("a", "b"), (2, 1), (6.0, 1.5), replicates=10, seed=0)
    >>> of_speakers.rate, of_speakers.bootstrap().interval("rate").low
    (2.5, 1.5)
    """

    speakers: tuple[str, ...]
    counts: tuple[int, ...]
    sums: tuple[float, ...]
    replicates: int
    seed: int

    @property
    def rate(self) -> float:
        """Sum by count of all speakers: a mean over utterances, or a rate."""
        return math.fsum(self.sums) / sum(self.counts)

    @classmethod
    def of(
        cls,
        values: Mapping[str, float],
        speaker_of: Mapping[str, str],
        *,
        counts: Mapping[str, int] | None = None,
        replicates: int,
        seed: int,
    ) -> SpeakerSums:
        """Sum the values of utterances by speaker.

        Parameters
        ----------
        values : mapping
            Value, or number of errors, by utterance.
        speaker_of : mapping
            Speaker of every utterance.
        counts : mapping, optional
            Phones, or words, by utterance; by default utterances are counted.
        replicates, seed : int

        Returns
        -------
        SpeakerSums
            Speakers sorted by name.
        """
        by_speaker = grouped(values, speaker_of.__getitem__)
        names = sorted(by_speaker)
        return cls(
            tuple(names),
            tuple(sum(1 if counts is None else counts[u] for u in by_speaker[s]) for s in names),
            tuple(math.fsum(values[u] for u in by_speaker[s]) for s in names),
            replicates,
            seed,
        )

    def bootstrap(self) -> BootstrapReplicates:
        """Compute the replicates, see `ratio_bootstrap`.

        Raises
        ------
        PrivacyEvalError
            Fewer than two speakers with counts.
        """
        return ratio_bootstrap(
            np.asarray(self.counts, dtype=np.int64),
            np.asarray(self.sums, dtype=np.float64),
            name="rate",
            speakers=self.speakers,
            replicates=self.replicates,
            seed=self.seed,
        )


@dataclass(frozen=True)
class GroupRate:
    """Pooled rate, or mean, of a group of speakers.

    Attributes
    ----------
    rate : float or None
        None without counts.
    count : int
        Words, or whatever the sums of speakers are divided by.
    n_speakers : int
        Those with counts.
    interval : tuple of float
        95 % bounds over speakers; empty without a bootstrap, and below `MIN_TESTED` speakers.
    """

    rate: float | None
    count: int
    n_speakers: int
    interval: tuple[float, ...] = ()


def group_rates(sums: SpeakerSums, group_of: Mapping[str, str]) -> dict[str, GroupRate]:
    """Compute the rate of each group of speakers.

    Parameters
    ----------
    sums : SpeakerSums
        Of all speakers; without replicates, groups have no intervals.
    group_of : mapping of str to str
        Groups of speakers; others have none.

    Returns
    -------
    dict of str to GroupRate
        Sorted by name.

    Examples
    --------
    >>> sums = SpeakerSums(("a", "b", "c"), (10, 30, 0), (1, 3, 0), replicates=0, seed=0)
    >>> group_rates(sums, {"a": "us", "b": "us", "c": "uk"})["us"]
    GroupRate(rate=0.1, count=40, n_speakers=2, interval=())
    """
    rates = {}
    for group in sorted({group_of[s] for s in sums.speakers if s in group_of}):
        at = [i for i, s in enumerate(sums.speakers) if group_of.get(s) == group]
        own = replace(
            sums,
            speakers=tuple(sums.speakers[i] for i in at),
            counts=tuple(sums.counts[i] for i in at),
            sums=tuple(sums.sums[i] for i in at),
        )
        count, n_speakers = sum(own.counts), sum(n > 0 for n in own.counts)
        bounds: tuple[float, ...] = ()
        if own.replicates and n_speakers >= MIN_TESTED:
            drawn = own.bootstrap().interval("rate")
            bounds = drawn.low, drawn.high
        rates[group] = GroupRate(own.rate if count else None, count, n_speakers, bounds)
    return rates


@dataclass(frozen=True)
class RateDifference:
    """Comparison of the rates or means of two systems for the same utterances.

    Attributes
    ----------
    difference : float
        The second system's minus the first's.
    interval : Interval
        Over speakers.
    p_value : float
        Two-sided, for the null hypothesis of no difference.
    """

    difference: float
    interval: Interval
    p_value: float


def rate_difference(
    counts: ArrayLike, sums: ArrayLike, *, speakers: Sequence[str], replicates: int, seed: int
) -> RateDifference:
    """Compare the rates or means of two systems by a paired bootstrap over speakers.

    Parameters
    ----------
    counts : array_like of int, shape (2, S)
        Words, phones or utterances of each speaker, by system.
    sums : array_like, shape (2, S)
        Errors, or sums of values, of each speaker, by system.
    speakers : sequence of str
        Distinct names.
    replicates : int
        At least 2; 1000 is usual.
    seed : int

    Returns
    -------
    RateDifference

    Raises
    ------
    PrivacyEvalError
        Fewer than two speakers with counts.

    Examples
    --------
    >>> options = {"speakers": ["a", "b"], "replicates": 100, "seed": 0}
    >>> rate_difference([[1, 1], [1, 1]], [[3.0, 4.0], [2.5, 3.5]], **options).difference
    -0.5
    """
    of_systems = as_array(counts, "counts", np.int64), as_array(sums, "sums", np.float64)
    drawn = ratio_bootstrap(
        *of_systems, name="rate", speakers=speakers, replicates=replicates, seed=seed
    )
    first, second = (
        math.fsum(row) / int(count.sum()) for count, row in zip(*of_systems, strict=True)
    )
    differences = drawn.values["rate 1"] - drawn.values["rate 0"]
    return RateDifference(
        second - first,
        expanded_interval(differences, drawn.n_speakers),
        difference_p_value(differences, drawn.n_speakers),
    )


#: Excited speech of IEMOCAP, which the challenges count as happy.
MERGED = {"exc": "hap", "excited": "happy", "excitement": "happiness"}


def recalls(reference: ArrayLike, prediction: ArrayLike) -> dict[str, float]:
    """Compute the unweighted average recall and the recall of each class.

    Parameters
    ----------
    reference, prediction : array_like of str, shape (U,)
        Class of each utterance.

    Returns
    -------
    dict of str to float
        `uar`, the mean over all classes that occur in either: one that is only predicted counts
        0. `acc_<class>` of each class in `reference`. Fractions; higher is better utility.

    Raises
    ------
    PrivacyEvalError
        No utterance.

    Examples
    --------
    >>> recalls(["sad", "sad", "hap"], ["sad", "hap", "hap"])
    {'uar': 0.75, 'acc_hap': 1.0, 'acc_sad': 0.5}
    """
    actual, predicted = as_names(reference, "references"), as_names(prediction, "predictions")
    if not actual.size:
        raise PrivacyEvalError("no utterances: recall is undefined")
    by_class = {
        str(name): float(np.mean(predicted[actual == name] == name)) for name in np.unique(actual)
    }
    classes = np.union1d(actual, predicted).size
    uar = sum(by_class.values()) / classes
    return {"uar": uar, **{f"acc_{name}": value for name, value in by_class.items()}}


def mean_of_folds(folds: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Compute the plain mean of each value over the folds (speakers) that have it.

    Parameters
    ----------
    folds : mapping
        Values of `recalls` by fold.

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> mean_of_folds({"1": {"uar": 0.5, "acc_sad": 1.0}, "2": {"uar": 1.0}})
    {'uar': 0.75, 'acc_sad': 1.0}
    """
    keys = dict.fromkeys(key for values in folds.values() for key in values)
    by_key = {key: [values[key] for values in folds.values() if key in values] for key in keys}
    return {key: sum(values) / len(values) for key, values in by_key.items()}
