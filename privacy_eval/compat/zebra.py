"""Interface of the ZEBRA toolkit: disclosure and profiles of score files.

>>> from privacy_eval.compat.zebra import assess, export
>>> profile = assess("scores", "trials")                 # doctest: +SKIP
>>> print(profile.text)                                  # doctest: +SKIP
ZEBRA profile
Population: 0.584 bit
Individual: 3.979 (C)
>>> export([profile], "my-experiment", "png")            # doctest: +SKIP
PosixPath('ZEBRA-my-experiment.png')

Values are those of the toolkit (variant `challenge`) by default, or `exact`. The low-level
functions are in `privacy_eval.metrics`; `pav_llrs` gives the calibrated scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..choices import FIGURE_FORMATS
from ..errors import PrivacyEvalError
from ..io.files import file_names, read_text
from ..io.scores import read_scores, read_trials
from ..io.yaml_text import parse_yaml
from ..metrics import (
    NOT_AVAILABLE,
    TrialScores,
    Variant,
    find_caveats,
    find_ties,
    kaldi_eer,
    withholding_caveat,
    zebra,
)
from ..metrics.llr import CATEGORICAL_TAGS, NO_EVIDENCE_TAG, Zebra, ece_profile
from ..metrics.pairing import pair
from ..metrics.pav import FloatArray
from ..metrics.printed import format_metrics
from ..metrics.trials import Trials
from ..report.figures import style
from ..report.figures.drawing import Drawing, draw_into, write
from ..report.figures.panels import Over, Profile, profile_panel
from ..report.figures.plot import Plot

#: Default label of a profile.
DEFAULT_LABEL = "ZEBRA profile"

Tags = Sequence[tuple[str, float]]


@dataclass(frozen=True)
class ZebraProfile:
    """Disclosure of a set of scores.

    Attributes
    ----------
    label : str
    zebra : Zebra
        Population (bit), individual (log10 LR), tag.
    ece : dict of str to float array
        See `ece_profile`.
    caveats : mapping
        Reasons why the values say little about privacy, see `metrics.caveats`.
    """

    label: str
    zebra: Zebra
    ece: Mapping[str, FloatArray]
    caveats: Mapping[str, str] = field(default_factory=dict)

    @property
    def tag(self) -> str | None:
        """Category; None if the scores are implausible."""
        graded = withholding_caveat(self.caveats, "zebra_individual") is None
        return self.zebra.tag if graded else None

    @property
    def text(self) -> str:
        """The three lines that the toolkit prints, followed by any caveats."""
        values = {"zebra_population": self.zebra.population}
        values["zebra_individual"] = self.zebra.individual
        lines = [self.label, *format_metrics(values, self.tag, self.caveats)]
        return "\n".join(lines)


def assess(
    scores: str | Path | TrialScores,
    key: str | Path | None = None,
    *,
    label: str = DEFAULT_LABEL,
    variant: Variant = "challenge",
    tags: Tags = CATEGORICAL_TAGS,
) -> ZebraProfile:
    """Compute disclosure and ECE profile of a score file and its trial key, or of scores.

    Parameters
    ----------
    variant : {"challenge", "exact"}
        The default is `challenge`, as this is the toolkit's interface and those are its numbers;
        `metrics.zebra` and the rest of the Python API default to `exact`.

    Raises
    ------
    PrivacyEvalError
        A file cannot be read, or scores and trial key do not match.
    """
    trials: Trials | TrialScores
    if not isinstance(scores, TrialScores):
        if key is None:
            raise ValueError("a score file needs its trial key")
        trials = pair(
            read_scores(Path(scores), format="kaldi"),
            read_trials(Path(key), format="kaldi"),
            hint=_NOT_THE_KEY,
        )
        scores = trials.scores
    elif key is not None:
        raise ValueError("labelled scores need no trial key")
    else:
        trials = scores
    disclosure = zebra(scores, variant=variant, tags=tags)
    counts, ties = (scores.n_target, scores.n_nontarget), find_ties(trials)
    caveats = find_caveats(kaldi_eer(scores).value, *counts, ties=ties)
    return ZebraProfile(label, disclosure, ece_profile(scores), caveats)


def plot(
    profiles: Sequence[ZebraProfile], *, over: Over = "log odds", name: str = "zebra"
) -> Drawing:
    """Plot profiles beside that of full privacy; the drawing's `canvas` is the matplotlib figure.

    Raises
    ------
    ValueError
        No profile.
    """
    if not profiles:
        raise ValueError("no profile to plot")
    return Drawing(name, "ZEBRA assessment with ECE profiles", _plot(profiles, over))


def export(
    profiles: Sequence[ZebraProfile],
    name: str = "",
    extension: str = "png",
    *,
    folder: str | Path = ".",
    over: Over = "log odds",
) -> Path:
    """Write a plot as `<folder>/ZEBRA-<name>.<extension>`.

    Parameters
    ----------
    name : str
        Default: the label of the first profile. Characters special to a shell or a file system
        become `_`.
    extension : {"tex", "pdf", "png"}

    Raises
    ------
    PrivacyEvalError
        The file cannot be written.
    """
    if extension not in FIGURE_FORMATS:
        raise ValueError(f"extension must be one of {FIGURE_FORMATS}, not {extension!r}")
    chosen = name or (profiles[0].label if profiles else "")
    drawing = plot(profiles, over=over, name=f"ZEBRA-{file_names([chosen])[chosen]}")
    return write(drawing, Path(folder), [extension])[0]


def show(profiles: Sequence[ZebraProfile], *, over: Over = "log odds") -> None:
    """Show a plot in a window until it is closed.

    Raises
    ------
    PrivacyEvalError
        No display, or no interactive matplotlib backend.
    """
    import matplotlib.pyplot as plt  # only here: it looks for a display

    drawn = _plot(profiles, over)
    try:
        canvas = plt.figure(figsize=(drawn.width, drawn.panel_height + 0.5), layout="constrained")
    except Exception as error:  # each of matplotlib's backends fails in its own way
        raise PrivacyEvalError(f"{_NO_DISPLAY} ({error})") from error
    try:
        if getattr(canvas.canvas, "required_interactive_framework", None) is None:
            raise PrivacyEvalError(f"{_NO_DISPLAY} (matplotlib draws with {plt.get_backend()})")
        draw_into(canvas, drawn)
        plt.show(block=True)
    finally:
        plt.close(canvas)


def pav_llrs(scores: TrialScores, *, laplace: bool = False) -> tuple[FloatArray, FloatArray]:
    """Calibrate scores of targets and nontargets, shapes (T,) and (N,), in the order of
    `scores.target` and `scores.nontarget`: natural-log LLRs after PAV, ties pooled.

    Parameters
    ----------
    laplace : bool
        Apply Laplace's rule of succession, which makes all LLRs finite.

    Examples
    --------
    >>> target, nontarget = pav_llrs(TrialScores([1.0, 3.0], [0.0, 2.0]))
    >>> target, nontarget
    (array([ 0., inf]), array([-inf,   0.]))
    """
    blocks = scores.pav_laplace() if laplace else scores.pav()
    return np.repeat(blocks.llr, blocks.targets), np.repeat(blocks.llr, blocks.nontargets)


def read_tags(path: Path) -> tuple[tuple[str, float], ...]:
    """Read user-defined categories from a YAML file: each tag with the lower bound of its
    log10 LR.

    Raises
    ------
    PrivacyEvalError
        Not a mapping, a tag that is not text, duplicate or `0` (reserved for no evidence), bounds
        that do not begin at 0 and ascend. The message names the file.
    """
    values = parse_yaml(read_text(path), str(path))
    if not isinstance(values, dict) or not values:
        raise PrivacyEvalError(
            f"{path}: expected lines of a tag and its lower bound (log10 LR), such as `A: 0`"
        )
    tags: list[tuple[str, float]] = []
    for key, bound in values.items():
        is_text = isinstance(key, str) and bool(key.strip()) and key.isprintable()
        if not is_text or key == NO_EVIDENCE_TAG:
            raise PrivacyEvalError(
                f"{path}: {key!r} cannot be a tag: expected text (else put it in quotes), and "
                f"{NO_EVIDENCE_TAG} is reserved for no evidence"
            )
        if isinstance(bound, bool) or not isinstance(bound, (int, float)):
            raise PrivacyEvalError(f"{path}: {key}: expected a number (log10 LR), found {bound!r}")
        tags.append((key, float(bound) if abs(bound) < 1e300 else math.inf))
    bounds = [bound for _, bound in tags]
    ascend = all(a < b for a, b in zip(bounds, bounds[1:], strict=False))
    if bounds[0] != 0 or not ascend or not all(map(math.isfinite, bounds)):
        raise PrivacyEvalError(
            f"{path}: tags must begin at 0 and ascend, not "
            + ", ".join(f"{tag}: {bound:g}" for tag, bound in tags)
        )
    return tuple(tags)


_NOT_THE_KEY = "the trial key must list the trials of the score file"

_NO_DISPLAY = "no display; write the plot to a file instead: privacy-eval zebra --export png"


def _plot(profiles: Sequence[ZebraProfile], over: Over) -> Plot:
    """Plot profiles, each in its own style even if labels are equal."""
    keys = [f"{number} {p.label}" for number, p in enumerate(profiles)]
    styles = style.system_styles(keys)
    panel = profile_panel(
        [
            Profile(
                p.label,
                p.ece["prior_log_odds"],
                p.ece["minimum"],
                p.ece["zero_evidence"],
                p.zebra.population,
                p.zebra.individual,
                p.tag or NOT_AVAILABLE,
                withholding_caveat(p.caveats, "zebra_individual"),
            )
            for p in profiles
        ],
        [styles[key] for key in keys],
        over=over,
    )
    return Plot(((panel,),))
