"""Tables of a metric study, from the rows of its experiments."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..choices import grouped
from ..io.csv_text import csv_text
from ..metrics import (
    METRICS,
    VARIANTS,
    Caveat,
    categorical_tag,
    describe,
    find_caveats,
    withholding_caveat,
)
from ..metrics.caveats import marked_text, note_of
from ..report.table import Column, Table, aligned
from .protocol import NONTARGET, TARGET, EstimatorsExperiment, StudyProtocol
from .scores import Row, individual_ceiling, population_values

#: Rows of an experiment, by experiment.
Rows = Mapping[str, Sequence[Row]]

#: Built-in metrics in tables, next to all user-defined ones.
_BUILT_IN = ("eer", "cllr_min", "linkability", "zebra_population", "zebra_individual")

_OF_ATTACKS = ("eer", "cllr_min", "linkability")

#: Experiments with their titles: the sections of the report.
SECTIONS: Mapping[str, str] = {
    "discrete": "Discrete scores",
    "gaussian": "Gaussian scores",
    "clusters": "Nontarget scores between target scores",
    "attacks": "Target selections, attackers and linkages",
    "matrices": "Artificial voice similarity matrices",
    "estimators": "Bias and spread of estimates",
}

#: Entries of rows that are not parameters of their scores.
_RESULTS = frozenset({"metrics", "estimates", "points", "curves", "matrices"})


def study_tables(study: StudyProtocol, rows: Rows) -> list[Table]:
    """Make every table that has rows."""
    tables: list[Table] = []

    def add(experiment: str, *made: Table) -> None:
        tables.extend(replace(table, section=SECTIONS[experiment]) for table in made)

    if of_experiment := rows.get("discrete"):
        add("discrete", _discrete(of_experiment, study.variant))
    if of_experiment := rows.get("gaussian"):
        add("gaussian", _gaussian(of_experiment, study.variant))
    if of_experiment := rows.get("clusters"):
        add("clusters", _clusters(of_experiment))
    for speech, of_speech in group_rows(rows.get("attacks", ()), "speech").items():
        add("attacks", _attacks(speech, of_speech, study.variant))
    if of_experiment := rows.get("matrices"):
        add("matrices", _matrices(of_experiment))
    of_experiment, e = rows.get("estimators"), study.estimators
    if of_experiment and e is not None:
        required = _required(e, of_experiment, study.variant)
        estimates = _estimates(e, of_experiment, study.variant)
        add("estimators", required, _ceilings(of_experiment), estimates)
    return tables


def study_summary(study: StudyProtocol, rows: Rows) -> list[str]:
    """Summarize the findings of the study, one sentence per experiment with a finding."""
    lines = []
    if clusters := rows.get("clusters"):
        values = [
            [r["metrics"][v]["linkability"] for v in ("exact", "challenge")] for r in clusters
        ]
        gap = max(abs(exact - challenge) for exact, challenge in values)
        lines.append(
            f"Linkability by the released script differs by up to {gap:.2f} from its definition if "
            "nontarget scores lie between target scores."
        )
    for speech, of_speech in group_rows(rows.get("attacks", ()), "speech").items():
        eers = {
            attacker: [r["metrics"][study.variant]["eer"] for r in of_attacker]
            for attacker, of_attacker in group_rows(of_speech, "attacker").items()
        }
        means = {attacker: math.fsum(values) / len(values) for attacker, values in eers.items()}
        mean_eers = ", ".join(f"{format_value('eer', m)} % ({a})" for a, m in means.items())
        lines.append(
            f"The EER of the same converted speech depends on the attacker: {mean_eers} on "
            f"average over techniques, target selections and linkages ({speech})."
        )
    if matrices := rows.get("matrices"):
        deid = [r["metrics"]["exact"]["deid"] for r in matrices]
        lines.append(
            f"DeID of artificial matrices is between {format_value('deid', min(deid))} and "
            f"{format_value('deid', max(deid))} %, whatever their gain of voice distinctiveness."
        )
    if study.estimators is not None and rows.get("estimators"):
        experiment = study.estimators
        needed = _required(experiment, rows["estimators"], study.variant)
        metrics = (m for m in metrics_of(rows["estimators"]) if m in experiment.tolerances)
        for metric, group in zip(metrics, needed.groups, strict=True):
            _, tolerance, eer, trials, *_, speakers = group[-1]
            unit = " points" * describe(metric).percent
            lines.append(
                f"{describe(metric).sentence} within {tolerance}{unit} of its value, where the EER "
                f"is {eer} %, takes "
                f"{trials} target trials with one nontarget each, or {speakers} speakers."
            )
    return lines


def values_csv(rows: Rows) -> str:
    """List every value of every experiment: a line per set of scores, variant and metric; for
    `estimators` a line each for mean, deviation and both ends of the central 95 %."""
    lines = [("experiment", "parameters", "variant", "metric", "quantity", "value")]
    for experiment, row in ((e, row) for e, of_experiment in rows.items() for row in of_experiment):
        parameters = {k: v for k, v in row.items() if k not in _RESULTS}
        text = json.dumps(parameters, ensure_ascii=False)
        for variant, metrics in (row.get("metrics") or row["estimates"]).items():
            for metric, value in metrics.items():
                values = value if isinstance(value, dict) else {"value": value}
                for quantity, number in values.items():
                    lines.append((experiment, text, variant, metric, quantity, repr(number)))
    return csv_text(lines)


def metrics_of(rows: Iterable[Row], built_in: Sequence[str] = _BUILT_IN) -> list[str]:
    """List the metrics in tables: some built-in ones, and all user-defined ones."""
    first = next(iter(rows))
    variants = first.get("metrics") or first["estimates"]
    names = next(iter(variants.values()))
    return [name for name in names if name in built_in or name not in METRICS]


def _column(metric: str, before: str = "", after: str = "", **changes: Any) -> Column:
    """Make the column of a metric, with plain text around its title; a user-defined metric has
    its name."""
    title, latex = describe(metric).column
    latex = None if latex is None else f"{before}{latex}{after}"
    return Column(f"{before}{title}{after}", latex, **changes)


def format_value(metric: str, value: float, decimals: int = 3) -> str:
    """Format a value without negative zeros; rates in percent with two decimals less."""
    info = describe(metric)
    return info.format(float(value), decimals=decimals - info.percent)


def _discrete(rows: Sequence[Row], variant: str) -> Table:
    metrics = metrics_of(rows)
    printed = [m for m in metrics if any(m in row["printed"] for row in rows)]
    columns = aligned("l", "Case", "Labels")
    columns += [_column(m, rule=m == metrics[0]) for m in metrics]
    columns += [_column(m, after=" printed", rule=m == printed[0]) for m in printed]
    lines: list[tuple[str, ...]] = []
    caveats: dict[str, Caveat] = {}
    for row in rows:
        values, targets = row["metrics"][variant], row["labels"].count(TARGET)
        labels = " ".join("H" if label == TARGET else "-" for label in row["labels"])
        counts = targets, row["labels"].count(NONTARGET)
        reasons = find_caveats(values.get("eer"), *counts, variant=variant)
        reasons.pop("few_trials", None)  # which these cases have by design
        withheld = {m: withholding_caveat(reasons, m) for m in metrics}
        caveats |= {c.reason: c for c in withheld.values() if c is not None}
        texts = [marked_text(format_value(m, values[m]), withheld[m]) for m in metrics]
        of_paper = row["printed"]
        texts += [format_value(m, of_paper[m], 2) if m in of_paper else "" for m in printed]
        lines.append((row["title"], labels, *texts))
    return Table(
        "discrete",
        "Discrete scores: labels of the trials with the scores 1, 2, ..., and metrics.",
        tuple(columns),
        (tuple(lines),),
        notes=(
            "H: a target trial, -: a nontarget trial",
            "Printed: as in the comparative study of metrics",
            *map(note_of, caveats.values()),
        ),
    )


def _gaussian(rows: Sequence[Row], variant: str) -> Table:
    metrics = metrics_of(rows)
    lines = []
    for case, of_case in group_rows(rows, "case").items():
        values = [[row["metrics"][variant][m] for row in of_case] for m in metrics]
        extents = (
            f"{format_value(m, min(v))}\u2013{format_value(m, max(v))}"
            for m, v in zip(metrics, values, strict=True)
        )
        lines.append((case, str(len(of_case)), *extents))
    return Table(
        "gaussian",
        "Gaussian scores: smallest and largest value over all combinations of deviations.",
        (*aligned("l", "Case"), *aligned("r", "Sets"), *map(_column, metrics)),
        (tuple(lines),),
    )


def _clusters(rows: Sequence[Row]) -> Table:
    lines = []
    for row in rows:
        exact, challenge = row["metrics"]["exact"], row["metrics"]["challenge"]
        counts = (str(row["n_target"]), str(row["n_nontarget"]))
        cllr_min = (row["share_below"], row["cllr_min_formula"], exact["cllr_min"])
        texts = [f"{number:.3f}" for number in cllr_min] + [format_value("eer", exact["eer"])]
        texts += [f"{values['linkability']:.3f}" for values in (exact, challenge)]
        lines.append((row["title"], *counts, *texts))
    return Table(
        "clusters",
        "Nontarget scores between target scores: x is the fraction of target scores below the "
        "nontarget scores.",
        (
            *aligned("l", "Pairs that are trials"),
            *aligned("r", "Targets", "Nontargets"),
            Column("x", "$x$"),
            _column("cllr_min", after=" by formula"),
            _column("cllr_min"),
            _column("eer"),
            *(_column("linkability", after=f" ({v})") for v in ("exact", "challenge")),
        ),
        (tuple(lines),),
        notes=("The formula: 1/2 [x log2(1 + 1/x) + log2(1 + x)]",),
        turned=True,
    )


def _attacks(speech: str, rows: Sequence[Row], variant: str) -> Table:
    metrics = metrics_of(rows, _OF_ATTACKS)
    linkages = list(dict.fromkeys(row["linkage"] for row in rows))
    columns = aligned("l", "Technique", "Targets", "Attacker")
    for linkage in linkages:
        before = f"{'PLDA' if linkage == 'plda' else linkage}: "
        columns += [_column(m, before, align="r", rule=m == metrics[0]) for m in metrics]
    groups = []
    for of_technique in group_rows(rows, "technique").values():
        lines: dict[tuple[str, ...], list[str]] = {}
        for row in of_technique:  # linkage by linkage
            texts = (format_value(m, row["metrics"][variant][m]) for m in metrics)
            key = (row["technique"], row["selection"], row["attacker"])
            lines.setdefault(key, []).extend(texts)
        groups.append(tuple((*key, *texts) for key, texts in lines.items()))
    return Table(
        f"attacks_{speech}",
        f"Attacks on converted x-vectors ({speech}) by technique, target selection, attacker and "
        "linkage.",
        tuple(columns),
        tuple(groups),
        turned=True,
    )


def _matrices(rows: Sequence[Row]) -> Table:
    parts = ("oo", "oa", "aa")
    lines = tuple(
        (
            row["title"],
            variant,
            format_value("deid", values["deid"]),
            format_value("gvd_db", values["gvd_db"], 2),
            *(f"{values[f'd_diag_{part}']:.3f}" for part in parts),
        )
        for row in rows
        for variant, values in row["metrics"].items()
    )
    diagonals = (
        Column(f"D_diag {part}", rf"$D_\mathrm{{diag}}(M_\mathrm{{{part}}})$") for part in parts
    )
    return Table(
        "matrices",
        "Artificial voice similarity matrices: de-identification and gain of voice "
        "distinctiveness.",
        (
            *aligned("l", "Case", sparse=True),
            *aligned("l", "Variant"),
            _column("deid"),
            _column("gvd_db"),
            *diagonals,
        ),
        (lines,),
    )


def _required(experiment: EstimatorsExperiment, rows: Sequence[Row], variant: str) -> Table:
    """Find the number of trials or speakers that keeps bias and spread within the tolerance."""
    ratios = experiment.nontargets_per_target
    titles = [f"{n} nontarget{'s' if n > 1 else ''} per target" for n in ratios]
    columns = [
        *aligned("l", "Metric", sparse=True),
        *aligned("r", "Tolerance", sparse=True),
        *aligned("r", "EER, %"),
        *(Column(title, align="r", rule=not i) for i, title in enumerate(titles)),
        Column("Speakers", align="r", rule=True),
    ]
    by_design = grouped(rows, lambda row: (row["eer"], nontargets_per_target(row)))
    groups = []
    for metric in (m for m in metrics_of(rows) if m in experiment.tolerances):
        tolerance = experiment.tolerances[metric]
        lines = []
        for eer in experiment.eers:
            designs = [by_design.get((eer, ratio), []) for ratio in (*ratios, None)]
            sizes = (_smallest(of, metric, tolerance, variant) for of in designs)
            texts = (format_value(metric, tolerance, 2), format_value("eer", eer, 1))
            lines.append((_name(metric), *texts, *sizes))
        groups.append(tuple(lines))
    return Table(
        "estimators_needed",
        "Number of target trials, or speakers, that a protocol requires: the smallest number "
        "simulated from which on bias and standard deviation are both within the tolerance.",
        tuple(columns),
        tuple(groups),
        notes=(
            "Independent trials, except in the last column: every speaker with "
            f"{experiment.utterances} utterances against every speaker, "
            f"{100 * experiment.speaker_share:g} % of the variance of scores due to speakers",
            "ZEBRA's individual disclosure has no population value: it grows with the number of "
            "trials, up to its ceiling",
        ),
    )


def _name(metric: str) -> str:
    """Return the title without the unit."""
    return describe(metric).column.title.split(",")[0]


def nontargets_per_target(row: Row) -> int | None:
    """Return the nontarget trials per target trial; None if trials belong to speakers."""
    return None if row["speakers"] is not None else row["n_nontarget"] // row["n_target"]


def size_of(row: Row) -> int:
    """Return the number of speakers of a simulation, or of independent target trials."""
    return int(row["speakers"] or row["n_target"])


def _smallest(rows: Sequence[Row], metric: str, tolerance: float, variant: str) -> str:
    """Find the size from which on all estimates are within the tolerance."""
    smallest = None
    sizes = sorted(rows, key=size_of)
    for row in reversed(sizes):
        estimate = row["estimates"][variant][metric]
        truth = population_values(row["eer"]).get(metric)
        bias = 0.0 if truth is None else estimate["mean"] - truth
        if not max(abs(bias), estimate["deviation"]) <= tolerance:
            break
        smallest = size_of(row)
    if smallest is None:
        return f"more than {size_of(sizes[-1])}" if sizes else ""
    return f"at most {smallest}" if smallest == size_of(sizes[0]) else str(smallest)


def _ceilings(rows: Sequence[Row]) -> Table:
    lines = []
    for counts in sorted({(row["n_target"], row["n_nontarget"]) for row in rows}):
        ceiling = individual_ceiling(*counts)
        lines.append((*map(str, counts), f"{ceiling:.3f}", categorical_tag(ceiling)))
    return Table(
        "estimators_ceiling",
        "ZEBRA's individual disclosure is bounded by the number of trials: its value for "
        "perfectly separated scores.",
        (
            *aligned("r", "Target trials", "Nontarget trials"),
            Column("Ceiling, log10 LR", r"Ceiling, $\log_{10}(l)$", align="r"),
            Column("Tag at the ceiling"),
        ),
        (tuple(lines),),
    )


def _estimates(experiment: EstimatorsExperiment, rows: Sequence[Row], variant: str) -> Table:
    (other,) = set(VARIANTS) - {variant}
    quantities = []
    columns = [
        *aligned("r", "EER, %", sparse=True),
        *aligned("r", "Speakers", "Targets", "Nontargets"),
    ]
    for metric in metrics_of(rows):
        what = "mean" if population_values(0.25).get(metric) is None else "bias"
        for of_variant in (variant, other) if metric == "linkability" else (variant,):
            title = _name(metric) + (f" ({other})" if of_variant == other else "")
            quantities.append((metric, of_variant))
            columns += [Column(f"{title}: {what}", align="r", rule=True), *aligned("r", "dev.")]

    def line(row: Row) -> tuple[str, ...]:
        counts = (str(row[key] or "") for key in ("speakers", "n_target", "n_nontarget"))
        cells = [format_value("eer", row["eer"], 1), *counts]
        for metric, of_variant in quantities:
            estimate = row["estimates"][of_variant][metric]
            bias = float(estimate["mean"]) - population_values(row["eer"]).get(metric, 0.0)
            cells += [format_value(metric, bias), format_value(metric, estimate["deviation"])]
        return tuple(cells)

    ordered = sorted(
        rows, key=lambda r: (r["eer"], nontargets_per_target(r) or math.inf, size_of(r))
    )
    groups = itertools.groupby(ordered, key=lambda r: (r["eer"], nontargets_per_target(r)))
    return Table(
        "estimators",
        f"Bias and standard deviation of {experiment.replicates} estimates by numbers of trials.",
        tuple(columns),
        tuple(tuple(map(line, group)) for _, group in groups),
    )


def group_rows(rows: Iterable[Row], key: str) -> dict[Any, list[Row]]:
    """Group rows by one of their entries."""
    return grouped(rows, lambda row: row[key])
