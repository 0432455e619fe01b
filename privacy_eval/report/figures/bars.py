"""Bars of one metric, a bar per system: Figures 1, 2 and 13 to 16 of the supplement.

What has no value has no bar, and what has no known numbers of trials has no whisker.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.gridspec import SubplotSpec
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ...metrics import bengio_mariethoz_interval
from ...protocol.protocol import Protocol
from ..data import ReportData
from ..values import ORIGINAL_ATTACK, ORIGINAL_COLUMN, Cell, Cells, Place, conflicting_originals
from . import style
from .drawing import Drawing
from .style import BarStyle

_MOST_SYSTEMS = 20
_MOST_DATA_SETS = 3
_NAME = 18  # letters of a name below a bar
_BESIDE = 8  # systems up to which genders fit beside each other
_GENDER_STYLES = (BarStyle("#56B4E9", ""), BarStyle("#8A4B08", "////"), BarStyle("#009E73", "...."))
#: What a metric tends to where nothing is learnt about the speaker, in the unit of records.
_NO_DISCLOSURE: Mapping[str, float] = {"eer": 0.5, "rocch_eer": 0.5, "cllr_min": 1.0, "deid": 1.0}
_WITH_WHISKERS = frozenset({"eer", "rocch_eer"})


@dataclass(frozen=True)
class Series:
    """Bars of one fill: `slot` is their place within a system's group, `front` whether
    they are, narrower, in front of those of another series there."""

    key: str
    label: str
    fill: BarStyle
    slot: int
    front: bool
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Panel:
    """Bars of systems, from left to right."""

    title: str
    systems: tuple[str, ...]
    series: tuple[Series, ...]


#: Panels under each other; those of a group are beside each other if they fit.
Groups = Sequence[Sequence[Panel]]


def figures(data: ReportData) -> Iterator[Drawing]:
    """All figures of bars that there are values for.

    Of each split: `bars_eer_*` (Figure 1), `bars_cllr_min_*` (2), `bars_gvd_db_*` (13),
    `bars_deid_*` (14), `bars_attacks_*` (15, where an attacker has a model of its own);
    over all splits `bars_mean_eer` (16). Many systems or data sets go on several.
    """
    protocol = data.protocol
    attacks, untrained = _with_values(data.cells, protocol, "eer"), _untrained(protocol)
    trained = tuple(a for a in attacks if a not in untrained)
    for split, metric in itertools.product(protocol.splits, ("eer", "cllr_min")):
        yield from _of_split(data, ("bars", metric, split), split, metric, untrained, untrained)
    for split, metric in itertools.product(protocol.splits, ("gvd_db", "deid")):
        yield from _of_split(data, ("bars", metric, split), split, metric, (), (None,))
    for split in protocol.splits:
        yield from _of_split(data, ("bars_attacks", split), split, "eer", attacks, trained)
    yield from _mean_figures(data)


def attack_groups(
    data: ReportData,
    split: str,
    metric: str,
    attacks: Sequence[str],
    systems: Sequence[str],
    data_sets: Collection[str],
) -> Groups:
    """A metric of a split under attack models, a panel per data set and gender.

    Systems are ordered by the values of the first gender under the protocol's average attack
    model on the data set, those without at the end; original speech is first. An attack
    model that compares the same speech as one before it (semi-informed) is drawn in front of
    it, darker and narrower.
    """
    protocol = data.protocol
    first, average = next(iter(protocol.genders)), protocol.average_attack_model
    groups = []
    for data_set in (d for d in protocol.data_sets if d.id in data_sets):
        ordered = _ordered(_found(data.cells, metric, average, split, data_set.id, first), systems)
        group = []
        for gender, title in protocol.genders.items():
            found = {
                attack: _found(data.cells, metric, attack, split, data_set.id, gender)
                for attack in (ORIGINAL_ATTACK, *attacks)
            }
            series = _attack_series(protocol, attacks, found, ordered)
            group.append(_panel(f"{data_set.title}, {split}, {title}", ordered, series))
        groups.append(group)
    return groups


def gender_groups(
    data: ReportData, split: str, metric: str, systems: Sequence[str], data_sets: Collection[str]
) -> Groups:
    """DeID or G_VD of a split, a panel per data set and a bar per gender, ordered by the
    values of the last gender on the data set."""
    protocol = data.protocol
    groups = []
    for data_set in (d for d in protocol.data_sets if d.id in data_sets):
        by_gender = {
            gender: _found(data.cells, metric, None, split, data_set.id, gender)
            for gender in protocol.genders
        }
        ordered = _ordered(by_gender[list(protocol.genders)[-1]], systems)
        series = tuple(
            Series(gender, style.literal(protocol.genders[gender]), fill, i, False, found)
            for i, ((gender, found), fill) in enumerate(
                zip(by_gender.items(), itertools.cycle(_GENDER_STYLES), strict=False)
            )
        )
        groups.append([_panel(f"{data_set.title}, {split}", ordered, series)])
    return groups


def whisker(metric: str, cell: Cell) -> tuple[float, float] | None:
    """95 % interval of an EER if trials were independent (Bengio & Mariéthoz), in the unit of
    records; None where the numbers of trials are not known, as of published values."""
    if metric not in _WITH_WHISKERS or not cell.n_target or not cell.n_nontarget:
        return None
    bounds = bengio_mariethoz_interval(cell.value, cell.n_target, cell.n_nontarget)
    return bounds if all(map(math.isfinite, bounds)) else None


def _of_split(
    data: ReportData,
    name: tuple[str, ...],
    split: str,
    metric: str,
    attacks: Sequence[str],
    required: Sequence[str | None],
) -> Iterator[Drawing]:
    """Figures of the systems and data sets that have values under some of the required
    attack models; a required None stands for voice similarity."""
    cells, protocol = data.cells, data.protocol
    places = [p for p in cells.values if p.metric == metric and p.split == split]
    under = [p for p in places if p.attack_model in required]
    present, with_values = {p.data_set for p in under}, {p.system for p in under}
    parts = itertools.product(
        style.pages([d.id for d in protocol.data_sets if d.id in present], _MOST_DATA_SETS),
        style.pages([s for s in cells.systems if s in with_values], _MOST_SYSTEMS),
    )
    genders = list(protocol.genders.values())
    what = f"{style.METRIC_NAMES[metric]} on the {protocol.split_title(split)}"
    order = f"Ordered by the values of {genders[0]} speakers under {_average_attack(protocol)}"
    if None in required:
        order = f"Ordered by the values of {genders[-1]} speakers"
    elif name[0] == "bars_attacks":
        what += "; dark bars in front: attackers with a model of their own"
    number = 0
    for data_sets, systems in parts:
        groups = (
            gender_groups(data, split, metric, systems, data_sets)
            if None in required
            else attack_groups(data, split, metric, attacks, systems, data_sets)
        )
        groups = _not_empty(groups)
        if groups:
            number += 1
            originals = [
                p
                for p in places
                if p.system == ORIGINAL_COLUMN
                and p.data_set in data_sets
                and p.attack_model in (ORIGINAL_ATTACK, *required)
            ]
            yield Drawing(
                style.continued(style.stem(*name), number),
                _caption(cells, (split,), metric, [what, order], groups, originals),
                functools.partial(draw_groups, cells, metric, groups),
            )


# Means over splits and data sets


def _mean_figures(data: ReportData) -> Iterator[Drawing]:
    """Mean EER over splits and data sets, a panel per gender.

    The mean of a system under an attack model is over every split and data set that any
    system has a value of there; one where some are missing has no bar. Nor has original
    speech that is of several sources.
    """
    cells, protocol = data.cells, data.protocol
    under = _under_attacks(cells, protocol, "eer")
    averaged = _averaged(under)
    means = _means(cells, under, averaged)
    originals = [p for p in under if p.system == ORIGINAL_COLUMN]
    first = next(iter(protocol.genders))
    sentences = [
        f"Mean EER over {_averaged_in_words(protocol, averaged)}",
        f"Ordered by the means of {protocol.genders[first]} speakers under "
        f"{_average_attack(protocol)}",
        "A system has a bar where it has values of all of these",
    ]
    if conflicting_originals(cells, originals):
        sentences.append("Original speech of several sources has no mean")
    attacks = _with_values(cells, protocol, "eer")
    with_mean = [s for s in cells.systems if any(s in found for found in means.values())]
    for number, systems in enumerate(style.pages(with_mean, _MOST_SYSTEMS), start=1):
        ordered = _ordered(means.get((protocol.average_attack_model, first), {}), systems)
        group = []
        for gender, title in protocol.genders.items():
            by_attack = {a: means.get((a, gender), {}) for a in (ORIGINAL_ATTACK, *attacks)}
            over = {averaged[a, gender] for a in by_attack if (a, gender) in averaged}
            words = _in_words(protocol, over.pop()) if len(over) == 1 else "means"
            series = _attack_series(protocol, attacks, by_attack, ordered)
            group.append(_panel(f"{words[:1].upper()}{words[1:]}, {title}", ordered, series))
        groups = _not_empty([group])
        yield Drawing(
            style.continued("bars_mean_eer", number),
            _caption(cells, protocol.splits, "eer", sentences, groups, originals),
            functools.partial(draw_groups, cells, "eer", groups),
        )


def _under_attacks(cells: Cells, protocol: Protocol, metric: str) -> dict[Place, Cell]:
    """Values of the protocol's conditions."""
    sets = {(t.split, t.data_set.id, t.gender) for t in protocol.trial_sets()}
    attacks = {a.id for a in protocol.attack_models}
    return {
        p: cell
        for p, cell in cells.values.items()
        if p.metric == metric
        and p.attack_model in attacks
        and (p.split, p.data_set, p.gender) in sets
    }


def _averaged(places: Iterable[Place]) -> dict[tuple[str, str], frozenset[tuple[str, str]]]:
    """The splits and data sets that means are over, by attack model and gender."""
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for p in places:
        found.setdefault((p.attack_model or "", p.gender), set()).add((p.split, p.data_set))
    return {key: frozenset(over) for key, over in found.items()}


def _means(
    cells: Cells,
    under: Mapping[Place, Cell],
    averaged: Mapping[tuple[str, str], Collection[tuple[str, str]]],
) -> dict[tuple[str, str], dict[str, Cell]]:
    """Means by attack model and gender, then by system."""
    values: dict[tuple[str, str, str], list[Place]] = {}
    for p in under:
        values.setdefault((p.attack_model or "", p.gender, p.system), []).append(p)
    means: dict[tuple[str, str], dict[str, Cell]] = {}
    for (attack, gender, system), places in values.items():
        complete = len(places) == len(averaged[attack, gender])
        if complete and not conflicting_originals(cells, places):
            mean = math.fsum(under[p].value for p in places) / len(places)
            means.setdefault((attack, gender), {})[system] = Cell(mean, "")
    return means


def _averaged_in_words(
    protocol: Protocol, averaged: Mapping[tuple[str, str], Collection[tuple[str, str]]]
) -> str:
    """What means are over, as captions say it; where it is not the same for all, by attack
    model and gender."""
    titles = {a.id: a.title.lower() for a in protocol.attack_models}
    by_words: dict[str, list[str]] = {}
    for (attack, gender), over in sorted(averaged.items()):
        label = f"{titles[attack]} {protocol.genders[gender]}"
        by_words.setdefault(_in_words(protocol, over), []).append(label)
    if len(by_words) == 1:
        return next(iter(by_words))
    return "; ".join(f"{words} ({', '.join(labels)})" for words, labels in by_words.items())


def _in_words(protocol: Protocol, over: Collection[tuple[str, str]]) -> str:
    """Splits and data sets, as `LibriSpeech test`."""
    if len(over) == len(protocol.splits) * len(protocol.data_sets):
        return f"all {'splits and ' if len(protocol.splits) > 1 else ''}data sets"
    parts = []
    for split in protocol.splits:
        titles = [d.title for d in protocol.data_sets if (split, d.id) in over]
        if titles:
            every = len(titles) == len(protocol.data_sets)
            parts.append(f"{'all data sets,' if every else ', '.join(titles)} {split}")
    return "; ".join(parts)


# What panels are made of


def _untrained(protocol: Protocol) -> tuple[str, ...]:
    """Attack models that use the model trained on original speech."""
    models = {a.id: a.asv_model for a in protocol.attack_models if not a.is_original}
    original = next((a.asv_model for a in protocol.attack_models if a.is_original), None)
    return tuple(a for a, model in models.items() if original in (None, model))


def _with_values(cells: Cells, protocol: Protocol, metric: str) -> tuple[str, ...]:
    attacks = (a.id for a in protocol.attack_models if not a.is_original)
    return tuple(a for a in attacks if cells.has(metric, a))


def _average_attack(protocol: Protocol) -> str:
    titles = {a.id: a.title for a in protocol.attack_models}
    average = protocol.average_attack_model
    return f"the {titles.get(average, average).lower()} attack model"


def _ordered(found: Mapping[str, Cell], systems: Iterable[str]) -> tuple[str, ...]:
    """Original speech, then systems by value, those without one last; equal ones keep their
    order."""
    by_value = sorted(systems, key=lambda s: found[s].value if s in found else math.inf)
    # Infinite values come before missing ones.
    return (ORIGINAL_COLUMN, *sorted(by_value, key=lambda s: s not in found))


def _found(
    cells: Cells, metric: str, attack: str | None, split: str, data_set: str, gender: str
) -> dict[str, Cell]:
    """Values of systems; under the attack model `original` only that of original speech."""
    found = {}
    for system in (ORIGINAL_COLUMN, *cells.systems):
        if attack is not None and (system == ORIGINAL_COLUMN) != (attack == ORIGINAL_ATTACK):
            continue
        cell = cells.get(metric, attack, split, data_set, gender, system)
        if cell is not None:
            found[system] = cell
    return found


def _attack_series(
    protocol: Protocol,
    attacks: Sequence[str],
    values: Mapping[str, Mapping[str, Cell]],
    systems: Collection[str],
) -> tuple[Series, ...]:
    fills = style.attack_styles(protocol)
    compared = {a.id: (a.enrollment, a.trial) for a in protocol.attack_models}
    slots: dict[tuple[str, str], int] = {}
    series = []
    for attack in (ORIGINAL_ATTACK, *attacks) if values[ORIGINAL_ATTACK] else attacks:
        front, slot = compared.get(attack) in slots, -1
        if attack != ORIGINAL_ATTACK:
            slot = slots.setdefault(compared[attack], len(slots))
        label = style.attack_label(protocol, attack)
        found = {s: c for s, c in values[attack].items() if s in systems}
        series.append(Series(attack, label, fills[attack], slot, front, found))
    return tuple(series)


def _panel(title: str, ordered: Iterable[str], series: tuple[Series, ...]) -> Panel:
    """A panel of the systems that have any value there."""
    drawn = tuple(s for s in ordered if any(s in one.cells for one in series))
    return Panel(style.literal(title, 60), drawn, series)


def _not_empty(groups: Groups) -> Groups:
    """Groups without panels that have no system but original speech."""
    kept = [[p for p in group if set(p.systems) - {ORIGINAL_COLUMN}] for group in groups]
    return [group for group in kept if group]


def _caption(
    cells: Cells,
    splits: Sequence[str],
    metric: str,
    sentences: Sequence[str],
    groups: Groups,
    originals: Iterable[Place],
) -> str:
    parts, panels = list(sentences), [panel for group in groups for panel in group]
    drawn = {s for panel in panels for s in panel.systems}
    systems = [s for s in (ORIGINAL_COLUMN, *cells.systems) if s in drawn]
    values = (
        cell
        for panel in panels
        for series in panel.series
        for system, cell in series.cells.items()
        if system in panel.systems
    )
    if any(whisker(metric, cell) is not None for cell in values):
        parts.append(
            "Whiskers: 95 % intervals of independent trials (Bengio & Mari\u00e9thoz, 2004), where "
            "the numbers of trials are known"
        )
    if metric in _NO_DISCLOSURE:
        parts.append("Dashed line: no disclosure")
    mixed = conflicting_originals(cells, originals)
    if mixed:
        parts.append(mixed)
    if any(cells.style(s) for s in systems):
        parts.append(style.families_caption(cells))
        if cells.own.intersection(systems):
            parts.append("Bold names: submitted systems")
    left_out = {
        p.system
        for p, cell in cells.values.items()
        if cell.left_out and p.metric == metric and p.split in splits
    }
    named = [s for s in systems if s in left_out]
    if named:
        parts.append(f"Trials were left out on request: {', '.join(named)}")
    return ". ".join(parts) + "."


# Drawing


def draw_groups(cells: Cells, metric: str, groups: Groups) -> Canvas:
    """Draw groups of panels under each other, panels of a group beside each other if they
    fit."""
    most = max(len(p.systems) for group in groups for p in group)
    columns = max(map(len, groups)) if most <= _BESIDE + 1 else 1
    rows = [list(group[i : i + columns]) for group in groups for i in range(0, len(group), columns)]
    # Few bars stay slim: a narrower figure, not wider bars.
    title = max(style.text_width(p.title, style.FONT) for row in rows for p in row)
    column = max(0.45 * most + 0.3, title + 0.15)  # titles are beside each other too
    width = min(style.FULL_WIDTH, max(style.COLUMN_WIDTH, 0.7 + columns * column))
    slot = (width / columns - 0.6) / most
    names = {s: style.literal(s, _NAME) for row in rows for p in row for s in p.systems}
    longest = max(map(style.text_width, names.values()))
    upright = longest + 0.04 < slot
    # Panels of the same systems under each other need their names once.
    named = [
        columns > 1 or not following or row[0].systems != following[0].systems
        for row, following in itertools.zip_longest(rows, rows[1:])
    ]
    name_height = 0.2 if upright else 0.71 * longest + 0.3
    height = 0.5 + len(rows) * (1.0 if len(rows) > 3 else 1.2) + sum(named) * name_height
    with style.figure(width, height) as canvas:
        for axes, panel in style.panels(canvas, rows, sharey=True):
            _draw_panel(axes, metric, panel)
            axes.set_xticks(
                range(len(panel.systems)),
                [names[s] for s in panel.systems],
                rotation=0 if upright else 45,
                ha="center" if upright else "right",
                rotation_mode=None if upright else "anchor",
            )
            for label, system in zip(axes.get_xticklabels(), panel.systems, strict=True):
                style.set_name(label, cells, system)
            axes.tick_params(axis="x", length=0, labelbottom=named[_place(axes).rowspan.start])
            if _place(axes).is_first_col():
                axes.set_ylabel(style.METRIC_LABELS[metric])
        if metric != "gvd_db":
            low, high = canvas.axes[0].get_ylim()
            canvas.axes[0].set_ylim(min(low, 0.0), high)
        handles: dict[str, Artist] = {}
        for series in (s for row in rows for p in row for s in p.series if s.cells):
            handles.setdefault(series.label, _patch(series.fill))
        columns = style.legend_columns(width, handles)
        style.legend(canvas, handles.values(), handles, loc="outside upper center", ncols=columns)
    return canvas


def _draw_panel(axes: Axes, metric: str, panel: Panel) -> None:
    slots = 1 + max((s.slot for s in panel.series), default=0)
    wide = 0.8 / slots
    for series in panel.series:
        drawn = {s: c for s, c in series.cells.items() if s in panel.systems}
        if not drawn:
            continue
        offset = 0.0 if series.slot < 0 else (series.slot + 0.5) * wide - 0.4
        x = np.array([panel.systems.index(s) + offset for s in drawn])
        values = np.array([style.shown(metric, c.value) for c in drawn.values()])
        finite = np.isfinite(values)
        bars = axes.bar(
            x[finite],
            values[finite],
            wide * (0.5 if series.front else 0.95),
            color=series.fill.colour,
            hatch=series.fill.hatch,
            edgecolor="black",
            zorder=2.2 if series.front else 2.0,
        )
        bars.set_label(series.key)
        for at, value in zip(x[~finite], values[~finite], strict=True):
            text = "\u221e" if value > 0 else "\u2212\u221e"
            axes.text(at, 0, text, ha="center", va="bottom", fontsize=style.SMALL_FONT)
        _draw_whiskers(axes, metric, x, drawn.values(), style.GREY if series.front else "black")
    if metric in _NO_DISCLOSURE:
        level = style.shown(metric, _NO_DISCLOSURE[metric])
        axes.axhline(level, color="black", linewidth=0.6, linestyle=(0, (4, 3)), zorder=1.5)
    axes.axhline(0, color="black", linewidth=0.6, zorder=2.5)
    axes.grid(axis="y")
    axes.set_xlim(-0.6, len(panel.systems) - 0.4)
    axes.set_title(panel.title, loc="left")


def _draw_whiskers(
    axes: Axes, metric: str, x: NDArray[np.float64], cells: Iterable[Cell], colour: str
) -> None:
    found = [
        (at, *(style.shown(metric, bound) for bound in bounds))
        for at, cell in zip(x, cells, strict=True)
        if (bounds := whisker(metric, cell)) is not None
    ]
    if found:
        at, low, high = np.array(found).T
        axes.errorbar(
            at,
            (low + high) / 2,
            yerr=(high - low) / 2,
            fmt="none",
            ecolor=colour,
            elinewidth=0.7,
            capsize=1.2,
            capthick=0.7,
            zorder=3,
        )


def _place(axes: Axes) -> SubplotSpec:
    place = axes.get_subplotspec()
    assert place is not None
    return place


def _patch(fill: BarStyle) -> Patch:
    return Patch(facecolor=fill.colour, hatch=fill.hatch, edgecolor="black")
