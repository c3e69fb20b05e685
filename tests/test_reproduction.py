"""The paper's experiments: what is measured, kept, compared and written."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.paper import command, datasets, findings, pages, runner
from benchmarks.paper.facts import Evidence, Spread, all_facts, matches
from benchmarks.paper.measure import Job, Plan, inversion_per_size, judged, measure
from benchmarks.paper.printed import PRINTED
from enrelm_cli.judge.baselines import elm_curve
from enrelm_cli.judge.curve import choices
from tests import paper

TINY = Plan(seeds=2, kernel_seeds=1, realizations=2, text_realizations=1, choosing_realizations=1)


# ------------------------------------------------------------------------------------------------------- the checker


TABLE = {"a": ["1", "2", "3", "2"], "kind": ["x", "y", "x", "x"], "y": ["0.5", "1.5", "2.5", "4"]}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    prints = {name: datasets.fingerprint(cells) for name, cells in TABLE.items()}
    monkeypatch.setattr(datasets, "FINGERPRINTS", {"prostate": prints})


def verdict(folder: Path, table: dict[str, list[str]]) -> datasets.Verdict:
    path = folder / "prostate.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([list(table), *zip(*table.values(), strict=True)])
    return datasets.check_file("prostate", path)


@pytest.mark.usefixtures("known")
def test_a_file_is_right_however_its_numbers_are_written(tmp_path: Path) -> None:
    assert verdict(tmp_path, {**TABLE, "a": ["1.0", "2", "3e0", "2.00"]}).state == "right"


@pytest.mark.usefixtures("known")
def test_the_checker_names_a_missing_file(tmp_path: Path) -> None:
    assert datasets.check_file("prostate", tmp_path / "prostate.csv").state == "missing"


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({**TABLE, "a": ["1", "2", "3", "9"]}, r"column 'a': other values: 1 to 9, mean 3.75; not 1 to 3, mean 2"),
        ({**TABLE, "kind": ["x", "y", "x", "z"]}, r"column 'kind': other values$"),
        ({**TABLE, "kind": ["1", "2", "1", "1"]}, r"column 'kind': numbers instead of text"),
        ({name: cells[:3] for name, cells in TABLE.items()}, r"^3 rows, not 4$"),
        ({name: cells[::-1] for name, cells in TABLE.items()}, r"another order of rows"),
        ({"A": TABLE["a"], "kind": TABLE["kind"], "y": TABLE["y"]}, r"column 'a' is called 'A' here"),
        ({"a": TABLE["a"], "y": TABLE["y"]}, r"column 'kind' is missing"),
        ({**TABLE, "id": ["1", "2", "3", "4"]}, r"column 'id' does not belong there"),
    ],
)
def test_the_checker_says_what_differs(table: dict[str, list[str]], said: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, table)
    assert found.state == "differs"
    assert len(found.details) == 1
    assert re.search(said, found.details[0])


def test_the_papers_files_are_right(paper_data: Path) -> None:
    assert {one.name: one.state for one in datasets.check(paper_data)} == dict.fromkeys(datasets.BY_NAME, "right")


def test_the_checker_needs_neither_numpy_nor_scipy(tmp_path: Path) -> None:
    code = (
        "import sys; from benchmarks.paper.command import main; "
        f"assert main(['--check', {str(tmp_path)!r}]) == 3; assert not {{'numpy', 'scipy'}} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("missing") == 8


# -------------------------------------------------------------------------------------------------------- the figures


def test_all_of_the_papers_rows_are_there() -> None:
    assert list(PRINTED) == [*map(str, range(1, 49)), *sorted(datasets.BY_NAME)]
    assert PRINTED["36"].error == {"approximate": 0.3579, "incremental": 0.3630, "elm": 0.3498}
    assert PRINTED["36"].neurons == {"approximate": 362, "incremental": 15, "elm": 49}
    assert (PRINTED["servo"].elm_std, PRINTED["servo"].milliseconds["one_elm"]) == (0.0203, 58.2)


def test_the_printed_figures_are_those_of_the_paper(paper_data: Path) -> None:
    folder = paper_data.parent / "paper"
    if not folder.is_dir():
        pytest.skip("the paper's own tables are not beside its data")
    titles = {one.title: one.name for one in datasets.REAL}
    with (folder / "errors.csv").open() as errors, (folder / "timings_ms.csv").open() as timings:
        rows = [{**a, **b} for a, b in zip(csv.DictReader(errors), csv.DictReader(timings), strict=True)]
    for row in rows:
        own = PRINTED[titles.get(row["dataset"]) or row["dataset"].split()[1]]
        letters = {"approximate": "a", "incremental": "i", "elm": "elm"}
        for method, letter in letters.items():
            assert own.error[method] == float(row[f"{letter}_error"])
            assert own.neurons[method] == int(row[f"{letter}_neurons"])
        assert own.elm_std == float(row["elm_std"])
        assert list(own.milliseconds.values()) == [float(row[f"{name}_ms"]) for name in ("a", "i", "elm20", "elm1")]


def test_an_inversion_for_every_size_gives_the_oracles_and_the_qrs_curve() -> None:
    rng = np.random.default_rng(0)
    X, X_test = rng.standard_normal((60, 3)), rng.standard_normal((20, 3))
    y, y_test = X[:, 0] + rng.standard_normal(60), rng.standard_normal(20)
    W = rng.standard_normal((12, 3))
    slow = inversion_per_size(X, y, X_test, y_test, W)
    oracle = paper.elm_curve(X.T, y, X_test.T, y_test, 12, W)
    quick = elm_curve(paper.hidden(W, X.T), y, paper.hidden(W, X_test.T), y_test)
    for a, b, c in zip(slow, oracle, quick, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
        np.testing.assert_allclose(a, c, rtol=1e-9)


def test_an_honest_error_is_that_of_the_size_chosen_inside_training() -> None:
    held_out = np.array([0.9, 0.5, 0.4, 0.6])
    inside = np.array([0.9, 0.3, 0.5, 0.6, 0.6, 0.2])
    found = judged(held_out, choices(held_out), choices(inside))
    assert (found["neurons"], found["error"]) == (3, 0.4)
    # Six neurons were best inside; the refitted network has only four.
    assert (found["honest_neurons"], found["honest_error"]) == (6, 0.6)


def test_a_real_dataset_gives_the_printed_figures(paper_data: Path) -> None:
    found = measure(Job("real", "prostate", 0, TINY, str(paper_data)))
    for method in ("approximate", "incremental"):
        assert matches(PRINTED["prostate"], method, found[method]["error"], "prostate")
    assert found["incremental"]["neurons"] == PRINTED["prostate"].neurons["incremental"]
    assert not matches(PRINTED["prostate"], "approximate", found["approximate_narrow"]["error"], "prostate")


def test_inverting_a_singular_matrix_depends_on_the_order_of_columns(paper_data: Path) -> None:
    def spans(name: str) -> list[float]:
        found = measure(Job("inverse", name, 0, Plan(seeds=4), str(paper_data)))
        assert (found["rank"] < found["d"]) == (name == "auto_mpg")
        return [max(found[method]) - min(found[method]) for method in ("approximate", "incremental")]

    assert min(spans("auto_mpg")) > 1e-3
    assert max(spans("la_ozone")) < 1e-9


def test_a_range_holds_most_of_its_own_draws() -> None:
    spread = Spread(np.arange(20.0))
    assert spread.holds(9.5)
    assert not spread.holds(-0.1)
    # Only the outermost draws lie outside the range of the other nineteen.
    assert spread.own_coverage() == pytest.approx(18 / 20)


# ------------------------------------------------------------------------------------------------------------ the runs


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Jobs that were really run."""
    ran: list[str] = []

    def fake(job: Job) -> dict[str, float]:
        ran.append(job.name)
        return {"seed": job.seed}

    monkeypatch.setattr(runner, "measure", fake)
    return ran


def some_jobs(seeds: int) -> list[Job]:
    return [Job("generator", "1", seed, Plan(seeds=seeds)) for seed in range(seeds)]


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path, counted: list[str]) -> None:
    runner.run(some_jobs(3), tmp_path, 1, lambda job: None)
    results = tmp_path / runner.RESULTS
    results.write_text(results.read_text()[:-10])  # killed while it wrote the third
    counted.clear()
    heard: list[Job | None] = []
    found = runner.run(some_jobs(4), tmp_path, 1, heard.append)
    assert counted == ["generator 1 2", "generator 1 3"]
    assert [None if job is None else job.seed for job in heard] == [None, None, 2, 3]
    assert [found["generator", "1", seed]["seed"] for seed in range(4)] == [0, 1, 2, 3]
    counted.clear()
    runner.run(some_jobs(4), tmp_path, 1, heard.append)
    assert counted == []


def test_other_code_or_settings_are_measured_again(
    tmp_path: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runner.run(some_jobs(2), tmp_path, 1, lambda job: None)
    counted.clear()
    monkeypatch.setattr(runner, "code_version", lambda: "another")
    runner.run(some_jobs(2), tmp_path, 1, lambda job: None)
    assert len(counted) == 2
    version = runner.code_version()
    few, many = (Job("synthetic", "1", 0, Plan(realizations=n)) for n in (2, 3))
    assert runner.key_of(few, version) != runner.key_of(many, version)


def test_comments_and_docstrings_are_no_other_code() -> None:
    plain = 'def f(x):\n    """Twice."""\n    return 2 * x\n'
    commented = "# why\ndef f(x):\n    return 2 * x  # because\n"
    assert runner._bare(plain) == runner._bare(commented)
    assert runner._bare(plain) != runner._bare(plain.replace("2 *", "3 *"))


def test_every_dataset_has_its_jobs() -> None:
    jobs = runner.jobs_of(Plan(), "folder")
    assert len(set(jobs)) == len(jobs)
    kinds = {kind: [job for job in jobs if job.kind == kind] for kind in ("synthetic", "real", "generator")}
    assert len(kinds["synthetic"]) == len(kinds["generator"]) == 48 * 20
    assert {job.dataset for job in kinds["real"]} == set(datasets.BY_NAME)
    assert {job.kind for job in runner.jobs_of(Plan(), "")} == {"synthetic", "generator", "elm_timing"}


# ----------------------------------------------------------------------------------------------------------- the pages


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Evidence]:
    """Two datasets, two draws: every page."""
    folder = tmp_path_factory.mktemp("reproduction")
    results = runner.run(runner.jobs_of(TINY, "", [1, 8]), folder / "work", 1, lambda job: None)
    pages.write(results, TINY, folder / "out")
    return folder / "out", Evidence(results, TINY)


def test_every_page_is_written_with_all_its_numbers(tiny: tuple[Path, Evidence]) -> None:
    out, evidence = tiny
    text = (out / "README.md").read_text()
    assert not re.search(r"[{}]", text)
    facts = all_facts(evidence)
    assert f"**{facts['inside']} of 6 printed errors" in text
    assert facts["outside"] == len(facts["outside_cells"]) == 6 - facts["inside"]
    assert json.loads((out / "facts.json").read_text())["inside"] == facts["inside"]
    assert "0.5738 (15)" in (out / "errors.md").read_text()
    assert "5307" in (out / "timings.md").read_text()
    assert (out / "kernel.md").read_text().count("\n| ") == 2 + 2
    assert "make reproduce DATA=folder" in text


def test_links_of_the_findings_lead_somewhere(tiny: tuple[Path, Evidence]) -> None:
    out, _ = tiny
    links = re.findall(r"\]\(([^)]+)\)", (out / "README.md").read_text())
    assert len(links) >= 6
    assert [link for link in links if not (out / link).is_file()] == []


def test_figures_are_small_well_formed_and_hold_a_panel_for_each_dataset(tiny: tuple[Path, Evidence]) -> None:
    out, _ = tiny
    files = sorted((out / "figures").glob("*.svg"))
    assert [path.stem for path in files] == ["test_300_20", "train_300_20"]
    for path in files:
        root = ElementTree.parse(path).getroot()
        assert len(root.findall("{*}g")) == 2
        assert path.stat().st_size < 40_000


def test_the_findings_hold_no_typed_figure() -> None:
    """Digits outside the places for facts are constants of the protocol, the text or the page's own settings."""
    constants = {
        "95", "1/d", "1", "1,200", "300", "1234", "0", "0.0003", "500", "1.96", "20", "1..n", "0.02",
    }  # fmt: skip
    for name, text in vars(findings).items():
        if name.isupper():
            bare = re.sub(r"\{[^}]*\}", "", text)
            found = set(re.findall(r"\d[\d.,]*(?:/d|\.\.n|\d)?", bare))
            assert {one.rstrip(".,") for one in found} <= constants, name


def test_a_folder_that_differs_stops_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 3
    assert "prostate        missing" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
