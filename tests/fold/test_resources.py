"""Sizes as people write them."""

from __future__ import annotations

import pytest

from enrelm_cli.errors import UsageError
from enrelm_cli.fold.resources import parse_bytes
from enrelm_cli.model import artifact


@pytest.mark.parametrize(
    ("text", "size"),
    [("500", 500), ("2G", 2 * 10**9), ("2gb", 2 * 10**9), ("2GiB", 2**31), ("1.5 Ki", 1536), ("1T", 10**12)],
)
def test_an_option_and_a_variable_read_a_size_alike(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENRELM_MODEL_LIMIT", text)
    assert parse_bytes(text) == artifact._limit_from_environment() == size


@pytest.mark.parametrize("text", ["", "G", "-1", "2iB", "1e9", "²", "nan", "9" * 40])
def test_what_is_no_size_is_refused_with_the_way_to_write_it(text: str) -> None:
    with pytest.raises(UsageError, match=r"--memory .* is not a size") as caught:
        parse_bytes(text)
    assert "--memory 2G" in (caught.value.hint or "")
