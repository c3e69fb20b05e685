"""explain and contributions of an estimator: what `enrelm explain` and `enrelm predict --explain` find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from enrelm._errors import as_python
from enrelm._inputs import Inputs, frame_like
from enrelm._results import Result
from enrelm._run import running
from enrelm._tables import columns_of, label_column, target_of
from enrelm_cli.commands.explanation.explain import ExplainSettings, explain_model
from enrelm_cli.commands.explanation.learning import TOP
from enrelm_cli.commands.predict import table_contributions
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.model.model import Model
from enrelm_cli.settings import EngineSettings, ReadOptions
from enrelm_cli.table.memory import ArrowSource


class Explaining:
    """What every fitted estimator can say of its model."""

    _inputs: Inputs
    threads: int | None

    def _model(self) -> Model:
        raise NotImplementedError  # the estimator has it

    def explain(
        self,
        X: Any,
        y: Any = None,
        columns: str | Sequence[str] = (),
        top: int = TOP,
        partial_dependence: bool = False,
        worst: int = 10,
        of_class: str | Sequence[str] = (),
    ) -> Result:
        """What the model has learnt, and with y where it errs, as `enrelm explain` finds it.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            With the columns of the fit.
        y : array-like of shape (n_samples,), default=None
            Targets: for errors, residuals, the worst rows and the coverage of intervals.
        columns : str or several, default=()
            The columns to look at; those that matter if there is none.
        top : int, default=12
            Maximum number of columns.
        partial_dependence : bool, default=False
            Partial dependence instead of accumulated local effects.
        worst : int, default=10
            How many of the worst rows.
        of_class : str or several, default=()
            Of a classifier, the classes to look at.

        Returns
        -------
        Result
            With `effects`, `pairs`, `errors`, `residuals`, `worst`, `calibration`, `plot()` and `to_json()`.
        """
        model, table = self._model(), self._rows_to_explain(X, y)
        named = ((one,) if isinstance(one, str) else tuple(one) for one in (columns, of_class))
        chosen, classes = named
        wanted = ExplainSettings(chosen, top, partial_dependence, worst, classes)
        with running(EngineSettings(threads=self.threads or 0), False) as engine:
            return Result(explain_model(model, (table,), wanted, ReadOptions(), engine, "model.joblib"))

    def _rows_to_explain(self, X: Any, y: Any) -> ArrowSource:
        names = self._inputs.names
        table = self._inputs.checked(columns_of(X, names), type(self).__name__).table
        target = self._model().encoding.target
        if y is not None:
            numbers, rows = self._model().classes is None, table.num_rows
            table = table.append_column(target, pa.array(target_of(y, rows)) if numbers else label_column(y, rows))
        return ArrowSource("X", table)

    def contributions(self, X: Any) -> Any:
        """What each column adds to the predictions, as `enrelm predict --explain` writes it.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            With the columns of the fit.

        Returns
        -------
        parts : data frame of the kind that X is, or array
            The columns prediction, average, effect_<column>: a prediction is the average and its effects. Of classes:
            log_odds, average, effect_<column> of two, and score_<class>, average_<class>, effect_<class>_<column> of
            more.
        """
        model, source = self._model(), self._rows_to_explain(X, None)
        with as_python():
            names, values = table_contributions(model, source, LocalEngine(self.threads or 0))
        return frame_like(X, values, names)
