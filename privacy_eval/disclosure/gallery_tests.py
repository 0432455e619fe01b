"""Identification in galleries, also of groups of speakers, and error rates by the number of
utterances per test: from x-vectors to ranks and rates.

Trial lists are not used: they rarely compare every test with every enrolled speaker.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..asv.backend import (
    BackendName,
    FloatMatrix,
    PldaBackend,
    means_of_runs,
    normalize_length,
    trial_scorer,
)
from ..asv.inputs import Conversations, Gallery
from ..choices import grouped
from ..errors import PrivacyEvalError, abbreviate, located
from ..io.data_dir import read_utt2spk
from ..io.files import Loaded, digest
from ..io.names import session, tell_sessions
from ..io.user_tables import Labels
from ..io.vectors import Vectors
from ..metrics.pav import FloatArray, IntArray
from ..metrics.strata import MIN_TESTED
from ..metrics.trials import Trials
from .accused import Highest
from .amount import AmountCurve, Tests, amount_curve
from .identification import GALLERY_SIZES, RankedTests, identified, ranked
from .linkage import COMPARED, as_high, beaters, singling_out_curve

#: Maximum number of scores, and of values of the vectors, of a block of a gallery.
_BLOCK_SCORES = 16_000_000


@dataclass(frozen=True)
class KnownSpeech:
    """What is known of test utterances beside their speakers.

    Attributes
    ----------
    seconds : mapping of str to float
        Their durations; empty if they are not known.
    sessions : mapping of str to str
        Their sessions; empty if they are not known.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    sessions: Mapping[str, str] = field(default_factory=dict)

    def of_tests(self, used: Sequence[str], length: int) -> list[FloatArray]:
        """Add up the seconds of tests, runs of `length` of the `used` utterances, if known."""
        if not self.seconds:
            return []
        seconds = np.array([self.seconds[utterance] for utterance in used])
        return [seconds.reshape(-1, length).sum(axis=1)]

    def beside(self, trials: Trials) -> Trials:
        """Add the columns `seconds` and `session`, as far as they are known."""
        columns: dict[str, Any] = {}
        if self.seconds:
            seconds = [self.seconds.get(name, np.nan) for name in trials.utterance.names]
            columns["seconds"] = np.array(seconds)[trials.utterance.codes]
        if self.sessions:
            columns["session"] = trials.utterance.renamed(lambda u: self.sessions.get(u, ""))
        return trials.with_columns(**columns)


@dataclass(frozen=True)
class GalleryTests:
    """Tests of speakers against a gallery of enrolled ones, by their vectors.

    Attributes
    ----------
    gallery : Gallery
    tests : Vectors
    utt2spk : Path or Loaded
        The test utterances and their speakers.
    backend : {"plda", "cosine", "euclidean"}
    model : PldaBackend, optional
        For `plda` only.
    length : int
        Utterances per test: this many consecutive ones of a speaker, in the order of utt2spk, are
        averaged; the rest of a speaker's utterances is left out.
    distractors : Gallery, optional
        More enrolled speakers, none of them a test speaker.
    allow_missing : bool
        Leave out utterances that have no vector, and count them.
    replicates, seed : int
        Of intervals (0: none), and of draws.
    """

    gallery: Gallery
    tests: Vectors
    utt2spk: Path | Loaded
    backend: BackendName = "plda"
    model: PldaBackend | None = None
    length: int = 1
    distractors: Gallery | None = None
    allow_missing: bool = False
    replicates: int = 0
    seed: int = 0

    def rank(
        self,
        sizes: Sequence[int] | None = None,
        job: tuple[int, int] | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> RankedTests:
        """Count how many speakers of the gallery outscore the right one of each test.

        Speakers who are not tested are compared in blocks, so that memory does not grow with the
        gallery beyond its vectors.

        Parameters
        ----------
        sizes : sequence of int, optional
            Numbers of test speakers of singling out.
        job : (int, int), optional
            Number of the job, from 1, and of jobs: compare only this part of the speakers who are
            not tested; the first job also compares those who are.
        progress : callable, optional
            Is told how many speakers are compared, of how many.

        Returns
        -------
        RankedTests

        Raises
        ------
        PrivacyEvalError
            Unless allowed, an utterance without vector; no test speaker who is enrolled, or none
            with `length` utterances; distractors who are enrolled or tested; inconsistent
            dimensions; scores beyond float32's range.
        """
        listed = read_utt2spk(self.utt2spk)
        speaker_of, galleries = self._compared(listed)
        gallery, *more = galleries
        members = gallery.enrollment.members
        for of in more:
            others = {*members, *speaker_of.values()}
            if both := sorted(others & set(of.enrollment.members)):
                raise PrivacyEvalError(
                    f"{of.enrollment.path}: {len(both)} distractors are enrolled or test speakers: "
                    f"{abbreviate(both)}"
                )
        utterances = whole_tests(speaker_of, members, self.length)
        if not utterances:
            raise PrivacyEvalError(
                f"{self.utt2spk}: no speaker is enrolled in {gallery.enrollment.path} and has "
                f"{self.length} utterances"
            )
        conversations = Conversations(self.tests, utterances, self.length)
        used, of_test = conversations.used, conversations.speaker
        number, jobs = job or (1, 1)
        with self._located():
            score = self._scorer(conversations)
            self.tests.warn_if_equal(used)
            for each in galleries:
                each.rows()
            highest = Highest(of_test.size)
            known, beaten = _count_beaters(
                galleries, conversations, score, (number, jobs), progress, highest
            )
        drawn = {"replicates": self.replicates, "seed": self.seed}
        return ranked(
            utterances,
            of_test,
            beaten,
            sum(len(each.enrollment.members) for each in galleries),
            inputs="" if job is None else self._digest(speaker_of, galleries, sizes),
            jobs=jobs,
            done=(number,),
            n_distractors=sum(len(of.enrollment.members) for of in more),
            not_enrolled=tuple(sorted({*speaker_of.values()} - members.keys())),
            utterances_left_out=len(listed) - len(used),
            length=self.length,
            without_vector=len(listed) - len(speaker_of) + self.gallery.size - gallery.size,
            singling_out=singling_out_curve(known, of_test, sizes or GALLERY_SIZES, **drawn),
            enrollment_utterances=sum(each.size for each in galleries),
            named=highest.named,
        )

    def groups(self, labels: Labels) -> tuple[dict[str, str], list[str]]:
        """Look up the groups of all enrolled and test speakers; also return those without one,
        except distractors.

        Parameters
        ----------
        labels : Labels

        Returns
        -------
        group_of : dict of str to str
        without : list of str

        Raises
        ------
        PrivacyEvalError
            As `Labels.of_speakers`.
        """
        enrolled = [g.enrollment.members for g in (self.gallery, self.distractors) if g is not None]
        members = {u: s for of in enrolled for s, utterances in of.items() for u in utterances}
        group_of, without = labels.groups({**members, **read_utt2spk(self.utt2spk)})
        more = {speaker for of in enrolled[1:] for speaker in of}
        return group_of, [speaker for speaker in without if speaker not in more]

    def identify_groups(
        self, group_of: Mapping[str, str], rank: int = 1
    ) -> dict[str, list[dict[str, Any]]]:
        """Compute how often the test speakers of each group are identified among its enrolled
        ones, in the group's own gallery.

        Parameters
        ----------
        group_of : mapping of str to str
            Groups of speakers; others are in no gallery.
        rank : int
            Number of top scores among which the right speaker must be.

        Returns
        -------
        dict of str to list of dict
            Rows of rates, sorted by name, in galleries of two sizes: all enrolled speakers of the
            smallest group, which compares groups, and of this one. Their `n_tests`, `n_speakers`
            and `n_enrolled` are those of the group, with distractors who belong to it; without
            tests, or with a single enrolled speaker, one row has these alone. `low` and `high` are
            95 % bounds over test speakers, None without a bootstrap, and below `MIN_TESTED` test
            speakers.

        Raises
        ------
        PrivacyEvalError
            As `rank`.
        """
        speaker_of, galleries = self._compared(read_utt2spk(self.utt2spk))
        speakers = [s for each in galleries for s in each.enrollment.members]
        speakers += speaker_of.values()
        groups, ranks = {}, {}
        for group in sorted({group_of[s] for s in speakers if s in group_of}):
            own = [
                each.of(s for s in each.enrollment.members if group_of.get(s) == group)
                for each in galleries
            ]
            of_group = {u: s for u, s in speaker_of.items() if group_of.get(s) == group}
            utterances = whole_tests(of_group, own[0].enrollment.members, self.length)
            n_enrolled = sum(len(each.enrollment.members) for each in own)
            conversations = Conversations(self.tests, utterances, self.length)
            n_tests = len(conversations.used) // self.length
            counts = {"n_speakers": len(utterances), "n_tests": n_tests, "n_enrolled": n_enrolled}
            groups[group] = [{"metric": "linkage", **counts}]
            if utterances and n_enrolled > 1:
                with self._located():
                    score = self._scorer(conversations)
                    _, beaten = _count_beaters(own, conversations, score)
                ranks[group] = ranked(utterances, conversations.speaker, beaten, n_enrolled)
        equal = min((of.n_enrolled for of in ranks.values()), default=0)
        for group, of in ranks.items():
            drawn = self.replicates if len(of.test_speakers) >= MIN_TESTED else 0
            attack = identified(of, sorted({equal, of.n_enrolled}), rank, drawn, self.seed)
            (counted,) = groups[group]
            groups[group] = [{**row, **counted} for row in attack.rows_of_linkage]
        return groups

    def amounts(
        self,
        lengths: Sequence[int],
        *,
        scorer: Callable[[Gallery], Callable[[Conversations], FloatArray]] | None = None,
        tried: Container[str] | None = None,
        known: KnownSpeech = KnownSpeech(),
    ) -> AmountCurve:
        """Compute error rates of tests of several numbers of utterances, whose vectors are
        averaged. Distractors are left out.

        Parameters
        ----------
        lengths : sequence of int
            Utterances per test.
        scorer : callable, optional
            Instead of a back end: takes the gallery, and returns what scores all of its speakers
            with tests, a float array of shape (enrolled, tests).
        tried : container of str, optional
            The test utterances, by default all of `utt2spk`.
        known : KnownSpeech

        Returns
        -------
        AmountCurve

        Raises
        ------
        PrivacyEvalError
            An utterance without a vector; what `scorer` raises; a score that is not finite; as
            `amount_curve`.
        """
        speaker_of, (gallery, *_) = self._compared(read_utt2spk(self.utt2spk))
        speaker_of = {u: s for u, s in speaker_of.items() if tried is None or u in tried}
        column = {speaker: number for number, speaker in enumerate(gallery.enrollment.members)}

        def scored(group_of: Mapping[str, str]) -> Iterator[tuple[int, Tests]]:
            for length in sorted(set(lengths)):
                utterances = whole_tests(speaker_of, column, length, group_of)
                if not utterances:
                    yield length, (np.empty((0, len(column))), np.empty(0, dtype=np.int64))
                    continue
                tests = Conversations(self.tests, utterances, length)
                scores: NDArray[np.floating] = (
                    score(tests) if score else self._scorer(tests)(gallery)
                )
                if not np.isfinite(scores).all():
                    raise PrivacyEvalError("scores must be finite numbers")
                own = np.array([column[speaker] for speaker in utterances])[tests.speaker]
                yield length, (scores.T, own, *known.of_tests(tests.used, length))

        drawn = {"replicates": self.replicates, "seed": self.seed}
        with self._located():
            score = scorer(gallery) if scorer else None
            within = dict(scored(known.sessions) if known.sessions else ())
            with located(self.utt2spk):
                of_lengths = dict(scored(speaker_of))
                return amount_curve(of_lengths, list(column), within_sessions=within, **drawn)

    def _located(self) -> AbstractContextManager[None]:
        return located(f"{self.gallery.vectors.path}, {self.tests.path}")

    def _compared(self, speaker_of: Mapping[str, str]) -> tuple[Mapping[str, str], list[Gallery]]:
        """Return test utterances and galleries, if allowed without what has no vectors."""
        galleries = [each for each in (self.gallery, self.distractors) if each is not None]
        if not self.allow_missing:
            return speaker_of, galleries
        present = {u: speaker for u, speaker in speaker_of.items() if u in self.tests}
        return present, [each.present() for each in galleries]

    def _scorer(self, conversations: Conversations) -> Callable[[Gallery], FloatMatrix]:
        """Prepare tests; return what scores every speaker of a gallery with every test: float
        array, shape (enrolled, tests).

        Raises
        ------
        PrivacyEvalError
            Also when called: an utterance without vector; inconsistent dimensions.
        """
        rows = self.tests.rows(conversations.used, str(self.utt2spk))
        vectors, length = self.tests.matrix[rows], conversations.length
        if length > 1:
            counts = np.full(len(vectors) // length, length)
            vectors = means_of_runs(vectors, np.arange(len(vectors)), counts)
            if self.backend != "plda":  # which normalizes the means' lengths itself
                vectors = normalize_length(vectors, scale_up=False)
        scored = trial_scorer(vectors, backend=self.backend, model=self.model)

        def score(gallery: Gallery) -> FloatMatrix:
            counts = np.array([*map(len, gallery.enrollment.members.values())], dtype=np.int64)
            return scored(means_of_runs(gallery.vectors.matrix, gallery.rows(), counts), counts)

        return score

    def _digest(
        self,
        speaker_of: Mapping[str, str],
        galleries: Sequence[Gallery],
        sizes: Sequence[int] | None,
    ) -> str:
        """SHA-256 of all that ranks are made of, in the order that jobs split it."""
        options = repr((sizes, self.length, self.replicates, self.seed))
        lines = (f"{u} {s}" for u, s in speaker_of.items())
        parts = [self.tests.digest, self.backend, options, *lines]
        for gallery in galleries:
            lines = (f"{s} {' '.join(u)}" for s, u in gallery.enrollment.members.items())
            parts += [gallery.vectors.digest, *lines]
        if self.model is not None:
            plda, mean, transform = self.model.plda, self.model.mean, self.model.transform
            for a in (plda.mean, plda.transform, plda.psi, mean, transform):
                parts.append("" if a is None else digest(np.ascontiguousarray(a).tobytes()))
        return digest("\n".join(parts).encode())


def _count_beaters(
    galleries: Sequence[Gallery],
    conversations: Conversations,
    score: Callable[[Gallery], FloatMatrix],
    job: tuple[int, int] = (1, 1),
    progress: Callable[[int, int, str], None] | None = None,
    highest: Highest | None = None,
) -> tuple[FloatMatrix, IntArray]:
    """Count how many speakers of galleries outscore the right one of each test.

    Parameters
    ----------
    galleries : sequence of Gallery
        The first has all test speakers.
    conversations : Conversations
    score : callable
        Scores a gallery with the tests.
    job, progress
        See `GalleryTests.rank`.
    highest : Highest, optional
        Is given all scores.

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
    if highest is not None and job[0] == 1:
        highest.add([*utterances], known)
    step = max(1, _BLOCK_SCORES // max(known.shape[1], conversations.vectors.matrix.shape[1]))
    blocks = list(_blocks(galleries, utterances, job, step))
    compared, n = 0, sum(len(block.enrollment.members) for block in blocks)
    for block in blocks:
        scores = score(block)
        beaten += [as_high(scores, right, compare) for compare in COMPARED]
        if highest is not None:
            highest.add([*block.enrollment.members], scores)
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


def whole_tests(
    speaker_of: Mapping[str, str],
    enrolled: Container[str],
    length: int,
    group_of: Mapping[str, str] | None = None,
) -> dict[str, list[str]]:
    """Return the utterances of each enrolled test speaker, sorted and cut to whole tests.

    Parameters
    ----------
    speaker_of : mapping of str to str
        By utterance.
    enrolled : container of str
    length : int
        Utterances per test.
    group_of : mapping of str to str, optional
        By utterance: tests are of one group each.

    Returns
    -------
    dict of str to list of str
    """
    whole: dict[str, list[str]] = {}
    for speaker, utterances in sorted(grouped(speaker_of, speaker_of.__getitem__).items()):
        groups = grouped(utterances, (group_of or speaker_of).__getitem__).values()
        kept = [u for some in groups for u in some[: len(some) - len(some) % length]]
        if kept and speaker in enrolled:
            whole[speaker] = kept
    return whole


def sessions_of(speaker_of: Mapping[str, str]) -> dict[str, str]:
    """Return the session of every utterance, if ids tell sessions: each has a part between the
    speaker and its last part, and some speaker has several sessions.

    Parameters
    ----------
    speaker_of : mapping of str to str
        By utterance.

    Returns
    -------
    dict of str to str
        Empty if ids do not tell sessions.

    Examples
    --------
    >>> sessions_of({"121-1-0": "121", "121-1-1": "121", "121-2-0": "121"})
    {'121-1-0': '121-1', '121-1-1': '121-1', '121-2-0': '121-2'}
    >>> sessions_of({"s1-u1": "s1", "s1-u2": "s1"})
    {}
    """
    if not tell_sessions(speaker_of):
        return {}
    found = {utterance: session(utterance) for utterance in speaker_of}
    pairs = {(speaker_of[u], name) for u, name in found.items()}
    return found if len(pairs) > len({speaker for speaker, _ in pairs}) else {}
