"""ECE profiles of ZEBRA: Figures 3 to 6 of the supplement, Figures 2 and 3 of the ZEBRA
paper.

The area between a profile and that of full privacy (black) is the disclosure at a prior.
Legends are in the order of the expected disclosure D_ECE, as `system (D_ECE in
bit, worst case in log10 LR, category)`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from ...metrics import Caveat
from ...metrics.caveats import IMPLAUSIBLE_MARK, marked_text
from ...metrics.llr import zebra_number
from ...metrics.pav import FloatArray
from ...numbers.report_data import ReportData
from ...results.records import VerificationRecord
from . import style
from .drawing import Drawing
from .plot import Curve, Panel, Plot, in_pairs, system_curve
from .selection import condition_pages, load
from .style import SystemStyle

#: x axis of a profile: prior log odds, or the prior itself.
Over = Literal["log odds", "prior"]

#: Labels of the axes.
LOG_ODDS_LABEL = r"prior log-odds $\log(\pi/(1-\pi))$"
ECE_LABEL = "empirical cross-entropy (bit)"

# Required arrays of a record.
_ARRAYS = ("prior_log_odds", "ece_zero_evidence", "ece_minimum")
_METRICS = ("zebra_population", "zebra_individual")
_MARKERS = 7
_X_LABELS: Mapping[Over, str] = {
    "log odds": LOG_ODDS_LABEL,
    "prior": r"prior $\pi$",
}
_EXPLAINED = (
    "In brackets: expected disclosure (bit), worst-case disclosure (log10 LR), its category; "
    "black: full privacy."
)


@dataclass(frozen=True)
class Profile:
    """One line of a figure.

    Attributes
    ----------
    name : str
    prior_log_odds, minimum, zero_evidence : float arrays, shape (P,)
        ECE in bit.
    population, individual : float
    tag : str
    caveat : Caveat or None
        For which its values must be neither ranked nor graded.
    """

    name: str
    prior_log_odds: FloatArray
    minimum: FloatArray
    zero_evidence: FloatArray
    population: float
    individual: float
    tag: str
    caveat: Caveat | None = None

    @property
    def triple(self) -> str:
        """Text in legends: `(0.584, 3.979, C)`."""
        values = (zebra_number(self.population), zebra_number(self.individual))
        numbers = ", ".join(marked_text(value, self.caveat) for value in values)
        return f"({numbers}, {self.tag})"

    @property
    def rank(self) -> tuple[bool, float]:
        """Place in the legend: implausible scores are last."""
        return self.caveat is not None, self.population


def profile_panel(
    profiles: Sequence[Profile],
    looks: Sequence[SystemStyle],
    *,
    over: Over = "log odds",
    title: str = "",
) -> Panel:
    """Draw ECE profiles in the order of D_ECE, and the profile of full privacy.

    Parameters
    ----------
    looks : sequence of SystemStyle
        One for each profile.
    """
    ordered = sorted(zip(profiles, looks, strict=True), key=lambda pair: pair[0].rank)
    first = ordered[0][0]
    full = _against(first.prior_log_odds, first.zero_evidence, over)
    curves = [Curve(*full, "full privacy", width=2.0)]
    for number, (profile, look) in enumerate(ordered):
        x, y = _against(profile.prior_log_odds, profile.minimum, over)
        points = _markers(x, y, number / len(ordered), over)
        entry = (profile.name, profile.triple, profile.caveat)
        curves.append(system_curve(look, x, y, points, *entry))
    limits = float(full[0][0]), float(full[0][-1])
    return Panel(
        tuple(curves),
        _X_LABELS[over],
        ECE_LABEL,
        limits,
        (0.0, 1.05),
        title=title,
        x_ticks=log_odds_ticks(*limits) if over == "log odds" else (),
    )


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `ece_*` and `ece-prior_*` per trial set and attack model: the profiles of all systems
    and of original speech; and `ece_system_*` per system and split: the profiles of its
    conditions, a panel per attack model."""
    styles = style.system_styles(data.results.systems)
    overs: tuple[tuple[str, Over], ...] = (("ece", "log odds"), ("ece-prior", "prior"))

    for page in condition_pages(data, functools.partial(_profile, data), lambda p: p.rank):
        looks = [styles[p.name] for p in page.items]
        for prefix, over in overs:
            yield Drawing(
                style.file_stem(prefix, *page.key),
                f"ZEBRA assessment with ECE profiles: {page.title}{page.part}. {_EXPLAINED}",
                Plot(((profile_panel(page.items, looks, over=over, title=page.title),),)),
                _METRICS,
                page.conditions,
                default=prefix == "ece",
            )
    yield from _system_profiles(data)


def log_odds_ticks(low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Ticks at multiples of 5; automatic ones would be at multiples of 2.5."""
    if not -50 <= low < high <= 50:
        return ()
    return tuple((float(t), f"{t}") for t in range(-50, 51, 5) if low <= t <= high)


def _system_profiles(data: ReportData) -> Iterator[Drawing]:
    protocol = data.protocol
    labels = {
        (d.id, gender): f"{d.title} {title}"
        for d in protocol.data_sets
        for gender, title in protocol.genders.items()
    }
    styles = style.system_styles(list(labels.values()))
    for system in data.results.systems:
        of_system = data.results.of(system).verification
        for split in protocol.splits:
            panels, conditions = [], []
            for attack in protocol.attack_models:
                records = {
                    (r.condition.data_set, r.condition.gender): r
                    for r in reversed(of_system)
                    if (r.condition.split, r.condition.attack_model) == (split, attack.id)
                }
                read = {key: _profile(data, labels[key], r) for key, r in records.items()}
                profiles = [p for p in read.values() if p is not None]
                if profiles:
                    conditions += [records[key].condition for key, p in read.items() if p]
                    looks = [styles[p.name] for p in profiles]
                    panels.append(profile_panel(profiles, looks, title=attack.title))
            if panels:
                title = f"{system}, {protocol.split_title(split)}"
                yield Drawing(
                    style.file_stem("ece", "system", system, split),
                    f"ZEBRA assessment with ECE profiles: system {title}. {_EXPLAINED}",
                    Plot(in_pairs(panels), legend="below", panel_height=2.2, title=title),
                    _METRICS,
                    conditions,
                )


def _profile(data: ReportData, name: str, record: VerificationRecord) -> Profile | None:
    variant = data.protocol.variant
    arrays, values = load(record, data.arrays, _ARRAYS), record.values(variant)
    if arrays is None or not set(_METRICS) <= values.keys():
        return None
    return Profile(
        name,
        arrays["prior_log_odds"],
        arrays["ece_minimum"],
        arrays["ece_zero_evidence"],
        values["zebra_population"],
        values["zebra_individual"],
        record.tag(variant) or IMPLAUSIBLE_MARK,
        record.caveat("zebra_population"),
    )


def _against(log_odds: FloatArray, y: FloatArray, over: Over) -> tuple[FloatArray, FloatArray]:
    """A curve over the chosen axis; over the prior with its ends, where ECE is 0."""
    if over == "log odds":
        return log_odds, y
    prior = np.concatenate([[0], expit(log_odds), [1]])
    return prior, np.concatenate([[0], y, [0]])


def _markers(x: FloatArray, y: FloatArray, phase: float, over: Over) -> FloatArray:
    """Points of a curve with markers, shifted from curve to curve, where profiles differ."""
    low, high = (0.05, 0.95) if over == "prior" else (0.6 * x[0], 0.6 * x[-1])
    at = low + (high - low) * (np.arange(_MARKERS) + phase) / _MARKERS
    return np.column_stack([at, np.interp(at, x, y)])
