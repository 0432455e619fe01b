"""All score metrics of one set of trials, and what is known about each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .cllr import cllr, min_cllr
from .detection import min_dcf
from .eer import kaldi_eer, rocch_eer
from .linkability import linkability
from .trial_scores import TrialScores, Variant
from .zebra import (
    categorical_tag,
    individual_disclosure,
    population_disclosure,
)


@dataclass(frozen=True)
class MetricInfo:
    """What tables and files need to know of a metric.

    Attributes
    ----------
    key : str
        Its name in records and JSON.
    unit : str
        Unit of the stored value.
    more_private : str or None
        "higher" or "lower"; None of actual Cllr, which is as large of scores that are badly
        calibrated.
    largest : float
        No value is above it, and none below 0.
    """

    key: str
    unit: str
    more_private: str | None
    largest: float = math.inf


#: Every score metric, in the order of the outputs.
METRICS: Mapping[str, MetricInfo] = MappingProxyType(
    {
        info.key: info
        for info in (
            MetricInfo("eer", "fraction", "higher", 1),
            MetricInfo("cllr_min", "bit", "higher", 1),
            MetricInfo("cllr", "bit", None),
            MetricInfo("rocch_eer", "fraction", "higher", 1),
            MetricInfo("linkability", "fraction", "lower", 1),
            MetricInfo("zebra_population", "bit", "lower", 0.5 / math.log(2)),
            MetricInfo("zebra_individual", "log10 LR", "lower"),
            MetricInfo("min_dcf_0.01", "normalised cost", "higher", 1),
            MetricInfo("min_dcf_0.001", "normalised cost", "higher", 1),
        )
    }
)

#: The priors at which the challenge reports min DCF.
P_TARGETS = (0.01, 0.001)


def score_metrics(scores: TrialScores, *, variant: Variant = "exact") -> dict[str, float]:
    """Value of every metric in `METRICS`; rates are fractions, `cllr` may be inf in
    `challenge`. `eer` is Kaldi's in both variants.

    Examples
    --------
    >>> values = score_metrics(TrialScores([1.0, 3.0], [0.0, 2.0]))
    >>> values["eer"], values["rocch_eer"]
    (0.5, 0.25)
    """
    values = {
        "eer": kaldi_eer(scores).value,
        "cllr_min": min_cllr(scores, variant=variant).value,
        "cllr": cllr(scores, variant=variant).value,
        "rocch_eer": rocch_eer(scores, variant=variant).value,
        "linkability": linkability(scores, variant=variant).value,
        "zebra_population": population_disclosure(scores, variant=variant),
        "zebra_individual": individual_disclosure(scores, variant=variant),
    }
    for p_target in P_TARGETS:
        cost = min_dcf(scores, p_target=p_target, variant=variant)
        values[f"min_dcf_{p_target:g}"] = cost.value
    return values


def zebra_tag(values: Mapping[str, float], variant: Variant) -> str:
    """The categorical tag that goes with `zebra_individual`."""
    return categorical_tag(values["zebra_individual"], variant=variant)
