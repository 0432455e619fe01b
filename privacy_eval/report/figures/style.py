"""What all figures share: sizes, fonts, colours that colour-blind readers and grey
printers tell apart, and files that are the same bytes on every run.

Figures are made with matplotlib's objects only: no pyplot, no display, no global state.
Text that others chose goes through `literal`; only our own labels may hold mathtext.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import matplotlib.style
from fontTools import subset  # which matplotlib needs and uses
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure as Canvas
from matplotlib.font_manager import findfont, get_font
from matplotlib.legend import Legend
from matplotlib.text import Text

from ...io.files import atomic_path, digest
from ...metrics import METRICS, describe
from ...protocol.protocol import Protocol
from ...results.arrays import FIGURE_FORMATS
from ..values import ORIGINAL_ATTACK, ORIGINAL_COLUMN, Cells

#: Widths in inches: a column, and a whole page, of a two-column paper.
COLUMN_WIDTH, FULL_WIDTH = 3.3, 6.9
#: Font sizes in points at print size.
FONT, SMALL_FONT = 8.0, 7.0
FORMATS = FIGURE_FORMATS[:2]

#: The colours of Okabe and Ito without black (original speech) and with a darker yellow.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#B8A800")
#: All with a face to fill; their number and those of colours and line styles have no
#: common divisor, so that systems share all three only after 385.
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

#: Axis labels, with the unit that `shown` gives.
METRIC_LABELS = MappingProxyType({key: metric.axis for key, metric in METRICS.items()})
#: The same in captions: plain text.
METRIC_NAMES = MappingProxyType({key: metric.sentence for key, metric in METRICS.items()})

_Item = TypeVar("_Item")
_DPI = 200
_FAMILY_FONT = "DejaVu Sans"  # comes with matplotlib: the same everywhere
_RC: Mapping[str, Any] = MappingProxyType(
    {
        "font.family": _FAMILY_FONT,
        "font.size": FONT,
        "axes.titlesize": FONT,
        "axes.labelsize": FONT,
        "figure.titlesize": FONT,
        "xtick.labelsize": SMALL_FONT,
        "ytick.labelsize": SMALL_FONT,
        "legend.fontsize": SMALL_FONT,
        "legend.frameon": False,
        "legend.handlelength": 2.2,
        "axes.linewidth": 0.6,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.linewidth": 0.4,
        "grid.color": "#D0D0D0",
        "lines.linewidth": 1.2,
        "lines.markersize": 4.0,
        "hatch.linewidth": 0.6,
        "patch.linewidth": 0.5,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "savefig.dpi": _DPI,
        "figure.dpi": _DPI,
        "pdf.fonttype": 42,
        "svg.hashsalt": "privacy_eval",
    }
)
# Without these the same drawing gives other bytes tomorrow or under another version.
_METADATA: Mapping[str, Mapping[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_CANVASES = MappingProxyType({"png": FigureCanvasAgg, "pdf": FigureCanvasPdf})


@dataclass(frozen=True)
class SystemStyle:
    """How a system is drawn wherever it is."""

    colour: str
    marker: str
    line_style: LineStyle


@dataclass(frozen=True)
class NameStyle:
    """How a system's name is set: colour and slant tell its family, weight that it is
    one's own."""

    colour: str
    slant: str
    weight: str

    def apply(self, text: Text) -> None:
        """Set a text so."""
        text.set(color=self.colour, fontstyle=self.slant, fontweight=self.weight)


@dataclass(frozen=True)
class BarStyle:
    """How bars of an attack model are filled."""

    colour: str
    hatch: str


@dataclass(frozen=True)
class Drawing:
    """A figure that is not yet saved.

    Attributes
    ----------
    name : str
        Stem of its files.
    caption : str
        Plain text.
    drawn : matplotlib.figure.Figure, or callable
        What it is, or what draws it when it is needed: of the jobs that share figures, one.
    """

    name: str
    caption: str
    drawn: Canvas | Callable[[], Canvas]

    @functools.cached_property
    def canvas(self) -> Canvas:
        """The figure, drawn."""
        return self.drawn() if callable(self.drawn) else self.drawn

    def discard(self) -> None:
        """Free the memory of what was drawn: it cannot be saved any more."""
        if not callable(self.drawn) or "canvas" in vars(self):
            self.canvas.clear()


@dataclass(frozen=True)
class Figure:
    """A figure on disk.

    Attributes
    ----------
    name : str
        Stem of its files.
    caption : str
        Plain text.
    files : tuple of Path
    """

    name: str
    caption: str
    files: tuple[Path, ...]


#: Original speech, whatever else there is.
ORIGINAL_STYLE = SystemStyle("black", "*", "-")
_NAME_COLOURS = {"B1": ("#0058A3", "normal"), "B2": ("#C1121F", "italic")}
_ATTACK_STYLES = (
    BarStyle("#A6D4EE", ""),
    BarStyle("#E69F00", "////"),
    BarStyle("#00415F", ""),
    BarStyle("#009E73", "...."),
    BarStyle("#CC79A7", "xxxx"),
)
#: Families of published systems whose names are coloured.
FAMILIES = frozenset(_NAME_COLOURS)
NAMES_NOTE = (
    "Blue upright and red italic names: systems developed from B1 and from B2, respectively"
)


def system_styles(systems: Sequence[str]) -> Mapping[str, SystemStyle]:
    """A style for each system, and that of original speech.

    Parameters
    ----------
    systems : sequence of str
        All systems there are, in one order for all figures: a figure of some of them looks
        theirs up, so that each looks the same everywhere.

    Examples
    --------
    >>> system_styles(["B1", "B2"])["B1"].colour
    '#0072B2'
    """
    styles = {
        system: SystemStyle(
            PALETTE[i % len(PALETTE)],
            MARKERS[i % len(MARKERS)],
            LINE_STYLES[i % len(LINE_STYLES)],
        )
        for i, system in enumerate(dict.fromkeys(s for s in systems if s != ORIGINAL_COLUMN))
    }
    return MappingProxyType({**styles, ORIGINAL_COLUMN: ORIGINAL_STYLE})


def name_style(cells: Cells, system: str) -> NameStyle:
    """How the name of a system is set: blue if developed from B1, red and italic if from
    B2, bold if it is the user's."""
    colour, slant = _NAME_COLOURS.get(cells.family.get(system, ""), ("black", "normal"))
    return NameStyle(colour, slant, "bold" if system in cells.own else "normal")


def attack_styles(protocol: Protocol) -> Mapping[str, BarStyle]:
    """Fill of each attack model's bars, from light to dark; original speech is grey."""
    attacks = [a.id for a in protocol.attack_models if not a.is_original]
    styles = {a: _ATTACK_STYLES[i % len(_ATTACK_STYLES)] for i, a in enumerate(attacks)}
    return MappingProxyType({ORIGINAL_ATTACK: BarStyle(GREY, ""), **styles})


def shown(metric: str, value: float) -> float:
    """A value of the unit of records in the unit of the metric's axis."""
    return describe(metric).shown(value)


def attack_label(protocol: Protocol, attack: str) -> str:
    """Title of an attack model and what it compares, e.g. `Lazy-informed (aa)`."""
    model = next(
        a
        for a in protocol.attack_models
        if (a.is_original if attack == ORIGINAL_ATTACK else a.id == attack)
    )
    return f"{literal(model.title)} ({model.enrollment[0]}{model.trial[0]})"


def literal(text: str, limit: int = 28) -> str:
    """Any text as matplotlib draws it letter by letter: no mathtext, one line, at most
    `limit` characters; what the font has no glyph for becomes its code point.

    Examples
    --------
    >>> print(literal("50%_team & $x$"))
    50%_team & \\$x\\$
    """
    line = "".join(c if c.isprintable() else " " for c in text)
    if len(line) > limit:
        line = f"{line[: limit // 2]}\u2026{line[len(line) - (limit - limit // 2 - 1) :]}"
    known = _glyphs()
    line = "".join(c if ord(c) in known else f"[U+{ord(c):04X}]" for c in line)
    return line.replace("$", r"\$")


@functools.cache
def _glyphs() -> frozenset[int]:
    return frozenset(get_font(findfont(_FAMILY_FONT)).get_charmap())


def stem(*parts: str) -> str:
    """A file stem of plain ASCII; distinct parts make distinct stems.

    Examples
    --------
    >>> stem("eer", "libri", "test")
    'eer_libri_test'
    """
    joined = "_".join(parts)
    plain = re.sub(r"[^A-Za-z0-9.+-]+", "_", joined).strip("._-")
    return plain if plain == joined else f"{plain}-{digest(joined.encode())[:8]}"


def pages(items: Sequence[_Item], most: int) -> list[tuple[_Item, ...]]:
    """Items in order, over as few pages of at most `most` as hold them, as even as can be.

    Examples
    --------
    >>> pages("abcde", 4)
    [('a', 'b', 'c'), ('d', 'e')]
    """
    count = -(-len(items) // most)
    if not count:
        return []
    size = -(-len(items) // count)
    return [tuple(items[i : i + size]) for i in range(0, len(items), size)]


@contextlib.contextmanager
def figure(width: float = FULL_WIDTH, height: float = 3.0) -> Iterator[Canvas]:
    """A figure of a size in inches, in this module's style within the block, whatever the
    user's own matplotlib settings are."""
    with _style():
        canvas = Canvas(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(canvas)
        yield canvas


def legend(
    owner: Canvas | Axes, handles: Sequence[Artist], labels: Iterable[str], **options: Any
) -> Legend:
    """A legend of labels that may start with `_`, which matplotlib would leave out."""
    made = owner.legend(list(handles), [f"{i}" for i in range(len(handles))], **options)
    for text, label in zip(made.get_texts(), labels, strict=True):
        text.set_text(label)
    return made


def legend_columns(width: float, labels: Iterable[str]) -> int:
    """How many columns of a legend fit into a width in inches."""
    return max(1, int(width / (0.062 * max(map(len, labels), default=1) + 0.5)))


def save(
    canvas: Canvas, folder: Path, name: str, formats: Sequence[str] = FORMATS
) -> tuple[Path, ...]:
    """Write a figure as `<folder>/<name>.<format>`: the same bytes on every run.

    Raises
    ------
    PrivacyEvalError
        A file cannot be written.
    """
    with _style():
        engine = canvas.get_layout_engine()
        if engine is not None:  # laid out once for all formats
            engine.execute(canvas)
            canvas.set_layout_engine("none")
    files = []
    for extension in formats:
        path = folder / f"{name}.{extension}"
        canvas.dpi = _DPI  # printing as PDF changes it
        # Not `savefig`, which draws everything twice as soon as there is a layout.
        to_print = getattr(_CANVASES[extension](canvas), f"print_{extension}")
        with atomic_path(path) as temporary, _style(), _plain_fonts():
            to_print(temporary, metadata=dict(_METADATA[extension]))
        files.append(path)
    return tuple(files)


def write(drawing: Drawing, folder: Path, formats: Sequence[str] = FORMATS) -> Figure:
    """Save a drawing, and free its memory: it cannot be saved again."""
    files = save(drawing.canvas, folder, drawing.name, formats)
    drawing.discard()
    return Figure(drawing.name, drawing.caption, files)


@contextlib.contextmanager
def _style() -> Iterator[None]:
    with matplotlib.style.context(["default", dict(_RC)]):
        yield


@contextlib.contextmanager
def _plain_fonts() -> Iterator[None]:
    """While fonts are embedded: without their tables for typesetters, which no reader of a PDF
    looks at. Cutting these down to the letters of a figure takes most of the time of embedding."""
    load = subset.load_font

    def load_plain(path: Any, options: Any, **more: Any) -> Any:
        options.drop_tables += ["GDEF", "GPOS", "GSUB"]
        return load(path, options, **more)

    subset.load_font = load_plain
    try:
        yield
    finally:
        subset.load_font = load
