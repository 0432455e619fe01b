"""How often speakers are found in groups of several sizes, and how often each of them.

A curve per system and attack model, and a dot per speaker.
"""

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

#: Bands of more curves hide one another.
_MOST_BANDS = 4


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `identification_*` per trial set and attack model: the curves of all systems, of
    original speech, and chance; and `identification_speakers_*`, sorted dots of their speakers."""
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
            if len(curves) <= _MOST_BANDS:
                looks = [*(styles[r.condition.system] for r in page), style.ORIGINAL_STYLE]
                pairs = zip((*page, *originals), looks, strict=False)
                curves += [_band(r, look.colour) for r, look in pairs if r.intervals]
            largest = max((*page, *originals), key=lambda r: r.n_enrolled)
            yield Drawing(
                style.file_stem("identification", attack.id, *of_set, *number),
                f"Identification: {title}{part}. How often the right speaker scores highest in a "
                "group of so many enrolled speakers; grey: chance."
                + " Bands: 95 % intervals over test speakers."
                * any(c.fill for c in curves),
                Plot(((_panel([*curves, _chance(largest)], largest.n_enrolled, title),),)),
                conditions=[r.condition for r in page],
            )
            shown = [(r, r.condition.system, styles[r.condition.system]) for r in page]
            shown += [(r, ORIGINAL_COLUMN, style.ORIGINAL_STYLE) for r in originals]
            dots = [_dots(*of_one) for of_one in shown if of_one[0].speakers]
            if dots:
                sizes = sorted({r.speakers_size for r, *_ in shown if r.speakers})
                chances = {min(r.rank / r.speakers_size, 1) for r, *_ in shown if r.speakers}
                group = " or ".join(map(str, sizes))
                yield Drawing(
                    style.file_stem("identification_speakers", attack.id, *of_set, *number),
                    f"Identification of each speaker: {title}{part}. A dot per speaker, from the "
                    f"most often found one: how often the speaker scores highest in a group of "
                    f"{group}; grey: chance. The worst of many are a biased pick.",
                    Plot(((_speakers_panel([*dots, *map(_level, sorted(chances))], title),),)),
                    conditions=[r.condition for r in page],
                )


def _curve(record: IdentificationRecord, name: str, look: style.SystemStyle) -> Curve:
    x, y = np.log10(record.sizes), 100 * np.array(record.linkage)
    note = f"({y[-1]:.0f} % of {record.sizes[-1]})"
    points = np.column_stack([x, y])
    return Curve(
        x, y, name, note, look.colour, look.line_style, marker=look.marker, marker_points=points
    )


def _band(record: IdentificationRecord, colour: str) -> Curve:
    low, high = 100 * np.array(record.intervals).T
    return Curve(np.log10(record.sizes), high, colour=colour, fill=True, base=low)


def _dots(record: IdentificationRecord, name: str, look: style.SystemStyle) -> Curve:
    y = 100 * np.array([s.linkage for s in record.speakers])
    x = np.arange(1, y.size + 1, dtype=np.float64)
    return Curve(
        x,
        y,
        name,
        f"({np.median(y):.0f} % median)",
        look.colour,
        look.line_style,
        width=0.4,
        marker=look.marker or "o",
        marker_points=np.column_stack([x, y]),
    )


def _level(chance: float) -> Curve:
    return Curve(np.array([0.0, 1e4]), np.full(2, 100 * chance), "chance", colour=style.GREY)


def _speakers_panel(dots: list[Curve], title: str) -> Panel:
    most = max(curve.marker_points[-1, 0] for curve in dots if curve.marker_points.size)
    return Panel(
        tuple(dots),
        "speakers, the most often found first",
        "right person found (%)",
        (0.0, float(most + 1)),
        (0.0, 105.0),
        title=title,
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
        x_scale="log10",
    )
