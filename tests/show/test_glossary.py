"""Every label that a report prints is in the glossary, in the terminal and on its page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from docs import make_numbers
from enrelm_cli.report.glossary import CHAPTERS, TERMS, named
from tests.cli_runner import run as invoke

FOLDER = Path(__file__).parents[2] / "enrelm_cli" / "report"


@pytest.mark.parametrize(
    "name", ["landmarks", "alpha", "leave-one-out error", "weight variance", "tuning evaluations", "steps", "leaves"]
)
def test_every_number_among_the_details_is_explained(name: str) -> None:
    assert named(name) is not None


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*view*.py")), ids=lambda path: str(path.stem))
def test_every_label_that_a_view_can_print_is_explained(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    labels = re.findall(r'Column\(\s*"([^"]+)"', text) + re.findall(r'(?m)^\s+\(\s*"([a-z][a-z ]*)",', text)
    assert not [label for label in labels if named(label) is None]


def test_the_page_has_the_glossary() -> None:
    page = make_numbers.PAGE.read_text(encoding="utf-8")
    assert make_numbers.page(page) == page, "run: python docs/make_numbers.py"


def test_the_terminal_explains_what_is_asked_for() -> None:
    told = invoke("glossary", "alpha", "R2", "vs_best")
    assert told.code == 0
    assert [line.split("  ")[0] for line in told.stdout.splitlines() if line[:1].strip()] == ["alpha", "R²", "vs best"]
    everything = json.loads(invoke("glossary", "--format", "json").stdout)["terms"]
    assert len(everything) == len(TERMS) == sum(len(chapter.terms) for chapter in CHAPTERS)
    wrong = invoke("glossary", "alhpa")
    assert wrong.code == 2
    assert "did you mean 'alpha'?" in wrong.stderr
