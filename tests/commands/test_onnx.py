"""Exported models: onnxruntime's predictions equal ours, from raw columns of every kind."""

from __future__ import annotations

import csv
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enrelm_cli.commands import export
from enrelm_cli.commands.saved import load_model
from enrelm_cli.errors import UsageError
from enrelm_cli.inputs.predicting import open_for_predict
from enrelm_cli.model.model import Model
from enrelm_cli.settings import ReadOptions
from enrelm_cli.table.kinds import numbers
from enrelm_cli.types import Array
from tests.cli_runner import run, succeed

HAVE = all(importlib.util.find_spec(name) is not None for name in ("onnx", "onnxruntime"))
needs_onnx = pytest.mark.skipif(not HAVE, reason="needs the extra onnx: make test-onnx")


VARIANTS = ("approximate", "incremental", "kernel")


def mixed_rows(count: int, seed: int = 3) -> str:
    """Numbers, texts, booleans, dates, a numeric category, an extreme scale and an offset; cells missing in each."""
    rng = np.random.default_rng(seed)
    lines = ["size,city,flag,when,code,tiny,year,y"]
    for _ in range(count):
        size, city = rng.standard_normal(), rng.choice(["Bern", "Ulm", "São Paulo"])
        flag, day, code = rng.random() < 0.5, int(rng.integers(1, 28)), int(rng.choice([7, 70, 700]))
        tiny, year = rng.standard_normal() * 1e-250, 2000 + int(rng.integers(0, 20))
        y = np.sin(size) + (city == "Ulm") + 0.5 * flag + day / 20 + code / 500 + tiny * 1e250 / 2 + 0.1 * year
        y += 0.2 * rng.standard_normal()
        cells = [f"{size:.6f}", city, str(flag).lower(), f"2024-03-{day:02d}", str(code), repr(tiny), str(year)]
        cells = ["" if rng.random() < 0.03 else cell for cell in cells]
        lines.append(",".join([*cells, f"{y:.6f}"]))
    return "\n".join(lines) + "\n"


def fitted(folder: Path, text: str, *options: object) -> Path:
    data, model = folder / "data.csv", folder / "model.joblib"
    data.write_text(text)
    succeed("fit", data, "--target", "y", "-o", model, "--tune-steps", "10", *options)
    return model


def feeds(model: Model, path: Path, dtype: str) -> dict[str, Any]:
    """What a caller hands to the runtime: one (rows, 1) array for each column."""
    opened = open_for_predict([str(path)], ReadOptions(), model.encoding)
    batches = [batch for piece in opened for batch in piece]
    result: dict[str, Any] = {}
    for column in model.encoding.columns:
        arrays = [batch.columns.column(column.name) for batch in batches]
        if column.levels is None:
            values = np.concatenate([numbers(array) for array in arrays])
            result[column.name] = values[:, None].astype(np.float64 if column.is_date else dtype)
            continue
        texts = [text for array in arrays for text in array.to_pylist()]
        if column.kind.value == "number":
            result[column.name] = np.array([[np.nan if text is None else float(text)] for text in texts])
        else:
            result[column.name] = np.array([[text or ""] for text in texts], dtype=object)
    return result


def predictions_of(exported: export.Exported, inputs: dict[str, Any]) -> Array:
    import onnxruntime

    session = onnxruntime.InferenceSession(exported.content, providers=["CPUExecutionProvider"])
    (found,) = session.run([exported.output], inputs)
    assert found.shape == (len(next(iter(inputs.values()))), 1)
    return np.asarray(found[:, 0])


def our_predictions(model: Path, data: Path, folder: Path) -> Array:
    output = folder / "ours.csv"
    succeed("predict", model, data, "-o", output)
    return np.array([float(line) for line in output.read_text().split()[1:]])


def as_csv(inputs: dict[str, Any], path: Path) -> Path:
    """The same cells as text: what float32 made of the numbers, too."""
    names = list(inputs)
    columns = [["" if c != c else c if isinstance(c, str) else repr(float(c)) for c in inputs[n][:, 0]] for n in names]
    path.write_text("\n".join([",".join(names), *(",".join(row) for row in zip(*columns, strict=True))]) + "\n")
    return path


@needs_onnx
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_runtime_predicts_what_we_predict_from_columns_of_every_kind(tmp_path: Path, variant: str) -> None:
    path = fitted(tmp_path, mixed_rows(150), "--variant", variant, "--categorical", "code")
    fresh = tmp_path / "new.csv"
    fresh.write_text(mixed_rows(60, seed=4).replace("Bern", "Oslo", 2))  # a level unseen at fit
    model = load_model(str(path))
    inputs = feeds(model, fresh, "float64")
    found = predictions_of(export.export(model), inputs)
    wanted = our_predictions(path, fresh, tmp_path)
    assert np.abs(found - wanted).max() <= 1e-12 * np.abs(wanted).max()


@needs_onnx
def test_a_local_model_is_refused_with_the_reason(tmp_path: Path) -> None:
    model = load_model(str(fitted(tmp_path, mixed_rows(150), "--variant", "local")))
    with pytest.raises(UsageError, match="rows of its leaf"):
        export.export(model)


@needs_onnx
@pytest.mark.parametrize("variant", VARIANTS)
def test_float32_in_and_out_keeps_six_digits(tmp_path: Path, variant: str) -> None:
    text = mixed_rows(150).replace("e-25", "e-2")  # float32 ends at 1e-38
    model = load_model(str(fitted(tmp_path, text, "--variant", variant, "--drop", "when", "--drop", "flag")))
    inputs = feeds(model, tmp_path / "data.csv", "float32")
    assert {array.dtype for array in inputs.values()} == {np.dtype("float32"), np.dtype(object)}
    found = predictions_of(export.export(model, "float32"), inputs)
    wanted = our_predictions(tmp_path / "model.joblib", as_csv(inputs, tmp_path / "rounded.csv"), tmp_path)
    assert found.dtype == np.float32
    assert np.abs(found - wanted).max() <= 1e-6 * np.abs(wanted).max()


@needs_onnx
@pytest.mark.parametrize("variant", VARIANTS)
def test_encoded_inputs_do_for_runtimes_without_strings(tmp_path: Path, variant: str) -> None:
    model = load_model(str(fitted(tmp_path, mixed_rows(120), "--variant", variant)))
    opened = open_for_predict([str(tmp_path / "data.csv")], ReadOptions(), model.encoding)
    raw = np.concatenate([model.encoding.for_predict(batch)[0] for piece in opened for batch in piece])
    X = model.input_map.expansion(raw)
    exported = export.export(model, encoded=True)
    assert [port.name for port in exported.inputs] == ["inputs"]
    found = predictions_of(exported, {"inputs": X})
    wanted = model.predict(raw)
    assert np.abs(found - wanted).max() <= 1e-12 * np.abs(wanted).max()


@needs_onnx
def test_a_deep_kernel_with_a_bias_is_exported_layer_by_layer(tmp_path: Path) -> None:
    options = ("--variant", "kernel", "--depth", "3", "--bias-variance", "0.5", "--weight-variance", "0.3")
    model = load_model(str(fitted(tmp_path, mixed_rows(120), *options)))
    found = predictions_of(export.export(model), feeds(model, tmp_path / "data.csv", "float64"))
    wanted = our_predictions(tmp_path / "model.joblib", tmp_path / "data.csv", tmp_path)
    assert np.abs(found - wanted).max() <= 1e-12 * np.abs(wanted).max()


@needs_onnx
@pytest.mark.parametrize("variant", VARIANTS)
def test_values_far_outside_of_the_training_rows_stay_equal(tmp_path: Path, variant: str) -> None:
    text = "a,b,y\n" + "".join(f"{np.sin(i)},{i % 7}e200,{np.cos(i) + i % 7}\n" for i in range(60))
    model = load_model(str(fitted(tmp_path, text, "--variant", variant)))
    fresh = tmp_path / "new.csv"
    fresh.write_text("a,b\n1e300,1\n-1e300,-1e307\n1e-320,6e200\n0,0\n1e15,3e201\n")
    found = predictions_of(export.export(model), feeds(model, fresh, "float64"))
    wanted = our_predictions(tmp_path / "model.joblib", fresh, tmp_path)
    assert np.isfinite(found).all()
    assert np.abs(found - wanted).max() <= 1e-12 * np.abs(wanted).max()


def rows_of_many_kinds(count: int, seed: int = 5) -> str:
    """Dates with times over years, rare levels, small integers, heavy tails, a skewed target; cells missing in each."""
    rng = np.random.default_rng(seed)
    lines = ["when,shop,rooms,income,y"]
    for _ in range(count):
        hours = int(rng.integers(0, 24 * 1500))
        when = str(np.datetime64("1999-02-20T00") + np.timedelta64(hours, "h"))
        shop, rooms, income = int(rng.exponential(20.0)), int(rng.integers(1, 7)), rng.standard_cauchy()
        income = 0.2 if rng.random() < 0.15 else income
        log = 0.3 * rooms + 0.2 * np.sin(shop) + 0.001 * hours / 24 + (hours % 24 > 12) + 0.2 * rng.standard_normal()
        cells = [when.replace("T", " ") + ":00:00", f"shop {shop}", str(rooms), f"{income:.5f}"]
        cells = ["" if rng.random() < 0.03 else cell for cell in cells]
        lines.append(",".join([*cells, f"{np.exp(log):.6f}"]))
    return "\n".join(lines) + "\n"


@needs_onnx
@pytest.mark.parametrize("options", [("--transform", "log"), ("--transform", "yeo-johnson", "--lower", "1.5"), ()])
def test_robust_inputs_and_target_scales_are_exported_too(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = fitted(tmp_path, rows_of_many_kinds(400), "--variant", "kernel", *options)
    model = load_model(str(path))
    kinds = {one["kind"] for one in model.input_map.to_document()["columns"]}
    marked = {"value-indicators", "level-indicators", "missing"}
    assert kinds - {"spikes"} == {"squashed", "scores", "level-means", *marked}
    # Whether a frequent value is worth a mark depends on the scale of the target.
    assert "spikes" in kinds or "yeo-johnson" in options
    fresh, far = tmp_path / "new.csv", "2096-12-31 23:00:00,,9,1e12,1\n"
    fresh.write_text(rows_of_many_kinds(200, seed=6).replace("shop 3,", "shop unheard of,") + far)
    found = predictions_of(export.export(model), feeds(model, fresh, "float64"))
    wanted = our_predictions(path, fresh, tmp_path)
    assert np.abs(found - wanted).max() <= 1e-11 * np.abs(wanted).max()


@needs_onnx
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_that_are_names_are_exported_too(tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(2)
    person, shop = rng.integers(0, 220, 1000), rng.integers(0, 40, 1000)
    y = 3.0 * rng.standard_normal(220)[person] + 2.0 * rng.standard_normal(40)[shop] + 0.2 * rng.standard_normal(1000)
    rows = [f"{7 * a},{3 * b},{c!r}\n" for a, b, c in zip(person.tolist(), shop.tolist(), y.tolist(), strict=True)]
    path = fitted(tmp_path, "person,shop,y\n" + "".join(rows), "--variant", "kernel", "--folds", 1)
    model = load_model(str(path))
    kinds = {one["kind"] for one in model.input_map.to_document()["columns"]}
    assert {"code-means", "code-indicators"} <= kinds
    fresh = tmp_path / "new.csv"
    fresh.write_text("person,shop\n0,0\n7,3\n,6\n14,\n8,4\n99999,99999\n")
    found = predictions_of(export.export(model, dtype), feeds(model, fresh, dtype))
    wanted = our_predictions(path, fresh, tmp_path)
    assert np.abs(found - wanted).max() <= (1e-11 if dtype == "float64" else 1e-5) * np.abs(wanted).max()


@needs_onnx
def test_a_frequent_value_is_one_also_where_cells_are_float32(tmp_path: Path) -> None:
    path = fitted(tmp_path, rows_of_many_kinds(200), "--variant", "kernel", "--drop", "when")
    model = load_model(str(path))
    found = predictions_of(export.export(model, "float32"), feeds(model, tmp_path / "data.csv", "float32"))
    wanted = our_predictions(path, tmp_path / "data.csv", tmp_path)
    assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()


@needs_onnx
@pytest.mark.parametrize("name", ["erf", "tanh", "arctan", "algebraic"])
def test_every_activation_is_exact_to_a_few_units_of_rounding(name: str) -> None:
    import onnx
    import onnxruntime

    from enrelm_cli.kernels import activation

    graph = export.Graph(onnx, {"z"})
    output = export._ACTIVATIONS[name](graph, "z")
    make = onnx.helper.make_tensor_value_info
    double = onnx.TensorProto.DOUBLE
    body = onnx.helper.make_graph(
        graph.nodes, "g", [make("z", double, ["n"])], [make(output, double, ["n"])], graph.initializers
    )
    whole = onnx.helper.make_model(body, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    z = np.concatenate([np.linspace(-7.0, 7.0, 20_001), np.logspace(-300, 99, 800), [0.0]])
    (found,) = onnxruntime.InferenceSession(whole.SerializeToString()).run(None, {"z": z})
    wanted = activation.named(name)(z)
    assert np.all(np.abs(found - wanted) <= 2e-15 * np.abs(wanted))


@needs_onnx
def test_the_command_writes_the_same_bytes_twice_and_says_what_goes_in(tmp_path: Path) -> None:
    model = fitted(tmp_path, mixed_rows(60), "--variant", "approximate")
    outputs = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for output in outputs:
        outcome = succeed("export", model, "--to", "onnx", "-o", output)
    assert "city (string)" in outcome.stderr
    assert "prediction (float64)" in outcome.stderr
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


@needs_onnx
def test_a_column_called_prediction_does_not_clash_with_the_output(tmp_path: Path) -> None:
    text = "prediction,inputs,y\n" + "".join(f"{np.sin(i)},{np.cos(3 * i)},{np.sin(i) ** 2}\n" for i in range(40))
    model = load_model(str(fitted(tmp_path, text, "--variant", "approximate")))
    exported = export.export(model)
    assert exported.output == "prediction_"
    found = predictions_of(exported, feeds(model, tmp_path / "data.csv", "float64"))
    wanted = our_predictions(tmp_path / "model.joblib", tmp_path / "data.csv", tmp_path)
    assert np.abs(found - wanted).max() <= 1e-12


def test_without_the_extra_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(tmp_path, mixed_rows(60), "--variant", "approximate")
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    outcome = run("export", model, "-o", tmp_path / "model.onnx")
    assert outcome.code == 2
    assert "pip install 'onnx>=" in outcome.stderr
    assert not (tmp_path / "model.onnx").exists()


def class_rows(count: int, classes: int) -> str:
    """The rows above, with classes that are levels of their number."""
    lines = mixed_rows(count).splitlines()
    y = np.array([float(line.rsplit(",", 1)[1]) for line in lines[1:]])
    places = np.searchsorted(np.quantile(y, np.linspace(0.0, 1.0, classes + 1)[1:-1]), y)
    rows = [f"{line.rsplit(',', 1)[0]},größe {k}" for line, k in zip(lines[1:], places, strict=True)]
    return "\n".join([lines[0], *rows]) + "\n"


@needs_onnx
@pytest.mark.parametrize(("variant", "classes"), [("kernel", 2), ("kernel", 4), ("approximate", 3), ("logistic", 3)])
def test_labels_and_probabilities_of_classes_equal_ours(variant: str, classes: int, tmp_path: Path) -> None:
    import onnxruntime

    path = fitted(tmp_path, class_rows(150, classes), "--variant", variant, "--categorical", "code", "--folds", 1)
    model = load_model(str(path))
    exported = tmp_path / "model.onnx"
    done = succeed("export", path, "-o", exported)
    assert "prediction (string), probabilities (float64)" in done.stderr
    session = onnxruntime.InferenceSession(exported, providers=["CPUExecutionProvider"])
    labels, p = session.run(None, feeds(model, tmp_path / "data.csv", "float64"))
    told = succeed("predict", path, tmp_path / "data.csv", "--probabilities").stdout
    rows = list(csv.DictReader(told.splitlines()))
    assert [label for (label,) in labels] == [row["prediction"] for row in rows]
    ours = np.array([[float(row[f"p_{name}"]) for name in model.classes or ()] for row in rows])
    np.testing.assert_allclose(p, ours, rtol=1e-7, atol=1e-10)
    assert session.get_modelmeta().custom_metadata_map["classes"] == json.dumps(
        list(model.classes or ()), ensure_ascii=False
    )
