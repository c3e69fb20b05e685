"""Several targets from the command line: one phase 1, then each as a fit of it alone, and what is refused."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from enrelm_cli.commands.saved import load_model, load_models
from enrelm_cli.errors import ModelFileError
from enrelm_cli.fold.folds import Chunk
from enrelm_cli.model.targets.models import TargetModels
from enrelm_cli.phase_one.eigenbasis import EigenBasis
from enrelm_cli.types import Array
from tests.cli_runner import run, succeed

FIXED = ("--no-tune", "--weight-variance", "0.2", "--bias-variance", "0.5", "--folds", "1")


def table(path: Path, rows: int = 240, seed: int = 1, order: Array | None = None) -> Path:
    """Numbers and a text; `a` is smooth, `b` is positive with a long tail."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, 3))
    a = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(rows)
    b = np.exp(2.0 * X[:, 2] + X[:, 0] + 0.2 * rng.standard_normal(rows))
    kind = rng.choice(["p", "q"], rows)
    places = np.arange(rows) if order is None else order
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "y", "z", "kind", "a", "b"])
        writer.writerows([*(f"{v:.6f}" for v in X[i]), kind[i], f"{a[i]:.6f}", f"{b[i]:.6f}"] for i in places)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and models of both targets and of each alone, with one kernel."""
    folder = tmp_path_factory.mktemp("targets")
    data = table(folder / "t.csv")
    fixed = (*FIXED, "--variant", "kernel")
    succeed("fit", data, "-t", "a", "-t", "b", *fixed, "-o", folder / "both.joblib")
    succeed("fit", data, "-t", "a", "--drop", "b", *fixed, "-o", folder / "a.joblib")
    succeed("fit", data, "-t", "b", "--drop", "a", *fixed, "-o", folder / "b.joblib")
    return folder


def columns(text: str) -> dict[str, Array]:
    rows = list(csv.DictReader(text.splitlines()))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


# --- what a fit of each alone gives -----------------------------------------------------------------------------------


def test_predictions_intervals_and_quantiles_are_those_of_a_fit_of_each_target_alone(folder: Path) -> None:
    asked = ("--interval", "0.8", "--quantile", "0.25")
    both = columns(succeed("predict", folder / "both.joblib", folder / "t.csv", *asked).stdout)
    names = ("prediction", "lower", "upper", "quantile_0.25")
    assert list(both) == [f"{name}_{target}" for target in "ab" for name in names]
    for target in "ab":
        alone = columns(succeed("predict", folder / f"{target}.joblib", folder / "t.csv", *asked).stdout)
        for name in names:
            np.testing.assert_allclose(both[f"{name}_{target}"], alone[name], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("variant", ["approximate", "incremental", "kernel", "local"])
@pytest.mark.parametrize("landmarks", ["all", "60"])
def test_every_variant_predicts_what_it_does_alone(tmp_path: Path, variant: str, landmarks: str) -> None:
    data = table(tmp_path / "t.csv", 150)
    fixed = (*FIXED, "--variant", variant, "--landmarks", landmarks)
    succeed("fit", data, "-t", "a,b", *fixed, "-o", tmp_path / "both.joblib")
    both = columns(succeed("predict", tmp_path / "both.joblib", data).stdout)
    for target, other in ("ab", "ba"):
        succeed("fit", data, "-t", target, "--drop", other, *fixed, "-o", tmp_path / "one.joblib")
        alone = columns(succeed("predict", tmp_path / "one.joblib", data).stdout)["prediction"]
        np.testing.assert_allclose(both[f"prediction_{target}"], alone, rtol=1e-8, atol=1e-8)


def test_a_second_target_computes_nothing_again_that_follows_from_the_inputs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of U, and products of sums with the eigenvectors, are those of a fit of one target."""
    counted: list[tuple[int, ...]] = []
    of_training, products = EigenBasis.of_training, EigenBasis.products

    def noted_rows(self: EigenBasis, chunk: Chunk) -> Array:
        counted.append(chunk.X.shape)
        return of_training(self, chunk)

    def noted_products(self: EigenBasis, BB: Array) -> Array:
        before = len(self.shared)
        found = products(self, BB)
        counted.extend([BB.shape] * (len(self.shared) - before))
        return found

    monkeypatch.setattr(EigenBasis, "of_training", noted_rows)
    monkeypatch.setattr(EigenBasis, "products", noted_products)
    fixed = (*FIXED, "--variant", "kernel", "--landmarks", "60", "--threads", "1")
    succeed("fit", folder / "t.csv", "-t", "a", "--drop", "b", *fixed)
    alone = sorted(counted)
    assert len(alone) > 2
    counted.clear()
    succeed("fit", folder / "t.csv", "-t", "a,b", *fixed)
    assert sorted(counted) == alone


def test_each_target_has_its_own_ridge_and_errors(folder: Path) -> None:
    both = load_models(str(folder / "both.joblib"))
    assert isinstance(both, TargetModels)
    for target in "ab":
        card, alone = both.of(target).card, load_model(str(folder / f"{target}.joblib")).card
        assert card.facts["alpha"] == pytest.approx(alone.facts["alpha"], rel=1e-9)
        assert card.validation_error == pytest.approx(alone.validation_error, rel=1e-9)
        assert card.linear_error == pytest.approx(alone.linear_error, rel=1e-9)
        assert card.metrics is not None
        assert card.metrics["r2"] == pytest.approx((alone.metrics or {})["r2"], rel=1e-9)
    assert both.of("a").card.facts["alpha"] != both.of("b").card.facts["alpha"]


def test_each_target_has_its_own_transform(tmp_path: Path) -> None:
    data = table(tmp_path / "t.csv", 300)
    succeed("fit", data, "-t", "a,b", "--variant", "kernel", "--folds", "1", "--tune-steps", "60", "-o", tmp_path / "m")
    both = load_models(str(tmp_path / "m"))
    assert isinstance(both, TargetModels)
    assert both.of("a").target_scale.transform == "none"
    assert both.of("b").target_scale.transform != "none"
    kernels = [one.network.features.kernel for one in both.models]
    np.testing.assert_array_equal(kernels[0].weight_variance, kernels[1].weight_variance)


def test_auto_takes_one_variant_for_all_by_the_mean_of_their_errors(folder: Path) -> None:
    facts = succeed("fit", folder / "t.csv", "-t", "a,b", *FIXED, "-f", "json").json
    own = [{one["variant"]: one["validation_error"] for one in target["candidates"]} for target in facts["targets"]]
    best = min(own[0], key=lambda name: own[0][name] + own[1][name])
    tied = {one["variant"] for one in facts["targets"][0]["candidates"] if one["as_good"]}
    assert best in tied
    assert facts["variant"] in tied
    mean = np.mean([one[facts["variant"]] for one in own])
    assert facts["validation_error"] == pytest.approx(mean, rel=1e-6)


# --- determinism, files -----------------------------------------------------------------------------------------------


def test_the_order_of_rows_and_where_they_are_does_not_matter(folder: Path, tmp_path: Path) -> None:
    order = np.random.default_rng(5).permutation(240)
    shuffled = table(tmp_path / "s.csv", order=order)
    ways = {
        "shuffled": (shuffled,),
        "from disk": (folder / "t.csv", "--memory", "1K"),
        "one thread": (shuffled, "--threads", "1"),
    }
    want = columns(succeed("predict", folder / "both.joblib", folder / "t.csv").stdout)
    for way, words in ways.items():
        made = tmp_path / f"{way}.joblib"
        succeed("fit", *words, "-t", "a,b", *FIXED, "--variant", "kernel", "-o", made)
        got = columns(succeed("predict", made, folder / "t.csv").stdout)
        for name in want:
            np.testing.assert_allclose(got[name], want[name], rtol=1e-8, atol=1e-8, err_msg=way)
        hashes = [load_models(str(one)).models[0].card.data["hash"] for one in (made, folder / "both.joblib")]
        assert hashes[0] == hashes[1], way


def test_the_same_command_gives_the_same_bytes_and_what_is_shared_stands_once(folder: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.joblib"
    succeed("fit", folder / "t.csv", "-t", "a", "-t", "b", *FIXED, "--variant", "kernel", "-o", again)
    digests = [hashlib.sha256(one.read_bytes()).digest() for one in (again, folder / "both.joblib")]
    assert digests[0] == digests[1]
    alone = (folder / "a.joblib").stat().st_size
    assert again.stat().st_size < 1.5 * alone


def test_rows_without_one_of_the_targets_are_left_out_with_a_note(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "t.csv").read_text().splitlines()
    holed = tmp_path / "holes.csv"
    first, second = lines[1].split(","), lines[2].split(",")
    first[4], second[5] = "", ""
    holed.write_text("\n".join([lines[0], ",".join(first), ",".join(second), *lines[3:]]) + "\n")
    facts = succeed("fit", holed, "-t", "a,b", *FIXED, "--variant", "kernel", "-f", "json").json
    assert facts["rows"] == 238
    assert "2 rows without all of the targets left out" in facts["targets"][0]["notes"]


@pytest.mark.parametrize("damage", ["no list", "one", "path", "twice"])
def test_a_file_of_nonsense_is_refused(folder: Path, damage: str) -> None:
    document = load_models(str(folder / "both.joblib")).to_document()
    first, second = document["models"]
    broken = {
        "no list": {"models": first},
        "one": {"models": [first]},
        "path": {"models": [first, {**second, "same": [*second["same"], ["network", "none"]]}]},
        "twice": {"models": [first, {"own": {}, "same": [[name] for name in first]}]},
    }[damage]
    with pytest.raises(ModelFileError):
        TargetModels.from_document(broken)


# --- other commands ---------------------------------------------------------------------------------------------------


def test_json_has_an_entry_for_each_target(folder: Path) -> None:
    facts = succeed("fit", folder / "t.csv", "-t", "a,b", *FIXED, "--variant", "kernel", "-f", "json").json
    assert [one["target"] for one in facts["targets"]] == ["a", "b"]
    assert facts["data"]["target"] == ["a", "b"]
    assert facts["worst_target"] == max(facts["targets"], key=lambda one: one["validation_error"])["target"]
    info = succeed("info", folder / "both.joblib", "-f", "json").json
    assert [one["target"] for one in info["targets"]] == ["a", "b"]
    assert info["validation_error"] == pytest.approx(facts["validation_error"])
    rows = list(csv.DictReader(succeed("info", folder / "both.joblib", "-f", "csv").stdout.splitlines()))
    assert [row["target"] for row in rows] == ["a", "b"]


def test_predict_reports_the_errors_and_coverage_of_each_target(folder: Path, tmp_path: Path) -> None:
    report, out = tmp_path / "report.json", tmp_path / "out.csv"
    words = ("--interval", "0.9", "--report", report, "-o", out)
    outcome = succeed("predict", folder / "both.joblib", folder / "t.csv", *words)
    found = json.loads(report.read_text())
    assert [one["target"] for one in found["targets"]] == ["a", "b"]
    values, lines = columns(out.read_text()), list(csv.DictReader((folder / "t.csv").read_text().splitlines()))
    for one in found["targets"]:
        y = np.array([float(line[one["target"]]) for line in lines])
        rmse = np.sqrt(np.mean((values[f"prediction_{one['target']}"] - y) ** 2))
        assert one["errors"]["rmse"] == pytest.approx(rmse, rel=1e-9)
        inside = (values[f"lower_{one['target']}"] <= y) & (y <= values[f"upper_{one['target']}"])
        assert one["coverage"] == pytest.approx(inside.mean())
    # A narrow header has two lines.
    assert "90 %" in outcome.stderr
    assert "inside" in outcome.stderr


def test_a_curve_for_each_target_and_the_fit_that_follows(folder: Path) -> None:
    outcome = succeed("curve", folder / "t.csv", "-t", "a,b", *FIXED, "-f", "json").json
    assert [one["target"] for one in outcome["targets"]] == ["a", "b"]
    assert all(len(one["curve"]) > 10 for one in outcome["targets"])
    assert "--target a,b" in outcome["fit_command"]
    shown = succeed("curve", folder / "t.csv", "-t", "a,b", *FIXED).stdout
    assert "kernel, 2 targets: mean validation error" in shown
    assert "next: enrelm fit" in shown


def test_compare_takes_each_target_as_a_table_of_its_own(folder: Path) -> None:
    words = ("--method", "linear", "--method", "approximate", "--repeats", "1")
    facts = succeed("compare", folder / "t.csv", "-t", "a,b", *words, "-f", "json").json
    assert [one["data"]["target"] for one in facts["reports"]] == ["a", "b"]
    assert all("b" not in one["data"]["inputs"] for one in facts["reports"])


def test_check_looks_at_every_target(folder: Path, tmp_path: Path) -> None:
    facts = succeed("check", folder / "t.csv", "-t", "a,b", "-f", "json").json
    assert facts["targets"] == ["a", "b"]
    assert [one["name"] for one in facts["columns"] if one["role"] == "target"] == ["a", "b"]
    assert facts["rows"] == 240
    text = run("check", folder / "t.csv", "-t", "a,kind")
    assert text.code == 3
    assert "several targets are numbers" in text.stdout


def test_explain_takes_the_target_that_is_named(folder: Path) -> None:
    asked = ("explain", folder / "both.joblib", folder / "t.csv", "-f", "json")
    assert succeed(*asked, "--target", "b").json["target"] == "b"
    refused = run(*asked)
    assert refused.code == 2
    assert "name it with --target" in refused.stderr
    assert "its targets are a, b" in run(*asked, "--target", "c").stderr


def test_the_line_that_made_the_model_makes_it_again(folder: Path, tmp_path: Path) -> None:
    made = succeed("info", folder / "both.joblib", "--command", "-f", "json").json
    again = tmp_path / "again.joblib"
    succeed("fit", folder / "t.csv", *made["words"], "-o", again)
    assert again.read_bytes() == (folder / "both.joblib").read_bytes()


def test_the_gate_is_on_the_worst_target(folder: Path, tmp_path: Path) -> None:
    facts = succeed("fit", folder / "t.csv", "-t", "a,b", *FIXED, "--variant", "kernel", "-f", "json").json
    errors = {one["target"]: one["validation_error"] for one in facts["targets"]}
    worst = max(errors, key=lambda name: errors[name])
    between = str(sum(errors.values()) / 2)
    out = tmp_path / "m.joblib"
    outcome = run(
        "fit", folder / "t.csv", "-t", "a,b", *FIXED, "--variant", "kernel", "--fail-above", between, "-o", out
    )
    assert outcome.code == 5
    assert f"of '{worst}'" in outcome.stderr
    assert not out.exists()


# --- what is refused, before any work ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("-t", "a,kind"), 3, "several targets are numbers: fit 'kind' on its own"),
        (("-t", "a,b", "--task", "classification"), 2, "takes one target"),
        (("-t", "a,missing"), 3, "there is no column 'missing' (--target)"),
        (("-t", "a,b", "--inputs", "b,x"), 2, "named in both"),
    ],
)
def test_what_is_not_for_several_targets_is_refused_with_the_reason(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("fit", folder / "t.csv", *words)
    assert outcome.code == code
    assert why in outcome.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "{model}", "{data}", "--probabilities"),
    ],
)
def test_a_model_of_several_targets_refuses_what_takes_one(
    folder: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    names = {"model": folder / "both.joblib", "data": folder / "t.csv", "page": tmp_path / "p.html"}
    outcome = run(*(word.format(**names) for word in words))
    assert outcome.code == 2
    assert outcome.stderr.startswith("error: ")
    assert not (tmp_path / "p.html").exists()


def test_the_same_target_twice_is_one(folder: Path) -> None:
    facts = succeed(
        "fit", folder / "t.csv", "-t", "a", "-t", "a", "--drop", "b", *FIXED, "--variant", "kernel", "-f", "json"
    )
    assert facts.json["data"]["target"] == "a"


# --- explained and exported -------------------------------------------------------------------------------------------


def test_effects_of_each_target_are_those_of_a_model_of_it_alone(folder: Path) -> None:
    both = columns(
        succeed("predict", folder / "both.joblib", folder / "t.csv", "--explain", "--interval", "0.9").stdout
    )
    names = [f"effect_{column}" for column in ("kind", "x", "y", "z")]
    for target in "ab":
        alone = columns(succeed("predict", folder / f"{target}.joblib", folder / "t.csv", "--explain").stdout)
        assert list(alone) == ["prediction", "average", *names]
        for name in alone:
            what, _, of = name.partition("_")
            own = both[f"{what}_{target}_{of}" if of else f"{what}_{target}"]
            np.testing.assert_allclose(own, alone[name], rtol=1e-6, atol=1e-8)
        whole = both[f"average_{target}"] + sum(both[f"effect_{target}_{name}"] for name in ("kind", "x", "y", "z"))
        np.testing.assert_allclose(whole, both[f"prediction_{target}"], rtol=1e-9)
        assert (both[f"lower_{target}"] < both[f"upper_{target}"]).all()
    top = succeed("predict", folder / "both.joblib", folder / "t.csv", "--explain-top", "1").stdout.splitlines()[0]
    own = ["prediction", "average", "column_1", "effect_1", "effect_rest"]
    assert top.split(",") == [
        f"{what}_{target}_{of}" if of else f"{what}_{target}"
        for target in "ab"
        for what, _, of in (name.partition("_") for name in own)
    ]


def test_columns_of_effects_have_names_of_their_own(tmp_path: Path) -> None:
    """`effect_a_x_y` may be of target a and column x_y, and of target a_x and column y."""
    data = table(tmp_path / "t.csv", 60)
    data.write_text(data.read_text().replace("x,y,z,kind,a,b", "x_y,y,z,kind,a,a_x", 1))
    succeed("fit", data, "-t", "a,a_x", *FIXED, "--variant", "kernel", "-o", tmp_path / "m.joblib")
    outcome = succeed("predict", tmp_path / "m.joblib", data, "--explain")
    names = outcome.stdout.splitlines()[0].split(",")
    assert len(set(names)) == len(names)
    assert names.index("effect_a_x_y") < names.index("prediction_a_x") < names.index("effect_a_x_y_2")
    assert "there is another column 'effect_a_x_y': ours is called 'effect_a_x_y_2'" in outcome.stderr


@pytest.mark.parametrize(("variant", "landmarks"), [("kernel", "all"), ("incremental", "40"), ("approximate", "40")])
def test_the_runtime_gives_an_output_for_each_target(tmp_path: Path, variant: str, landmarks: str) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    data, model, file = table(tmp_path / "t.csv", 120), tmp_path / "m.joblib", tmp_path / "m.onnx"
    transform = ("--transform", "log") if variant == "kernel" else ()
    targets = "b,c" if transform else "a,b"
    if transform:
        rows = [f"{row},{np.exp(float(row.split(',')[4])):.6f}" for row in data.read_text().splitlines()[1:]]
        data.write_text("\n".join(["x,y,z,kind,a,b,c", *rows]) + "\n")
    words = (*FIXED, "--variant", variant, "--landmarks", landmarks, "--inputs", "x,y,z,kind")
    if transform:
        words = ("--tune-steps", "5", "--folds", "1", *words[7:], *transform)
    succeed("fit", data, "-t", targets, *words, "-o", model)
    succeed("export", model, "-o", file)
    session = onnxruntime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
    rows_ = list(csv.DictReader(data.read_text().splitlines()))
    inputs = {name: np.array([[float(row[name])] for row in rows_]) for name in "xyz"}
    inputs["kind"] = np.array([[row["kind"]] for row in rows_], dtype=object)
    names = [f"prediction_{name}" for name in targets.split(",")]
    assert [one.name for one in session.get_outputs()] == names
    assert json.loads(session.get_modelmeta().custom_metadata_map["targets"]) == targets.split(",")
    ours = columns(succeed("predict", model, data).stdout)
    for name, found in zip(names, session.run(names, inputs), strict=True):
        assert found.shape == (120, 1)
        np.testing.assert_allclose(found[:, 0], ours[name], rtol=1e-11, atol=1e-11)


def test_a_page_has_a_part_for_each_target(folder: Path, tmp_path: Path) -> None:
    fitted, known = tmp_path / "fit.html", tmp_path / "info.html"
    succeed("fit", folder / "t.csv", "-t", "a,b", *FIXED, "--variant", "kernel", "--report", fitted)
    succeed("info", folder / "both.joblib", "--report", known)
    for path in (fitted, known):
        page = path.read_text()
        parts = page.split('<section id="target')
        assert len(parts) == 3
        for name, part in zip("ab", parts[1:], strict=True):
            assert f"<h1>Target {name}</h1>" in part
            assert "Error curve" in part
            assert part.count("<figure>") >= 3
        ids = re.findall(r' id="([^"]+)"', page)
        assert len(set(ids)) == len(ids)
        assert set(re.findall(r'aria-labelledby="([^"]+)"|url\(#([^)]+)\)', page)) <= {
            pair for one in ids for pair in ((one, ""), ("", one))
        }
        assert "2 targets" in parts[0]
