"""What is handed out is whole: sdist, wheel, README on an index, image, conda environment (make release-check)."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from enrelm_cli.extras import install_command

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PYTHONS = ("3.10", "3.11", "3.12", "3.13")


def dependencies() -> dict[str, str]:
    """Name -> bounds, of what every installation needs."""
    block = PROJECT[PROJECT.index("\ndependencies = [") :]
    listed = re.findall(r'^  "([\w-]+)([^";]*)', block[: block.index("\n]")], re.MULTILINE)
    return dict(listed)


def test_every_file_of_the_project_is_in_the_sdist_by_a_line_of_the_manifest() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    lines = [line.split() for line in (ROOT / "MANIFEST.in").read_text().splitlines()]
    included = [pattern for words in lines if words[0] == "include" for pattern in words[1:]]
    grafted = [words[1] for words in lines if words[0] == "graft"]
    packages = ("enrelm", "enrelm_cli")

    def taken(name: str) -> bool:
        top = name.partition("/")[0]
        return (
            top in grafted or top in packages or name == "pyproject.toml" or any(fnmatch(name, one) for one in included)
        )

    assert not [name for name in tracked if not taken(name) and name != "MANIFEST.in"]


def test_the_readme_of_an_index_has_no_link_that_breaks_there() -> None:
    pytest.importorskip("setuptools", reason="venvs of Python 3.12 and later are without; the extra dev brings it")
    text = runpy.run_path(str(ROOT / "setup.py"))["readme"]()
    assert "# enrelm" in text
    assert "enrelm fit sample_data/friedman.csv" in text
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert links
    assert all(link.startswith("https://") for link in links)


def test_the_pythons_that_are_promised_are_those_that_are_tested() -> None:
    assert tuple(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)) == PYTHONS
    for script in ("matrix", "release-check"):
        assert f"${{PYTHONS:-{' '.join(PYTHONS)}}}" in (ROOT / ".ci" / script).read_text()


def test_no_hint_names_an_index_that_does_not_have_the_package() -> None:
    sources = [*(ROOT / "enrelm_cli").rglob("*.py"), *(ROOT / "enrelm").glob("*.py")]
    named = re.compile(r"pip install (--upgrade )?['\"]?enrelm")
    assert not [path for path in sources if named.search(path.read_text(encoding="utf-8"))]
    assert install_command("plot") == "pip install 'matplotlib>=3.8'"
    assert install_command("nothing").startswith("pip install '.[nothing]'")


# ------------------------------------------------------------------------------------------------------ image and conda


def test_the_image_copies_what_there_is_and_runs_a_python_that_is_tested() -> None:
    text = (ROOT / "Dockerfile").read_text()
    copied = [name for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for name in line.split()]
    assert {"pyproject.toml", "setup.py", "enrelm_cli", "sample_data", "docs/man"} <= set(copied)
    assert all((ROOT / name).exists() for name in copied)
    assert set(re.findall(r"^FROM python:(\S+?)-slim", text, re.MULTILINE)) <= set(PYTHONS)


def test_conda_gets_the_dependencies_of_the_project() -> None:
    text = (ROOT / "environment.yml").read_text()
    listed = dict(re.findall(r"^  - ([\w-]+)([<>=][^\s]*)$", text, re.MULTILINE))
    assert listed.pop("python") == ">=3.10"
    assert listed == dependencies()


def answers(*words: str) -> bool:
    """A tool that is there, and whose daemon or index answers."""
    try:
        return (
            shutil.which(words[0]) is not None
            and subprocess.run(words, capture_output=True, timeout=20).returncode == 0
        )
    except subprocess.TimeoutExpired:
        return False


@pytest.mark.slow
def test_the_image_builds_and_fits(tmp_path: Path) -> None:
    if not answers("docker", "info"):
        pytest.skip("no Docker daemon answers here")
    subprocess.run(["docker", "build", "-q", "-t", "enrelm-test", "."], cwd=ROOT, check=True, timeout=900)
    shutil.copyfile(ROOT / "sample_data" / "linear.csv", tmp_path / "linear.csv")
    tmp_path.chmod(0o777)
    run = ["docker", "run", "--rm", "-v", f"{tmp_path}:/data", "enrelm-test"]
    subprocess.run(
        [*run, "fit", "linear.csv", "-t", "y", "--variant", "approximate", "-o", "m.joblib"], check=True, timeout=300
    )
    assert (tmp_path / "m.joblib").exists()


@pytest.mark.slow
def test_conda_solves_the_environment() -> None:
    tool = next((name for name in ("micromamba", "mamba", "conda") if shutil.which(name)), None)
    if tool is None:
        pytest.skip("no conda, mamba or micromamba on this machine")
    words = (
        [tool, "create", "--dry-run", "-n", "enrelm-test"] if tool != "conda" else [tool, "env", "create", "--dry-run"]
    )
    done = subprocess.run([*words, "-f", "environment.yml"], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
