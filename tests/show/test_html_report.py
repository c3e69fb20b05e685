from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from enrelm_cli.judge.curve import Curve, choices
from enrelm_cli.report.reports import CheckReport, CompareReport, CurveReport, DataFacts
from enrelm_cli.show.page import page
from enrelm_cli.show.render import html
from tests import sample_reports as samples
from tests.real_reports import check_report

CURVE = samples.curve_report(samples.APPROXIMATE, samples.INCREMENTAL, samples.KERNEL, elm=samples.elm_band())
COMMAND = "enrelm curve 'my data.csv' --target '<y>'"
PAGES: dict[str, CheckReport | CurveReport | CompareReport | list[CompareReport]] = {
    "check": check_report(),
    "curve": CURVE,
    "compare": samples.compare_report(),
    "several": [samples.compare_report("a.csv"), samples.compare_report("b.csv", protocol="paper", repeats=1)],
}


class Reader(HTMLParser):
    """Notes tags that do not close what was opened, and what stands around every table."""

    VOID = frozenset({"meta", "link", "br", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, str]] = []
        self.problems: list[str] = []
        self.loose_tables = 0
        self.identities: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "table" and not any(name == "div" and "wide" in kind for name, kind in self.open):
            self.loose_tables += 1
        if given.get("id"):
            self.identities.append(str(given["id"]))
        if tag not in self.VOID:
            self.open.append((tag, given.get("class") or ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Closed as it opens."""

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop()[0] != tag:
            self.problems.append(tag)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_well_formed_and_its_tables_scroll_in_their_own_boxes(name: str) -> None:
    reader = Reader()
    reader.feed(page(PAGES[name], COMMAND))
    assert reader.problems == []
    assert reader.open == []
    assert reader.loose_tables == 0
    assert len(set(reader.identities)) == len(reader.identities)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fetches_nothing_and_runs_nothing(name: str) -> None:
    text = page(PAGES[name], COMMAND)
    assert not re.search(r"https?://|<script|@import|url\((?!#)| src=", text)


@pytest.mark.parametrize("name", PAGES)
def test_every_chart_is_sound_xml_inside_its_frame(name: str) -> None:
    charts = re.findall(r"<svg viewBox.*?</svg>", page(PAGES[name], COMMAND), flags=re.S)
    assert charts
    for chart in charts:
        root = ElementTree.fromstring(chart)
        for text in root.iter("text"):
            assert 0 <= float(text.get("x", "0")) <= 440
        assert "nan" not in chart
        assert "inf" not in chart.replace("information", "")


def test_the_page_has_what_reproduces_it() -> None:
    text = page(CURVE, COMMAND)
    assert "enrelm curve &#x27;my data.csv&#x27; --target &#x27;&lt;y&gt;&#x27;" in text
    for needed in ("How to reproduce", "content hash 3f1a", "Settings", "split seed", "Versions", "numpy"):
        assert needed in text
    assert "enrelm fit cal_housing.csv" in text


def test_the_page_tells_the_paper_s_protocol() -> None:
    text = page(samples.compare_report(protocol="paper", repeats=1), COMMAND)
    assert "chosen on the same 5,160 rows whose error is shown" in text


def test_names_cannot_write_html() -> None:
    hostile = DataFacts("<script>alert(1)</script>.csv", 9, 2, ("a",), "<b>y</b>", "00")
    report = CurveReport(**{**vars(CURVE), "data": hostile})
    text = page(report, "enrelm curve '</code><script>'")
    assert "<script" not in text
    assert "&lt;b&gt;y&lt;/b&gt;" in text


def test_several_tables_end_with_their_ranks() -> None:
    text = page(PAGES["several"], COMMAND)
    assert "Ranks over 2 tables" in text
    assert "b.csv: kernel is best" in text


def test_the_page_needs_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html(CURVE, str(tmp_path / "page.html"), COMMAND)
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page(CURVE, COMMAND)


def test_a_curve_with_holes_can_be_drawn() -> None:
    errors = np.array([0.9, np.nan, 0.6, np.inf, 1e30])
    text = page(samples.curve_report(Curve("other", errors, errors, choices(errors), None, False, 5)), COMMAND)
    (chart,) = re.findall(r"<svg viewBox.*?</svg>", text, flags=re.S)
    assert "nan" not in chart
    assert "inf" not in chart
