"""Estimates of run time, and balanced splitting into jobs.

The constants were measured as processor time of the command line: `metrics` of 10^5, 10^6 and
10^7 trials (with 0, 20 and 100 bootstrap replicates for the former two), `asv-scores` of 4 * 10^4
to 8 * 10^5 trials, `similarity` of 1000, 5400 and 20 000 utterances, both with x-vectors of 512
dimensions. Costs are only comparable within a stage.
"""

from __future__ import annotations

import contextlib
import heapq
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from ..io.files import GZIP_MAGIC, max_unpacked_bytes

T = TypeVar("T")

#: A line of a score file or trial key: speaker, utterance, and score or label; with gzip.
_LINE_BYTES, _PACKED_LINE_BYTES = 30.0, 8.0


def metrics_cost(trials: float, replicates: int = 0) -> float:
    """Estimate reading, pairing and evaluating a condition in both variants."""
    return 0.1 + trials * (1.1e-6 + 5e-8 * replicates)


def scoring_cost(trials: float) -> float:
    """Estimate scoring a list of trials."""
    return 0.2 + 2e-6 * trials


def similarity_cost(utterances: float) -> float:
    """Estimate the voice similarity of N original and N anonymized utterances."""
    return 0.2 + 2.4e-7 * utterances**2


def split(items: Sequence[T], costs: Sequence[float], job: tuple[int, int]) -> list[T]:
    """Return the work items of one of several jobs, in their original order.

    Items are assigned by decreasing cost to the least loaded job (Graham's
    longest-processing-time rule), so that no job takes longer than an equal share plus the
    costliest item. Jobs that are given the same costs compute the same split. `job` is the number
    of the job, from 1, and the number of jobs.
    """
    number, jobs = job
    loads = [(0.0, j) for j in range(1, jobs + 1)]
    chosen = []
    for index in sorted(range(len(items)), key=lambda i: -costs[i]):
        load, j = loads[0]
        heapq.heapreplace(loads, (load + costs[index], j))
        if j == number:
            chosen.append(index)
    return [items[i] for i in sorted(chosen)]


def estimate_lines(path: Path | None) -> float:
    """Estimate the trials of a score file or trial key from its size; 0 where it is absent.

    A gzip file ends with its unpacked size, so a decompression bomb is not taken for small.
    """
    if path is None or not path.is_file():
        return 0.0
    size = path.stat().st_size
    with contextlib.suppress(OSError), path.open("rb") as file:
        if file.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
            file.seek(-4, os.SEEK_END)
            unpacked = min(int.from_bytes(file.read(4), "little"), max_unpacked_bytes(size))
            return max(size / _PACKED_LINE_BYTES, unpacked / _LINE_BYTES)
    return size / _LINE_BYTES
