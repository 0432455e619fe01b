"""Figures of a challenge's paper, drawn from results and stored arrays only.

A kind of figure is a module here, with a function `figures`, and an entry in `KINDS`.
matplotlib is imported when a figure is drawn.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import PrivacyEvalError
from ...io.files import write_text
from ...results.arrays import FIGURE_FORMATS
from ...stages.jobs import Progress
from ..data import ReportData
from ..figure_folder import CAPTIONS, LISTING, begin, is_there, key_of, read_captions

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
    """

    name: str
    section: str
    folded: bool = True
    on_request: bool = False

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
    FigureKind("linkability", "Linkability"),
    FigureKind("matrices", "Voice similarity"),
    FigureKind("det", "Detection error trade-off"),
    FigureKind("scatter", "Metric against metric"),
)


def all_figures(data: ReportData, *, conventional: bool = False) -> Iterator[Drawing]:
    """Every figure that there is data for, not drawn yet.

    Parameters
    ----------
    conventional : bool
        Also the ZEBRA toolkit's conventional plots, one per condition of a system.
    """
    for kind in KINDS:
        if conventional or not kind.on_request:
            yield from kind.figures(data)


def write_figures(
    drawings: Iterable[Drawing],
    out: Path,
    *,
    made_from: str,
    formats: Sequence[str] = FIGURE_FORMATS,
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
        if not set(formats) & set(drawing.formats):
            continue  # only curves are written as TeX
        if drawing.name in captions:
            raise PrivacyEvalError(f"{out / drawing.name}: two figures would have this name")
        captions[drawing.name] = drawing.caption
        if index % shares != number - 1:
            continue
        if is_there(out, drawing.name, formats):
            there += 1
        else:
            _write(drawing, out, formats)
            written += 1
            if progress is not None:
                progress(written + there, 0, drawing.name)
    if number == 1:
        write_text(out / CAPTIONS, json.dumps(captions, indent=1, ensure_ascii=False) + "\n")
    return written, there


def _write(drawing: Drawing, out: Path, formats: Sequence[str]) -> None:
    from .drawing import write  # matplotlib: the report does without

    listing = out / LISTING
    try:
        with open(listing, "a", encoding="utf-8") as file:  # before there is a figure
            file.write(f"{drawing.name}\n")
    except OSError as error:
        raise PrivacyEvalError(f"{listing}: cannot be written ({error.strerror})") from error
    write(drawing, out, formats)
