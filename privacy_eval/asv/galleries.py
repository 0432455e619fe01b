"""Identification in galleries: from x-vectors to the probability of identifying a speaker.

Trial lists are not used: they rarely compare every test with every enrolled speaker.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..choices import grouped
from ..errors import PrivacyEvalError, abbreviate, located
from ..io.data_dir import read_utt2spk
from ..io.files import Loaded, digest
from ..io.vectors import Vectors
from ..metrics.confidence import Interval, expanded_interval
from ..metrics.identification import (
    COMPARED,
    OF_SPEAKERS,
    SinglingOutCurve,
    SpeakerLinkage,
    as_high,
    beaters,
    linkage_of_beaters,
    rank_disclosure,
    singling_out_curve,
    speaker_linkage,
    wilson_interval,
)
from ..metrics.pav import FloatArray, IntArray
from ..metrics.printed import Printed
from ..metrics.trials import Table, Trials
from .backend import (
    BackendName,
    FloatMatrix,
    PldaBackend,
    means_of_runs,
    normalize_length,
    trial_scorer,
)
from .enrollment import Enrollment
from .ranks import RankedTests

#: Default gallery sizes, in addition to the whole gallery.
GALLERY_SIZES = tuple(f * 10**e for e in range(6) for f in (1, 2, 5) if f * 10**e > 1)


#: Maximum number of scores, and of values of the vectors, of a block of a gallery.
_BLOCK_SCORES = 16_000_000

#: Maximum size of galleries in which speakers are compared: most trees enroll few more.
MAX_SPEAKERS_SIZE = 20


@dataclass(frozen=True)
class Gallery:
    """Speakers among whom a test speaker is identified.

    Attributes
    ----------
    vectors : Vectors
    enrollment : Enrollment
    """

    vectors: Vectors
    enrollment: Enrollment

    def present(self) -> Gallery:
        """Restrict the gallery to the speakers and utterances with vectors."""
        members = self.enrollment.members.items()
        there = {speaker: tuple(u for u in of if u in self.vectors) for speaker, of in members}
        return self.with_members({speaker: of for speaker, of in there.items() if of})

    def of(self, speakers: Iterable[str]) -> Gallery:
        """Restrict the gallery to some of its speakers, in this order."""
        return self.with_members({s: self.enrollment.members[s] for s in speakers})

    def with_members(self, members: Mapping[str, tuple[str, ...]]) -> Gallery:
        """Replace the speakers and their utterances."""
        return replace(self, enrollment=replace(self.enrollment, members=members))

    def rows(self) -> IntArray:
        """Find the vectors of all speakers, one after the other.

        Raises
        ------
        PrivacyEvalError
            An utterance without vector.
        """
        utterances = [u for some in self.enrollment.members.values() for u in some]
        return self.vectors.rows(utterances, f"the enrollment in {self.enrollment.path}")

    @property
    def size(self) -> int:
        """Number of enrollment utterances."""
        return sum(map(len, self.enrollment.members.values()))


@dataclass(frozen=True)
class Conversations:
    """Tests of several utterances each.

    Attributes
    ----------
    vectors : Vectors
    utterances : mapping of str to list of str
        Of each test speaker, in whole tests.
    length : int
        Utterances per test: consecutive ones, whose vectors are averaged.
    """

    vectors: Vectors
    utterances: Mapping[str, Sequence[str]]
    length: int

    @property
    def used(self) -> list[str]:
        """All utterances."""
        return [u for of_speaker in self.utterances.values() for u in of_speaker]

    @property
    def speaker(self) -> IntArray:
        """Number of the speaker of each test, shape (tests,)."""
        tests = [len(u) // self.length for u in self.utterances.values()]
        return np.repeat(np.arange(len(tests)), tests)

    def scorer(
        self,
        utt2spk: Path | Loaded,
        backend: BackendName = "plda",
        model: PldaBackend | None = None,
    ) -> Callable[[Gallery], FloatMatrix]:
        """Prepare the tests for scoring.

        Returns
        -------
        callable
            Scores every speaker of a gallery with every test: float array, shape (enrolled, tests).
            It raises a PrivacyEvalError on an utterance without vector or inconsistent dimensions.

        Raises
        ------
        PrivacyEvalError
            An utterance without vector.
        """
        vectors = self.vectors.matrix[self.vectors.rows(self.used, str(utt2spk))]
        averaged = _conversations(vectors, self.length, backend)
        scored = trial_scorer(averaged, backend=backend, model=model)
        return lambda gallery: scored(*_enrolled(gallery))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Identification(Printed, RankedTests):
    """Tests against a gallery.

    Attributes
    ----------
    sizes : tuple of int
    linkage : float array, shape (sizes,)
    rank : int
    bounds : tuple of Interval
        95 % intervals of the linkage, by size; empty without a bootstrap.
    """

    sizes: tuple[int, ...]
    linkage: FloatArray
    rank: int
    bounds: tuple[Interval, ...] = ()

    @property
    def counts(self) -> IntArray:
        """`beaten` and `tied`, shape (2, tests)."""
        return np.array([self.beaten, self.tied], dtype=np.int64)

    @property
    def ties(self) -> float:
        """Share of tests whose right speaker scores the same as others."""
        return float(np.mean(self.counts[1] > 0))

    @property
    def chance(self) -> FloatArray:
        """Chance level of the linkage, shape (sizes,)."""
        return np.minimum(self.rank / np.array(self.sizes), 1.0)

    @property
    def heading(self) -> str:
        """Numbers of tests and of people."""
        return (
            f"{len(self.speaker)} tests of {len(self.test_speakers)} speakers, {self.n_enrolled} "
            f"enrolled speakers ({self.n_distractors} distractors)"
        )

    @property
    def notes(self) -> list[str]:
        """What must be known about the rates."""
        left_out = self.utterances_left_out
        of = f"left out {left_out} utterances: {len(self.not_enrolled) or 'their'} speakers"
        others = f", others do not fill a test of {self.length}" * (self.length > 1)
        said = {
            f"{of} are not enrolled{others}": left_out,
            f"{self.ties:.1%} of tests rest on ties": self.ties,
            OF_SPEAKERS: self.bounds and {0.0, 1.0} & {*self.linkage.tolist()},
        }
        return [text for text, applies in said.items() if applies] + self.singling_out.notes

    def to_rows(self) -> list[dict[str, Any]]:
        """List the rates by size of the gallery, and what the ranks in all of it disclose, in
        bits: on average and at most; ties count against a speaker."""
        whole = {"gallery": self.n_enrolled, "chance": None, "low": None, "high": None}
        every = itertools.zip_longest(self.sizes, self.linkage, self.chance, self.bounds)
        rows = [
            {"metric": f"rank{self.rank}", "gallery": size, "value": float(value)}
            | {"chance": float(chance), "low": of and of.low, "high": of and of.high}
            for size, value, chance, of in every
        ]
        bits = rank_disclosure(np.bincount(self.beaten, minlength=self.n_enrolled))
        named = zip(("rank_disclosure", "rank_disclosure_max"), bits, strict=True)
        rows += [{"metric": name, "value": value, **whole} for name, value in named]
        return rows + self.singling_out.to_rows()

    @property
    def speakers_size(self) -> int:
        """Size of the galleries in which speakers are compared: the largest size up to 20, or 0."""
        return max((size for size in self.sizes if size <= MAX_SPEAKERS_SIZE), default=0)

    def speakers(self) -> tuple[SpeakerLinkage, ...]:
        """Compute the linkage of each speaker, see `speaker_linkage`; empty if no gallery is
        small enough."""
        if not self.speakers_size:
            return ()
        size = self.speakers_size
        return speaker_linkage(
            self.counts, self.speaker, self.test_speakers, self.n_enrolled, size, self.rank
        )

    def intervals(self, replicates: int, seed: int, level: float = 0.95) -> tuple[Interval, ...]:
        """Compute intervals of the linkage, one per size, under resampling of test speakers.

        The gallery is not resampled: that would make it effectively smaller. The intervals
        apply to new test speakers and utterances against this gallery. Where no test or every
        test is identified, no draw differs: the interval is Wilson's of the number of speakers,
        in groups larger than the number of picks.
        `scripts/coverage_linkage.py` found a coverage of 90 to 94.5 % (40 speakers with 10 tests).

        Raises
        ------
        PrivacyEvalError
            Fewer than two test speakers.
        """
        n = len(self.test_speakers)
        if n < 2:
            raise PrivacyEvalError("an interval over speakers needs two test speakers")
        drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), replicates)
        weights = drawn[:, np.array(self.speaker)]
        values = linkage_of_beaters(
            self.counts, self.n_enrolled, self.sizes, self.rank, weights=weights
        )
        intervals = []
        for size, rate, of_size in zip(self.sizes, self.linkage.tolist(), values.T, strict=True):
            drawn_interval = expanded_interval(of_size, n, level)
            if np.ptp(of_size) == 0 and rate in (0, 1) and size > self.rank:
                low, high = wilson_interval(rate, n, level)
                drawn_interval = replace(drawn_interval, low=low, high=high)
            intervals.append(drawn_interval)
        return tuple(intervals)


def identify(
    trials: Table,
    gallery: Sequence[int] | int | None = None,
    *,
    rank: int = 1,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Identification:
    """Compute how often test speakers are identified among the enrolled ones.

    Parameters
    ----------
    trials : Trials, or what they are made of
        Scores of every test utterance with every enrolled speaker, with labels. A test without
        target trial is left out: its speaker is not enrolled.
    gallery : sequence of int, or int, optional
        Numbers of enrolled speakers among whom one is found; by default 2, 5, 10, 20, 50, ... and
        all of them.
    rank : int
        Number of top scores among which the right speaker must be.
    bootstrap, seed : int
        Replicates of test speakers, 0 for no intervals, and their seed.

    Returns
    -------
    Identification
        Rates (`linkage`, `chance`, `bounds`), `singling_out`; a table when printed.

    Raises
    ------
    PrivacyEvalError
        Pairs without a score; a test with several target trials; no test with one; a gallery
        larger than the enrolled speakers.

    Examples
    --------
    >>> trials = Trials(
    ...     enrolled=["a", "b", "a", "b"], utterance=["u", "u", "v", "v"],
    ...     score=[2, 1, 2, 1], label=[1, 0, 0, 1],
    ... )
    >>> identify(trials, [2], bootstrap=0).linkage.tolist()
    [0.5]
    """
    trials = Trials.of(trials).unweighted.checked.with_ids
    gallery = None if gallery is None else np.atleast_1d(gallery).tolist()
    names, scores, own = _tests_of(trials)
    tested, speaker = np.unique(own, return_inverse=True)
    curve = singling_out_curve(
        scores[:, tested].T, speaker, gallery or GALLERY_SIZES, replicates=bootstrap, seed=seed
    )
    ranks = ranked(
        [names[place] for place in tested],
        speaker,
        np.array([beaters(scores, own, compare) for compare in COMPARED]),
        len(names),
        utterances_left_out=len(trials.utterance.used) - len(own),
        singling_out=curve,
    )
    return identified(ranks, gallery, rank, bootstrap, seed)


def singling_out(
    trials: Table, sizes: Sequence[int] | None = None, *, bootstrap: int = 1000, seed: int = 0
) -> SinglingOutCurve:
    """Compute how often a decision for an enrolled speaker holds for exactly one test speaker.

    Parameters
    ----------
    trials, bootstrap, seed
        See `identify`; of every speaker ten tests are needed.
    sizes : sequence of int, optional
        Numbers of test speakers.

    Returns
    -------
    SinglingOutCurve

    Raises
    ------
    PrivacyEvalError
        As `identify`.

    Examples
    --------
    >>> enrolled, spoken, number = np.indices((3, 3, 10)).reshape(3, -1)
    >>> own = enrolled == spoken
    >>> utterance = 10 * spoken + number
    >>> trials = Trials(enrolled=enrolled, utterance=utterance, score=own + 0.0, label=own)
    >>> singling_out(trials, bootstrap=0).values
    (1.0, 1.0)
    """
    return identify(trials, sizes, bootstrap=bootstrap, seed=seed).singling_out


def _tests_of(trials: Trials) -> tuple[list[str], FloatArray, IntArray]:
    """Return the enrolled speakers, the scores of tests with them, shape (tests, enrolled), and
    which of them is the right one; tests are ordered by it and by name."""
    names, tests = sorted(trials.enrolled.used), sorted(trials.utterance.used)
    at = trials.utterance.among(tests).codes, trials.enrolled.among(names).codes
    scores = np.full((len(tests), len(names)), np.nan)
    scores[at] = trials.score
    is_target = np.zeros(scores.shape, dtype=np.bool_)
    is_target[at] = trials.is_target
    n_target = is_target.sum(axis=1)
    if (n_target > 1).any():
        several = [tests[row] for row in np.flatnonzero(n_target > 1)]
        raise PrivacyEvalError(
            f"{trials.name}: {len(several)} utterances have several target trials: "
            f"{abbreviate(several)}; enrolled ids must be speakers, each enrolled once"
        )
    kept = np.flatnonzero(n_target)
    if not kept.size:
        raise PrivacyEvalError(f"{trials.name}: no target trials, so no test speaker is enrolled")
    own = is_target[kept].argmax(axis=1)
    order = np.argsort(own, kind="stable")
    kept, own = kept[order], own[order]
    if len(absent := np.argwhere(np.isnan(scores[kept]))):
        pairs = [f"{names[column]} {tests[kept[row]]}" for row, column in absent[:6].tolist()]
        raise PrivacyEvalError(
            f"{trials.name}: {len(absent)} of {scores[kept].size} pairs of enrolled speaker and "
            f"test utterance have no score: {abbreviate(pairs)}; score all of them, or select() "
            "speakers that are all compared, such as one gender"
        )
    return names, scores[kept], own


def identified(
    ranks: RankedTests,
    sizes: Sequence[int] | None = None,
    rank: int = 1,
    bootstrap: int = 0,
    seed: int = 0,
) -> Identification:
    """Compute how often test speakers are identified from the ranks of their tests.

    Parameters
    ----------
    ranks : RankedTests
    sizes : sequence of int, optional
        Gallery sizes; by default 2, 5, 10, 20, 50, ... and the whole gallery.
    rank : int
        Number of top scores among which the right speaker must be.
    bootstrap, seed : int
        Replicates of test speakers, 0 for no intervals, and their seed.

    Returns
    -------
    Identification

    Raises
    ------
    PrivacyEvalError
        As `linkage_of_beaters`.
    """
    n_gallery, beaten = ranks.n_enrolled, np.array([ranks.beaten, ranks.tied], dtype=np.int64)
    wanted = tuple(sizes or (*(n for n in GALLERY_SIZES if n < n_gallery), n_gallery))
    linkage = linkage_of_beaters(beaten, n_gallery, wanted, rank)
    attack = Identification(**vars(ranks), sizes=wanted, linkage=linkage, rank=rank)
    return replace(attack, bounds=attack.intervals(bootstrap, seed)) if bootstrap else attack


def ranked(
    names: Iterable[str], speaker: IntArray, counts: IntArray, n_enrolled: int, **options: Any
) -> RankedTests:
    """Compose the ranks of tests.

    Parameters
    ----------
    names : iterable of S str
        Test speakers.
    speaker : int array, shape (tests,)
    counts : int array, shape (2, tests)
        How many others score at least as high as the right speaker, and the same.
    n_enrolled : int
    **options
        Other fields of `RankedTests`.

    Returns
    -------
    RankedTests

    Examples
    --------
    >>> ranked(["a"], np.array([0]), np.array([[2], [1]]), 9).beaten
    (2,)
    """
    beaten, tied = counts.tolist()
    columns = tuple(names), tuple(speaker.tolist()), tuple(beaten), n_enrolled
    return RankedTests(*columns, tied=tuple(tied), **options)


def rank_tests(
    gallery: Gallery,
    tests: Vectors,
    utt2spk: Path | Loaded,
    *,
    backend: BackendName = "plda",
    model: PldaBackend | None = None,
    sizes: Sequence[int] | None = None,
    length: int = 1,
    distractors: Gallery | None = None,
    allow_missing: bool = False,
    replicates: int = 0,
    seed: int = 0,
    job: tuple[int, int] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> RankedTests:
    """Count how many speakers of a gallery outscore the right one of each test.

    Speakers who are not tested are compared in blocks, so that memory does not grow with the
    gallery beyond its vectors.

    Parameters
    ----------
    gallery : Gallery
    tests : Vectors
    utt2spk : Path or Loaded
        The test utterances and their speakers.
    backend : {"plda", "cosine", "euclidean"}
    model : PldaBackend, optional
        For `plda` only.
    sizes : sequence of int, optional
        Numbers of test speakers of singling out.
    length : int
        Utterances per test: this many consecutive ones of a speaker, in the order of utt2spk, are
        averaged; the rest of a speaker's utterances is left out.
    distractors : Gallery, optional
        More enrolled speakers, none of them a test speaker.
    allow_missing : bool
        Leave out utterances that have no vector, and count them.
    replicates, seed : int
        Of the intervals of singling out (0: none), and of its draws.
    job : (int, int), optional
        Number of the job, from 1, and of jobs: compare only this part of the speakers who are not
        tested; the first job also compares those who are.
    progress : callable, optional
        Is told how many speakers are compared, of how many.

    Returns
    -------
    RankedTests

    Raises
    ------
    PrivacyEvalError
        Unless allowed, an utterance without vector; no test speaker who is enrolled, or none with
        `length` utterances; distractors who are enrolled or tested; inconsistent dimensions; scores
        beyond float32's range.
    """
    speaker_of = listed = read_utt2spk(utt2spk)
    n_enrollment = gallery.size
    if allow_missing:
        speaker_of = {u: s for u, s in listed.items() if u in tests}
        gallery = gallery.present()
        distractors = None if distractors is None else distractors.present()
    members = gallery.enrollment.members
    if distractors is not None:
        _check_distractors(distractors, members, speaker_of)
    galleries = [gallery, *([] if distractors is None else [distractors])]
    utterances = whole_tests(speaker_of, members, length)
    if not utterances:
        raise PrivacyEvalError(
            f"{utt2spk}: no speaker is enrolled in {gallery.enrollment.path} and has {length} "
            "utterances"
        )
    conversations = Conversations(tests, utterances, length)
    used, of_test = conversations.used, conversations.speaker
    number, jobs = job or (1, 1)
    with located(f"{gallery.vectors.path}, {tests.path}"):
        score = conversations.scorer(utt2spk, backend, model)
        tests.warn_if_equal(used)
        for each in galleries:
            each.rows()
        known, beaten = count_beaters(galleries, conversations, score, (number, jobs), progress)
    drawn = {"replicates": replicates, "seed": seed}
    made_of = (galleries, tests, speaker_of, (backend, model), (sizes, length, replicates, seed))
    return ranked(
        utterances,
        of_test,
        beaten,
        sum(len(each.enrollment.members) for each in galleries),
        inputs="" if job is None else _digest(*made_of),
        jobs=jobs,
        done=(number,),
        n_distractors=0 if distractors is None else len(distractors.enrollment.members),
        not_enrolled=tuple(sorted({*speaker_of.values()} - members.keys())),
        utterances_left_out=len(listed) - len(used),
        length=length,
        without_vector=len(listed) - len(speaker_of) + n_enrollment - gallery.size,
        singling_out=singling_out_curve(known, of_test, sizes or GALLERY_SIZES, **drawn),
        enrollment_utterances=sum(each.size for each in galleries),
    )


def count_beaters(
    galleries: Sequence[Gallery],
    conversations: Conversations,
    score: Callable[[Gallery], FloatMatrix],
    job: tuple[int, int] = (1, 1),
    progress: Callable[[int, int, str], None] | None = None,
) -> tuple[FloatMatrix, IntArray]:
    """Count how many speakers of galleries outscore the right one of each test.

    Parameters
    ----------
    galleries : sequence of Gallery
        The first has all test speakers.
    conversations : Conversations
    score : callable
        Its `Conversations.scorer`.
    job, progress
        See `rank_tests`.

    Returns
    -------
    known : float array, shape (test speakers, tests)
        Scores of the test speakers.
    beaten : int array, shape (2, tests)
        `beaten` and `ties` of `Identification`.

    Raises
    ------
    PrivacyEvalError
        As `beaters`.
    """
    of_test, utterances = conversations.speaker, conversations.utterances
    known = score(galleries[0].of(utterances))
    right = known[of_test, np.arange(of_test.size)]
    beaten = np.zeros((len(COMPARED), of_test.size), dtype=np.int64)
    if job[0] == 1:
        beaten += [beaters(known.T, of_test, compare) for compare in COMPARED]
    step = max(1, _BLOCK_SCORES // max(known.shape[1], conversations.vectors.matrix.shape[1]))
    blocks = list(_blocks(galleries, utterances, job, step))
    compared, n = 0, sum(len(block.enrollment.members) for block in blocks)
    for block in blocks:
        scores = score(block)
        beaten += [as_high(scores, right, compare) for compare in COMPARED]
        compared += len(block.enrollment.members)
        if progress is not None:
            progress(compared, n, "speakers")
    return known, beaten


def _blocks(
    galleries: Sequence[Gallery], tested: Container[str], job: tuple[int, int], step: int
) -> Iterator[Gallery]:
    """Cut the speakers of a job who are not tested into blocks."""
    number, jobs = job
    for gallery in galleries:
        names = [speaker for speaker in gallery.enrollment.members if speaker not in tested]
        names = names[len(names) * (number - 1) // jobs : len(names) * number // jobs]
        for start in range(0, len(names), step):
            yield gallery.of(names[start : start + step])


def _digest(
    galleries: Sequence[Gallery],
    tests: Vectors,
    speaker_of: Mapping[str, str],
    backend: tuple[BackendName, PldaBackend | None],
    options: tuple[object, ...],
) -> str:
    """SHA-256 of all that ranks are made of, in the order that jobs split it."""
    name, model = backend
    parts = [tests.digest, name, repr(options), *(f"{u} {s}" for u, s in speaker_of.items())]
    for gallery in galleries:
        lines = (f"{s} {' '.join(u)}" for s, u in gallery.enrollment.members.items())
        parts += [gallery.vectors.digest, *lines]
    if model is not None:
        plda = model.plda
        arrays = (plda.mean, plda.transform, plda.psi, model.mean, model.transform)
        parts += ["" if a is None else digest(np.ascontiguousarray(a).tobytes()) for a in arrays]
    return digest("\n".join(parts).encode())


def whole_tests(
    speaker_of: Mapping[str, str], enrolled: Container[str], length: int
) -> dict[str, list[str]]:
    """Return the utterances of each enrolled test speaker, sorted and cut to whole tests.

    Parameters
    ----------
    speaker_of : mapping of str to str
        By utterance.
    enrolled : container of str
    length : int
        Utterances per test.

    Returns
    -------
    dict of str to list of str
    """
    utterances = grouped(speaker_of, speaker_of.__getitem__)
    whole = {s: u[: len(u) - len(u) % length] for s, u in sorted(utterances.items())}
    return {s: u for s, u in whole.items() if u and s in enrolled}


def _check_distractors(
    distractors: Gallery, enrolled: Mapping[str, object], speaker_of: Mapping[str, str]
) -> None:
    others = {*enrolled, *speaker_of.values()}
    if both := sorted(others & set(distractors.enrollment.members)):
        raise PrivacyEvalError(
            f"{distractors.enrollment.path}: {len(both)} distractors are enrolled or test "
            f"speakers: {abbreviate(both)}"
        )


def _enrolled(gallery: Gallery) -> tuple[FloatMatrix, IntArray]:
    """Average the vectors of every enrolled speaker."""
    counts = np.array([len(some) for some in gallery.enrollment.members.values()], dtype=np.int64)
    return means_of_runs(gallery.vectors.matrix, gallery.rows(), counts), counts


def _conversations(vectors: FloatMatrix, length: int, backend: BackendName) -> FloatMatrix:
    """Average consecutive vectors; the PLDA back end normalizes the means' lengths itself."""
    if length == 1:
        return vectors
    counts = np.full(len(vectors) // length, length)
    means = means_of_runs(vectors, np.arange(len(vectors)), counts)
    return means if backend == "plda" else normalize_length(means, scale_up=False)
