"""docs/python.md: its tour runs, and its reference says what the docstrings say."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from docs import make_python

PAGE = make_python.PAGE.read_text(encoding="utf-8")
STEP = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def value_of(code: str, names: dict[str, Any]) -> Any:
    """Runs the code; the value of its last line where that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "docs/python.md", "exec"), names)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "docs/python.md", "eval"), names)
    return None


def test_the_tour_runs_and_shows_what_it_says(
    tmp_path: Path, sample_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("pandas", "sklearn", "matplotlib"):
        pytest.importorskip(library)
    shutil.copytree(sample_data, tmp_path / "sample_data")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    tour = PAGE[: PAGE.index("## Good to know")]
    for code, shown in STEP.findall(tour):
        value = value_of(code, names)
        assert not shown or f"{value!r}\n" == shown


def test_the_reference_is_made_from_the_docstrings() -> None:
    assert make_python.page(PAGE) == PAGE, "run: make graph"


def test_type_checkers_see_the_parameters_that_there_are() -> None:
    assert make_python.TYPED.read_text(encoding="utf-8") == make_python.typed(), "run: make graph"
