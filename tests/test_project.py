"""What the project says of itself is so: version, dependencies, files that the pages name, the bill of materials."""

from __future__ import annotations

import importlib.util
import re
from importlib import metadata
from pathlib import Path

import pytest

import enrelm_cli

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"]
PAGES += [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
# A path in code marks or in a link: with a folder, or a file that lies at the top.
NAMED = re.compile(
    r"(?:`|\]\()((?:enrelm_cli|tests|docs|benchmarks|examples|sample_data|\.ci)/[\w./-]+|[\w-]+\.md)(?=[`)#])"
)
LINKED = re.compile(r"\]\((?!https?:)([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page: str) -> None:
    here = (ROOT / page).parent
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(NAMED.findall(text))
    assert not [name for name in sorted(named) if not (ROOT / name).exists() and not (here / name).exists()]
    linked = {link.partition("#")[0] for link in LINKED.findall(text)} - {""}
    assert not [link for link in sorted(linked) if not (here / link).exists()]


def test_the_version_stands_in_one_place() -> None:
    assert "version = { attr =" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    written = [
        path for path in (ROOT / "enrelm_cli").rglob("*.py") if enrelm_cli.__version__ in path.read_text("utf-8")
    ]
    assert written == [ROOT / "enrelm_cli" / "__init__.py"]


def bounds(package: str) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """(at least, below) of a dependency in pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    match = re.search(rf'"{package}>=([\d.]+)(?:,<([\d.]+))?[";]', text)
    assert match, package
    low, high = (tuple(map(int, part.split("."))) if part else None for part in match.groups())
    assert low is not None
    return low, high


@pytest.mark.parametrize("package", ["joblib", "pyarrow", "typer"])
def test_the_installed_version_is_inside_the_bounds_of_a_package_whose_internals_matter(package: str) -> None:
    low, high = bounds(package)
    installed = tuple(int(part) for part in re.findall(r"\d+", metadata.version(package))[:3])
    assert high is not None
    assert low <= installed < high


def test_the_oldest_versions_that_are_tested_are_the_oldest_that_are_allowed() -> None:
    lines = (ROOT / ".ci" / "oldest.txt").read_text().splitlines()
    for line in lines:
        if not line.startswith("#"):
            package, version = line.removesuffix(".*").split("==")
            assert bounds(package)[0] == tuple(map(int, version.split("."))), package


def test_the_bill_of_materials_has_every_dependency_with_a_licence() -> None:
    spec = importlib.util.spec_from_file_location("sbom", ROOT / ".ci" / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    sbom = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sbom)
    packages = sbom.closure("enrelm")
    assert {"numpy", "scipy", "pyarrow", "joblib", "threadpoolctl", "rich", "typer"} <= packages.keys()
    assert not {"matplotlib", "pytest", "distributed"} & packages.keys()
    licences = {one["name"]: one["licenses"][0]["license"]["name"] for one in sbom.bill(packages)["components"]}
    assert "not stated" not in licences.values()
