"""The figures of a challenge's paper, drawn from results and stored curves only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import matplotlib

from ... import __version__
from ...errors import PrivacyEvalError
from ...evaluate import Progress
from ...io.data_dir import locked_folder
from ...io.files import read_text, write_text
from ...results import Results, load_json
from ..cells import Cells
from ..curves import FIGURE_FORMATS, Curves
from . import bars, det, ece, linkability, matrices, pgfplots, scatter, style

#: What a figure is written as; curves have all, others no TeX.
FORMATS = FIGURE_FORMATS

#: Names and captions of the figures in a folder.
CAPTIONS = "captions.json"


_KEY, _LISTING = ".figures.key", ".figures.list"


def all_figures(
    results: Results, cells: Cells, curves: Curves, *, conventional: bool = False
) -> Iterator[style.Drawing]:
    """Every figure that there is data for, drawn one at a time.

    Parameters
    ----------
    results : Results
        Of the systems whose curves and matrices are drawn.
    cells : Cells
        Their values and those of published systems beside them.
    conventional : bool
        Also the ZEBRA toolkit's conventional plots, one per condition of a system.
    """
    yield from bars.figures(cells, results.config)
    yield from ece.profiles(results, curves)
    yield from ece.system_profiles(results, curves)
    if conventional:
        yield from ece.conventional(results, curves)
    yield from linkability.figures(results, curves)
    yield from matrices.figures(results, curves)
    yield from det.figures(results, curves)
    yield from scatter.figures(cells, results.config)


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
    key = f"{made_from} {' '.join(formats)} {__version__} {matplotlib.__version__}\n"
    number, shares = job
    _begin(out, key)
    captions = read_captions(out) if (out / CAPTIONS).is_file() else {}
    if captions and all(_is_there(out, name, formats) for name in captions):
        return 0, len(range(number - 1, len(captions), shares))
    captions = {}
    written = there = 0
    for index, drawing in enumerate(drawings):
        if formats == ["tex"] and not isinstance(drawing, pgfplots.CurveDrawing):
            drawing.canvas.clear()  # only curves are written as TeX
            continue
        if drawing.name in captions:
            raise PrivacyEvalError(f"{out / drawing.name}: two figures would have this name")
        captions[drawing.name] = drawing.caption
        if index % shares != number - 1:
            drawing.canvas.clear()
        elif _is_there(out, drawing.name, formats):
            drawing.canvas.clear()
            there += 1
        else:
            _write(drawing, out, formats)
            written += 1
            if progress is not None:
                progress(written + there, 0, drawing.name)
    if number == 1:
        write_text(out / CAPTIONS, json.dumps(captions, indent=1, ensure_ascii=False) + "\n")
    return written, there


def read_captions(folder: Path) -> dict[str, str]:
    """Captions of the figures in a folder by their names, in order.

    Raises
    ------
    PrivacyEvalError
        No such list, or a damaged one.
    """
    plain = load_json(folder / CAPTIONS)
    if not isinstance(plain, dict) or not all(isinstance(v, str) for v in plain.values()):
        raise PrivacyEvalError(f"{folder / CAPTIONS}: expected names and captions of figures")
    return plain


def made_from(folder: Path) -> str:
    """What the figures in a folder were made from, as `write_figures` was told."""
    path = folder / _KEY
    return read_text(path).split(" ", 1)[0] if path.is_file() else ""


def _begin(out: Path, key: str) -> None:
    """Make sure that whatever figure of ours is in the folder was made from the same."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PrivacyEvalError(f"{out}: cannot be written ({error.strerror})") from error
    with locked_folder(out):  # another job may begin at the same time
        path, listing = out / _KEY, out / _LISTING
        if path.is_file() and read_text(path) == key:
            return
        names = read_text(listing).splitlines() if listing.is_file() else []
        for name in names:
            if Path(name).name == name:
                for extension in FORMATS:
                    (out / f"{name}.{extension}").unlink(missing_ok=True)
        for left in (listing, out / CAPTIONS):
            left.unlink(missing_ok=True)
        write_text(path, key)


def _write(drawing: style.Drawing, out: Path, formats: Sequence[str]) -> None:
    listing = out / _LISTING
    try:
        with open(listing, "a", encoding="utf-8") as file:  # before there is a figure
            file.write(f"{drawing.name}\n")
    except OSError as error:
        raise PrivacyEvalError(f"{listing}: cannot be written ({error.strerror})") from error
    if isinstance(drawing, pgfplots.CurveDrawing):
        pgfplots.write(drawing, out, formats)
    else:
        style.write(drawing, out, [f for f in formats if f != "tex"])


def _is_there(out: Path, name: str, formats: Sequence[str]) -> bool:
    """Whether a figure has all its files; only curves have TeX, which is written first."""
    return all((out / f"{name}.{f}").is_file() for f in formats if f != "tex" or len(formats) == 1)
