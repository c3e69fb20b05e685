"""The estimator: the command line's models from Python."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from threadpoolctl import threadpool_info

import enrelm
from enrelm import EnrelmError, EnrelmRegressor
from enrelm._parameters import OF_FILES, PARAMETERS
from enrelm_cli.fields import all_options
from enrelm_cli.settings import DataSettings, EngineSettings, MethodSettings, SplitSettings
from tests.cli_runner import succeed

QUICK: dict[str, Any] = {"tune": False, "max_neurons": 20}
FLAGS = ("--no-tune", "--max-neurons", "20")


def frame(path: Path) -> Any:
    return pa_csv.read_csv(path)


@pytest.fixture(scope="module")
def houses(sample_data: Path) -> tuple[Any, Any]:
    table = frame(sample_data / "houses.csv").drop_columns(["house_id"])
    return table.drop_columns(["price"]), table.column("price").to_numpy()


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    random = np.random.default_rng(2)
    X = random.normal(size=(80, 4))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]


@pytest.fixture(scope="module")
def model(rows: tuple[Any, Any]) -> EnrelmRegressor:
    return EnrelmRegressor(variant="kernel", **QUICK).fit(*rows)


# ------------------------------------------------------------------------------------------------ the same model


def test_the_command_line_and_pandas_give_byte_identical_files(sample_data: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(sample_data / "houses.csv").drop(columns="house_id")
    estimator = EnrelmRegressor(variant="kernel", **QUICK).fit(table.drop(columns="price"), table["price"])
    estimator.save(tmp_path / "python.joblib")
    args = ("-t", "price", "--drop", "house_id", "--variant", "kernel", *FLAGS, "-o", tmp_path / "shell.joblib")
    succeed("fit", sample_data / "houses.csv", *args)
    assert (tmp_path / "python.joblib").read_bytes() == (tmp_path / "shell.joblib").read_bytes()


def test_python_predicts_what_the_command_line_predicts(sample_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.joblib"
    fitted = enrelm.fit(sample_data / "houses.csv", "price", variant="kernel", drop="house_id", **QUICK)
    fitted.save(path)
    new = frame(sample_data / "houses_new.csv")
    out = tmp_path / "out.csv"
    succeed("predict", path, sample_data / "houses_new.csv", "--interval", "0.8", "-o", out)
    predicted = enrelm.load(path).predict(new, return_interval=0.8)
    assert predicted.column_names == ["prediction", "lower", "upper"]
    assert predicted.equals(pa_csv.read_csv(out).cast(predicted.schema))
    assert np.array_equal(fitted.predict(new), predicted.column("prediction").to_numpy())


def test_a_function_fits_a_frame_as_it_fits_its_file(sample_data: Path, tmp_path: Path) -> None:
    path = sample_data / "linear.csv"
    for data, name in ((path, "file"), (frame(path), "frame")):
        enrelm.fit(data, "y", variant="approximate").save(tmp_path / name)
    assert (tmp_path / "file").read_bytes() == (tmp_path / "frame").read_bytes()


def test_plain_arrays_take_a_short_way_to_the_same_predictions(model: EnrelmRegressor, rows: tuple[Any, Any]) -> None:
    X = rows[0]
    assert model._inputs.plain_rows(X) is not None
    table = pa.table({name: X[:, k] for k, name in enumerate(model._inputs.names)})
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert np.array_equal(model.predict(table), model.predict(X))


def test_every_option_of_fit_is_a_parameter() -> None:
    classes = (DataSettings, SplitSettings, MethodSettings, EngineSettings)
    names = {option.name for one in classes for option in all_options(one, "fit")}
    of_files = {"data", *OF_FILES}
    assert names - of_files - {"transform"} == PARAMETERS.keys() - {
        "variant",
        "progress",
        "target_transform",
        "updatable",
    }


# ------------------------------------------------------------------------------------------------ tables


def test_texts_dates_and_missing_cells_are_fitted_as_they_are(houses: tuple[Any, Any]) -> None:
    fitted = EnrelmRegressor(variant="kernel", **QUICK).fit(*houses)
    assert fitted.score(*houses) > 0.8
    assert fitted.feature_names_in_.tolist() == houses[0].column_names
    assert sum(fitted.feature_importances_) == pytest.approx(1.0)
    assert fitted.feature_names_in_[np.argmax(fitted.feature_importances_)] == fitted.report_.relevance[0][0]


def test_columns_of_another_order_are_refused_by_a_fit_and_found_by_a_loaded_model(
    houses: tuple[Any, Any], tmp_path: Path
) -> None:
    X, y = houses
    fitted = EnrelmRegressor(variant="approximate").fit(X, y)
    turned = X.select(X.column_names[::-1])
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(turned)
    fitted.save(tmp_path / "model")
    assert np.array_equal(enrelm.load(tmp_path / "model").predict(turned), fitted.predict(X))


def test_a_loaded_model_of_arrays_knows_their_columns_by_place(tmp_path: Path) -> None:
    X = np.random.default_rng(3).normal(size=(40, 12))
    fitted = EnrelmRegressor(variant="approximate").fit(X, X[:, 11] - X[:, 2])
    fitted.save(tmp_path / "model")
    assert np.array_equal(enrelm.load(tmp_path / "model").predict(X), fitted.predict(X))


def test_a_loaded_model_of_named_columns_wants_names(sample_data: Path, tmp_path: Path) -> None:
    fitted = enrelm.fit(sample_data / "linear.csv", "y", variant="approximate")
    with pytest.raises(ValueError, match="pass a data frame with the columns 'x1', 'x10'"):
        fitted.predict(np.zeros((2, 20)))


def test_pandas_gets_pandas_back_with_its_index(model: EnrelmRegressor) -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.zeros((2, 4)), index=["p", "q"])
    interval = model.predict(X, return_interval=0.9)
    assert list(interval.columns) == ["prediction", "lower", "upper"]
    assert list(interval.index) == ["p", "q"]
    assert (interval.lower < interval.prediction).all()


def test_categories_of_numbers_are_levels() -> None:
    pandas = pytest.importorskip("pandas")
    code = np.repeat([1, 2, 3, 4], 10)
    X = pandas.DataFrame({"code": pandas.Categorical(code), "x": np.arange(40.0) % 7})
    fitted = EnrelmRegressor(variant="kernel", **QUICK).fit(X, np.array([5.0, 1.0, 9.0, 2.0])[code - 1])
    assert fitted.model_.encoding.columns[0].levels == ("1", "2", "3", "4")


# ------------------------------------------------------------------------------------------------ sizes and curves


def test_a_smaller_network_is_the_one_that_a_fit_of_its_size_gives(rows: tuple[Any, Any]) -> None:
    large = EnrelmRegressor(variant="approximate", neurons=12).fit(*rows)
    small = EnrelmRegressor(variant="approximate", neurons=5).fit(*rows)
    assert large.with_neurons(5).predict(rows[0]) == pytest.approx(small.predict(rows[0]))
    assert large.with_neurons(5).neurons_ == 5
    assert large.neurons_ == 12


def test_a_smaller_network_is_saved_with_the_errors_of_the_curve(rows: tuple[Any, Any], tmp_path: Path) -> None:
    model = EnrelmRegressor(variant="kernel", neurons=9, **QUICK).fit(*rows)
    small = model.with_neurons(3)
    small.save(tmp_path / "small")
    card = enrelm.load(tmp_path / "small").model_.card
    assert (card.neurons, card.validation_error) == (3, model.curve_.validation[2])
    with pytest.raises(EnrelmError, match="no left-out errors"):
        small.predict(np.zeros((1, 4)), return_interval=0.9)


def test_sizes_that_a_model_does_not_have_are_refused(model: EnrelmRegressor) -> None:
    with pytest.raises(ValueError, match=rf"with_neurons\(99\): this model has networks of 1 to {model.neurons_}"):
        model.with_neurons(99)


def test_curves_and_comparisons_are_objects_with_figures(sample_data: Path) -> None:
    pytest.importorskip("matplotlib")
    table = frame(sample_data / "linear.csv").slice(0, 80)
    curve = enrelm.curve(table, "y", variant="approximate", max_neurons=9)
    assert len(curve.neurons) == len(curve.train) == len(curve.validation) == 9
    assert curve.choices.best.error == curve.validation.min()
    methods = ["approximate", "linear"]
    result = enrelm.compare(table, "y", method=methods, repeats=1)
    assert {row.method for row in result.rows} == {*methods}
    for one in (curve, result):
        assert one.plot()._repr_png_()[:4] == b"\x89PNG"
        assert one._repr_html_().startswith('<div class="enrelm"><style>.enrelm{')
        assert one.to_json()["data"]["rows"] == 80
        assert "80 rows" in repr(one)


def test_estimators_show_their_report_in_notebooks(model: EnrelmRegressor) -> None:
    assert "validation" in model._repr_mimebundle_()["text/html"]
    assert "EnrelmRegressor" in EnrelmRegressor()._repr_html_()


# ------------------------------------------------------------------------------------------------ manners


def test_import_brings_neither_numpy_nor_scikit_learn() -> None:
    code = (
        "import enrelm, sys; assert not {'numpy', 'pyarrow', 'sklearn', 'typer'} & {*sys.modules}; print(dir(enrelm))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "EnrelmRegressor" in done.stdout


def test_everything_works_without_scikit_learn() -> None:
    code = """
import sys
sys.modules["sklearn"] = None
import numpy as np, enrelm
X = np.random.default_rng(0).normal(size=(40, 2))
model = enrelm.EnrelmRegressor(variant="approximate").set_params(max_neurons=10)
try:
    model.predict(X)
except ValueError as error:
    print(error)
print(model, model.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.5)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "not fitted yet" in done.stdout
    assert done.stdout.endswith("EnrelmRegressor(variant='approximate', max_neurons=10) True\n")


def test_errors_name_parameters_instead_of_flags(rows: tuple[Any, Any]) -> None:
    with pytest.raises(EnrelmError, match="neurons and select both say how many neurons"):
        EnrelmRegressor(neurons=3, select="knee").fit(*rows)
    with pytest.raises(EnrelmError, match="variant 'kernal' is not one of"):
        EnrelmRegressor(variant="kernal").fit(*rows)
    with pytest.raises(TypeError, match="no parameter 'neuron'; did you mean 'neurons'"):
        EnrelmRegressor(neuron=3)  # type: ignore[call-arg]
    with pytest.raises(EnrelmError, match=r"max_neurons 2\.5 is not a whole number"):
        EnrelmRegressor(max_neurons=2.5).fit(*rows)  # type: ignore[arg-type]
    with pytest.raises(EnrelmError, match="does not exist"):
        enrelm.load("nowhere.joblib")


def test_a_fit_is_silent_unless_asked(rows: tuple[Any, Any], capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        EnrelmRegressor(variant="approximate").fit(*rows)
    assert not caught
    assert capfd.readouterr() == ("", "")
    EnrelmRegressor(variant="approximate", progress=True).fit(*rows)
    out, err = capfd.readouterr()
    assert not out
    assert "pass 1, reading" in err


def blas_threads() -> list[int]:
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_fits_in_several_threads_agree_and_leave_blas_as_it_was(rows: tuple[Any, Any]) -> None:
    before = blas_threads()
    fits: list[Any] = [None] * 4

    def work(place: int) -> None:
        fits[place] = EnrelmRegressor(variant="kernel", threads=1 + place % 2, **QUICK).fit(*rows).predict(rows[0])

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == before
    assert all(np.array_equal(one, fits[0]) for one in fits)


def test_weights_and_groups_come_along(rows: tuple[Any, Any]) -> None:
    for name in ("sample_weight", "groups"):
        assert EnrelmRegressor(variant="approximate").fit(*rows, **{name: np.arange(1.0, 81.0)}).neurons_ > 0


def test_a_regressor_names_the_estimator_of_classes() -> None:
    with pytest.raises(ValueError, match=r"could not convert .*EnrelmClassifier takes classes"):
        EnrelmRegressor().fit(np.arange(60.0)[:, None], ["yes", "no"] * 30)
