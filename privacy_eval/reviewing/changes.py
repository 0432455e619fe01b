"""What changed between two results beyond noise: runs of one system, versions, seeds.

Numbers of whole sets are compared, of metrics that tables of several systems have, in the
protocol's variant. Where both have bootstrap replicates
of the same draws of speakers, the standard error of a difference is that of the paired replicates;
else it is that of two independent intervals. Student's t, with Holm's correction over all tests.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..choices import LEVEL
from ..errors import counted, enumerated
from ..metrics import describe
from ..metrics.confidence import BootstrapReplicates, holm, subtract
from ..protocol.protocol import ORIGINAL
from ..results.arrays import StoredArrays
from ..results.json_store import read_results
from ..results.measurements import CIRCUMSTANCES, Row, metric_of
from ..results.records import Record, Results
from ..results.rows import rows_of
from ..stages.access import EXTRACTOR_ROLE
from ..tree.conditions import Condition
from .verify import named_files

PAIRED, UNPAIRED = "paired bootstrap", "two intervals"
BEYOND, WITHIN = "beyond noise", "within noise"
SAME = "same files, same number"
SAME_FILES, UNTESTED = "same files, other number", "no interval"
OTHER_MODEL = "other encoder or back end"

#: Inputs that make values comparable only with those of the same ones.
_MODELS = (EXTRACTOR_ROLE, "plda", "mean.vec", "transform.mat")
_NAMES = ("name", "enrollment_set", "trial_set", "system")
_NORMAL = 1.959963984540054


@dataclass(frozen=True)
class Change:
    """A number in both results.

    Attributes
    ----------
    row : mapping
        The newer one.
    older : float
    state : str
    se, p, p_corrected : float or None
        Of the difference, newer minus older.
    low, high : float or None
        Its 95 % interval.
    test : str
    """

    row: Row
    older: float
    state: str
    se: float | None = None
    p: float | None = None
    low: float | None = None
    high: float | None = None
    test: str = ""
    p_corrected: float | None = None

    @property
    def difference(self) -> float:
        """The newer value minus the older one."""
        return float(subtract(self.row["value"], self.older))


def changes(newer: Path, older: Path) -> tuple[list[Change], list[str]]:
    """Compare two results; return what they share, and what is said of the rest.

    Raises
    ------
    PrivacyEvalError
        As `read_results` and `StoredArrays.of`.
    """
    both = [read_results(path) for path in (newer, older)]
    names = [results.systems for results in both]
    alone = {n[0]: "" for n in names if len(n) == 1} if all(len(n) == 1 for n in names) else {}
    found = [dict(_rows(results, alone)) for results in both]
    arrays = [
        StoredArrays([(results, path)]) for results, path in zip(both, (newer, older), strict=True)
    ]
    shared = [(of, found[1][key]) for key, of in found[0].items() if key in found[1]]
    models = [_models(results.records()) for results in both]
    numbers = [_change(*pair, arrays, models) for pair in shared]
    tested = [n for n in numbers if n.p is not None]
    corrected = iter(holm([n.p for n in tested if n.p is not None]))
    numbers = [n if n.p is None else _with_correction(n, next(corrected)) for n in numbers]
    return numbers, list(_notes(both, found))


def sentence(numbers: Iterable[Change]) -> str:
    """Say what changed."""
    of = Counter(number.state for number in numbers)
    tested = counted(of[WITHIN] + of[BEYOND], "tested number")
    said = [f"{of[BEYOND]} of {tested} changed beyond noise"]
    untested = (SAME, SAME_FILES, UNTESTED, OTHER_MODEL)
    said += [f"{of[state]} not tested ({state})" for state in untested if of[state]]
    return "; ".join(said)


def _with_correction(number: Change, p: float) -> Change:
    return replace(number, p_corrected=p, state=BEYOND if p < 1 - LEVEL else WITHIN)


def _rows(
    results: Results, alone: Mapping[str, str]
) -> Iterator[tuple[tuple[Any, ...], tuple[Record, Row]]]:
    """Yield the numbers of whole sets by what they are of; a single system has any name."""
    variants = (None, results.protocol.variant)
    seen = Counter[tuple[Any, ...]]()
    places = [f.name for f in fields(Condition) if f.name not in _NAMES]
    for record in results.records():
        c = record.condition
        of = (record.kind, alone.get(c.system, c.system), *(getattr(c, n) for n in places))
        for row in rows_of(record, whole=True):
            metric = metric_of(row["metric"])
            is_compared = metric.best is not None and (metric.compared or metric.kind != "scores")
            if is_compared and "value" in row and row.get("variant") in variants:
                names = (n for n in (*CIRCUMSTANCES, "metric") if n not in _NAMES)
                key = (*of, *(row.get(n) for n in names))
                seen[key] += 1
                yield (*key, seen[key]), (record, row)


def _change(
    newer: tuple[Record, Row],
    older: tuple[Record, Row],
    arrays: Sequence[StoredArrays],
    models: Sequence[Models],
) -> Change:
    """Compare a number with the older one, uncorrected."""
    (record, row), (earlier, before) = newer, older
    metric, values = row["metric"], (row["value"], before["value"])
    if _other_model(record, models):
        return Change(row, values[1], OTHER_MODEL)
    if _same_files(record, earlier):
        text = describe(metric).format
        same = text(values[0], detailed=True) == text(values[1], detailed=True)
        return Change(row, values[1], SAME if same else SAME_FILES)
    drawn = [_replicates(r, row, of) for r, of in zip((record, earlier), arrays, strict=True)]
    found = _paired(metric, *drawn) or _unpaired(row, before)
    difference = float(subtract(*values))
    if found is None or not math.isfinite(difference):
        return Change(row, values[1], UNTESTED)
    se, df, test = found
    from scipy.special import stdtr, stdtrit  # slow to import

    t = abs(difference) / se if se else math.inf if difference else 0.0
    half = float(stdtrit(df, (1 + LEVEL) / 2)) * se
    ends = (difference - half, difference + half)
    return Change(row, values[1], WITHIN, se, float(2 * stdtr(df, -t)), *ends, test)


def _replicates(record: Record, row: Row, arrays: StoredArrays) -> BootstrapReplicates | None:
    """Return the replicates of a number, if they are stored, or can be drawn."""
    if (sums := record.speaker_sums(row["metric"])) is not None:
        return sums.bootstrap()
    if record.kind != "verification":
        return None
    return arrays.replicates(record, row.get("variant", ""), row["metric"])


def _paired(
    metric: str, one: BootstrapReplicates | None, other: BootstrapReplicates | None
) -> tuple[float, float, str] | None:
    """Return the standard error of a difference of the same draws, and its degrees of freedom."""
    if one is None or other is None or (one.design, one.seed) != (other.design, other.seed):
        return None
    first, second, n = one.values[metric], other.values[metric], one.n_speakers
    if first.shape != second.shape or first.size < 2 or n < 2:
        return None
    deviation = float(np.std(subtract(first, second), ddof=1))
    # The bootstrap understates the spread of a mean of n by this factor.
    return None if math.isnan(deviation) else (deviation * math.sqrt(n / (n - 1)), n - 1, PAIRED)


def _unpaired(row: Row, before: Row) -> tuple[float, float, str] | None:
    """Return the standard error of the difference of two intervals, taken for independent."""
    widths = [of["high"] - of["low"] for of in (row, before) if "low" in of]
    if len(widths) < 2 or not all(map(math.isfinite, widths)):
        return None
    return math.hypot(*widths) / (2 * _NORMAL), math.inf, UNPAIRED


Models = Mapping[str, set[str]]


def _models(records: Iterable[Record]) -> dict[str, set[str]]:
    """Return the digests of encoders and back ends of original speech that records name; those
    trained on anonymized speech are a part of a run."""
    found: dict[str, set[str]] = {}
    for record in records:
        if record.condition.asv_model in ("", ORIGINAL) and record.condition.is_by_challenge:
            named = {role: sha256 for role, _, sha256 in named_files(record) if role in _MODELS}
            for role, digest in named.items():
                found.setdefault(role, set()).add(digest)
    return found


def _other_model(record: Record, both: Sequence[Models]) -> bool:
    """Whether a number is of models of which the other results have none: scores name them only
    where they were computed here."""
    own = _models([record]) or both[0]
    is_theirs = record.condition.asv_model == ORIGINAL and record.condition.is_by_challenge
    return is_theirs and any(
        not digests & both[1][role] for role, digests in own.items() if role in both[1]
    )


def _same_files(record: Record, earlier: Record) -> bool:
    """Whether both are made from the same files."""
    digests = [sorted(sha256 for *_, sha256 in named_files(r)) for r in (record, earlier)]
    return bool(digests[0]) and digests[0] == digests[1]


def _notes(both: list[Results], found: list[dict[Any, tuple[Record, Row]]]) -> Iterator[str]:
    """Say what else differs, and what is in one of the two only."""
    if both[0].protocol != both[1].protocol:
        names = [results.protocol.name for results in both]
        same = names[0] == names[1]
        yield f"the protocols differ: {'both ' + names[0] if same else ', older '.join(names)}"
    for what in ("version", "bootstrap", "seed"):
        told = [sorted({str(v) for r in of.records() for v in _settings(r, what)}) for of in both]
        if told[0] != told[1]:
            yield f"{what}: {enumerated(told[0]) or 'none'}, older {enumerated(told[1]) or 'none'}"
    for one, other, name in ((0, 1, "newer"), (1, 0, "older")):
        only = Counter(
            key[1] or both[one].systems[0] for key in found[one].keys() - found[other].keys()
        )
        for system, n in sorted(only.items()):
            yield f"only in the {name} results: {counted(n, 'number')} of {system}"
    if any(record.condition.asv_model == "anonymized" for record, _ in found[0].values()):
        yield "models trained on anonymized speech count as a part of the run"


def _settings(record: Record, name: str) -> list[Any]:
    """Return a setting that a record was made with."""
    options = record.provenance.get("options")
    of = record.provenance if name == "version" else options
    return [of[name]] if isinstance(of, Mapping) and name in of else []
