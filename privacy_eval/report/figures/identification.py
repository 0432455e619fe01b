"""Identification rates in groups of several sizes, over all speakers and of each speaker.

A curve per system and attack model, and a dot per speaker; how often speakers are singled out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...metrics.identification import singling_out_chance
from ...metrics.pav import FloatArray
from ...numbers.cells import ORIGINAL_COLUMN
from ...numbers.report_data import ReportData
from ...results.records import IdentificationRecord
from . import style
from .drawing import Drawing
from .plot import Curve, Panel, Plot, log_panel, system_curve
from .selection import MOST_SYSTEMS, set_title

#: Maximum number of curves with bands: more bands hide one another.
_MOST_BANDS = 4
_FOUND = "right person found (%)"


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield, per trial set and attack model, all systems and original speech: `identification_*`,
    curves and chance; `identification_speakers_*`, sorted dots of their speakers; and
    `identification_singling_out_*`."""
    protocol = data.protocol
    by_condition: dict[tuple[str, ...], list[IdentificationRecord]] = {}
    for r in data.results.identification:
        c = r.condition
        by_condition.setdefault((c.data_set, c.split, c.gender, c.attack_model or ""), []).append(r)
    styles = style.system_styles(data.results.systems)
    original = next(a.id for a in protocol.attack_models if a.is_original)
    for t, attack in itertools.product(protocol.trial_sets(), protocol.attack_models):
        of_set = t.data_set.id, t.split, t.gender
        records = by_condition.get((*of_set, attack.id), [])
        if attack.id == original or not records:
            continue
        title = f"{set_title(protocol, *of_set)}, {attack.phrase}"
        for page, number, part in style.numbered_pages(records, MOST_SYSTEMS):
            entries = [_Entry(r, r.condition.system, styles[r.condition.system]) for r in page]
            originals = by_condition.get((*of_set, original), [])[:1]
            entries += [_Entry(r, ORIGINAL_COLUMN, style.ORIGINAL_STYLE) for r in originals]
            stem = attack.id, *of_set, *number
            for kind, draw in _KINDS.items():
                if panel := draw(entries, title):
                    caption, axes = panel
                    name = style.file_stem(kind, *stem)
                    text, of = caption.format(f"{title}{part}"), [r.condition for r in page]
                    yield Drawing(name, text, Plot(((axes,),)), conditions=of)


@dataclass(frozen=True)
class _Entry:
    """A record in a figure."""

    record: IdentificationRecord
    name: str
    look: style.SystemStyle

    def curve(self, sizes: Sequence[int], rates: Sequence[float]) -> Curve:
        """Rates over sizes, with the last one in the legend."""
        x, y = np.log10(sizes), 100 * np.array(rates)
        note = f"({y[-1]:.0f} % of {sizes[-1]})"
        return system_curve(self.look, x, y, np.column_stack([x, y]), self.name, note)


def _galleries(entries: list[_Entry], title: str) -> tuple[str, Panel]:
    curves = [one.curve(one.record.sizes, one.record.linkage) for one in entries]
    bands = [one for one in entries if one.record.intervals and len(entries) <= _MOST_BANDS]
    for one in bands:
        low, high = 100 * np.array(one.record.intervals).T
        x = np.log10(one.record.sizes)
        curves.append(Curve(x, high, colour=one.look.colour, fill=True, base=low))
    largest = max((one.record for one in entries), key=lambda r: r.n_enrolled)
    sizes = np.geomspace(1, largest.n_enrolled, 100)
    curves.append(_grey(np.log10(sizes), np.minimum(largest.rank / sizes, 1)))
    caption = (
        "Identification: {}. Rate at which the right speaker scores highest, by the number of "
        "enrolled speakers in the group; grey: chance."
    ) + " Bands: 95 % intervals over test speakers." * bool(bands)
    return caption, _panel(curves, largest.n_enrolled, title)


def _speakers(entries: list[_Entry], title: str) -> tuple[str, Panel] | None:
    entries = [one for one in entries if one.record.speakers]
    if not entries:
        return None
    dots = []
    for one in entries:
        y = 100 * np.array([s.linkage for s in one.record.speakers])
        x = np.arange(1, y.size + 1, dtype=np.float64)
        note = f"({np.median(y):.0f} % median)"
        dot = system_curve(one.look, x, y, np.column_stack([x, y]), one.name, note)
        dots.append(replace(dot, width=0.4))
    sizes = sorted({one.record.speakers_size for one in entries})
    chances = {one.record.speakers_chance for one in entries}
    caption = (
        "Identification of each speaker: {}. A dot per speaker, from the most often found one: "
        f"how often the speaker scores highest in a group of {' or '.join(map(str, sizes))}; grey: "
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


def _singling_out(entries: list[_Entry], title: str) -> tuple[str, Panel] | None:
    singled_out = [
        (one, one.record.singling_out) for one in entries if one.record.singling_out.sizes
    ]
    if not singled_out:
        return None
    curves = [one.curve(singled.sizes, singled.values) for one, singled in singled_out]
    most = max(singled.n_speakers for _, singled in singled_out)
    sizes = np.unique(np.geomspace(2, most, 100).round())
    curves.append(_grey(np.log10(sizes), singling_out_chance(sizes), "knows nothing"))
    caption = (
        "Singling out: {}. Rate at which exactly one test speaker is accepted for an enrolled "
        "speaker, by the number of test speakers; grey: chance, (1 - 1/N)^(N - 1). Far above it "
        "is bad; below it is not more private."
    )
    panel = _panel(curves, most, title)
    return caption, replace(panel, x_label="test speakers", y_label="exactly one accepted (%)")


#: By the beginning of the names: caption with a place for the title, and panel.
_KINDS = {
    "identification": _galleries,
    "identification_speakers": _speakers,
    "identification_singling_out": _singling_out,
}


def _grey(x: FloatArray, rates: FloatArray, name: str = "chance") -> Curve:
    return Curve(x, 100 * rates, name, colour=style.GREY)


def _panel(curves: list[Curve], largest: int, title: str) -> Panel:
    ticks = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000) if n <= largest]
    limits = 0.0, float(np.log10(1.08 * max(largest, 2)))
    axes = log_panel(("people in the group", _FOUND), limits, {n: f"{n}" for n in ticks}, title)
    return replace(axes, curves=tuple(curves))
