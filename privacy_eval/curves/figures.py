"""Figures of curves of all conditions, from stored arrays: DET curves, ECE profiles and linkability
(see `report.figures.panels`), and the conventional plots of the ZEBRA toolkit: cross-entropy (ECE)
and detection cost (APE plot), and both normalized (NECE, NBER).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from scipy.special import expit

from ..metrics.pav import FloatArray
from ..numbers.cells import ORIGINAL_ATTACK, ORIGINAL_COLUMN
from ..numbers.report_data import ReportData
from ..protocol.protocol import Protocol
from ..report.figures import panels, style
from ..report.figures.drawing import Drawing
from ..report.figures.plot import Curve, Panel, Plot, in_pairs
from ..results.arrays import DET_BAND, Arrays, StoredArrays
from ..results.records import Record, Results
from ..tree.conditions import Condition

Item = TypeVar("Item", bound="panels.Line | panels.Profile")


@dataclass(frozen=True)
class Page(Generic[Item]):
    """Content of a figure of a condition.

    Attributes
    ----------
    items : list
        Those of at most `style.MOST_SYSTEMS` systems, then that of original speech.
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
        return f"{protocol.title_of_set(*self[1:])}, {attack}"


def key_of(record: Record) -> Key | None:
    """The trial set and attack model of a record; None without an attack model."""
    c = record.condition
    if c.attack_model is None:
        return None
    attack = ORIGINAL_ATTACK if c.is_original else c.attack_model
    return Key(attack, c.data_set, c.split, c.gender)


def conditions(
    results: Results,
) -> Iterator[tuple[Key, list[Record], list[Record]]]:
    """Yield every trial set under every attack model, in the order of the protocol, with its
    records, one per system, and those of original speech; of duplicates the first."""
    records: dict[Key, dict[str, Record]] = {}
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


def load(record: Record, arrays: StoredArrays, names: Iterable[str]) -> Arrays | None:
    """Load the arrays of a record; None if any of these is missing."""
    plotted = arrays.plotted(record)
    return plotted if plotted is not None and set(names) <= plotted.keys() else None


def condition_pages(
    data: ReportData, read: Callable[[str, Record], Item | None]
) -> Iterator[Page[Item]]:
    """Yield pages of figures with all systems and original speech, per trial set and attack model.

    Parameters
    ----------
    read : callable
        Makes an item from a name and a record; None if it has no data.
    """

    def items(records: Iterable[Record], name: str = "") -> Iterator[tuple[Item, Condition]]:
        for r in records:
            item = read(name or r.condition.system, r)
            if item is not None:
                yield item, r.condition

    for key, records, originals in conditions(data.results):
        ordered = sorted(items(records), key=lambda pair: pair[0].rank)
        original = [*itertools.islice(items(originals, ORIGINAL_COLUMN), 1)] if ordered else []
        title = key.title(data.protocol)
        for page, number, part in style.numbered_pages(ordered, style.MOST_SYSTEMS):
            drawn, of = zip(*page, *original, strict=True)
            yield Page([*drawn], [*of], (*key, *number), title, part)


def det_figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `det_*` per trial set and attack model: the curves of all systems and of original
    speech."""
    styles = style.system_styles(data.results.systems)

    def read(name: str, record: Record) -> panels.Line | None:
        arrays = load(record, data.arrays, ("det_miss", "det_false_alarm"))
        eer = record.values(data.protocol.variant).get(data.protocol.eer)
        if arrays is None or eer is None or not math.isfinite(eer):
            return None
        band = tuple(arrays[of] for of in DET_BAND) if arrays.keys() >= set(DET_BAND) else ()
        curve = arrays["det_miss"], arrays["det_false_alarm"]
        line = panels.Line(name, *curve, eer, caveat=record.caveat("eer"), band=band)
        return line if 0 <= line.marker <= 1 else None

    kaldi = " (Kaldi's)" if data.protocol.eer == "eer" else ""
    for page in condition_pages(data, read):
        panel = panels.det_panel(page.items, styles, title=page.title)
        caption = (
            f"DET curves: {page.title}{page.part}. In brackets: the EER as in tables{kaldi}, then "
            "the curve's EER, at its marker."
        )
        if any(c.fill for c in panel.curves):
            caption += " Bands: 95 % intervals of the miss rate, by the bootstrap over speakers."
        stem = style.file_stem("det", *page.key)
        yield Drawing(stem, caption, panels.det_plot(panel), ("eer",), page.conditions)


def ece_figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `ece_*` and `ece-prior_*` per trial set and attack model: the profiles of all systems
    and of original speech; and `ece_system_*` per system and split: the profiles of its
    conditions, a panel per attack model."""
    styles = style.system_styles(data.results.systems)
    overs: tuple[tuple[str, panels.Over], ...] = (("ece", "log odds"), ("ece-prior", "prior"))
    for page in condition_pages(data, functools.partial(_profile, data)):
        looks = [styles[p.name] for p in page.items]
        for prefix, over in overs:
            yield Drawing(
                style.file_stem(prefix, *page.key),
                f"ZEBRA assessment with ECE profiles: {page.title}{page.part}. {_EXPLAINED}",
                Plot(((panels.profile_panel(page.items, looks, over=over, title=page.title),),)),
                panels.ZEBRA,
                page.conditions,
                default=prefix == "ece",
            )
    yield from _system_profiles(data)


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
            drawn, conditions = [], []
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
                    drawn.append(panels.profile_panel(profiles, looks, title=attack.title))
            if drawn:
                title = f"{system}, {protocol.split_title(split)}"
                yield Drawing(
                    style.file_stem("ece", "system", system, split),
                    f"ZEBRA assessment with ECE profiles: system {title}. {_EXPLAINED}",
                    Plot(in_pairs(drawn), legend="below", panel_height=2.2, title=title),
                    panels.ZEBRA,
                    conditions,
                )


def _profile(data: ReportData, name: str, record: Record) -> panels.Profile | None:
    variant = data.protocol.variant
    arrays, values = load(record, data.arrays, panels.ECE), record.values(variant)
    if arrays is None or not set(panels.ZEBRA) <= values.keys():
        return None
    caveat = record.caveat("zebra_population")
    return panels.profile_of(name, arrays, values, record.tag(variant), caveat)


_EXPLAINED = (
    "In brackets: expected disclosure (bit), worst-case disclosure (log10 LR), its category; "
    "black: full privacy."
)


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
        ("ece", without[0], panels.ECE_LABEL, "normalized cross-entropy (NECE)"),
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
        panels.LOG_ODDS_LABEL,
        y_label,
        limits,
        (0.0, top),
        title="" if actual.min() <= top else f"actual: {actual.min():.3g} and above",
        x_ticks=panels.log_odds_ticks(*limits),
    )


_LINKABILITY = (
    *("linkability_edges", "linkability_target_mass", "linkability_nontarget_mass"),
    *("linkability_local", "density_scores", "density_target", "density_nontarget"),
)


#: Systems of a figure, a row each; more are split over several.
MOST_ROWS = 4


def linkability_figures(data: ReportData) -> Iterator[Drawing]:
    """Yield `linkability_*` per trial set: systems in rows, the attack models side by side."""
    sets: dict[tuple[str, str, str], dict[str, dict[str, Record]]] = {}
    for key, records, _ in conditions(data.results):
        for record in records:
            by_system = sets.setdefault(key[1:], {})
            by_system.setdefault(record.condition.system, {})[key.attack_model] = record
    for key_of_set, of_set in sets.items():
        title = data.protocol.title_of_set(*key_of_set)
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


def _row(system: str, by_attack: Mapping[str, Record], data: ReportData) -> list[Panel | None]:
    """Panels by attack model: the system's name left of the first, the label of D(s) right of
    the last."""
    drawn: dict[str, Panel] = {}
    for attack in data.protocol.attack_models:
        record = by_attack.get(attack.id)
        arrays = None if record is None else load(record, data.arrays, _LINKABILITY)
        if record is not None and arrays is not None:
            caveat = record.caveat("linkability", data.protocol.variant)
            value = record.values(data.protocol.variant)["linkability"]
            panel = panels.linkability_panel(arrays, value, attack.title, caveat)
            drawn[attack.id] = replace(panel, y_label="") if drawn else panel
    if drawn:
        first, last = next(iter(drawn)), list(drawn)[-1]
        drawn[first] = replace(drawn[first], side_title=system)
        drawn[last] = replace(drawn[last], right_label=panels.LOCAL)
    return [drawn.get(attack.id) for attack in data.protocol.attack_models]
