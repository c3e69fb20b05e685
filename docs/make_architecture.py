"""Writes the file lists of docs/architecture.md and docs/imports.svg from the package itself: `make graph`.

Stations come from the list below, a file's line is the first sentence of its docstring, an arrow is an import.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "enrelm_cli"
PYTHON = HERE.parent / "enrelm"
PAGE, PICTURE = HERE / "architecture.md", HERE / "imports.svg"
BEGIN, END = "<!-- made by `make graph`: begin -->", "<!-- made by `make graph`: end -->"
# From the top: a station may import from itself and from those below it.
STATIONS = {
    "cli": "options → settings → command → show; the only place that knows Typer",
    "show": "how it looks; the only place that knows rich or matplotlib",
    "commands": "what `enrelm` does, each readable on one page",
    "report": "the facts of a run, and what is said of them",
    "judge": "errors, choices of n, metrics, compared methods",
    "variants": "phase 2: order and weights of the hidden outputs",
    "phase_one": "phase 1: tuning, landmarks, eigenbasis, hidden weights",
    "model": "what predicts; how it is saved and safely loaded",
    "kernels": "the kernel of a wide hidden layer; σ and σ⁻¹",
    "inputs": "columns → inputs: survey, encoding, split, rows",
    "table": "files → typed batches; predictions → files",
    "fold": "the only loop over rows, its engines, the content hash",
}
BASE = (
    "columns",
    "__init__",
    "__main__",
    "downloads",
    "errors",
    "extras",
    "fields",
    "files",
    "method_settings",
    "names",
    "output_formats",
    "quoting",
    "redaction",
    "remote",
    "settings",
    "sizes",
    "stopwatch",
    "types",
)
BASE_CAPTION = "types, errors, settings, files: imported from everywhere"

SOURCES = sorted(PACKAGE.rglob("*.py"))
# The Python interface stands beside `cli`: above show and commands, below nobody.
INTERFACE = sorted(PYTHON.glob("*.py"))
INTERFACE_CAPTION = "the Python interface: estimators and functions over the same commands, beside `cli/`"


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path) for path in SOURCES}


def imports_of(path: Path) -> Iterator[str]:
    """Full names of the modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else node.module


def level_of(module: str) -> int:
    """0 is the top; the base lies below every station, the entry point above."""
    parts = module.split(".")
    if parts[1:] == ["__main__"]:
        return -1
    if len(parts) == 1 or parts[1] in BASE:
        return len(STATIONS)
    return list(STATIONS).index(parts[1])


def files_of(station: str) -> list[Path]:
    """Its files, without the empty ones that only make a folder a package."""
    folder = PACKAGE / station
    return sorted(path for path in folder.rglob("*.py") if path.stat().st_size)


def page(text: str) -> str:
    """The page with its lists made again."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{_lists()}\n\n{END}{after}"


def _lists() -> str:
    base = sorted(path for path in PACKAGE.glob("*.py"))
    parts = [_list(f"`{name}/`", caption, files_of(name)) for name, caption in STATIONS.items()]
    first = _list("`enrelm`, a package of its own", INTERFACE_CAPTION, INTERFACE)
    return "\n\n".join([first, *parts, _list("base", BASE_CAPTION, base)])


def name_of(path: Path) -> str:
    """Within the package; with its own name where that is another."""
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else PACKAGE.parent).as_posix()


def _list(title: str, caption: str, files: list[Path]) -> str:
    rows = [f"| `{name_of(path)}` | {_first_sentence(path)} |" for path in files]
    return "\n".join([f"**{title}** - {caption}", "", "| file | |", "| --- | --- |", *rows])


def _first_sentence(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(doc.split("\n\n")[0].split())
    return paragraph.split(". ")[0].rstrip(".").replace("|", "\\|")


# ------------------------------------------------------------------------------------------------ the picture

_LEFT, _WIDTH, _HEIGHT, _STEP = 16, 520, 34, 48
# One colour for each source of arrows, so that an arc can be followed.
_COLOURS = ("#1b6ca8", "#c2571a", "#2e8540", "#8e3b8e", "#b8860b", "#a52a2a", "#3d5a80", "#5f6f52")


def arrows() -> list[tuple[str, str]]:
    """(from, to) of the stations that import one another; the base is left out, as every station imports it."""
    found = {
        (module_of(path).split(".")[1], name.split(".")[1])
        for path in SOURCES
        if 0 <= level_of(module_of(path)) < len(STATIONS)
        for name in imports_of(path)
        if name in MODULES and level_of(name) < len(STATIONS)
    }
    names = list(STATIONS)
    return sorted(((a, b) for a, b in found if a != b), key=lambda pair: (names.index(pair[0]), names.index(pair[1])))


def picture() -> str:
    """Stations from the top down, an arc on the right for every pair of which the upper imports the lower."""
    names = list(STATIONS)
    height = _STEP * (len(names) + 1) + 24
    right = _LEFT + _WIDTH
    width = right + 20 * len(names) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="13">',
        "<title>Which station imports which: every arrow points down</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *(_arc(names.index(a), names.index(b), right) for a, b in arrows()),
        *(_box(k, f"{name}/", STATIONS[name], _COLOURS[k % len(_COLOURS)]) for k, name in enumerate(names)),
        _box(len(names), "base", BASE_CAPTION, "#888888"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _top(k: int) -> int:
    return 12 + _STEP * k


def _box(k: int, name: str, caption: str, colour: str) -> str:
    y = _top(k)
    return (
        f'<rect x="{_LEFT}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" fill="#f7f7f5" stroke="{colour}"'
        f' stroke-width="1.5"/><text x="{_LEFT + 10}" y="{y + 21}" font-weight="bold" fill="{colour}">{name}</text>'
        f'<text x="{_LEFT + 110}" y="{y + 21}" font-size="11" fill="#333333">{escape(caption.replace("`", ""))}</text>'
    )


def _arc(upper: int, lower: int, right: int) -> str:
    """From the lower half of one box to the upper half of another; the arrow head is two strokes at its end."""
    y0 = _top(upper) + _HEIGHT - 8 - min(lower - upper, 6)
    y1 = _top(lower) + 8 + min(lower - upper, 6)
    reach = right + 24 + 26 * (lower - upper)
    colour = _COLOURS[upper % len(_COLOURS)]
    return (
        f'<path d="M{right} {y0}C{reach} {y0} {reach} {y1} {right + 2} {y1}m7 -4l-7 4l7 4" fill="none"'
        f' stroke="{colour}" stroke-width="1.4" opacity="0.85"/>'
    )


def main() -> None:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
