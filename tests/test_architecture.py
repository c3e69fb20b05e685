"""Folders are stations of the data flow: imports point down the list only, and docs/architecture.md says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import make_architecture
from docs.make_architecture import (
    INTERFACE,
    MODULES,
    PACKAGE,
    SOURCES,
    STATIONS,
    imports_of,
    level_of,
    module_of,
    name_of,
)

ONLY_IN = {"typer": "cli", "click": "cli", "rich": "show", "matplotlib": "show"}
MAX_LINES, MAX_FILES = 400, 14
# Files that are being split; the list may only shrink.
TOO_LONG = {}


def lines_of(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_imports_point_down_the_list_of_stations(path: Path) -> None:
    here = level_of(module_of(path))
    up = [name for name in imports_of(path) if name.startswith("enrelm_cli") and level_of(name) < here]
    assert not up


@pytest.mark.parametrize("path", INTERFACE, ids=name_of)
def test_the_python_interface_stands_beside_the_command_line(path: Path) -> None:
    used = set(imports_of(path))
    ours = [name for name in used if name.startswith("enrelm_cli.")]
    assert all(level_of(name) > level_of("enrelm_cli.cli") for name in ours)
    assert not {name.split(".")[0] for name in used} & {*ONLY_IN}
    assert lines_of(path) <= MAX_LINES


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_no_station_imports_the_python_interface(path: Path) -> None:
    assert not [name for name in imports_of(path) if name.split(".")[0] == "enrelm"]


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


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_no_file_outgrows_its_page(path: Path) -> None:
    name = path.relative_to(PACKAGE).as_posix()
    assert lines_of(path) <= MAX_LINES or name in TOO_LONG


def test_the_list_of_files_that_are_too_long_names_no_other() -> None:
    finished = [name for name in TOO_LONG if not (PACKAGE / name).exists() or lines_of(PACKAGE / name) <= MAX_LINES]
    assert not finished, "take these off the list"


@pytest.mark.parametrize("station", STATIONS)
def test_no_folder_outgrows_its_page(station: str) -> None:
    assert len(list((PACKAGE / station).glob("[!_]*.py"))) <= MAX_FILES


def test_the_page_lists_every_file_once_and_no_other() -> None:
    page = make_architecture.PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w/]+\.py)` \| \S", page, re.MULTILINE)
    there = [name_of(path) for path in (*INTERFACE, *SOURCES) if path.stat().st_size]
    assert sorted(listed) == sorted(there), "run: make graph"


def test_the_page_and_its_picture_are_up_to_date() -> None:
    page = make_architecture.PAGE.read_text(encoding="utf-8")
    assert make_architecture.page(page) == page, "run: make graph"
    assert make_architecture.PICTURE.read_text(encoding="utf-8") == make_architecture.picture(), "run: make graph"
