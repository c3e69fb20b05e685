"""Estimators over the commands of the command line: the same fit, the same model files, the same predictions."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from enrelm._base import BaseEstimator, NotFittedError, RegressorMixin, of_updatable
from enrelm._errors import as_python
from enrelm._explaining import Explaining
from enrelm._inputs import Inputs, as_tuple, frame_like, inputs_of_file, inputs_of_fit
from enrelm._parameters import FitParameters, documented, settings_of
from enrelm._results import CurveResult, Result, curve_of_fit
from enrelm._run import running
from enrelm._tables import columns_of, later_table, level_roles, training_table
from enrelm_cli.commands import fit as command
from enrelm_cli.commands.beside.bands import Bands, bands_of
from enrelm_cli.commands.info import info
from enrelm_cli.commands.predict import predict_table
from enrelm_cli.commands.saved import load_models
from enrelm_cli.commands.targets.predicting import predict_targets_table, targets_bands, targets_columns
from enrelm_cli.commands.updating.update import Wanted, updated
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.model import artifact
from enrelm_cli.model.card import ModelCard
from enrelm_cli.model.intervals import Intervals
from enrelm_cli.model.model import Model
from enrelm_cli.model.targets.models import TargetModels, each_of
from enrelm_cli.report.reports import FitReport
from enrelm_cli.report.targets.reports import TargetsReport
from enrelm_cli.settings import DataSettings, EngineSettings, MethodSettings, ReadOptions, SplitSettings
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.types import Array

if TYPE_CHECKING:
    from typing_extensions import Self

    from enrelm._typed import Parameters
else:
    from enrelm._parameters import Parameters


class Estimator(Explaining, Parameters, BaseEstimator):  # type: ignore[misc]
    """What every estimator has: a fit by the command, its model and report, and its file."""

    def _fit(self, given: Mapping[str, Any], frame: ArrowSource | None, sources: tuple[str, ...] = ()) -> None:
        with as_python():
            chosen = settings_of(FitParameters, given)
            data = settings_of(DataSettings, given, sources=sources, frame=frame)
            split, method = settings_of(SplitSettings, given), settings_of(MethodSettings, given)
            where = settings_of(EngineSettings, given)
        with running(where, chosen.progress) as engine:
            report, model = command.fit(data, split, method, where, chosen.variant, engine, chosen.updatable)
        self._keep(model, report)

    def _keep(self, model: Model | TargetModels, report: FitReport | TargetsReport) -> None:
        self._forget_curves()
        if isinstance(model, TargetModels) and isinstance(report, TargetsReport):
            self._keep_targets(model, report)
            return
        assert isinstance(report, FitReport)
        assert isinstance(model, Model)
        self.model_: Model | TargetModels = model
        self.report_ = Result(report)
        self.curve_ = CurveResult(curve_of_fit(report))
        self.variant_ = report.variant
        self.neurons_: int | tuple[int, ...] = model.network.size

    def _forget_curves(self) -> None:
        """They were of other rows."""
        for name in ("curve_", "curves_"):
            if hasattr(self, name):
                delattr(self, name)

    def _keep_targets(self, models: TargetModels, report: TargetsReport) -> None:
        self.model_ = models
        self.report_ = Result(report)
        self.curves_ = tuple(CurveResult(curve_of_fit(one)) for one in report.reports)
        self.variant_ = report.first.variant
        self.neurons_ = tuple(one.network.size for one in models.models)

    def _update(self, wanted: Wanted) -> None:
        """The model with other rows. What `fit` learnt of the columns stays as it is."""
        model = self._fitted_model()
        with running(EngineSettings(threads=self.threads or 0), bool(self.progress)) as engine:
            report, made = updated(model, wanted, ReadOptions(), engine)
        self.model_, self.report_ = made, Result(report)
        sizes = tuple(one.network.size for one in each_of(made))
        self.neurons_ = sizes if isinstance(made, TargetModels) else sizes[0]
        self._forget_curves()

    def _later(self, X: Any, y: Any, sample_weight: Any, labels: bool = False) -> ArrowSource:
        """Rows that came after those of `fit`, under the names that it knew."""
        model, inputs, name = self._fitted_model(), self._inputs, type(self).__name__
        columns = inputs.checked(columns_of(X, inputs.names), name)
        weighted = model.encoding.weight
        if (weighted is None) is not (sample_weight is None):
            said = "was fitted without sample_weight" if weighted is None else "was fitted with sample_weight"
            raise ValueError(f"this {name} {said}: partial_fit needs the same")
        beside = {} if weighted is None else {weighted: (sample_weight, "sample_weight")}
        return later_table(columns, y, model.encoding.targets, beside, labels)

    def _know(self, inputs: Inputs) -> None:
        """What X has to look like from now on."""
        self._inputs = inputs
        self.n_features_in_ = len(inputs.names)
        if inputs.named:
            self.feature_names_in_ = np.array(inputs.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _model(self) -> Model:
        """Of one target."""
        model = self._fitted_model()
        if isinstance(model, TargetModels):
            raise ValueError(f"this model predicts {len(model.targets)} targets, and that takes one")
        return model

    def _classes(self) -> tuple[str, ...] | None:
        model = self._fitted_model()
        return None if isinstance(model, TargetModels) else model.classes

    def _fitted_model(self) -> Model | TargetModels:
        try:
            model: Model | TargetModels = self.model_
        except AttributeError:
            name = type(self).__name__
            raise NotFittedError(
                f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using it."
            ) from None
        return model

    @property
    def feature_importances_(self) -> Array:
        """(n_features_in_,) the share of the prediction's variance that each column moves; 0 for one left out.

        Of several targets the mean.
        """
        model = self._fitted_model()
        each = [dict(one.card.relevance) for one in (model.models if isinstance(model, TargetModels) else (model,))]
        return np.array([np.mean([shares.get(name, 0.0) for shares in each]) for name in self._inputs.names])

    def with_neurons(self, n: int) -> Self:
        """The network of the first n neurons, without another fit: a fitted estimator of its own.

        Its errors are those of the curve. It has no intervals: left-out errors are known of the fitted size only.
        """
        model = self._model()
        size = model.network.size
        if not 1 <= n <= size:
            raise ValueError(f"with_neurons({n}): this model has networks of 1 to {size} neurons")
        other = type(self)(**{**self.get_params(deep=False), "neurons": n, "select": None})
        other.__dict__.update({name: value for name, value in vars(self).items() if name not in self.get_params()})
        other.neurons_ = n
        if n < size:
            other.model_ = replace(
                model, network=model.network.first(n), card=self._card(n), intervals=Intervals(), learnt=None
            )
        return other

    def _card(self, n: int) -> ModelCard:
        """What a file says of the network of n neurons."""
        card = self._model().card
        train = validation = float("nan")
        if hasattr(self, "curve_"):
            place = min(n, len(self.curve_.train)) - 1
            train, validation = float(self.curve_.train[place]), float(self.curve_.validation[place])
        facts = {name: value for name, value in card.facts.items() if name != "leave_one_out_error"}
        known = replace(card, train_error=train, validation_error=validation, facts=facts)
        return replace(known, neurons=n, chosen_neurons=n, selection="given")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model's file: that of `enrelm fit -o`, for `enrelm predict` and `enrelm.load`."""
        document = self._fitted_model().to_document()
        with as_python():
            artifact.save(document, os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model's file, written here or by `enrelm fit -o`. Nothing that the file says is run."""
        with as_python():
            model, report = load_models(os.fspath(path)), info(os.fspath(path))
        several = isinstance(model, TargetModels)
        each = model.models if isinstance(model, TargetModels) else (model,)
        variant, sizes = each[0].card.variant, tuple(one.network.size for one in each)
        estimator = cls(variant=variant, updatable=model.kept is not None)
        estimator.model_ = model
        estimator.report_ = Result(report)
        estimator.variant_, estimator.neurons_ = variant, sizes if several else sizes[0]
        estimator._know(inputs_of_file(model.encoding))
        return estimator

    # -------------------------------------------------------------------------------------------- scikit-learn

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        """From scikit-learn 1.6 on."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _more_tags(self) -> dict[str, Any]:
        """Until scikit-learn 1.5."""
        return {"allow_nan": self.missing != "error", "X_types": ["2darray", "string", "categorical"]}

    # -------------------------------------------------------------------------------------------- notebooks

    def _repr_html_(self) -> str:
        if hasattr(self, "report_"):
            return self.report_._repr_html_()
        return f"<pre>{self!r}</pre>"

    def _repr_mimebundle_(self, **how: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class EnrelmRegressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """Non-linear regression by the Effective Non-Random Extreme Learning Machine.

    The same fit as `enrelm fit`: the number of neurons is chosen on held-out rows, then the network is refitted to all
    rows. X is a data frame (pandas, polars, pyarrow, or any that speaks Arrow) with numbers, texts, dates and missing
    cells as they are, or an array. The parameters are the options of the command line.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> EnrelmRegressor:
        """Fit to the rows of X and their targets y.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            Numbers, texts, dates, booleans; missing cells are allowed.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The numbers to predict. Several targets share a kernel; each has its own weights, ridge and scale.
        sample_weight : array-like of shape (n_samples,), default=None
            How much a row counts (`--weight`).
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are held out together (`--group`).

        Returns
        -------
        self : EnrelmRegressor
            The fitted estimator.
        """
        return self._first_fit(X, y, sample_weight, groups)

    def _first_fit(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> EnrelmRegressor:
        table = training_table(X, y, type(self).__name__, weight=sample_weight, group=groups)
        given = {**self.get_params(deep=False), **table.roles}
        given["categorical"] = level_roles(table.inputs.table, given["categorical"])
        self._fit(given, table.source)
        self._know(inputs_of_fit(table.inputs, self.model_.encoding))
        return self

    @of_updatable
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> EnrelmRegressor:
        """Add rows to the model, without those of before, where `updatable=True`; without a fit the first call is one.

        Landmarks, inputs and kernel stay as the first call found them; ridge, size, weights, errors and intervals are
        those of all rows, as after `enrelm update`. A later call takes any number of rows.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            With the columns of the first call.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The numbers to predict: as many targets as in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            How much a row counts: in every call, or in none.

        Returns
        -------
        self : EnrelmRegressor
            The same estimator.
        """
        if not hasattr(self, "model_"):
            return self._first_fit(X, y, sample_weight)
        self._update(Wanted("model", (self._later(X, y, sample_weight),)))
        return self

    def predict(
        self,
        X: Any,
        return_interval: float | Sequence[float] | None = None,
        return_quantile: float | Sequence[float] | None = None,
    ) -> Any:
        """Predict the rows of X.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            With the columns of the fit.
        return_interval : float or several, default=None
            A level such as 0.9: also the bounds of intervals that contain this share of new targets, wider where the
            data are noisier.
        return_quantile : float or several, default=None
            A share such as 0.1: also the value that this share of new targets is below.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_targets)
            With `return_interval` the columns prediction, lower and upper (of several levels lower_0.9, upper_0.9 and
            so on), with `return_quantile` quantile_0.1 and so on: a data frame of the kind that X is, or an array
            with these columns. Of several targets each has these columns, with its name behind: prediction_a.
        """
        model = self._fitted_model()
        if isinstance(model, TargetModels):
            return self._predicted_targets(model, X, as_tuple(return_interval), as_tuple(return_quantile))
        with as_python():
            bands = bands_of(model, as_tuple(return_interval), as_tuple(return_quantile))
        predicted = self._predicted(model, X, bands)
        if return_interval is None and return_quantile is None:
            return predicted[:, 0]
        return frame_like(X, predicted, ("prediction", *bands.names))

    def __sklearn_tags__(self) -> Any:
        """From scikit-learn 1.6 on."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _more_tags(self) -> dict[str, Any]:
        """Until scikit-learn 1.5."""
        return {**super()._more_tags(), "multioutput": True}

    def _predicted_targets(
        self, models: TargetModels, X: Any, levels: tuple[float, ...], shares: tuple[float, ...]
    ) -> Any:
        with as_python():
            bands = targets_bands(models, levels, shares)
        rows = self._inputs.plain_rows(X)
        if rows is None:
            columns = self._inputs.checked(columns_of(X, self._inputs.names), type(self).__name__)
            source, engine = ArrowSource("X", columns.table), LocalEngine(self.threads or 0)
        with as_python():
            times = [one.times for one in bands]
            if rows is None:
                each = predict_targets_table(models, source, engine, times)
            else:
                each = models.predict_with(rows, times)
        if not levels and not shares:
            return np.column_stack([one[:, 0] for one in each])
        return frame_like(X, np.hstack(each), [one.name for one in targets_columns(models, bands, ())])

    def _predicted(self, model: Model, X: Any, bands: Bands) -> Array:
        inputs = self._inputs
        rows = inputs.plain_rows(X)
        if rows is not None:
            with as_python():
                return model.predict_with(rows, bands.times)
        columns = inputs.checked(columns_of(X, inputs.names), type(self).__name__)
        with as_python():
            return predict_table(model, ArrowSource("X", columns.table), LocalEngine(self.threads or 0), bands)


# Python 3.13 takes the indentation off a docstring itself.
EnrelmRegressor.__doc__ = f"""{inspect.cleandoc(EnrelmRegressor.__doc__ or "")}

Parameters
----------
{documented()}

Attributes
----------
n_features_in_ : int
    Columns of X at fit.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Their names, where X has names that are all strings.
feature_importances_ : ndarray of shape (n_features_in_,)
    The share of the prediction's variance that each column moves.
variant_ : str
    The variant that was chosen.
neurons_ : int
    The number of neurons; of several targets one number for each.
curve_ : CurveResult
    Training and validation errors of every nested size; of several targets `curves_`, one for each.
report_ : Result
    What the command line reports of the fit.
model_ : Model
    What predicts, and what `save` writes.
"""
