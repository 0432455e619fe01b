"""Tables of a metric study, from the rows of its experiments."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..io.csv_text import csv_text
from ..metrics import REGISTRY, categorical_tag, describe
from ..report.table import Column, Table
from .estimators import individual_ceiling, population_values
from .plan import MATED, EstimatorsPlan, StudyPlan

Row = Mapping[str, Any]

Rows = Mapping[str, Sequence[Row]]

#: What tables of several metrics show, beside metrics of somebody's own.
_SHOWN = ("eer", "cllr_min", "linkability", "zebra_population", "zebra_individual")

_LINKED = ("eer", "cllr_min", "linkability")


def study_tables(plan: StudyPlan, rows: Rows) -> list[Table]:
    """Every table that there are rows for."""
    tables: list[Table] = []
    variant = plan.variant
    if rows.get("discrete"):
        tables.append(_discrete(rows["discrete"], variant))
    if rows.get("gaussian"):
        tables.append(_gaussian(rows["gaussian"], variant))
    if rows.get("clusters"):
        tables.append(_clusters(rows["clusters"]))
    for speech, of_speech in _by(rows.get("attacks", ()), "speech").items():
        tables.append(_attacks(speech, of_speech, variant))
    if rows.get("matrices"):
        tables.append(_matrices(rows["matrices"]))
    if plan.estimators is not None and rows.get("estimators"):
        tables.append(_needed(plan.estimators, rows["estimators"], variant))
        tables.append(_ceilings(rows["estimators"]))
        tables.append(_estimates(plan.estimators, rows["estimators"], variant))
    return tables


def values_csv(rows: Rows) -> str:
    """Every value of every experiment: a line per set of scores, variant and metric; of
    `estimators` one for mean, deviation and either end of the central 95 %, too."""
    lines = [("experiment", "parameters", "variant", "metric", "quantity", "value")]
    for experiment, found in rows.items():
        for row in found:
            parameters = json.dumps(
                {k: v for k, v in row.items() if k not in _NOT_PARAMETERS}, ensure_ascii=False
            )
            for variant, metrics in (row.get("metrics") or row["estimates"]).items():
                for metric, value in metrics.items():
                    values = value if isinstance(value, dict) else {"value": value}
                    for quantity, number in values.items():
                        lines.append(
                            (experiment, parameters, variant, metric, quantity, repr(number))
                        )
    return csv_text(lines)


_NOT_PARAMETERS = frozenset({"metrics", "estimates", "points", "curves", "matrices"})


def metric_names(rows: Iterable[Row], shown: Sequence[str] = _SHOWN) -> list[str]:
    """The metrics that tables show: some of ours, and all of somebody's own."""
    first = next(iter(rows))
    variants = first.get("metrics") or first["estimates"]
    found = next(iter(variants.values()))
    return [name for name in found if name in shown or name not in REGISTRY]


def column(metric: str) -> Column:
    """Its heading; somebody's metric is called by its name."""
    return Column(*describe(metric).column)


def _with(heading: Column, before: str = "", after: str = "") -> Column:
    """A heading with plain text of our own around it."""
    latex = None if heading.latex is None else f"{before}{heading.latex}{after}"
    return replace(heading, title=f"{before}{heading.title}{after}", latex=latex)


def shown(metric: str, value: float, decimals: int = 3) -> str:
    """A value as tables print it, rates in percent."""
    value = float(value)
    if not math.isfinite(value):
        return str(value)
    if describe(metric).percent:
        value, decimals = 100 * value, decimals - 1
    return f"{round(value, decimals) + 0.0:.{decimals}f}"  # + 0.0: no negative zero


def _discrete(rows: Sequence[Row], variant: str) -> Table:
    metrics = metric_names(rows)
    printed = [m for m in metrics if any(m in row["printed"] for row in rows)]
    columns = [Column("Case", align="l"), Column("Labels", align="l")]
    columns += [replace(column(m), rule=m == metrics[0]) for m in metrics]
    columns += [replace(_with(column(m), after=" printed"), rule=m == printed[0]) for m in printed]
    notes = [
        describe(metric).caveat(row["metrics"][variant][metric], row["labels"].count(MATED))
        for row in rows
        for metric in metrics
    ]
    groups = tuple(
        (
            row["title"],
            " ".join("H" if label == MATED else "-" for label in row["labels"]),
            *(shown(m, row["metrics"][variant][m]) for m in metrics),
            *(shown(m, row["printed"][m], 2) if m in row["printed"] else "" for m in printed),
        )
        for row in rows
    )
    return Table(
        "discrete",
        "Discrete scores: labels of the trials with the scores 1, 2, ... and what the metrics "
        "make of them.",
        tuple(columns),
        (groups,),
        notes=(
            "H: a mated trial, -: a non-mated one",
            "Printed: as in the comparative study of metrics",
            *dict.fromkeys(filter(None, notes)),
        ),
        fit="shrunk",
    )


def _gaussian(rows: Sequence[Row], variant: str) -> Table:
    metrics = metric_names(rows)
    lines = []
    for case, of_case in _by(rows, "case").items():
        ranges = []
        for metric in metrics:
            values = [row["metrics"][variant][metric] for row in of_case]
            ranges.append(f"{shown(metric, min(values))}\u2013{shown(metric, max(values))}")
        lines.append((case, str(len(of_case)), *ranges))
    return Table(
        "gaussian",
        "Gaussian scores: smallest and largest value over all combinations of deviations.",
        (Column("Case", align="l"), Column("Sets", align="r"), *(column(m) for m in metrics)),
        (tuple(lines),),
        fit="shrunk",
    )


def _clusters(rows: Sequence[Row]) -> Table:
    lines = tuple(
        (
            row["title"],
            str(row["n_target"]),
            str(row["n_nontarget"]),
            f"{row['share_below']:.3f}",
            f"{row['cllr_min_formula']:.3f}",
            f"{row['metrics']['exact']['cllr_min']:.3f}",
            shown("eer", row["metrics"]["exact"]["eer"]),
            *(f"{row['metrics'][v]['linkability']:.3f}" for v in ("exact", "challenge")),
        )
        for row in rows
    )
    minimum = column("cllr_min")
    linkability = column("linkability")
    columns = (
        Column("Pairs that are trials", align="l"),
        Column("Mated", align="r"),
        Column("Non-mated", align="r"),
        Column("x", "$x$"),
        _with(minimum, after=" by formula"),
        minimum,
        column("eer"),
        *(_with(linkability, after=f" ({v})") for v in ("exact", "challenge")),
    )
    return Table(
        "clusters",
        "Non-mated scores between mated ones: x is the share of mated scores below the non-mated.",
        columns,
        (lines,),
        notes=("The formula: 1/2 [x log2(1 + 1/x) + log2(1 + x)]",),
        fit="landscape",
    )


def _attacks(speech: str, rows: Sequence[Row], variant: str) -> Table:
    metrics = metric_names(rows, _LINKED)
    linkages = list(dict.fromkeys(row["linkage"] for row in rows))
    names = {"plda": "PLDA"}
    columns = [
        Column("Technique", align="l"),
        Column("Targets", align="l"),
        Column("Attacker", align="l"),
    ]
    columns += [
        replace(
            _with(column(m), f"{names.get(linkage, linkage)}: "), align="r", rule=m == metrics[0]
        )
        for linkage in linkages
        for m in metrics
    ]
    groups = []
    for of_technique in _by(rows, "technique").values():
        lines = []
        for (technique, selection, attacker), found in itertools.groupby(
            of_technique, key=lambda row: (row["technique"], row["selection"], row["attacker"])
        ):
            values = {row["linkage"]: row["metrics"][variant] for row in found}
            cells = [shown(m, values[k][m]) for k in linkages for m in metrics]
            lines.append((technique, selection, attacker, *cells))
        groups.append(tuple(lines))
    return Table(
        f"attacks_{speech}",
        f"Attacks on converted x-vectors ({speech}) by technique, target selection, attacker and "
        "linkage.",
        tuple(columns),
        tuple(groups),
        fit="landscape",
        repeated=3,
    )


def _matrices(rows: Sequence[Row]) -> Table:
    lines = tuple(
        (
            row["title"],
            variant,
            shown("deid", values["deid"]),
            shown("gvd_db", values["gvd_db"], 2),
            *(f"{values[f'd_diag_{part}']:.3f}" for part in ("oo", "oa", "aa")),
        )
        for row in rows
        for variant, values in row["metrics"].items()
    )
    columns = (
        Column("Case", align="l", sparse=True),
        Column("Variant", align="l"),
        column("deid"),
        column("gvd_db"),
        *(
            Column(f"D_diag {part}", rf"$D_\mathrm{{diag}}(M_\mathrm{{{part}}})$")
            for part in ("oo", "oa", "aa")
        ),
    )
    return Table(
        "matrices",
        "Artificial voice similarity matrices: de-identification and gain of voice "
        "distinctiveness.",
        columns,
        (lines,),
    )


def _needed(plan: EstimatorsPlan, rows: Sequence[Row], variant: str) -> Table:
    """How many trials or speakers keep bias and spread within the tolerance."""
    columns = [
        Column("Metric", align="l", sparse=True),
        Column("Tolerance", align="r", sparse=True),
        Column("EER, %", align="r"),
        *(
            Column(f"{n} nontarget{'s' if n > 1 else ''} a target", align="r", rule=i == 0)
            for i, n in enumerate(plan.nontargets_per_target)
        ),
        Column("Speakers", align="r", rule=True),
    ]
    groups = []
    for metric in metric_names(rows):
        tolerance = plan.tolerances.get(metric)
        if tolerance is None:
            continue
        lines = []
        for eer in plan.eers:
            cells = []
            for per_target in (*plan.nontargets_per_target, None):
                of_design = [row for row in rows if row["eer"] == eer and _ratio(row) == per_target]
                cells.append(_smallest(of_design, metric, tolerance, variant))
            lines.append((_name(metric), shown(metric, tolerance, 2), shown("eer", eer, 1), *cells))
        groups.append(tuple(lines))
    return Table(
        "estimators_needed",
        "How many target trials, or speakers, a protocol needs: the smallest number of those tried "
        "from which on bias and standard deviation are both within the tolerance.",
        tuple(columns),
        tuple(groups),
        notes=(
            f"Independent trials, but in the last column: every speaker with {plan.utterances} "
            f"utterances against every speaker, {100 * plan.speaker_share:g} % of the variance of "
            "scores due to speakers",
            "ZEBRA's individual disclosure estimates no fixed value: it grows with the number of "
            "trials, up to its ceiling",
        ),
        fit="shrunk",
    )


def _name(metric: str) -> str:
    return column(metric).title.split(",")[0]


def _ratio(row: Row) -> int | None:
    """Nontarget trials to a target trial; None where trials are of speakers."""
    return None if row["speakers"] is not None else row["n_nontarget"] // row["n_target"]


def _size(row: Row) -> int:
    size: int = row["speakers"] if row["speakers"] is not None else row["n_target"]
    return size


def _smallest(rows: Sequence[Row], metric: str, tolerance: float, variant: str) -> str:
    """The size from which on all estimates are within the tolerance."""
    ordered = sorted(rows, key=_size)
    good = 0
    for row in reversed(ordered):
        estimate = row["estimates"][variant][metric]
        truth = population_values(row["eer"]).get(metric)
        bias = 0.0 if truth is None else estimate["mean"] - truth
        if not max(abs(bias), estimate["deviation"]) <= tolerance:
            break
        good += 1
    if not good:
        return f"more than {_size(ordered[-1])}" if ordered else ""
    first = ordered[len(ordered) - good]
    return f"at most {_size(first)}" if good == len(ordered) else str(_size(first))


def _ceilings(rows: Sequence[Row]) -> Table:
    sizes = sorted({(row["n_target"], row["n_nontarget"]) for row in rows})
    lines = tuple(
        (f"{t}", f"{n}", f"{ceiling:.3f}", categorical_tag(ceiling))
        for t, n in sizes
        for ceiling in [individual_ceiling(t, n)]
    )
    return Table(
        "estimators_ceiling",
        "ZEBRA's individual disclosure is bounded by the number of trials: the largest value that "
        "perfectly separated scores give.",
        (
            Column("Target trials", align="r"),
            Column("Nontarget trials", align="r"),
            Column("Ceiling, log10 LR", r"Ceiling, $\log_{10}(l)$", align="r"),
            Column("Tag at the ceiling"),
        ),
        (lines,),
    )


def _estimates(plan: EstimatorsPlan, rows: Sequence[Row], variant: str) -> Table:
    metrics = metric_names(rows)
    extra = ("linkability", "challenge" if variant == "exact" else "exact")
    quantities = [(m, variant) for m in metrics]
    at = [m for m, _ in quantities].index("linkability") + 1
    quantities.insert(at, extra)
    columns = [
        Column("EER, %", align="r", sparse=True),
        Column("Speakers", align="r"),
        Column("Targets", align="r"),
        Column("Nontargets", align="r"),
    ]
    for metric, of_variant in quantities:
        title = _name(metric) + (f" ({of_variant})" if (metric, of_variant) == extra else "")
        what = "mean" if population_values(0.25).get(metric) is None else "bias"
        columns.append(Column(f"{title}: {what}", align="r", rule=True))
        columns.append(Column("dev.", align="r"))
    groups = []
    for _, group in itertools.groupby(
        sorted(rows, key=lambda r: (r["eer"], _ratio(r) or math.inf, _size(r))),
        key=lambda r: (r["eer"], _ratio(r)),
    ):
        lines = []
        for row in group:
            cells = []
            for metric, of_variant in quantities:
                estimate = row["estimates"][of_variant][metric]
                truth = population_values(row["eer"]).get(metric, 0.0)
                cells += [
                    shown(metric, float(estimate["mean"]) - truth),
                    shown(metric, float(estimate["deviation"])),
                ]
            speakers = "" if row["speakers"] is None else str(row["speakers"])
            counts = (str(row["n_target"]), str(row["n_nontarget"]))
            lines.append((shown("eer", row["eer"], 1), speakers, *counts, *cells))
        groups.append(tuple(lines))
    return Table(
        "estimators",
        f"Bias and standard deviation of {plan.replicates} estimates by numbers of trials.",
        tuple(columns),
        tuple(groups),
        fit="landscape",
        repeated=4,
    )


def _by(rows: Iterable[Row], key: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found
