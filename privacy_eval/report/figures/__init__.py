"""The figures of a challenge's paper, drawn from results and stored curves only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import PrivacyEvalError
from ...io.inputs import Inputs
from ...results.arrays import FIGURE_FORMATS, Curves
from ...results.records import Results
from ...stages.freshness import Run
from ..figure_folder import figure_files, figure_folder, read_captions
from ..values import Cells
from . import (
    bars,
    det,
    draw,
    ece,
    linkability,
    matrices,
    scatter,
    style,
)

#: What a figure is written as; curves have all, others no TeX.
FORMATS = FIGURE_FORMATS


def all_figures(
    results: Results, cells: Cells, curves: Curves, *, conventional: bool = False
) -> Iterator[style.Drawing]:
    """Every figure that there is data for, drawn one at a time.

    Parameters
    ----------
    results : Results
        Of the systems whose curves and matrices are drawn; there need be none.
    cells : Cells
        Their values and those of published systems beside them.
    conventional : bool
        Also the ZEBRA toolkit's conventional plots, one per condition of a system.
    """
    yield from bars.figures(cells, results.protocol)
    yield from ece.profiles(results, curves)
    yield from ece.system_profiles(results, curves)
    if conventional:
        yield from ece.conventional(results, curves)
    yield from linkability.figures(results, curves)
    yield from matrices.figures(results, curves)
    yield from det.figures(results, curves)
    yield from scatter.figures(cells, results.protocol)


def write_figures(
    drawings: Iterable[style.Drawing],
    out: Path,
    *,
    drawn_from: Mapping[str, Any],
    formats: Sequence[str] = FORMATS,
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
    only_curves = list(formats) == ["tex"]  # nothing else is written as TeX
    shown = [d for d in drawings if not only_curves or isinstance(d, draw.CurveDrawing)]
    captions = {drawing.name: drawing.caption for drawing in shown}
    if len(captions) < len(shown):
        names = [drawing.name for drawing in shown]
        twice = next(name for name in names if names.count(name) > 1)
        raise PrivacyEvalError(f"{out / twice}: two figures would have this name")
    folder.begin(captions)
    written = there = 0
    for drawing in shown[number - 1 :: jobs]:
        if all((out / file).is_file() for file in figure_files(drawing.name, formats)):
            there += 1
            continue
        if isinstance(drawing, draw.CurveDrawing):
            draw.write(drawing, out, formats)
        else:
            style.write(drawing, out, [f for f in formats if f != "tex"])
        written += 1
        if run.progress is not None:
            run.progress(written + there, len(shown[number - 1 :: jobs]), drawing.name)
    return written, there
