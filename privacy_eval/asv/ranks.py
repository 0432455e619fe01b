"""Ranks of tests in a gallery, of which array jobs may each compare a part: files that add up.

A file is JSON with a checksum. Those of the jobs hold how many speakers of their parts outscore the
right one, and sums of these numbers are exact: the merged file depends neither on the number of
jobs nor on the order of merging.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.files import opened, reading, write_text
from ..io.schema import checksum, from_plain, load_json, take_checksum, to_plain
from ..metrics.identification import SinglingOutCurve

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
        if replace(part, done=merged.done, beaten=merged.beaten, tied=merged.tied) != merged:
            raise PrivacyEvalError(f"{path}, {other}: ranks of other inputs, options or jobs")
        if twice := sorted({*merged.done} & {*part.done}):
            raise PrivacyEvalError(f"{path}, {other}: job {twice[0]} is in both")
        done = tuple(sorted((*merged.done, *part.done)))
        beaten = tuple(map(sum, zip(merged.beaten, part.beaten, strict=True)))
        tied = tuple(map(sum, zip(merged.tied, part.tied, strict=True)))
        merged = replace(merged, done=done, beaten=beaten, tied=tied)
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
