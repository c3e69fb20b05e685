"""The estimator of classes, over the same commands: labels and probabilities."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from enrelm._base import ClassifierMixin, of_updatable
from enrelm._errors import as_python
from enrelm._estimators import Estimator
from enrelm._inputs import inputs_of_fit
from enrelm._tables import columns_of, labels_of, level_roles, training_table
from enrelm_cli.commands.classes.predicting import table_probabilities
from enrelm_cli.commands.updating.update import Wanted
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.inputs.survey.cells import level_of
from enrelm_cli.model.classes import labels
from enrelm_cli.model.model import Model
from enrelm_cli.redaction import redacted
from enrelm_cli.table.memory import ArrowSource
from enrelm_cli.types import Array

if TYPE_CHECKING:
    from typing_extensions import Self


class EnrelmClassifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """Classification by the Effective Non-Random Extreme Learning Machine: calibrated probabilities of the classes.

    The same fit as `enrelm fit --task classification`. X is as for `EnrelmRegressor`, and so are the parameters.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to the rows of X and their classes y.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            Numbers, texts, dates, booleans; missing cells are allowed.
        y : array-like of shape (n_samples,)
            The classes: texts, integers or booleans.
        sample_weight : array-like of shape (n_samples,), default=None
            How much a row counts (`--weight`).
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are held out together (`--group`).

        Returns
        -------
        self : EnrelmClassifier
            The fitted estimator.
        """
        return self._first_fit(X, y, sample_weight, groups)

    def _first_fit(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> Self:
        name = type(self).__name__
        table = training_table(X, y, name, labels=True, weight=sample_weight, group=groups)
        classes = np.unique(labels_of(y, table.inputs.rows))
        if len(classes) < 2:
            raise ValueError(f"{name} needs at least two classes, and y has one class: {classes[0]!r}")
        given = {**self.get_params(deep=False), **table.roles, "task": "classification"}
        given["categorical"] = level_roles(table.inputs.table, given["categorical"])
        self._fit(given, table.source)
        self._know(inputs_of_fit(table.inputs, self.model_.encoding))
        self._name(classes)
        return self

    @of_updatable
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the model, without those of before, where `updatable=True`; without a fit the first call is one.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            With the columns of the first call.
        y : array-like of shape (n_samples,)
            Classes of the first call.
        classes : array-like of shape (n_classes,), default=None
            All classes, as scikit-learn has it: the rows of the first call must have every one of them.
        sample_weight : array-like of shape (n_samples,), default=None
            How much a row counts: in every call, or in none.

        Returns
        -------
        self : EnrelmClassifier
            The same estimator.
        """
        first = not hasattr(self, "model_")
        known = np.unique(y) if first else self.classes_
        missing = [] if classes is None else sorted({*np.unique(classes).tolist()} ^ {*known.tolist()}, key=str)
        if missing:
            raise ValueError(
                f"classes {missing!r} are not those of the first rows: the inputs and kernel are made from rows of "
                "every class, so the first call of partial_fit needs some of each"
            )
        if first:
            return self._first_fit(X, y, sample_weight)
        self._update(Wanted("model", (self._later(X, y, sample_weight, labels=True),)))
        return self

    def _name(self, classes: Any) -> None:
        """The classes as they were given, and where the model has them."""
        column = self._model().encoding.classes
        assert column is not None
        self.classes_ = classes
        # The table may have read the texts of numbers as numbers: 1.0 is the class 1.
        self._places = np.array([column.places[str(level_of(str(one), column.kind))] for one in classes])

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            With the columns of the fit.

        Returns
        -------
        p : array of shape (n_samples, n_classes)
            In the order of `classes_`; rows sum to 1.
        """
        p: Array = self._probabilities(self._model(), X)[:, self._places]
        return p

    def predict(self, X: Any) -> Any:
        """Predict the most probable class of the rows of X.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            With the columns of the fit.

        Returns
        -------
        y : array of shape (n_samples,)
            Of `classes_`.
        """
        p = self.predict_proba(X)
        return self.classes_[labels(p)]

    def _probabilities(self, model: Model, X: Any) -> Array:
        rows = self._inputs.plain_rows(X)
        if rows is not None:
            with as_python():
                return model.probabilities(rows)
        columns = self._inputs.checked(columns_of(X, self._inputs.names), type(self).__name__)
        with as_python():
            return table_probabilities(model, ArrowSource("X", columns.table), LocalEngine(self.threads or 0))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model's file, written here or by `enrelm fit -o`; its classes are texts."""
        estimator = super().load(path)
        if estimator._classes() is None:
            raise ValueError(f"{redacted(os.fspath(path))}: a model of numbers: load it with EnrelmRegressor")
        estimator._name(np.array(estimator._classes()))
        return estimator
