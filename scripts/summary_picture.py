#!/usr/bin/env python3
"""Draw docs/summary.png: the summary that a recipe ends with, as a terminal shows it.

scripts/summary_picture.py recipes/demo/work/results docs/summary.png
"""

from __future__ import annotations

import argparse
import io
import re
import textwrap
from pathlib import Path

from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

BACKGROUND, TEXT, FAINT, GREEN, RED = "#1e2230", "#d8dee9", "#7f8aa3", "#a3d977", "#f08080"
#: Size of a character (13 pixels) and of a line, in inches at a font of 10 points.
WIDTH, HEIGHT = 0.0867, 0.19
#: Longer notes go on in the next line.
COLUMNS = 132


def draw(lines: list[str]) -> Image.Image:
    """Draw lines of text, EERs in colours from no to much privacy."""
    columns = max(map(len, lines)) + 5
    size = (columns * WIDTH, (len(lines) + 2) * HEIGHT)
    figure = Figure(figsize=size, dpi=150, facecolor=BACKGROUND)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, columns), ylim=(len(lines) + 1, -1))
    axes.set_axis_off()
    axes.add_patch(Rectangle((0, -1), columns, len(lines) + 2, color=BACKGROUND))
    font = font_manager.FontProperties(family="DejaVu Sans Mono", size=10)
    for number, line in enumerate(lines):
        for start, part, colour, weight in parts(number, line):
            axes.text(start + 2, number + 0.5, part, color=colour, font=font, weight=weight)
    drawn = io.BytesIO()
    FigureCanvasAgg(figure).print_png(drawn)
    return Image.open(drawn).convert("RGB").quantize(48, dither=Image.Dither.NONE)


def parts(number: int, line: str) -> list[tuple[int, str, str, str]]:
    """Split a line into pieces with place, colour and weight."""
    if number == 0 or line.startswith("System"):
        return [(0, line, TEXT, "bold")]
    eer = re.match(r"(\S.*\s\d+\s+)(\d+\.\d+)(\s+\[.*?\])?", line)
    if eer is None:
        return [(0, line, FAINT, "normal")]
    colour = GREEN if float(eer[2]) >= 30 else RED
    rest = line[eer.end(2) :]
    return [
        (0, eer[1], TEXT, "normal"),
        (eer.start(2), eer[2], colour, "bold"),
        (eer.end(2), rest, TEXT, "normal"),
    ]


def main() -> None:
    """Draw the summary of a folder of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    text = (arguments.results / "tables/summary.txt").read_text(encoding="utf-8")
    title, *rows = text.splitlines()
    lines = [title.partition(" with ")[0]]
    lines += [part for row in rows for part in textwrap.wrap(row, COLUMNS) or [""]]
    lines += ["", *(f"{n:<13} {arguments.results}/{n}" for n in ("results.json", "report.html"))]
    draw(lines).save(arguments.out, optimize=True)


if __name__ == "__main__":
    main()
