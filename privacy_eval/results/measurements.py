"""Measurements: a table with a row for every number, what it is of, its interval and its counts.

A row is *circumstances* (system, data set, attacker, group, gallery; those that do not apply are
blank), a *metric* in a *variant*, its *value*, the ends `low` and `high` of its 95 % interval,
*counts*, and *caveats*. Circumstances and counts are open sets: a new kind of number is a new row.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, known_names, library
from ..metrics import METRICS, Metric, describe
from ..metrics.printed import Printed, frame_of

Row = Mapping[str, Any]

#: What a number is of, in the order of columns. `against`: a row is the difference to it.
CIRCUMSTANCES = tuple(
    (
        "system results_folder name data_set split gender enrollment trial asv_model attack_model "
        "attacker group_by group against_group threshold gallery rank sentences speakers session "
        "speaker language_model asr_model fold attribute situation averaged source against"
    ).split()
)

#: How many a number is of, or leaves out.
COUNTS = tuple(
    (
        "n_target n_nontarget n_speakers n_available n_enrolled n_tests n_utterances n_words "
        "n_groups trials_without_score scores_without_trial utterances_left_out"
    ).split()
)

#: Counts of what was left out.
LEFT_OUT = ("trials_without_score", "scores_without_trial", "utterances_left_out")

#: What `select` takes for numbers of whole sets: not of some of the trials, and no differences.
_PARTS = ("group_by", "group", "gallery", "sentences", "session", "speaker", "fold", "situation")
WHOLE: Mapping[str, None] = MappingProxyType(dict.fromkeys((*_PARTS, "threshold", "against")))

#: Of the number itself. `se`, `p`: of a difference.
VALUES = ("variant", "metric", "unit", "value", "low", "high", "se", "p")

#: All columns in order.
COLUMNS = (*CIRCUMSTANCES, *COUNTS, *VALUES, "tag", "caveats")

#: Rates that are no metric of scores, matrices or speech.
_RATES = {
    "linkage": "rate of identification",
    "singling_out": "rate of singling out",
    "fmr": "false-match rate",
    "fnmr": "false-nonmatch rate",
    "inference_risk": "inference risk",
    "attribute_uar": "recall of attributes",
}

#: How far rates of groups are apart.
_GAPS = {"fmr_gap": "gap of false-match rates", "fnmr_gap": "gap of false-nonmatch rates"}
_RATIOS = {"fmr_ratio": "ratio of false-match rates", "fnmr_ratio": "ratio of false-nonmatch rates"}
_PERCENT: Mapping[str, Any] = {"percent": True, "counted": True, "decimals": 2}

_FURTHER: Mapping[str, Metric] = MappingProxyType(
    {
        **{k: Metric("scores", "fraction", n, **_PERCENT) for k, n in _RATES.items()},
        **{k: Metric("scores", "fraction", n, percent=True, decimals=1) for k, n in _GAPS.items()},
        **{k: Metric("scores", "", n, decimals=2) for k, n in _RATIOS.items()},
        "attribute_bits": Metric("scores", "bit", "information on attributes", decimals=2),
        "rank_disclosure": Metric("scores", "bit", "rank disclosure"),
        "rank_disclosure_max": Metric("scores", "bit", "largest rank disclosure"),
        "seconds": Metric("scores", "s", "seconds of speech", decimals=1),
        "raw_utterances": Metric("measures", "utterances", "utterances with original speech"),
    }
)

#: Names of rates by a pattern of their keys.
_FAMILIES = {"rank([0-9]+)": "Rank-{} rate", "acc_(.+)": "recall of {}"}

#: What `select` takes for any value.
PRESENT = object()


def metric_of(key: str) -> Metric:
    """Return the entry of a metric, also of rates that are no metric of scores."""
    for pattern, name in _FAMILIES.items():
        if key not in METRICS and (found := re.fullmatch(pattern, key)):
            return Metric("scores", "fraction", name.format(found[1]), **_PERCENT)
    return _FURTHER[key] if key in _FURTHER else describe(key)


class Measurements(Printed):
    """An immutable table of numbers, each with what it is of.

    Parameters
    ----------
    columns : mapping of str to array
        Of equal length; None where a row has no value.

    Examples
    --------
    >>> rows = [{"system": s, "metric": "eer", "value": v} for s, v in (("B1", 0.3), ("B2", 0.2))]
    >>> table = Measurements.of(rows)
    >>> table.select(system="B2")["value"].tolist()
    [0.2]
    """

    def __init__(self, columns: Mapping[str, NDArray[np.object_]]) -> None:
        self.columns = MappingProxyType(dict(columns))

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Measurements:
        """Make the table of rows, with the columns that any row has, known ones in their order."""
        rows = list(rows)
        given = dict.fromkeys(name for row in rows for name in row)
        names = [n for n in COLUMNS if n in given] + [n for n in given if n not in COLUMNS]
        columns = {}
        for name in names:
            columns[name] = np.empty(len(rows), dtype=object)
            columns[name][:] = [row.get(name) for row in rows]
            columns[name].flags.writeable = False
        return cls(columns)

    def __len__(self) -> int:
        return next((column.size for column in self.columns.values()), 0)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows, without blanks."""
        for values in zip(*self.columns.values(), strict=True):
            pairs = zip(self.columns, values, strict=True)
            yield {name: value for name, value in pairs if value is not None}

    def __getitem__(self, name: str) -> NDArray[np.object_]:
        """Return a column."""
        if name not in self.columns:
            raise PrivacyEvalError(f"no column {name}: {known_names(name, self.columns)}")
        return self.columns[name]

    def select(self, **wanted: object) -> Measurements:
        """Return the rows with certain values: one, one of a collection, None for a blank, or
        `PRESENT`."""
        chosen = np.ones(len(self), dtype=bool)
        for name, value in wanted.items():
            several = isinstance(value, Collection) and not isinstance(value, str)
            values: Any = value if several else (value,)
            column = self.columns.get(name)
            if column is None:
                chosen &= None in values
            elif value is PRESENT:
                chosen &= np.array([v is not None for v in column], dtype=bool)
            else:
                chosen &= np.array([v in values for v in column], dtype=bool)
        return self._where(chosen)

    def values(self, name: str) -> list[Any]:
        """List the distinct values of a column, blanks left out, in their order."""
        return [v for v in dict.fromkeys(self.columns.get(name, ())) if v is not None]

    def groups(self, *names: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
        """Return the rows by their values of some columns."""
        grouped: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in self:
            grouped.setdefault(tuple(row.get(name) for name in names), []).append(row)
        return grouped

    def to_rows(self) -> list[dict[str, Any]]:
        """List the rows, without blanks."""
        return list(self)

    def to_frame(self) -> Any:
        """Make a data frame of pandas, which must be installed."""
        return frame_of([dict.fromkeys(self.columns) | row | _told(row) for row in self])

    def to_arrow(self) -> Any:
        """Make a table of pyarrow, which must be installed."""
        arrow = library("pyarrow", "tables of Arrow")
        return arrow.Table.from_pandas(self.to_frame(), preserve_index=False)

    @property
    def heading(self) -> str:
        systems = ", ".join(map(str, self.values("system"))) or "no systems"
        return f"{len(self)} measurements of {systems}"

    def cells(self) -> list[dict[str, str]]:
        """Format the first and last rows: circumstances that differ, and the number."""
        rows = self.to_rows()
        shown = rows if len(rows) <= _SHOWN else [*rows[: _SHOWN // 2], {}, *rows[-_SHOWN // 2 :]]
        differ = (n for n in CIRCUMSTANCES if len({str(row.get(n)) for row in shown if row}) > 1)
        names = [n for n in differ if n != "name"] + ["variant", "metric", "value", "low", "high"]
        return [{n: _short(row.get(n)) if row else "..." for n in names} for row in shown]

    def in_variant(self, variant: str) -> Measurements:
        """Return the rows in a variant; of circumstances with a single variant these."""
        places = [tuple(row.get(name) for name in CIRCUMSTANCES) for row in self]
        stored = [row.get("variant") for row in self]
        there = {place for place, of in zip(places, stored, strict=True) if of == variant}
        pairs = zip(places, stored, strict=True)
        return self._where([of == variant or place not in there for place, of in pairs])

    def _where(self, chosen: Collection[bool] | NDArray[np.bool_]) -> Measurements:
        mask = np.asarray(chosen, dtype=bool)
        return Measurements({name: column[mask] for name, column in self.columns.items()})

    @property
    def lines(self) -> list[list[object]]:
        """The names of the columns and the rows, with text in place of caveats."""
        rows = (row | _told(row) if "caveats" in row else row for row in self)
        return [[*self.columns], *([row.get(n) for n in self.columns] for row in rows)]

    @functools.cached_property
    def csv_rows(self) -> list[list[object]]:
        """The header and the rows of results.csv: known columns always, others where they are."""
        names = [*COLUMNS, *(n for n in self.columns if n not in COLUMNS)]
        rows = (row | _told(row) for row in self if "value" in row)
        return [[*names], *([row.get(n) for n in names] for row in rows)]


#: Rows that are printed.
_SHOWN = 20


def _told(row: Row) -> dict[str, str]:
    """Return the caveats of a row as text."""
    return {"caveats": "; ".join(row.get("caveats", {}).values())}


def _short(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
