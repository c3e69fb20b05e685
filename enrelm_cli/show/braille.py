"""Error curves in a terminal: lines of braille dots, or of ASCII characters where the encoding is poor.

A braille cell holds 2 x 4 dots, so 60 x 16 cells draw 120 x 64. What is drawn last owns the cell's style; the dots of
all series stay. Rows come out as runs of (text, style); only the renderer knows what a style is.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from enrelm_cli.report import words
from enrelm_cli.report.reports import CurveReport
from enrelm_cli.show.chart import Axis, Band, Chart, Cloud, Line, Point, curve_chart
from enrelm_cli.show.palette import paint_of
from enrelm_cli.types import Array

Run = tuple[str, str]

# Bit of each dot of a braille cell: [row][column].
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))

_ASCII_PENS = "*+xo~"
_SHAPES = {"circle": "●", "diamond": "◆", "triangle": "▲", "square": "■"}
_SAMPLES = {"solid": "⠒⠒⠒", "thin": "⠂⠐ ⠂", "dashed": "⠒⠂⠐⠒", "dotted": "╌╌"}
# Which of a line's dots are drawn, counted along it.
_KEPT: dict[str, Callable[[int], bool]] = {
    "solid": lambda i: True,
    "thin": lambda i: i % 4 == 0,
    "dashed": lambda i: i % 4 < 2,
    "dotted": lambda i: i % 8 < 3,
}
_MARGIN = 8  # of the numbers on the left


class Canvas:
    """Cells with dots, characters and styles."""

    def __init__(self, width: int, height: int, unicode: bool) -> None:
        self.width, self.height, self.unicode = width, height, unicode
        # ASCII has one dot a cell.
        self.across, self.down = (2, 4) if unicode else (1, 1)
        self._bits = np.zeros((height, width), dtype=np.int64)
        self._characters = np.full((height, width), "", dtype=object)
        self._styles = np.full((height, width), "", dtype=object)
        self._taken = np.zeros((height, width), dtype=bool)

    @property
    def dots(self) -> tuple[int, int]:
        return self.width * self.across, self.height * self.down

    def dot(self, x: int, y: int, style: str, pen: str) -> None:
        """One dot; y grows upwards."""
        across, down = self.dots
        if not (0 <= x < across and 0 <= y < down):
            return
        below = down - 1 - y
        row, column = below // self.down, x // self.across
        self._bits[row, column] |= _DOTS[below % 4][x % 2] if self.unicode else 1
        if not self.unicode:
            self._characters[row, column] = pen
        self._styles[row, column] = style

    def line(self, xs: Array, ys: Array, style: str, pen: str, keep: Callable[[int], bool]) -> None:
        """A polyline through shares of the canvas (0..1); `keep` makes it dotted or dashed."""
        across, down = self.dots
        walked = 0
        px, py = xs * (across - 1), ys * (down - 1)
        for i in range(len(xs) - 1):
            if not np.isfinite([py[i], py[i + 1]]).all():
                continue
            # Clipped far outside, so that a leap to 1e9 does not walk there.
            (x0, x1), (y0, y1) = (px[i], px[i + 1]), np.clip([py[i], py[i + 1]], -down, 2 * down)
            steps = max(1, math.ceil(max(abs(x1 - x0), abs(y1 - y0))))
            for step in range(steps + 1):
                if keep(walked):
                    self.dot(round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps), style, pen)
                walked += step < steps
        if len(xs) == 1 and np.isfinite(py[0]):
            self.dot(round(px[0]), round(py[0]), style, pen)

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Row and column of a share of the canvas."""
        across, down = self.dots
        column = min(self.width - 1, round(x * (across - 1)) // self.across)
        row = min(self.height - 1, max(0, (down - 1 - round(y * (down - 1))) // self.down))
        return row, column

    def put(self, row: int, column: int, text: str, style: str) -> None:
        for i, character in enumerate(text):
            self._characters[row, column + i] = character
            self._styles[row, column + i] = style
            self._taken[row, column + i] = True

    def label(self, row: int, column: int, text: str, style: str, left: bool) -> None:
        """Beside a mark, where it hides the least; on the side that is wished if both are as good."""
        best: tuple[float, int, int] | None = None
        for distance, near in (
            (0, row),
            (1, row - 1),
            (1, row + 1),
            (2, row - 2),
            (2, row + 2),
            (3, row - 3),
            (3, row + 3),
        ):
            for start in (column + 2, column - len(text) - 1, column - len(text) // 2):
                beside = start == column - len(text) // 2
                if (
                    not 0 <= near < self.height
                    or start < 0
                    or start + len(text) > self.width
                    or (beside and near == row)
                ):
                    continue
                # One blank on either side, so that two labels never read as one.
                span = slice(max(0, start - 1), min(self.width, start + len(text) + 1))
                if self._taken[near, span].any():
                    continue
                hidden = np.count_nonzero(self._bits[near, start : start + len(text)])
                cost = 2.0 * float(hidden) + distance + (0.5 if (start < column) != left else 0.0)
                if best is None or cost < best[0]:
                    best = (cost, near, start)
        if best is not None:
            self.put(best[1], best[2], text, style)

    def rows(self) -> list[list[Run]]:
        return [self._row(row) for row in range(self.height)]

    def _row(self, row: int) -> list[Run]:
        runs: list[Run] = []
        for column in range(self.width):
            bits = int(self._bits[row, column])
            text = self._characters[row, column] or (chr(0x2800 + bits) if bits and self.unicode else " ")
            style = self._styles[row, column] if text != " " else ""
            if runs and runs[-1][1] == style:
                runs[-1] = (runs[-1][0] + text, style)
            else:
                runs.append((text, style))
        return runs


def curve_plot(report: CurveReport, width: int, unicode: bool, height: int = 0) -> list[list[Run]]:
    """The error curve with axes, marks and legend, as rows of runs."""
    # Of many variants the training errors would only be in the way.
    return plot(curve_chart(report, training=len(report.curves) <= 2), width, unicode, height)


def plot(chart: Chart, width: int, unicode: bool, height: int = 0) -> list[list[Run]]:
    """A chart as rows of runs. Points are named beside their marks, lines and bands in the legend."""
    canvas = Canvas(max(20, width - _MARGIN), height or max(10, min(18, width // 5)), unicode)
    pens = _pens(chart)
    for mark in chart.marks:
        if isinstance(mark, Band):
            _draw_band(canvas, mark, chart)
        elif isinstance(mark, Cloud):
            _draw_cloud(canvas, mark, chart)
        elif isinstance(mark, Line):
            _draw_line(canvas, mark, chart, pens)
    _draw_points(canvas, [mark for mark in chart.marks if isinstance(mark, Point)], chart)
    named = [mark for mark in chart.named() if not isinstance(mark, Point)]
    legend = [(_legend(mark, unicode, pens), _style(mark.method)) for mark in named]
    return [
        [("error" if "error" in chart.y.name else chart.y.name, "dim")],
        *_with_y_axis(canvas, chart.y, unicode),
        *_x_axis(canvas, chart.x, unicode),
        *_wrapped(legend, width),
    ]


def _style(method: str) -> str:
    return paint_of(method).terminal


def _pens(chart: Chart) -> dict[str, str]:
    """ASCII has no colours: another character for each method."""
    methods = dict.fromkeys(mark.method for mark in chart.marks if isinstance(mark, Line) and mark.stroke == "solid")
    return {method: _ASCII_PENS[k % len(_ASCII_PENS)] for k, method in enumerate(methods)}


def _pen(mark: Line, pens: dict[str, str]) -> str:
    return {"thin": ".", "dotted": "-"}.get(mark.stroke) or pens.get(mark.method, "*")


def _legend(mark: Line | Band | Cloud, unicode: bool, pens: dict[str, str]) -> str:
    if isinstance(mark, Band):
        return f"{'⡪⡪' if unicode else ':::'} {mark.name}"
    if isinstance(mark, Cloud):
        return f"{'⠂⠄⠁' if unicode else '...'} {mark.name}"
    sample = _SAMPLES[mark.stroke] if unicode else "- -" if mark.stroke == "dotted" else 3 * _pen(mark, pens)
    return f"{sample} {mark.name}"


def _draw_line(canvas: Canvas, mark: Line, chart: Chart, pens: dict[str, str]) -> None:
    xs = np.array([chart.x.scale.at(float(value)) for value in mark.x])
    ys = np.array([chart.y.scale.at(float(value)) for value in mark.y])
    # A character is too coarse to leave three of four out.
    keep = _KEPT["solid" if mark.stroke == "thin" and not canvas.unicode else mark.stroke]
    canvas.line(xs, ys, _style(mark.method), _pen(mark, pens), keep)


def _draw_cloud(canvas: Canvas, mark: Cloud, chart: Chart) -> None:
    across, down = canvas.dots
    for x, y in zip(mark.x, mark.y, strict=True):
        at, up = chart.x.scale.at(float(x)), chart.y.scale.at(float(y))
        canvas.dot(round(at * (across - 1)), round(up * (down - 1)), _style(mark.method), ".")


def _draw_band(canvas: Canvas, mark: Band, chart: Chart) -> None:
    across, down = canvas.dots
    at = np.array([chart.x.scale.at(float(value)) for value in mark.x])
    top = 2.0  # beyond the canvas
    lows, highs = (
        [min(top, chart.y.scale.at(float(v))) if math.isfinite(v) else top for v in side]
        for side in (mark.low, mark.high)
    )
    for column in range(across):
        share = column / max(across - 1, 1)
        if share > at[-1]:
            break
        bottom, ceiling = np.interp(share, at, lows), np.interp(share, at, highs)
        for row in range(math.ceil(bottom * (down - 1)), min(down - 1, math.floor(ceiling * (down - 1))) + 1):
            if not canvas.unicode or ((column + 2 * (row // 2)) % 4 == 0 and row % 2 == 0):
                canvas.dot(column, row, _style(mark.method), ":")


def _draw_points(canvas: Canvas, points: list[Point], chart: Chart) -> None:
    """Circles (best) are drawn last, so that they are the ones seen where two share a cell."""
    placed = [(mark, *canvas.cell(chart.x.scale.at(mark.x), chart.y.scale.at(mark.y))) for mark in points]
    placed.sort(key=lambda one: one[0].shape == "circle")
    for mark, row, column in placed:
        shape = _SHAPES[mark.shape]
        canvas.put(row, column, shape if canvas.unicode else words.ascii_only(shape), "bold")
    for mark, row, column in reversed(placed):
        canvas.label(row, column, mark.name, "bold", left=mark.shape == "triangle")


def _with_y_axis(canvas: Canvas, of: Axis, unicode: bool) -> list[list[Run]]:
    labels: dict[int, str] = {}
    values = of.ticks(max(3, canvas.height * 2 // 5))
    for value, text in zip(values, of.texts(values), strict=True):
        row, _ = canvas.cell(0.0, of.scale.at(value))
        labels[row] = text if "." in text or not text.lstrip("-").isdigit() else f"{value:.1f}"
    axis, tick = ("│", "┤") if unicode else ("|", "+")
    rows: list[list[Run]] = []
    for number, runs in enumerate(canvas.rows()):
        label = labels.get(number, "")
        rows.append([(label.rjust(_MARGIN - 2) + " " + (tick if label else axis), "dim"), *runs])
    return rows


def _x_axis(canvas: Canvas, of: Axis, unicode: bool) -> list[list[Run]]:
    corner, dash, tick = ("└", "─", "┬") if unicode else ("+", "-", "+")
    line = [dash] * canvas.width
    numbers = [" "] * (canvas.width + _MARGIN)
    free = 0
    values = [value for value in of.ticks(max(6, canvas.width // 12)) if value >= of.scale.low]
    for value, text in zip(values, of.texts(values), strict=True):
        _, column = canvas.cell(of.scale.at(value), 0.0)
        start = min(max(free, _MARGIN + column - len(text) // 2), len(numbers) - len(text))
        if start < free or abs(start + len(text) // 2 - _MARGIN - column) > 1:
            continue
        line[column] = tick
        numbers[start : start + len(text)] = text
        free = start + len(text) + 1
    return [
        [(" " * (_MARGIN - 1) + corner + "".join(line), "dim")],
        [("".join(numbers).rstrip(), "dim")],
        [(" " * _MARGIN + of.name.center(canvas.width).rstrip(), "dim")],
    ]


def _wrapped(items: list[Run], width: int) -> list[list[Run]]:
    """Legend entries, as many in a row as fit."""
    rows: list[list[Run]] = []
    used = 0
    for text, style in items:
        if rows and used + 3 + len(text) <= width:
            rows[-1] += [("   ", ""), (text, style)]
            used += 3 + len(text)
        else:
            rows.append([(text, style)])
            used = len(text)
    return rows
