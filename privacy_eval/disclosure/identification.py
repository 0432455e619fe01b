"""Identification among enrolled people: ranks of tests, of which array jobs may each compare a
part, and the probability of identifying a speaker.

A file of ranks is JSON with a checksum. Those of the jobs hold how many speakers of their parts
outscore the right one, and sums of these numbers are exact: the merged file depends neither on the
number of jobs nor on the order of merging.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import PrivacyEvalError, abbreviate
from ..io.files import opened, reading, write_text
from ..io.schema import checksum, from_plain, load_json, take_checksum, to_plain
from ..metrics.confidence import Interval, expanded_interval
from ..metrics.pav import FloatArray, IntArray
from ..metrics.printed import Printed
from ..metrics.trials import Table, Trials
from .accused import Highest, Top, merged_names, named_instead, shares
from .linkage import (
    COMPARED,
    OF_SPEAKERS,
    SinglingOutCurve,
    SpeakerLinkage,
    beaters,
    linkage_of_beaters,
    rank_disclosure,
    singling_out_curve,
    speaker_linkage,
    wilson_interval,
)

FORMAT = "privacy_eval ranks 1"


@dataclass(frozen=True)
class RankedTests:
    """How many speakers of a gallery outscore the right one, counted by some or all of the jobs.

    Attributes
    ----------
    inputs : str
        SHA-256 of all that the numbers are made of: jobs of other inputs do not add up.
    jobs : int
        Parts that the gallery was split into.
    done : tuple of int
        The parts that are counted, from 1.
    test_speakers : tuple of S str
    speaker : tuple of int
        The speaker of each test.
    beaten : tuple of int
        Of each test: the others, in these parts, who score at least as high as the right speaker.
    tied : tuple of int
        Those of them who score the same.
    named : tuple of Top
        Of each test: the highest score in these parts, and who has it; empty if unknown.
    n_enrolled : int
        Speakers in the gallery, distractors included.
    n_distractors : int
    not_enrolled : tuple of str
        Test speakers who are not enrolled; their utterances are left out.
    utterances_left_out : int
        Of these speakers, and leftovers that do not fill a conversation.
    length : int
        Utterances per test.
    without_vector : int
        Utterances of tests and enrollment that were left out, as they have no vector.
    singling_out : SinglingOutCurve
        Of the speakers who are enrolled and tested.
    enrollment_utterances : int
        Of all speakers in the gallery.
    """

    inputs: str = field(default="", kw_only=True)
    jobs: int = field(default=1, kw_only=True)
    done: tuple[int, ...] = field(default=(1,), kw_only=True)
    test_speakers: tuple[str, ...]
    speaker: tuple[int, ...]
    beaten: tuple[int, ...]
    n_enrolled: int
    n_distractors: int = 0
    not_enrolled: tuple[str, ...] = ()
    utterances_left_out: int = 0
    length: int = 1
    without_vector: int = 0
    singling_out: SinglingOutCurve = SinglingOutCurve()
    enrollment_utterances: int = 0
    tied: tuple[int, ...] = ()
    named: tuple[Top, ...] = ()

    @property
    def counts(self) -> IntArray:
        """`beaten` and `tied`, shape (2, tests)."""
        return np.array([self.beaten, self.tied], dtype=np.int64)

    @property
    def missing(self) -> int:
        """How many jobs' parts are not counted yet."""
        return self.jobs - len(self.done)


def merge_ranks(parts: Mapping[Path, RankedTests]) -> RankedTests:
    """Add the parts of several files.

    Parameters
    ----------
    parts : mapping of Path to RankedTests
        At least one.

    Returns
    -------
    RankedTests

    Raises
    ------
    PrivacyEvalError
        Other inputs, options or numbers of jobs; a part that is there twice.

    Examples
    --------
    >>> part = RankedTests(("s",), (0,), (3,), 9, tied=(0,), jobs=2)
    >>> other = replace(part, done=(2,), beaten=(1,))
    >>> merged = merge_ranks({Path("a"): part, Path("b"): other})
    >>> merged.done, merged.beaten
    ((1, 2), (4,))
    """
    first, *others = parts.items()
    path, merged = first
    for other, part in others:
        same = {name: getattr(merged, name) for name in ("done", "beaten", "tied", "named")}
        if replace(part, **same) != merged:
            raise PrivacyEvalError(f"{path}, {other}: ranks of other inputs, options or jobs")
        if twice := sorted({*merged.done} & {*part.done}):
            raise PrivacyEvalError(f"{path}, {other}: job {twice[0]} is in both")
        done = tuple(sorted((*merged.done, *part.done)))
        beaten = tuple(map(sum, zip(merged.beaten, part.beaten, strict=True)))
        tied = tuple(map(sum, zip(merged.tied, part.tied, strict=True)))
        named = merged_names(merged.named, part.named)
        merged = replace(merged, done=done, beaten=beaten, tied=tied, named=named)
    return merged


def write_ranks(path: Path, ranks: RankedTests) -> None:
    """Write ranks; the same ones give the same bytes.

    Parameters
    ----------
    path : Path
    ranks : RankedTests

    Raises
    ------
    PrivacyEvalError
        The file cannot be written.
    """
    plain = {"format": FORMAT, **to_plain(ranks)}
    write_text(path, json.dumps({**plain, "sha256": checksum(plain)}) + "\n")


def holds_ranks(path: Path) -> bool:
    """Tell whether a file begins as one of ranks.

    Parameters
    ----------
    path : Path

    Returns
    -------
    bool

    Raises
    ------
    PrivacyEvalError
        Unreadable.
    """
    with opened(path, path) as file, reading(path):
        return FORMAT.encode() in file.read(len(FORMAT) + 99)


def read_ranks(path: Path) -> RankedTests:
    """Read ranks and check them.

    Parameters
    ----------
    path : Path

    Returns
    -------
    RankedTests

    Raises
    ------
    PrivacyEvalError
        Unreadable; not a file of ranks; no checksum, or another one; numbers that contradict each
        other.
    """
    plain = load_json(path)
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise PrivacyEvalError(f"{path}: not a file of `privacy-eval identification --job`")
    take_checksum(plain, path, "identification --job")
    del plain["format"]
    ranks = from_plain(RankedTests, plain, str(path))
    counts = (ranks.n_distractors, ranks.utterances_left_out, ranks.without_vector)
    sound = ranks.done and (
        len(ranks.speaker) == len(ranks.beaten) > 0
        and all(0 <= n < len(ranks.test_speakers) for n in ranks.speaker)
        and all(0 <= n < ranks.n_enrolled for n in ranks.beaten)
        and len(ranks.tied) == len(ranks.beaten)
        and all(0 <= t <= n for t, n in zip(ranks.tied, ranks.beaten, strict=True))
        and min(*counts, ranks.length - 1) >= 0
        and 1 <= ranks.done[0] <= ranks.done[-1] <= ranks.jobs
        and all(a < b for a, b in itertools.pairwise(ranks.done))
        and len(ranks.named) in (0, len(ranks.beaten))
    )
    if not sound:
        raise PrivacyEvalError(f"{path}: jobs, tests or counts that contradict each other")
    return ranks


def read_all_ranks(path: Path) -> RankedTests:
    """Read the ranks of a whole gallery.

    Parameters
    ----------
    path : Path

    Returns
    -------
    RankedTests

    Raises
    ------
    PrivacyEvalError
        As `read_ranks`; a job is missing.
    """
    ranks = read_ranks(path)
    if ranks.missing:
        done = {*ranks.done}
        every = (str(job) for job in range(1, ranks.jobs + 1) if job not in done)
        raise PrivacyEvalError(
            f"{path}: {ranks.missing} of {ranks.jobs} jobs are missing, first {next(every)}: run "
            "them, then `privacy-eval merge`"
        )
    return ranks


#: Default gallery sizes, in addition to the whole gallery.
GALLERY_SIZES = tuple(f * 10**e for e in range(6) for f in (1, 2, 5) if f * 10**e > 1)
#: Maximum size of galleries in which speakers are compared: most trees enroll few more.
MAX_SPEAKERS_SIZE = 20


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
    instead : sequence of dict
        Rows of `named_instead`: those whom tests of others name most often; empty if `named` is.
    """

    sizes: tuple[int, ...]
    linkage: FloatArray
    rank: int
    bounds: tuple[Interval, ...] = ()
    instead: Sequence[dict[str, Any]] = ()

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
        rows = [
            {"metric": f"rank{self.rank}", "gallery": row["gallery"], "value": row["value"]}
            | {"chance": float(chance), "low": row["low"], "high": row["high"]}
            for row, chance in zip(self.rows_of_linkage, self.chance, strict=True)
        ]
        bits = rank_disclosure(np.bincount(self.beaten, minlength=self.n_enrolled))
        named = zip(("rank_disclosure", "rank_disclosure_max"), bits, strict=True)
        rows += [{"metric": name, "value": value, **whole} for name, value in named]
        instead = [{**row, "chance": 1 / self.n_enrolled} for row in self.rows_of_instead]
        return rows + self.singling_out.to_rows() + instead

    @property
    def rows_of_linkage(self) -> list[dict[str, Any]]:
        """The linkage with its bounds, by size of the gallery."""
        every = itertools.zip_longest(self.linkage.tolist(), self.bounds, self.sizes)
        return [
            {"metric": "linkage", "value": value, "low": of and of.low, "high": of and of.high}
            | {"gallery": size, "rank": self.rank}
            for value, of, size in every
        ]

    @property
    def rows_of_instead(self) -> list[dict[str, Any]]:
        """How often tests of others name people, the most often named ones."""
        place = {"metric": "named_instead", "gallery": self.n_enrolled, "rank": 1}
        return [{**place, **row} for row in self.instead]

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
    people, left_out = [names[place] for place in tested], len(trials.utterance.used) - len(own)
    counts = np.array([beaters(scores, own, compare) for compare in COMPARED])
    columns = people, speaker, counts, len(names)
    highest = Highest(speaker.size)
    highest.add(names, scores.T)
    ranks = ranked(*columns, utterances_left_out=left_out, singling_out=curve, named=highest.named)
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
    group_of: Mapping[str, str] = MappingProxyType({}),
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
    group_of : mapping of str to str
        See `named_instead`; empty for a single group.

    Returns
    -------
    Identification

    Raises
    ------
    PrivacyEvalError
        As `linkage_of_beaters`.
    """
    n_gallery = ranks.n_enrolled
    wanted = tuple(sizes or (*(n for n in GALLERY_SIZES if n < n_gallery), n_gallery))
    linkage = linkage_of_beaters(ranks.counts, n_gallery, wanted, rank)
    instead = named_instead(
        shares(ranks.speaker, ranks.named),
        ranks.test_speakers,
        np.bincount(ranks.speaker, minlength=len(ranks.test_speakers)),
        group_of or n_gallery,
        replicates=bootstrap,
        seed=seed,
    )
    attack = Identification(
        **vars(ranks), sizes=wanted, linkage=linkage, rank=rank, instead=instead
    )
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
