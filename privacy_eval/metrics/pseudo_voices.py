"""Whose voice: whether anonymized speech of a person has one pseudo-voice, and whether enrollment
and trials share it. Linking is far easier where they do."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .pav import FloatArray

#: A value with its 95 % interval over speakers.
Value = tuple[float, ...]

#: What pseudo-voices look like, by its key in records.
VERDICTS = {
    "speaker": "enrollment and trials of a speaker share a pseudo-voice",
    "set": "enrollment and trials of a speaker have pseudo-voices of their own",
    "utterance": "every utterance of a speaker has a pseudo-voice of its own",
    "original": "the voices are (nearly) those of the original speech",
    "": "whether enrollment and trials of a speaker share a pseudo-voice cannot be told",
}
#: Fewer speakers carry no verdict; parts of the consistency of original speech that may be lost
#: between enrollment and trials, between utterances, and towards the original voice; speakers who
#: share a voice; least consistency of original speech.
_LEAST_SPEAKERS, _SIDES, _UTTERANCES, _ORIGINAL, _SHARED, _LEAST = 5, 0.15, 0.25, 0.35, 0.5, 0.2
_DRAWS = 1000


def pseudo_voices(
    original: ArrayLike, anonymized: ArrayLike, speaker: ArrayLike, is_trial: ArrayLike
) -> dict[str, Value]:
    """Measure how consistent the voices of anonymized speech are.

    Similarities are mean cosines, over pairs of different utterances, every speaker weighing the
    same. Consistency is (s - d)/(1 - d), with the similarity s of a speaker's utterances and the
    similarity d of those of different speakers: 0 if speakers cannot be told apart, 1 if all
    utterances of a speaker are equal.

    Parameters
    ----------
    original, anonymized : array_like, shape (U, D)
        Vectors of the same utterances, row by row.
    speaker : array_like, shape (U,)
        Speakers who lack one of both sides, or two utterances of one, are left out.
    is_trial : array_like of bool, shape (U,)
        Whether an utterance is one of the trials, or of the enrollment.

    Returns
    -------
    dict of str to (float, float, float)
        Value, and the ends of its 95 % interval over speakers: consistency `within` a side, and
        `between` enrollment and trials; `collisions`, the part of the pairs of speakers whose
        speech is (to nine tenths) as similar as that of one speaker's original speech; the same of
        original speech (`original_within`, ...); `to_original`, the consistency of anonymized with
        original speech; and parts of `original_within` that are lost: `lost_between` in comparison
        with `within`, beyond that of original speech, `lost_within` and `lost_to_original`. Empty
        of fewer than two speakers.

    References
    ----------
    Docs, page "attackers".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> voice = np.eye(8).repeat(8, axis=0)
    >>> speech = 3 * voice + rng.normal(size=voice.shape)
    >>> other = 3 * np.roll(voice, 1, axis=1) + rng.normal(size=voice.shape)
    >>> speaker, is_trial = np.arange(8).repeat(8), np.tile([0, 0, 0, 0, 1, 1, 1, 1], 8)
    >>> found = pseudo_voices(speech, other, speaker, is_trial)
    >>> looks_like(found, 8)
    'speaker'
    """
    given, trial = np.asarray(speaker), np.asarray(is_trial, dtype=bool)
    names, code = np.unique(given, return_inverse=True)
    counts = np.array([np.bincount(code[trial == t], minlength=len(names)) for t in (False, True)])
    kept = (counts.min(axis=0) > 0) & (counts.max(axis=0) > 1)
    if np.count_nonzero(kept) < 2:
        return {}
    rows = np.flatnonzero(kept[code])
    code, trial, counts = (np.cumsum(kept) - 1)[code[rows]], trial[rows], counts[:, kept]
    speakers = counts.shape[1]
    sums, sides = [], 2 * code + trial
    for vectors in (original, anonymized):
        unit = np.asarray(vectors, dtype=np.float64)[rows]
        unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
        of_side = np.zeros((2 * speakers, unit.shape[1]))
        np.add.at(of_side, sides, unit)
        sums.append((unit, of_side.reshape(speakers, 2, -1)))
    drawn = np.random.default_rng(0).multinomial(speakers, np.full(speakers, 1 / speakers), _DRAWS)
    weights = np.vstack([np.ones(speakers), drawn]) / speakers
    (first, of_first), (second, of_second) = sums
    rates, bar = dict[str, FloatArray](), math.nan
    for prefix, of in (("original_", of_first), ("", of_second)):
        within, between, others = _similarities(of, counts)
        different = _over_pairs(others, weights)
        if math.isnan(bar):  # of original speech
            bar = float(0.9 * within.mean() + 0.1 * different[0])
        rates[f"{prefix}within"] = _consistency(weights @ within, different)
        rates[f"{prefix}between"] = _consistency(weights @ between, different)
        rates[f"{prefix}collisions"] = _over_pairs((others >= bar).astype(np.float64), weights)
    totals, number = of_first.sum(axis=1), counts.sum(axis=0)
    products = totals @ of_second.sum(axis=1).T
    same = np.bincount(code, np.einsum("ij,ij->i", first, second), speakers)
    own = (np.diagonal(products) - same) / (number * (number - 1))
    different = _over_pairs(products / np.outer(number, number), weights)
    rates["to_original"] = _consistency(weights @ own, different)
    whole = rates["original_within"]
    with np.errstate(divide="ignore", invalid="ignore"):
        for end in ("within", "to_original"):
            rates[f"lost_{end}"] = (whole - rates[end]) / whole
        rates["lost_between"] = (rates["within"] - rates["between"]) / whole
        rates["lost_between"] -= (whole - rates["original_between"]) / whole
    found = dict[str, Value]()
    for key, (value, *_) in rates.items():
        draws = rates[key][1:][np.isfinite(rates[key][1:])]
        if np.isfinite(value) and draws.size:
            found[key] = (float(value), *map(float, np.quantile(draws, (0.025, 0.975))))
    return found


def looks_like(values: Mapping[str, Value], speakers: int) -> str:
    """Say what pseudo-voices look like.

    Parameters
    ----------
    values : mapping
        As of `pseudo_voices`.
    speakers : int

    Returns
    -------
    str
        A key of `VERDICTS`; "" where the intervals leave it open, or where most speakers have
        become the same voice.

    Examples
    --------
    >>> looks_like({}, 20)
    ''
    """
    keys = "original_within collisions lost_between lost_within lost_to_original".split()
    if speakers < _LEAST_SPEAKERS or not {*keys} <= values.keys():
        return ""
    clear, shared, sides, utterances, original = (values[key] for key in keys)
    if clear[1] < _LEAST or shared[0] > _SHARED:
        return ""
    if original[2] < _ORIGINAL:
        return "original"
    if sides[1] > _SIDES:
        return "set"
    if utterances[1] > _UTTERANCES:
        return "utterance"
    return "speaker" if sides[2] < _SIDES and utterances[2] < _UTTERANCES else ""


def drawn_by(coefficients: Mapping[str, float], speaker_of: Mapping[str, str]) -> str:
    """Say, from the coefficients that speech was anonymized with, whose they are.

    Parameters
    ----------
    coefficients : mapping of str to float
        Of utterances, of enrollment and trials together, as in `utt2mcadams`.
    speaker_of : mapping of str to str
        Of the utterances, their speaker and, before a blank, their data set.

    Returns
    -------
    str
        A key of `VERDICTS`: `speaker` also where all have the same.

    Examples
    --------
    >>> drawn_by({"a": 0.8, "b": 0.9}, {"a": "enroll s", "b": "trial s"})
    'set'
    """
    of_set: dict[str, set[float]] = {}
    of_speaker: dict[str, set[float]] = {}
    for name, where in speaker_of.items():
        of_set.setdefault(where, set()).add(coefficients[name])
        of_speaker.setdefault(where.partition(" ")[2], set()).add(coefficients[name])
    if all(len(of) == 1 for of in of_speaker.values()):
        return "speaker"
    return "set" if all(len(of) == 1 for of in of_set.values()) else "utterance"


def _similarities(
    sums: FloatArray, counts: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean cosines of each speaker within the sides and between them, and those of
    pairs of speakers, from the sums of unit vectors by speaker and side."""
    squares = np.einsum("shd,shd->hs", sums, sums)
    pairs = counts * (counts - 1)
    within = (squares - counts).sum(axis=0) / pairs.sum(axis=0)
    between = np.einsum("sd,sd->s", sums[:, 0], sums[:, 1]) / counts.prod(axis=0)
    total, number = sums.sum(axis=1), counts.sum(axis=0)
    return within, between, total @ total.T / np.outer(number, number)


def _over_pairs(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Average over pairs of different speakers, in every draw; NaN of one speaker alone."""
    off = values * (1 - np.eye(len(values)))
    pairs = weights.sum(axis=1) ** 2 - (weights**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.einsum("rs,st,rt->r", weights, off, weights, optimize=True) / pairs)


def _consistency(same: FloatArray, different: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((same - different) / (1 - different))
