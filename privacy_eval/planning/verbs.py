"""sample-size: how many speakers, or listeners, an evaluation needs."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..choices import grouped
from ..cli.options import Options, plot_file
from ..errors import PrivacyEvalError, UsageError, enumerated
from ..options import natural, number, one_of, path, positive, sizes, value
from ..wings import provided

if TYPE_CHECKING:
    from ..report.figures.plot import Panel
    from ..report.single_files import Found
    from ..report.table import Table
    from .sample_size import Spread

#: Metrics over speakers, and what a pilot without one needs.
_SPEAKERS: Mapping[str, str] = {
    "eer": "an evaluation of two speakers or more with --bootstrap 1000",
    "linkability": "an evaluation of two speakers or more with --bootstrap 1000",
    "deid": "voice similarity of three speakers or more, with its files in records/ (stages 7, 8)",
    "wer": "word errors of two speakers or more, from transcripts in the tree (stage 6)",
}
_METRICS = (*_SPEAKERS, "opinion")
#: Assumptions of the simulator, whose place a pilot takes.
_SIMULATED = {"utterances": 10, "trials": 20, "eer": 30.0, "wer": 5.0, "seed": 0}
_MOST_SCORES = 10**7


def _up_to(limit: float) -> Callable[[str], float]:
    """Return the option type of positive numbers up to a limit."""

    def parse(text: str) -> float:
        if not 0 < number(text) <= limit:
            raise argparse.ArgumentTypeError(f"expected more than 0, up to {limit:g}, not {text}")
        return number(text)

    return parse


def _numbers(text: str) -> tuple[int, ...]:
    if not all(3 <= one <= 1000 for one in sizes(text)):
        raise argparse.ArgumentTypeError(f"expected 3 or more of each, up to 1000, not {text}")
    return sizes(text)


def _metrics(text: str) -> tuple[str, ...]:
    if unknown := {*text.split(",")} - {*_METRICS}:
        raise argparse.ArgumentTypeError(f"no metric {min(unknown)!r}, only {', '.join(_METRICS)}")
    return tuple(name for name in _METRICS if name in text.split(","))


def _given(metavar: str, what: str, parse: Callable[[str], Any], default: Any) -> dict[str, Any]:
    """Describe an option with a default."""
    return value(metavar, f"{what}; default: {default}", type=parse, default=default)


_RATINGS = "ratings of a pilot, as those of `listening`"
_OWN = "{} goes without results.json: a pilot has its own"

VERBS: dict[str, Options] = {
    "sample-size": {
        "example": "results.json --difference 2 --figure sizes.pdf",
        "shared": "format",
        "rules": ((" ".join(_SIMULATED), "!results", _OWN),),
        "needs": {"ratings": "variances of ratings"},
        "results": path("results.json", "pilot; default: none, scores are simulated", nargs="?"),
        "--speakers": _given("N,...", "of a trial set", _numbers, "10,20,40,80,160,200"),
        "--difference": _given("D", "of two systems, in %% points", _up_to(50), 2.0),
        "--utterances": value("N", "of a speaker; default: 10", type=positive),
        "--trials": value("N", "nontarget trials of an utterance; default: 20", type=positive),
        "--eer": value("E", "EER of the attack, in %%; default: 30", type=_up_to(50)),
        "--wer": value("W", "WER, in %%; default: 5", type=_up_to(50)),
        "--correlation": _given("R", "of systems, if no pilot has two", _up_to(0.99), 0.5),
        "--ratings": path("FILE", _RATINGS, nargs="+", action="extend"),
        "--listeners": _given("N,...", "of a listening test", _numbers, "5,10,20,40,80"),
        "--rated-speakers": _given("N", "whom they rate", one_of(range(3, 1001)), 20),
        "--each": _given("N", "ratings of each listener per system", positive, 10),
        "--rating-difference": _given("X", "of two systems' means", _up_to(10), 0.5),
        "--metrics": value("NAME,...", f"{', '.join(_METRICS)}; default: all", type=_metrics),
        "--seed": value("N", "of the simulation; default: 0", type=natural),
        "--figure": value("FILE", "picture to write: a pdf, png or tex file", type=plot_file),
    }
}


def run_sample_size(arguments: argparse.Namespace) -> Found:
    """Find expected widths and powers, from a pilot or simulated."""
    from ..report.single_files import Found
    from .sample_size import expected

    points, asked = arguments.difference / 100, arguments.metrics or _METRICS
    of_speakers = [metric for metric in _SPEAKERS if metric in asked]
    rated, of_ratings = list[dict[str, Any]](), list[str]()
    if "opinion" in asked and (arguments.results is None or arguments.ratings or arguments.metrics):
        rated, of_ratings = _of_listeners(arguments)
    source = _simulated if arguments.results is None else _of_pilot
    spreads, notes = source(arguments, of_speakers) if of_speakers else ({}, [])
    rows = [{**expected(of, n - 1, points), "n_speakers": n} for n in spreads for of in spreads[n]]
    tables = (
        _table("speakers", rows, f"{arguments.difference:g} points", notes),
        _table("listeners", rated, f"{arguments.rating_difference:g}", of_ratings),
    )
    rows += rated
    if arguments.figure is not None:
        _draw(arguments, rows)
    plain = {"rows": rows, "notes": [*notes, *of_ratings]}
    return Found(plain, rows, [table for table in tables if table.groups])


_Spreads = tuple[Mapping[int, Sequence["Spread"]], list[str]]


def _simulated(arguments: argparse.Namespace, metrics: Sequence[str]) -> _Spreads:
    """Simulate the standard errors of each number of speakers."""
    from .sample_size import ORIGINAL_EER, WORDS, Design, simulated

    given = {name: getattr(arguments, name) for name in _SIMULATED}
    known = {**_SIMULATED, **{n: v for n, v in given.items() if v is not None}}
    design, most = Design(**known, correlation=arguments.correlation), max(arguments.speakers)
    if design.utterances * most**2 > _MOST_SCORES:
        can = _MOST_SCORES // most**2
        raise UsageError(f"--utterances: at most {can} can be simulated of {most} speakers")
    spreads = {n: simulated(design, n, metrics) for n in arguments.speakers}
    needed = [_needed(of.times(most**0.5), arguments) for of in spreads[most]]
    return spreads, [
        *needed,
        f"Simulated: EER {design.eer:g} %, WER {design.wer:g} %",
        f"{design.utterances} utterances of {WORDS} words per speaker, up to {design.trials} "
        "nontarget trials each",
        f"DeID: original speech has an EER of {100 * ORIGINAL_EER:g} %",
        f"Assumed correlation of two systems: {design.correlation:g}",
        "In brackets: 95 % interval for the number of simulated draws",
    ]


def _needed(spread: Spread, arguments: argparse.Namespace) -> str:
    """Say how many speakers are needed, from the standard error of one."""
    from ..results.measurements import metric_of
    from .sample_size import ENOUGH, speakers_needed

    needed = speakers_needed(spread, arguments.difference / 100)
    number = f"about {needed:.0f}" if needed < math.inf else "more than 100000"
    name = metric_of(spread.metric).sentence
    return f"{name}: a power of {100 * ENOUGH:.0f} % needs {number} speakers"


def _of_pilot(arguments: argparse.Namespace, metrics: Sequence[str]) -> _Spreads:
    """Scale the standard errors of the metrics that a pilot has to each number of speakers."""
    from ..results.arrays import StoredArrays
    from ..results.json_store import read_results
    from ..results.measurements import metric_of
    from .sample_size import estimates_of, pooled

    results = read_results(arguments.results)
    arrays = StoredArrays([(results, arguments.results)])
    by_metric = grouped(estimates_of(results, arrays), lambda one: one.metric)
    pilot: list[Spread] = []
    needed, about, lacking = list[str](), list[str](), list[str]()
    for metric in metrics:
        of, name = by_metric.get(metric, []), metric_of(metric).sentence
        if not any(one.error > 0 for one in of):
            why = "does not vary in" if of else "cannot be planned by"
            lacking.append(f"{name} {why} the pilot; it needs {_SPEAKERS[metric]}")
            continue
        pilot.append(spread := pooled(of, arguments.correlation))
        needed.append(_needed(spread, arguments))
        systems = enumerated(list(dict.fromkeys(one.system for one in of)))
        speakers = " + ".join(str(n) for n in {one.people: one.speakers for one in of}.values())
        stored = "resampled" if of[0].replicates else "intervals, as records/ has no files"
        known = 1 - spread.difference**2 / (2 * spread.error**2)
        about += [
            f"{name}: {speakers} speakers of {systems}, {stored}",
            f"{name}: correlation of two systems {known:.2f}"
            + ("" if spread.pairs else " (assumed)"),
        ]
    if lacking and (arguments.metrics or not pilot):
        raise PrivacyEvalError(f"{arguments.results}: {lacking[0]}")
    spreads = {n: [of.times(n**-0.5) for of in pilot] for n in arguments.speakers}
    return spreads, [
        *needed,
        *about,
        *lacking,
        "Numbers are of one trial set",
        "Utterances and trials per speaker stay those of the pilot",
        "In brackets: 95 % interval for the pilot's numbers of speakers and replicates",
    ]


def _of_listeners(arguments: argparse.Namespace) -> tuple[list[dict[str, Any]], list[str]]:
    """Compute what numbers of listeners will give."""
    from .sample_size import ENOUGH, RATING_VARIANCES, expected, spread_of_ratings

    variances, apart, pilot = RATING_VARIANCES, None, math.inf
    if arguments.ratings:
        variances, apart, pilot = provided("variances of ratings")(arguments.ratings)
    if apart is None:
        apart = [2 * (1 - arguments.correlation) * one for one in variances]
    rows, speakers = [], arguments.rated_speakers
    for n in arguments.listeners:
        counts = (n, speakers, n * arguments.each)
        spread = spread_of_ratings(variances, apart, counts, pilot)
        row = expected(spread, min(n, speakers) - 1, arguments.rating_difference)
        rows.append({**row, "n_listeners": n})
    of = "the pilot" if arguments.ratings else "an assumption (--ratings FILE takes a pilot's)"
    enough = [row["n_listeners"] for row in rows if row["power"] >= ENOUGH]
    number = f"at most {min(enough)}" if enough else f"more than {max(arguments.listeners)}"
    texts = [", ".join(f"{one:.2f}" for one in of) for of in (variances, apart)]
    return rows, [
        f"A power of {100 * ENOUGH:.0f} % needs {number} listeners",
        f"Variances over listeners, over speakers and within pairs, of {of}: {texts[0]}",
        f"The same of the difference of two systems: {texts[1]}",
        f"Each listener rates {arguments.each} recordings of each system, of {speakers} speakers",
    ]


def _table(size: str, rows: Sequence[dict[str, Any]], of: str, notes: Sequence[str]) -> Table:
    """Make a table, by metric."""
    from ..report.single_files import text_table
    from ..results.measurements import metric_of

    groups: dict[str, list[dict[str, str]]] = {}
    for row in sorted(rows, key=lambda row: _METRICS.index(row["metric"])):
        metric = metric_of(row["metric"])
        is_known = row["width_low"] < row["width_high"]
        ends = metric.interval((row["width_low"], row["width_high"])) * is_known
        powers = [f"{100 * row[name]:.0f}" for name in ("power", "power_low", "power_high")]
        cells = {
            size: str(row[f"n_{size}"]),
            "width of the 95 % interval": f"{metric.format(row['width'])} {ends}".rstrip(),
            f"power for {of}": f"{powers[0]} %" + f" [{powers[1]}, {powers[2]}]" * is_known,
        }
        groups.setdefault(f"{metric.sentence}{', %' * metric.percent}", []).append(cells)
    caption = f"Expected widths of intervals, and power of paired tests at 5 %, by {size}"
    return text_table("sample_size", caption, groups, notes)


def _draw(arguments: argparse.Namespace, rows: Sequence[dict[str, Any]]) -> None:
    """Draw widths and powers, over speakers and over listeners."""
    from ..report.figures.drawing import Drawing, write
    from ..report.figures.plot import Plot

    panels = [
        (
            _panel(of, size, "width", f"width of 95 % interval ({unit})"),
            _panel(of, size, "power", "power (%)"),
        )
        for size, unit in (("n_speakers", "points"), ("n_listeners", "rating"))
        if (of := [row for row in rows if size in row])
    ]
    file, caption = arguments.figure, "Expected widths of 95 % intervals, and power; 95 % bands."
    plot = Plot(tuple(panels), legend="bottom", panel_height=2.2, longest_name=40)
    write(Drawing(file.stem, caption, plot), file.parent, [file.suffix[1:]])


def _panel(rows: Sequence[dict[str, Any]], size: str, name: str, label: str) -> Panel:
    """Draw a value with its band over sizes."""
    import numpy as np

    from ..report.figures import style
    from ..report.figures.plot import Curve, Panel, system_curve
    from ..results.measurements import metric_of

    sizes, looks = sorted({row[size] for row in rows}), style.system_styles(_METRICS)
    limits = float(np.log10(sizes[0] / 1.15)), float(np.log10(sizes[-1] * 1.15))
    factor = 1 if "rating" in label else 100
    curves = [Curve(np.array(limits), np.full(2, 80.0), "80 % power", colour=style.GREY)][
        name == "width" :
    ]
    for metric, of in grouped(rows, lambda row: row["metric"]).items():
        x = np.log10([row[size] for row in of])
        y, low, high = (
            factor * np.array([row[f"{name}{end}"] for row in of]) for end in ("", "_low", "_high")
        )
        curve = system_curve(
            looks[metric], x, y, np.column_stack([x, y]), metric_of(metric).sentence, ""
        )
        curves += [curve, Curve(x, high, colour=curve.colour, fill=True, base=low)]
    top = 105.0 if name == "power" else 1.05 * max(float(curve.y.max()) for curve in curves)
    apart = [n for n, after in zip(sizes, [*sizes[1:], math.inf], strict=True) if after > 1.3 * n]
    ticks = tuple((float(np.log10(n)), str(n)) for n in apart)
    return Panel(tuple(curves), size[2:], label, limits, (0.0, top), x_ticks=ticks, x_scale="log10")
