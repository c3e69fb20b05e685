"""What a model file says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from enrelm_cli.commands.saved import load_model
from enrelm_cli.model.card import ModelCard
from enrelm_cli.report.reports import FitReport
from tests.cli_runner import succeed


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, sample_data: Path) -> Path:
    path = tmp_path_factory.mktemp("card") / "model.joblib"
    succeed("fit", sample_data / "linear.csv", "-t", "y", "--variant", "approximate", "-o", path)
    return path


def test_a_card_survives_its_document(saved: Path) -> None:
    card = load_model(str(saved)).card
    assert ModelCard.from_document(card.to_document()) == card


def test_keys_of_a_later_version_are_passed_over(saved: Path) -> None:
    card = load_model(str(saved)).card
    assert ModelCard.from_document({**card.to_document(), "colour": "green"}) == card


def test_a_new_key_of_the_report_changes_no_byte_of_the_model(
    saved: Path, tmp_path: Path, sample_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_json = FitReport.to_json
    monkeypatch.setattr(FitReport, "to_json", lambda self: {**to_json(self), "new": 1})
    again = tmp_path / "again.joblib"
    done = succeed("fit", sample_data / "linear.csv", "-t", "y", "--variant", "approximate", "-o", again, "-f", "json")
    assert done.json["new"] == 1
    assert again.read_bytes() == saved.read_bytes()
