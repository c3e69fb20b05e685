"""Mutation pass: change one operator, number or condition at a time, and see whether the tests notice.

    python -m tests.mutate [FILE ...] [--log FILE] [--seconds N]      (make mutate)

Works on a copy of the package. Each mutant runs in a fork of a process that has numpy, scipy and pytest loaded; one
that does not end is killed by the clock. Named constants of a module, annotations, default arguments and what is
raised are left alone: the first are choices, not logic, and the others change no number. Prints every mutant that
survives, and the count. The log has a line for each mutant; those in it are not run again, if they were killed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_FITS = "tests/judge tests/variants tests/phase_one/test_phase_one.py tests/commands/test_compare.py"
TESTS = {
    "inputs/split.py": "tests/inputs/test_split.py tests/judge/test_fitting.py",
    "judge/curve.py": "tests/judge/test_curve.py tests/judge/test_fitting.py",
    "judge/relevance.py": "tests/judge/test_relevance.py",
    "judge/errors.py": _FITS,
    "judge/fitting.py": "tests/judge/test_fitting.py tests/commands/test_compare.py",
    "judge/baselines.py": "tests/judge/test_baselines.py tests/commands/test_compare.py",
    "judge/methods.py": "tests/commands/test_compare.py",
    "judge/peers.py": "tests/judge/test_baselines.py tests/commands/test_compare.py",
    "variants/__init__.py": "tests/variants",
    "variants/_gather.py": "tests/variants/test_local.py",
    "variants/_leaves.py": "tests/variants/test_local.py",
    "variants/_pic.py": "tests/variants/test_local.py",
    "variants/_variant.py": "tests/judge/test_fitting.py",
    "variants/approximate.py": _FITS,
    "variants/incremental.py": _FITS,
    "variants/kernel.py": _FITS,
    "variants/local.py": "tests/variants/test_local.py tests/variants/test_registry.py",
}
# More than any of these tests takes.
_SECONDS = 300
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
    tree = ast.parse(source)
    for index, node in enumerate(list(sites(tree))):
        for kind in range(len(list(_changes(node)))):
            changed = copy.deepcopy(tree)
            place = list(sites(changed))[index]
            before = ast.unparse(place)
            list(_changes(place))[kind]()
            after = ast.unparse(place)
            if before != after:
                yield getattr(place, "lineno", 0), f"{before}  ->  {after}".replace("\n", " "), ast.unparse(changed)


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


def killed(copied: Path, tests: str) -> bool:
    """Whether a fork of this process sees a test fail."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] != 0
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "enrelm_cli")]:
        del sys.modules[name]
    os.chdir(copied)
    sys.path.insert(0, str(copied))
    signal.alarm(_SECONDS)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    import pytest

    words = [word for word in tests.split() if (copied / word).exists()]
    os._exit(int(pytest.main(["-q", "-x", "-n", "0", "-p", "no:cacheprovider", *words])))


@dataclass(frozen=True)
class Log:
    """What became of each mutant, written as it is known, so that a run can go on where it was stopped."""

    path: Path | None

    def write(self, outcome: str, mutant: str) -> None:
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{outcome}\t{mutant}\n")

    def killed(self) -> set[str]:
        if not self.path or not self.path.exists():
            return set()
        lines = [line.split("\t", 1) for line in self.path.read_text("utf-8").splitlines()]
        return {mutant for outcome, mutant in lines if outcome == "killed"}


def mutate(copied: Path, name: str, log: Log, until: float) -> tuple[int, int]:
    """How many mutants of a file there were, and how many survived."""
    path, original = copied / "enrelm_cli" / name, (ROOT / "enrelm_cli" / name).read_text("utf-8")
    if killed(copied, TESTS[name]):
        sys.exit(f"{name}: its tests fail as it is")
    count, survived, known = 0, 0, log.killed()
    seen: Counter[str] = Counter()
    for line, what, source_text in mutants(original):
        if time.monotonic() > until:
            print("out of time")
            break
        count += 1
        # Without the line's number, so that a log outlives changes elsewhere in the file.
        seen[what] += 1
        mutant = f"{name}  {what}  ({seen[what]})"
        if mutant in known:
            continue
        path.write_text(source_text, "utf-8")
        dead = killed(copied, TESTS[name])
        log.write("killed" if dead else "survived", mutant)
        if not dead:
            survived += 1
            print(f"survived  {name}:{line}  {what[:160]}", flush=True)
    path.write_text(original, "utf-8")
    print(f"{name}: {count - survived} of {count} killed", flush=True)
    return count, survived


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="of enrelm_cli/, such as judge/curve.py; default: all")
    parser.add_argument("--log", type=Path, help="a file with a line for each mutant, to go on from")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    asked = parser.parse_args()
    import scipy.linalg
    import scipy.optimize  # noqa: F401

    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        copied = Path(scratch)
        for name in ("enrelm_cli", "tests", "sample_data", "docs", "pyproject.toml"):
            source = ROOT / name
            shutil.copytree(source, copied / name) if source.is_dir() else shutil.copy(source, copied / name)
        counts = [mutate(copied, name, Log(asked.log), start + asked.seconds) for name in asked.files or TESTS]
    total, alive = (sum(column) for column in zip(*counts, strict=True))
    print(f"{total} mutants, {alive} survived, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
