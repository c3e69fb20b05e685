"""Pages of fit, info and explain: whole, self-contained, and readable in a browser of 390 pixels."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.cli_runner import succeed

FOLDER = Path(__file__).parents[2] / "sample_data"
HOUSES = FOLDER / "houses.csv"
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=5000",
]
PAGES = ("fit", "info", "explain")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    model, paths = folder / "model.joblib", {name: folder / f"{name}.html" for name in PAGES}
    how = ("-t", "price", "--drop", "house_id", "--variant", "kernel", "--no-tune", "-o", model)
    succeed("fit", HOUSES, *how, "--report", paths["fit"])
    succeed("info", model, "--report", paths["info"])
    succeed("explain", model, HOUSES, "--report", paths["explain"])
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items()}


class Tags(HTMLParser):
    """Every tag is closed, and ids are used once."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in ("meta", "link", "br", "path", "rect", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("path", "rect", "circle"):
            assert self.open.pop() == tag


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_well_formed_and_fetches_nothing(name: str, pages: dict[str, str]) -> None:
    tags = Tags()
    tags.feed(pages[name])
    assert tags.open == []
    assert len(tags.ids) == len(set(tags.ids))
    assert "<script" not in pages[name]
    assert not re.search(r"(?:src|href)=\"(?!data:)", pages[name])


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_columns_settings_command_and_hash(name: str, pages: dict[str, str]) -> None:
    text = pages[name]
    for wanted in (
        "<h2>Columns</h2>",
        "<h2>Settings</h2>",
        "content hash",
        "How to reproduce",
        "area_m2",
        'class="spark"',
    ):
        assert wanted in text
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    assert 'tabindex="0"' in text  # tables that scroll can be reached by the keyboard


def test_the_page_of_a_fit_shows_curve_effects_residuals_and_intervals(pages: dict[str, str]) -> None:
    for wanted in ("Error curve", "Effects of columns", "Columns that act together", "Residuals", "Intervals"):
        assert f"<h2>{wanted}</h2>" in pages["fit"]


def test_the_page_of_an_explanation_shows_the_worst_rows_and_coverage(pages: dict[str, str]) -> None:
    for wanted in ("Effects of columns", "Residuals", "Worst rows", "Intervals"):
        assert f"<h2>{wanted}</h2>" in pages["explain"]


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")
@pytest.mark.parametrize("width", [390, 1200])
def test_a_browser_shows_them_without_errors_and_without_sideways_scrolling(
    width: int, pages: dict[str, str], tmp_path: Path
) -> None:
    """Each page in a frame of that width: a headless window may not be narrower than 500 pixels, and 15 scroll."""
    frames = "".join(
        f'<iframe id="{name}" style="width:{width + 15}px;height:800px;border:0" srcdoc="{escape(text)}"></iframe>'
        for name, text in pages.items()
    )
    measure = (
        "onload=()=>{document.body.innerHTML=[...document.querySelectorAll('iframe')].map(f=>f.id+':'+"
        "[f.contentDocument.documentElement.scrollWidth,f.contentDocument.documentElement.clientWidth]).join(' ')}"
    )
    outer = tmp_path / "outer.html"
    outer.write_text(f"<!doctype html><meta charset=utf-8><body>{frames}<script>{measure}</script>", encoding="utf-8")
    line = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", outer.as_uri()]
    seen = subprocess.run(line, capture_output=True, text=True, timeout=120, check=True)
    found = {name: (int(a), int(b)) for name, a, b in re.findall(r"(fit|info|explain):(\d+),(\d+)", seen.stdout)}
    assert set(found) == set(PAGES), seen.stdout[:300]
    for name, (scrolled, shown) in found.items():
        assert shown == width
        assert scrolled == shown, name
    assert "CONSOLE" not in seen.stderr


def command_of(page: Path) -> list[str]:
    found = re.search(r"How to reproduce.*?<pre><code>(.*?)</code>", page.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return shlex.split(unescape(found[1]))


def test_the_line_of_a_page_says_what_a_run_file_and_variables_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, page, run = FOLDER / "network.csv", tmp_path / "page.html", tmp_path / "run.toml"
    run.write_text('target = "y"\nvariant = "approximate"\n[fit]\ntune = false\nupdatable = false\n')
    monkeypatch.setenv("ENRELM_SEED", "5")
    succeed("fit", table, "--config", run, "--report", page)
    first, line = page.read_text(encoding="utf-8"), command_of(page)
    assert line[:3] == ["enrelm", "fit", str(table)]
    assert "--config" not in line
    assert ("--seed 5" in " ".join(line), "--no-tune" in line) == (True, True)
    monkeypatch.delenv("ENRELM_SEED")
    succeed(*line[1:])
    assert _without_times(page.read_text(encoding="utf-8")) == _without_times(first)


def _without_times(page: str) -> str:
    return re.sub(r"[0-9.,]+ (ms|s|min)\b", "", page)


def test_the_line_of_a_page_names_a_file_that_looks_like_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(FOLDER / "linear.csv", "-x.csv")
    succeed("check", "-t", "y", "--report", "page.html", "--", "-x.csv")
    line = command_of(Path("page.html"))
    assert line == ["enrelm", "check", "./-x.csv", "--target", "y", "--report", "page.html"]
    succeed(*line[1:])
