"""Style of all figures: sizes, fonts, and colours that are distinct for colour-blind readers
and in greyscale.

Figures are made with matplotlib's objects only: no pyplot, no display, no global state.
Untrusted text goes through `escape_mathtext`; only built-in labels may hold mathtext.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import matplotlib.style
from matplotlib import rc_params_from_file
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.textpath import text_to_path

from ...choices import ORIGINAL_SYSTEM
from ...io.files import digest
from ...metrics.printed import escape_latex
from ...numbers.cells import ORIGINAL_ATTACK, ORIGINAL_COLUMN, Cells
from ...protocol.protocol import Protocol

#: Widths in inches: a column, and a whole page, of a two-column paper.
COLUMN_WIDTH, FULL_WIDTH = 3.3, 6.9
#: Font sizes in points: of labels and titles, and of ticks and legends.
FONT, SMALL_FONT = 8.0, 7.0
#: Maximum characters of a name in a legend, and of one along the height of a panel.
NAME, SIDE = 28, 16
#: Systems of a figure of curves; more are split over several.
MOST_SYSTEMS = 20

#: The colours of Okabe and Ito without black (original speech) and with a darker yellow, then
#: dark ones of Paul Tol's and brown: no two of twelve systems share one.
PALETTE = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#B8A800"),
    *("#332288", "#882255", "#117733", "#8B5A2B", "#AA4499"),
)
#: Markers that can be filled. Their number and those of colours and line styles are coprime, so
#: that the combination of all three repeats after 660 systems.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
LineStyle = str | tuple[float, tuple[float, ...]]
LINE_STYLES: tuple[LineStyle, ...] = (
    "-",
    (0, (4, 1.5)),
    (0, (1, 1)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (5, 1, 1, 1, 1, 1)),
)
GREY = "#8C8C8C"


_Item = TypeVar("_Item")
_HANDLE = 0.5  # width of a legend's column in addition to the text, inches


@dataclass(frozen=True)
class SystemStyle:
    """Plot style of a system."""

    colour: str
    marker: str
    line_style: LineStyle


def bar_fill(colour: str, hatch: str = "", edge: str = "black") -> dict[str, Any]:
    """Return matplotlib's options of the fill of bars."""
    return {"facecolor": colour, "hatch": hatch, "edgecolor": edge}


#: Fill of the bars of values that must be neither ranked nor graded.
WITHHELD_FILL = bar_fill("white", "xxxxxx", GREY)

#: Plot style of original speech.
ORIGINAL_STYLE = SystemStyle("black", "*", "-")
_ATTACK_FILLS = (
    bar_fill("#A6D4EE"),
    bar_fill("#E69F00", "////"),
    bar_fill("#00415F"),
    bar_fill("#009E73", "...."),
    bar_fill("#CC79A7", "xxxx"),
)


def system_styles(systems: Sequence[str]) -> Mapping[str, SystemStyle]:
    """Assign a style to each system and to original speech.

    Parameters
    ----------
    systems : sequence of str
        All systems, in the same order for all figures, so that each looks the same everywhere.

    Examples
    --------
    >>> system_styles(["B1", "B2"])["B1"].colour
    '#0072B2'
    """
    looks = map(SystemStyle, *map(itertools.cycle, (PALETTE, MARKERS, LINE_STYLES)))
    others = dict.fromkeys(s for s in systems if s != ORIGINAL_COLUMN)
    return {**dict(zip(others, looks, strict=False)), ORIGINAL_COLUMN: ORIGINAL_STYLE}


def set_name(text: Text, cells: Cells, system: str) -> None:
    """Set the style of a system's name: that of its family, and bold if it is submitted."""
    style = cells.style(system)
    text.set(
        color=style.figure_colour if style else "black",
        fontstyle="italic" if style and style.slant == "italic" else "normal",
        fontweight="bold" if system in cells.own else "normal",
    )


def families_caption(cells: Cells) -> str:
    """Describe the styles of names of all families."""
    styles = " and ".join(f"{f.colour} {f.slant}" for f in cells.families.values())
    sources = " and ".join(f"from {name}" for name in cells.families)
    several = ", respectively" if len(cells.families) > 1 else ""
    return f"{styles[:1].upper()}{styles[1:]} names: systems developed {sources}{several}"


def attack_fills(protocol: Protocol) -> Mapping[str, Mapping[str, Any]]:
    """Map attack models to the fill of their bars, from light to dark; original speech is grey."""
    attacks = [a.id for a in protocol.attack_models if not a.is_original]
    fills = dict(zip(attacks, itertools.cycle(_ATTACK_FILLS), strict=False))
    return {ORIGINAL_ATTACK: bar_fill(GREY), **fills}


def attack_label(protocol: Protocol, attack: str) -> str:
    """Title of an attack model and its enrollment and trial speech, e.g. `Lazy-informed (aa)`."""
    models, original = protocol.attack_models, attack == ORIGINAL_ATTACK
    model = next((a for a in models if (a.is_original if original else a.id == attack)), None)
    if model is None:  # which the edition does not evaluate
        return ORIGINAL_SYSTEM
    return f"{escape_mathtext(model.title)} ({model.enrollment[0]}{model.trial[0]})"


def escape_mathtext(text: str, limit: int = NAME) -> str:
    """Escape text so that matplotlib draws it literally: no mathtext, one line, at most `limit`
    characters; characters without a glyph become their code points.

    Examples
    --------
    >>> print(escape_mathtext("50%_team & $x$"))
    50%_team & \\$x\\$
    """
    line = "".join(c if c.isprintable() else " " for c in text)
    if matplotlib.rcParams["text.usetex"]:
        return escape_latex(shorten_name(line, limit))
    glyphs = _glyphs()
    line = "".join(
        c if ord(c) in glyphs else f"[U+{ord(c):04X}]" for c in shorten_name(line, limit)
    )
    return line.replace("$", r"\$")


def built_in(text: str) -> str:
    """Return a built-in label as matplotlib draws it, by LaTeX or not."""
    return for_latex(text) if matplotlib.rcParams["text.usetex"] else text


def for_latex(text: str) -> str:
    """Convert a built-in label from mathtext to LaTeX."""
    return text.replace("%", r"\%")


def shorten_name(text: str, limit: int = NAME) -> str:
    """Shorten text to at most `limit` characters, with dots in its middle."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2 - 1]}...{text[len(text) - (limit - limit // 2 - 2) :]}"


@functools.cache
def _glyphs() -> frozenset[int]:
    return frozenset(get_font(findfont(_settings()["font.family"][0])).get_charmap())


def file_stem(*parts: str) -> str:
    """Join parts to an ASCII file stem; distinct parts make distinct stems.

    Examples
    --------
    >>> file_stem("eer", "libri", "test")
    'eer_libri_test'
    """
    joined = "_".join(parts)
    plain = re.sub(r"[^A-Za-z0-9.+-]+", "_", joined).strip("._-")
    return plain if plain == joined else f"{plain}-{digest(joined.encode())[:8]}"


def split_evenly(items: Sequence[_Item], most: int) -> list[tuple[_Item, ...]]:
    """Split items, in order, into as few and as even pages as possible, with at most `most` each.

    Examples
    --------
    >>> split_evenly("abcde", 4)
    [('a', 'b', 'c'), ('d', 'e')]
    """
    count = -(-len(items) // most)
    if not count:
        return []
    size = -(-len(items) // count)
    return [tuple(items[i : i + size]) for i in range(0, len(items), size)]


def numbered_pages(
    items: Sequence[_Item], most: int
) -> Iterator[tuple[tuple[_Item, ...], tuple[str, ...], str]]:
    """Yield pages of items with the suffix of each for file names and for captions; both are
    empty if there is a single page."""
    parts = split_evenly(items, most)
    for number, page in enumerate(parts, start=1):
        several = len(parts) > 1
        yield page, (str(number),) * several, f" ({number} of {len(parts)})" * several


def page_name(name: str, number: int) -> str:
    """Append a page number to the name of a figure, except for the first page."""
    return name if number == 1 else f"{name}_{number}"


def mark_withheld(axes: Axes, x: float, y: float, mark: str) -> None:
    """Write the mark of values that must be neither ranked nor graded above a point."""
    axes.annotate(
        mark,
        (x, y),
        xytext=(0, 1.5),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=FONT,
        fontweight="bold",
        color=GREY,
        zorder=4,
    )


@contextlib.contextmanager
def figure(width: float, height: float) -> Iterator[Canvas]:
    """Make a figure of a size in inches; within the block this style applies, independent of the
    user's matplotlib settings."""
    with styled():
        canvas = Canvas(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(canvas)
        yield canvas


def panels(
    canvas: Canvas, rows: Sequence[Sequence[_Item | None]], **options: Any
) -> Iterator[tuple[Axes, _Item]]:
    """Make a grid of axes and yield each with its item; None leaves a gap.

    Options are those of `subplots`.
    """
    grid = canvas.subplots(len(rows), max(map(len, rows)), squeeze=False, **options)
    for axes_of_row, row in zip(grid, rows, strict=True):
        for axes, item in itertools.zip_longest(axes_of_row, row):
            if item is None:
                axes.remove()
            else:
                yield axes, item


def legend(
    owner: Canvas | Axes, handles: Iterable[Artist], labels: Iterable[str], **options: Any
) -> Legend:
    """Draw a legend with labels that may begin with `_`, which matplotlib would omit."""
    handles = list(handles)
    drawn = owner.legend(handles, [f"{i}" for i in range(len(handles))], **options)
    for text, label in zip(drawn.get_texts(), labels, strict=True):
        text.set_text(label)
    return drawn


def legend_columns(width: float, labels: Iterable[str]) -> int:
    """Count the columns of a legend that fit into a width in inches."""
    column = max((text_width(label) for label in labels), default=0.0) + _HANDLE
    return max(1, int(width / column))


def text_width(text: str, size: float = SMALL_FONT) -> float:
    """Measure the width of text in inches; `size` is in points."""
    font = FontProperties(family=_settings()["font.family"], size=size)
    lines = text.split("\n")
    widths = (text_to_path.get_text_width_height_descent(t, font, ismath=False)[0] for t in lines)
    return max(map(float, widths)) / 72


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Apply the settings of figures within the block."""
    with matplotlib.style.context(["default", _settings()]):
        yield


@functools.cache
def _settings() -> dict[str, Any]:
    path = Path(__file__).with_name("figures.mplstyle")
    settings: Any = rc_params_from_file(path, use_default_template=False)
    return dict(settings)
