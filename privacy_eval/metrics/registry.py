"""Registry of metrics: name, unit, direction, range and format of each.

Records, tables, figures, CSV and JSON read it: a new metric is its function and one entry.
"""

from __future__ import annotations

import contextlib
import decimal
import functools
import math
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import PrivacyEvalError
from ..wings import of_wings, owner, referred
from .detection import det_curve, effective_prior, min_dcf, miss_rate
from .eer import eer_percent, kaldi_eer, rocch_eer, speechbrain_eer
from .linkability import densities, linkability
from .llr import (
    categorical_tag,
    cllr,
    dcf_profile,
    ece_profile,
    individual_disclosure,
    min_cllr,
    population_disclosure,
    zebra_number,
)
from .pav import FloatArray
from .similarity import VoiceSimilarity
from .trial_scores import VARIANTS, Replicates, TrialScores, Variant, check_scores

#: Input of a metric: `matrices` are a `VoiceSimilarity`; `utility` is read from
#: the files of recognizers and other tools, `emotion` of classifiers of emotions; `measures`
#: are means over utterances of what was predicted or recognized of their speech.
Kind = Literal["scores", "utility", "emotion", "measures", "matrices"]

SUBJECTIVE = "subjective_"

#: Printed instead of an interval without width.
NO_WIDTH = "[n/a]"
NO_WIDTH_NOTE = f"{NO_WIDTH}: no interval, as the value is equal in all bootstrap replicates"

_ROUNDING = decimal.Context(rounding=decimal.ROUND_HALF_UP)

#: Fields of a ratio of counts that is in no table of several systems.
_RATIO: dict[str, Any] = {"counted": True, "decimals": 2, "detail": 2, "compared": False}


class Label(NamedTuple):
    """A title in plain text, and in LaTeX if that differs."""

    title: str
    latex: str | None = None


@dataclass(frozen=True)
class MetricDescription:
    """What a results file says of a metric, enough to check and print its values.

    Attributes
    ----------
    kind, unit, name, title, meaning, best, range, percent, counted, decimals, repeats_matter, \
    chance
        As of `Metric`.
    detail : int
        Number of decimals in tables of one system.
    """

    kind: Kind
    unit: str
    name: str
    title: str = ""
    meaning: str = ""
    best: Literal["higher", "lower"] | None = None
    range: tuple[float, ...] = (0, math.inf)
    percent: bool = False
    counted: bool = False
    decimals: int = 3
    detail: int = 3
    repeats_matter: bool = False
    chance: str = ""

    def metric(self, key: str) -> Metric:
        """Make the entry of a metric that can be printed but not computed.

        Parameters
        ----------
        key : str

        Returns
        -------
        Metric
        """
        return Metric(key=key, **vars(self))


@dataclass(frozen=True)
class Metric(MetricDescription):
    """Function, name, unit, direction, range and format of a metric.

    Attributes
    ----------
    key : str
        Its name in records, JSON and CSV.
    kind : Kind
    unit : str
        Unit of stored values.
    name : str
        Within a sentence.
    meaning : str
        Meaning of a value in words, without a period.
    source : str
        Paper or program that defines it.
    function : callable or None
        Of `TrialScores` and the keyword `variant`, or of a `VoiceSimilarity`.
    at_once : bool
        The function also takes `Replicates`, all at once, and returns an array of shape (R,).
    best : "higher", "lower" or None
        The better values: of more privacy, of more utility. None of metrics that systems are
        not ranked by.
    range : (float, float)
    title : str
        At the beginning of a sentence; default: `name`.
    column_label, heading_label : Label
        Titles above a column, and above a block of rows, with the unit; by default from
        `title`.
    axis_label : str
        Title of an axis, in mathtext.
    percent : bool
        Stored as a fraction, printed in percent.
    counted : bool
        A ratio of two counts.
    decimals : int
        In tables of several systems.
    detail : int
        Decimals in the tables of one system.
    detailed : callable or None
        Formats the value there in another way.
    line : str
        Line of results.txt, with the key in braces; a line may contain another metric, too.
    line_number : callable
        Prints the value in that line.
    compared : bool
        Has a table of several systems.
    tabled : bool
        Appears in the tables of one system, of whatever protocol.
    strongest : bool
        The strongest attack model is named by it, too, if it has a best value.
    repeats_matter : bool
        Repeated trials of a bootstrap replicate bias it towards less privacy.
    chance : str
        Value of what has no information, as printed, with its conditions: of scores that do not
        depend on the speaker, of words or emotions that do not depend on the speech.
    curves : callable or None
        Of `TrialScores`: named arrays that figures are drawn from, of some kB however many trials
        there are.
    in_variants : bool
        The variants may differ in it.
    """

    key: str = ""
    function: Callable[..., Any] | None = None
    at_once: bool = False
    source: str = ""
    column_label: Label | None = None
    heading_label: Label | None = None
    axis_label: str = ""
    detailed: Callable[[float], str] | None = None
    line: str = ""
    line_number: Callable[[float], str] = "{:.3f}".format
    compared: bool = True
    tabled: bool = True
    strongest: bool = True
    curves: Callable[[TrialScores], dict[str, FloatArray]] | None = None
    in_variants: bool = True

    @property
    def sentence(self) -> str:
        """Title at the beginning of a sentence."""
        return self.title or self.name

    @property
    def column(self) -> Label:
        """Title above a column."""
        return self.column_label or Label(self.sentence + (", %" if self.percent else ""))

    @property
    def heading(self) -> Label:
        """Title above a block of rows."""
        return self.heading_label or Label(self.column.title)

    @property
    def axis(self) -> str:
        """Title of an axis."""
        return self.axis_label or self.heading.latex or self.heading.title

    @property
    def direction(self) -> str:
        """Direction of better values, such as "higher is more private"; "" without one."""
        if self.best is None:
            return ""
        of = "private" if self.kind in ("scores", "matrices") else "useful"
        return f"{self.best} is more {'distinctive' if self.key == 'gvd_db' else of}"

    @property
    def explanation(self) -> str:
        """Meaning, direction and value by chance of the metric, a sentence each; "" if unknown."""
        texts = (self.meaning, self.direction, self.chance and f"by chance {self.chance}")
        first, *others = "; ".join(filter(None, texts)).split("; ")
        said = (f"{self.sentence}: {first}", *(text[:1].upper() + text[1:] for text in others))
        return f"{'. '.join(said)}." if self.meaning else ""

    @property
    def description(self) -> MetricDescription:
        """What results files say of the metric."""
        values = {f.name: getattr(self, f.name) for f in fields(MetricDescription)}
        return MetricDescription(**{**values, "title": self.sentence})

    @property
    def printed_unit(self) -> str:
        """Unit of printed values; "" of those without dimension."""
        return "%" if self.percent else self.unit if self.unit in ("bit", "dB", "log10 LR") else ""

    def printed(self, value: float) -> float:
        """Convert a stored value to the unit that is printed.

        Parameters
        ----------
        value : float

        Returns
        -------
        float
            In percent if the metric is printed so.
        """
        return 100 * value if self.percent else value

    def format(
        self,
        value: float,
        *,
        detailed: bool = False,
        decimals: int | None = None,
        mean: bool = False,
    ) -> str:
        """Format a stored value for tables of several systems, or `detailed` of one.

        Ratios of counts and means are rounded as decimals, half-way cases up; other values, as
        the challenges' scripts do, as the binary numbers that they are.

        Parameters
        ----------
        value : float
        detailed : bool
            As in the tables of one system.
        decimals : int, optional
            Instead of the metric's.
        mean : bool
            An average of several values.

        Returns
        -------
        str
            Without the unit.

        Examples
        --------
        >>> METRICS["eer"].format(0.086648), METRICS["eer"].format(0.086648, detailed=True)
        ('8.66', '8.665')
        >>> METRICS["eer"].format(17 / 160), METRICS["eer"].format(-0.00001)
        ('10.63', '0.00')
        """
        if detailed and decimals is None and self.detailed:
            return self.detailed(value)
        form = decimals if decimals is not None else self.detail if detailed else self.decimals
        if not (self.counted or mean) or not math.isfinite(value):
            return _unsigned_zero(f"{self.printed(value):.{form}f}")
        # repr gives back 0.10625 of 17/160: a half-way case of decimals, which goes up. The binary
        # number is a little less or more.
        with decimal.localcontext(_ROUNDING):
            scaled = Decimal(repr(float(value))).scaleb(2 if self.percent else 0)
            return _unsigned_zero(f"{scaled:.{form}f}")

    def interval(
        self,
        bounds: Sequence[float] | None,
        *,
        detailed: bool = False,
        decimals: int | None = None,
    ) -> str:
        """Format the bounds of an interval as `format` does values; "" for none, and `NO_WIDTH` for
        equal ones, which draws that do not vary give: the uncertainty is unknown."""
        if bounds is None:
            return ""
        low, high = bounds
        if low == high:
            return NO_WIDTH
        texts = (self.format(x, detailed=detailed, decimals=decimals) for x in (low, high))
        return f"[{', '.join(texts)}]"


def _unsigned_zero(text: str) -> str:
    return text if text.strip("-0.") else text.removeprefix("-")


def _linkability_arrays(scores: TrialScores) -> dict[str, FloatArray]:
    names, found = ("edges", "target_mass", "nontarget_mass", "local"), linkability(scores)
    masses = {f"linkability_{name}": getattr(found, name) for name in names}
    return masses | {f"density_{name}": values for name, values in densities(scores).items()}


def _ece_arrays(scores: TrialScores) -> dict[str, FloatArray]:
    profile = ece_profile(scores)
    return {"prior_log_odds": profile.pop("prior_log_odds")} | {
        f"ece_{name}": values for name, values in profile.items()
    }


def _det_arrays(scores: TrialScores) -> dict[str, FloatArray]:
    return dict(zip(("det_miss", "det_false_alarm"), det_curve(scores), strict=True))


def _dcf_arrays(scores: TrialScores) -> dict[str, FloatArray]:
    profile = dcf_profile(scores)
    return {f"dcf_{name}": profile[name] for name in ("minimum", "actual")}


def _of_scores(
    key: str, unit: str, name: str, function: Callable[..., Any], **fields: Any
) -> Metric:
    """Make the entry of a metric on scores, one set or replicates; the function returns the value,
    or a result that has it."""

    def value(scores: TrialScores | Replicates, *, variant: Variant) -> Any:
        result = function(scores, variant=variant)
        return getattr(result, "value", result)

    return Metric("scores", unit, name, key=key, function=value, at_once=True, **fields)


def _error_rate(key: str, name: str, function: Callable[..., Any], **fields: Any) -> Metric:
    """Make the entry of a rate of the attacker's errors."""
    fields = {"best": "higher", "range": (0, 1), "percent": True, "chance": "50 %", **fields}
    return _of_scores(key, "fraction", name, function, **fields)


def min_dcf_metric(p_target: float, c_miss: float = 1, c_fa: float = 1) -> Metric:
    """Make the entry of the minimum detection cost at an operating point.

    Parameters
    ----------
    p_target, c_miss, c_fa : float
        See `effective_prior`.

    Returns
    -------
    Metric
        Its key is such as `min_dcf_0.05`, with other costs than 1 such as `min_dcf_0.05_10_1`.

    Raises
    ------
    ValueError
        A value out of range.

    Examples
    --------
    >>> min_dcf_metric(0.05).key, min_dcf_metric(0.05, c_miss=10).name
    ('min_dcf_0.05', 'min DCF at 0.05, costs 10 and 1')
    """
    effective_prior(p_target, c_miss, c_fa)  # an error of what is out of range
    cost_key, costs = "", ""
    if (c_miss, c_fa) != (1, 1):
        cost_key, costs = f"_{c_miss:g}_{c_fa:g}", f", costs {c_miss:g} and {c_fa:g}"
    return _of_scores(
        f"min_dcf_{p_target:g}{cost_key}",
        "normalized cost",
        f"min DCF at {p_target:g}{costs}",
        functools.partial(min_dcf, p_target=p_target, c_miss=c_miss, c_fa=c_fa),
        meaning=f"lowest cost of decisions where {100 * p_target:g} % of trials are targets"
        f"{costs and f' and a miss and a false alarm cost {c_miss:g} and {c_fa:g}'}",
        chance="1",
        source="NIST speaker recognition evaluations",
        best="higher",
        range=(0, 1),
        title=f"Minimum detection cost at {p_target:g}{costs}",
        column_label=Label(f"min DCF {p_target:g}{costs}", f"min DCF$_{{{p_target:g}}}${costs}"),
        heading_label=Label(f"min DCF at {p_target:g}{costs}"),
        detail=4,
        strongest=False,
        compared=False,
    )


def _miss_rate(false_alarm: float) -> Metric:
    percent = f"{100 * false_alarm:g} %"
    return _error_rate(
        f"miss_at_fa_{false_alarm:g}",
        f"miss rate at {percent} false alarms",
        lambda scores, *, variant: miss_rate(scores, false_alarm=false_alarm),
        meaning=f"share of targets missed where {percent} of nontargets are accepted",
        chance=f"{100 - 100 * false_alarm:g} %",
        source="NIST speaker recognition evaluations",
        title=f"Miss rate at {percent} false alarms",
        column_label=Label(f"Miss at {percent} FA, %"),
        heading_label=Label(f"Miss rate at {percent} false alarms, %"),
        in_variants=False,
        **_RATIO,
    )


def _dnsmos(key: str, of: str, scale: str, noise: float, silence: float) -> Metric:
    return Metric(
        "measures",
        "opinion score",
        f"DNSMOS {key.upper()}",
        key=f"dnsmos_{key}",
        meaning=f"opinion of the {of} quality ({scale}, 1 to 5) that a network predicts; it "
        "may be higher of synthetic than of real voices, and lower of soft speech",
        chance=f"{noise} of noise, {silence} of silence",
        source="Reddy et al. 2021" if scale == "P.808" else "Reddy et al. 2022",
        best="higher",
        range=(0, 6),
        compared=False,
        decimals=2,
        detail=3,
    )


def _recognition_errors(kind: Kind, key: str, name: str, **fields: Any) -> Metric:
    fields = {"best": "lower", "percent": True, **_RATIO, **fields}
    return Metric(kind, "fraction", name, key=key, **fields)


def _phone_errors(key: str, name: str, reference: str) -> Metric:
    return _recognition_errors(
        "measures",
        key,
        name,
        meaning=f"errors of a phone recognizer per phone {reference}",
        chance="90 % or more",
        source="hama 1.7.0",
        title=name.replace("PER", "Phone error rate"),
        column_label=Label(f"{name}, %"),
    )


def _recall(key: str, name: str, column: str, **fields: Any) -> Metric:
    fields = {"source": "VoicePrivacy 2024", "range": (0, 1), "compared": False, **fields}
    fields |= {"percent": True, "detail": 4, "column_label": Label(f"{column}, %")}
    return Metric("emotion", "fraction", name, key=key, **fields)


def _pitch(of: str, name: str, meaning: str, column: Label, **fields: Any) -> Metric:
    fields = {"range": (-1, 1), "source": "VoicePrivacy 2022", "compared": False, **fields}
    fields |= {"meaning": meaning, "column_label": column}
    return Metric("utility", "correlation", name, key=f"pitch_correlation_{of}", **fields)


def _of_matrices(key: str, unit: str, name: str, attribute: str, **fields: Any) -> Metric:
    """Make the entry of an attribute of `VoiceSimilarity`."""
    function = operator.attrgetter(attribute)
    fields = {"function": function, "source": "Noé et al. 2020", **fields}
    return Metric("matrices", unit, name, key=key, **fields)


def _d_diag(matrix: str) -> Metric:
    return _of_matrices(
        f"d_diag_{matrix}",
        "difference of similarities",
        f"diagonal dominance of {matrix}",
        f"{matrix}.d_diag",
        meaning=f"how far the diagonal of the similarity matrix {matrix} exceeds the rest",
        column_label=Label(f"D_diag {matrix}", rf"$D_\mathrm{{diag}}(M_\mathrm{{{matrix}}})$"),
        chance="0, more with few speakers",
        range=(0, 1),
        compared=False,
        tabled=False,
    )


_C_LLR = r"$C_\mathrm{llr}$"
_C_LLR_MIN = r"$C_\mathrm{llr}^{\min}$"
_G_VD = r"$G_\mathrm{VD}$"
_DISCLOSURE = "ZEBRA: {} privacy disclosure ({}), "
_ZEBRA: dict[str, Any] = {
    **{"source": "Nautsch et al. 2020", "best": "lower", "repeats_matter": True},
    **{"detailed": zebra_number, "line_number": zebra_number},
}

#: Every metric by its key, in the order of the outputs.
METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in (
        _error_rate(
            "eer",
            "EER",
            lambda scores, *, variant: kaldi_eer(scores),
            meaning="error rate where miss and false-alarm rates are equal",
            source="Kaldi, compute-eer",
            counted=True,
            decimals=2,
            in_variants=False,
            line="EER: {eer}%",
            line_number=eer_percent,
            curves=_det_arrays,
        ),
        _error_rate(
            "eer_speechbrain",
            "EER (SpeechBrain)",
            lambda scores, *, variant: speechbrain_eer(scores),
            meaning="mean of miss and false-alarm rates at the lowest threshold where they differ "
            "least, of all scores and the midpoints between neighbouring ones",
            source="SpeechBrain, EER",
            counted=True,
            decimals=2,
            line="EER (SpeechBrain): {eer_speechbrain}%",
            line_number=lambda value: f"{100 * value:.3f}",
            strongest=False,
            compared=False,
            tabled=False,
            in_variants=False,
        ),
        _of_scores(
            "cllr_min",
            "bit",
            "min Cllr",
            min_cllr,
            meaning="uncertainty about the speaker after ideal calibration; 1 bit is complete",
            chance="1 bit, less with few trials",
            source="Brümmer and du Preez 2006",
            best="higher",
            range=(0, 1),
            column_label=Label("min Cllr", _C_LLR_MIN),
            heading_label=Label("min Cllr, bit", f"{_C_LLR_MIN}, bit"),
            axis_label=r"$C_\mathrm{llr}^\mathrm{min}$, bit",
            strongest=False,
            line="Cllr (min/act): {cllr_min}/{cllr}",
            repeats_matter=True,
        ),
        # Miscalibrated scores have a large Cllr, however informative they are: no value is best.
        _of_scores(
            "cllr",
            "bit",
            "Cllr",
            cllr,
            meaning="the same without calibration, of natural-log LLRs; above 1 bit they mislead",
            chance="1 bit, more if not calibrated",
            source="Brümmer and du Preez 2006",
            column_label=Label("Cllr", _C_LLR),
            heading_label=Label("Cllr, bit", f"{_C_LLR}, bit"),
            decimals=1,
            curves=_dcf_arrays,
        ),
        _error_rate(
            "rocch_eer",
            "ROCCH-EER",
            rocch_eer,
            meaning="EER on the convex hull of the ROC curve, never above the EER",
            chance="50 %, less with few trials",
            source="Brümmer and de Villiers 2013",
            line="ROCCH-EER: {rocch_eer}%",
            line_number=lambda value: f"{100 * value:.3f}",
            strongest=False,
            compared=False,
            repeats_matter=True,
        ),
        _of_scores(
            "linkability",
            "fraction",
            "linkability",
            linkability,
            meaning="separation of target and nontarget scores, over all scores; 1 is complete",
            chance="0.06 up to 1000 targets, less with more",
            source="Gomez-Barrero et al. 2018, Maouche et al. 2020",
            best="lower",
            range=(0, 1),
            title="Linkability",
            column_label=Label("Linkability", r"$D_{\leftrightarrow}^{\mathrm{sys}}$"),
            line="linkability: {linkability}",
            line_number="{:f}".format,
            repeats_matter=True,
            curves=_linkability_arrays,
        ),
        _of_scores(
            "zebra_population",
            "bit",
            "expected privacy disclosure",
            population_disclosure,
            meaning="information that scores disclose on average over priors; 0.721 bit is all",
            chance="0 bit, more with few trials",
            range=(0, 0.5 / math.log(2)),
            title="Expected privacy disclosure (population)",
            column_label=Label("Population, bit", r"$D_\mathrm{ECE}$, bit"),
            heading_label=Label(_DISCLOSURE.format("expected", "population") + "bit"),
            axis_label="Population disclosure, bit",
            line="Population: {zebra_population} bit",
            curves=_ece_arrays,
            **_ZEBRA,
        ),
        _of_scores(
            "zebra_individual",
            "log10 LR",
            "worst-case privacy disclosure",
            individual_disclosure,
            meaning="strongest evidence that the attacker obtains in any trial",
            chance="0.4 log10 LR (median), however many the trials",
            title="Worst-case privacy disclosure (individual)",
            column_label=Label("Individual, log10 LR", r"$\log_{10}(l)$"),
            heading_label=Label(
                _DISCLOSURE.format("worst-case", "individual") + "log10 LR",
                _DISCLOSURE.format("worst-case", "individual") + r"$\log_{10}$ LR",
            ),
            axis_label=r"Individual disclosure, $\log_{10}$ LR",
            strongest=False,
            line="Individual: {zebra_individual} ({tag})",
            **_ZEBRA,
        ),
        min_dcf_metric(0.01),
        min_dcf_metric(0.001),
        _miss_rate(0.01),
        _miss_rate(0.001),
        _recognition_errors(
            "utility",
            "wer",
            "WER",
            meaning="word errors of a recognizer per spoken word",
            chance="100 % or more",
            source="Levenshtein 1966",
        ),
        _recall(
            "uar",
            "UAR",
            "UAR",
            meaning="mean recall of four emotions by a classifier",
            chance="25 %",
            best="higher",
            title="Unweighted average recall of emotions",
            decimals=2,
        ),
        *(
            _recall(
                f"acc_{emotion}",
                f"recall of {emotion}",
                emotion,
                meaning=f"recall of the emotion {emotion} by a classifier",
                chance="25 %, on average of four emotions",
            )
            for emotion in ("ang", "hap", "neu", "sad")
        ),
        _dnsmos("ovrl", "overall", "P.835", 1.1, 1.8),
        _dnsmos("sig", "speech", "P.835", 1.2, 2.5),
        _dnsmos("bak", "background", "P.835", 1.1, 3.5),
        _dnsmos("p808", "overall", "P.808", 2.1, 2.1),
        Metric(
            "measures",
            "dB",
            "speech level",
            key="level_db",
            meaning="root mean square of the samples relative to full scale",
            source="definition",
            range=(-100, 100),
            title="Speech level",
            compared=False,
            decimals=1,
            detail=1,
        ),
        _phone_errors("per", "PER", "of the pronunciation of the transcript"),
        _phone_errors(
            "per_original", "PER to original speech", "that a recognizer hears in original speech"
        ),
        _pitch(
            "mean",
            "pitch correlation",
            "correlation of the pitch of original and anonymized speech",
            Label("Pitch corr.", "Pitch"),
            best="higher",
            title="Pitch correlation",
            chance="0.25 of other speakers' speech, 0.36 of a synthetic voice",
        ),
        _pitch(
            "std",
            "standard deviation of the pitch correlation",
            "spread of that correlation among utterances",
            Label("Pitch std.", "Std."),
            range=(0, 1),
        ),
        _pitch(
            "chance",
            "pitch correlation by chance",
            "the same of mismatched pairs, an utterance and others of the set",
            Label("Pitch by chance", "Chance"),
        ),
        _of_matrices(
            "deid",
            "fraction",
            "de-identification (DeID)",
            "deid",
            meaning="loss of similarity of anonymized speech to its speaker; 100 % is complete",
            chance="100 %, less with few speakers",
            best="higher",
            range=(-math.inf, 1),
            title="De-identification (DeID)",
            column_label=Label("DeID, %"),
            heading_label=Label("De-identification (DeID), %"),
            axis_label="DeID, %",
            percent=True,
            decimals=1,
            detail=1,
            line="De-Identification : {deid}",
            line_number=repr,
        ),
        _of_matrices(
            "gvd_db",
            "dB",
            "gain of voice distinctiveness (G_VD)",
            "gvd_db",
            meaning="distinctiveness of anonymized voices relative to original ones; 0 dB is equal",
            chance="below -15 dB",
            best="higher",
            range=(-math.inf, math.inf),
            title="Gain of voice distinctiveness (G_VD)",
            column_label=Label("G_VD, dB", f"{_G_VD}, dB"),
            heading_label=Label(
                "Gain of voice distinctiveness (G_VD), dB",
                f"Gain of voice distinctiveness ({_G_VD}), dB",
            ),
            axis_label=f"{_G_VD}, dB",
            decimals=2,
            detail=2,
            line="Gain of voice distinctiveness : {gvd_db}",
            line_number=repr,
        ),
        _d_diag("oo"),
        _d_diag("oa"),
        _d_diag("aa"),
    )
}

#: Keys of the metrics of this version; results files describe any others.
BUILT_IN = frozenset(METRICS)


def add_metrics_of_wings() -> None:
    """Register the metrics of wings, whose functions are imported once they are called.

    Raises
    ------
    PrivacyEvalError
        A name that there is already, an unknown or missing field.
    """

    def calling(reference: str, *given: Any, **options: Any) -> Any:
        return referred(reference)(*given, **options)

    for key, entry in of_wings("metrics", METRICS).items():
        own = entry.get("function")
        function = functools.partial(calling, own) if own else None
        try:
            METRICS[key] = Metric(**{**entry, "key": key, "function": function})
        except TypeError as error:
            where = f"wing {owner('metrics', key)}: metrics: {key}"
            raise PrivacyEvalError(f"{where}: {error}") from error


def of_kind(kind: Kind) -> dict[str, Metric]:
    """Select the metrics of a kind.

    Parameters
    ----------
    kind : {"scores", "matrices", "utility", "emotion", "measures"}

    Returns
    -------
    dict
        Metrics by key, in the order of the outputs.

    Examples
    --------
    >>> list(of_kind("matrices"))
    ['deid', 'gvd_db', 'd_diag_oo', 'd_diag_oa', 'd_diag_aa']
    """
    return {key: metric for key, metric in METRICS.items() if metric.kind == kind}


def describe(key: str) -> Metric:
    """Look up the entry of a metric.

    Parameters
    ----------
    key : str
        The prefix `subjective_` of listening-test metrics is ignored.

    Returns
    -------
    Metric
        An unknown metric has a name only.

    Examples
    --------
    >>> describe("eer").unit, describe("mine").unit
    ('fraction', '')
    """
    name = key.removeprefix(SUBJECTIVE)
    return METRICS[name] if name in METRICS else Metric("scores", "", key, key=key)


@contextlib.contextmanager
def registered(metrics: Iterable[Metric]) -> Iterator[None]:
    """Register metrics within a block, for evaluation, tables and figures.

    Parameters
    ----------
    metrics : iterable of Metric
        None with the key of a metric that is registered already.

    Returns
    -------
    context manager

    Examples
    --------
    >>> with registered([min_dcf_metric(0.05)]):
    ...     "min_dcf_0.05" in METRICS
    True
    >>> "min_dcf_0.05" in METRICS
    False
    """
    before = dict(METRICS)
    METRICS.update((metric.key, metric) for metric in metrics)
    try:
        yield
    finally:
        METRICS.clear()
        METRICS.update(before)


def forget_all_but_built_in() -> None:
    """Forget metrics that results describe."""
    for key in METRICS.keys() - BUILT_IN - of_wings("metrics").keys():
        del METRICS[key]


def score_metrics(scores: TrialScores, *, variant: Variant = "exact") -> dict[str, float]:
    """Compute every metric on scores.

    Parameters
    ----------
    scores : TrialScores
    variant : {"exact", "challenge"}

    Returns
    -------
    dict
        Values by key: rates are fractions, `cllr` may be inf (see there), `eer` is Kaldi's and
        `eer_speechbrain` SpeechBrain's in both variants.

    Examples
    --------
    >>> values = score_metrics(TrialScores([1.0, 3.0], [0.0, 2.0]))
    >>> values["eer"], values["rocch_eer"]
    (0.5, 0.25)
    """
    check_scores(scores)
    return _computed(scores, of_kind("scores"), variant)


def _computed(
    scores: TrialScores | Replicates, metrics: Iterable[str], variant: Variant
) -> dict[str, Any]:
    """Compute metrics of one set of scores, or of all replicates; once if both variants agree."""
    values: dict[str, Any] = {}
    for key in metrics:
        if (function := METRICS[key].function) is None:
            continue
        if METRICS[key].in_variants or key not in scores.memo:
            if isinstance(scores, TrialScores) or METRICS[key].at_once:
                scores.memo[key] = function(scores, variant=variant)
            else:
                each = (function(one, variant=variant) for one in scores)
                scores.memo[key] = np.fromiter(each, np.float64)
        values[key] = scores.memo[key]
    return values


def replicate_metrics(
    replicates: Replicates, names: Collection[str] | None = None
) -> dict[str, FloatArray]:
    """Compute every metric on scores of each replicate, in both variants.

    Parameters
    ----------
    replicates : Replicates
    names : collection of str, optional
        Only these, such as "exact eer".

    Returns
    -------
    dict
        By names such as "exact eer": float arrays, shape (R,), see `score_metrics`.
    """
    values: dict[str, FloatArray] = {}
    for variant in VARIANTS:
        keys = [key for key in of_kind("scores") if names is None or f"{variant} {key}" in names]
        for key, of_replicates in _computed(replicates, keys, variant).items():
            values[f"{variant} {key}"] = of_replicates
    return values


def score_curves(scores: TrialScores) -> dict[str, FloatArray]:
    """Compute the arrays that figures of every metric on scores are drawn from.

    Parameters
    ----------
    scores : TrialScores

    Returns
    -------
    dict
        Arrays by name.

    Examples
    --------
    >>> score_curves(TrialScores([1.0, 3.0], [0.0, 2.0]))["det_miss"]
    array([0. , 0. , 0.5, 0.5, 1. ])
    """
    arrays: dict[str, FloatArray] = {}
    for metric in of_kind("scores").values():
        arrays |= metric.curves(scores) if metric.curves is not None else {}
    return arrays


def similarity_metrics(similarity: VoiceSimilarity) -> dict[str, float]:
    """Compute every metric on similarity matrices.

    Parameters
    ----------
    similarity : VoiceSimilarity

    Returns
    -------
    dict
        Values by key: `deid` is a fraction, `gvd_db` in dB.

    Examples
    --------
    >>> import numpy as np
    >>> from privacy_eval.metrics.similarity import deid_and_gvd, similarity_matrix
    >>> scores = np.where(np.eye(4, dtype=int).repeat(2, 0).repeat(2, 1), 5.0, -5.0)
    >>> same = similarity_matrix(scores, np.arange(4).repeat(2))
    >>> round(similarity_metrics(deid_and_gvd(same, same, same))["gvd_db"], 3)
    0.0
    """
    functions = {key: metric.function for key, metric in of_kind("matrices").items()}
    return {key: f(similarity) for key, f in functions.items() if f is not None}


def zebra_tag(values: Mapping[str, float], variant: Variant) -> str:
    """Categorize the individual disclosure.

    Parameters
    ----------
    values : mapping
        Values of `score_metrics`.
    variant : {"exact", "challenge"}
        The one that the values are of.

    Returns
    -------
    str
        "0" or "A" (least disclosure) to "F".
    """
    return categorical_tag(values["zebra_individual"], variant=variant)
