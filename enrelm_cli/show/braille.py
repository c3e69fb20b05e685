"""Error curves in a terminal: lines of braille dots, or of ASCII characters where the encoding is poor.

A braille cell holds 2 x 4 dots, so 60 x 16 cells draw 120 x 64. What is drawn last owns the cell's style; the dots of
all series stay. Rows come out as runs of (text, style); only the renderer knows what a style is.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from enrelm_cli.judge.curve import Curve
from enrelm_cli.report import words
from enrelm_cli.report.reports import CurveReport
from enrelm_cli.report.views import best_curve, named_choices
from enrelm_cli.show.axes import Scale, error_scale, neuron_scale, ticks
from enrelm_cli.types import Array

Run = tuple[str, str]

# Bit of each dot of a braille cell: [row][column].
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))

_STYLES = {"approximate": "yellow", "incremental": "magenta", "kernel": "cyan"}
_OTHER_STYLES = ("cyan", "magenta", "yellow", "green")
_ASCII_PENS = "*+xo"
_MARKS = {"best": "●", "knee": "◆", "smallest": "▲"}
_LINEAR = "white"
_ELM = "blue"


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
    """The plot with axes, marks and legend, as rows of runs."""
    canvas_height = height or max(10, min(18, width // 5))
    margin = 8
    canvas = Canvas(max(20, width - margin), canvas_height, unicode)
    elm = report.elm
    longest = max([len(curve.validation) for curve in report.curves] + ([len(elm.mean)] if elm is not None else []))
    x_scale = neuron_scale(longest)
    with_training = len(report.curves) <= 2
    shown = [curve.validation for curve in report.curves]
    shown += [curve.train for curve in report.curves] if with_training else []
    shown += [elm.low, elm.mean] if elm is not None else []
    y_scale = error_scale(shown, [report.linear_error])

    legend: list[Run] = []
    if elm is not None:
        _draw_band(canvas, elm.low, elm.high, x_scale, y_scale)
        _draw(canvas, elm.mean, x_scale, y_scale, _ELM, "~", lambda i: i % 6 < 3)
        legend.append((f"{'⡪⡪' if unicode else ':::'} elm, range of {elm.realizations}", _ELM))
        legend.append((f"{'⠒⠂⠐⠒' if unicode else '~~~'} elm, mean", _ELM))
    if math.isfinite(report.linear_error):
        level = np.full(2, y_scale.at(report.linear_error))
        canvas.line(np.array([0.0, 1.0]), level, _LINEAR, "-", lambda i: i % 8 < 3)
        legend.append(
            (f"{'- -' if not unicode else '╌╌'} linear regression {words.error(report.linear_error)}", _LINEAR)
        )
    for number, curve in enumerate(report.curves):
        style, pen = style_of(curve.variant, number), _ASCII_PENS[number % len(_ASCII_PENS)]
        if with_training:
            _draw(canvas, curve.train, x_scale, y_scale, style, ".", (lambda i: i % 4 == 0) if unicode else _solid)
        _draw(canvas, curve.validation, x_scale, y_scale, style, pen, _solid)
        if curve.converged and curve.limit > len(curve.validation):
            _continue(canvas, curve, longest, x_scale, y_scale, style, pen)
        sample = "⠒⠒⠒" if unicode else pen * 3
        legend.insert(2 * number if with_training else number, (f"{sample} {curve.variant}, validation", style))
        if with_training:
            legend.insert(2 * number + 1, (f"{'⠂⠐ ⠂' if unicode else '...'} {curve.variant}, training", style))
    _mark(canvas, report, x_scale, y_scale, unicode)
    return [
        [("error", "dim")],
        *_with_y_axis(canvas, y_scale, margin, unicode),
        *_x_axis(canvas, x_scale, margin, unicode),
        *_wrapped(legend, width),
    ]


def style_of(variant: str, number: int) -> str:
    return _STYLES.get(variant, _OTHER_STYLES[number % len(_OTHER_STYLES)])


def _solid(_: int) -> bool:
    return True


def _positions(n: int, scale: Scale) -> Array:
    return np.array([scale.at(i) for i in range(1, n + 1)])


def _draw(canvas: Canvas, errors: Array, x: Scale, y: Scale, style: str, pen: str, keep: Callable[[int], bool]) -> None:
    canvas.line(_positions(len(errors), x), np.array([y.at(float(e)) for e in errors]), style, pen, keep)


def _continue(canvas: Canvas, curve: Curve, longest: int, x: Scale, y: Scale, style: str, pen: str) -> None:
    """The paper's dashes: the method has converged, so more neurons would change nothing."""
    ends = np.array([x.at(len(curve.validation)), x.at(min(curve.limit, longest))])
    if ends[1] > ends[0]:
        canvas.line(ends, np.full(2, y.at(float(curve.validation[-1]))), style, pen, lambda i: i % 4 < 2)


def _draw_band(canvas: Canvas, low: Array, high: Array, x: Scale, y: Scale) -> None:
    across, down = canvas.dots
    at = _positions(len(low), x)
    top = 2.0  # beyond the canvas
    lows = [min(top, y.at(float(v))) if math.isfinite(v) else top for v in low]
    highs = [min(top, y.at(float(v))) if math.isfinite(v) else top for v in high]
    for column in range(across):
        share = column / max(across - 1, 1)
        if share > at[-1]:
            break
        bottom, ceiling = np.interp(share, at, lows), np.interp(share, at, highs)
        for row in range(math.ceil(bottom * (down - 1)), min(down - 1, math.floor(ceiling * (down - 1))) + 1):
            if not canvas.unicode or ((column + 2 * (row // 2)) % 4 == 0 and row % 2 == 0):
                canvas.dot(column, row, _ELM, ":")


def _mark(canvas: Canvas, report: CurveReport, x: Scale, y: Scale, unicode: bool) -> None:
    """The winner's choices, named; best is drawn last, so that it is the one seen where two share a cell."""
    winner = best_curve(report.curves)
    points = []
    for names, choice in named_choices(winner.choices):
        row, column = canvas.cell(x.at(choice.neurons), y.at(choice.error))
        points.append((names, choice.neurons, row, column))
    points.sort(key=lambda point: "best" in point[0])
    for names, _, row, column in points:
        mark = _MARKS["best" if "best" in names else names[0]]
        canvas.put(row, column, mark if unicode else words.ascii_only(mark), "bold")
    for names, neurons, row, column in reversed(points):
        canvas.label(row, column, f"{' = '.join(names)}: {words.count(neurons)}", "bold", left="smallest" in names[:1])


def _with_y_axis(canvas: Canvas, scale: Scale, margin: int, unicode: bool) -> list[list[Run]]:
    labels: dict[int, str] = {}
    decimals = 2
    values = ticks(scale, max(3, canvas.height * 2 // 5))
    if len(values) > 1:
        decimals = max(1, min(6, -math.floor(math.log10(values[1] - values[0]))))
    for value in values:
        row, _ = canvas.cell(0.0, scale.at(value))
        labels[row] = f"{value:.{decimals}f}"
    axis, tick = ("│", "┤") if unicode else ("|", "+")
    rows: list[list[Run]] = []
    for number, runs in enumerate(canvas.rows()):
        label = labels.get(number, "")
        rows.append([(label.rjust(margin - 2) + " " + (tick if label else axis), "dim"), *runs])
    return rows


def _x_axis(canvas: Canvas, scale: Scale, margin: int, unicode: bool) -> list[list[Run]]:
    corner, dash, tick = ("└", "─", "┬") if unicode else ("+", "-", "+")
    line = [dash] * canvas.width
    numbers = [" "] * (canvas.width + margin)
    free = 0
    for value in ticks(scale, max(3, canvas.width // 12)):
        if value < 1 or value != round(value):
            continue
        _, column = canvas.cell(scale.at(value), 0.0)
        text = words.count(value)
        start = min(max(free, margin + column - len(text) // 2), len(numbers) - len(text))
        if start < free or abs(start + len(text) // 2 - margin - column) > 1:
            continue
        line[column] = tick
        numbers[start : start + len(text)] = text
        free = start + len(text) + 1
    title = "neurons, logarithmic" if scale.log else "neurons"
    return [
        [(" " * (margin - 1) + corner + "".join(line), "dim")],
        [("".join(numbers).rstrip(), "dim")],
        [(" " * margin + title.center(canvas.width).rstrip(), "dim")],
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
