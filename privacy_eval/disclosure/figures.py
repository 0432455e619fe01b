"""Identification rates in groups of several sizes, over all speakers and of each speaker: a curve
per system and attack model, and a dot per speaker; how often speakers are singled out.

Error rates by the number of utterances per test, and by their seconds, with bands.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np
from numpy.typing import ArrayLike

from ..choices import grouped
from ..errors import counted
from ..metrics.pav import FloatArray
from ..numbers.cells import ORIGINAL_COLUMN, interval_of
from ..numbers.report_data import ReportData, main_split
from ..report.figures import style
from ..report.figures.drawing import Drawing
from ..report.figures.plot import Curve, Panel, Plot, system_curve
from ..results.measurements import Measurements, Row
from ..results.records import Record, galleries
from .linkage import singling_out_chance
from .numbers import (
    by_length,
    by_trial_set,
    rate_at,
    seconds_at,
    speakers_chance,
    speakers_of,
    speakers_size,
)

#: Maximum number of curves with bands: more bands hide one another.
_MOST_BANDS = 4
_FOUND = "right person found (%)"

#: Records with their names, and the styles of these.
_Entries = Sequence[tuple[str, Record]]
_Styles = Mapping[str, style.SystemStyle]


def identification_figures(data: ReportData) -> Iterator[Drawing]:
    """Yield, per trial set and attack model, all systems and original speech: `identification_*`,
    curves and chance; `identification_speakers_*`, sorted dots of their speakers; and
    `identification_singling_out_*`."""
    protocol = data.protocol
    place = attrgetter("data_set", "split", "gender", "attack_model")
    by_condition = grouped(data.results.identification, lambda r: place(r.condition))
    styles = style.system_styles(data.results.systems)
    original = next((a.id for a in protocol.attack_models if a.is_original), None)
    for t, attack in itertools.product(protocol.trial_sets(), protocol.attack_models):
        of_set = t.data_set.id, t.split, t.gender
        records = by_condition.get((*of_set, attack.id), [])
        if attack.id == original:
            continue
        title = f"{protocol.title_of_set(*of_set)}, {attack.phrase}"
        for page, number, part in style.numbered_pages(records, style.MOST_SYSTEMS):
            entries = [(r.condition.system, r) for r in page]
            originals = by_condition.get((*of_set, original), [])[:1]
            entries += [(ORIGINAL_COLUMN, r) for r in originals]
            for kind, draw in _KINDS.items():
                if panel := draw(entries, styles, title):
                    caption, axes = panel
                    name = style.file_stem(kind, attack.id, *of_set, *number)
                    text, of = caption.format(f"{title}{part}"), [r.condition for r in page]
                    yield Drawing(name, text, Plot(((axes,),)), conditions=of)


def _galleries(entries: _Entries, styles: _Styles, title: str) -> tuple[str, Panel]:
    curves, bands = [], []
    for name, r in entries:
        rows = galleries(r)
        curves.append(_of_sizes(styles[name], name, rows))
        intervals = [interval for row in rows if (interval := interval_of(row))]
        if intervals and len(entries) <= _MOST_BANDS:
            bands.append(_band(styles[name], rows["gallery"].tolist(), intervals))
    largest = max((r.facts for _, r in entries), key=lambda of: of["n_enrolled"])
    sizes = np.geomspace(1, largest["n_enrolled"], 100)
    chance = _grey(np.log10(sizes), np.minimum(largest["rank"] / sizes, 1))
    caption = (
        "Identification: {}. Rate at which the right speaker scores highest, by the number of "
        "enrolled speakers in the group; grey: chance."
    ) + " Bands: 95 % intervals over test speakers." * bool(bands)
    return caption, _sizes_panel([*curves, *bands, chance], largest["n_enrolled"], title)


def _speakers(entries: _Entries, styles: _Styles, title: str) -> tuple[str, Panel] | None:
    entries = [(name, r) for name, r in entries if speakers_of(r)]
    if not entries:
        return None
    dots = []
    for name, r in entries:
        y = 100 * np.array([s.linkage for s in speakers_of(r)])
        x = np.arange(1, y.size + 1, dtype=np.float64)
        note = f"({np.median(y):.0f} % median)"
        dot = system_curve(styles[name], x, y, np.column_stack([x, y]), name, note)
        dots.append(replace(dot, width=0.4))
    sizes = sorted({speakers_size(r) for _, r in entries})
    chances = {speakers_chance(r) for _, r in entries}
    caption = (
        "Identification of each speaker: {}. A dot per speaker, the most often found one first: "
        f"how often the own score is highest among {' or '.join(map(str, sizes))}. Grey: "
        "chance. The worst of many are so partly by chance."
    )
    most = max(curve.x[-1] for curve in dots)
    panel = Panel(
        (*dots, *(_grey(np.array([0.0, 1e4]), np.full(2, chance)) for chance in sorted(chances))),
        "speakers, the most often found first",
        _FOUND,
        (0.0, float(most + 1)),
        (0.0, 105.0),
        title=title,
    )
    return caption, panel


def _singling_out(entries: _Entries, styles: _Styles, title: str) -> tuple[str, Panel] | None:
    every = [(name, galleries(r, "singling_out")) for name, r in entries]
    singled = [(name, rows) for name, rows in every if len(rows)]
    if not singled:
        return None
    curves = [_of_sizes(styles[name], name, of) for name, of in singled]
    most = max(max(of["n_speakers"]) for _, of in singled)
    sizes = np.unique(np.geomspace(2, most, 100).round())
    curves.append(_grey(np.log10(sizes), singling_out_chance(sizes), "knows nothing"))
    caption = (
        "Singling out: {}. How often exactly one test speaker is accepted for an enrolled one, by "
        "their number. Grey: chance (docs/identification.md has its formula). Far above it is "
        "bad; below it is not more private."
    )
    panel = _sizes_panel(curves, most, title)
    return caption, replace(panel, x_label="test speakers", y_label="exactly one accepted (%)")


#: By the beginning of the names: caption with a place for the title, and panel.
_KINDS = {
    "identification": _galleries,
    "identification_speakers": _speakers,
    "identification_singling_out": _singling_out,
}


def _of_sizes(look: style.SystemStyle, name: str, rows: Measurements) -> Curve:
    """Rates over sizes, with the last one in the legend."""
    sizes, rates = rows["gallery"].tolist(), rows["value"].tolist()
    return _rate_curve(look, sizes, rates, name, f"({100 * rates[-1]:.0f} % of {sizes[-1]})")


def _rate_curve(
    look: style.SystemStyle, over: ArrayLike, rates: ArrayLike, name: str, note: str = ""
) -> Curve:
    """Rates, in percent, over values on a logarithmic scale, with a marker at each."""
    x, y = np.log10(over), 100 * np.asarray(rates)
    return system_curve(look, x, y, np.column_stack([x, y]), name, note)


def _band(look: style.SystemStyle, over: ArrayLike, intervals: ArrayLike) -> Curve:
    """Intervals of the rates of a curve."""
    low, high = 100 * np.asarray(intervals).T
    return Curve(np.log10(over), high, colour=look.colour, fill=True, base=low)


def _grey(x: FloatArray, rates: FloatArray, name: str = "chance") -> Curve:
    return Curve(x, 100 * rates, name, colour=style.GREY)


def _sizes_panel(curves: Sequence[Curve], largest: int, title: str) -> Panel:
    ticks = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000) if n <= largest]
    limits = 0.0, float(np.log10(1.08 * max(largest, 2)))
    axes = _log_panel("people in the group", limits, {n: f"{n}" for n in ticks}, title)
    return replace(axes, curves=tuple(curves), y_label=_FOUND)


def _log_panel(
    label: str, limits: tuple[float, float], ticks: Mapping[float, str], title: str = ""
) -> Panel:
    """Return empty axes for rates in percent over values on a logarithmic scale; `limits` are
    logarithms."""
    x_ticks = tuple((float(np.log10(n)), text) for n, text in sorted(ticks.items()))
    return Panel((), label, "", limits, (0.0, 105.0), title, x_ticks=x_ticks, x_scale="log10")


# Error rates by the amount of speech


def amount_figures(data: ReportData) -> Iterator[Drawing]:
    """Yield figures of each system and trial set of the main split: a curve of the challenge's
    attacker under every attack model, and one of the other attacker that finds most."""
    amounts = data.results.amounts
    lengths_of = {id(r): by_length(r.measurements, speakers="equal") for r in amounts}
    records = [r for r in amounts if len(lengths_of[id(r)]) > 1]
    split = main_split(data.protocol, records)
    for system in dict.fromkeys(r.condition.system for r in records):
        own = [r for r in records if (r.condition.system, r.condition.split) == (system, split)]
        for (_, data_set, gender), of_set in by_trial_set(own).items():
            others = [r for r in of_set if not r.condition.is_by_challenge]
            others.sort(key=lambda r: -(rate_at(lengths_of[id(r)][-1]) or 0))
            shown = [r for r in of_set if r.condition.is_by_challenge] + others[:1]
            caption = (
                "Error rates by the number of sentences per test: "
                f"{system}, {data.protocol.title_of_set(data_set, split, gender)}. The same "
                "speakers at every number, those of the largest; so many have a test of "
                f"{_remaining(shown)}. Bands: 95 % intervals over speakers, where there are any."
            )
            if others:
                caption += (
                    f" In brackets: of {counted(len(others), 'other attacker')} the one that finds "
                    f"most, by averaged {others[0].facts['averaged']}."
                )
            plot = amount_plot({_attacker(data, r): lengths_of[id(r)] for r in shown})
            stem = style.file_stem("amount", system, data_set, split, gender)
            yield Drawing(stem, caption, plot, ("eer",), [r.condition for r in shown])


def _remaining(records: Sequence[Record]) -> str:
    """Say how many speakers have a test of each number of sentences."""
    rows = (row for r in records for row in r.measurements.select(metric="eer", speakers="all"))
    by_length = grouped((row for row in rows if row["n_tests"]), lambda row: row["sentences"])
    return ", ".join(
        f"{length}: {' or '.join(map(str, sorted({row['n_speakers'] for row in of_length})))}"
        for length, of_length in sorted(by_length.items())
    )


def _attacker(data: ReportData, record: Record) -> str:
    """Name an attacker in the legend."""
    c = record.condition
    attack = data.protocol.attack(c.attack_model or "").title
    by = "" if c.is_by_challenge else f" ({c.attacker})"
    folder = f" {c.results_folder}" if c.results_folder else ""
    return f"{attack}{by}{folder}"


def amount_plot(curves: Mapping[str, Sequence[Mapping[str, Row]]]) -> Plot:
    """Plot how often the right person is found, and the EER, over equal speakers.

    Parameters
    ----------
    curves : mapping
        By name, rows by metric of each number of sentences; bands are drawn where they have
        intervals.

    Returns
    -------
    Plot
    """
    every = [of_length for lengths in curves.values() for of_length in lengths]
    speakers = sorted({lengths[-1]["eer"]["n_speakers"] for lengths in curves.values()})
    title = f"{' or '.join(map(str, speakers))} speakers at every length"
    sentences = (of_length["eer"]["sentences"] for of_length in every)
    axis = _axis("sentences per test", {n: str(n) for n in sentences})
    axes = {"": replace(axis, title=title)}
    seconds = [s for s in map(seconds_at, every) if s is not None]
    if len(seconds) == len(every):
        axes["seconds"] = _axis("mean seconds of speech per test", dict.fromkeys(seconds, ""))
    rows = tuple(
        (
            _amount_panel(curves, (key, "rank1"), _FOUND, axis),
            _amount_panel(curves, (key, "eer"), "EER (%)", replace(axis, title="")),
        )
        for key, axis in axes.items()
    )
    return Plot(rows, legend="bottom", panel_height=2.4, longest_name=40)


def _axis(label: str, ticks: Mapping[float, str]) -> Panel:
    """Return empty axes over values, on a logarithmic scale; without names, ticks are round."""
    low, high = min(ticks), max(*ticks, 2 * min(ticks))
    if not all(ticks.values()):
        steps = (f * 10.0**e for e in range(-1, 6) for f in (1, 2, 5))
        ticks = {n: f"{n:g}" for n in steps if 0.9 * low <= n <= 1.1 * high}
    limits = float(np.log10(low)) - 0.05, float(np.log10(high)) + 0.05
    return _log_panel(label, limits, ticks)


def _amount_panel(
    curves: Mapping[str, Sequence[Mapping[str, Row]]],
    values: tuple[str, str],
    label: str,
    axis: Panel,
) -> Panel:
    """Draw two values of amounts on axes: sentences (by default) or seconds, and a rate."""
    drawn, (over, rate) = [], values
    styles = style.system_styles(list(curves))
    for name, lengths in curves.items():
        points = [of_length for of_length in lengths if "value" in of_length[rate]]
        rows = [of_length[rate] for of_length in points]
        x = [of[over]["value"] if over else of[rate]["sentences"] for of in points]
        drawn.append(_rate_curve(styles[name], x, [row["value"] for row in rows], name))
        intervals = [interval for row in rows if (interval := interval_of(row))]
        if intervals and len(intervals) == len(points):
            drawn.append(_band(styles[name], x, intervals))
    return replace(axis, curves=tuple(drawn), y_label=label)
