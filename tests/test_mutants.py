"""The mutation pass changes what it should, where it should, and nothing else."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants import functions_of, mutants, put_in
from tests.mutate import Map, equivalent

SOURCE = """
LIMIT = 3

class Box:
    size: int = 4

    def halved(self, by: int = 2) -> float:
        if self.size > LIMIT:
            raise ValueError(1 + 1)
        return (
            self.size
            / by
        )
"""


def test_constants_defaults_and_what_is_raised_are_left_alone() -> None:
    found = [(mutant.name, mutant.lines) for mutant in mutants("box.py", SOURCE)]
    assert [name.split("  ", 1)[1] for name, _ in found] == [
        "if self.size > LIMIT:     raise ValueError(1 + 1)  ->  if True:     raise ValueError(1 + 1)  (1)",
        "if self.size > LIMIT:     raise ValueError(1 + 1)  ->  if False:     raise ValueError(1 + 1)  (1)",
        "self.size > LIMIT  ->  self.size >= LIMIT  (1)",
        "self.size > LIMIT  ->  self.size <= LIMIT  (1)",
        "self.size / by  ->  self.size * by  (1)",
    ]
    # The lines of the statement, without those of the statements in it.
    assert [list(lines) for _, lines in found][2:] == [[8], [8], [10, 11, 12, 13]]


def test_a_mutant_is_put_into_the_functions_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "box.py"
    space: dict[str, object] = {"__name__": "box"}
    exec(compile(ast.parse(SOURCE), str(path), "exec"), space)
    box = space["Box"]()  # type: ignore[operator]
    box.size = 3
    assert box.halved() == 1.5
    functions = functions_of(path)
    assert [function.__name__ for function in functions] == ["halved"]
    [*_, division] = mutants("box.py", SOURCE)
    put_in(path, division.tree(), functions)
    assert box.halved() == 6
    put_in(path, replace(division, change=None).tree(), functions)
    assert box.halved() == 1.5


def test_tests_of_any_line_of_the_statement_can_notice() -> None:
    found = {"a": (0.1, [("/f.py", 3)]), "b": (0.2, [("/f.py", 4), ("/g.py", 3)]), "c": (0.3, [("/g.py", 9)])}
    assert Map.of(found).of_lines(Path("/f.py"), range(3, 5)) == {"a", "b"}
    assert Map.of(found).of_lines(Path("/g.py"), range(4, 9)) == set()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="mutants are named by ast.unparse, which wrote tuples otherwise")
def test_equivalent_mutants_are_mutants_of_the_code_as_it_is() -> None:
    package = Path(__file__).parents[1] / "enrelm_cli"
    listed = equivalent()
    files = {line.split("  ")[0] for line in listed}
    there = {mutant.name for file in files for mutant in mutants(file, (package / file).read_text("utf-8"))}
    assert listed <= there, listed - there
