"""Identification in galleries: from x-vectors to the probability of identifying a speaker.

Trial lists are not used: they rarely compare every test with every enrolled speaker.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import PrivacyEvalError, abbreviate
from ..io.data_dir import read_utt2spk
from ..io.files import Loaded
from ..io.scp import Vectors
from ..metrics.confidence import Interval, expanded_interval
from ..metrics.identification import (
    SinglingOutCurve,
    SpeakerLinkage,
    beaters,
    linkage_of_beaters,
    singling_out_curve,
    speaker_linkage,
    wilson_interval,
)
from ..metrics.pav import FloatArray, IntArray
from .backend import (
    BackendName,
    FloatMatrix,
    PldaBackend,
    normalize_length,
    score_matrix,
    speaker_means,
)
from .enrollment import Enrollment

#: Default gallery sizes, in addition to the whole gallery.
GALLERY_SIZES = tuple(f * 10**e for e in range(6) for f in (1, 2, 5) if f * 10**e > 1)


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
        present = {
            speaker: tuple(u for u in utterances if u in self.vectors)
            for speaker, utterances in self.enrollment.members.items()
        }
        members = {speaker: utterances for speaker, utterances in present.items() if utterances}
        return replace(self, enrollment=replace(self.enrollment, members=members))

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

    def score(
        self,
        galleries: Sequence[Gallery],
        utt2spk: Path | Loaded,
        backend: BackendName = "plda",
        model: PldaBackend | None = None,
    ) -> FloatMatrix:
        """Score every speaker of the galleries with every test.

        Returns
        -------
        float array, shape (enrolled, tests)

        Raises
        ------
        PrivacyEvalError
            An utterance without vector; inconsistent dimensions.
        """
        vectors = self.vectors.matrix[self.vectors.rows(self.used, str(utt2spk))]
        averaged = _conversations(vectors, self.length, backend)
        means, counts = map(np.concatenate, zip(*map(_enrolled, galleries), strict=True))
        return score_matrix(means, counts, averaged, backend=backend, model=model)


@contextlib.contextmanager
def in_files(gallery: Gallery, tests: Vectors) -> Iterator[None]:
    """Put the files of the vectors before the message of an error.

    Parameters
    ----------
    gallery : Gallery
    tests : Vectors

    Returns
    -------
    context manager

    Raises
    ------
    PrivacyEvalError
        What was raised within.
    """
    try:
        yield
    except (PrivacyEvalError, ValueError) as error:
        raise PrivacyEvalError(f"{gallery.vectors.path}, {tests.path}: {error}") from error


@dataclass(frozen=True, eq=False)
class Identification:
    """Tests against a gallery.

    Attributes
    ----------
    test_speakers : tuple of S str
    speaker : int array, shape (tests,)
        The speaker of each test.
    beaten : int array, shape (tests,)
        How many others in the gallery score at least as high as the right speaker.
    n_enrolled : int
        Speakers in the gallery, distractors included.
    n_distractors : int
    not_enrolled : tuple of str
        Test speakers who are not enrolled; their utterances are left out.
    utterances_left_out : int
        Of these speakers, and leftovers that do not fill a conversation.
    sizes : tuple of int
    linkage : float array, shape (sizes,)
    rank, length : int
    without_vector : int
        Utterances of tests and enrollment that were left out, as they have no vector.
    singling_out : SinglingOutCurve
        Of the speakers who are enrolled and tested.
    enrollment_utterances : int
        Of all speakers in the gallery.
    """

    test_speakers: tuple[str, ...]
    speaker: IntArray
    beaten: IntArray
    n_enrolled: int
    n_distractors: int
    not_enrolled: tuple[str, ...]
    utterances_left_out: int
    sizes: tuple[int, ...]
    linkage: FloatArray
    rank: int
    length: int
    without_vector: int = 0
    singling_out: SinglingOutCurve = SinglingOutCurve()
    enrollment_utterances: int = 0

    @property
    def chance(self) -> FloatArray:
        """Chance level of the linkage, shape (sizes,)."""
        return np.minimum(self.rank / np.array(self.sizes), 1.0)

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
            self.beaten, self.speaker, self.test_speakers, self.n_enrolled, size, self.rank
        )

    def intervals(self, replicates: int, seed: int, level: float = 0.95) -> tuple[Interval, ...]:
        """Compute intervals of the linkage, one per size, under resampling of test speakers.

        The gallery is not resampled: that would make it effectively smaller. The intervals
        apply to new test speakers and utterances against this gallery. Where no test or every
        test is identified, no draw differs: the interval is Wilson's, as if the tests were
        independent, in groups larger than the number of picks.
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
        weights = drawn[:, self.speaker]
        values = linkage_of_beaters(
            self.beaten, self.n_enrolled, self.sizes, self.rank, weights=weights
        )
        intervals = []
        for size, rate, of_size in zip(self.sizes, self.linkage.tolist(), values.T, strict=True):
            drawn_interval = expanded_interval(of_size, n, level)
            if np.ptp(of_size) == 0 and rate in (0, 1) and size > self.rank:
                low, high = wilson_interval(rate, self.beaten.size, level)
                drawn_interval = replace(drawn_interval, low=low, high=high)
            intervals.append(drawn_interval)
        return tuple(intervals)


def identify(
    gallery: Gallery,
    tests: Vectors,
    utt2spk: Path | Loaded,
    *,
    backend: BackendName = "plda",
    model: PldaBackend | None = None,
    sizes: Sequence[int] | None = None,
    rank: int = 1,
    length: int = 1,
    distractors: Gallery | None = None,
    allow_missing: bool = False,
    replicates: int = 0,
    seed: int = 0,
) -> Identification:
    """Compute how often test speakers are identified among the enrolled ones.

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
        Gallery sizes; by default 2, 5, 10, 20, 50, ... and the whole gallery.
    rank : int
        Number of top scores among which the right speaker must be.
    length : int
        Utterances per test: this many consecutive ones of a speaker, in the order of utt2spk, are
        averaged; the rest of a speaker's utterances is left out.
    distractors : Gallery, optional
        More enrolled speakers, none of them a test speaker.
    allow_missing : bool
        Leave out utterances that have no vector, and count them.
    replicates, seed : int
        Of the intervals of singling out (0: none), and of its draws.

    Returns
    -------
    Identification

    Raises
    ------
    PrivacyEvalError
        Unless allowed, an utterance without vector; no test speaker who is enrolled, or none with
        `length` utterances; distractors who are enrolled or tested; inconsistent dimensions; scores
        beyond float32's range; as `linkage_of_beaters`.
    """
    speaker_of = listed = read_utt2spk(utt2spk)
    n_enrollment = gallery.size
    if allow_missing:
        speaker_of = {u: s for u, s in listed.items() if u in tests}
        gallery = gallery.present()
        distractors = None if distractors is None else distractors.present()
    members = dict(gallery.enrollment.members)
    n_distractors = 0
    if distractors is not None:
        _check_distractors(distractors, members, speaker_of)
        n_distractors = len(distractors.enrollment.members)
    utterances = whole_tests(speaker_of, members, length)
    tested = list(utterances)
    if not tested:
        raise PrivacyEvalError(
            f"{utt2spk}: no speaker is enrolled in {gallery.enrollment.path} and has {length} "
            "utterances"
        )
    conversations = Conversations(tests, utterances, length)
    used, of_test = conversations.used, conversations.speaker
    place = {s: i for i, s in enumerate(members)}
    rows = [place[s] for s in tested]
    galleries = [gallery, *([] if distractors is None else [distractors])]
    with in_files(gallery, tests):
        scores = conversations.score(galleries, utt2spk, backend, model)
        beaten = beaters(scores.T, np.array(rows)[of_test])
    drawn = {"replicates": replicates, "seed": seed}
    singled = singling_out_curve(scores[rows], of_test, sizes or GALLERY_SIZES, **drawn)
    n_gallery = scores.shape[0]
    wanted = tuple(sizes or (*(n for n in GALLERY_SIZES if n < n_gallery), n_gallery))
    return Identification(
        tuple(tested),
        of_test,
        beaten,
        n_gallery,
        n_distractors,
        tuple(sorted({*speaker_of.values()} - members.keys())),
        len(listed) - len(used),
        wanted,
        linkage_of_beaters(beaten, n_gallery, wanted, rank),
        rank,
        length,
        len(listed) - len(speaker_of) + n_enrollment - gallery.size,
        singled,
        sum(of.size for of in galleries),
    )


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
    utterances: dict[str, list[str]] = {}
    for utterance, speaker in speaker_of.items():
        utterances.setdefault(speaker, []).append(utterance)
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
    members = gallery.enrollment.members
    rows = gallery.vectors.rows(
        [u for some in members.values() for u in some],
        f"the enrollment in {gallery.enrollment.path}",
    )
    parts = np.split(rows, np.cumsum([len(some) for some in members.values()])[:-1])
    return speaker_means(gallery.vectors.matrix, parts)


def _conversations(vectors: FloatMatrix, length: int, backend: BackendName) -> FloatMatrix:
    """Average consecutive vectors; the PLDA back end normalizes the means' lengths itself."""
    if length == 1:
        return vectors
    rows = np.arange(len(vectors)).reshape(-1, length)
    means, _ = speaker_means(vectors, list(rows))
    return means if backend == "plda" else normalize_length(means, scale_up=False)
