"""Tables of a metric study, from the rows of its experiments."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..choices import grouped
from ..errors import counted
from ..io.csv_text import csv_text
from ..metrics import METRICS, VARIANTS, Variant, categorical_tag, describe, find_caveats
from ..report.declared import Shown, bundled_entries, declared_table
from ..report.table import Table
from ..results.measurements import Measurements, measured
from .protocol import NONTARGET, TARGET, StudyProtocol
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

#: Entries of rows that are no parameters of their scores.
_RESULTS = frozenset({"metrics", "estimates", "numbers", "printed", "points", "curves", "matrices"})


def measurements_of(rows: Rows) -> Measurements:
    """Return all numbers of a study. Estimates have their mean as value, their standard deviation
    as `se` and their central 95 % as interval."""
    every = ((experiment, row) for experiment, of in rows.items() for row in of)
    return Measurements.of(itertools.chain.from_iterable(itertools.starmap(_rows_of, every)))


def _rows_of(experiment: str, row: Row) -> Iterator[dict[str, Any]]:
    """Yield the numbers of a row: those without variants, then the metrics."""
    place: dict[str, Any] = {"experiment": experiment}
    for name in (name for name in row if name not in _RESULTS):
        several = isinstance(row[name], list)
        place[name] = " ".join(map(str, row[name])) if several else row[name]
    for name, value in row.get("numbers", {}).items():
        yield measured(name, value, **place)
    if "estimates" in row:
        ceiling = individual_ceiling(row["n_target"], row["n_nontarget"])
        yield measured("ceiling", ceiling, **place, tag=categorical_tag(ceiling))
    for metric, value in row.get("printed", {}).items():
        yield measured(metric, value, **place, source="printed")
    for variant, metrics in (row.get("metrics") or row["estimates"]).items():
        caveats = _caveats(place, metrics, variant) if "labels" in row else {}
        of: dict[str, Any] = {**place, "variant": variant, "caveats": caveats or None}
        for metric, value in metrics.items():
            if isinstance(value, dict):
                mean, se, *ends = (float(value[n]) for n in ("mean", "deviation", "low", "high"))
                yield measured(metric, mean, ends, **of, se=se)
            else:
                yield measured(metric, float(value), **of)


def _caveats(place: Row, metrics: Mapping[str, float], variant: Variant) -> dict[str, str]:
    """Return the caveats on discrete scores but for that on few trials, which they have by
    design."""
    counts = place["n_target"], place["n_nontarget"]
    caveats = find_caveats(metrics.get("eer"), *counts, variant=variant)
    return {key: reason for key, reason in caveats.items() if key != "few_trials"}


#: Rows of a table, its columns of metrics, and the words of its texts.
_Part = tuple[Iterable[Row], Sequence[Shown], Mapping[str, str]]


def study_tables(study: StudyProtocol, rows: Rows) -> list[Table]:
    """Make every table that has rows."""
    return [
        replace(table, section=SECTIONS[experiment])
        for experiment, of in rows.items()
        for table in _tables(study, experiment, measurements_of({experiment: of}))
    ]


def _tables(study: StudyProtocol, experiment: str, of: Measurements) -> Iterator[Table]:
    """Yield the tables of an experiment."""
    for entry in bundled_entries("study"):
        if entry.name.partition("_")[0] == experiment and len(of):
            for rows, columns, words in _PARTS.get(entry.name, _all_rows)(study, of):
                whole = replace(entry, columns=(*entry.columns, *columns))
                table = declared_table(whole, Measurements.of(rows), words)
                if table is not None:
                    yield table


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
        of = measurements_of({"estimators": rows["estimators"]})
        needed = next(_tables(study, "estimators", of))
        tolerances = study.estimators.tolerances
        metrics = (m for m in metrics_of(of.values("metric")) if m in tolerances)
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
    """List every value of every experiment, a line each."""
    return csv_text(measurements_of(rows).compact_csv_rows)


def metrics_of(names: Iterable[str], built_in: Sequence[str] = _BUILT_IN) -> list[str]:
    """List the metrics in tables: some built-in ones, and all user-defined ones."""
    return [name for name in names if name in built_in or name not in METRICS]


def format_value(metric: str, value: float, decimals: int = 3) -> str:
    """Format a value without negative zeros; rates in percent with two decimals less."""
    info = describe(metric)
    return info.format(float(value), decimals=decimals - info.percent)


def _all_rows(study: StudyProtocol, of: Measurements) -> Iterator[_Part]:
    yield of, (), {}


def _discrete(study: StudyProtocol, of: Measurements) -> Iterator[_Part]:
    shown = of.in_variant(study.variant)
    metrics = metrics_of(shown.select(source=None).values("metric"))
    printed = [m for m in metrics if m in shown.select(source="printed").values("metric")]
    columns = [
        Shown(metric=m, where={"source": ("",)}, align="c", rule=m == metrics[0]) for m in metrics
    ]
    for m in printed:
        two = 2 - describe(m).percent
        how: dict[str, Any] = {"decimals": two, "align": "c", "rule": m == printed[0]}
        columns.append(Shown("{} printed", m, where={"source": ("printed",)}, **how))
    letters = str.maketrans({TARGET: "H", NONTARGET: "-"})
    rows = ({**r, "labels": " ".join(r["labels"].translate(letters))} for r in shown)
    yield rows, columns, {}


def _gaussian(study: StudyProtocol, of: Measurements) -> Iterator[_Part]:
    shown = of.select(variant=study.variant)
    metrics = metrics_of(shown.values("metric"))
    sets = Counter(row["case"] for row in shown.select(metric=metrics[0]))
    columns = [Shown(metric=m, at="range", align="c") for m in metrics]
    yield ({**row, "n_sets": sets[row["case"]]} for row in shown), columns, {}


def _attacks(study: StudyProtocol, of: Measurements) -> Iterator[_Part]:
    for speech in of.values("speech"):
        shown = of.select(variant=study.variant, speech=speech)
        metrics = metrics_of(shown.values("metric"), _OF_ATTACKS)
        columns = [
            Shown(f"{title}: {{}}", m, where={"linkage": (linkage,)}, rule=m == metrics[0])
            for linkage in shown.values("linkage")
            for title in ["PLDA" if linkage == "plda" else linkage]
            for m in metrics
        ]
        yield shown, columns, {"speech": speech}


def _required(study: StudyProtocol, of: Measurements) -> Iterator[_Part]:
    """Find the number of trials or speakers that keeps bias and spread within the tolerance."""
    if (e := study.estimators) is None:
        return
    shown, designs = of.select(variant=study.variant), (*e.nontargets_per_target, None)
    titles = {n: f"{counted(n, 'nontarget')} per target" if n else "Speakers" for n in designs}
    by_design = grouped(shown, lambda r: (r["metric"], r["true_eer"], nontargets_per_target(r)))
    rows = [
        {
            "metric": metric,
            "case": _name(metric),
            "threshold": format_value(metric, e.tolerances[metric], 2),
            "true_eer": format_value("eer", eer, 1),
            "design": titles[ratio],
            "printed": _smallest(by_design.get((metric, eer, ratio), []), e.tolerances[metric]),
        }
        for metric in metrics_of(shown.values("metric"))
        if metric in e.tolerances
        for eer in e.eers
        for ratio in designs
    ]
    yield rows, (), {"utterances": str(e.utterances), "share": f"{100 * e.speaker_share:g}"}


def _name(metric: str) -> str:
    """Return the title without the unit."""
    return describe(metric).column.title.split(",")[0]


def nontargets_per_target(row: Row) -> int | None:
    """Return the nontarget trials per target trial; None if trials belong to speakers."""
    return None if "n_speakers" in row else row["n_nontarget"] // row["n_target"]


def size_of(row: Row) -> int:
    """Return the number of speakers of a simulation, or of independent target trials."""
    return int(row.get("n_speakers") or row["n_target"])


def _bias(row: Row) -> float:
    """Return the mean less the population value, which is 0 if there is none."""
    return float(row["value"]) - population_values(row["true_eer"]).get(row["metric"], 0.0)


def _smallest(rows: Sequence[Row], tolerance: float) -> str:
    """Find the size from which on all estimates of a metric are within the tolerance."""
    smallest = None
    sizes = sorted(rows, key=size_of)
    for row in reversed(sizes):
        known = row["metric"] in population_values(row["true_eer"])
        if not max(abs(_bias(row)) if known else 0.0, row["se"]) <= tolerance:
            break
        smallest = size_of(row)
    if smallest is None:
        return f"more than {size_of(sizes[-1])}" if sizes else ""
    return f"at most {smallest}" if smallest == size_of(sizes[0]) else str(smallest)


def _ceilings(study: StudyProtocol, of: Measurements) -> Iterator[_Part]:
    ceilings = of.select(metric="ceiling")
    yield sorted(ceilings, key=lambda row: (row["n_target"], row["n_nontarget"])), (), {}


def _estimates(study: StudyProtocol, of: Measurements) -> Iterator[_Part]:
    (other,) = set(VARIANTS) - {study.variant}
    columns = []
    for metric in metrics_of(of.select(variant=other).values("metric")):
        what = "mean" if population_values(0.25).get(metric) is None else "bias"
        for variant in (study.variant, other) if metric == "linkability" else (study.variant,):
            title = _name(metric) + (f" ({other})" if variant == other else "")
            where = {"variant": (variant,)}
            columns.append(Shown(f"{title}: {what}", metric, where=where, rule=True))
            columns.append(Shown("dev.", metric, "se", where))

    def order(row: Row) -> tuple[float, ...]:
        return row["true_eer"], nontargets_per_target(row) or math.inf, size_of(row)

    rows = (
        {
            **{name: value for name, value in row.items() if name not in ("low", "high")},
            "value": _bias(row),
            "n_speakers": row.get("n_speakers", ""),
            "true_eer": format_value("eer", row["true_eer"], 1),
            "key": f"{row['true_eer']} {nontargets_per_target(row)}",
        }
        for row in sorted(of.select(variant=VARIANTS), key=order)
    )
    replicates = study.estimators.replicates if study.estimators else 0
    yield rows, columns, {"replicates": str(replicates)}


#: Tables that do not show all rows of their experiment as they are.
_PARTS: Mapping[str, Callable[[StudyProtocol, Measurements], Iterator[_Part]]] = {
    "discrete": _discrete,
    "gaussian": _gaussian,
    "attacks_{speech}": _attacks,
    "estimators_needed": _required,
    "estimators_ceiling": _ceilings,
    "estimators": _estimates,
}


def group_rows(rows: Iterable[Row], key: str) -> dict[Any, list[Row]]:
    """Group rows by one of their entries."""
    return grouped(rows, lambda row: row[key])
