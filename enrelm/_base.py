"""What an estimator inherits: scikit-learn's classes where it is installed, else the part of them that is needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from inspect import signature
from types import MethodType
from typing import Any, TypeVar, cast

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import NotFittedError
except ImportError:

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters by name."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """The parameters and their values."""
            names = [name for name in signature(type(self).__init__).parameters if name != "self"]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **parameters: Any) -> Any:
            """The same estimator with other parameters."""
            known = self.get_params()
            for name, value in parameters.items():
                if name not in known:
                    raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}.")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            defaults = {name: one.default for name, one in signature(type(self).__init__).parameters.items()}
            changed = {name: value for name, value in self.get_params().items() if value != defaults[name]}
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    class RegressorMixin:  # type: ignore[no-redef]
        """R², the score of regressors."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """1 - (sum of squared errors) / (sum of squares about the mean)."""
            y = np.asarray(y, dtype=float)
            weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
            residual = y - self.predict(X)  # type: ignore[attr-defined]
            centred = y - np.average(y, weights=weight)
            return float(1.0 - (weight @ residual**2) / (weight @ centred**2))

    class ClassifierMixin:  # type: ignore[no-redef]
        """Accuracy, the score of classifiers."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """The share of rows that are right."""
            right = np.asarray(y) == self.predict(X)  # type: ignore[attr-defined]
            return float(np.average(right, weights=sample_weight))

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """predict before fit."""


__all__ = ["BaseEstimator", "ClassifierMixin", "NotFittedError", "RegressorMixin"]


Method = TypeVar("Method", bound=Callable[..., Any])


class _OfUpdatable:
    """A method that an estimator has only with `updatable=True`, as scikit-learn has it: where rows can be added."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self._method
        if not owner.updatable:
            name = f"{kind.__name__}(updatable=True)"
            raise AttributeError(f"{self._method.__name__} needs an estimator that keeps sums of its rows: {name}")
        return MethodType(self._method, owner)


def of_updatable(method: Method) -> Method:
    return cast(Method, _OfUpdatable(method))
