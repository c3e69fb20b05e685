"""Options and fixtures of the whole suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests that take minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="takes minutes: pytest --slow, or make test-all"))


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """The folder with the paper's datasets, which are not part of the project."""
    folder = os.environ.get("ENRELM_PAPER_DATA")
    if not folder:
        pytest.skip("the paper's datasets: set ENRELM_PAPER_DATA to their folder")
    return Path(folder)


@pytest.fixture(scope="session")
def public_tables() -> Path:
    """The folder with public tables of the kinds people have, which are not part of the project either."""
    folder = os.environ.get("ENRELM_TABLES")
    if not folder:
        pytest.skip("public tables: set ENRELM_TABLES to their folder")
    return Path(folder)


@pytest.fixture(scope="session")
def sample_data() -> Path:
    return Path(__file__).parent.parent / "sample_data"
