"""The paper's figures: twelve small panels of error curves, as SVG written by hand.

Each panel: the random ELM's mean and the range of its realisations, A, I (dashed from where it converged: its last
error goes on), and linear regression's error as a dotted level. Points are thinned to what a panel of this size shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from benchmarks.paper.measure import Json
from enrelm_cli.show.axes import BLACK, GREEN, ORANGE, PURPLE, Scale, ticks
from enrelm_cli.types import Array

_WIDTH, _HEIGHT = 220, 150  # of a panel
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 6, 18, 18
_COLUMNS = 3
_HEAD = 44
_MOST_POINTS = 90
_STYLE = (
    "text{font:9px sans-serif;fill:#222}.t{font-weight:bold}.h{font-size:12px;font-weight:bold}"
    ".l{fill:none;stroke-width:1.3}.d{stroke-dasharray:4 2}.o{stroke-dasharray:1 2;stroke-width:1}"
    ".b{stroke:none;opacity:.25}.x{fill:none;stroke:#888;stroke-width:.7}"
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
    width, height = _COLUMNS * _WIDTH, _HEAD + rows * _HEIGHT + 4
    drawn = [
        f'<g transform="translate({k % _COLUMNS * _WIDTH} {_HEAD + k // _COLUMNS * _HEIGHT})">{_panel(panel)}</g>'
        for k, panel in enumerate(panels)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f'<clipPath id="frame"><rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH - _LEFT - _RIGHT}" '
        f'height="{_HEIGHT - _TOP - _BOTTOM}"/></clipPath>'
        f'<rect width="{width}" height="{height}" fill="#fff"/><text class="h" x="8" y="16">{escape(title)}</text>'
        f"{_legend(any(panel.linear is not None for panel in panels))}{''.join(drawn)}</svg>\n"
    )


def _legend(linear: bool) -> str:
    entries = [
        ("A-ENR-ELM", ORANGE, "l"),
        ("I-ENR-ELM, dashed: converged", GREEN, "l"),
        ("ELM, mean and range", PURPLE, "l"),
    ]
    entries += [("linear regression", BLACK, "l o")] if linear else []
    parts, x = [], 8
    for name, paint, kind in entries:
        parts.append(f'<path class="{kind}" stroke="{paint}" d="M{x} 30h18"/><text x="{x + 22}" y="33">{name}</text>')
        x += 40 + 5 * len(name)
    return "".join(parts)


def _panel(panel: Panel) -> str:
    n = max(len(panel.approximate), len(panel.incremental), len(panel.elm["mean"]))
    x, y = Scale(1.0, float(max(n, 2))), _error_scale(panel)
    mean = panel.elm["mean"]
    there, back = _points(panel.elm["low"], x, y), _points(panel.elm["high"], x, y)[::-1]
    parts = [
        f'<text class="t" x="{_LEFT}" y="12">{escape(panel.title)}</text>',
        _axes(x, y),
        '<g clip-path="url(#frame)">',
        f'<path class="b" fill="{PURPLE}" d="{_path(there + back)}z"/>',
        _line(mean, x, y, PURPLE),
        _line(panel.approximate, x, y, ORANGE),
        _line(panel.incremental, x, y, GREEN),
        "</g>",
    ]
    last = len(panel.incremental)
    if panel.converged and last < n:
        height = _py(y, float(panel.incremental[-1]))
        parts.append(f'<path class="l d" stroke="{GREEN}" d="M{_px(x, last)} {height}H{_px(x, n)}"/>')
    if panel.linear is not None:
        parts.append(f'<path class="l o" stroke="{BLACK}" d="M{_LEFT} {_py(y, panel.linear)}H{_WIDTH - _RIGHT}"/>')
    return "".join(parts)


def _error_scale(panel: Panel) -> Scale:
    """From the lowest curve to where the curves start; an ELM that overfits leaves through the top."""
    low = min(float(np.min(curve)) for curve in (panel.approximate, panel.incremental, panel.elm["low"]))
    start = max(float(panel.approximate[0]), float(panel.incremental[0]), min(float(panel.elm["mean"][0]), 1.2))
    return Scale(max(0.0, low - 0.05 * (start - low)), 1.05 * start)


def _axes(x: Scale, y: Scale) -> str:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = [f'<path class="x" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>']
    for value in ticks(y, 4):
        parts.append(f'<text x="{_LEFT - 3}" y="{float(_py(y, value)) + 3:.0f}" text-anchor="end">{value:.2g}</text>')
    for value in ticks(x, 4):
        parts.append(f'<text x="{_px(x, value)}" y="{bottom + 11}" text-anchor="middle">{value:g}</text>')
    return "".join(parts)


def _line(curve: Array, x: Scale, y: Scale, paint: str) -> str:
    return f'<path class="l" stroke="{paint}" d="{_path(_points(curve, x, y))}"/>'


def _points(curve: Array, x: Scale, y: Scale) -> list[str]:
    n = len(curve)
    # The bend is at the left: every size there, then as many as the panel can show.
    kept = np.unique(np.concatenate([np.arange(min(n, 40)), np.linspace(0, n - 1, _MOST_POINTS).astype(int)]))
    return [f"{_px(x, float(k + 1))} {_py(y, float(curve[k]))}" for k in kept]


def _path(points: Sequence[str]) -> str:
    return "M" + "L".join(points)


def _px(scale: Scale, value: float) -> str:
    return f"{_LEFT + scale.at(value) * (_WIDTH - _LEFT - _RIGHT):.1f}".removesuffix(".0")


def _py(scale: Scale, value: float) -> str:
    """What lies far above the panel need not be drawn where it is: it is cut off anyway."""
    share = min(scale.at(min(value, 1e9)), 3.0)
    return f"{_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM):.1f}".removesuffix(".0")
