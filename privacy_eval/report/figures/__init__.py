"""Figures of a challenge's paper, drawn from results and stored arrays only.

A kind of figure is a function of a module here, and an entry in `KINDS`.
matplotlib is imported when a figure is drawn.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...choices import AMOUNT, FIGURE_FORMATS, GROUPS
from ...errors import PrivacyEvalError, is_usable
from ...io.files import Inputs, digest, locked_folder, write_text
from ...io.schema import load_json
from ...numbers.report_sources import ReportSources
from ...products.freshness import NOTE, Content, Fingerprint, Product, Run, is_safe_name
from ...version import __version__
from ...wings import Reference, of_wings, provided, referred

if TYPE_CHECKING:
    from ...numbers.report_data import ReportData, Whiskers
    from ..page import Picture
    from .drawing import Drawing


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure.

    Attributes
    ----------
    name : str
        Of its module here, if it has one, whose `figures` yields drawings of `ReportData`.
    section : str
        Title of its section in the report.
    folded : bool
        The section is shown only when its title is clicked.
    curves : bool
        Plots of curves, which the report draws itself; their files only on request.
    default : bool
        Some of its figures are drawn by default.
    conventional : bool
        Drawn only if conventional plots are requested.
    left : bool
        The core leaves them to wings: `figures of <name>`, see `wings.provided`.
    function : Reference
        What yields its drawings; by default `figures` of its module here.
    """

    name: str
    section: str
    folded: bool = True
    curves: bool = False
    default: bool = True
    conventional: bool = False
    left: bool = False
    function: Reference = ""

    def figures(self, data: ReportData) -> Iterator[Drawing]:
        """Yield all figures of the kind for which there is data."""
        if self.left:
            draw = provided(f"figures of {self.name}", needed=False)
            return iter(draw(data) if draw else ())
        return iter(referred(self.function or f"{__name__}.{self.name}:figures")(data))


#: In the order of the report.
KINDS = (
    FigureKind("answer", "Privacy of the systems", folded=False),
    FigureKind("plane", "Privacy and utility", folded=False),
    FigureKind("bars", "Privacy of the systems", folded=False),
    FigureKind("groups", GROUPS, folded=False, left=True),
    FigureKind("amount", AMOUNT, folded=False, left=True),
    FigureKind("identification", "Identification in groups of people", curves=True, left=True),
    FigureKind("scatter", "Metric against metric", default=False),
)


def kinds() -> tuple[FigureKind, ...]:
    """Return the kinds of the core and of wings, whose sections follow."""
    added = of_wings("figures", [kind.name for kind in KINDS])
    own = (
        FigureKind(name, title, function=function, **dict[str, Any]((flag, True) for flag in flags))
        for name, (function, title, *flags) in added.items()
    )
    return (*KINDS, *own)


def all_figures(
    data: ReportData,
    *,
    conventional: bool = False,
    whiskers: Whiskers = "speakers",
    everything: bool = False,
) -> Iterator[Drawing]:
    """Yield every requested figure for which there is data, not drawn yet.

    By default those that a paper or a reader of the report needs first: privacy against utility,
    the EER of each condition with its interval, and voice similarity. Nearly all others are
    curves, which the report draws itself.

    Parameters
    ----------
    conventional : bool
        Also the ZEBRA toolkit's conventional plots, one per condition of a system.
    whiskers : {"speakers", "independent"}
        Of bars: intervals of the bootstrap over speakers, or of independent trials.
    everything : bool
        Also those that are not drawn by default.
    """
    data = replace(data, whiskers=whiskers)
    for kind in kinds():
        asked = everything or (kind.default and not kind.curves)
        if conventional if kind.conventional else asked:
            yield from _with_notes(kind, data, everything=everything)


def curve_figures(data: ReportData) -> Iterator[tuple[FigureKind, Drawing]]:
    """The plots of curves that the report draws, with their kinds."""
    for kind in kinds():
        if kind.curves:
            yield from ((kind, drawing) for drawing in _with_notes(kind, data))


def _with_notes(
    kind: FigureKind, data: ReportData, *, everything: bool = False
) -> Iterator[Drawing]:
    """Yield the figures of a kind, with its section and the caveats of their values."""
    from ..notes import drawn_notes

    for drawing in kind.figures(data):
        if everything or drawing.default:
            notes = drawn_notes(data.results, drawing.conditions, drawing.metrics)
            caption = "".join([drawing.caption, *(f" {note}." for note in notes)])
            yield replace(drawing, caption=caption, section=drawing.section or kind.section)


def write_figures(
    drawings: Iterable[Drawing],
    out: Path,
    *,
    drawn_from: Mapping[str, Any],
    formats: Sequence[str] = FIGURE_FORMATS,
    run: Run = Run(),
) -> tuple[int, int]:
    """Draw the figures missing in a folder, and list their captions.

    Figures that an earlier run drew from other inputs are removed first.

    Parameters
    ----------
    drawings : iterable of Drawing
        All figures that belong there; nothing is drawn where all are there.
    drawn_from : mapping
        Digests and options of all that the figures depend on.

    Returns
    -------
    (int, int)
        Number of figures written, and number already present.
    """
    number, jobs = run.job
    folder = figure_folder(out, drawn_from, formats)
    if folder.is_current(Inputs()):
        return 0, len(range(number - 1, len(captions(out)), jobs))
    if run.start_jobs is not None:
        run.start_jobs(sys.maxsize)  # their number is not known yet
        if folder.is_current(Inputs()):
            return len(captions(out)), 0
    entries: dict[str, dict[str, str]] = {}
    files: dict[str, list[str]] = {}
    if not is_usable("matplotlib", out):
        folder.begin({}, ["none"])  # a file that is never there: the next run tries again
        return 0, 0
    from .drawing import write  # matplotlib: the report does without

    chosen = [d for d in drawings if set(formats) & set(d.formats)]  # only curves have TeX
    for drawing in chosen:
        if drawing.name in entries:
            raise PrivacyEvalError(f"{out / drawing.name}: two figures would have this name")
        entries[drawing.name] = {"section": drawing.section, "caption": drawing.caption}
        files[drawing.name] = [f"{drawing.name}.{f}" for f in drawing.formats if f in formats]
    folder.begin(entries, [file for several in files.values() for file in several])
    mine = chosen[number - 1 :: jobs]
    written = there = 0
    for drawing in mine:
        if all((out / file).is_file() for file in files[drawing.name]):
            there += 1
            continue
        if run.begin is not None:
            run.begin(written + there, len(mine), drawing.name)
        write(drawing, out, formats)
        written += 1
        if run.progress is not None:
            run.progress(written + there, len(mine), drawing.name)
    return written, there


#: Names, sections and captions of the figures in a folder.
CAPTIONS = "captions.json"


class FigureFolder(Product):
    """Figures drawn one by one, by several jobs; the fingerprint is written first."""

    def is_whole(self, inputs: Inputs, stored: Fingerprint) -> bool:
        return all(os.path.isfile(self.note.parent / name) for name in stored.files)

    def begin(self, entries: Mapping[str, Mapping[str, str]], files: Sequence[str]) -> None:
        """Record the figures of this folder, and remove those drawn from other inputs."""
        out = self.note.parent
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PrivacyEvalError(f"{out}: cannot be written ({error.strerror})") from error
        now, _ = self.fingerprint(Inputs())
        now = replace(now, files=dict.fromkeys([*files, CAPTIONS], ""))
        with locked_folder(out):  # another job may begin at the same time
            earlier = self.read_fingerprint()
            stale = earlier is None or bool(self.changes(now, earlier))
            for name in {**now.files, **(earlier.files if earlier is not None else {})}:
                if is_safe_name(name) and (stale or name not in now.files):
                    (out / name).unlink(missing_ok=True)
            if earlier != now:
                write_text(self.note, now.text())
            text = json.dumps(entries, indent=1, ensure_ascii=False)
            write_text(out / CAPTIONS, f"{text}\n")


def _installed_matplotlib() -> list[str]:
    """Name the installed version as its metadata folder does; `importlib.metadata` takes longer to
    import than telling that figures are current."""
    spec = importlib.util.find_spec("matplotlib")
    where = Path() if spec is None or spec.origin is None else Path(spec.origin).parents[1]
    return sorted(path.name for path in where.glob("matplotlib-*-info"))


def figure_folder(
    out: Path, drawn_from: Mapping[str, Any], formats: Sequence[str] = FIGURE_FORMATS
) -> FigureFolder:
    """The figures in a folder.

    Parameters
    ----------
    drawn_from : mapping
        Digests and options of all that the figures depend on.
    """
    drawn_by = " ".join([__version__, *_installed_matplotlib()])
    return FigureFolder(
        str(out),
        out,
        out / NOTE,
        (),
        lambda _: {},
        lambda *_: Content({}),
        subject=drawn_from,
        options={"formats": list(formats), "drawn_by": drawn_by},
        revision=2,
    )


def figures_source(sources: ReportSources, **options: object) -> dict[str, object]:
    """Return all inputs of the figures of results, with the options of `all_figures`."""
    return {**sources.subject(), **options, "kinds": [kind.name for kind in kinds()]}


def drawn_from(folder: Path) -> Mapping[str, Any]:
    """Return what the figures in a folder were drawn from, see `figure_folder`."""
    fingerprint = figure_folder(folder, {}).read_fingerprint()
    return {} if fingerprint is None else fingerprint.subject


def folder_digest(folder: Path) -> str:
    """Return a digest of the inputs of a folder of figures and of its captions."""
    return digest(
        json.dumps([drawn_from(folder), load_json(folder / CAPTIONS)], default=dict).encode()
    )


def captions(folder: Path) -> dict[str, dict[str, str]]:
    """Return section and caption of the figures in a folder by their names, in order.

    Raises
    ------
    PrivacyEvalError
        No list of their captions, or a damaged one.
    """
    entries = load_json(folder / CAPTIONS)
    if not isinstance(entries, dict) or not all(
        isinstance(entry, dict)
        and entry.keys() == {"section", "caption"}
        and all(isinstance(text, str) for text in entry.values())
        for entry in entries.values()
    ):
        raise PrivacyEvalError(
            f"{folder / CAPTIONS}: expected names, sections and captions of figures"
        )
    return entries


def pictures(folder: Path) -> list[Picture]:
    """Return the figures in a folder, in order; raises as `captions` does."""
    from ..page import Picture

    return [
        Picture(folder / f"{name}.png", entry["caption"], section=entry["section"])
        for name, entry in captions(folder).items()
    ]
