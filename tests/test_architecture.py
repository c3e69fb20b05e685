"""Folders are stations of the data flow: imports point down the list only (docs/architecture.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "enrelm_cli"
# From the top: a station may import from itself and from those below it.
STATIONS = (
    "cli",
    "show",
    "commands",
    "report",
    "judge",
    "variants",
    "phase_one",
    "model",
    "kernels",
    "inputs",
    "table",
    "fold",
)
BASE = ("__init__", "errors", "files", "settings", "stopwatch", "types")
ONLY_IN = {"typer": "cli", "click": "cli", "rich": "show", "matplotlib": "show"}
SOURCES = sorted(PACKAGE.rglob("*.py"))


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
    """0 is the top; the base lies below every station."""
    parts = module.split(".")
    if len(parts) == 1 or parts[1] in BASE:
        return len(STATIONS)
    if parts[1] == "__main__":
        return -1
    return STATIONS.index(parts[1])


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_imports_point_down_the_list_of_stations(path: Path) -> None:
    here = level_of(module_of(path))
    up = [name for name in imports_of(path) if name.startswith("enrelm_cli") and level_of(name) < here]
    assert not up


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = {module_of(path): {name for name in imports_of(path) if name in MODULES} for path in SOURCES}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module not in done:
            for other in graph[module] - {module}:
                visit(other, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_typer_stays_in_cli_and_rich_and_matplotlib_in_show(path: Path) -> None:
    parts = path.relative_to(PACKAGE).parts
    used = {name.split(".")[0] for name in imports_of(path)}
    assert not [library for library, station in ONLY_IN.items() if library in used and parts[0] != station]
