"""Attribute inference: what speaker vectors give away about gender, accent or another attribute.

A classifier learns an attribute from the vectors of some speakers and predicts that of others.
Inference is the third criterion of the Article 29 Working Party's opinion WP 216, beside singling
out and linkability. Speakers are never in both parts of a fold. No file is opened here.

References: Ledoit and Wolf (2004), "A well-conditioned estimator for large-dimensional covariance
matrices"; Giomi et al. (2023), "A unified framework for quantifying privacy risk in synthetic
data" (anonymeter).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..choices import ATTRIBUTE_FOLDS, LEVEL, SITUATIONS
from ..errors import PrivacyEvalError, abbreviate
from ..metrics.arguments import as_names, as_numbers
from ..metrics.caveats import few_speakers
from ..metrics.pav import FloatArray, IntArray
from ..metrics.printed import Printed
from ..metrics.utility import ratio_bootstrap
from .linkage import rate_interval

Situations = dict[str, tuple[FloatArray, FloatArray]]


#: Standard deviations of at most this are those of constants.
_CONSTANT = 10 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class AttributeInference:
    """Result of one classifier on the utterances of speakers it was not trained on.

    Attributes
    ----------
    uar : float
        Unweighted average recall of the utterances; chance is 1 / classes.
    interval : (float, float)
        95 % bounds of `uar` from a bootstrap over speakers.
    bits : float
        Mutual information of label and prediction, over utterances; plug-in estimate, which is
        too high for few speakers.
    risk : mapping of str to float
        As of `inference_risk`: against the majority class, one vote per speaker.
    predictions : array of str, shape (U,)
    """

    uar: float
    interval: tuple[float, float]
    bits: float
    risk: Mapping[str, float]
    predictions: NDArray[np.str_]


class Inferences(Printed, dict[str, AttributeInference]):
    """Results by situation, printed as one table.

    Attributes
    ----------
    label_of_speaker : dict of str to str
    """

    __getitem__ = dict.__getitem__
    __missing__ = Printed.__getitem__

    def __init__(
        self, results: Mapping[str, AttributeInference], label_of_speaker: dict[str, str]
    ) -> None:
        super().__init__(results)
        self.label_of_speaker = label_of_speaker

    @property
    def heading(self) -> str:
        """Numbers of speakers and classes, and the chance level."""
        classes = sorted({*self.label_of_speaker.values()})
        return (
            f"{len(self.label_of_speaker)} speakers, {len(classes)} classes "
            f"({', '.join(classes)}); chance {1 / len(classes):.1%}"
        )

    @property
    def notes(self) -> list[str]:
        """What so few speakers cannot tell."""
        return [*filter(None, [few_speakers(Counter(self.label_of_speaker.values()))])]

    def to_rows(self) -> list[dict[str, Any]]:
        """List UAR, mutual information (bits) and risk with their intervals."""
        rows = []
        for name, of in self.items():
            uar = dict(zip(("value", "low", "high"), (of.uar, *of.interval), strict=True))
            rows += [
                {"situation": name, "metric": "attribute_uar", **uar},
                {"situation": name, "metric": "attribute_bits", "value": of.bits},
                {"situation": name, "metric": "inference_risk", **of.risk},
            ]
        return rows


def infer_attribute(
    original: ArrayLike,
    labels: Sequence[str],
    speakers: Sequence[str],
    *,
    anonymized: ArrayLike | None = None,
    folds: int = ATTRIBUTE_FOLDS,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Inferences:
    """Infer an attribute of speakers from vectors of their utterances, over folds of speakers.

    The classifier is linear discriminant analysis with the mean of the classes' Ledoit-Wolf
    covariances and equal priors: nothing is tuned.

    Parameters
    ----------
    original : array_like, shape (U, D)
        Vectors of original speech.
    labels, speakers : sequence of str, length U
    anonymized : array_like, shape (U, D'), optional
        Vectors of the same utterances, anonymized.
    folds : int
        Of speakers: sorted by label and name, the i-th is in fold i mod `folds`.
    bootstrap, seed : int
        Number of replicates, and their seed.

    Returns
    -------
    Inferences
        By situation: `orig_to_orig` (learned from original, tested on original speech: what there
        is to protect); with `anonymized` also `orig_to_anon` (an ignorant attacker) and
        `anon_to_anon` (an informed one).

    Raises
    ------
    PrivacyEvalError
        A speaker with several labels, fewer than two classes, a class with one speaker; vectors
        of different dimensions.
    ValueError
        Fewer than 2 folds or replicates; arrays of different lengths.

    References
    ----------
    Docs, page "attributes".

    Examples
    --------
    >>> speakers = np.repeat(list("abcdefgh"), 5)
    >>> labels = np.repeat(["f", "m"], 20)
    >>> vectors = np.random.default_rng(0).normal(size=(40, 3)) + 4 * (labels == "f")[:, None]
    >>> infer_attribute(vectors, labels, speakers)["orig_to_orig"].uar
    1.0
    """
    first = as_numbers(original, "vectors")
    people = _people(labels, speakers, folds)
    if first.ndim != 2 or len(first) != people.speaker.size:
        raise ValueError(f"{len(first)} vectors for {people.speaker.size} labels")
    data: Situations = {"orig_to_orig": (first, first)}
    if anonymized is not None:
        second = as_numbers(anonymized, "anonymized vectors")
        if second.shape != first.shape:
            raise PrivacyEvalError(
                "original and anonymized vectors differ in number or dimension: "
                f"{first.shape} and {second.shape}"
            )
        data |= {"orig_to_anon": (first, second), "anon_to_anon": (second, second)}
    predicted = {name: np.empty(people.speaker.size, dtype=np.int64) for name in data}
    of_utterances = people.fold[people.speaker]
    for fold in np.unique(people.fold):
        tested = of_utterances == fold
        y = people.label[people.speaker[~tested]]
        predict = {
            id(learned): fit_lda(learned[~tested], y) for learned, _ in reversed(data.values())
        }
        for name, (learned, test) in data.items():
            predicted[name][tested] = predict[id(learned)](test[tested])
    results = {name: people.result(found, (bootstrap, seed)) for name, found in predicted.items()}
    labelled = dict(zip(people.names.tolist(), people.classes[people.label].tolist(), strict=True))
    return Inferences(results, labelled)


def reported_situation(results: Mapping[str, AttributeInference]) -> str:
    """Name the situation that a report is about: the stronger attack on anonymized speech.

    Parameters
    ----------
    results : mapping of str to AttributeInference
        See `infer_attribute`.

    Returns
    -------
    str
        Of equal ones `anon_to_anon`; `orig_to_orig` if there is no anonymized speech.

    Examples
    --------
    >>> reported_situation({"orig_to_orig": None})
    'orig_to_orig'
    """
    attacks = [name for name in reversed(SITUATIONS[1:]) if name in results]
    return max(attacks, key=lambda name: results[name].uar) if attacks else SITUATIONS[0]


def fit_lda(vectors: FloatArray, labels: IntArray) -> Callable[[FloatArray], IntArray]:
    """Fit linear discriminant analysis with equal priors and a shrunk covariance.

    The covariance is the mean over classes of the Ledoit-Wolf covariance of the standardized
    class, scaled back.

    Parameters
    ----------
    vectors : float array, shape (U, D)
    labels : int array, shape (U,)

    Returns
    -------
    callable
        Predicts the class of each vector; of equal scores the first.

    Examples
    --------
    >>> predict = fit_lda(np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1]))
    >>> predict(np.array([[2.0], [3.0]]))
    array([0, 1])
    """
    classes = np.unique(labels)
    dimension = vectors.shape[1]
    covariance, means = np.zeros((dimension, dimension)), np.empty((classes.size, dimension))
    for row, name in enumerate(classes):
        members = vectors[labels == name]
        means[row] = members.mean(axis=0)
        scale = members.std(axis=0)
        scale[scale <= _CONSTANT] = 1
        shrunk = ledoit_wolf((members - means[row]) / scale)
        covariance += scale[:, None] * shrunk * scale / classes.size
    weights = np.linalg.lstsq(covariance, means.T, rcond=None)[0]
    bias = -0.5 * np.sum(means.T * weights, axis=0)
    return lambda of: np.asarray(classes[np.argmax(of @ weights + bias, axis=1)])


def ledoit_wolf(centered: FloatArray) -> FloatArray:
    """Estimate a covariance, shrunk towards a multiple of the identity.

    Parameters
    ----------
    centered : float array, shape (U, D)
        Of mean 0.

    Returns
    -------
    float array, shape (D, D)

    References
    ----------
    Ledoit and Wolf (2004), equations 14 and 15.

    Examples
    --------
    >>> ledoit_wolf(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    array([[1., 0.],
           [0., 0.]])
    """
    count, dimension = centered.shape
    covariance = centered.T @ centered / count
    mean = float(np.trace(covariance)) / dimension
    squares = float(np.sum(covariance**2))
    distance = squares - dimension * mean**2
    fourth = float(np.sum(np.sum(centered**2, axis=1) ** 2))
    noise = min((fourth / count - squares) / count, distance)
    shrinkage = noise / distance if noise > 0 and dimension > 1 else 0.0
    shrunk: FloatArray = (1 - shrinkage) * covariance
    shrunk[np.diag_indices(dimension)] += shrinkage * mean
    return shrunk


def mutual_information(joint: ArrayLike) -> float:
    """Compute the mutual information of a table of counts.

    Parameters
    ----------
    joint : array_like, shape (R, C)

    Returns
    -------
    float
        Bits.

    Examples
    --------
    >>> mutual_information([[5, 0], [0, 5]]), mutual_information([[5, 5], [5, 5]])
    (1.0, 0.0)
    """
    share = np.asarray(joint, dtype=np.float64) / np.sum(joint)
    expected = share.sum(axis=1, keepdims=True) * share.sum(axis=0)
    used = share > 0
    return max(0.0, float(np.sum(share[used] * np.log2(share[used] / expected[used]))))


def inference_risk(n: int, attack: int, control: int, level: float = LEVEL) -> dict[str, float]:
    """Compute the risk of anonymeter from numbers of right guesses: how much better an attack
    guesses than a control that sees no data.

    Both rates are the centres of Wilson's intervals, so that they are shrunk towards 1/2.

    Parameters
    ----------
    n : int
        Guesses, which must be independent: one per speaker.
    attack, control : int
        Right guesses of the attack and of a control that sees no data.
    level : float
        Nominal coverage.

    Returns
    -------
    dict of str to float
        `value`, the share of what the control misses that the attack guesses, and the ends `low`
        and `high` of its interval, clipped to 0 to 1; higher is less private.

    References
    ----------
    Giomi et al. (2023), equation 1; anonymeter 1.1.0, `stats/confidence.py`.

    Examples
    --------
    >>> inference_risk(100, 50, 50)["value"]
    0.0
    """
    square = float(scipy.special.ndtri((1 + level) / 2)) ** 2

    def rate(right: int) -> tuple[float, float]:
        spread = math.sqrt(square * (right * (n - right) / n + square / 4))
        return (right + square / 2) / (n + square), spread / (n + square)

    (a, a_error), (c, c_error) = rate(attack), rate(control)
    value = (a - c) / (1 - c)
    error = math.hypot(a_error / (1 - c), (a - 1) * c_error / (1 - c) ** 2)
    ends = {"value": value, "low": value - error, "high": value + error}
    return {name: min(max(x, 0.0), 1.0) for name, x in ends.items()}


@dataclass(frozen=True, eq=False)
class _People:
    """Labels and folds of speakers, and the speakers of utterances, as numbers.

    Attributes
    ----------
    names, classes : array of str
        Of speakers and classes, sorted.
    label, fold : int array, shape (S,)
    speaker : int array, shape (U,)
    """

    names: NDArray[np.str_]
    classes: NDArray[np.str_]
    label: IntArray
    fold: IntArray
    speaker: IntArray

    def result(self, predicted: IntArray, bootstrap: tuple[int, int]) -> AttributeInference:
        n_classes = self.classes.size
        # Votes of each speaker for each class.
        votes = np.bincount(
            self.speaker * n_classes + predicted, minlength=self.names.size * n_classes
        ).reshape(-1, n_classes)
        joint = np.zeros((n_classes, n_classes), dtype=np.int64)
        np.add.at(joint, self.label, votes)
        uar = float(np.mean(np.diag(joint) / joint.sum(axis=1)))
        attack = int(np.sum(votes.argmax(axis=1) == self.label))
        interval, bits = self._interval(uar, votes, bootstrap), mutual_information(joint)
        risk = inference_risk(self.names.size, attack, self._control())
        return AttributeInference(uar, interval, bits, risk, self.classes[predicted])

    def _interval(
        self, uar: float, votes: IntArray, bootstrap: tuple[int, int]
    ) -> tuple[float, float]:
        """Draw the speakers of each class with replacement."""
        replicates, seed = bootstrap
        recalls = []
        for c in range(self.classes.size):
            own = np.flatnonzero(self.label == c)
            drawn = ratio_bootstrap(
                votes[own].sum(axis=1),
                votes[own, c],
                name="recall",
                speakers=self.names[own].tolist(),
                replicates=replicates,
                seed=seed,
            )
            recalls.append(drawn.values["recall"])
        values = np.mean(recalls, axis=0)
        return rate_interval(values, uar, int(np.bincount(self.label).min()), self.names.size)

    def _control(self) -> int:
        """Count the speakers of the most frequent label among the utterances of other folds."""
        right = 0
        for fold in np.unique(self.fold):
            others = self.label[self.speaker[self.fold[self.speaker] != fold]]
            right += int(np.sum(self.label[self.fold == fold] == np.bincount(others).argmax()))
        return right


def _people(labels: Sequence[str], speakers: Sequence[str], folds: int) -> _People:
    if folds < 2:
        raise ValueError(f"at least 2 folds are needed, not {folds}")
    if len(labels) != len(speakers):
        raise ValueError(f"{len(labels)} labels for {len(speakers)} speakers")
    given, people = as_names(labels, "labels"), as_names(speakers, "speakers")
    pairs = sorted(set(zip(given.tolist(), people.tolist(), strict=True)))
    names, speaker = np.unique(people, return_inverse=True)
    if len(pairs) > names.size:
        seen = [name for _, name in pairs]
        several = sorted({name for name in seen if seen.count(name) > 1})
        raise PrivacyEvalError(
            f"{len(several)} speakers have several labels: {abbreviate(several)}"
        )
    of_class = [label for label, _ in pairs]
    if len(set(of_class)) < 2:
        raise PrivacyEvalError(
            f"all {names.size} speakers have the label {of_class[0]!r}: nothing to infer"
            if of_class
            else "no speakers"
        )
    if alone := sorted(label for label in set(of_class) if of_class.count(label) < 2):
        raise PrivacyEvalError(
            f"only one speaker of {abbreviate(alone)}: a classifier that was not trained on the "
            "speaker never saw the class; leave the class out or merge it with another"
        )
    classes = np.unique(of_class)
    place = np.searchsorted(names, [name for _, name in pairs])
    label, fold = np.empty((2, names.size), dtype=np.int64)
    label[place] = np.searchsorted(classes, of_class)
    fold[place] = np.arange(names.size) % folds
    return _People(names, classes, label, fold, speaker.astype(np.int64))
