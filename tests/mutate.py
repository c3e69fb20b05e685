"""Mutation pass: change one operator, number or condition at a time, and see whether the tests notice.

    python -m tests.mutate [FILE ...] [--seconds N]      (make mutate)

Works on a copy of the package. Each mutant runs in a fork of a process that has numpy, scipy and pytest loaded. Named
constants of a module, annotations, default arguments and what is raised are left alone: the first are choices, not
logic, and the others change no number. Prints every mutant that survives, and the count.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_JUDGED = "tests/judge tests/variants/test_variants.py tests/phase_one/test_phase_one.py tests/commands/test_compare.py"
TESTS = {
    "inputs/split.py": "tests/inputs/test_split.py",
    "judge/curve.py": "tests/judge/test_curve.py tests/judge/test_fitting.py",
    "judge/relevance.py": "tests/judge/test_relevance.py",
    "judge/errors.py": _JUDGED,
    "judge/fitting.py": "tests/judge/test_fitting.py tests/commands/test_compare.py",
    "judge/baselines.py": "tests/judge/test_baselines.py tests/commands/test_compare.py",
    "judge/methods.py": "tests/commands/test_compare.py",
    "variants/_variant.py": "tests/judge/test_fitting.py",
    "variants/approximate.py": _JUDGED,
    "variants/incremental.py": _JUDGED,
    "variants/kernel.py": _JUDGED,
}
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


def sites(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes whose change can change a number."""
    skipped = (ast.Raise, ast.arguments, ast.AnnAssign)
    for child in ast.iter_child_nodes(tree):
        constant = isinstance(tree, ast.Module) and isinstance(child, (ast.Assign, ast.Import, ast.ImportFrom))
        if constant or (isinstance(child, skipped) and not _has_value(child)):
            continue
        if isinstance(child, ast.AnnAssign):
            if isinstance(tree, (ast.Module, ast.ClassDef)):
                continue
            assert child.value is not None
            yield child.value
            yield from sites(child.value)
            continue
        if isinstance(child, ast.FunctionDef):
            for statement in child.body:
                yield statement
                yield from sites(statement)
            continue
        yield child
        yield from sites(child)


def _has_value(node: ast.AST) -> bool:
    return isinstance(node, ast.AnnAssign) and node.value is not None


def mutants(source: str) -> Iterator[tuple[int, str, str]]:
    """(line, what was changed, mutated source)."""
    count = len(list(sites(ast.parse(source))))
    for index in range(count):
        kinds = len(list(_changes(list(sites(ast.parse(source)))[index])))
        for kind in range(kinds):
            tree = ast.parse(source)
            node = list(sites(tree))[index]
            before = ast.unparse(node)
            list(_changes(node))[kind]()
            after = ast.unparse(node)
            if before != after:
                yield getattr(node, "lineno", 0), f"{before}  ->  {after}".replace("\n", " "), ast.unparse(tree)


def _changes(node: ast.AST) -> Iterator[object]:
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


def killed(copied: Path, tests: str) -> bool:
    """Whether a fork of this process sees a test fail."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] != 0
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "enrelm_cli")]:
        del sys.modules[name]
    os.chdir(copied)
    sys.path.insert(0, str(copied))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    import pytest

    words = [word for word in tests.split() if (copied / word).exists()]
    os._exit(int(pytest.main(["-q", "-x", "-n", "0", "-p", "no:cacheprovider", *words])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="of enrelm_cli/, such as judge/curve.py; default: all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    asked = parser.parse_args()
    import scipy.linalg
    import scipy.optimize  # noqa: F401

    start, total, alive = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        copied = Path(scratch)
        for name in ("enrelm_cli", "tests", "sample_data", "docs", "pyproject.toml"):
            source = ROOT / name
            shutil.copytree(source, copied / name) if source.is_dir() else shutil.copy(source, copied / name)
        for name in asked.files or TESTS:
            path, original = copied / "enrelm_cli" / name, (ROOT / "enrelm_cli" / name).read_text("utf-8")
            if killed(copied, TESTS[name]):
                sys.exit(f"{name}: its tests fail as it is")
            of_file, survived = 0, 0
            for line, what, source_text in mutants(original):
                if time.monotonic() - start > asked.seconds:
                    print("out of time")
                    break
                path.write_text(source_text, "utf-8")
                of_file += 1
                if not killed(copied, TESTS[name]):
                    survived += 1
                    print(f"survived  {name}:{line}  {what[:160]}", flush=True)
            path.write_text(original, "utf-8")
            print(f"{name}: {of_file - survived} of {of_file} killed", flush=True)
            total, alive = total + of_file, alive + survived
    print(f"{total} mutants, {alive} survived, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
