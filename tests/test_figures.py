"""Pictures of the pages show what the program shows today, and README's table what was measured: `make figures`."""

from __future__ import annotations

import numpy as np
import pytest

from docs import make_activations, make_figures, pictures, results
from docs.make_figures import ALL, FIGURES, Figure


@pytest.mark.parametrize("figure", [one for one in ALL if not one.slow], ids=lambda figure: figure.name)
def test_a_picture_shows_what_the_program_shows(figure: Figure) -> None:
    assert make_figures.stale(figure) is None, f"run: make figures FIGURES={figure.name}"


@pytest.mark.slow
@pytest.mark.parametrize("figure", [one for one in ALL if one.slow], ids=lambda figure: figure.name)
def test_a_picture_that_takes_long_shows_what_the_program_shows(figure: Figure) -> None:
    pytest.importorskip("sklearn", reason="the picture has rows of scikit-learn")
    assert make_figures.stale(figure) is None, f"run: make figures FIGURES={figure.name}"


def test_every_picture_is_made_by_the_script_and_none_is_left_over() -> None:
    assert {path.name for path in FIGURES.iterdir()} == {figure.name for figure in ALL} | {"shown.json"}
    assert make_figures.kept().keys() == {figure.name for figure in ALL}


def test_a_picture_is_stale_when_a_number_a_word_or_the_file_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "neurons.svg"
    known = make_figures.kept()
    shown = known[name]["shown"]
    assert make_figures.stale(Figure(name, lambda: shown, lambda path: None)) is None
    assert make_figures.stale(Figure(name, lambda: {"other": 1}, lambda path: None)) is not None
    monkeypatch.setattr(make_figures, "digest", lambda path: "another")
    assert make_figures.stale(Figure(name, lambda: shown, lambda path: None)) is not None


def test_screens_are_the_same_up_to_times_wrapping_and_rounding() -> None:
    first = make_figures.plain(
        "error 0.2157\x1b[0m, total 5.39 s ━━━\nnext:  enrelm\n★ kernel  449  0.2157  1.00×  3.240"
    )
    again = make_figures.plain("error 0.2158, total 1 min 12 s\nnext: enrelm\n★ kernel 449 0.2157 1.00×  ██ 12.240")
    assert make_figures.same(first, again)
    assert not make_figures.same(first, again.replace("0.2158", "0.2358"))
    assert not make_figures.same(first, again.replace("next", "then"))
    assert not make_figures.same({"a": [1.0, 2.0]}, {"a": [1.0]})


def test_the_table_of_the_readme_is_that_of_the_results() -> None:
    text = results.README.read_text(encoding="utf-8")
    assert results.page(text) == text, "run: make figures"


def test_the_kernels_that_are_drawn_are_those_of_the_activations() -> None:
    rho = np.linspace(-1.0, 1.0, 9)
    closed = 2.0 / np.pi * np.arcsin(2.0 * 10.0 * rho / (1.0 + 2.0 * 10.0))
    np.testing.assert_allclose(pictures.expected_product("erf", 10.0, rho), closed, atol=1e-9)
    for name in pictures.ACTIVATIONS:
        drawn = pictures.expected_product(name, 10.0, rho)
        np.testing.assert_allclose(drawn, -drawn[::-1], atol=1e-12)
        assert np.all(np.diff(drawn) > 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", make_activations.TABLES)
def test_the_errors_of_the_page_of_activations_are_those_of_today(name: str) -> None:
    page = make_activations.PAGE.read_text(encoding="utf-8")
    shown = next(line for line in page.splitlines() if line.startswith(f"| {name} | erf |"))
    assert make_figures.same(shown, make_activations.lines(name, ("erf",))[0]), "run: make activations"
