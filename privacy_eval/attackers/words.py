"""The words attacker: who speaks, from the transcript alone.

Anonymization leaves the words. A speaker's enrollment texts are one document; a trial's text is
compared with all documents by words and by the character n-grams of words, weighted by TF-IDF.
No file is opened here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from ..choices import grouped
from ..errors import PrivacyEvalError, abbreviate
from ..io.names import session
from ..metrics.arguments import as_array
from ..metrics.trials import Trials

FloatArray = NDArray[np.float64]

Terms = Literal["words", "characters"]

#: Lengths of the n-grams of a word with a blank on both sides.
_SHORTEST, _LONGEST = 3, 5

#: Standard deviation up to which the scores of a trial are all the same.
_NO_SPREAD = 1e-12

_SCORES_AT_ONCE = 1 << 22


def words_scores(enrollment: Sequence[str], trial: Sequence[str]) -> FloatArray:
    """Score trial texts against the texts of enrolled speakers.

    The score is the mean of the cosines by words and by characters, normalized over all enrolled
    speakers: enrollment texts that no trial compares with count, too.

    Parameters
    ----------
    enrollment : sequence of str, length E
        All enrollment texts of each speaker, joined by blanks.
    trial : sequence of str, length T

    Returns
    -------
    float64 array, shape (E, T)
        Standard deviations above the mean of the enrolled; higher supports the same speaker.

    Raises
    ------
    PrivacyEvalError
        Fewer than two enrolled speakers; no enrollment or no trial text has words.

    References
    ----------
    Docs, page "attackers". T-norm: Auckenthaler et al. (2000), "Score normalization for
    text-independent speaker verification systems".

    Examples
    --------
    >>> words_scores(["the river castle", "the silver horse"], ["a castle by the river"]).round(6)
    array([[ 1.],
           [-1.]])
    """
    by_term = text_cosines(enrollment, trial, get_args(Terms))
    return t_norm(np.mean(by_term, axis=0))


def words_of_trials(
    enrollment: Mapping[str, str],
    trial: Mapping[str, str],
    speakers: Sequence[str],
    utterances: Sequence[str],
) -> FloatArray:
    """Score trials by their texts, as `words_scores`.

    Parameters
    ----------
    enrollment, trial : mapping of str to str
        Text of each enrolled speaker, and of each trial utterance.
    speakers, utterances : sequence of str, length P
        Enrolled speaker and utterance of each trial.

    Returns
    -------
    float64 array, shape (P,)

    Raises
    ------
    PrivacyEvalError
        As `words_scores`; a trial's speaker is not enrolled; no text tells the speakers apart.

    References
    ----------
    Docs, page "attackers".

    Examples
    --------
    >>> words_of_trials({"a": "river castle", "b": "horse"}, {"u": "castle"}, ["b"], ["u"])
    array([-1.])
    """
    unknown = sorted(set(speakers) - enrollment.keys())
    if unknown:
        raise PrivacyEvalError(f"{len(unknown)} speakers are not enrolled: {abbreviate(unknown)}")
    scores = words_scores(list(enrollment.values()), list(trial.values()))
    if not np.any(scores):
        raise PrivacyEvalError(
            "no trial has a word that tells the speakers apart: are both transcripts of one set?"
        )
    row = {speaker: number for number, speaker in enumerate(enrollment)}
    column = {name: number for number, name in enumerate(trial)}
    of_trials: FloatArray = scores[[row[s] for s in speakers], [column[u] for u in utterances]]
    return of_trials


def text_cosines(
    enrollment: Sequence[str], trial: Sequence[str], terms: Sequence[Terms]
) -> FloatArray:
    """Compute the TF-IDF cosines of trial texts and enrolled speakers.

    A term that occurs n times has the weight (1 + ln n) idf; idf is that of the speakers'
    documents, ln((1 + E) / (1 + documents with the term)) + 1. Terms of the trials alone are
    dropped. Letters are lower case; words are what white space separates.

    Parameters
    ----------
    enrollment : sequence of str, length E
        A document of each speaker.
    trial : sequence of str, length T
    terms : sequence of {"words", "characters"}
        `characters`: sequences of 3, 4 and 5 within each word with a blank on both sides.

    Returns
    -------
    float64 array, shape (len(terms), E, T)
        0 of a text without terms that the enrollment has.

    Raises
    ------
    PrivacyEvalError
        No enrollment or no trial text has words.

    Examples
    --------
    >>> text_cosines(["a b", "c"], ["a b", "A", "d"], ["words"]).round(6)
    array([[[1.      , 0.707107, 0.      ],
            [0.      , 0.      , 0.      ]]])
    """
    vocabulary: dict[str, int] = {}
    counts = _count_words([*enrollment, *trial], vocabulary)
    for name, texts in (
        ("enrollment", counts[: len(enrollment)]),
        ("trial", counts[len(enrollment) :]),
    ):
        if not texts.nnz:
            raise PrivacyEvalError(f"no {name} transcript has words")
    cosines = np.empty((len(terms), len(enrollment), len(trial)))
    step = max(1, _SCORES_AT_ONCE // max(1, len(enrollment)))
    for place, kind in enumerate(terms):
        of_kind = counts if kind == "words" else counts @ _count_ngrams(list(vocabulary))
        sides = of_kind[: len(enrollment)], of_kind[len(enrollment) :]
        documents = np.bincount(sides[0].indices, minlength=of_kind.shape[1])
        idf = np.log((1 + len(enrollment)) / (1 + documents)) + 1
        idf[documents == 0] = 0
        first, second = (_unit_weights(side, idf) for side in sides)
        for start in range(0, len(trial), step):
            some = slice(start, start + step)
            cosines[place, :, some] = (first @ second[some].T).toarray()
    return cosines


def t_norm(scores: ArrayLike) -> FloatArray:
    """Normalize the scores of each trial by their mean and deviation over the enrolled speakers.

    Parameters
    ----------
    scores : array_like, shape (E, T)
        Of every enrolled speaker.

    Returns
    -------
    float64 array, shape (E, T)
        0 where all scores of a trial are the same.

    Raises
    ------
    PrivacyEvalError
        Fewer than two enrolled speakers.

    References
    ----------
    Auckenthaler et al. (2000); population standard deviation.

    Examples
    --------
    >>> t_norm([[1, 2], [3, 2]])
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    given = as_array(scores, "scores", np.float64)
    if len(given) < 2:
        raise PrivacyEvalError(
            f"scores are normalized over the enrolled speakers, of whom there are {len(given)}: "
            "at least 2 are needed"
        )
    deviation = given.std(axis=0)
    spread = deviation > _NO_SPREAD
    return np.where(spread, (given - given.mean(axis=0)) / np.where(spread, deviation, 1), 0.0)


def join_utterances(utterances: Iterable[str], length: int) -> dict[str, tuple[str, ...]]:
    """Group the utterances of each session, in the order of their ids, as one longer utterance.

    Parameters
    ----------
    utterances : iterable of str
    length : int
        Utterances of a group; fewer at the end of a session are dropped.

    Returns
    -------
    dict of str to tuple of str
        Members by the name of the group, `<first utterance>-x<length>`; of length 1 the
        utterance's own.

    Examples
    --------
    >>> join_utterances(["s1-a-2", "s1-a-1", "s1-a-3", "s1-b-1"], 2)
    {'s1-a-1-x2': ('s1-a-1', 's1-a-2')}
    """
    sessions = grouped(sorted(set(utterances)), session)
    groups = [
        tuple(members[start : start + length])
        for _, members in sorted(sessions.items())
        for start in range(0, len(members) - length + 1, length)
    ]
    return {g[0] if length == 1 else f"{g[0]}-x{length}": g for g in groups}


def join_trials(trials: Trials, length: int) -> tuple[Trials, dict[str, tuple[str, ...]]]:
    """Join the utterances of each session, and pair an enrolled speaker with those joined ones
    of which all utterances are tried.

    Parameters
    ----------
    trials : Trials
        With enrolled speakers, utterances and labels.
    length : int
        Utterances of a joined one, see `join_utterances`.

    Returns
    -------
    trials : Trials
        By enrolled speaker in the order of the trials, then by session and utterance.
    members : dict of str to tuple of str
        Utterances by the name of the joined one.

    Raises
    ------
    PrivacyEvalError
        No joined utterance is tried; some utterances of a joined one are targets and others not.

    Examples
    --------
    >>> trials = Trials(enrolled=list("aab"), utterance=["x-1", "x-2", "x-1"], label=[1, 1, 0])
    >>> joined, members = join_trials(trials, 2)
    >>> joined.enrolled.tolist(), members
    (['a'], {'x-1-x2': ('x-1', 'x-2')})
    """
    labels: dict[str, dict[str, bool]] = {}
    rows = zip(trials.enrolled, trials.utterance, trials.is_target.tolist(), strict=True)
    for speaker, utterance, label in rows:
        labels.setdefault(speaker, {})[utterance] = label
    groups = join_utterances(trials.utterance.used, length)
    joined: list[tuple[str, str, bool]] = []
    for speaker, tried in labels.items():
        for name, members in groups.items():
            if any(member not in tried for member in members):
                continue
            if len({tried[member] for member in members}) > 1:
                raise PrivacyEvalError(
                    f"{speaker} {name}: its utterances are target and nontarget trials, so that "
                    "the session is of several speakers"
                )
            joined.append((speaker, name, tried[members[0]]))
    if not joined:
        raise PrivacyEvalError(f"no session with {length} utterances that are tried together")
    speakers, names, is_target = zip(*joined, strict=True)
    used = set(names)
    kept = {name: members for name, members in groups.items() if name in used}
    return Trials(enrolled=speakers, utterance=names, label=is_target), kept


def _count_words(texts: Sequence[str], vocabulary: dict[str, int]) -> scipy.sparse.csr_array:
    """Count the words of each text, shape (texts, words); new words join the vocabulary."""
    words = [text.lower().split() for text in texts]
    numbers = [vocabulary.setdefault(word, len(vocabulary)) for text in words for word in text]
    return _sparse_counts([len(text) for text in words], numbers, len(vocabulary))


def _count_ngrams(words: Sequence[str]) -> scipy.sparse.csr_array:
    """Count the character n-grams of each word, shape (words, n-grams)."""
    vocabulary: dict[str, int] = {}
    sizes, numbers = [], []
    for word in words:
        padded = f" {word} "
        ngrams = [
            padded[start : start + n]
            for n in range(_SHORTEST, min(_LONGEST, len(padded)) + 1)
            for start in range(len(padded) - n + 1)
        ]
        sizes.append(len(ngrams))
        numbers += [vocabulary.setdefault(ngram, len(vocabulary)) for ngram in ngrams]
    return _sparse_counts(sizes, numbers, len(vocabulary))


def _sparse_counts(
    sizes: Sequence[int], numbers: Sequence[int], columns: int
) -> scipy.sparse.csr_array:
    rows = np.repeat(np.arange(len(sizes)), sizes)
    shape = len(sizes), columns
    return scipy.sparse.coo_array((np.ones(len(numbers)), (rows, numbers)), shape).tocsr()


def _unit_weights(counts: scipy.sparse.csr_array, idf: FloatArray) -> scipy.sparse.csr_array:
    """Weight counts and bring each row to unit length; rows without weight stay zero."""
    weights = (1 + np.log(counts.data)) * idf[counts.indices]
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    lengths = np.sqrt(np.bincount(rows, weights**2, minlength=counts.shape[0]))
    weights /= np.where(lengths > 0, lengths, 1)[rows]
    return scipy.sparse.csr_array((weights, counts.indices, counts.indptr), counts.shape)
