"""A field of the settings is all that an option needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enrelm_cli import settings
from enrelm_cli.cli.options import parameters
from enrelm_cli.errors import UsageError
from enrelm_cli.fields import METHOD, Settings, all_options, build, choice, flag, options, real, texts, whole
from enrelm_cli.model import artifact
from enrelm_cli.sizes import parse_size


@dataclass(frozen=True)
class Leaves(Settings):
    leaf_rows: int = whole(2000, "Rows per leaf.", METHOD, at_least=20, at_most=10**6)
    depth: int | None = whole(None, "Levels.", METHOD, words={"auto": None}, only=("fit",))
    share: float = real(0.5, "Share.", METHOD, above=0.0, below=1.0)
    shape: str = choice("ball", ("ball", "box"), "Shape.", METHOD)
    names: tuple[str, ...] = texts("Names.", METHOD, "NAME", flags=("--name",))
    prune: bool = flag(True, "Prune.", METHOD)


@dataclass(frozen=True)
class Forest(Settings):
    leaves: Leaves = Leaves()
    trees: int = whole(3, "Trees.", METHOD)


def test_a_field_is_an_option_of_every_command_that_takes_its_settings() -> None:
    assert [option.flag for option in all_options(Forest, "fit")] == [
        "--leaf-rows", "--depth", "--share", "--shape", "--name", "--prune", "--trees",
    ]  # fmt: skip
    assert "--depth" not in [option.flag for option in all_options(Forest, "curve")]
    assert {one.name for one in parameters([Forest], "curve")} >= {"leaf_rows", "trees", "quiet"}


def test_what_is_typed_becomes_the_fields_and_the_rest_keeps_its_default() -> None:
    built = build(Forest, {"leaf_rows": "50", "depth": "auto", "name": ["a", "b"], "prune": False})
    assert built == Forest(Leaves(leaf_rows=50, names=("a", "b"), prune=False))


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ({"leaf_rows": "19"}, "--leaf-rows 19 must be between 20 and 1,000,000"),
        ({"leaf_rows": "²"}, "--leaf-rows '²' is not a whole number"),
        ({"leaf_rows": "٣٣"}, "--leaf-rows '٣٣' is not a whole number"),
        ({"leaf_rows": "9" * 5000}, "is not a whole number"),
        ({"trees": "-1"}, "--trees -1 must be at least 0"),
        ({"trees": "1" + 21 * "0"}, "must be between 0 and 1,000,000,000,000"),
        ({"share": "nan"}, "--share 'nan' is not a number"),
        ({"share": "1e999"}, "must be above 0 and below 1"),
        ({"share": "1"}, "--share 1.0 must be above 0 and below 1"),
        ({"shape": "boxx"}, "--shape 'boxx' is not one of ball, box"),
    ],
)
def test_what_the_program_does_not_take_is_a_usage_error(typed: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        build(Forest, typed)
    assert problem in caught.value.problem
    assert caught.value.hint


@given(st.text(max_size=12))
def test_any_text_is_a_number_in_range_or_a_usage_error(typed: str) -> None:
    for name, kind in (("leaf_rows", int), ("share", float)):
        try:
            value = getattr(build(Leaves, {name: typed}), name)
        except UsageError:
            continue
        assert isinstance(value, kind)
        assert value == kind(typed)
        assert typed.isascii()


SETTINGS = [kind for kind in vars(settings).values() if isinstance(kind, type) and issubclass(kind, Settings)]


@pytest.mark.parametrize("kind", [kind for kind in SETTINGS if kind is not Settings], ids=lambda kind: kind.__name__)
def test_every_default_can_be_typed(kind: type[Settings]) -> None:
    for option in options(kind).values():
        if option.default_text is not None and not isinstance(option.default, bool):
            assert option.value(option.default_text) == option.default


@pytest.mark.parametrize(
    ("written", "size"),
    [("2G", 2 * 10**9), ("2gb", 2 * 10**9), ("2GiB", 2**31), ("1.5k", 1500), (" 7 ", 7), ("1 MiB", 2**20)],
)
def test_a_size_means_the_same_as_an_option_and_in_the_environment(
    written: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENRELM_MODEL_LIMIT", written)
    assert build(settings.EngineSettings, {"memory": written}).memory == artifact._limit_from_environment() == size


@pytest.mark.parametrize("text", ["", "lots", "-1", "G", "GiB", "2iB", "2 G i B", "²G", "9" * 30, "1e9", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)
