"""The registry of variants: adding one is adding a file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from enrelm_cli import variants
from enrelm_cli.variants import VARIANTS, named, names_in
from enrelm_cli.variants._variant import Variant

PACKAGE = Path(variants.__file__).parents[1]


def test_the_papers_variants_and_our_own_are_registered() -> None:
    assert set(VARIANTS) >= {"approximate", "incremental", "kernel"}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_named_like_its_file(name: str) -> None:
    assert isinstance(named(name), Variant)
    assert named(name).name == name


def test_a_new_file_is_a_new_variant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "newest.py").write_text("from enrelm_cli.variants.kernel import Kernel\n\nVARIANT = Kernel()\n")
    (tmp_path / "_shared.py").write_text("")
    monkeypatch.setattr(variants, "__path__", [*variants.__path__, str(tmp_path)])
    assert set(names_in(variants.__path__)) == {*VARIANTS, "newest"}
    assert isinstance(named("newest"), Variant)


def strings_compared(path: Path) -> set[str]:
    """String constants that a file compares something with."""
    compared = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Compare)]
    parts = [part for node in compared for side in (node.left, *node.comparators) for part in ast.walk(side)]
    return {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}


@pytest.mark.parametrize(
    "path", [path for path in PACKAGE.rglob("*.py") if path.parent.name != "variants"], ids=lambda path: path.stem
)
def test_nothing_outside_compares_with_the_name_of_a_variant(path: Path) -> None:
    assert not strings_compared(path) & set(VARIANTS)
