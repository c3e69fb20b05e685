"""The commands as functions: a path or a data frame in, an estimator or a report out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from enrelm._classifier import EnrelmClassifier
from enrelm._errors import as_python
from enrelm._estimators import EnrelmRegressor
from enrelm._inputs import inputs_of_file
from enrelm._parameters import (
    DEFAULTS,
    FITTING,
    FitParameters,
    named_options,
    refuse_unknown,
    settings_of,
)
from enrelm._results import CurveResult, Result
from enrelm._run import running
from enrelm._tables import columns_of, level_roles
from enrelm_cli.commands import compare as compare_command
from enrelm_cli.commands import curve as curve_command
from enrelm_cli.commands.updating.update import Wanted
from enrelm_cli.commands.updating.update import update as update_command
from enrelm_cli.errors import UsageError
from enrelm_cli.report.reports import CurveReport
from enrelm_cli.settings import (
    DataSettings,
    ElmSettings,
    EngineSettings,
    MethodSettings,
    ReadOptions,
    SplitSettings,
)
from enrelm_cli.table.memory import ArrowSource, is_frame
from enrelm_cli.variants import VARIANTS

_ONE = "a result has the curves of one"
Data = Any  # a path or several, or a data frame


def fit(data: Data, target: str | Sequence[str], **options: Any) -> EnrelmRegressor | EnrelmClassifier:
    """Fit a table to its column `target`, as `enrelm fit` does.

    Parameters
    ----------
    data : path, sequence of paths, or data frame
        CSV, TSV, JSON lines, Parquet or Arrow files (or globs), or a frame that has the target among its columns.
    target : str or sequence of str
        The column to predict, or several that share a kernel.
    **options
        The options of `enrelm fit`, named as there: `variant="kernel"`, `drop=["id"]`, `memory="2G"`.

    Returns
    -------
    EnrelmRegressor, or EnrelmClassifier where the target has classes
        Fitted; it finds columns by their names, in any order, and ignores others.
    """
    refuse_unknown(options, named_options("fit", *FITTING), "fit")
    estimator = EnrelmRegressor(**{name: value for name, value in options.items() if name in DEFAULTS})
    given, sources, frame = _given(data, target, options)
    _refuse_cluster(given, frame)
    estimator._fit(given, frame, sources)
    estimator._know(inputs_of_file(estimator.model_.encoding))
    return estimator if estimator._classes() is None else _classifier_of(estimator)


def _classifier_of(estimator: EnrelmRegressor) -> EnrelmClassifier:
    """The same fit, of a target that has classes."""
    classifier = EnrelmClassifier(**estimator.get_params(deep=False))
    classifier.__dict__.update(vars(estimator))
    classifier._name(np.array(estimator._classes()))
    return classifier


def curve(
    data: Data, target: str | Sequence[str], variant: str = "kernel", with_elm: bool = False, **options: Any
) -> CurveResult:
    """The error of every network size, and three choices of the number of neurons, as `enrelm curve` finds them.

    Parameters
    ----------
    data, target
        As for `fit`.
    variant : str
        One of the variants, or "all".
    with_elm : bool
        Add the error band of random ELMs.
    **options
        The options of `enrelm curve`.

    Returns
    -------
    CurveResult
        With arrays `neurons`, `train`, `validation`, with `choices`, `plot()` and `to_json()`.
    """
    given, data_, split, method, where, elm = _settings("curve", data, target, options)
    variants = VARIANTS if variant == "all" else (variant,)
    with as_python():
        settings_of(FitParameters, {"variant": variants[0]})
    with running(where, bool(given.get("progress"))) as engine:
        band = elm if with_elm else None
        report = curve_command.curve(
            data_, split, method, where, variants, band, engine, "a result has the curves of one"
        )
    assert isinstance(report, CurveReport)
    return CurveResult(report)


def compare(
    data: Data,
    target: str,
    method: str | Sequence[str] = (),
    protocol: str = "test",
    repeats: int = 5,
    test_size: float = 0.25,
    **options: Any,
) -> Result:
    """The variants, the random ELM, linear regression and other libraries on the same splits, as `enrelm compare`.

    Parameters
    ----------
    data, target
        As for `fit`.
    method : str or sequence of str
        The methods to compare; all that are installed if there is none.
    protocol : {"test", "paper"}
        Report on separate test rows, or choose and report on the same rows.
    repeats : int
        Number of splits.
    test_size : float
        Fraction of rows used only for testing.
    **options
        The options of `enrelm compare`.

    Returns
    -------
    Result
        With `rows` (a method each, the best first), `plot()` and `to_json()`.
    """
    given, data_, split, method_, where, elm = _settings("compare", data, target, options)
    methods = (method,) if isinstance(method, str) else tuple(method)
    with running(where, bool(given.get("progress"))) as engine:
        chosen = methods or compare_command.default_methods()
        plan = compare_command.ComparePlan(chosen, protocol, repeats, test_size)
        return Result(compare_command.compare(data_, split, method_, where, elm, plan, engine))


def load(path: str | os.PathLike[str]) -> EnrelmRegressor | EnrelmClassifier:
    """Read a model's file, written by `save` or by `enrelm fit -o`. Nothing that the file says is run."""
    estimator = EnrelmRegressor.load(path)
    return estimator if estimator._classes() is None else _classifier_of(estimator)


def update(
    model: str | os.PathLike[str],
    data: Data = (),
    remove: Data = (),
    forget: float | None = None,
    output: str | os.PathLike[str] | None = None,
    fail_above: float | None = None,
    fail_drift: float | None = None,
) -> Result:
    """Add rows to a model's file, or take rows away, without the other ones, as `enrelm update` does.

    Parameters
    ----------
    model : path
        Of a model that was fitted with `updatable`. Updates of one file wait for each other.
    data, remove : path, sequence of paths, or data frame
        Rows to add, and rows to take away again.
    forget : float
        Factor for the weight of earlier rows, above 0 and below 1.
    output : path
        Where the new model goes; in place of the old one if there is none.
    fail_above, fail_drift : float
        Raise EnrelmError and change nothing where the validation error, or the ratio of the error on the new rows to
        it, is above this.

    Returns
    -------
    Result
        With `rows`, `added`, `validation_error`, `drift`, `history` and `to_json()`.
    """
    with as_python():
        if forget is not None and not 0.0 < forget < 1.0:
            raise UsageError(f"forget={forget} must lie between 0 and 1", "0.9 lets earlier rows count for 0.9")
        path, place = os.fspath(model), None if output is None else os.fspath(output)
        tables = _tables(data), _tables(remove)
        wanted = Wanted(path, *tables, forget, place, fail_above, fail_drift)
    with running(EngineSettings(), progress=False) as engine:
        return Result(update_command(wanted, ReadOptions(), engine))


def _tables(data: Data) -> tuple[str | ArrowSource, ...]:
    if is_frame(data):
        return (ArrowSource("data frame", columns_of(data).table),)
    return tuple(os.fspath(path) for path in ([data] if isinstance(data, str | os.PathLike) else data))


def _settings(command: str, data: Data, target: str | Sequence[str], options: Mapping[str, Any]) -> tuple[Any, ...]:
    known = named_options(command, *FITTING, ElmSettings)
    refuse_unknown(options, {name: None for name in known if name != "variant"}, command)
    given, sources, frame = _given(data, target, options)
    _refuse_cluster(given, frame)
    with as_python():
        return (
            given,
            settings_of(DataSettings, given, sources=sources, frame=frame),
            settings_of(SplitSettings, given),
            settings_of(MethodSettings, given),
            settings_of(EngineSettings, given),
            settings_of(ElmSettings, given),
        )


def _given(
    data: Data, target: str | Sequence[str], options: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...], ArrowSource | None]:
    """(options with the target, paths, table in memory)."""
    given = {**options, "target": target}
    if not is_frame(data):
        paths = [data] if isinstance(data, str | os.PathLike) else data
        return given, tuple(os.fspath(path) for path in paths), None
    columns = columns_of(data)
    apart = (target,) if isinstance(target, str) else tuple(target)
    given["categorical"] = [name for name in level_roles(columns.table, given.get("categorical")) if name not in apart]
    return given, (), ArrowSource("data frame", columns.table)


def _refuse_cluster(given: Mapping[str, Any], frame: ArrowSource | None) -> None:
    if frame is not None and given.get("engine") == "dask":
        with as_python():
            raise UsageError("the workers of a cluster cannot read a data frame", "name the files that it came from")
