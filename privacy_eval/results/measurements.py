"""Measurements: a table with a row for every number, what it is of, its interval and its counts.

A row is *circumstances* (system, data set, attacker, group, gallery; those that do not apply are
blank), a *metric* in a *variant*, its *value*, the ends `low` and `high` of its 95 % interval,
*counts*, and *caveats*. Circumstances and counts are open sets: a new kind of number is a new row.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, known_names, library, printable
from ..io.schema import from_plain
from ..metrics import METRICS, Metric, describe, withholding_caveat
from ..metrics.printed import Printed, frame_of
from ..metrics.registry import Label
from ..wings import of_wings

Row = Mapping[str, Any]

#: What a number is of, in the order of columns. `against`: a row is the difference to it.
_CORE = tuple(
    (
        "system results_folder name data_set split gender enrollment trial asv_model attack_model "
        "attacker group_by group against_group threshold gallery rank sentences speakers session "
        "speaker language_model asr_model fold attribute situation averaged source against"
    ).split()
)

#: Circumstances of listening tests, metric studies and costs, and what their numbers have besides:
#: columns where they are. `printed`: digits that are shown as they are.
_FURTHER_CIRCUMSTANCES = tuple(
    (
        "quantity evaluator experiment case labels key deviations enrolled speech technique "
        "selection linkage design true_eer duration machine"
    ).split()
)
FURTHER = (
    *_FURTHER_CIRCUMSTANCES,
    *("n_ratings", "n_listeners", "n_sets", "n_replicates", "p_corrected", "printed"),
)

#: How many a number is of, or leaves out.
_CORE_COUNTS = tuple(
    (
        "n_target n_nontarget n_speakers n_available n_enrolled n_tests n_utterances n_words "
        "n_groups trials_without_score scores_without_trial utterances_left_out"
    ).split()
)

#: Of the number itself. `se`, `p`: of a difference.
VALUES = ("variant", "metric", "unit", "value", "low", "high", "se", "p")

#: Titles of circumstances that wings add, and of all that they add.
ADDED = of_wings("circumstances", (*_CORE, *_CORE_COUNTS, *VALUES))
TITLES = ADDED | of_wings("counts", (*_CORE, *ADDED, *_CORE_COUNTS, *VALUES))
CIRCUMSTANCES = (*_CORE, *ADDED)
COUNTS = (*_CORE_COUNTS, *(name for name in TITLES if name not in ADDED))

#: Counts of what was left out.
LEFT_OUT = ("trials_without_score", "scores_without_trial", "utterances_left_out")

#: What `select` takes for numbers of whole sets: not of some of the trials, and no differences.
_PARTS = ("group_by", "group", "gallery", "sentences", "session", "speaker", "fold", "situation")
WHOLE: Mapping[str, None] = MappingProxyType(
    dict.fromkeys((*_PARTS, *ADDED, "threshold", "against"))
)

#: All columns in order.
COLUMNS = (*CIRCUMSTANCES, *COUNTS, *VALUES, "tag", "caveats")

#: The type of each column.
TYPES: Mapping[str, Any] = {
    **dict.fromkeys((*COLUMNS, *FURTHER), str),
    **{name: int for name in FURTHER if name.startswith("n_")},
    **dict.fromkeys(("gallery", "rank", "sentences", *COUNTS), int),
    **dict.fromkeys(("value", "low", "high", "se", "p", "p_corrected", "threshold"), float),
    "caveats": Mapping[str, str],
}

#: Rates that are no metric of scores, matrices or speech.
_RATES = {
    "linkage": "rate of identification",
    "singling_out": "rate of singling out",
    "named_instead": "rate of being named for others",
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

#: What anonymization costs: hours, and hours per hour of speech.
_HOURS = {
    "speech_hours": "hours of speech",
    "wall_hours": "hours of anonymizing it",
    "processor_hours": "processor hours of anonymizing it",
}
_FACTORS = {
    "wall_factor": "real-time factor",
    "processor_factor": "processor time per time of speech",
}
_PERCENT: Mapping[str, Any] = {"percent": True, "counted": True, "decimals": 2}

_FURTHER: Mapping[str, Metric] = MappingProxyType(
    {
        **{k: Metric("scores", "fraction", n, range=(0, 1), **_PERCENT) for k, n in _RATES.items()},
        **{k: Metric("scores", "fraction", n, percent=True, decimals=1) for k, n in _GAPS.items()},
        **{k: Metric("scores", "", n, decimals=2) for k, n in _RATIOS.items()},
        **{
            key: Metric("scores", "", key)
            for key in (
                *("fdr", "inequity_max_min", "inequity_max_geomean"),
                *("gini_fmr", "gini_fnmr", "garbe"),
            )
        },
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
        "rank_disclosure": Metric("scores", "bit", "rank disclosure"),
        "rank_disclosure_max": Metric("scores", "bit", "largest rank disclosure"),
        "seconds": Metric("scores", "s", "seconds of speech", decimals=1),
        **{
            f"similarity_{of}": Metric(
                *("matrices", "", f"similarity_{of}"),
                range=(0, 1),
                column_label=Label(of, f"$M_{{{of}}}$"),
            )
            for of in ("oo", "oa", "aa")
        },
        "evidence": Metric(
            *("matrices", "", "evidence"),
            range=(-math.inf, math.inf),
            column_label=Label("Evidence, log10 LR", r"$\log_{10}(l)$"),
        ),
        "raw_utterances": Metric("measures", "utterances", "utterances with original speech"),
        **{k: Metric("measures", "h", n, decimals=3) for k, n in _HOURS.items()},
        **{k: Metric("measures", "", n, best="lower", decimals=3) for k, n in _FACTORS.items()},
        "peak_memory": Metric("measures", "MiB", "peak memory of one process", decimals=0),
    }
)

#: Names of rates by a pattern of their keys.
_FAMILIES = {"rank([0-9]+)": "Rank-{} rate", "acc_(.+)": "recall of {}"}

#: What `select` takes for any value.
PRESENT = object()


def metric_of(key: str) -> Metric:
    """Return the entry of a metric, also of rates that are no metric of scores."""
    families = _FAMILIES if key not in METRICS else {}
    for pattern, name in families.items():
        if found := re.fullmatch(pattern, key):
            return Metric("scores", "fraction", name.format(found[1]), **_PERCENT)
    return _FURTHER[key] if key in _FURTHER else describe(key)


def is_known(key: str) -> bool:
    """Tell whether a metric, or another rate, has an entry."""
    return key in METRICS or key in _FURTHER or metric_of(key).name != key


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


def without_blanks(row: Row) -> dict[str, Any]:
    """Return a row as it is stored."""
    return {name: value for name, value in row.items() if value not in (None, "")}


def rows_of_values(values: Mapping[str, float], **more: Any) -> tuple[dict[str, Any], ...]:
    """Return a row of each value, by metric."""
    return tuple({"metric": key, "value": value, **more} for key, value in values.items())


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
        self._indices: dict[tuple[str, ...], dict[tuple[Any, ...], list[dict[str, Any]]]] = {}

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Measurements:
        """Make the table of rows, with the columns that any row has, known ones in their order."""
        rows = list(rows)
        given: dict[str, Any] = {}
        for row in rows:
            given.update(row)
        names = [n for n in COLUMNS if n in given] + [n for n in given if n not in COLUMNS]
        columns = {name: np.full(len(rows), None, dtype=object) for name in names}
        # Most columns are blank in most rows.
        for number, row in enumerate(rows):
            for name, value in row.items():
                columns[name][number] = value
        for column in columns.values():
            column.flags.writeable = False
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
                if name not in TYPES:
                    known = known_names(name, TYPES)
                    raise PrivacyEvalError(f"{where}[{number}]: {printable(name)}: {known}")
        return cls.of(
            {n: from_plain(TYPES[n], v, f"{where}[{i}].{n}") for n, v in row.items()}
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

    def find(self, **wanted: object) -> Row | None:
        """Return the first row with certain values, None for a blank, by an index made once."""
        names = (*wanted,)
        if names not in self._indices:
            self._indices[names] = self.groups(*names)
        return next(iter(self._indices[names].get((*wanted.values(),), ())), None)

    def mean(
        self, over: str | Sequence[str], weights: Mapping[Any, float] | None = None
    ) -> Measurements:
        """Average values over circumstances, all others being equal.

        Parameters
        ----------
        over : str or sequence of str
            Circumstances, such as `("data_set", "gender")`.
        weights : mapping, optional
            By their values (tuples, if there are several circumstances); what has no weight is no
            part. By default all that the metric has in the table count alike.

        Returns
        -------
        Measurements
            A row per mean, with `n_parts`, without bounds, which need replicates. Where a part has
            no value, or one that must not be ranked, `missing` names it, and the mean is blank.

        Raises
        ------
        PrivacyEvalError
            An unknown circumstance; two values of one part.

        Examples
        --------
        >>> rows = [{"gender": g, "metric": "eer", "value": v} for g, v in (("f", 0.2), ("m", 0.3))]
        >>> Measurements.of(rows).mean("gender")["value"].tolist()
        [0.25]
        """
        names = (over,) if isinstance(over, str) else tuple(over)
        every: dict[str, dict[tuple[Any, ...], float]] = {}
        for row in self:
            every.setdefault(row["metric"], {})[_place(row, names)] = 1.0
        given = {k if isinstance(k, tuple) else (k,): w for k, w in (weights or {}).items() if w}
        means = []
        for of, parts in self._by_others(names):
            weight_of = given or every[of["metric"]]
            lacking = [place for place in weight_of if not _is_valid(parts, place)]
            caveats: dict[str, str] = {}
            for part in parts.values():
                caveats |= part.get("caveats", {})
            named = (" ".join(str(name) for name in place if name is not None) for place in lacking)
            mean = {**of, "n_parts": len(weight_of), "caveats": caveats or None}
            if lacking:
                mean["missing"] = ", ".join(named)
            else:
                values = [(w, parts[place]["value"]) for place, w in weight_of.items()]
                mean["value"] = weighted_mean(values)
            means.append(mean)
        return Measurements.of(means)

    def compare(self, one: Any, other: Any, of: str = "system") -> Measurements:
        """Subtract the values of another system, or of another value of a circumstance.

        Returns
        -------
        Measurements
            A row per value of `one`, `against` the other: blank where the other has none, or where
            one of them must not be ranked. Whether a difference is significant, the report says, by
            bootstrap replicates.

        Raises
        ------
        PrivacyEvalError
            An unknown circumstance; two values in one place.
        """
        rows = []
        for place, parts in self.select(against=None)._by_others((of,)):
            pair = [parts[name,] for name in (one, other) if _is_valid(parts, (name,))]
            values = [row["value"] for row in pair]
            found = {"value": values[0] - values[1]} if len(pair) == 2 else {}
            if (one,) in parts:
                rows.append({**place, of: one, "against": other, **found})
        return Measurements.of(rows)

    def rank(self, by: str, of: str = "system") -> Measurements:
        """Order the values of a metric, the most private or most useful first.

        Returns
        -------
        Measurements
            For each set of other circumstances the rows with their `place` from 1, the same for
            equal values; at the end, without a place, those that must not be ranked.

        Raises
        ------
        PrivacyEvalError
            An unknown circumstance or metric, or one that has no best value; two values in one
            place.
        """
        rows: list[Row] = []
        for _, parts in self.select(metric=by, against=None)._by_others((of,)):
            valid = [row for place, row in parts.items() if _is_valid(parts, place)]
            worth = [_best(by) * row["value"] for row in valid]
            places = [1 + sum(other > one for other in worth) for one in worth]
            pairs = sorted(zip(places, valid, strict=True), key=lambda pair: pair[0])
            rows += [{**row, "place": place} for place, row in pairs]
            rows += [row for place, row in parts.items() if not _is_valid(parts, place)]
        return Measurements.of(rows)

    def strongest(self, over: str = "attacker") -> Measurements:
        """Choose, for each set of other circumstances, the attacker against whom there is the least
        privacy; none whose value must not be ranked.

        Raises
        ------
        PrivacyEvalError
            An unknown circumstance; a metric that has no best value; two values in one place.
        """
        rows = []
        for of, parts in self.select(against=None)._by_others((over,)):
            valid = [row for place, row in parts.items() if _is_valid(parts, place)]
            sign = _best(of["metric"])
            rows += sorted(valid, key=lambda row: sign * row["value"])[:1]
        return Measurements.of(rows)

    def _by_others(
        self, names: tuple[str, ...]
    ) -> Iterator[tuple[dict[str, Any], dict[tuple[Any, ...], Row]]]:
        """Yield what rows share beside some circumstances, and the rows by these."""
        for name in names:
            _ = self[name]
        identity = (*CIRCUMSTANCES, *_FURTHER_CIRCUMSTANCES, "variant", "metric", "unit")
        others = [n for n in identity if n in self.columns and n not in (*names, "name")]
        for place, rows in self.groups(*others).items():
            parts: dict[tuple[Any, ...], Row] = {}
            for row in rows:
                if (key := _place(row, names)) in parts:
                    named = {n: row[n] for n in (*names, *others) if n in row}
                    raise PrivacyEvalError(f"two values of {named}; select one of them first")
                parts[key] = row
            shared = zip(others, place, strict=True)
            yield {name: value for name, value in shared if value is not None}, parts

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
        names = self.columns.keys() & {*CIRCUMSTANCES, *_FURTHER_CIRCUMSTANCES}
        blank = np.full(len(self), None)
        stored = self.columns.get("variant", blank)
        places = list(zip(blank, *(self.columns[name] for name in names), strict=True))
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

# Significant digits of a mean, fewer than a double has: the mean of 0.1 and 0.2 is 0.15.
_DIGITS = 14


def weighted_mean(parts: Sequence[tuple[float, float]]) -> float | None:
    """Compute the mean of (weight, value) that does not depend on their order, nor on the binary
    digits of decimal values, so that it is rounded alike everywhere."""
    if not parts:
        return None
    products = [weight * value for weight, value in parts]
    if not all(map(math.isfinite, products)):
        return sum(products)
    mean = math.fsum(products) / math.fsum(weight for weight, _ in parts)
    return float(f"{mean:.{_DIGITS}g}")


def _place(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in names)


def _is_valid(parts: Mapping[tuple[Any, ...], Row], place: tuple[Any, ...]) -> bool:
    """Whether a place has a value that may be ranked."""
    row = parts.get(place, {})
    return "value" in row and withholding_caveat(row.get("caveats", {}), row["metric"]) is None


def _best(metric: str) -> int:
    """Return 1 if higher values of a metric are better, -1 if lower ones are."""
    if (best := metric_of(metric).best) is None:
        raise PrivacyEvalError(f"{metric} has no best value")
    return 1 if best == "higher" else -1


def _told(row: Row) -> dict[str, str]:
    """Return the caveats of a row as text."""
    return {"caveats": "; ".join(row.get("caveats", {}).values())}


def _short(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
