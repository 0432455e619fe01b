"""ECE profiles of ZEBRA: Figures 3 to 6 of the supplement, Figures 2 and 3 of the ZEBRA
paper, and the ZEBRA toolkit's conventional plots.

The space between a profile and that of full privacy (black) is what is disclosed at a
prior. Legends are in the order of the expected disclosure D_ECE, as `system (D_ECE in
bit, worst case in log10 LR, category)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import expit

from ...metrics.pav import FloatArray
from ...metrics.zebra import zebra_number
from ...protocol.protocol import Protocol
from ...results.arrays import Arrays, Curves
from ...results.records import Results, VerificationRecord
from ..values import ORIGINAL_ATTACK, ORIGINAL_COLUMN
from . import style
from .draw import CurveDrawing, drawing
from .plot import Curve, Panel, Plot
from .style import SystemStyle

#: What a profile is drawn against: log odds of the prior, their logarithms to base 10,
#: or the prior itself.
Over = Literal["log odds", "log10 odds", "prior"]

#: Stored arrays that the figures need.
PROFILE = ("prior_log_odds", "ece_zero_evidence", "ece_minimum")
CONVENTIONAL = (*PROFILE, "ece_actual", "dcf_minimum", "dcf_actual")

#: Profiles in a figure; more systems go over several.
MOST_SYSTEMS = 20

_MARKS = 7
_X_LABELS: Mapping[Over, str] = {
    "log odds": r"prior log-odds $\log(\pi/(1-\pi))$",
    "log10 odds": r"prior log-odds $\log_{10}(\pi/(1-\pi))$",
    "prior": r"prior $\pi$",
}
_Y_LABEL = "empirical cross-entropy (bit)"
_FULL_PRIVACY = "full privacy"
_ACTUAL, _MINIMUM = "#D55E00", "#0072B2"


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
    """

    name: str
    prior_log_odds: FloatArray
    minimum: FloatArray
    zero_evidence: FloatArray
    population: float
    individual: float
    tag: str

    @property
    def triple(self) -> str:
        """As legends show it: `(0.584, 3.979, C)`."""
        numbers = f"{zebra_number(self.population)}, {zebra_number(self.individual)}"
        return f"({numbers}, {self.tag})"


def profile_panel(
    profiles: Sequence[Profile],
    looks: Sequence[SystemStyle],
    *,
    over: Over = "log odds",
    title: str = "",
) -> Panel:
    """Profiles with that of full privacy, in the order of D_ECE.

    Parameters
    ----------
    looks : sequence of SystemStyle
        One for each profile.
    """
    ordered = sorted(zip(profiles, looks, strict=True), key=lambda pair: pair[0].population)
    first = ordered[0][0]
    curves = [
        Curve(
            *_against(first.prior_log_odds, first.zero_evidence, over),
            _FULL_PRIVACY,
            width=2.0,
        )
    ]
    for number, (profile, look) in enumerate(ordered):
        x, y = _against(profile.prior_log_odds, profile.minimum, over)
        x_mark, y_mark = _against(profile.prior_log_odds, profile.minimum, over, ends=False)
        curves.append(
            Curve(
                x,
                y,
                profile.name,
                profile.triple,
                look.colour,
                look.line_style,
                marker=look.marker,
                marks=_marks(x_mark, y_mark, number / len(ordered), over),
            )
        )
    low, high = _against(first.prior_log_odds[[0, -1]], np.zeros(2), over)[0][[0, -1]]
    return Panel(
        tuple(curves),
        _X_LABELS[over],
        _Y_LABEL,
        (float(low), float(high)),
        (0.0, 1.05),
        title=title,
        x_ticks=_ticks(float(low), float(high), over),
    )


def conventional_plot(
    arrays: Arrays,
    *,
    over: Over = "log odds",
    base: Sequence[str] = ("ECE", "DCF"),
    title: str = "",
) -> Plot:
    """ECE and detection cost (APE), above; both over those without evidence (NECE, NBER),
    below: of the scores as they are, at best, and without evidence.

    Parameters
    ----------
    arrays : mapping
        The stored curves of a record: `CONVENTIONAL`.
    base : sequence of {"ECE", "DCF"}
        Which of the two.
    """
    log_odds = arrays["prior_log_odds"]
    default = {
        "ECE": arrays["ece_zero_evidence"],
        "DCF": np.minimum(expit(log_odds), expit(-log_odds)),
    }
    unit = {"ECE": _Y_LABEL, "DCF": "Bayes error rate"}
    normalised = {"ECE": "normalised cross-entropy (NECE)", "DCF": "normalised rate (NBER)"}
    above, below = [], []
    for kind in base:
        minimum, actual = arrays[f"{kind.lower()}_minimum"], arrays[f"{kind.lower()}_actual"]
        above.append(
            _conventional_panel(log_odds, default[kind], minimum, actual, unit[kind], over)
        )
        below.append(
            _conventional_panel(
                log_odds,
                np.ones(log_odds.size),
                minimum / default[kind],
                actual / default[kind],
                normalised[kind],
                over,
            )
        )
    return Plot((tuple(above), tuple(below)), legend="bottom", panel_height=1.9, title=title)


def profiles(
    results: Results,
    curves: Curves,
    *,
    systems: Sequence[str] | None = None,
    over: Sequence[Over] = ("log odds", "prior"),
) -> Iterator[CurveDrawing]:
    """Per trial set and attack model the profiles of all systems and of original speech.

    More than `MOST_SYSTEMS` go over several figures, in the order of D_ECE.
    """
    protocol = results.protocol
    styles = style.system_styles(results.systems)
    for condition in conditions(results, systems):
        found = _found(condition.records, curves, protocol)
        if not found:
            continue
        original = _found(condition.original, curves, protocol)[:1]
        original = [replace(p, name=ORIGINAL_COLUMN) for p in original]
        by_name = {p.name: p for p in sorted(found, key=lambda p: p.population)}
        pages = style.pages(list(by_name), MOST_SYSTEMS)
        for number, page in enumerate(pages):
            shown = [*(by_name[name] for name in page), *original]
            for kind in over:
                panel = _panel(shown, styles, kind, condition.title(protocol))
                yield drawing(
                    style.stem(_prefix("ece", kind), *condition.key, *numbered(number, pages)),
                    f"ZEBRA assessment with ECE profiles: {condition.title(protocol)}"
                    f"{part_of(number, pages)}. {_EXPLAINED}",
                    Plot(((panel,),)),
                )


def system_profiles(
    results: Results,
    curves: Curves,
    *,
    systems: Sequence[str] | None = None,
    over: Over = "log odds",
) -> Iterator[CurveDrawing]:
    """Per system and split the profiles of its conditions, a panel per attack model."""
    protocol = results.protocol
    labels = {
        (d.id, gender): f"{d.title} {protocol.genders[gender]}"
        for d in protocol.data_sets
        for gender in protocol.genders
    }
    styles = style.system_styles(list(labels.values()))
    for system in results.systems if systems is None else systems:
        of_system = results.of(system)
        for split in protocol.splits:
            panels = []
            for attack in protocol.attack_models:
                records = {
                    (r.condition.data_set, r.condition.gender): r
                    for r in reversed(of_system.verification)
                    if r.condition.split == split and r.condition.attack_model == attack.id
                }
                shown = [
                    replace(profile, name=labels[key])
                    for key, record in records.items()
                    for profile in _found([record], curves, protocol)
                ]
                if shown:
                    panels.append(_panel(shown, styles, over, attack.title))
            if not panels:
                continue
            rows = tuple(tuple(panels[i : i + 2]) for i in range(0, len(panels), 2))
            title = f"{system}, {protocol.split_title(split)}"
            yield drawing(
                style.stem(_prefix("ece", over), "system", system, split),
                f"ZEBRA assessment with ECE profiles: system {title}. {_EXPLAINED}",
                Plot(rows, legend="below", panel_height=2.2, title=title),
            )


def conventional(
    results: Results,
    curves: Curves,
    *,
    systems: Sequence[str] | None = None,
    over: Over = "log odds",
) -> Iterator[CurveDrawing]:
    """Per condition of a system the conventional plots: ECE, DCF, NECE, NBER."""
    protocol = results.protocol
    chosen = set(results.systems if systems is None else systems)
    seen = set()
    for record in results.verification:
        arrays = load(record, curves, CONVENTIONAL)
        if (
            arrays is None
            or record.condition.attack_model is None
            or record.condition.system not in chosen
        ):
            continue
        key = (
            record.condition.attack_model,
            record.condition.data_set,
            record.condition.split,
            record.condition.gender,
        )
        if (record.condition.system, *key) in seen:
            continue
        seen.add((record.condition.system, *key))
        where = f"{record.condition.system}, {Condition(*key).title(protocol)}"
        yield drawing(
            style.stem(_prefix("conventional", over), record.condition.system, *key),
            f"Cross-entropy (ECE), detection cost (APE plot), and both normalised: {where}. "
            "Actual: scores taken as log-likelihood ratios, which leaves the panel where they "
            "are badly calibrated; minimum: after the best calibration.",
            conventional_plot(arrays, over=over, title=where),
        )


def figures(
    results: Results, curves: Curves, *, systems: Sequence[str] | None = None
) -> Iterator[CurveDrawing]:
    """All of the above, one after the other."""
    yield from profiles(results, curves, systems=systems)
    yield from system_profiles(results, curves, systems=systems)
    yield from conventional(results, curves, systems=systems)


# What figures of curves are made of


@dataclass(frozen=True)
class Condition:
    """A trial set under an attack model, with its records, one per system, and those of
    original speech."""

    attack_model: str
    data_set: str
    split: str
    gender: str
    records: tuple[VerificationRecord, ...] = ()
    original: tuple[VerificationRecord, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells it from others, as parts of a file name."""
        return self.attack_model, self.data_set, self.split, self.gender

    def title(self, protocol: Protocol) -> str:
        """In words."""
        attack = next(a.title for a in protocol.attack_models if a.id == self.attack_model)
        return f"{self.set_title(protocol)}, {attack.lower()}"

    def set_title(self, protocol: Protocol) -> str:
        """The trial set in words."""
        data_set = protocol.data_set(self.data_set).title
        return f"{data_set} {self.split}, {protocol.genders[self.gender]}"


def conditions(results: Results, systems: Sequence[str] | None = None) -> list[Condition]:
    """Every trial set under every attack model, in the order of the plan, with the records
    of these systems (default: all); of what a system has twice the first."""
    found: dict[tuple[str, str, str, str], dict[str, VerificationRecord]] = {}
    for r in results.verification:
        if r.condition.attack_model is not None and (
            systems is None or r.condition.system in systems
        ):
            place = (
                ORIGINAL_ATTACK if r.condition.is_original else r.condition.attack_model,
                r.condition.data_set,
                r.condition.split,
                r.condition.gender,
            )
            found.setdefault(place, {}).setdefault(r.condition.system, r)
    listed = []
    for t in results.protocol.trial_sets():
        of_set = (t.data_set.id, t.split, t.gender)
        original = tuple(found.get((ORIGINAL_ATTACK, *of_set), {}).values())
        for attack in results.protocol.attack_models:
            records = tuple(found.get((attack.id, *of_set), {}).values())
            if records and not attack.is_original:
                listed.append(Condition(attack.id, *of_set, records, original))
    return listed


def load(record: VerificationRecord, curves: Curves, names: Iterable[str]) -> Arrays | None:
    """A record's stored curves; None unless all of these are among them."""
    arrays = curves.of(record)
    return arrays if arrays is not None and set(names) <= arrays.keys() else None


def skipped(results: Results, curves: Curves, names: Iterable[str]) -> Iterator[str]:
    """Conditions that figures of these curves leave out, each with the reason."""
    names = tuple(names)
    for r in results.verification:
        reason = ""
        if r.condition.attack_model is None:
            reason = "no attack model of the plan"
        elif (arrays := curves.of(r)) is None:
            reason = "no curves stored (imported results have none)"
        elif not set(names) <= arrays.keys():
            reason = "curves of an earlier version; run stages 6 to 8 again"
        if reason:
            yield f"{r.condition.system} {r.condition.name} ({reason})"


def numbered(number: int, pages: Sequence[object]) -> tuple[str, ...]:
    """What a figure of several has at the end of its name."""
    return (str(number + 1),) if len(pages) > 1 else ()


def part_of(number: int, pages: Sequence[object]) -> str:
    """The same in its caption."""
    return f" ({number + 1} of {len(pages)})" if len(pages) > 1 else ""


_EXPLAINED = (
    "In brackets: expected disclosure (bit), worst-case disclosure (log10 LR), its category; "
    "black: full privacy."
)


def _prefix(name: str, over: Over) -> str:
    return name if over == "log odds" else f"{name}-{over.replace(' ', '-')}"


def _found(
    records: Iterable[VerificationRecord], curves: Curves, protocol: Protocol
) -> list[Profile]:
    found = []
    for record in records:
        arrays = load(record, curves, PROFILE)
        values = record.values(protocol.variant)
        if arrays is None or not {"zebra_population", "zebra_individual"} <= values.keys():
            continue
        found.append(
            Profile(
                record.condition.system,
                arrays["prior_log_odds"],
                arrays["ece_minimum"],
                arrays["ece_zero_evidence"],
                values["zebra_population"],
                values["zebra_individual"],
                record.tag(protocol.variant) or "?",
            )
        )
    return found


def _panel(
    shown: Sequence[Profile], styles: Mapping[str, SystemStyle], over: Over, title: str
) -> Panel:
    return profile_panel(shown, [styles[p.name] for p in shown], over=over, title=title)


def _against(
    log_odds: FloatArray, y: FloatArray, over: Over, *, ends: bool = True
) -> tuple[FloatArray, FloatArray]:
    """A curve over what is asked for; over the prior with the ends, where ECE is 0."""
    if over == "log10 odds":
        return log_odds / math.log(10), y
    if over == "prior":
        prior = np.asarray(expit(log_odds), dtype=np.float64)
        if not ends:
            return prior, y
        return np.concatenate([[0], prior, [1]]), np.concatenate([[0], y, [0]])
    return log_odds, y


def _marks(x: FloatArray, y: FloatArray, phase: float, over: Over) -> FloatArray:
    """Points of a curve to mark, shifted from curve to curve, where profiles are apart."""
    low, high = (0.05, 0.95) if over == "prior" else (0.6 * x[0], 0.6 * x[-1])
    at = low + (high - low) * (np.arange(_MARKS) + phase) / _MARKS
    return np.column_stack([at, np.interp(at, x, y)])


def _conventional_panel(
    log_odds: FloatArray,
    default: FloatArray,
    minimum: FloatArray,
    actual: FloatArray,
    y_label: str,
    over: Over,
) -> Panel:
    x = _against(log_odds, default, over, ends=False)[0]
    # Bad calibration has no bound; the panel keeps room for the other two.
    top = float(np.clip(1.05 * actual.max(), 1.05 * default.max(), 1.8 * default.max()))
    return Panel(
        (
            Curve(x, default, "without evidence", width=2.0),
            Curve(x, actual, "actual", colour=_ACTUAL),
            Curve(x, minimum, "minimum", colour=_MINIMUM, line_style=(0, (4, 1.5))),
        ),
        _X_LABELS[over],
        y_label,
        (float(x[0]), float(x[-1])),
        (0.0, top),
        title="" if actual.min() <= top else f"actual: {actual.min():.3g} and above",
        x_ticks=_ticks(float(x[0]), float(x[-1]), over),
    )


def _ticks(low: float, high: float, over: Over) -> tuple[tuple[float, str], ...]:
    """Every 5 of log odds, which programs would divide by 2.5; else as they like."""
    if over != "log odds" or not -50 <= low < high <= 50:
        return ()
    return tuple((float(t), f"{t}") for t in range(-50, 51, 5) if low <= t <= high)
