"""What a mutation pass changes: one operator, number or condition of a file at a time.

Named constants of a module, annotations, default arguments and what is raised are left alone: the first are choices,
not logic, and the others change no number.
"""

from __future__ import annotations

import ast
import copy
import gc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

_SWAPS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}


@dataclass(frozen=True)
class Mutant:
    """One change of a file, and the lines whose running could notice it."""

    name: str  # the change in words; without its line, so that a log outlives changes elsewhere in the file
    lines: range
    source: str
    place: int  # of its node among the sites
    change: int | None  # among those of the node; None: the file as it is

    def tree(self) -> ast.Module:
        tree = ast.parse(self.source)
        if self.change is None:
            return tree
        node, _ = list(_sites(tree, None))[self.place]
        list(_changes(node))[self.change]()
        return ast.fix_missing_locations(tree)


def mutants(file: str, source: str) -> Iterator[Mutant]:
    seen: Counter[str] = Counter()
    for place, (node, statement) in enumerate(_sites(ast.parse(source), None)):
        for change in range(len(list(_changes(node)))):
            changed = copy.deepcopy(node)
            list(_changes(changed))[change]()
            before, after = ast.unparse(node), ast.unparse(changed)
            if before != after:
                what = f"{before}  ->  {after}".replace("\n", " ")
                seen[what] += 1
                yield Mutant(f"{file}  {what}  ({seen[what]})", _lines(statement), source, place, change)


def _sites(tree: ast.AST, within: ast.stmt | None) -> Iterator[tuple[ast.AST, ast.stmt]]:
    """Nodes of functions whose change can change a number, each with the statement that it stands in."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.Raise, ast.arguments)):
            continue
        if isinstance(child, ast.AnnAssign):
            if within is not None and child.value is not None:
                yield child.value, child
                yield from _sites(child.value, child)
            continue
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            inside = within if isinstance(child, ast.ClassDef) else child
            for statement in child.body:
                yield from _of_statement(statement, inside)
            continue
        if isinstance(child, ast.stmt):
            yield from _of_statement(child, within)
        elif within is not None:
            yield child, within
            yield from _sites(child, within)


def _of_statement(statement: ast.stmt, within: ast.stmt | None) -> Iterator[tuple[ast.AST, ast.stmt]]:
    if within is not None and not isinstance(statement, (ast.Raise, ast.AnnAssign)):
        yield statement, statement
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AnnAssign)):
        yield from _sites(ast.Module([statement], []), within)
    elif within is not None and not isinstance(statement, ast.Raise):
        yield from _sites(statement, statement)


def _lines(statement: ast.stmt) -> range:
    """The lines of a statement, without those of the statements in it."""
    inner = [child.lineno for child in ast.walk(statement) if isinstance(child, ast.stmt) and child is not statement]
    end = statement.end_lineno or statement.lineno
    return range(statement.lineno, max(statement.lineno + 1, min([end + 1, *inner])))


def _changes(node: ast.AST) -> Iterator[Callable[[], object]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        yield from (lambda op=op: node.ops.__setitem__(0, op()) for op in _SWAPS[type(node.ops[0])])
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in _SWAPS:
        yield from (lambda op=op: setattr(node, "op", op()) for op in _SWAPS[type(node.op)])
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield lambda: setattr(node, "value", node.value + 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        plain = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        operand = node.operand if isinstance(node.op, ast.USub) else ast.UnaryOp(ast.Not(), copy.deepcopy(node.operand))
        yield lambda: (setattr(node, "op", plain), setattr(node, "operand", operand))
    if isinstance(node, (ast.If, ast.IfExp)):
        yield from (lambda value=value: setattr(node, "test", ast.Constant(value)) for value in (True, False))


def functions_of(path: Path) -> list[FunctionType]:
    """The functions and methods of a file that this process has imported, whoever holds them."""
    made_there = (value for value in gc.get_objects() if isinstance(value, FunctionType))
    return [function for function in made_there if function.__code__.co_filename == str(path)]


def put_in(path: Path, tree: ast.Module, functions: list[FunctionType]) -> None:
    """Give the functions of a file the code of its mutant, in this process alone."""
    codes = {(code.co_name, code.co_firstlineno): code for code in _codes(compile(tree, str(path), "exec"))}
    for function in functions:
        code = codes.get((function.__code__.co_name, function.__code__.co_firstlineno))
        if code is not None and code.co_freevars == function.__code__.co_freevars:
            function.__code__ = code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
