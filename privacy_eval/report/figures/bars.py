"""Bars of one metric, a bar per system: Figures 1, 2 and 13 to 16 of the supplement.

What has no value has no bar, and what has no known numbers of trials has no whisker.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ...metrics import bengio_mariethoz_interval
from ...protocol.protocol import DataSet, Protocol
from ..values import (
    ORIGINAL_ATTACK,
    ORIGINAL_COLUMN,
    Cell,
    Cells,
    Place,
    mixed_originals,
)
from . import style
from .style import BarStyle, Drawing

#: Which 95 % interval whiskers show: of independent trials (Bengio & Mariethoz, the EER's
#: only), or of the bootstrap over speakers where it was done.
Interval = Literal["independent", "speakers"]

_FEMALE, _MALE = "f", "m"
_MOST_SYSTEMS = 20
_MOST_DATA_SETS = 3
_NAME = 18  # letters of a name below a bar
_BESIDE = 8  # systems up to which genders fit beside each other
_GENDER_STYLES = (BarStyle("#56B4E9", ""), BarStyle("#8A4B08", "////"), BarStyle("#009E73", "...."))
#: What a metric tends to where nothing is learnt about the speaker, in the unit of records.
_NO_DISCLOSURE: Mapping[str, float] = {"eer": 0.5, "rocch_eer": 0.5, "cllr_min": 1.0, "deid": 1.0}


@dataclass(frozen=True)
class _Series:
    """Bars of one fill: `slot` is their place within a system's group, `front` whether
    they stand, narrower, before those of another series there."""

    key: str
    label: str
    fill: BarStyle
    slot: int
    front: bool
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class _Panel:
    title: str
    systems: tuple[str, ...]
    series: tuple[_Series, ...]


def metric_bars(
    cells: Cells,
    protocol: Protocol,
    split: str,
    metric: str,
    *,
    systems: Sequence[str] | None = None,
    attacks: Sequence[str] | None = None,
    data_sets: Sequence[str] | None = None,
    interval: Interval | None = "independent",
) -> Canvas:
    """A metric of a split under attack models, a panel per data set and gender.

    Systems are ordered by the values of female speakers under the plan's average attack
    model on the data set, those without at the end; original speech stands first. An
    attack model that compares the same speech as one before it (semi-informed) is drawn
    in front of it, darker and narrower.

    Parameters
    ----------
    systems : sequence of str, optional
        Those to draw; all, unless given.
    attacks : sequence of str, optional
        Those to draw; unless given, all but those with a model of their own.
    data_sets : sequence of str, optional
        Ids of those to draw; all, unless given.
    interval : {"independent", "speakers"} or None
        What whiskers show, of cells that know it.
    """
    chosen = _systems(cells, systems)
    models = tuple(attacks) if attacks is not None else _untrained(protocol)
    panels = []
    for data_set in _data_sets(protocol, data_sets):
        ordered = _ordered(
            cells, protocol, split, data_set, metric, protocol.average_attack_model, _FEMALE, chosen
        )
        group = []
        for gender in protocol.genders:
            series = _attack_series(
                protocol,
                models,
                {
                    attack: _found(cells, metric, attack, split, data_set, gender, ordered)
                    for attack in (ORIGINAL_ATTACK, *models)
                },
            )
            group.append(_panel(_title(protocol, data_set, split, gender), ordered, series))
        panels.append(group)
    return _draw(cells, metric, panels, interval)


def similarity_bars(
    cells: Cells,
    protocol: Protocol,
    split: str,
    metric: str,
    *,
    systems: Sequence[str] | None = None,
    data_sets: Sequence[str] | None = None,
) -> Canvas:
    """DeID or G_VD of a split, a panel per data set and a bar per gender, ordered by the
    values of male speakers on the data set."""
    chosen = _systems(cells, systems)
    panels = []
    for data_set in _data_sets(protocol, data_sets):
        ordered = _ordered(cells, protocol, split, data_set, metric, None, _MALE, chosen)
        series = tuple(
            _Series(
                gender,
                style.literal(title),
                _GENDER_STYLES[i % len(_GENDER_STYLES)],
                i,
                False,
                _found(cells, metric, None, split, data_set, gender, ordered),
            )
            for i, (gender, title) in enumerate(protocol.genders.items())
        )
        panels.append([_panel(_title(protocol, data_set, split), ordered, series)])
    return _draw(cells, metric, panels, None)


def mean_bars(
    cells: Cells, protocol: Protocol, metric: str, *, systems: Sequence[str] | None = None
) -> Canvas:
    """Mean of a metric over splits and data sets, a panel per gender.

    The mean of a system under an attack model is over every split and data set that any
    system has a value of there; one that lacks some of them has no bar. Nor has original
    speech that is of several sources.
    """
    chosen = _systems(cells, systems)
    means, averaged = _means(cells, protocol, metric), _averaged(cells, protocol, metric)
    models = _with_values(cells, protocol, metric)
    order, female = protocol.average_attack_model, _present(_FEMALE, protocol)
    ordered = (
        ORIGINAL_COLUMN,
        *_sorted(chosen, lambda s: _value(means.get((order, female, s)))),
    )
    group = []
    for gender, title in protocol.genders.items():
        series = _attack_series(
            protocol,
            models,
            {
                attack: {
                    system: means[attack, gender, system]
                    for system in ordered
                    if (attack, gender, system) in means
                }
                for attack in (ORIGINAL_ATTACK, *models)
            },
        )
        shown = ((attack, gender) for attack in (ORIGINAL_ATTACK, *models))
        over = {averaged[key] for key in shown if key in averaged}
        words = _in_words(protocol, over.pop()) if len(over) == 1 else "means"
        words = style.literal(f"{words[:1].upper()}{words[1:]}, {title}", 60)
        group.append(_panel(words, ordered, series))
    return _draw(cells, metric, [group], None)


def figures(
    cells: Cells, protocol: Protocol, *, interval: Interval | None = "independent"
) -> Iterator[Drawing]:
    """All figures of bars that there are values for, one at a time.

    Of each split: `bars_eer_*` (Figure 1), `bars_cllr_min_*` (2), `bars_gvd_db_*` (13),
    `bars_deid_*` (14), `bars_attacks_*` (15, where an attacker has a model of its own);
    over all splits `bars_mean_eer` (16). Many systems or data sets go on several.
    """
    all_attacks = _with_values(cells, protocol, "eer")
    trained = tuple(a for a in all_attacks if a not in _untrained(protocol))
    by_female = (
        f"Ordered by the values of female speakers under the {_attack_title(protocol)} attack model"
    )
    for split, metric in itertools.product(protocol.splits, ("eer", "cllr_min")):
        yield from _pages_of_split(
            cells,
            protocol,
            split,
            metric,
            _untrained(protocol),
            style.stem("bars", metric, split),
            (f"{style.METRIC_NAMES[metric]} on the {protocol.split_title(split)}", by_female),
            functools.partial(metric_bars, interval=interval),
            interval,
        )
    for split, metric in itertools.product(protocol.splits, ("gvd_db", "deid")):
        yield from _pages_of_split(
            cells,
            protocol,
            split,
            metric,
            (None,),
            style.stem("bars", metric, split),
            (
                f"{style.METRIC_NAMES[metric]} on the {protocol.split_title(split)}",
                "Ordered by the values of male speakers",
            ),
            similarity_bars,
            None,
        )
    for split in protocol.splits:
        yield from _pages_of_split(
            cells,
            protocol,
            split,
            "eer",
            trained,
            style.stem("bars_attacks", split),
            (
                f"EER on the {protocol.split_title(split)}; dark bars in front: attackers with a "
                "model of their own",
                by_female,
            ),
            functools.partial(metric_bars, attacks=all_attacks, interval=interval),
            interval,
        )
    means = _means(cells, protocol, "eer")
    with_mean = [s for s in cells.systems if any(key[2] == s for key in means)]
    originals = [
        p for p, _ in _under_attacks(cells, protocol, "eer") if p.system == ORIGINAL_COLUMN
    ]
    of_several = mixed_originals(cells, originals)
    for number, systems in enumerate(style.pages(with_mean, _MOST_SYSTEMS), start=1):
        canvas = mean_bars(cells, protocol, "eer", systems=systems)
        sentences = (
            f"Mean EER over {_averaged_in_words(cells, protocol, 'eer')}",
            "Ordered by the means of female speakers under the "
            f"{_attack_title(protocol)} attack model",
            "A system has a bar where it has values of all of these",
            *(["Original speech of several sources has no mean"] if of_several else ()),
        )
        yield Drawing(
            _numbered("bars_mean_eer", number),
            _caption(cells, protocol.splits, "eer", systems, sentences, canvas, None, originals),
            canvas,
        )


def whisker(metric: str, cell: Cell, interval: Interval | None) -> tuple[float, float] | None:
    """The 95 % bounds to draw of a cell, in the unit of records; None where it does not
    know them, as published values do not."""
    if interval == "speakers":
        return cell.interval
    if interval is None or metric not in ("eer", "rocch_eer"):
        return None
    if not cell.n_target or not cell.n_nontarget:
        return None
    return bengio_mariethoz_interval(cell.value, cell.n_target, cell.n_nontarget)


def _pages_of_split(
    cells: Cells,
    protocol: Protocol,
    split: str,
    metric: str,
    attacks: Sequence[str | None],
    name: str,
    sentences: Sequence[str],
    draw: Callable[..., Canvas],
    interval: Interval | None,
) -> Iterator[Drawing]:
    """Figures of the systems and data sets that have values under some of these attack
    models, as many as they need."""
    places = [
        p
        for p in cells.values
        if p.metric == metric and p.split == split and p.attack_model in (ORIGINAL_ATTACK, *attacks)
    ]
    under = [p for p in places if p.attack_model in attacks]
    present = {p.data_set for p in under}
    with_values = {p.system for p in under}
    parts = itertools.product(
        style.pages([d.id for d in protocol.data_sets if d.id in present], _MOST_DATA_SETS),
        style.pages([s for s in cells.systems if s in with_values], _MOST_SYSTEMS),
    )
    number = 0
    for data_sets, systems in parts:
        canvas = draw(cells, protocol, split, metric, systems=systems, data_sets=data_sets)
        if canvas.axes:
            number += 1
            originals = [
                p for p in places if p.system == ORIGINAL_COLUMN and p.data_set in data_sets
            ]
            caption = _caption(
                cells, (split,), metric, systems, sentences, canvas, interval, originals
            )
            yield Drawing(_numbered(name, number), caption, canvas)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}_{number}"


def _systems(cells: Cells, systems: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(cells.systems if systems is None else systems)


def _data_sets(protocol: Protocol, data_sets: Sequence[str] | None) -> list[DataSet]:
    return [d for d in protocol.data_sets if data_sets is None or d.id in data_sets]


def _untrained(protocol: Protocol) -> tuple[str, ...]:
    """Attack models that use the model trained on original speech."""
    original = next((a for a in protocol.attack_models if a.is_original), None)
    return tuple(
        a.id
        for a in protocol.attack_models
        if not a.is_original and (original is None or a.asv_model == original.asv_model)
    )


def _with_values(cells: Cells, protocol: Protocol, metric: str) -> tuple[str, ...]:
    return tuple(
        a.id for a in protocol.attack_models if not a.is_original and cells.has(metric, a.id)
    )


def _attack_title(protocol: Protocol) -> str:
    titles = {a.id: a.title for a in protocol.attack_models}
    return titles.get(protocol.average_attack_model, protocol.average_attack_model).lower()


def _title(protocol: Protocol, data_set: DataSet, split: str, gender: str | None = None) -> str:
    parts = [data_set.title, split] + ([protocol.genders[gender]] if gender is not None else [])
    return style.literal(", ".join(parts), 60)


def _present(gender: str, protocol: Protocol) -> str:
    return gender if gender in protocol.genders else next(iter(protocol.genders))


def _value(cell: Cell | None) -> float | None:
    return None if cell is None else cell.value


def _sorted(systems: Iterable[str], value: Callable[[str], float | None]) -> list[str]:
    """Systems by value, those without one last; equal ones keep their order."""

    def key(system: str) -> tuple[bool, float]:
        found = value(system)
        return (found is None, 0.0 if found is None else found)

    return sorted(systems, key=key)


def _ordered(
    cells: Cells,
    protocol: Protocol,
    split: str,
    data_set: DataSet,
    metric: str,
    attack: str | None,
    gender: str,
    systems: Iterable[str],
) -> tuple[str, ...]:
    gender = _present(gender, protocol)

    def value(system: str) -> float | None:
        return _value(cells.get(metric, attack, split, data_set.id, gender, system))

    return (ORIGINAL_COLUMN, *_sorted(systems, value))


def _found(
    cells: Cells,
    metric: str,
    attack: str | None,
    split: str,
    data_set: DataSet,
    gender: str,
    systems: Iterable[str],
) -> dict[str, Cell]:
    """Values of systems; under the attack model `original` only that of original speech."""
    found = {}
    for system in systems:
        if attack is not None and (system == ORIGINAL_COLUMN) != (attack == ORIGINAL_ATTACK):
            continue
        cell = cells.get(metric, attack, split, data_set.id, gender, system)
        if cell is not None:
            found[system] = cell
    return found


def _attack_series(
    protocol: Protocol, attacks: Sequence[str], values: Mapping[str, Mapping[str, Cell]]
) -> tuple[_Series, ...]:
    fills = style.attack_styles(protocol)
    by_id = {a.id: a for a in protocol.attack_models}
    series = []
    if values.get(ORIGINAL_ATTACK):
        series.append(
            _Series(
                ORIGINAL_ATTACK,
                style.attack_label(protocol, ORIGINAL_ATTACK),
                fills[ORIGINAL_ATTACK],
                -1,
                False,
                values[ORIGINAL_ATTACK],
            )
        )
    slots: dict[tuple[str, str], int] = {}
    for attack in attacks:
        compared = (by_id[attack].enrollment, by_id[attack].trial)
        front = compared in slots
        slot = slots.setdefault(compared, len(slots))
        label = style.attack_label(protocol, attack)
        series.append(_Series(attack, label, fills[attack], slot, front, values[attack]))
    return tuple(series)


def _means(cells: Cells, protocol: Protocol, metric: str) -> dict[tuple[str, str, str], Cell]:
    """Means over splits and data sets by attack model, gender, system."""
    needed = _averaged(cells, protocol, metric)
    values: dict[tuple[str, str, str], dict[Place, float]] = {}
    for place, cell in _under_attacks(cells, protocol, metric):
        key = (place.attack_model or "", place.gender, place.system)
        values.setdefault(key, {})[place] = cell.value
    return {
        key: Cell(math.fsum(found.values()) / len(found), "")
        for key, found in values.items()
        if len(found) == len(needed[key[:2]]) and not mixed_originals(cells, found)
    }


def _averaged(
    cells: Cells, protocol: Protocol, metric: str
) -> dict[tuple[str, str], frozenset[tuple[str, str]]]:
    """The splits and data sets that means are over, by attack model and gender."""
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for place, _ in _under_attacks(cells, protocol, metric):
        key = (place.attack_model or "", place.gender)
        found.setdefault(key, set()).add((place.split, place.data_set))
    return {key: frozenset(places) for key, places in found.items()}


def _averaged_in_words(cells: Cells, protocol: Protocol, metric: str) -> str:
    """The same in a caption; where it is not the same for all, by attack model and gender."""
    titles = {a.id: a.title.lower() for a in protocol.attack_models}
    by_words: dict[str, list[str]] = {}
    for (attack, gender), places in sorted(_averaged(cells, protocol, metric).items()):
        label = f"{titles[attack]} {protocol.genders[gender]}"
        by_words.setdefault(_in_words(protocol, places), []).append(label)
    if len(by_words) == 1:
        return next(iter(by_words))
    return "; ".join(f"{words} ({', '.join(labels)})" for words, labels in by_words.items())


def _in_words(protocol: Protocol, places: Collection[tuple[str, str]]) -> str:
    """Splits and data sets, as `LibriSpeech test`."""
    if len(places) == len(protocol.splits) * len(protocol.data_sets):
        return f"all {'splits and ' if len(protocol.splits) > 1 else ''}data sets"
    parts = []
    for split in protocol.splits:
        titles = [d.title for d in protocol.data_sets if (split, d.id) in places]
        if titles:
            every = len(titles) == len(protocol.data_sets)
            parts.append(f"{'all data sets,' if every else ', '.join(titles)} {split}")
    return "; ".join(parts)


def _under_attacks(cells: Cells, protocol: Protocol, metric: str) -> Iterator[tuple[Place, Cell]]:
    for place, cell in cells.values.items():
        if place.metric == metric and place.attack_model is not None and _of_plan(place, protocol):
            yield place, cell


def _of_plan(place: Place, protocol: Protocol) -> bool:
    return (
        place.split in protocol.splits
        and place.gender in protocol.genders
        and any(place.data_set == d.id for d in protocol.data_sets)
        and any(place.attack_model == a.id for a in protocol.attack_models)
    )


def _panel(title: str, ordered: Iterable[str], series: tuple[_Series, ...]) -> _Panel:
    """A panel of the systems that have any value there."""
    drawn = tuple(s for s in ordered if any(s in one.cells for one in series))
    return _Panel(title, drawn, series)


def _caption(
    cells: Cells,
    splits: Sequence[str],
    metric: str,
    systems: Sequence[str],
    sentences: Sequence[str],
    canvas: Canvas,
    interval: Interval | None,
    originals: Iterable[Place],
) -> str:
    said = list(sentences)
    if any(isinstance(c, ErrorbarContainer) for axes in canvas.axes for c in axes.containers):
        said.append(
            "Whiskers: 95 % intervals from the bootstrap over speakers, where it was done"
            if interval == "speakers"
            else "Whiskers: 95 % intervals of independent trials (Bengio & Mari\u00e9thoz, 2004), "
            "where the numbers of trials are known"
        )
    if metric in _NO_DISCLOSURE:
        said.append("Dashed line: no disclosure")
    of_several = mixed_originals(cells, originals)
    if of_several:
        said.append(of_several)
    if any(cells.family.get(s) in style.FAMILIES for s in systems):
        said.append(style.NAMES_NOTE)
        if cells.own.intersection(systems):
            said.append("Bold names: own systems")
    left_out = {
        p.system
        for p, cell in cells.values.items()
        if cell.left_out and p.metric == metric and p.split in splits
    }
    named = [s for s in (ORIGINAL_COLUMN, *systems) if s in left_out]
    if named:
        said.append(f"Trials were left out on request: {', '.join(named)}")
    return ". ".join(said) + "."


def _draw(
    cells: Cells, metric: str, groups: Sequence[Sequence[_Panel]], interval: Interval | None
) -> Canvas:
    """Groups of panels under each other, panels of a group beside each other if they fit."""
    groups = [[p for p in group if set(p.systems) - {ORIGINAL_COLUMN}] for group in groups]
    groups = [group for group in groups if group]
    if not groups:
        with style.figure() as canvas:
            return canvas
    most = max(len(p.systems) for group in groups for p in group)
    columns = max(map(len, groups)) if most <= _BESIDE + 1 else 1
    rows = [list(group[i : i + columns]) for group in groups for i in range(0, len(group), columns)]
    # Few bars stay slim: a narrower figure, not wider bars.
    title = max(len(p.title) for row in rows for p in row)
    column = max(0.45 * most + 0.3, 0.066 * title + 0.15)  # titles stand beside each other too
    width = min(style.FULL_WIDTH, max(style.COLUMN_WIDTH, 0.7 + columns * column))
    slot = (width / columns - 0.6) / most
    names = {s: style.literal(s, _NAME) for row in rows for p in row for s in p.systems}
    longest = max(map(len, names.values()))
    upright = 0.07 * longest < slot
    # Panels of the same systems under each other need their names once.
    named = [
        columns > 1 or not following or row[0].systems != following[0].systems
        for row, following in itertools.zip_longest(rows, rows[1:])
    ]
    name_height = 0.2 if upright else 0.055 * longest + 0.1
    height = 0.5 + len(rows) * (1.0 if len(rows) > 3 else 1.2) + sum(named) * name_height
    with style.figure(width, height) as canvas:
        grid = canvas.subplots(len(rows), columns, sharey=True, squeeze=False)
        for axes_of_row, row, with_names in zip(grid, rows, named, strict=True):
            for axes, panel in itertools.zip_longest(axes_of_row, row):
                if panel is None:
                    axes.remove()
                    continue
                _draw_panel(axes, metric, panel, interval)
                axes.set_xticks(
                    range(len(panel.systems)),
                    [names[s] for s in panel.systems],
                    rotation=0 if upright else 45,
                    ha="center" if upright else "right",
                    rotation_mode=None if upright else "anchor",
                )
                for label, system in zip(axes.get_xticklabels(), panel.systems, strict=True):
                    style.name_style(cells, system).apply(label)
                axes.tick_params(axis="x", length=0, labelbottom=with_names)
            axes_of_row[0].set_ylabel(style.METRIC_LABELS[metric])
        _limits(grid[0][0], metric)
        handles: dict[str, Artist] = {}
        for series in (s for row in rows for p in row for s in p.series if s.cells):
            handles.setdefault(series.label, _patch(series.fill))
        style.legend(
            canvas,
            list(handles.values()),
            handles,
            loc="outside upper center",
            ncols=style.legend_columns(width, handles),
        )
        return canvas


def _draw_panel(axes: Axes, metric: str, panel: _Panel, interval: Interval | None) -> None:
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
        _whiskers(axes, metric, x, list(drawn.values()), interval, series.front)
    if metric in _NO_DISCLOSURE:
        level = style.shown(metric, _NO_DISCLOSURE[metric])
        axes.axhline(level, color="black", linewidth=0.6, linestyle=(0, (4, 3)), zorder=1.5)
    axes.axhline(0, color="black", linewidth=0.6, zorder=2.5)
    axes.grid(axis="y")
    axes.set_xlim(-0.6, len(panel.systems) - 0.4)
    axes.set_title(panel.title, loc="left")


def _whiskers(
    axes: Axes,
    metric: str,
    x: NDArray[np.float64],
    cells: Sequence[Cell],
    interval: Interval | None,
    front: bool,
) -> None:
    at, middle, half = [], [], []
    for place, cell in zip(x, cells, strict=True):
        bounds = whisker(metric, cell, interval)
        if bounds is None or not all(map(math.isfinite, bounds)):
            continue
        low, high = (style.shown(metric, bound) for bound in bounds)
        at.append(place)
        # Not about the value: a bootstrap's bounds need not hold it.
        middle.append((low + high) / 2)
        half.append((high - low) / 2)
    if at:
        axes.errorbar(
            at,
            middle,
            yerr=half,
            fmt="none",
            ecolor=style.GREY if front else "black",
            elinewidth=0.7,
            capsize=1.2,
            capthick=0.7,
            zorder=3,
        )


def _limits(axes: Axes, metric: str) -> None:
    if metric == "gvd_db":
        return
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.0) if low < 0 else 0.0, high)


def _patch(fill: BarStyle) -> Patch:
    return Patch(facecolor=fill.colour, hatch=fill.hatch, edgecolor="black")
