"""Plots of curves as inline SVG."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np
import pytest
from figure_data import ODD

from privacy_eval.report.figures.plot import Curve, Panel, Plot
from privacy_eval.report.figures.svg import to_svg

Limits = tuple[float, float]


def drawn(x: Sequence[float], y: Sequence[float], y_limits: Limits = (0.0, 10.0)) -> str:
    curve = Curve(np.array(x), np.array(y), ODD, "<note>", marker="o")
    return to_svg(Plot(((Panel((curve,), "x", "y", (0.0, 1.0), y_limits, title=ODD),),)))


def points(text: str) -> list[list[int]]:
    """The curve in fractions of the axes times 1000, from the steps of its path."""
    root = ElementTree.fromstring(text)
    (axes,) = (e for e in root.iter("svg") if "data-b" in e.attrib)
    width, height = map(int, axes.attrib["viewBox"].split()[2:])
    (path,) = (e.attrib["d"] for e in axes.iter("path") if "data-n" in e.attrib)
    steps = np.array(re.findall(r"-?\d+", path), dtype=float).reshape(-1, 2).cumsum(axis=0)
    scaled = np.column_stack([steps[:, 0] / width, 1 - steps[:, 1] / height])
    return np.rint(1000 * scaled).astype(int).tolist()


def test_paths_are_of_the_values_without_points_on_a_line() -> None:
    text = drawn([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 2.5, 5.0, 0.0, 0.0])
    assert points(text) == [[0, 0], [500, 500], [750, 0], [1000, 0]]
    whole = np.linspace(0, 1, 5000)
    many = points(drawn(whole.tolist(), (10 * whole**2).tolist()))
    assert len(many) <= 204
    assert all(abs(y - x * x / 1000) < 8 for x, y in many)


def test_names_are_escaped() -> None:
    text = drawn([0.0, 1.0], [0.0, 1.0])
    shown = "".join(ElementTree.fromstring(text).itertext())
    assert shown.count(ODD) == 2 and "<note>" in shown


@pytest.mark.parametrize("limits", [(0.0, 0.0), (0.0, np.inf), (0.0, 1e-300)])
def test_untrusted_values_are_drawn_somewhere(limits: Limits) -> None:
    for y in ([np.inf, -np.inf, 1e308], [0.0, 0.0, 0.0]):
        text = drawn([0.0, 0.5, 1.0], y, limits)
        assert "nan" not in text.lower() and len(points(text)) >= 1
