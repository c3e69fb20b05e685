"""Whatever goes wrong: one message that a terminal can show, and an exit code."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.cli_runner import run


@given(st.text(st.characters(exclude_categories=["L", "Nd", "Zs"]), min_size=1, max_size=12))
@example("\x1b[2J\x1b]0;owned\x07\r\n\x9b1m\u202e\ud800")
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_nothing_in_the_message_of_a_bug_moves_the_cursor(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(text)

    monkeypatch.setattr("enrelm_cli.commands.info.info", fail)
    for more in ([], ["--debug"]):
        outcome = run("info", "model.joblib", *more)
        assert outcome.code == 1
        assert outcome.stderr.replace("\n", "").isprintable()
