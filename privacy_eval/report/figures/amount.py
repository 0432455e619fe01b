"""Error rates by the number of utterances per test, and by their seconds, with bands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...errors import counted
from ...metrics.amount import Amount, AmountCurve
from ...numbers.groups import by_trial_set, main_split
from ...numbers.report_data import ReportData
from ...results.records import AmountRecord
from . import style
from .drawing import Drawing
from .plot import Curve, Panel, Plot, log_panel, system_curve
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
            others.sort(key=lambda r: -(r.equal[-1].rank1 or 0))
            shown = [r for r in of_set if r.condition.is_by_challenge] + others[:1]
            caption = (
                "Error rates by the number of sentences per test: "
                f"{system}, {set_title(data.protocol, data_set, split, gender)}. The same "
                "speakers at every number, those of the largest; so many have a test of "
                f"{_remaining(shown)}. Bands: 95 % intervals over speakers, where there are any."
            )
            if others:
                caption += (
                    f" In brackets: of {counted(len(others), 'other attacker')} the one that finds "
                    f"most, by averaged {others[0].averaged}."
                )
            curves = {_name(data, r): r.equal for r in shown}
            of = [r.condition for r in shown]
            stem = style.file_stem("amount", system, data_set, split, gender)
            yield Drawing(stem, caption, _plot(curves), metrics=("eer",), conditions=of)


def _remaining(records: Sequence[AmountRecord]) -> str:
    """Say how many speakers have a test of each number of sentences."""
    of_length: dict[int, set[int]] = {}
    for amount in (a for record in records for a in record.all if a.conversations):
        of_length.setdefault(amount.length, set()).add(amount.speakers)
    return ", ".join(
        f"{length}: {' or '.join(map(str, sorted(speakers)))}"
        for length, speakers in sorted(of_length.items())
    )


def _name(data: ReportData, record: AmountRecord) -> str:
    """Name an attacker in the legend."""
    c = record.condition
    attack = data.protocol.attack(c.attack_model or "").title
    by = "" if c.is_by_challenge else f" ({c.attacker})"
    folder = f" {c.results_folder}" if c.results_folder else ""
    return f"{attack}{by}{folder}"


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
    every = [amount for amounts in curves.values() for amount in amounts]
    lengths = _axis("sentences per test", {a.length: str(a.length) for a in every})
    axes = {"length": replace(lengths, title=title)}
    seconds = [amount.seconds for amount in every if amount.seconds is not None]
    if len(seconds) == len(every):
        axes["seconds"] = _axis("mean seconds of speech per test", dict.fromkeys(seconds, ""))
    rows = tuple(
        (
            _panel(curves, (key, "rank1"), "right person found (%)", axis),
            _panel(curves, (key, "eer"), "EER (%)", replace(axis, title="")),
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
    return log_panel((label, ""), limits, ticks)


def _panel(
    curves: Mapping[str, Sequence[Amount]], values: tuple[str, str], label: str, axis: Panel
) -> Panel:
    """Draw two values of amounts on axes: length or seconds, and a rate."""
    drawn, (over, rate) = [], values
    styles = style.system_styles(list(curves))
    for name, amounts in curves.items():
        points = [amount for amount in amounts if getattr(amount, rate) is not None]
        x = np.log10([getattr(amount, over) for amount in points])
        y = 100 * np.array([getattr(amount, rate) for amount in points])
        drawn.append(system_curve(styles[name], x, y, np.column_stack([x, y]), name, ""))
        intervals = [getattr(amount, f"{rate}_interval") for amount in points]
        if all(intervals) and intervals:
            low, high = 100 * np.array(intervals).T
            drawn.append(Curve(x, high, colour=styles[name].colour, fill=True, base=low))
    return replace(axis, curves=tuple(drawn), y_label=label)
