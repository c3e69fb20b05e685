"""The paper's figures: twelve small panels of error curves, drawn by the same writer as the page's charts.

Each panel: the random ELM's mean and the range of its realisations, A, I (dashed from where it converged: its last
error goes on), and linear regression's error as a dotted level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from benchmarks.paper.measure import Json
from enrelm_cli.show.axes import Scale
from enrelm_cli.show.chart import Axis, Chart, Line, Mark, continued, elm_marks, level
from enrelm_cli.show.palette import paint_of
from enrelm_cli.show.svg import Frame, drawing, sample
from enrelm_cli.types import Array

_PANEL = Frame(220, 150, left=34, right=6, top=18, bottom=18, ticks=(4, 4), points=90)
_COLUMNS = 3
_HEAD = 44
_STYLE = (
    "text{font:9px sans-serif;fill:#222}.t{font-weight:bold}.h{font-size:12px;font-weight:bold}"
    ".line{fill:none;stroke-width:1.3}.dashed{stroke-dasharray:4 2}.dotted{stroke-dasharray:1 2;stroke-width:1}"
    ".band{stroke:none;opacity:.25}.axis{fill:none;stroke:#888;stroke-width:.7}.grid{stroke:#ddd;stroke-width:.4}"
)


@dataclass(frozen=True)
class Panel:
    """One dataset's curves of one side of the split."""

    title: str
    approximate: Array
    incremental: Array
    converged: bool
    elm: dict[str, Array]  # mean, low, high
    linear: float | None


def panel_of(title: str, result: Json, side: str) -> Panel:
    """From the result of a dataset's first draw; side is train or test."""
    incremental = result["incremental"]["curves"]
    band = result["elm"]["curves"][side]
    return Panel(
        title,
        np.array(result["approximate"]["curves"][side]),
        np.array(incremental[side]),
        bool(incremental["converged"]),
        {name: np.array(values) for name, values in band.items()},
        result["linear"]["error"] if side == "test" else None,
    )


def figure(title: str, panels: Sequence[Panel]) -> str:
    """All panels under one title and legend."""
    rows = math.ceil(len(panels) / _COLUMNS)
    width, height = _COLUMNS * _PANEL.width, _HEAD + rows * _PANEL.height + 4
    charts = [_chart(panel) for panel in panels]
    drawn = [
        f'<g transform="translate({k % _COLUMNS * _PANEL.width} {_HEAD + k // _COLUMNS * _PANEL.height})">'
        f'<text class="t" x="{_PANEL.left}" y="12">{escape(chart.title)}</text>'
        f"{drawing(chart, _PANEL, 'frame', _light)}</g>"
        for k, chart in enumerate(charts)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f'<clipPath id="frame">{_PANEL.clip}</clipPath>'
        f'<rect width="{width}" height="{height}" fill="#fff"/><text class="h" x="8" y="16">{escape(title)}</text>'
        f"{_legend(charts[0])}{''.join(drawn)}</svg>\n"
    )


def _legend(chart: Chart) -> str:
    parts, x = [], 8
    for mark in chart.named():
        parts.append(f'<svg x="{x}" y="23">{sample(mark, _light)}</svg>')
        parts.append(f'<text x="{x + 28}" y="33">{escape(mark.name)}</text>')
        x += 46 + 5 * len(mark.name)
    return "".join(parts)


def _chart(panel: Panel) -> Chart:
    n = max(len(panel.approximate), len(panel.incremental), len(panel.elm["mean"]))
    x, y = Scale(1.0, float(max(n, 2))), _error_scale(panel)
    marks: list[Mark] = elm_marks(panel.elm["mean"], panel.elm["low"], panel.elm["high"], "elm, range")
    marks.append(_line("A-ENR-ELM", "approximate", panel.approximate))
    marks.append(_line("I-ENR-ELM, dashed: converged", "incremental", panel.incremental))
    if panel.converged:
        marks += continued("incremental", panel.incremental, n)
    if panel.linear is not None:
        marks.append(level("linear regression", "linear", panel.linear, x))
    return Chart(panel.title, Axis("neurons", x), Axis("relative error", y), tuple(marks))


def _line(name: str, method: str, errors: Array) -> Line:
    return Line(name, method, np.arange(1.0, len(errors) + 1), errors)


def _error_scale(panel: Panel) -> Scale:
    """From the lowest curve to where the curves start; an ELM that overfits leaves through the top."""
    low = min(float(np.min(curve)) for curve in (panel.approximate, panel.incremental, panel.elm["low"]))
    start = max(float(panel.approximate[0]), float(panel.incremental[0]), min(float(panel.elm["mean"][0]), 1.2))
    return Scale(max(0.0, low - 0.05 * (start - low)), 1.05 * start)


def _light(method: str) -> str:
    return paint_of(method).light
