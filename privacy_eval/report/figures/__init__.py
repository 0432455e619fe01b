"""Figures of a challenge's paper, drawn from results and stored arrays only.

A kind of figure is a module here, with a function `figures`, and an entry in `KINDS`.
matplotlib is imported when a figure is drawn.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import PrivacyEvalError
from ...io.inputs import Inputs
from ...results.arrays import FIGURE_FORMATS
from ...stages.freshness import Run
from ..data import ReportData, Whiskers
from ..figure_folder import figure_folder, read_captions
from ..values import caveat_notes

if TYPE_CHECKING:
    from .drawing import Drawing


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure.

    Attributes
    ----------
    name : str
        Of its module here, whose function `figures` yields drawings of `ReportData`; the
        names of its figures begin with it.
    section : str
        Title of its section in the report.
    folded : bool
        The section is shown only when its title is clicked.
    on_request : bool
        Drawn only on request.
    metrics : tuple of str
        Metrics on scores whose caveats captions tell.
    """

    name: str
    section: str
    folded: bool = True
    on_request: bool = False
    metrics: tuple[str, ...] = ("eer",)

    def figures(self, data: ReportData) -> Iterator[Drawing]:
        """All figures of the kind that there is data for."""
        drawings: Iterator[Drawing] = importlib.import_module(f".{self.name}", __name__).figures(
            data
        )
        return drawings


#: In the order of the report.
KINDS = (
    FigureKind("bars", "Privacy of the systems", folded=False),
    FigureKind("ece", "ZEBRA profiles"),
    FigureKind("conventional", "Conventional plots", on_request=True),
    FigureKind("linkability", "Linkability", metrics=("linkability",)),
    FigureKind("matrices", "Voice similarity", metrics=()),
    FigureKind("det", "Detection error trade-off"),
    FigureKind("plane", "Privacy and utility", folded=False),
    FigureKind("scatter", "Metric against metric"),
)


def all_figures(
    data: ReportData, *, conventional: bool = False, whiskers: Whiskers = "speakers"
) -> Iterator[Drawing]:
    """Every figure that there is data for, not drawn yet.

    Parameters
    ----------
    conventional : bool
        Also the ZEBRA toolkit's conventional plots, one per condition of a system.
    whiskers : {"speakers", "independent"}
        Of bars: intervals of the bootstrap over speakers, or of independent trials.
    """
    data = replace(data, whiskers=whiskers)
    for kind in KINDS:
        if conventional or not kind.on_request:
            notes = [f" {n}." for n in caveat_notes(data.results.verification, kind.metrics)]
            for drawing in kind.figures(data):
                yield replace(drawing, caption="".join([drawing.caption, *notes]))


def write_figures(
    drawings: Iterable[Drawing],
    out: Path,
    *,
    drawn_from: Mapping[str, Any],
    formats: Sequence[str] = FIGURE_FORMATS,
    run: Run = Run(),
) -> tuple[int, int]:
    """Draw the figures that a folder lacks, and list their captions.

    Figures drawn from anything else, by an earlier run, are removed first.

    Parameters
    ----------
    drawings : iterable of Drawing
        All figures that belong there; nothing is drawn where all are there.
    drawn_from : mapping
        Digests and options of all that the figures depend on.

    Returns
    -------
    (int, int)
        How many were written, and how many were there.
    """
    number, jobs = run.job
    folder = figure_folder(out, drawn_from, formats)
    if folder.is_current(Inputs()):
        return 0, len(range(number - 1, len(read_captions(out)), jobs))
    captions: dict[str, str] = {}
    files: dict[str, list[str]] = {}
    shown = [d for d in drawings if set(formats) & set(d.formats)]  # only curves have TeX
    for drawing in shown:
        if drawing.name in captions:
            raise PrivacyEvalError(f"{out / drawing.name}: two figures would have this name")
        captions[drawing.name] = drawing.caption
        files[drawing.name] = [f"{drawing.name}.{f}" for f in drawing.formats if f in formats]
    folder.begin(captions, [file for several in files.values() for file in several])
    mine = shown[number - 1 :: jobs]
    written = there = 0
    for drawing in mine:
        if all((out / file).is_file() for file in files[drawing.name]):
            there += 1
            continue
        if run.begin is not None:
            run.begin(written + there, len(mine), drawing.name)
        from .drawing import write  # matplotlib: the report does without

        write(drawing, out, formats)
        written += 1
        if run.progress is not None:
            run.progress(written + there, len(mine), drawing.name)
    return written, there
