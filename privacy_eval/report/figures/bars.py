"""Bar charts of one metric, a bar per system: Figures 1, 2 and 13 to 16 of the supplement.

Missing values have no bar; values without a known interval have no whisker.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ...choices import grouped
from ...errors import abbreviate
from ...metrics import bengio_mariethoz_interval, describe
from ...numbers.cells import (
    ORIGINAL_ATTACK,
    ORIGINAL_COLUMN,
    Cells,
    conditions_of,
    conflicting_originals,
    interval_of,
    is_withheld,
    place_of,
)
from ...numbers.means import mean_of
from ...numbers.rankings import rank
from ...numbers.report_data import ReportData
from ...protocol.protocol import EERS, DataSet, Protocol
from ...results.measurements import Measurements, Row
from . import style
from .drawing import Drawing
from .style import bar_fill

_MOST_SYSTEMS = 20
_MOST_DATA_SETS = 3
_NAME = 18  # characters of a name below a bar
_ADJACENT = 8  # systems up to which genders fit side by side
_GENDER_FILLS = (
    bar_fill("#56B4E9"),
    bar_fill("#8A4B08", "////"),
    bar_fill("#009E73", "...."),
)
#: Limit of a metric where nothing is disclosed about the speaker, in the unit of records.
_NO_DISCLOSURE: Mapping[str, float] = {**dict.fromkeys(EERS, 0.5), "cllr_min": 1.0, "deid": 1.0}

_WHISKERS: Mapping[str, str] = {
    "speakers": "Whiskers: 95 % intervals of the bootstrap over speakers (widened where they are "
    "few), where there is one",
    "independent": "Whiskers: 95 % intervals of independent trials (Bengio & Mari\u00e9thoz, 2004) "
    "of known numbers, far too narrow, as trials share speakers",
}

_BySystem = Mapping[str, Row]


@dataclass(frozen=True, eq=False)
class Series:
    """Bars of one fill."""

    key: str
    label: str
    fill: Mapping[str, Any]


@dataclass(frozen=True)
class BarChart:
    """Bars of systems, from left to right, by their series in order."""

    title: str
    systems: tuple[str, ...]
    bars: Mapping[Series, _BySystem]

    @property
    def cells(self) -> list[Row]:
        """Values drawn."""
        return [cell for of_series in self.bars.values() for cell in of_series.values()]

    @property
    def width(self) -> float:
        """Width of a bar: those of the system with the most bars are side by side."""
        return 0.8 / max(Counter(s for bars in self.bars.values() for s in bars).values())

    def positions(self, series: Series) -> list[float]:
        """Centres of the bars of a series; all bars of a system are centred over its name."""
        centres = []
        for system in self.bars[series]:
            beside = [other for other, bars in self.bars.items() if system in bars]
            offset = beside.index(series) - (len(beside) - 1) / 2
            centres.append(self.systems.index(system) + offset * self.width)
        return centres


#: Panels below each other; those of a group are side by side if they fit.
Groups = Sequence[Sequence[BarChart]]


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield all bar charts that there are values for.

    Of each split: `bars_eer_*` (Figure 1), `bars_cllr_min_*` (2), `bars_gvd_db_*` (13),
    `bars_deid_*` (14), `bars_attacks_*` (15, attackers that have trained their own ASV model, where
    the systems are not ranked under one of them, so that these are in all figures);
    over all splits `bars_mean_eer` (16). Many systems or data sets are split over several.
    Systems are in the order of the ranking, or as they were asked for.
    By default those of the EER of each split: the number that systems are ranked by, of every
    condition and with its interval. The other metrics are in the tables.
    """
    if data.whiskers == "independent":
        rows = Measurements.of({**row, **_independent(row)} for row in data.cells.rows)
        data = replace(data, cells=replace(data.cells, rows=rows))
    cells, protocol = data.cells, data.protocol
    original = next((a.asv_model for a in protocol.attack_models if a.is_original), None)
    models = [a for a in protocol.attack_models if not a.is_original]
    of_systems = cells.rows.select(metric=protocol.eer, system=cells.systems)
    present = of_systems.values("attack_model")
    attacks = tuple(a.id for a in models if a.id in present)
    untrained = tuple(a.id for a in models if original in (None, a.asv_model))
    trained = tuple(a for a in attacks if a not in untrained)
    of_scores = untrained
    if protocol.average_attack_model in trained:
        of_scores, trained = (*untrained, *trained), ()
    genders = [
        Series(gender, style.escape_mathtext(title), look)
        for (gender, title), look in zip(
            protocol.genders.items(), itertools.cycle(_GENDER_FILLS), strict=False
        )
    ]
    of_attacks = _attack_series(protocol, attacks)
    for metrics, series, required, kind in (
        ((protocol.eer, "cllr_min"), _attack_series(protocol, of_scores), of_scores, ""),
        (("gvd_db", "deid"), genders, (None,), ""),
        ((protocol.eer,), of_attacks, trained, "attacks"),
    ):
        for split, metric in itertools.product(protocol.splits, metrics):
            yield from _split_figures(data, split, metric, series, required, kind)
    yield from _mean_figures(data, of_attacks)


def _independent(row: Row) -> dict[str, float | None]:
    """Compute the 95 % interval of an EER for independent trials (Bengio & Mariéthoz), in the
    unit of records; none if the numbers of trials are unknown, as of published values."""
    counts = [row[name] for name in ("n_target", "n_nontarget") if row.get(name)]
    known = row["metric"] in EERS and len(counts) == 2
    low, high = bengio_mariethoz_interval(row["value"], *counts) if known else (None, None)
    return {"low": low, "high": high}


def _whisker(cell: Row) -> tuple[float, float] | None:
    bounds = interval_of(cell)
    return bounds if bounds is not None and all(map(math.isfinite, bounds)) else None


def _split_figures(
    data: ReportData,
    split: str,
    metric: str,
    series: Sequence[Series],
    required: Sequence[str | None],
    kind: str,
) -> Iterator[Drawing]:
    """Figures of the systems and data sets with values under any of the `required` attack
    models, where None is voice similarity; `kind` is in their names instead of the metric."""
    cells, protocol = data.cells, data.protocol
    rows = cells.rows.select(metric=metric, split=split)
    under, attacks = rows.select(attack_model=required), (ORIGINAL_ATTACK, *required)
    originals = rows.select(system=ORIGINAL_COLUMN, attack_model=attacks).to_rows()
    data_sets = [d for d in protocol.data_sets if d.id in under.values("data_set")]
    ordered, order = _ordered(data, split)
    systems = [s for s in ordered if s in under.values("system")]
    name = style.file_stem("bars", kind or metric, split)
    what = f"{describe(metric).sentence} on the {protocol.split_name(split)}"
    number = 0
    for some_sets, some_systems in itertools.product(
        style.split_evenly(data_sets, _MOST_DATA_SETS), style.split_evenly(systems, _MOST_SYSTEMS)
    ):
        panels = (_panels(data, split, metric, series, d, some_systems) for d in some_sets)
        groups = [group for group in panels if group]
        if groups:
            number += 1
            ids = {d.id for d in some_sets}
            of_sets = [row for row in originals if row["data_set"] in ids]
            page = style.page_name(name, number)
            yield _drawing(data, page, metric, [what, order], groups, of_sets)


def _panels(
    data: ReportData,
    split: str,
    metric: str,
    series: Sequence[Series],
    data_set: DataSet,
    systems: Sequence[str],
) -> list[BarChart]:
    """A panel per gender with a series per attack model; of voice similarity a panel with a series
    per gender."""
    protocol, place = data.protocol, f"{data_set.title}, {split}"

    def values(attack: str | None, gender: str) -> _BySystem:
        """Values of systems; under the attack model `original` only that of original speech."""
        names = (ORIGINAL_COLUMN, *data.cells.systems)
        if attack is not None:
            names = (ORIGINAL_COLUMN,) if attack == ORIGINAL_ATTACK else data.cells.systems
        return data.cells.of(names, metric, attack, split, data_set.id, gender)

    if describe(metric).kind == "matrices":
        return _group({place: {s: values(None, s.key) for s in series}}, systems)
    titles = {f"{place}, {title}": gender for gender, title in protocol.genders.items()}
    bars = {t: {s: values(s.key, gender) for s in series} for t, gender in titles.items()}
    return _group(bars, systems)


def _attack_series(protocol: Protocol, attacks: Sequence[str]) -> list[Series]:
    """A series of original speech, and one per attack model."""
    fills = style.attack_fills(protocol)
    keys = (*(ORIGINAL_ATTACK for a in protocol.attack_models if a.is_original), *attacks)
    return [Series(key, style.attack_label(protocol, key), fills[key]) for key in keys]


# Means over splits and data sets


def _mean_figures(data: ReportData, series: Sequence[Series]) -> Iterator[Drawing]:
    """Mean EER over splits and data sets, a panel per gender.

    The mean of a system under an attack model is over every split and data set that any
    system has a value of; systems with missing values have no bar, nor has original speech
    of several sources.
    """
    cells, protocol = data.cells, data.protocol
    sets = {(t.split, t.data_set.id, t.gender) for t in protocol.trial_sets()}
    models = {a.id for a in protocol.attack_models}
    rows = [
        row
        for row in cells.rows.select(metric=protocol.eer, attack_model=models)
        if (row["split"], row["data_set"], row["gender"]) in sets
    ]
    means, averaged = _means(cells, rows)
    originals = [row for row in rows if row["system"] == ORIGINAL_COLUMN]
    averaged_by: dict[str, list[str]] = {}
    for (attack, gender), over in sorted(averaged.items()):
        label = f"{protocol.attack(attack).phrase} {protocol.genders[gender]}"
        averaged_by.setdefault(_describe_sets(protocol, over), []).append(label)
    what, title = "; ".join(f"{w} ({', '.join(by)})" for w, by in averaged_by.items()), "Means"
    if len(averaged_by) == 1:
        (what,) = averaged_by
        title = f"{what[:1].upper()}{what[1:]}"
    ordered, order = _ordered(data, data.main_split)
    sentences = [
        f"Mean EER over {what}",
        order,
        "A system has a bar if it has values of all of these",
    ]
    if withheld := [row for row in rows if is_withheld(row)]:
        why = dict.fromkeys(row["caveat"].reason for row in withheld)
        names = sorted({row["system"] for row in withheld})
        sentences.append(f"No bar of {abbreviate(names)}: {'; '.join(why)}")
    if conflicting_originals(cells, originals):
        sentences.append("Original speech of several sources has no mean")
    with_mean = [s for s in ordered if any(s in of_key for of_key in means.values())]
    for number, systems in enumerate(style.split_evenly(with_mean, _MOST_SYSTEMS), start=1):
        bars = {
            f"{title}, {of_gender}": {s: means.get((s.key, gender), {}) for s in series}
            for gender, of_gender in protocol.genders.items()
        }
        groups, name = [_group(bars, systems)], style.page_name("bars_mean_eer", number)
        yield _drawing(data, name, protocol.eer, sentences, groups, originals)


def _means(
    cells: Cells, rows: Iterable[Row]
) -> tuple[dict[tuple[str, str], dict[str, Row]], dict[tuple[str, str], set[tuple[str, str]]]]:
    """Average values of systems by attack model and gender with equal weights, as the
    supplement's Figure 16 does; also return the splits and data sets
    averaged over."""
    by_key = grouped(rows, lambda row: (row["attack_model"], row["gender"]))
    averaged = {key: {(r["split"], r["data_set"]) for r in of} for key, of in by_key.items()}
    means: dict[tuple[str, str], dict[str, Row]] = {
        key: {
            system: mean
            for system, own in grouped(of_key, lambda row: row["system"]).items()
            if len(own) == len(averaged[key])
            for mean in [mean_of(cells, own[0]["metric"], dict.fromkeys(map(place_of, own), 1))]
            if mean["value"] is not None
        }
        for key, of_key in by_key.items()
    }
    return means, averaged


def _describe_sets(protocol: Protocol, averaged: Iterable[tuple[str, str]]) -> str:
    """Describe splits and data sets, e.g. `LibriSpeech test`."""
    parts = []
    for split in protocol.splits:
        titles = [d.title for d in protocol.data_sets if (split, d.id) in averaged]
        if len(titles) == len(protocol.data_sets):
            titles = ["all data sets,"]
        if titles:
            parts.append(f"{', '.join(titles)} {split}")
    if len(parts) == len(protocol.splits) and all(p.startswith("all data sets") for p in parts):
        return "all splits and data sets" if len(parts) > 1 else "all data sets"
    return "; ".join(parts)


# Panels and captions


def _ordered(data: ReportData, split: str) -> tuple[list[str], str]:
    """Order systems as they are ranked on a split, the others after these, or as asked for; also
    say so."""
    systems, protocol = list(data.cells.systems), data.protocol
    if data.sources.systems:
        return systems, "Systems in the order asked for"
    ranking = rank(data.means, metric=protocol.eer, split=split)
    ranked = [r["system"] for r in ranking.ranked]
    attack = protocol.average_attack.phrase
    order = f"Ordered as ranked: by EER, {attack}, {protocol.split_name(split)}"
    return [*ranked, *(s for s in systems if s not in ranked)], order


def _group(
    titled: Mapping[str, Mapping[Series, _BySystem]], ordered: Iterable[str]
) -> list[BarChart]:
    """Make panels of original speech and of the systems that have any value there; none of
    original speech alone."""
    group = []
    for title, bars in titled.items():
        rated = {s for of_series in bars.values() for s in of_series}
        systems = tuple(s for s in (ORIGINAL_COLUMN, *ordered) if s in rated)
        if {*systems} - {ORIGINAL_COLUMN}:
            drawn = {
                series: {s: cell for s, cell in of_series.items() if s in systems}
                for series, of_series in bars.items()
            }
            group.append(BarChart(style.escape_mathtext(title, 60), systems, drawn))
    return group


def _drawing(
    data: ReportData,
    name: str,
    metric: str,
    sentences: Sequence[str],
    groups: Groups,
    originals: Iterable[Row],
) -> Drawing:
    cells, parts = data.cells, list(sentences)
    panels = [panel for group in groups for panel in group]
    drawn = [cell for panel in panels for cell in panel.cells]
    present = {s for panel in panels for s in panel.systems}
    if any(_whisker(cell) is not None for cell in drawn):
        parts.append(_WHISKERS[data.whiskers])
        if data.whiskers == "speakers" and describe(metric).repeats_matter:
            parts.append("They are biased to less privacy and need not include the value")
    if metric in _NO_DISCLOSURE:
        parts.append("Dashed line: no disclosure")
    if mixed := conflicting_originals(cells, originals):
        parts.append(mixed)
    if any(cells.style(s) for s in present):
        parts.append(style.families_caption(cells))
        if cells.own & present:
            parts.append("Bold names: submitted systems")
    items = [item for panel in panels for of in panel.bars.values() for item in of.items()]
    left_out = {system for system, cell in items if cell.get("left_out")}
    if left_out:
        names = [s for s in (ORIGINAL_COLUMN, *cells.systems) if s in left_out]
        parts.append(f"Trials were left out on request: {', '.join(names)}")
    draw = functools.partial(draw_groups, cells, metric, groups)
    default = metric in EERS and not name.startswith("bars_mean")
    return Drawing(name, ". ".join(parts) + ".", draw, (metric,), conditions_of(drawn), default)


# Drawing


def draw_groups(cells: Cells, metric: str, groups: Groups) -> Canvas:
    """Draw groups of panels below each other, panels of a group side by side if they fit."""
    most = max(len(p.systems) for group in groups for p in group)
    columns = max(map(len, groups)) if most <= _ADJACENT + 1 else 1
    rows = [list(group[i : i + columns]) for group in groups for i in range(0, len(group), columns)]
    panels = [p for row in rows for p in row]
    # Few bars stay slim: a narrower figure, not wider bars.
    title = max(style.text_width(p.title, style.FONT) for p in panels)
    column = max(0.45 * most + 0.3, title + 0.15)  # titles are side by side, too
    width = min(style.FULL_WIDTH, max(style.COLUMN_WIDTH, 0.7 + columns * column))
    names = {s: style.escape_mathtext(s, _NAME) for p in panels for s in p.systems}
    longest = max(map(style.text_width, names.values()))
    upright = longest + 0.04 < (width / columns - 0.6) / most
    # Panels of the same systems below each other need their names once.
    named = [
        columns > 1 or not following or row[0].systems != following[0].systems
        for row, following in itertools.zip_longest(rows, rows[1:])
    ]
    name_height = 0.2 if upright else 0.71 * longest + 0.3
    height = 0.5 + len(rows) * (1.0 if len(rows) > 3 else 1.2) + sum(named) * name_height
    rotation: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    with style.figure(width, height) as canvas:
        for axes, panel in style.panels(canvas, rows, sharey=True):
            _draw_panel(axes, metric, panel)
            texts = [names[s] for s in panel.systems]
            axes.set_xticks(range(len(texts)), texts, **({} if upright else rotation))
            for label, system in zip(axes.get_xticklabels(), panel.systems, strict=True):
                style.set_name(label, cells, system)
            place = axes.get_subplotspec()
            assert place is not None
            axes.tick_params(axis="x", length=0, labelbottom=named[place.rowspan.start])
            if place.is_first_col():
                axes.set_ylabel(describe(metric).axis)
        caveats = [c["caveat"] for p in panels for c in p.cells if is_withheld(c)]
        if metric != "gvd_db":
            low, high = canvas.axes[0].get_ylim()
            canvas.axes[0].set_ylim(min(low, 0.0), high * (1.15 if caveats else 1))
        handles: dict[str, Artist] = {}
        for series in (s for p in panels for s, of_series in p.bars.items() if of_series):
            handles.setdefault(series.label, Patch(**series.fill))
        for caveat in caveats:
            handles[f"{caveat.mark} {caveat.word}"] = Patch(**style.WITHHELD_FILL)
        columns = style.legend_columns(width, handles)
        style.legend(canvas, handles.values(), handles, loc="outside upper center", ncols=columns)
    return canvas


def _draw_panel(axes: Axes, metric: str, panel: BarChart) -> None:
    printed = describe(metric).printed
    for series, cells in panel.bars.items():
        if not cells:
            continue
        x = np.array(panel.positions(series))
        values = np.array([printed(c["value"]) for c in cells.values()])
        finite = np.isfinite(values)
        width = 0.95 * panel.width
        bars = axes.bar(x[finite], values[finite], width, zorder=2.0, **series.fill)
        bars.set_label(series.key)
        for bar, cell in zip(bars, itertools.compress(cells.values(), finite), strict=True):
            if is_withheld(cell):
                bar.set(**style.WITHHELD_FILL)
        heights = np.nan_to_num(values, posinf=0)
        for at, value, cell in zip(x, heights, cells.values(), strict=True):
            if is_withheld(cell):
                top = printed((_whisker(cell) or (0.0, 0.0))[1])
                style.mark_withheld(axes, at, max(value, top, 0.0), cell["caveat"].mark)
        for at, value in zip(x[~finite], values[~finite], strict=True):
            text = "\u221e" if value > 0 else "\u2212\u221e"
            axes.text(at, 0, text, ha="center", va="bottom", fontsize=style.SMALL_FONT)
        _draw_whiskers(axes, metric, x, cells.values())
    if metric in _NO_DISCLOSURE:
        level = printed(_NO_DISCLOSURE[metric])
        axes.axhline(level, color="black", linewidth=0.6, linestyle=(0, (4, 3)), zorder=1.5)
    axes.axhline(0, color="black", linewidth=0.6, zorder=2.5)
    axes.grid(axis="y")
    axes.set_xlim(-0.6, len(panel.systems) - 0.4)
    axes.set_title(panel.title, loc="left")


def _draw_whiskers(axes: Axes, metric: str, x: NDArray[np.float64], cells: Iterable[Row]) -> None:
    intervals = [
        (at, *(describe(metric).printed(bound) for bound in bounds))
        for at, cell in zip(x, cells, strict=True)
        if (bounds := _whisker(cell)) is not None
    ]
    if intervals:
        at, low, high = np.array(intervals).T
        look: dict[str, Any] = {"elinewidth": 0.7, "capsize": 1.2, "capthick": 0.7, "zorder": 3}
        middle, half = (low + high) / 2, (high - low) / 2
        axes.errorbar(at, middle, yerr=half, fmt="none", ecolor="black", **look)
