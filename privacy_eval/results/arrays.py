"""The curves and matrices stored beside records, from which figures are drawn."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from ..io.arrays import parse_arrays
from ..io.files import digest, read_bytes
from ..metrics import VARIANTS
from ..metrics.confidence import BootstrapReplicates
from ..tree.conditions import Condition
from .records import Record, Results, compared_attackers

Arrays = Mapping[str, NDArray[Any]]


class StoredArrays:
    """Curves of the records of some results.json files.

    Parameters
    ----------
    sources : iterable of (Results, Path)
        Results as they were read, and the file; `records/` is beside it.
    """

    def __init__(self, sources: Iterable[tuple[Results, Path]]) -> None:
        self._folders: dict[tuple[str, str], list[Path]] = {}
        for results, path in sources:
            for system in results.systems:
                for suffix in results.results_folders(system):
                    folders = self._folders.setdefault((system, suffix), [])
                    folders.append(path.parent / "records")
        self._plotted: dict[str, Arrays | None] = {}
        self._replicates: dict[tuple[Condition, str | None, str], Arrays] = {}

    def absent(self, results: Results) -> int:
        """Count the records whose curves are missing beside the results."""
        records: list[Record]
        records = [*results.verification, *results.similarity]
        return sum(r.curves is not None and not self._paths(r) for r in records)

    def of(self, record: Record) -> Arrays | None:
        """Return the arrays of a record by name; None if it has none (imported results) or
        they are missing beside the results.

        Raises
        ------
        PrivacyEvalError
            They are not those that the record was written with.
        """
        paths = self._paths(record)
        if not paths:
            return None
        for path in paths:
            content = read_bytes(path)
            if digest(content) == record.curves_sha256:
                break
        else:
            raise PrivacyEvalError(
                f"{path}: does not match the record in results.json; run stages 6 to 8 again"
            )
        arrays = parse_arrays(content, path)
        wrong = _wrong(arrays)
        if wrong:
            raise PrivacyEvalError(f"{path}: no curves as evaluation stores them: {wrong}")
        return arrays

    def plotted(self, record: Record) -> Arrays | None:
        """Return the arrays of a record without its bootstrap replicates; cached, as they are
        small and every kind of figure needs them."""
        key = f"{record.curves} {record.curves_sha256}"
        if key not in self._plotted:
            arrays = self.of(record)
            small = {n: a for n, a in (arrays or {}).items() if not n.startswith("bootstrap_")}
            self._plotted[key] = None if arrays is None else small
        return self._plotted[key]

    def replicates(self, record: Record, variant: str, metric: str) -> BootstrapReplicates | None:
        """Return the bootstrap replicates of a metric of a record; None if there are none. All of
        the variant are cached, as the averages of every metric need them."""
        key = record.condition, record.curves_sha256, variant
        if key not in self._replicates:
            others = tuple(f"bootstrap_{v}_" for v in VARIANTS if v != variant)
            self._replicates[key] = {
                name: array
                for name, array in (self.of(record) or {}).items()
                if name.startswith("bootstrap_") and not name.startswith(others)
            }
        arrays, name = self._replicates[key], f"bootstrap_{variant}_{metric}"
        if not {name, *_DESIGN} <= arrays.keys():
            return None
        design, seed, n_speakers = (arrays[entry].item() for entry in _DESIGN)
        values = {metric: arrays[name].astype(np.float64)}
        return BootstrapReplicates(values, int(n_speakers), str(design), int(seed))

    def _paths(self, record: Record) -> list[Path]:
        """List candidate paths of a record's curves: a system may be spread over several files,
        each with its own `records/`."""
        name = Path(record.curves or "/")
        if name.is_absolute() or ".." in name.parts:
            return []
        folders = self._folders.get((record.condition.system, record.condition.results_folder), [])
        return [f / name for f in folders if os.path.isfile(f / name)]


#: Intervals of the miss rate at some false-alarm rates.
DET_BAND = ("det_band_false_alarm", "det_band_low", "det_band_high")

#: Curves that have a value for each point of one axis.
_ALIKE = (
    (
        "prior_log_odds",
        "ece_zero_evidence",
        "ece_minimum",
        "ece_actual",
        "dcf_minimum",
        "dcf_actual",
    ),
    ("det_miss", "det_false_alarm"),
    DET_BAND,
    ("linkability_target_mass", "linkability_nontarget_mass", "linkability_local"),
    ("density_scores", "density_target", "density_nontarget"),
)

_TEXTS = ("speakers", "bootstrap_design")

_NUMBERS = ("bootstrap_seed", "bootstrap_speakers")
#: Of the draws, each a single value.
_DESIGN = ("bootstrap_design", *_NUMBERS)


def _wrong(arrays: Arrays) -> str:
    """Describe what is wrong with the arrays of a record, "" if nothing: records may be
    untrusted."""
    for name, array in arrays.items():
        if name in _TEXTS:
            if array.dtype.kind != "U":
                return f"{name} is no text"
        elif array.dtype.kind not in ("iu" if name in _NUMBERS else "fiu"):
            return f"{name} is no whole number" if name in _NUMBERS else f"{name} is not numeric"
        elif np.isnan(array).any():
            return f"{name} has values that are not numbers"
        if name.startswith(tuple(f"{variant}_" for variant in VARIANTS)):
            if array.ndim != 2 or not array.size or array.shape[0] != array.shape[1]:
                return f"{name} is not a square matrix"
        elif array.ndim != (name not in _DESIGN):
            return f"{name} has {array.ndim} dimensions"
    for names in (*_ALIKE, [name for name in arrays if name.startswith(VARIANTS)]):
        sizes = {name: arrays[name].size for name in names if name in arrays}
        if sizes and (len(set(sizes.values())) > 1 or min(sizes.values()) < 1):
            return f"{', '.join(sizes)} are of the sizes {', '.join(map(str, sizes.values()))}"
    edges, mass = arrays.get("linkability_edges"), arrays.get("linkability_target_mass")
    if edges is not None and mass is not None:
        if edges.size != mass.size + 1 or not np.all(np.diff(edges) > 0):
            return "linkability_edges do not bound the bins"
    return ""


def with_differences(results: Results, arrays: StoredArrays) -> Results:
    """Add the intervals of the paired differences that caveats depend on."""
    protocol, records = results.protocol, []
    for record, others in compared_attackers(results.verification, protocol):
        above = {}
        for other in (o for of_key in others.values() for o in of_key):
            key = protocol.variant, protocol.eer
            one, two = (arrays.replicates(r, *key) for r in (record, other))
            if one and two and (bounds := one.above(two, protocol.eer)):
                above[other.condition.attacker] = bounds
        records.append(record.with_facts(above=above) if above else record)
    return replace(results, verification=tuple(records))
