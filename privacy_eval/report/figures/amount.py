"""Error rates by the number of utterances per test, with bands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...errors import counted
from ...metrics.amount import Amount, AmountCurve
from ...numbers.groups import by_trial_set, main_split
from ...numbers.report_data import ReportData
from ...results.records import AmountRecord
from . import style
from .drawing import Drawing
from .plot import Curve, Panel, Plot, system_curve
from .selection import set_title


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield figures of each system and trial set of the main split: a curve of the challenge's
    attacker under every attack model, and one of the other attacker that finds most."""
    records = [r for r in data.results.amounts if len(r.equal) > 1]
    split = main_split(data.protocol, records)
    for system in dict.fromkeys(r.condition.system for r in records):
        own = [r for r in records if (r.condition.system, r.condition.split) == (system, split)]
        for (_, data_set, gender), of_set in by_trial_set(own).items():
            others = [r for r in of_set if not r.condition.is_by_challenge]
            shown = [r for r in of_set if r.condition.is_by_challenge]
            shown += sorted(others, key=lambda r: -(r.equal[-1].rank1 or 0))[:1]
            caption = (
                "Error rates by the number of sentences per test: "
                f"{system}, {set_title(data.protocol, data_set, split, gender)}. The same "
                "speakers at every number; bands: 95 % intervals over speakers, where there are "
                "any."
            )
            if others:
                caption += (
                    f" In brackets: of {counted(len(others), 'other attacker')} the one that finds "
                    "most, by averaged scores."
                )
            curves = {_name(data, r): r.equal for r in shown}
            of = [r.condition for r in shown]
            stem = style.file_stem("amount", system, data_set, split, gender)
            yield Drawing(stem, caption, _plot(curves), metrics=("eer",), conditions=of)


def _name(data: ReportData, record: AmountRecord) -> str:
    """Name an attacker in the legend."""
    c = record.condition
    attacks = {a.id: a.title for a in data.protocol.attack_models}
    by = "" if c.is_by_challenge else f" ({c.attacker})"
    folder = f" {c.results_folder}" if c.results_folder else ""
    return f"{attacks[c.attack_model or '']}{by}{folder}"


def amount_plot(curve: AmountCurve) -> Plot:
    """Plot how often the right person is found, and the EER, over equal speakers.

    Parameters
    ----------
    curve : AmountCurve
        Bands are drawn where it has intervals.

    Returns
    -------
    Plot
    """
    return _plot({"": curve.equal})


def _plot(curves: Mapping[str, Sequence[Amount]]) -> Plot:
    speakers = sorted({amounts[-1].speakers for amounts in curves.values()})
    title = f"{' or '.join(map(str, speakers))} speakers at every length"
    panels = (
        _panel(curves, "rank1", "right person found (%)", title),
        _panel(curves, "eer", "EER (%)", ""),
    )
    return Plot((panels,), legend="bottom", panel_height=2.4, longest_name=40)


def _panel(curves: Mapping[str, Sequence[Amount]], rate: str, label: str, title: str) -> Panel:
    drawn = []
    styles = style.system_styles(list(curves))
    for name, amounts in curves.items():
        points = [amount for amount in amounts if getattr(amount, rate) is not None]
        x = np.log10([amount.length for amount in points])
        y = 100 * np.array([getattr(amount, rate) for amount in points])
        drawn.append(system_curve(styles[name], x, y, np.column_stack([x, y]), name, ""))
        intervals = [getattr(amount, f"{rate}_interval") for amount in points]
        if all(intervals) and intervals:
            low, high = 100 * np.array(intervals).T
            drawn.append(Curve(x, high, colour=styles[name].colour, fill=True, base=low))
    lengths = sorted({amount.length for amounts in curves.values() for amount in amounts})
    return Panel(
        tuple(drawn),
        "sentences per test",
        label,
        (-0.05, float(np.log10(max(*lengths, 2))) + 0.05),
        (0.0, 105.0),
        title=title,
        x_ticks=tuple((float(np.log10(n)), str(n)) for n in lengths),
        x_scale="log10",
    )
