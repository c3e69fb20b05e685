"""Every command, from a file to a file and back."""

from __future__ import annotations

import csv
import json
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli import __version__
from tests.cli_runner import run, succeed

SAMPLE_DATA = Path(__file__).parents[2] / "sample_data"

FIT_KEYS = {
    "variant", "neurons", "train_error", "validation_error", "selection", "inputs", "rows", "timings", "model", "notes",
}  # fmt: skip


def column(text: str, name: str) -> list[float]:
    return [float(row[name]) for row in csv.DictReader(text.splitlines())]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, sample_data: Path) -> Path:
    path = tmp_path_factory.mktemp("models") / "friedman.joblib"
    succeed("fit", sample_data / "friedman.csv", "-t", "y", "--variant", "kernel", "--no-tune", "-o", path)
    return path


@pytest.mark.parametrize("variant", ["approximate", "incremental", "kernel", "local"])
def test_fit_reports_what_scripts_rely_on(variant: str, sample_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.joblib"
    facts = succeed(
        "fit", sample_data / "friedman.csv", "-t", "y", "--variant", variant, "--no-tune", "-o", path, "-f", "json"
    ).json
    assert facts.keys() >= FIT_KEYS
    assert facts["variant"] == variant
    assert facts["rows"] == 600
    assert (facts["folds"], facts["training_rows"], facts["validation_rows"]) == (5, 480, 600)
    assert facts["model"] == str(path)
    assert 0.0 < facts["validation_error"] < 0.7
    assert facts["timings"]["total"] > 0
    assert path.exists()


def test_the_refit_model_and_the_split_model_differ_and_both_predict(sample_data: Path, tmp_path: Path) -> None:
    results = []
    for flag in ("--refit", "--no-refit"):
        path = tmp_path / f"{flag}.joblib"
        succeed("fit", sample_data / "linear.csv", "-t", "y", "--variant", "approximate", flag, "-o", path)
        results.append(column(succeed("predict", path, sample_data / "linear.csv").stdout, "prediction"))
    assert results[0] != results[1]
    assert np.corrcoef(*results)[0, 1] > 0.99


@pytest.mark.parametrize("variant", ["approximate", "incremental", "kernel", "local"])
def test_the_validation_error_is_that_of_the_split_models_predictions(
    variant: str, sample_data: Path, tmp_path: Path
) -> None:
    """Fit without refit, predict everything, and compute the error of the held-out rows by hand."""
    path = tmp_path / "m.joblib"
    words = ("-t", "y", "--variant", variant, "--no-tune", "--no-refit", "--split", "shuffle", "-o", path, "-f", "json")
    facts = succeed("fit", sample_data / "network.csv", *words).json
    predicted = np.array(column(succeed("predict", path, sample_data / "network.csv").stdout, "prediction"))
    y = np.array(column((sample_data / "network.csv").read_text(), "y"))
    held_out = np.random.RandomState(1234).permutation(300)[:75]
    mean = np.delete(y, held_out).mean()
    error = np.linalg.norm((y - predicted)[held_out]) / np.linalg.norm(y[held_out] - mean)
    assert error == pytest.approx(facts["validation_error"], rel=1e-10)


def test_a_model_predicts_the_same_bits_after_a_round_trip_and_in_another_process(
    model: Path, sample_data: Path, tmp_path: Path
) -> None:
    first = succeed("predict", model, sample_data / "friedman_new.csv").stdout
    again = subprocess.run(
        [sys.executable, "-m", "enrelm_cli", "predict", str(model), str(sample_data / "friedman_new.csv")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert again.stdout == first


def test_predict_matches_columns_by_name_and_ignores_others(model: Path, sample_data: Path, tmp_path: Path) -> None:
    with open(sample_data / "friedman_new.csv") as file:
        rows = list(csv.DictReader(file))
    names = ["extra", *reversed(list(rows[0]))]
    path = tmp_path / "shuffled.csv"
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, names, restval="what")
        writer.writeheader()
        writer.writerows(rows)
    assert succeed("predict", model, path).stdout == succeed("predict", model, sample_data / "friedman_new.csv").stdout


def test_predict_copies_ids_and_appends(model: Path, sample_data: Path, tmp_path: Path) -> None:
    source = sample_data / "friedman_new.csv"
    plain = succeed("predict", model, source).stdout.splitlines()
    with_id = succeed("predict", model, source, "--id", "x3", "--id", "x1").stdout.splitlines()
    assert with_id[0] == "x3,x1,prediction"
    appended = succeed("predict", model, source, "--append").stdout.splitlines()
    original = source.read_text().splitlines()
    assert appended == [f"{a},{b}" for a, b in zip(original, plain, strict=True)]
    assert run("predict", model, source, "--append", "--id", "x1").code == 2


def test_predict_reports_errors_where_the_target_is_known(model: Path, sample_data: Path, tmp_path: Path) -> None:
    report = tmp_path / "errors.json"
    outcome = succeed("predict", model, sample_data / "friedman.csv", "--report", report)
    errors = json.loads(report.read_text())["errors"]
    assert errors.keys() >= {"rows", "normalised_rmse", "rmse", "mae", "r2"}
    predicted = np.array(column(outcome.stdout, "prediction"))
    y = np.array(column((sample_data / "friedman.csv").read_text(), "y"))
    assert errors["rmse"] == pytest.approx(np.sqrt(np.mean((y - predicted) ** 2)), rel=1e-9)
    assert errors["mae"] == pytest.approx(np.mean(np.abs(y - predicted)), rel=1e-9)
    assert errors["r2"] == pytest.approx(1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2), rel=1e-9)
    assert "RMSE" in outcome.stderr


def test_predict_without_a_target_says_nothing_about_errors(model: Path, sample_data: Path) -> None:
    assert succeed("predict", model, sample_data / "friedman_new.csv").stderr == ""


def test_predict_reads_stdin_and_writes_a_file(model: Path, sample_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    text = (sample_data / "friedman_new.csv").read_bytes()
    succeed("predict", model, "-", "-o", out, stdin=text)
    assert out.read_text() == succeed("predict", model, sample_data / "friedman_new.csv").stdout


def test_intervals_hold_the_prediction_and_widen_with_the_level(model: Path, sample_data: Path) -> None:
    text = succeed("predict", model, sample_data / "friedman_new.csv", "--interval", "0.9").stdout
    prediction, lower, upper = (np.array(column(text, name)) for name in ("prediction", "lower", "upper"))
    wider = np.array(
        column(succeed("predict", model, sample_data / "friedman_new.csv", "--interval", "0.99").stdout, "upper")
    )
    assert (lower < prediction).all()
    assert (prediction < upper).all()
    assert (wider > upper).all()


def test_intervals_and_quantiles_may_be_repeated_and_are_named_by_their_level(model: Path, sample_data: Path) -> None:
    new = sample_data / "friedman_new.csv"
    text = succeed("predict", model, new, "--interval", "0.9", "--interval", "0.5", "--quantile", "0.1").stdout
    names = ["prediction", "lower_0.9", "upper_0.9", "lower_0.5", "upper_0.5", "quantile_0.1"]
    assert text.splitlines()[0].split(",") == names
    _, lower, upper, inner, outer, tenth = (np.array(column(text, name)) for name in names)
    assert (lower < inner).all()
    assert (inner < outer).all()
    assert (outer < upper).all()
    assert (lower < tenth).all()
    assert (tenth < outer).all()
    alone = succeed("predict", model, new, "--interval", "0.5").stdout
    assert column(alone, "lower") == inner.tolist()


@pytest.mark.parametrize("option", ["--interval", "--quantile"])
@pytest.mark.parametrize("share", ["0", "1", "90", "nan", "-0.5"])
def test_shares_that_are_none_are_refused(option: str, share: str, model: Path, sample_data: Path) -> None:
    outcome = run("predict", model, sample_data / "friedman_new.csv", option, share)
    assert outcome.code == 2
    assert option in outcome.stderr
    assert outcome.stdout == ""


def test_the_papers_variants_have_intervals(sample_data: Path, tmp_path: Path) -> None:
    path, report = tmp_path / "m.joblib", tmp_path / "r.json"
    succeed("fit", sample_data / "linear.csv", "-t", "y", "--variant", "approximate", "-o", path)
    succeed("predict", path, sample_data / "linear.csv", "--interval", "0.9", "--quantile", "0.2", "--report", report)
    facts = json.loads(report.read_text())
    assert facts["intervals"][0]["level"] == facts["interval"] == 0.9
    assert 0.8 < facts["coverage"] < 0.98
    assert 0.1 < facts["quantiles"][0]["below"] < 0.3
    assert facts["intervals"][0]["mean_width"] > 0.0


def test_curve_gives_every_size_and_three_choices(sample_data: Path) -> None:
    facts = succeed("curve", sample_data / "linear.csv", "-t", "y", "--variant", "approximate", "-f", "json").json
    assert facts["variant"] == "approximate"
    assert [point["neurons"] for point in facts["curve"]] == list(range(1, len(facts["curve"]) + 1))
    assert facts["curve"][0].keys() == {"neurons", "train_error", "validation_error"}
    errors = [point["validation_error"] for point in facts["curve"]]
    best = facts["choices"]["best"]
    assert best["validation_error"] == min(errors) == errors[best["neurons"] - 1]
    smallest = facts["choices"]["smallest"]["neurons"]
    assert errors[smallest - 1] <= 1.01 * min(errors)
    assert all(error > 1.01 * min(errors) for error in errors[: smallest - 1])
    assert "knee" in facts["choices"]


def test_fit_chooses_what_curve_shows(sample_data: Path) -> None:
    words = (sample_data / "linear.csv", "-t", "y", "--variant", "incremental", "-f", "json")
    choices = succeed("curve", *words).json["choices"]
    for select in ("best", "smallest"):
        facts = succeed("fit", *words, "--select", select).json
        assert facts["chosen_neurons"] == choices[select]["neurons"]
        assert facts["selection"] == select


def test_a_given_number_of_neurons_is_used(sample_data: Path) -> None:
    facts = succeed(
        "fit", sample_data / "linear.csv", "-t", "y", "--variant", "approximate", "-n", "7", "-f", "json"
    ).json
    assert (facts["neurons"], facts["selection"]) == (7, "given")


@pytest.mark.parametrize(
    "methods",
    [
        pytest.param(["approximate", "incremental", "kernel", "local", "elm", "linear"], id="ours"),
        pytest.param([], marks=pytest.mark.slow, id="every method"),  # boosted trees take most of the time
    ],
)
def test_compare_judges_every_method_on_test_rows(sample_data: Path, tmp_path: Path, methods: list[str]) -> None:
    words = ("--repeats", "2", "--realizations", "3", "--no-tune", "-f", "json")
    words += tuple(word for method in methods for word in ("--method", method))
    table = tmp_path / "few.csv"
    table.write_text("".join((sample_data / "network.csv").read_text().splitlines(keepends=True)[:101]))
    facts = succeed("compare", table, "-t", "y", *words).json
    assert facts["protocol"] == "test"
    rows = {row["method"]: row for row in facts["rows"]}
    assert rows.keys() >= {"approximate", "incremental", "kernel", "elm", "linear"}
    for row in rows.values():
        assert row.keys() >= {"method", "neurons", "error", "error_std", "fit_seconds", "predict_seconds"}
        assert 0.0 < row["error"] < 2.0
    assert [row["error"] for row in facts["rows"]] == sorted(row["error"] for row in facts["rows"])
    assert facts["sizes"]["test"] == 25


def test_linear_regression_in_compare_is_scikit_learns(sample_data: Path) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    words = ("--protocol", "paper", "--method", "linear", "-f", "json")
    error = succeed("compare", sample_data / "linear.csv", "-t", "y", *words).json["rows"][0]["error"]
    table = np.loadtxt(sample_data / "linear.csv", delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1]
    order = np.random.RandomState(1234).permutation(len(y))
    test, train = order[:75], order[75:]
    gap = y[test] - linear_model.LinearRegression().fit(X[train], y[train]).predict(X[test])
    assert error == pytest.approx(np.linalg.norm(gap) / np.linalg.norm(y[test] - y[train].mean()), rel=1e-9)


def test_info_says_what_a_model_is(model: Path) -> None:
    facts = succeed("info", model, "-f", "json").json
    assert facts["variant"] == "kernel"
    assert facts["target"] == "y"
    assert facts["data"]["rows"] == 600
    assert facts["versions"]["enrelm"] == __version__
    assert len(facts["inputs"]) == 10
    assert "kernel" in succeed("info", model).stdout


def test_sample_writes_the_papers_datasets(tmp_path: Path) -> None:
    text = succeed("sample", "4").stdout
    rows = list(csv.reader(text.splitlines()))
    assert len(rows) == 301
    assert rows[0][-1] == "y"
    assert succeed("sample", "4").stdout == text
    assert succeed("sample", "4", "--seed", "2").stdout != text
    assert run("sample", "49").code == 2


@pytest.mark.parametrize("path", sorted(SAMPLE_DATA.glob("*.csv")), ids=lambda path: path.stem)
def test_sample_writes_the_tables_that_come_with_enrelm(path: Path) -> None:
    assert succeed("sample", path.stem).stdout.encode() == path.read_bytes()
    assert path.read_text(encoding="utf-8").startswith(succeed("sample", path.stem, "--rows", "5").stdout)


def test_sample_refuses_a_seed_or_more_rows_of_a_table_that_is_always_the_same(tmp_path: Path) -> None:
    seeded = run("sample", "houses", "--seed", "2")
    assert (seeded.code, "always the same" in seeded.stderr) == (2, True)
    long = run("sample", "houses", "--rows", "521", "-o", str(tmp_path / "t.csv"))
    assert (long.code, "has 520 rows, not 521" in long.stderr) == (2, True)
    assert not list(tmp_path.iterdir())


def test_text_columns_are_one_hot_encoded_and_numbers_where_asked(sample_data: Path) -> None:
    words = ("-t", "price", "--drop", "house_id", "--variant", "approximate", "-f", "json")
    facts = succeed("fit", sample_data / "houses.csv", *words, "--categorical", "zone").json
    assert any(name.startswith("town=") for name in facts["inputs"])
    assert any(name.startswith("zone=") for name in facts["inputs"])
    assert not any(name.startswith("house_id") for name in facts["inputs"])
    assert any("missing" in note for note in facts["notes"])


def test_a_constant_column_is_left_out_with_a_note(sample_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "constant.csv"
    lines = (sample_data / "linear.csv").read_text().splitlines()
    path.write_text("\n".join([lines[0] + ",same", *(line + ",7" for line in lines[1:])]) + "\n")
    facts = succeed("fit", path, "-t", "y", "--variant", "approximate", "-f", "json").json
    assert "same" not in facts["inputs"]
    assert any("constant" in note and "same" in note for note in facts["notes"])


def test_the_gate_saves_nothing_and_exits_with_5(sample_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.joblib"
    words = ("fit", sample_data / "linear.csv", "-t", "y", "--variant", "approximate", "-o", path, "--fail-above")
    outcome = run(*words, "0.0001")
    assert outcome.code == 5
    assert not path.exists()
    assert "--fail-above" in outcome.stderr
    assert run(*words, "0.9").code == 0
    assert path.exists()


def test_the_same_command_twice_gives_the_same_bytes(sample_data: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        succeed("fit", sample_data / "houses.csv", "-t", "price", "--variant", "incremental", "--drop", "house_id",
                "-o", tmp_path / f"{name}.joblib")  # fmt: skip
    assert (tmp_path / "a.joblib").read_bytes() == (tmp_path / "b.joblib").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--validation-size", "2"), "above 0 and below 1"),
        (("--landmarks", "many"), "auto, all or a whole number"),
        (("--depth", "0"), "--depth"),
        (("--memory", "lots"), "500M, 2G"),
        (("--neurons", "0"), "at least 1"),
        (("--neurons", "5", "--select", "knee"), "leave one of them out"),
    ],
)
def test_bad_options_are_usage_errors(words: tuple[str, ...], message: str, sample_data: Path) -> None:
    outcome = run("fit", sample_data / "linear.csv", "-t", "y", *words)
    assert outcome.code == 2
    assert message in outcome.stderr


@pytest.mark.parametrize("words", [(), ("fit",), ("compare",)])
def test_help_is_a_command_too(words: tuple[str, ...]) -> None:
    asked, meant = run("help", *words), run(*words, "--help")
    assert (asked.code, asked.stdout) == (0, meant.stdout)


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        (
            ("predict", "m.joblib"),
            "missing argument 'DATA...'",
            "such as `enrelm predict model.joblib sample_data/friedman_new.csv`; see `enrelm predict --help`",
        ),
        (("help", "comapre"), "no such command 'comapre'", "did you mean 'compare'?"),
        (("fit", "d.csv", "--target"), "option '--target' requires an argument", "see `enrelm fit --help`"),
        (("fit", "d.csv", "--quiet=3"), "option '--quiet' does not take a value", "see `enrelm fit --help`"),
        (("fit", "d.csv", "--encodin"), "no such option: --encodin", "did you mean --encoding?"),
        (("fit", "d.csv", "--traget", "y"), "no such option: --traget", "did you mean --target?"),
        (("predict", "m.joblib", "d.csv", "--interval", "90"), "--interval 90", "a share: 0.9 is 90 %"),
        (("comapre",), "no such command 'comapre'", "did you mean 'compare'?"),
        (("info", "a", "b"), "got unexpected extra argument(s) (b)", "see `enrelm info --help`"),
        (("sample", "49"), "TABLE '49' is neither friedman, ", None),
        (("info", "m.joblib", "--command", "--report", "i.html"), "--report writes a page", "leave out one of them"),
        (
            ("info", "m.joblib", "--command", "--format", "csv"),
            "as text or JSON, not as --format csv",
            "type --format json, or leave it out",
        ),
        (
            ("info", "m.joblib", "--command", "-f", "markdown"),
            "as text or JSON, not as --format markdown",
            "type --format json, or leave it out",
        ),
        (
            ("fit", "d.csv", "--variant", "kernl"),
            "--variant 'kernl' is not one of",
            "did you mean --variant kernel?",
        ),
        (("fit", "d.csv", "--threads", "1" + 21 * "0"), "must be between 0 and 4,096", "the default is --threads 0"),
        (("fit", "d.csv", "--seed", "-1"), "--seed -1 must be between 0 and", "the default is --seed 1234"),
        (("compare", "d.csv", "--repeats", "²"), "--repeats '²' is not a whole number", "the default is --repeats 5"),
    ],
)
def test_every_usage_error_is_a_problem_and_a_hint(words: tuple[str, ...], problem: str, hint: str | None) -> None:
    outcome = run(*words)
    assert outcome.code == 2
    lines = outcome.stderr.splitlines()
    assert lines[0].startswith("error: ")
    assert problem in lines[0]
    assert lines[1:] == ([f"hint: {hint}"] if hint else [])


def test_a_misspelt_option_suggests_the_right_one(sample_data: Path) -> None:
    outcome = run("fit", sample_data / "linear.csv", "--targt", "y")
    assert outcome.code == 2
    assert "--target" in outcome.stderr


@pytest.mark.parametrize("command", ["fit", "curve", "compare"])
def test_without_a_target_the_columns_are_named(command: str, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b,my y\n1,2,3\n")
    outcome = run(command, table)
    assert outcome.code == 2
    assert outcome.stderr == (
        f"error: no target column given; {table} has 'a', 'b', 'my y'\nhint: add --target 'my y', or another column\n"
    )


def test_help_imports_no_numerical_library() -> None:
    code = (
        "import sys; sys.argv = ['enrelm', 'fit', '--help']\n"
        "from enrelm_cli.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'pyarrow', 'joblib'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("variant", ["approximate", "kernel"])
def test_predict_imports_only_what_it_needs(variant: str, sample_data: Path, tmp_path: Path) -> None:
    fitted = tmp_path / "model.joblib"
    succeed("fit", sample_data / "friedman.csv", "-t", "y", "--variant", variant, "--no-tune", "-o", fitted)
    words = [
        "enrelm",
        "predict",
        str(fitted),
        str(sample_data / "friedman_new.csv"),
        "-o",
        str(tmp_path / "p.csv"),
        "-q",
    ]
    # A pandas that would be noticed: pyarrow looks for one with its first scalar.
    (tmp_path / "pandas.py").write_text("__version__ = '99'\n")
    code = (
        f"import sys; sys.argv = {words!r}; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from enrelm_cli.__main__ import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'scipy.optimize', 'pandas', 'sklearn', 'joblib', 'rich', 'pyarrow.parquet'}\n"
        # erf of a model of few rows is scipy.special's, and some versions of that import scipy.linalg.
        f"heavy |= set() if {variant!r} == 'approximate' else {{'scipy'}}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_module_runs_as_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "enrelm_cli", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"enrelm {__version__}\n"


def test_a_reader_that_goes_away_is_not_an_error(model: Path, sample_data: Path) -> None:
    words = f"{sys.executable} -m enrelm_cli predict {model} {sample_data / 'friedman.csv'} 2>/dev/null | head -n 2"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {words}"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("prediction\n")
    assert done.stderr == ""


# --------------------------------------------------------------------------------------------------- several tables


def test_compare_takes_each_argument_as_a_table_of_its_own(sample_data: Path, tmp_path: Path) -> None:
    plot, page = tmp_path / "several.svg", tmp_path / "several.html"
    files = (sample_data / "linear.csv", sample_data / "network.csv")
    words = ("-t", "y", "--method", "approximate", "--method", "linear", "--repeats", "2")
    pytest.importorskip("matplotlib")
    facts = succeed("compare", *files, *words, "-f", "json", "--plot", plot, "--report", page).json
    assert [report["data"]["name"] for report in facts["reports"]] == [str(file) for file in files]
    assert {standing["method"] for standing in facts["ranks"]} == {"approximate", "linear"}
    assert sum(standing["wins"] for standing in facts["ranks"]) == 2
    assert plot.read_text().startswith("<?xml")
    assert "Ranks over 2 tables" in page.read_text()
    one = succeed("compare", files[0], *words, "-f", "json").json
    assert one["rows"][0]["error"] == facts["reports"][0]["rows"][0]["error"]


def test_compare_shows_a_table_for_each_and_their_ranks(sample_data: Path) -> None:
    words = ("-t", "y", "--method", "linear", "--repeats", "1", "--threads", "2", "-v")
    outcome = succeed("compare", sample_data / "linear.csv", sample_data / "network.csv", *words)
    assert outcome.stdout.count("linear is best") == 2
    assert outcome.stdout.count("on 2 threads") == 2
    assert "Ranks over 2 tables" in outcome.stdout
    assert "log: table 2 of 2" in outcome.stderr


def test_a_quoted_glob_is_one_table(sample_data: Path, tmp_path: Path) -> None:
    lines = (sample_data / "linear.csv").read_text().splitlines()
    for number, part in enumerate((lines[1:151], lines[151:])):
        (tmp_path / f"part{number}.csv").write_text("\n".join([lines[0], *part]) + "\n")
    words = ("-t", "y", "--method", "linear", "--repeats", "1", "-f", "json")
    together = succeed("compare", tmp_path / "part*.csv", *words).json
    whole = succeed("compare", sample_data / "linear.csv", *words).json
    assert together["data"]["rows"] == 300
    assert together["rows"][0]["error"] == pytest.approx(whole["rows"][0]["error"], rel=1e-12)
    parts = (tmp_path / "part0.csv", tmp_path / "part1.csv")
    assert succeed("fit", *parts, "-t", "y", "--variant", "approximate", "-f", "json").json["rows"] == 300


def test_every_header_is_read_before_the_first_table_is_fitted(
    sample_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("enrelm_cli.commands.compare.compare", _not_yet)
    outcome = run("compare", sample_data / "linear.csv", sample_data / "houses.csv", "-t", "y")
    assert outcome.code == 3
    assert "houses.csv" in outcome.stderr
    assert run("compare", "-", "-", "-t", "y").code == 2


# --------------------------------------------------------------------------------------------------- before fitting


def _not_yet(*_: object) -> None:
    raise AssertionError("it began to fit")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "-o", "{tmp}/missing/m.joblib"), "there is no folder"),
        (("fit", "-o", "{tmp}"), "it is a folder"),
        (("curve", "--plot", "{tmp}/c.gif"), ".png, .svg or .pdf"),
        (("curve", "--report", "{tmp}/missing/c.html"), "there is no folder"),
        (("compare", "--plot", "{tmp}/missing/c.png"), "there is no folder"),
    ],
)
def test_an_output_that_cannot_be_written_is_known_before_anything_is_fitted(
    words: tuple[str, ...], message: str, sample_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("fit", "curve", "compare"):
        monkeypatch.setattr(f"enrelm_cli.commands.{name}.{name}", _not_yet)
    command, *rest = (word.format(tmp=tmp_path) for word in words)
    outcome = run(command, sample_data / "linear.csv", "-t", "y", *rest)
    assert outcome.code == 2
    assert message in outcome.stderr


def test_a_folder_without_permission_is_known_before_fitting(
    sample_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not by chmod: root may write anywhere.
    monkeypatch.setattr("enrelm_cli.files.os.access", lambda path, mode: False)
    outcome = run("fit", sample_data / "linear.csv", "-t", "y", "-o", tmp_path / "m.joblib")
    assert outcome.code == 2
    assert "permission" in outcome.stderr


# --------------------------------------------------------------------------------------------------- the next command


def test_the_curve_tells_the_fit_that_uses_it_with_every_option_of_its_own(sample_data: Path, tmp_path: Path) -> None:
    table = tmp_path / "my houses.csv"
    table.write_bytes((sample_data / "houses.csv").read_bytes())
    given = shlex.split("--drop house_id --drop listed --categorical zone --no-tune --seed 7 --max-neurons 9")
    own = shlex.split("--variant all --with-elm --realizations 2 -f json")
    facts = succeed("curve", table, "-t", "price", *given, *own).json
    command = shlex.split(facts["settings"]["fit_command"])
    assert command[:3] == ["enrelm", "fit", str(table)]
    for flag, value in (("--drop", "listed"), ("--categorical", "zone"), ("--seed", "7"), ("--max-neurons", "9")):
        assert (flag, value) in pairwise(command)
    assert "--no-tune" in command
    assert "--with-elm" not in command
    assert "--realizations" not in command
    assert "--validation-size" not in command
    fitted = succeed(*command[1:-1], tmp_path / "m.joblib", "-f", "json").json
    best = min((curve["choices"]["best"]["validation_error"], curve["variant"]) for curve in facts["curves"])
    assert (fitted["validation_error"], fitted["variant"]) == best


def test_a_model_on_stdout_leaves_it_to_the_model(sample_data: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "enrelm_cli", "fit", str(sample_data / "linear.csv"), "-t", "y"]
    done = subprocess.run([*words, "--variant", "approximate", "-o", "-"], capture_output=True, check=True)
    path = tmp_path / "m.joblib"
    path.write_bytes(done.stdout)
    assert b"validation error" in done.stderr
    assert succeed("info", path, "-f", "json").json["variant"] == "approximate"


def test_a_file_of_predictions_is_told_of_unless_quiet(model: Path, sample_data: Path, tmp_path: Path) -> None:
    words = ("predict", model, sample_data / "friedman_new.csv", "-o", tmp_path / "out.csv")
    assert "out.csv, 40 rows" in succeed(*words).stderr
    assert succeed(*words, "-q").stderr == ""


# --------------------------------------------------------------------------------------------------- help and errors


def test_a_misspelt_command_suggests_the_right_one() -> None:
    outcome = run("comapre")
    assert outcome.code == 2
    assert "compare" in outcome.stderr


def test_a_bug_is_one_line_and_a_traceback_only_on_request(sample_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enrelm_cli.commands.fit.fit", _not_yet)
    words = ("fit", sample_data / "linear.csv", "-t", "y")
    outcome = run(*words)
    assert outcome.code == 1
    assert "a bug in enrelm" in outcome.stderr
    assert "--debug" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    outcome = run(*words, "--debug")
    assert outcome.code == 1
    assert "Traceback" in outcome.stderr
