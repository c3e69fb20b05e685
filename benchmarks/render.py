"""REPORT.md and its plots from results.json."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.answers import answers
from benchmarks.measuring import BUSY
from benchmarks.outcome import ACCURATE, FAST, NOT, Outcome, Table

REMARKS = Path(__file__).parent / "REMARKS.md"


def render(results: dict[str, Any], order: list[str], folder: Path) -> None:
    sections = {name: results["sections"][name] for name in order if name in results["sections"]}
    outcomes = {
        (name, int(threads)): Outcome.from_json(outcome)
        for name, section in sections.items()
        for threads, outcome in section["threads"].items()
    }
    plots = _plots(outcomes, folder)
    lines = ["# Benchmarks", "", *_answers(outcomes), *_preface(sections), ""]
    lines += [*_machine(sections), ""]
    for name in sections:
        lines += [f"## {name}", ""]
        parts = {threads: outcome for (of, threads), outcome in outcomes.items() if of == name}
        lines += [f"{remark}\n" for remark in dict.fromkeys(r for outcome in parts.values() for r in outcome.remarks)]
        for threads, outcome in parts.items():
            cores = f" - {threads} core{'s' if threads > 1 else ''}"
            for table in outcome.tables:
                lines += [f"### {table.title}{cores if len(parts) > 1 else ''}", "", *_markdown(table), ""]
        lines += [f"![{title}]({file})\n" for title, file in plots.get(name, [])]
    lines += [*_goals(outcomes), ""]
    if REMARKS.exists():
        lines += [REMARKS.read_text().strip(), ""]
    (folder / "REPORT.md").write_text("\n".join(lines))


def _answers(outcomes: dict[tuple[str, int], Outcome]) -> list[str]:
    """What a user asks first, answered by the sections that were run."""
    lines = []
    for question in (ACCURATE, FAST, NOT):
        said = [
            text for name, one in _widest(outcomes).items() for asked, text in answers(name, one) if asked == question
        ]
        lines += [f"**{question}**", "", *(f"- {answer}" for answer in dict.fromkeys(said)), ""] if said else []
    return lines


def _widest(outcomes: dict[tuple[str, int], Outcome]) -> dict[str, Outcome]:
    """Of each section the run on the most cores."""
    return {name: outcome for (name, _), outcome in sorted(outcomes.items(), key=lambda item: item[0][1])}


def _preface(sections: dict[str, Any]) -> list[str]:
    lines = [
        "Written by `make bench`. Every ratio is of two figures of one run on one machine: the contenders took turns,",
        "each figure is the median of repeats (`spread`: slowest minus fastest, over the median). Absolute seconds are",
        "only there to show what the ratios are made of. `results.json` has every number.",
    ]
    quick = [name for name, section in sections.items() if section["quick"]]
    if quick:
        lines += ["", f"**A smoke run (`--quick`), not a measurement: {', '.join(quick)}.**"]
    busy = {name: section["machine"]["load"] for name, section in sections.items()}
    loaded = [f"{name} ({load:.1f})" for name, load in busy.items() if load > BUSY * sections[name]["machine"]["cores"]]
    if loaded:
        note = "a section that follows another sees that one's load"
        lines += ["", f"**The machine was busy at the start of: {', '.join(loaded)} (load average; {note}).**"]
    return lines


def _goals(outcomes: dict[tuple[str, int], Outcome]) -> list[str]:
    table = Table(
        "", {"section": "text", "cores": "n", "goal": "text", "bound": "text", "measured": "text", "": "text"}
    )
    for (name, threads), outcome in outcomes.items():
        for goal in outcome.goals:
            bound = f"{'≥' if goal.at_least else '≤'} {goal.bound:g}{_unit(goal.unit)}"
            measured = f"{goal.measured:.3g}{_unit(goal.unit)}"
            table.add(name, threads, goal.what, bound, measured, "met" if goal.met else "**missed**")
    return ["## Goals", "", *_markdown(table)]


def _unit(unit: str) -> str:
    return "×" if unit == "x" else unit


def _machine(sections: dict[str, Any]) -> list[str]:
    if not sections:
        return []
    known = next(iter(sections.values()))["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in known["packages"].items())
    facts = {
        "processor": f"{known['processor']}, {known['cores']} cores",
        "memory": _number(known["memory"], "B"),
        "system": f"{known['system']}, Python {known['python']}",
        "BLAS and OpenMP": ", ".join(known["blas"]),
        "packages": packages,
    }
    starts = ", ".join(
        f"{name} {section['machine']['when']} (load {section['machine']['load']:.1f})"
        for name, section in sections.items()
    )
    return ["## Machine", "", *(f"- {name}: {value}" for name, value in {**facts, "started": starts}.items())]


def _markdown(table: Table) -> list[str]:
    kinds = list(table.columns.values())
    marks = ["---" if kind == "text" else "---:" for kind in kinds]
    rows = [[_number(cell, kind) for cell, kind in zip(row, kinds, strict=True)] for row in table.rows]
    return [_line(table.columns), _line(marks), *(_line(row) for row in rows)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _number(value: Any, kind: str) -> str:
    if value is None:
        return "-"
    if kind == "text":
        return str(value)
    if kind == "n":
        return f"{value:,}"
    if kind == "B":
        return f"{value / 1e9:.2f} GB" if value >= 1e9 else f"{value / 1e6:.0f} MB"
    if kind == "%":
        return f"{100 * value:.0f} %"
    if kind == "g":
        return f"{value:.0e}"
    if kind == "e":
        return f"{value:.4f}"
    digits = f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
    return f"{digits}×" if kind == "x" else digits


def _plots(outcomes: dict[tuple[str, int], Outcome], folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Time against rows and error against time, of the runs on all cores."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "enrelm"
    made: dict[str, list[tuple[str, str]]] = {}
    for name in ("kernel", "scale"):
        threads = max((count for of, count in outcomes if of == name), default=None)
        if threads is None:
            continue
        points = outcomes[name, threads].points
        time = _plot(points, "rows", "seconds", f"{name}: time against rows", folder / f"{name}-time.svg")
        made[name] = [time]
        if name == "kernel":
            made[name].append(_plot(points, "seconds", "error", "error against time", folder / "kernel-error.svg"))
    return made


def _plot(points: list[dict[str, Any]], x: str, y: str, title: str, path: Path) -> tuple[str, str]:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 4.8), layout="constrained")
    for method in dict.fromkeys(point["method"] for point in points):
        mine = [point for point in points if point["method"] == method]
        ours = method.startswith("enrelm")
        xs, ys = [point[x] for point in mine], [point[y] for point in mine]
        axes.plot(xs, ys, "o-", label=method, linewidth=2.5 if ours else 1.2, zorder=3 if ours else 2)
        for point in mine if x == "seconds" else []:
            axes.annotate(f"{point['rows']:.0e}".replace("e+0", "e"), (point[x], point[y]), fontsize=7)
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y, title=title)
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return title, path.name
