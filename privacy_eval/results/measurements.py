"""Measurements: a table with a row for every number, what it is of, its interval and its counts.

A row is *circumstances* (system, data set, attacker, group, gallery; those that do not apply are
blank), a *metric* in a *variant*, its *value*, the ends `low` and `high` of its 95 % interval,
*counts*, and *caveats*. Circumstances and counts are open sets: a new kind of number is a new row.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, known_names, library, printable
from ..io.schema import from_plain
from ..metrics import Metric, describe
from ..metrics.printed import Printed, frame_of
from ..metrics.registry import Label

Row = Mapping[str, Any]

#: What a number is of, in the order of columns. `against`: a row is the difference to it.
CIRCUMSTANCES = tuple(
    (
        "system results_folder name data_set split gender enrollment trial asv_model attack_model "
        "attacker group_by group against_group threshold gallery rank sentences speakers session "
        "speaker language_model asr_model fold attribute situation averaged source against"
    ).split()
)

#: Circumstances of listening tests and metric studies, and what their numbers have besides: columns
#: where they are. `printed`: digits that are shown as they are.
_FURTHER_CIRCUMSTANCES = tuple(
    (
        "quantity evaluator experiment case labels key deviations enrolled speech technique "
        "selection linkage design true_eer"
    ).split()
)
FURTHER = (
    *_FURTHER_CIRCUMSTANCES,
    *("n_ratings", "n_listeners", "n_sets", "n_replicates", "p_corrected", "printed"),
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

#: The type of each column.
_KINDS: Mapping[str, Any] = {
    **dict.fromkeys((*COLUMNS, *FURTHER), str),
    **{name: int for name in (*COUNTS, *FURTHER) if name.startswith("n_")},
    **dict.fromkeys(("gallery", "rank", "sentences", *LEFT_OUT), int),
    **dict.fromkeys(("value", "low", "high", "se", "p", "p_corrected", "threshold"), float),
    "caveats": Mapping[str, str],
}

#: Rates that are no metric of scores, matrices or speech.
_RATES = {
    "rank1": "Rank-1 rate",
    "linkage": "rate of identification",
    "singling_out": "rate of singling out",
    "fmr": "false-match rate",
    "fnmr": "false-nonmatch rate",
    "inference_risk": "inference risk",
    "attribute_uar": "recall of attributes",
}

#: Normalized ratings of a system: their mean and quartiles.
RANKS = {
    "rank_mean": "mean normalized rank",
    "rank_lower_quartile": "lower quartile of normalized ranks",
    "rank_median": "median of normalized ranks",
    "rank_upper_quartile": "upper quartile of normalized ranks",
}

#: Ratings as given, of a system or an evaluator.
_AS_GIVEN = {
    "rating_mean": "mean rating",
    "rating_lowest": "lowest rating",
    "rating_highest": "highest rating",
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
        **{k: Metric("utility", "normalized rank", n) for k, n in RANKS.items()},
        **{k: Metric("utility", "rating", n, decimals=2) for k, n in _AS_GIVEN.items()},
        "opinion": Metric("utility", "rating", "mean opinion score", decimals=2),
        "mann_whitney": Metric("utility", "pairs", "U of Mann and Whitney"),
        "share_below": Metric("scores", "fraction", "x", column_label=Label("x", "$x$")),
        "cllr_min_formula": Metric(
            "scores",
            "bit",
            "min Cllr by formula",
            column_label=Label(*(f"{title} by formula" for title in describe("cllr_min").column)),
        ),
        "ceiling": Metric(
            "scores",
            "log10 LR",
            "ceiling of the worst-case disclosure",
            column_label=Label("Ceiling, log10 LR", r"Ceiling, $\log_{10}(l)$"),
        ),
        "curve_eer": Metric("scores", "fraction", "equal error rate of the DET curve", **_PERCENT),
        "rating_values": Metric("utility", "values", "distinct ratings"),
        "agreement": Metric("utility", "", "rank correlation with other evaluators", decimals=2),
        "seconds": Metric("scores", "s", "seconds of speech", decimals=1),
        "raw_utterances": Metric("measures", "utterances", "utterances with original speech"),
    }
)

#: What `select` takes for any value.
PRESENT = object()


def metric_of(key: str) -> Metric:
    """Return the entry of a metric, also of rates that are no metric of scores."""
    return _FURTHER[key] if key in _FURTHER else describe(key)


def measured(
    metric: str,
    value: float | None,
    bounds: Sequence[float | None] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a row of a metric, with its unit unless another one is given; None is a blank."""
    low, high = bounds or (None, None)
    unit = more.pop("unit", "") or metric_of(metric).unit
    return {**more, "metric": metric, "unit": unit, "value": value, "low": low, "high": high}


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

    @classmethod
    def from_plain(cls, plain: object, where: str) -> Measurements:
        """Read the rows of a JSON file.

        Parameters
        ----------
        plain : object
            As `to_rows`, with infinite numbers as in `io.schema`.
        where : str
            Beginning of the message of any error.

        Raises
        ------
        PrivacyEvalError
            No list of rows, an unknown column, a value of another type.
        """
        rows = from_plain(tuple[Mapping[str, Any], ...], plain, where)
        for number, row in enumerate(rows):
            for name in row:
                if name not in _KINDS:
                    known = known_names(name, _KINDS)
                    raise PrivacyEvalError(f"{where}[{number}]: {printable(name)}: {known}")
        return cls.of(
            {n: from_plain(_KINDS[n], v, f"{where}[{i}].{n}") for n, v in row.items()}
            for i, row in enumerate(rows)
        )

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
        names = (*CIRCUMSTANCES, *_FURTHER_CIRCUMSTANCES)
        places = [tuple(row.get(name) for name in names) for row in self]
        stored = [row.get("variant") for row in self]
        there = {place for place, of in zip(places, stored, strict=True) if of == variant}
        pairs = zip(places, stored, strict=True)
        return self._where([of == variant or place not in there for place, of in pairs])

    def _where(self, chosen: Collection[bool] | NDArray[np.bool_]) -> Measurements:
        mask = np.asarray(chosen, dtype=bool)
        return Measurements({name: column[mask] for name, column in self.columns.items()})

    @functools.cached_property
    def csv_rows(self) -> list[list[object]]:
        """The header and the rows of results.csv: known columns always, others where they are."""
        return self._csv([*COLUMNS, *(n for n in self.columns if n not in COLUMNS)])

    @property
    def compact_csv_rows(self) -> list[list[object]]:
        """The header and the rows, of the columns that are there."""
        return self._csv([*self.columns])

    def _csv(self, names: Sequence[str]) -> list[list[object]]:
        rows = (row | _told(row) for row in self if "value" in row)
        return [[*names], *([row.get(n) for n in names] for row in rows)]


#: Rows that are printed.
_SHOWN = 20


def _told(row: Row) -> dict[str, str]:
    """Return the caveats of a row as text."""
    return {"caveats": "; ".join(row.get("caveats", {}).values())}


def _short(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
