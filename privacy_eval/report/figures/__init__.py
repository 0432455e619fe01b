"""The figures of a challenge's paper, drawn from results and stored curves only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...errors import PrivacyEvalError
from ...io.files import write_text
from ...results.arrays import FIGURE_FORMATS, Curves
from ...results.records import Results
from ...stages.jobs import Progress
from ..figure_folder import CAPTIONS, LISTING, begin, is_there, key_of, read_captions
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
    made_from: str,
    formats: Sequence[str] = FORMATS,
    job: tuple[int, int] = (1, 1),
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Bring a folder of figures up to date, and the list of their captions.

    Figures made from something else, by an earlier run, are removed first; those that are
    there are left as they are.

    Parameters
    ----------
    drawings : iterable of Drawing
        All figures that belong there; nothing is drawn where all are there.
    made_from : str
        Digest of all that the figures depend on, and what else they depend on after a colon.
    job : (int, int)
        Which of how many equal shares of the figures to write, from 1.

    Returns
    -------
    (int, int)
        How many were written, and how many were there.
    """
    number, shares = job
    begin(out, key_of(made_from, formats))
    captions = read_captions(out) if (out / CAPTIONS).is_file() else {}
    if captions and all(is_there(out, name, formats) for name in captions):
        return 0, len(range(number - 1, len(captions), shares))
    captions = {}
    written = there = 0
    for index, drawing in enumerate(drawings):
        if formats == ["tex"] and not isinstance(drawing, draw.CurveDrawing):
            drawing.discard()  # only curves are written as TeX
            continue
        if drawing.name in captions:
            raise PrivacyEvalError(f"{out / drawing.name}: two figures would have this name")
        captions[drawing.name] = drawing.caption
        if index % shares != number - 1:
            drawing.discard()
        elif is_there(out, drawing.name, formats):
            drawing.discard()
            there += 1
        else:
            _write(drawing, out, formats)
            written += 1
            if progress is not None:
                progress(written + there, 0, drawing.name)
    if number == 1:
        write_text(out / CAPTIONS, json.dumps(captions, indent=1, ensure_ascii=False) + "\n")
    return written, there


def _write(drawing: style.Drawing, out: Path, formats: Sequence[str]) -> None:
    listing = out / LISTING
    try:
        with open(listing, "a", encoding="utf-8") as file:  # before there is a figure
            file.write(f"{drawing.name}\n")
    except OSError as error:
        raise PrivacyEvalError(f"{listing}: cannot be written ({error.strerror})") from error
    if isinstance(drawing, draw.CurveDrawing):
        draw.write(drawing, out, formats)
    else:
        style.write(drawing, out, [f for f in formats if f != "tex"])
