"""Curves of sets of scores, from stored arrays.

DET curves: miss rate over false-alarm rate, both on the probit scale, with a marker where they
are equal. Kaldi's EER, which tables show, is that of one threshold, where both rates may differ:
it is printed beside that of the curve. The closer a curve is to the upper right corner, the better
the privacy. Reference: Martin et al., "The DET curve in assessment of detection task performance"
(1997); Figures 25 and 26 of the supplement.

ECE profiles of ZEBRA: Figures 3 to 6 of the supplement, Figures 2 and 3 of the ZEBRA paper. The
area between a profile and that of full privacy (black) is the disclosure at a prior. Legends are in
the order of the expected disclosure D_ECE, as `system (D_ECE in bit, worst case in log10 LR,
category)`.

Conventional plots of the ZEBRA toolkit: cross-entropy (ECE) and detection cost (APE plot), and
both normalized (NECE, NBER).

Linkability: densities of target and nontarget scores with the local D(s), Figure 7 of the
supplement. D(s) is 1 for scores that link with certainty and 0 for scores that do not link; D_sys
is its mean over target scores.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Literal, NamedTuple, TypeVar

import numpy as np
from scipy.special import expit, ndtri

from ...metrics import METRICS, Caveat
from ...metrics.caveats import IMPLAUSIBLE_MARK, marked_text
from ...metrics.eer import equal_rate
from ...metrics.llr import zebra_number
from ...metrics.pav import FloatArray
from ...numbers.cells import ORIGINAL_ATTACK, ORIGINAL_COLUMN
from ...numbers.report_data import ReportData
from ...protocol.protocol import Protocol
from ...results.arrays import DET_BAND, Arrays, StoredArrays
from ...results.records import Results, VerificationRecord
from ...tree.conditions import Condition
from . import style
from .drawing import Drawing
from .plot import Curve, Panel, Plot, in_pairs, system_curve
from .style import SystemStyle

#: Systems of a figure of curves; more are split over several.
MOST_SYSTEMS = 20

Item = TypeVar("Item", bound="Line | Profile")


@dataclass(frozen=True)
class Page(Generic[Item]):
    """Content of a figure of a condition.

    Attributes
    ----------
    items : list
        Those of at most `MOST_SYSTEMS` systems, then that of original speech.
    conditions : list of Condition
        Of these items.
    key : tuple of str
        Parts of a file name.
    title, part : str
        Title of the condition; number of the page, e.g. ` (1 of 2)`.
    """

    items: list[Item]
    conditions: list[Condition]
    key: tuple[str, ...]
    title: str
    part: str


class Key(NamedTuple):
    """A trial set under an attack model; also the parts of a file name."""

    attack_model: str
    data_set: str
    split: str
    gender: str

    def title(self, protocol: Protocol) -> str:
        """Title of the condition."""
        attack = protocol.attack(self.attack_model).title.lower()
        return f"{set_title(protocol, *self[1:])}, {attack}"


def set_title(protocol: Protocol, data_set: str, split: str, gender: str) -> str:
    """Title of a trial set."""
    return f"{protocol.data_set(data_set).title} {split}, {protocol.genders[gender]}"


def key_of(record: VerificationRecord) -> Key | None:
    """The trial set and attack model of a record; None without an attack model."""
    c = record.condition
    if c.attack_model is None:
        return None
    attack = ORIGINAL_ATTACK if c.is_original else c.attack_model
    return Key(attack, c.data_set, c.split, c.gender)


def conditions(
    results: Results,
) -> Iterator[tuple[Key, list[VerificationRecord], list[VerificationRecord]]]:
    """Yield every trial set under every attack model, in the order of the protocol, with its
    records, one per system, and those of original speech; of duplicates the first."""
    records: dict[Key, dict[str, VerificationRecord]] = {}
    for record in results.verification:
        key = key_of(record)
        if key is not None:
            records.setdefault(key, {}).setdefault(record.condition.system, record)
    protocol = results.protocol
    for t, attack in itertools.product(protocol.trial_sets(), protocol.attack_models):
        of_set = t.data_set.id, t.split, t.gender
        key, original = Key(attack.id, *of_set), Key(ORIGINAL_ATTACK, *of_set)
        if key in records and key != original:
            yield key, list(records[key].values()), list(records.get(original, {}).values())


def load(record: VerificationRecord, arrays: StoredArrays, names: Iterable[str]) -> Arrays | None:
    """Load the arrays of a record; None if any of these is missing."""
    plotted = arrays.plotted(record)
    return plotted if plotted is not None and set(names) <= plotted.keys() else None


def condition_pages(
    data: ReportData, read: Callable[[str, VerificationRecord], Item | None]
) -> Iterator[Page[Item]]:
    """Yield pages of figures with all systems and original speech, per trial set and attack model.

    Parameters
    ----------
    read : callable
        Makes an item from a name and a record; None if it has no data.
    """

    def items(
        records: Iterable[VerificationRecord], name: str = ""
    ) -> Iterator[tuple[Item, Condition]]:
        for r in records:
            item = read(name or r.condition.system, r)
            if item is not None:
                yield item, r.condition

    for key, records, originals in conditions(data.results):
        ordered = sorted(items(records), key=lambda pair: pair[0].rank)
        original = [*itertools.islice(items(originals, ORIGINAL_COLUMN), 1)] if ordered else []
        title = key.title(data.protocol)
        for page, number, part in style.numbered_pages(ordered, MOST_SYSTEMS):
            drawn, of = zip(*page, *original, strict=True)
            yield Page([*drawn], [*of], (*key, *number), title, part)


# DET curves

# Rates in percent: possible limits of the axes, and their ticks.
_LOWEST = (0.1, 0.5, 1.0, 2.0, 5.0)
_HIGHEST = (40.0, 60.0, 80.0, 90.0, 95.0, 99.0)
_TICKS = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99)
# Probits at which rates of 0 and 1 are drawn.
_FAR = 8.0
# Steps along the straight line between two points of a curve, dense at its ends.
_STEPS = np.append(0.0, expit(np.linspace(-14, 14, 29)))
_SHORT = 0.1
# Maximum number of curves with bands: more bands hide one another.
_MOST_BANDS = 4


@dataclass(frozen=True)
class Line:
    """One curve of a figure.

    Attributes
    ----------
    name : str
    miss, false_alarm : float arrays, shape (P,)
    eer : float
        As in tables, a fraction.
    text : str
        Percent in the legend; default: `eer` with its interval beside the rate at the marker.
    caveat : Caveat or None
        For which its EER must be neither ranked nor graded.
    band : tuple of float arrays, shape (Q,)
        False-alarm rates, and lowest and highest miss rates there; () if unknown.
    interval : (float, float) or None
        Bounds of `eer`.
    """

    name: str
    miss: FloatArray
    false_alarm: FloatArray
    eer: float
    text: str = ""
    caveat: Caveat | None = None
    band: tuple[FloatArray, ...] = ()
    interval: tuple[float, float] | None = None

    @cached_property
    def marker(self) -> float:
        """Rate at which the curve's two rates are equal, a fraction."""
        with np.errstate(all="ignore"):  # stored arrays are untrusted
            return equal_rate(self.miss, self.false_alarm)

    @property
    def printed(self) -> str:
        """EER in the legend, in percent."""
        if self.text:
            return self.text
        metric = METRICS["eer"]
        eer, marker = (
            marked_text(metric.format(rate), self.caveat) for rate in (self.eer, self.marker)
        )
        return f"{eer} {metric.interval(self.interval)}".rstrip() + f" %, curve {marker}"

    @property
    def rank(self) -> tuple[bool, float]:
        """Place in the legend: implausible scores are last."""
        return self.caveat is not None, -self.marker


def det_panel(
    lines: Iterable[Line], styles: Mapping[str, SystemStyle], *, title: str = ""
) -> Panel:
    """Draw DET curves from the highest EER to the lowest, with a marker at each EER.

    Both axes have the same limits: from at most a third of the lowest EER (at least 0.1 %)
    to at least 1.5 times the highest (at most 99 %). A curve whose EER is below them runs
    along the axes.

    Parameters
    ----------
    styles : mapping
        By name of a line.
    """
    ordered = sorted(lines, key=lambda line: line.rank)
    eers = [100 * line.marker for line in ordered]
    low = max((v for v in _LOWEST if v <= min(eers) / 3), default=_LOWEST[0])
    high = min((v for v in _HIGHEST if v >= 1.5 * max(eers)), default=_HIGHEST[-1])
    limits = float(ndtri(low / 100)), float(ndtri(high / 100))
    ticks = tuple(
        (float(ndtri(v / 100)), f"{v:g}")
        for v in _TICKS
        if low <= v <= high and (v not in (30, 50, 70) or low >= 5)
    )
    curves, bands = [], []
    for line in ordered:
        look = styles[line.name]
        x, y = probit_curve(line.miss, line.false_alarm)
        if 100 * line.marker < low:
            x, y = np.clip(x, *limits), np.clip(y, *limits)
        eer = np.full((1, 2), ndtri(np.clip(line.marker, low / 100, 1)))
        points = eer if limits[0] <= eer[0, 0] <= limits[1] else np.zeros((0, 2))
        note = f"({'EER ' if line.interval else ''}{line.printed} %)"
        curves.append(system_curve(look, x, y, points, line.name, note, line.caveat))
        if line.band and len(ordered) <= _MOST_BANDS:
            at, below, above = map(_probit, line.band)
            bands.append(Curve(at, above, colour=look.colour, fill=True, base=below))
    return Panel(
        (*curves, *bands),
        "false-alarm rate (%)",
        "miss rate (%)",
        limits,
        limits,
        title=title,
        x_ticks=ticks,
        y_ticks=ticks,
        x_scale="probit",
        y_scale="probit",
        square=True,
    )


def probit_curve(miss: FloatArray, false_alarm: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute probits of the false-alarm and miss rates along a curve.

    Two operating points are joined by a straight line in the rates (thresholds drawn at random
    between them), which is not straight in probits.
    """
    ends = [_probit(rates) for rates in (false_alarm, miss)]
    moves = np.array([np.abs(np.diff(probits)) for probits in ends])
    # A line along an axis is straight in probits too, a short one nearly so.
    bent = (moves.min(axis=0) > 0) & (moves.max(axis=0) > _SHORT)
    selected = np.append((bent[:, None] & (_STEPS > 0)) | (_STEPS == 0), True)
    pieces = []
    for rates in (false_alarm, miss):
        between = rates[:-1, None] + np.diff(rates)[:, None] * _STEPS
        pieces.append(_probit(np.append(between, rates[-1])[selected]))
    return pieces[0], pieces[1]


def det_figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `det_*` per trial set and attack model: the curves of all systems and of original
    speech."""
    styles = style.system_styles(data.results.systems)

    def read(name: str, record: VerificationRecord) -> Line | None:
        arrays = load(record, data.arrays, ("det_miss", "det_false_alarm"))
        eer = record.values(data.protocol.variant).get(data.protocol.eer)
        if arrays is None or eer is None or not math.isfinite(eer):
            return None
        band = tuple(arrays[of] for of in DET_BAND) if arrays.keys() >= set(DET_BAND) else ()
        curve = arrays["det_miss"], arrays["det_false_alarm"]
        line = Line(name, *curve, eer, caveat=record.caveat("eer"), band=band)
        return line if 0 <= line.marker <= 1 else None

    kaldi = " (Kaldi's)" if data.protocol.eer == "eer" else ""
    for page in condition_pages(data, read):
        panel = det_panel(page.items, styles, title=page.title)
        caption = (
            f"DET curves: {page.title}{page.part}. In brackets: EER as in tables{kaldi}, and the "
            "rate at which the curve's miss and false-alarm rates are equal, at its marker."
        )
        if any(c.fill for c in panel.curves):
            caption += " Bands: 95 % intervals of the miss rate, by the bootstrap over speakers."
        stem = style.file_stem("det", *page.key)
        yield Drawing(stem, caption, det_plot(panel), ("eer",), page.conditions)


def det_plot(panel: Panel, *, title: str = "") -> Plot:
    """Plot a single panel of DET curves."""
    return Plot(((panel,),), panel_height=3.4, width=5.9, title=title)


def _probit(rates: FloatArray) -> FloatArray:
    return np.asarray(np.clip(ndtri(np.clip(rates, 0, 1)), -_FAR, _FAR), dtype=np.float64)


# ECE profiles

#: x axis of a profile: prior log odds, or the prior itself.
Over = Literal["log odds", "prior"]

#: Labels of the axes.
LOG_ODDS_LABEL = r"prior log-odds $\log(\pi/(1-\pi))$"
ECE_LABEL = "empirical cross-entropy (bit)"

_ECE = ("prior_log_odds", "ece_minimum", "ece_zero_evidence")
_ZEBRA = ("zebra_population", "zebra_individual")
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


def ece_figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `ece_*` and `ece-prior_*` per trial set and attack model: the profiles of all systems
    and of original speech; and `ece_system_*` per system and split: the profiles of its
    conditions, a panel per attack model."""
    styles = style.system_styles(data.results.systems)
    overs: tuple[tuple[str, Over], ...] = (("ece", "log odds"), ("ece-prior", "prior"))
    for page in condition_pages(data, functools.partial(_profile, data)):
        looks = [styles[p.name] for p in page.items]
        for prefix, over in overs:
            yield Drawing(
                style.file_stem(prefix, *page.key),
                f"ZEBRA assessment with ECE profiles: {page.title}{page.part}. {_EXPLAINED}",
                Plot(((profile_panel(page.items, looks, over=over, title=page.title),),)),
                _ZEBRA,
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
                    _ZEBRA,
                    conditions,
                )


def _profile(data: ReportData, name: str, record: VerificationRecord) -> Profile | None:
    variant = data.protocol.variant
    arrays, values = load(record, data.arrays, _ECE), record.values(variant)
    if arrays is None or not set(_ZEBRA) <= values.keys():
        return None
    caveat = record.caveat("zebra_population")
    return profile_of(name, arrays, values, record.tag(variant), caveat)


def profile_of(
    name: str, arrays: Arrays, values: Mapping[str, float], tag: str | None, caveat: Caveat | None
) -> Profile:
    """Make a profile of stored arrays and of the metrics of the same scores."""
    log_odds, minimum, zero = (arrays[key] for key in _ECE)
    population, individual = (values[metric] for metric in _ZEBRA)
    tag = tag or IMPLAUSIBLE_MARK
    return Profile(name, log_odds, minimum, zero, population, individual, tag, caveat)


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


# Conventional plots

_CONVENTIONAL = (
    *("prior_log_odds", "ece_zero_evidence", "ece_minimum"),
    *("ece_actual", "dcf_minimum", "dcf_actual"),
)


def conventional_figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `conventional_*` per condition of a system: ECE, DCF, NECE, NBER."""
    seen = set()
    for record in data.results.verification:
        key, arrays = key_of(record), load(record, data.arrays, _CONVENTIONAL)
        system = record.condition.system
        if arrays is None or key is None or (system, *key) in seen:
            continue
        seen.add((system, *key))
        where = f"{system}, {key.title(data.protocol)}"
        caveat = record.caveat("eer")
        mark = "" if caveat is None else f" ({caveat.mark} {caveat.word})"
        yield Drawing(
            style.file_stem("conventional", system, *key),
            f"Cross-entropy (ECE), detection cost (APE plot), and both normalized: {where}. "
            "Actual: scores used as log-likelihood ratios, beyond the panel where they "
            "are badly calibrated; minimum: after optimal calibration.",
            conventional_plot(arrays, title=f"{where}{mark}"),
            ("eer",),
            (record.condition,),
        )


def conventional_plot(arrays: Arrays, *, title: str = "") -> Plot:
    """Plot ECE and detection cost (APE), and below both relative to those without evidence
    (NECE, NBER): of the scores as they are, after optimal calibration, and without evidence.

    Parameters
    ----------
    arrays : mapping
        The stored arrays of a record.
    """
    log_odds = arrays["prior_log_odds"]
    without = arrays["ece_zero_evidence"], np.minimum(expit(log_odds), expit(-log_odds))
    above, below = [], []
    for kind, default, label, normalized in (
        ("ece", without[0], ECE_LABEL, "normalized cross-entropy (NECE)"),
        ("dcf", without[1], "Bayes error rate", "normalized rate (NBER)"),
    ):
        actual, minimum = arrays[f"{kind}_actual"], arrays[f"{kind}_minimum"]
        above.append(_cost_panel(log_odds, default, actual, minimum, label))
        ones = np.ones(log_odds.size)
        below.append(_cost_panel(log_odds, ones, actual / default, minimum / default, normalized))
    return Plot((tuple(above), tuple(below)), legend="bottom", panel_height=1.9, title=title)


def _cost_panel(
    x: FloatArray, default: FloatArray, actual: FloatArray, minimum: FloatArray, y_label: str
) -> Panel:
    # Bad calibration is unbounded; the panel leaves room for the other two.
    top = float(np.clip(1.05 * actual.max(), 1.05 * default.max(), 1.8 * default.max()))
    limits = float(x[0]), float(x[-1])
    return Panel(
        (
            Curve(x, default, "without evidence", width=2.0),
            Curve(x, actual, "actual", colour="#D55E00"),
            Curve(x, minimum, "minimum", colour="#0072B2", line_style=(0, (4, 1.5))),
        ),
        LOG_ODDS_LABEL,
        y_label,
        limits,
        (0.0, top),
        title="" if actual.min() <= top else f"actual: {actual.min():.3g} and above",
        x_ticks=log_odds_ticks(*limits),
    )


# Linkability

_LINKABILITY = (
    *("linkability_edges", "linkability_target_mass", "linkability_nontarget_mass"),
    *("linkability_local", "density_scores", "density_target", "density_nontarget"),
)

#: Systems of a figure, a row each; more are split over several.
MOST_ROWS = 4

#: Label of the curve of D(s) and of its axis.
LOCAL = "local D(s)"

# Fraction of the scores of a class that may be outside on either side, so that outliers do not
# compress the rest.
_OUTSIDE = 5e-4


def linkability_panel(
    arrays: Arrays, value: float, title: str, caveat: Caveat | None = None
) -> Panel:
    """Draw histograms and kernel densities of both classes, local D(s) on the right.

    Parameters
    ----------
    arrays : mapping
        The stored arrays of a record; densities may be missing.
    value : float
        D_sys.
    caveat : Caveat, optional
        For which D_sys must be neither ranked nor graded.
    """
    number = f"{value:.3f}"
    text = f" = {number}$" if caveat is None else f"$: {marked_text(number, caveat)}"
    edges = arrays["linkability_edges"]
    curves, top = [], 0.0
    looks: tuple[tuple[str, str, style.LineStyle], ...] = (
        ("nontarget", "#D55E00", (0, (4, 1.5))),
        ("target", "#009E73", "-"),
    )
    for kind, colour, line in looks:
        height = arrays[f"linkability_{kind}_mass"] / np.diff(edges)
        curves.append(Curve(*_steps(edges, height), f"{kind}: histogram", colour=colour, fill=True))
        top = max(top, float(height.max()))
        density = arrays.get(f"density_{kind}")
        if density is not None:
            x = arrays["density_scores"]
            curves.append(Curve(x, density, f"{kind}: density", colour=colour, line_style=line))
            top = max(top, float(density.max()))
    curves.append(
        Curve(
            *_steps(edges, arrays["linkability_local"]),
            LOCAL,
            colour="#0058A3",
            line_style=(0, (1, 1)),
            width=1.4,
            right=True,
        )
    )
    return Panel(
        tuple(curves),
        "score",
        "density",
        _score_range(arrays),
        (0.0, 1.05 * top),
        title=title,
        title_math=rf": $D_\mathrm{{sys}}{text}",
    )


def linkability_figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `linkability_*` per trial set: systems in rows, the attack models side by side."""
    sets: dict[tuple[str, str, str], dict[str, dict[str, VerificationRecord]]] = {}
    for key, records, _ in conditions(data.results):
        for record in records:
            by_system = sets.setdefault(key[1:], {})
            by_system.setdefault(record.condition.system, {})[key.attack_model] = record
    for key_of_set, of_set in sets.items():
        title = set_title(data.protocol, *key_of_set)
        # Arrays are loaded page by page; here only whether a system has any.
        drawable = [
            s
            for s in data.results.systems
            if any(
                load(r, data.arrays, _LINKABILITY) is not None for r in of_set.get(s, {}).values()
            )
        ]
        for page, number, part in style.numbered_pages(drawable, MOST_ROWS):
            rows = [_row(system, of_set[system], data) for system in page]
            used = [j for j, column in enumerate(zip(*rows, strict=True)) if any(column)]
            yield Drawing(
                style.file_stem("linkability", *key_of_set, *number),
                f"Linkability: {title}{part}. Densities of target and nontarget scores; the local "
                "linkability D(s) on the axis on the right.",
                Plot(
                    tuple(tuple(row[j] for j in used) for row in rows),
                    legend="bottom",
                    panel_height=1.35,
                    title=title,
                ),
                ("linkability",),
                [r.condition for system in page for r in of_set[system].values()],
            )


def _row(
    system: str, by_attack: Mapping[str, VerificationRecord], data: ReportData
) -> list[Panel | None]:
    """Panels by attack model: the system's name left of the first, the label of D(s) right of
    the last."""
    panels: dict[str, Panel] = {}
    for attack in data.protocol.attack_models:
        record = by_attack.get(attack.id)
        arrays = None if record is None else load(record, data.arrays, _LINKABILITY)
        if record is not None and arrays is not None:
            caveat = record.caveat("linkability", data.protocol.variant)
            value = record.values(data.protocol.variant)["linkability"]
            panel = linkability_panel(arrays, value, attack.title, caveat)
            panels[attack.id] = replace(panel, y_label="") if panels else panel
    if panels:
        first, last = next(iter(panels)), list(panels)[-1]
        panels[first] = replace(panels[first], side_title=system)
        panels[last] = replace(panels[last], right_label=LOCAL)
    return [panels.get(attack.id) for attack in data.protocol.attack_models]


def _steps(edges: FloatArray, height: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corners of a histogram."""
    return np.repeat(edges, 2)[1:-1], np.repeat(height, 2)


def _score_range(arrays: Arrays) -> tuple[float, float]:
    """Range of nearly all scores of both classes."""
    edges = arrays["linkability_edges"]
    lows, highs = [], []
    for kind in ("target", "nontarget"):
        fraction = np.cumsum(arrays[f"linkability_{kind}_mass"])
        lows.append(int(np.argmax(fraction > _OUTSIDE)))
        highs.append(int(np.argmax(fraction >= 1 - _OUTSIDE)) + 1)
    return float(edges[min(lows)]), float(edges[max(highs)])
