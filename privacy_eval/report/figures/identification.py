"""How often speakers are found in groups of several sizes, a curve per system and attack model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ...results.records import IdentificationRecord
from ..data import ReportData
from ..values import ORIGINAL_COLUMN
from . import style
from .drawing import Drawing
from .plot import Curve, Panel, Plot
from .selection import MOST_SYSTEMS, set_title


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `identification_*` per trial set and attack model: the curves of all systems, of
    original speech, and chance."""
    protocol = data.protocol
    found: dict[tuple[str, ...], list[IdentificationRecord]] = {}
    for r in data.results.identification:
        c = r.condition
        found.setdefault((c.data_set, c.split, c.gender, c.attack_model or ""), []).append(r)
    styles = style.system_styles(data.results.systems)
    original = next(a.id for a in protocol.attack_models if a.is_original)
    for t, attack in itertools.product(protocol.trial_sets(), protocol.attack_models):
        of_set = t.data_set.id, t.split, t.gender
        records = found.get((*of_set, attack.id), [])
        if attack.id == original or not records:
            continue
        title = f"{set_title(protocol, *of_set)}, {attack.title.lower()}"
        for page, number, part in style.numbered_pages(records, MOST_SYSTEMS):
            curves = [_curve(r, r.condition.system, styles[r.condition.system]) for r in page]
            originals = found.get((*of_set, original), [])[:1]
            curves += [_curve(r, ORIGINAL_COLUMN, style.ORIGINAL_STYLE) for r in originals]
            largest = max((*page, *originals), key=lambda r: r.n_enrolled)
            yield Drawing(
                style.file_stem("identification", attack.id, *of_set, *number),
                f"Identification: {title}{part}. How often the right speaker scores highest in a "
                "group of so many enrolled speakers; grey: chance.",
                Plot(((_panel([*curves, _chance(largest)], largest.n_enrolled, title),),)),
            )


def _curve(record: IdentificationRecord, name: str, look: style.SystemStyle) -> Curve:
    x, y = np.log10(record.sizes), 100 * np.array(record.linkage)
    note = f"({y[-1]:.0f} % of {record.sizes[-1]})"
    points = np.column_stack([x, y])
    return Curve(
        x, y, name, note, look.colour, look.line_style, marker=look.marker, marker_points=points
    )


def _chance(record: IdentificationRecord) -> Curve:
    sizes = np.geomspace(1, record.n_enrolled, 100)
    return Curve(
        np.log10(sizes), 100 * np.minimum(record.rank / sizes, 1), "chance", colour=style.GREY
    )


def _panel(curves: list[Curve], largest: int, title: str) -> Panel:
    ticks = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000) if n <= largest]
    return Panel(
        tuple(curves),
        "people in the group",
        "right person found (%)",
        (0.0, float(np.log10(1.08 * max(largest, 2)))),
        (0.0, 105.0),
        title=title,
        x_ticks=tuple((float(np.log10(n)), str(n)) for n in ticks),
    )
