"""Lines over nights, with their intervals, as inline SVG. Colours are the page's own, so that they follow its scheme.

Same figures, same bytes: no dates and no random names in the SVG.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

_INK, _RULE = "#010203", "#040506"
_LINES = ("#070809", "#0a0b0c", "#0d0e0f")
_COLOURS = {_INK: "var(--ink)", _RULE: "var(--line)"} | {c: f"var(--line-{n})" for n, c in enumerate(_LINES, 1)}
_MARKS = ("o", "s", "^")
_SIZE = (7.2, 2.6)  # inches


@dataclass(frozen=True, slots=True)
class Point:
    """One night of a line. The interval is None for an exact count; the value is None where nothing was counted."""

    at: datetime
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One figure over the nights, oldest first."""

    name: str
    points: Sequence[Point]


def trend(lines: Sequence[Line], name: str) -> Markup:
    """SVG of up to three shares over time, each with the band of its interval. `name` tells charts of a page apart."""
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": name, "text.color": _INK, "font.family": "sans-serif"}
    with mpl.rc_context(style):
        figure = Figure(figsize=_SIZE, layout="constrained")
        canvas = FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for line, colour, mark in zip(lines, _LINES, _MARKS, strict=False):
            _draw(axes, line, colour, mark)
        axes.set_ylim(-0.03, 1.03)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        _date(axes, any(point.value is not None for line in lines for point in line.points))
        axes.grid(visible=True, axis="y", color=_RULE, linewidth=0.8)
        axes.tick_params(colors=_INK, labelcolor=_INK, length=0)
        axes.spines[:].set_visible(False)
        figure.legend(loc="outside lower left", ncols=3, frameon=False, labelcolor=_INK)
        drawn = io.StringIO()
        canvas.print_svg(drawn, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :]
    for colour, variable in _COLOURS.items():
        svg = svg.replace(colour, variable)
    return Markup(svg)  # noqa: S704 - made of numbers and of names that matplotlib escapes


def _date(axes: Axes, known: bool) -> None:
    """Days along the axis; without a single figure there are none to tell, and words say so."""
    if not known:
        axes.set_xticks([])
        axes.text(0.5, 0.5, "nothing was counted yet", transform=axes.transAxes, ha="center", va="center", color=_INK)
        return
    locator = AutoDateLocator(minticks=2, maxticks=6)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _draw(axes: Axes, line: Line, colour: str, mark: str) -> None:
    known = [(date2num(point.at), point.value) for point in line.points if point.value is not None]
    axes.plot([at for at, _ in known], [v for _, v in known], color=colour, marker=mark, markersize=4, label=line.name)
    banded = [
        (date2num(point.at), point.low, point.high)
        for point in line.points
        if point.low is not None and point.high is not None
    ]
    days, lows, highs = ([float(one[n]) for one in banded] for n in range(3))
    if len(banded) > 1:
        axes.fill_between(days, lows, highs, color=colour, alpha=0.18, linewidth=0)
    elif banded:
        axes.vlines(days, lows, highs, color=colour, linewidth=2, alpha=0.4)
