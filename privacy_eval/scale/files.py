"""Files of counted scores: a line of JSON with a checksum, then bins, targets and nontargets,
little-endian.

A list of trials that other parts of the scores also belong to is recorded, by its digest, until all
of its trials are counted; so the bytes depend neither on the parts nor on their order.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PrivacyEvalError, abbreviate, located
from ..io.files import Loaded, atomic_path, read_bytes
from ..io.schema import checksum, load_json, take_checksum
from ..metrics.pairing import pair_shard
from ..metrics.trials import Trials
from .counts import KEY_BITS, ScoreCounts, count_scores, merge_counts, sortable_key

_FORMAT = "privacy_eval counts 1"
_MOST_HEADER_BYTES = 1 << 20
#: Numbers that int64 sums and the products of two counts stay within.
_MOST_TRIALS = 1 << 40


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
    with atomic_path(path) as temporary:
        temporary.write_bytes(json.dumps(header).encode() + b"\n" + body)


def read_counts(path: Path) -> CountedShards:
    """Read counts and check them.

    Raises
    ------
    PrivacyEvalError
        Unreadable; no file of counts; truncated; no checksum, or another one; counts that
        contradict each other.
    """
    data = read_bytes(path)
    end = data.find(b"\n", 0, _MOST_HEADER_BYTES)
    try:
        if end < 0 or _FORMAT.encode() not in data[:end]:
            raise ValueError("not a file of `privacy-eval count`")
        return _parsed(path, load_json(Loaded(path, data[:end])), data[end + 1 :])
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise PrivacyEvalError(f"{path}: {error}") from error


def _parsed(path: Path, header: Any, data: bytes) -> CountedShards:
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
