"""Scores as mergeable counts: metrics of any number of trials, each in a certified bracket.

Scores are rounded to float32, whose bits are sortable: a positive number gets its sign bit set, a
negative one all its bits inverted. The leading bits of this key are a bin. A table holds how many
target and nontarget scores each bin has, and the smallest and the largest score; tables of parts of
the trials add up. A bracket holds the exact value of all scores, whatever their order within bins;
with 32 bits a bin is a single number and the order of ties is the only one left open.

A file holds a line of JSON with a checksum, then bins, targets and nontargets, little-endian. A
list of trials that other parts of the scores also belong to is recorded, by its digest, until all
of its trials are counted; so the bytes depend neither on the parts nor on their order.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PrivacyEvalError, abbreviate, located
from ..io.files import Loaded, read_bytes, write_bytes
from ..io.schema import checksum, load_json, take_checksum
from ..metrics.arguments import as_array
from ..metrics.eer import equal_rate, hull
from ..metrics.linkability import MAX_BINS, TARGETS_PER_BIN
from ..metrics.llr import cllr_of_blocks, softplus
from ..metrics.pairing import pair_shard
from ..metrics.pav import FloatArray, Groups, IntArray, pav, with_laplace
from ..metrics.trials import Trials

#: Bits of a key; with all of them counts are exact.
KEY_BITS = 32
_SIGN = np.uint32(1 << (KEY_BITS - 1))

_FORMAT = "privacy_eval counts 1"
_MOST_HEADER_BYTES = 1 << 20
#: Numbers that int64 sums and the products of two counts stay within.
_MOST_TRIALS = 1 << 40


@dataclass(frozen=True)
class Bracket:
    """A value that is known between two bounds.

    Attributes
    ----------
    low, high : float
        Bounds, which may be reached.
    """

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class ScoreCounts:
    """Scores counted in bins.

    Attributes
    ----------
    bits : int
        Leading bits of the sortable key that make a bin, 1 to 32.
    bins : uint32 array, shape (B,)
        Bins in use, ascending.
    targets, nontargets : int arrays, shape (B,)
        Scores of each class per bin.
    smallest, largest : float
        Of all scores, as float32.
    """

    bits: int
    bins: NDArray[np.uint32]
    targets: IntArray
    nontargets: IntArray
    smallest: float
    largest: float

    @property
    def n_target(self) -> int:
        """Number of target scores."""
        return int(self.targets.sum())

    @property
    def n_nontarget(self) -> int:
        """Number of nontarget scores."""
        return int(self.nontargets.sum())


def sortable_key(scores: ArrayLike) -> NDArray[np.uint32]:
    """Return the bits of float32 scores so that they sort as the scores do.

    Parameters
    ----------
    scores : array_like, shape (P,)
        Rounded to float32; -0 counts as 0.

    Returns
    -------
    uint32 array, shape (P,)

    Examples
    --------
    >>> [f"{key:08x}" for key in sortable_key([-1.0, -0.0, 0.0, 1.0])]
    ['407fffff', '80000000', '80000000', 'bf800000']
    """
    keys = (np.asarray(scores, dtype=np.float32) + np.float32(0)).view(np.uint32)
    flipped = (keys.view(np.int32) >> 31).view(np.uint32)  # all bits of a negative number
    flipped |= _SIGN
    keys ^= flipped
    return keys


def _scores_of(keys: NDArray[np.uint32]) -> FloatArray:
    """Return the scores of sortable keys; NaN beyond those of the largest numbers."""
    bits = np.where(keys & _SIGN, keys & ~_SIGN, ~keys).astype(np.uint32)
    return bits.view(np.float32).astype(np.float64)


def count_scores(target: ArrayLike, nontarget: ArrayLike, *, bits: int = KEY_BITS) -> ScoreCounts:
    """Count scores by the leading bits of their sortable keys.

    Parameters
    ----------
    target, nontarget : array_like, shapes (T,) and (N,)
        Scores in any order; one of the two may be empty, as in a part of the trials.
    bits : int
        1 to 32; more make brackets narrower and tables larger.

    Returns
    -------
    ScoreCounts

    Raises
    ------
    PrivacyEvalError
        No score; one that is NaN, infinite or beyond float32.

    Examples
    --------
    >>> counts = count_scores([1.0, 2.0], [0.0, 1.0])
    >>> counts.targets, counts.nontargets
    (array([0, 1, 1]), array([1, 1, 0]))
    """
    with np.errstate(over="ignore"):
        arrays = (as_array(scores, "scores") for scores in (target, nontarget))
        classes = [array.astype(np.float32, copy=False) for array in arrays]
    ends = [end for c in classes if c.size for end in (float(c.min()), float(c.max()))]
    if not ends or not np.all(np.isfinite(ends)):
        raise PrivacyEvalError("expected scores that are finite as float32")
    shift = np.uint32(KEY_BITS - bits)
    keys = [sortable_key(c) for c in classes]
    for of_class in keys:
        of_class >>= shift
        of_class.sort()
    bins = _union(keys)
    targets, nontargets = (_numbers(bins, of_class) for of_class in keys)
    return ScoreCounts(bits, bins, targets, nontargets, min(ends) + 0.0, max(ends) + 0.0)


def _numbers(bins: NDArray[np.uint32], keys: NDArray[np.uint32]) -> IntArray:
    """Count the ascending keys in each bin."""
    numbers = np.searchsorted(keys, bins, side="right")
    numbers[1:] -= numbers[:-1].copy()
    return numbers


def _placed(bins: NDArray[np.uint32], own: NDArray[np.uint32], counts: IntArray) -> IntArray:
    """Return counts of some bins as counts of all bins."""
    placed = np.zeros(bins.size, dtype=np.int64)
    placed[np.searchsorted(bins, own)] = counts
    return placed


def merge_counts(tables: Sequence[ScoreCounts]) -> ScoreCounts:
    """Add counts of parts of the trials; the result does not depend on order or parts.

    Parameters
    ----------
    tables : sequence of ScoreCounts
        At least one.

    Returns
    -------
    ScoreCounts

    Raises
    ------
    PrivacyEvalError
        Tables of different bits.

    Examples
    --------
    >>> merged = merge_counts([count_scores([1.0], [0.0]), count_scores([1.0], [2.0])])
    >>> merged.targets, merged.nontargets
    (array([0, 2, 0]), array([1, 0, 1]))
    """
    if len({table.bits for table in tables}) > 1:
        several = " and ".join(str(bits) for bits in sorted({table.bits for table in tables}))
        raise PrivacyEvalError(f"counts of {several} bits do not add up")
    bins = _union([table.bins for table in tables])
    targets, nontargets = np.zeros((2, bins.size), dtype=np.int64)
    for table in tables:
        targets += _placed(bins, table.bins, table.targets)
        nontargets += _placed(bins, table.bins, table.nontargets)
    ends = min(table.smallest for table in tables), max(table.largest for table in tables)
    return ScoreCounts(tables[0].bits, bins, targets, nontargets, *ends)


def _union(bins: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """Return the distinct bins, ascending; `np.union1d` hashes, which takes 50 times as long."""
    together = np.concatenate(bins)
    together.sort()
    begins = np.ones(together.size, dtype=bool)
    np.not_equal(together[1:], together[:-1], out=begins[1:])
    return np.asarray(together[begins])


def count_metrics(counts: ScoreCounts) -> dict[str, Any]:
    """Compute metrics of counted scores, each in a bracket that holds its exact value.

    Parameters
    ----------
    counts : ScoreCounts

    Returns
    -------
    dict
        `n_target` and `n_nontarget`; brackets of rates as fractions: `eer_kaldi`, a float32 as
        Kaldi computes it, `eer_crossing`, where miss and false-alarm rates cross, which the rates
        at tied scores leave open, and `eer_rocch`, all three higher if more private; of
        `cllr_min`, in bits, and of `linkability`, lower if more private. `zebra_individual`, in
        log10, and `cllr`, in bits, are exact; None below 32 bits.

    Raises
    ------
    PrivacyEvalError
        No target scores or no nontarget scores.

    Examples
    --------
    >>> metrics = count_metrics(count_scores([1.0, 3.0], [0.0, 2.0]))
    >>> metrics["eer_rocch"], metrics["cllr_min"].low
    (Bracket(low=0.25, high=0.25), 0.5)
    >>> count_metrics(count_scores([1.0, 3.0], [0.0, 2.0], bits=8))["cllr"] is None
    True
    """
    for name, number in (("target", counts.n_target), ("nontarget", counts.n_nontarget)):
        if not number:
            raise PrivacyEvalError(f"no {name} scores")
    # The worst order within a bin, targets first, has the hull of a tie; the best one splits it.
    tied, is_exact = Groups(counts.targets, counts.nontargets), counts.bits == KEY_BITS
    blocks = [pav(_runs(tied if is_exact else _nontargets_first(tied))), pav(_runs(tied))]
    eers = [equal_rate(*hull(b)) for b in blocks]
    costs = [float(cllr_of_blocks(b)[0]) for b in blocks]
    zebra = cllr = None
    if is_exact:
        llr = with_laplace(blocks[1]).llr
        zebra = float(max(abs(llr[0]), abs(llr[-1]))) / math.log(10)
        cllr = _cllr(counts)
    return {
        "n_target": counts.n_target,
        "n_nontarget": counts.n_nontarget,
        "eer_kaldi": _kaldi_eer(counts),
        "eer_crossing": _crossing(counts),
        "eer_rocch": Bracket(min(eers), max(eers)),
        "cllr_min": Bracket(min(costs), max(costs)),
        "linkability": _linkability(counts),
        "zebra_individual": zebra,
        "cllr": cllr,
    }


def _nontargets_first(groups: Groups) -> Groups:
    """Split each bin into its nontargets and, above them, its targets."""
    split = np.zeros((2, groups.targets.size, 2), dtype=np.int64)
    split[0, :, 1], split[1, :, 0] = groups.targets, groups.nontargets
    targets, nontargets = split.reshape(2, -1)
    used = targets + nontargets > 0
    return Groups(targets[used], nontargets[used])


def _runs(groups: Groups) -> Groups:
    """Join neighbouring bins that hold the same class alone, as PAV would, but at once."""
    kind = np.sign(groups.targets) - np.sign(groups.nontargets)  # 0: both classes
    starts = np.flatnonzero(np.append(True, (kind[1:] != kind[:-1]) | (kind[1:] == 0)))
    of_classes = (groups.targets, groups.nontargets)
    return Groups(*(np.add.reduceat(numbers, starts) for numbers in of_classes))


def _cllr(counts: ScoreCounts) -> float:
    scores = _scores_of(counts.bins)
    of_targets = softplus(-scores) @ (counts.targets / counts.n_target)
    of_nontargets = softplus(scores) @ (counts.nontargets / counts.n_nontarget)
    return float(of_targets + of_nontargets) / (2 * math.log(2))


def _kaldi_eer(counts: ScoreCounts) -> Bracket:
    """Follow Kaldi's search for the first target above its nontarget: certain where the bin of the
    nontarget is lower, possible where it is the same."""
    t, n = counts.n_target, counts.n_nontarget
    target_bin = np.repeat(np.arange(counts.bins.size), counts.targets)
    i = np.arange(t)
    j = np.maximum(0, n - 1 - (n * i / t).astype(np.int64))
    nontarget_bin = np.searchsorted(np.cumsum(counts.nontargets), j, side="right")
    is_last = i == t - 1
    certain = int(np.argmax((nontarget_bin < target_bin) | is_last))
    possible = int(np.argmax((nontarget_bin <= target_bin) | is_last))
    low = certain if counts.bits == KEY_BITS else possible
    return Bracket(float(np.float32(low / t)), float(np.float32(certain / t)))


def _crossing(counts: ScoreCounts) -> Bracket:
    """Bound the rate at the crossing by those on either side of it."""
    missed = np.append(0, np.cumsum(counts.targets))
    accepted = counts.n_nontarget - np.append(0, np.cumsum(counts.nontargets))
    miss, false_alarm = missed / counts.n_target, accepted / counts.n_nontarget
    at = int(np.argmax(miss >= false_alarm))
    low = max(miss[at - 1], false_alarm[at])
    return Bracket(float(low), float(min(miss[at], false_alarm[at - 1])))


def _linkability(counts: ScoreCounts) -> Bracket:
    """Bound linkability, whose histogram's edges cut bins: their scores are on either side.

    The share of a histogram bin, a (a - b) / (a + b) where its targets' share a exceeds the
    nontargets' b, rises with a and falls with b.
    """
    if counts.smallest == counts.largest:
        return Bracket(0.0, 0.0)
    number = max(1, min(counts.n_target // TARGETS_PER_BIN, MAX_BINS))
    edges = np.linspace(counts.smallest, counts.largest, number + 1)
    shift = np.uint32(KEY_BITS - counts.bits)
    lowest = counts.bins.astype(np.uint32) << shift
    ends = lowest, lowest | np.uint32((1 << int(shift)) - 1)
    first, last = (
        np.minimum(np.searchsorted(edges, _inside(counts, keys), side="right") - 1, number - 1)
        for keys in ends
    )
    certain, possible = [], []
    for of_class, total in (
        (counts.targets, counts.n_target),
        (counts.nontargets, counts.n_nontarget),
    ):
        whole = np.where(first == last, of_class, 0)
        certain.append(np.bincount(first, whole, number) / total)
        begun = np.bincount(first, of_class, number + 1) - np.bincount(
            last + 1, of_class, number + 1
        )
        possible.append(np.cumsum(begun)[:number] / total)
    low, high = _linked(certain[0], possible[1]), _linked(possible[0], certain[1])
    return Bracket(low, min(1.0, high))


def _inside(counts: ScoreCounts, keys: NDArray[np.uint32]) -> FloatArray:
    """Return the scores of keys within the range of the scores; the ends of the first and last bin
    may be no numbers."""
    scores = np.clip(keys, *sortable_key([counts.smallest, counts.largest]))
    return _scores_of(scores.astype(np.uint32))


def _linked(a: FloatArray, b: FloatArray) -> float:
    linked = a > b
    return float(np.sum(a[linked] * (a[linked] - b[linked]) / (a[linked] + b[linked])))


@dataclass(frozen=True)
class CountedShards:
    """Counted scores of parts of the trials.

    Attributes
    ----------
    counts : ScoreCounts
    unfinished : mapping
        Of each list of trials that is not fully counted, by digest: trials listed, and counted.
    """

    counts: ScoreCounts
    unfinished: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        """Listed trials without a score."""
        return sum(listed - counted for listed, counted in self.unfinished.values())


def count_shard(scores: Trials, trials: Trials | None, bits: int) -> CountedShards:
    """Count the scores of a file, whose trials may be only a part of those of the list.

    Parameters
    ----------
    scores : Trials
    trials : Trials or None
        The list; None if the scores have labels.
    bits : int
        As in `count_scores`.

    Returns
    -------
    CountedShards

    Raises
    ------
    PrivacyEvalError
        A score without its trial; a score beyond float32.
    """
    labelled = pair_shard(scores, trials)
    listed = scores if trials is None else trials
    with located(scores.name):
        counts = count_scores(
            *(labelled.score[rows] for rows in (labelled.is_target, ~labelled.is_target)), bits=bits
        )
    return _finished(counts, {listed.origins[0].digest: (len(listed), len(labelled))})


def merge_shards(shards: Mapping[Path, CountedShards]) -> CountedShards:
    """Add the counts of several files.

    Parameters
    ----------
    shards : mapping of Path to CountedShards

    Returns
    -------
    CountedShards

    Raises
    ------
    PrivacyEvalError
        Different bits; more scores than trials of a list.
    """
    lists: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for shard in shards.values():
        for digest, numbers in shard.unfinished.items():
            lists[digest].append(numbers)
    sums = {of: (most[0][0], sum(counted for _, counted in most)) for of, most in lists.items()}
    if any(counted > listed for listed, counted in sums.values()):
        names = abbreviate([str(path) for path in shards])
        raise PrivacyEvalError(
            f"{names}: more scores than trials of the list: a part is counted twice"
        )
    return _finished(merge_counts([shard.counts for shard in shards.values()]), sums)


def _finished(counts: ScoreCounts, lists: Mapping[str, tuple[int, int]]) -> CountedShards:
    """Leave out the lists of which all trials are counted."""
    return CountedShards(counts, {of: (n, m) for of, (n, m) in sorted(lists.items()) if m < n})


def write_counts(path: Path, shards: CountedShards) -> None:
    """Write counts; the same counts give the same bytes.

    Parameters
    ----------
    path : Path
    shards : CountedShards

    Raises
    ------
    PrivacyEvalError
        The file cannot be written.
    """
    counts = shards.counts
    header = {
        "format": _FORMAT,
        "bits": counts.bits,
        "bins": counts.bins.size,
        "smallest": counts.smallest,
        "largest": counts.largest,
        "unfinished": {of: list(numbers) for of, numbers in sorted(shards.unfinished.items())},
    }
    body = counts.bins.astype("<u4").tobytes()
    body += np.concatenate([counts.targets, counts.nontargets]).astype("<i8").tobytes()
    header["sha256"] = checksum(header, body)
    write_bytes(path, json.dumps(header).encode() + b"\n" + body)


def read_counts(path: Path) -> CountedShards:
    """Read counts and check them.

    Parameters
    ----------
    path : Path

    Returns
    -------
    CountedShards

    Raises
    ------
    PrivacyEvalError
        Unreadable; no file of counts; truncated; no checksum, or another one; counts that
        contradict each other.
    """
    content = read_bytes(path)
    try:
        return _parsed(path, content)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise PrivacyEvalError(f"{path}: {error}") from error


def _parsed(path: Path, content: bytes) -> CountedShards:
    end = content.find(b"\n", 0, _MOST_HEADER_BYTES)
    if end < 0 or _FORMAT.encode() not in content[:end]:
        raise ValueError("not a file of `privacy-eval count`")
    header: Any = load_json(Loaded(path, content[:end]))
    data = content[end + 1 :]
    bits, n_bins = header["bits"], header["bins"]
    ends = float(header["smallest"]), float(header["largest"])
    if not (type(bits) is type(n_bins) is int and 1 <= bits <= KEY_BITS):
        raise ValueError("expected whole numbers of bits and bins")
    if len(data) != 20 * n_bins or not n_bins:
        raise ValueError(f"expected {20 * n_bins} bytes of counts, found {len(data)}: truncated?")
    take_checksum(header, path, "count", data)
    bins = np.frombuffer(data, "<u4", n_bins).astype(np.uint32)
    numbers = np.frombuffer(data, "<i8", 2 * n_bins, 4 * n_bins).astype(np.int64).reshape(2, -1)
    keys = sortable_key(ends) >> np.uint32(KEY_BITS - bits)
    if not (
        np.all(np.isfinite(ends))
        and np.array_equal(keys, bins[[0, -1]])
        and np.all(bins[1:] > bins[:-1])
        and np.all((numbers >= 0) & (numbers <= _MOST_TRIALS))
        and np.all(numbers.sum(axis=0) > 0)
        and numbers.sum(dtype=np.float64) <= _MOST_TRIALS
    ):
        raise ValueError("bins, counts or extremes that contradict each other: damaged?")
    lists = {str(of): _listed(both) for of, both in header["unfinished"].items()}
    targets, nontargets = numbers
    return CountedShards(ScoreCounts(bits, bins, targets, nontargets, *ends), lists)


def _listed(numbers: Sequence[Any]) -> tuple[int, int]:
    listed, counted = numbers
    if not (type(listed) is int and type(counted) is int and 0 <= counted < listed):
        raise ValueError(f"unfinished: expected trials listed and fewer counted, not {numbers}")
    return listed, counted
