"""Plots of curves as pgfplots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..latex import escape_latex
from .plot import (
    LEGEND_LINE,
    SIDE,
    Curve,
    Panel,
    Plot,
    all_curves,
    clipped,
    legend_entries,
    name_limit,
    own_marked,
    panel_limits,
    shortened,
    thinned,
)

_TEX_MARKS = {
    "o": "*",
    "s": "square*",
    "^": "triangle*",
    "D": "diamond*",
    "v": "triangle*, mark options={rotate=180}",
    "P": "+",
    "X": "x",
    "<": "triangle*, mark options={rotate=90}",
    ">": "triangle*, mark options={rotate=270}",
    "p": "pentagon*",
    "h": "otimes*",
    "*": "star",
}

# pgfplots


def to_tex(plot: Plot, caption: str = "") -> str:
    """A plot as LaTeX: alone a document, within one a `tikzpicture`."""
    comment = " ".join(caption.split())
    lines = [
        *([f"% {comment}"] if comment else []),
        r"% Alone: pdflatex. Within a document: \usepackage{pgfplots} and \input of this file.",
        r"\expandafter\ifx\csname @twoclasseserror\endcsname\documentclass\else",
        r"\IfFileExists{standalone.cls}{\documentclass[border=3pt]{standalone}}"
        r"{\documentclass{article}\pagestyle{empty}}",
        r"\usepackage[T1]{fontenc}",
        r"\usepackage{pgfplots}",
        r"\pgfplotsset{compat=1.9}",
        r"\begin{document}",
        r"\def\privacyevalend{\end{document}}",
        r"\fi",
        r"\begin{tikzpicture}",
    ]
    colours = {c.colour: f"privacyeval{i}" for i, c in enumerate(all_curves(plot))}
    for colour, name in colours.items():
        lines.append(rf"\definecolor{{{name}}}{{HTML}}{{{_hex(colour)}}}")
    below = LEGEND_LINE * max(len(legend_entries(p.curves)) for _, _, p in plot.panels())
    pitch = (
        plot.panel_height
        + (1.2 if plot.legend == "below" else 0.9)
        + (below if plot.legend == "below" else 0)
    )
    # The legend on the right takes its place, each panel its labels.
    free = plot.width - (2.6 if plot.legend == "right" else 0)
    width = free / plot.columns - (0.5 if plot.columns > 2 else 0.75)
    last = max(i for i, _, _ in plot.panels())
    shared = min((j for i, j, _ in plot.panels() if i == last), default=0)
    everything = legend_entries(all_curves(plot))
    for i, j, panel in plot.panels():
        height = width if panel.square else plot.panel_height
        place = f"at={{({j * free / plot.columns:.3g}in,{-i * pitch:.3g}in)}}"
        size = f"scale only axis, width={width:.3g}in, height={height:.3g}in"
        entries: list[Curve] = []
        if plot.legend == "below":
            entries = legend_entries(panel.curves)
            anchor = "at={(0.5,-0.27)}, anchor=north"
        elif plot.legend == "right":
            entries, anchor = everything, "at={(1.03,1)}, anchor=north west"
        elif (i, j) == (last, shared):
            entries = everything
            anchor = f"at={{(0,-0.4)}}, anchor=north west, legend columns={plot.legend_columns}"
        limit = name_limit(plot, entries)
        lines += _tex_axis(
            panel, f"{place}, {size}", colours, entries, anchor if entries else "", limit
        )
    if plot.title:
        lines.append(
            r"\node[anchor=south, font=\footnotesize] at (current bounding box.north) "
            f"{{{escape_latex(plot.title)}}};"
        )
    lines += [
        r"\end{tikzpicture}%",
        r"\ifdefined\privacyevalend\expandafter\privacyevalend\fi",
    ]
    return "".join(f"{line}\n" for line in lines)


def _tex_axis(
    panel: Panel,
    place: str,
    colours: dict[str, str],
    entries: Sequence[Curve],
    anchor: str,
    limit: int,
) -> list[str]:
    side = f"{escape_latex(shortened(panel.side_title, SIDE))}\\\\" if panel.side_title else ""
    common = (
        r"label style={font=\footnotesize, align=center}, tick label style={font=\scriptsize}, "
        r"title style={font=\footnotesize}, scaled ticks=false, tick align=outside"
    )
    options = [
        place,
        common,
        "axis lines=left, axis line style={-}, grid=major, grid style={black!15}",
        _tex_limits("x", panel.x_limits) + ", " + _tex_limits("y", panel.y_limits),
        f"xlabel={{{own_marked(panel.x_label)}}}, ylabel={{{side}{own_marked(panel.y_label)}}}",
    ]
    if panel.title or panel.title_math:
        options.append(f"title={{{escape_latex(panel.title)}{panel.title_math}}}")
    for axis, ticks in (("x", panel.x_ticks), ("y", panel.y_ticks)):
        if ticks:
            places = ",".join(f"{at:.6g}" for at, _ in ticks)
            texts = ",".join(f"{{{text}}}" for _, text in ticks)
            options.append(f"{axis}tick={{{places}}}, {axis}ticklabels={{{texts}}}")
    if anchor:
        options.append(
            rf"legend style={{{anchor}, draw=none, fill=none, font=\scriptsize}}, "
            "legend cell align=left"
        )
    lines = [r"\begin{axis}[", *(f"  {o}," for o in options), "]"]
    for curve in entries:
        lines.append(f"\\addlegendimage{{{_tex_line(curve, colours, marked=True)}}}")
        text = " ".join(filter(None, (shortened(curve.name, limit), curve.note)))
        lines.append(f"\\addlegendentry{{{escape_latex(text)}}}")
    lines += [_tex_curve(c, panel, colours) for c in panel.curves if not c.right]
    lines.append(r"\end{axis}")
    if any(c.right for c in panel.curves):
        labels = (
            f"ylabel={{{own_marked(panel.right_label)}}}" if panel.right_label else "yticklabels={}"
        )
        lines += [
            r"\begin{axis}[",
            f"  {place},",
            f"  {common},",
            "  axis y line*=right, axis x line=none, ymin=0, ymax=1.05, "
            f"{_tex_limits('x', panel.x_limits)}, {labels},",
            "]",
            *(_tex_curve(c, panel, colours) for c in panel.curves if c.right),
            r"\end{axis}",
        ]
    return lines


def _tex_curve(curve: Curve, panel: Panel, colours: dict[str, str]) -> str:
    y_limits = (0.0, 1.05) if curve.right else panel.y_limits
    x, y = thinned(curve.x, curve.y, panel.x_limits, y_limits)
    text = f"\\addplot[{_tex_line(curve, colours)}, forget plot] coordinates {{{_points(x, y)}}}"
    if curve.fill:
        return f"{text} \\closedcycle;"
    if curve.marks.size:
        mark = _tex_line(curve, colours, marked=True)
        at = _points(
            *(clipped(v, lim) for v, lim in zip(curve.marks.T, panel_limits(panel), strict=True))
        )
        text += f";\n\\addplot[{mark}, only marks, forget plot] coordinates {{{at}}}"
    return f"{text};"


def _tex_line(curve: Curve, colours: dict[str, str], *, marked: bool = False) -> str:
    name = colours[curve.colour]
    if curve.fill:
        legend = ", area legend" if marked else ""
        return f"draw=none, fill={name}, fill opacity=0.3{legend}"
    options = [name, f"line width={curve.width:g}pt"]
    if not isinstance(curve.line_style, str):
        lengths = [curve.width * length for length in curve.line_style[1]]
        words = zip(("on", "off") * (len(lengths) // 2), lengths, strict=True)
        options.append("dash pattern=" + " ".join(f"{w} {v:.3g}pt" for w, v in words))
    if marked and curve.marker:
        options.append(f"mark={_TEX_MARKS[curve.marker]}, mark size=1.8pt")
    else:
        options.append("mark=none")
    return ", ".join(options)


def _points(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    return " ".join(f"({a:.5g},{b:.5g})" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _tex_limits(axis: str, limits: tuple[float, float]) -> str:
    return f"{axis}min={limits[0]:.6g}, {axis}max={limits[1]:.6g}"


def _hex(colour: str) -> str:
    return {"black": "000000", "white": "FFFFFF"}.get(colour, colour.lstrip("#").upper())
