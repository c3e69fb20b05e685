"""enrelm: the models of the command line from Python, fitted by the same commands and saved to the same files.

    import enrelm

    model = enrelm.EnrelmRegressor().fit(X, y)      # data frames with text, dates and missing cells, or arrays
    model.predict(X_new, return_interval=0.9)
    model.save("model.joblib")                      # enrelm predict model.joblib new.csv

Attributes are loaded when they are first used: `import enrelm` alone imports neither numpy nor scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from enrelm_cli import __version__

if TYPE_CHECKING:
    from enrelm._classifier import EnrelmClassifier
    from enrelm._errors import EnrelmError
    from enrelm._estimators import EnrelmRegressor
    from enrelm._functions import compare, curve, fit, load, update

__all__ = [
    "EnrelmClassifier",
    "EnrelmError",
    "EnrelmRegressor",
    "__version__",
    "compare",
    "curve",
    "fit",
    "load",
    "update",
]

_HOMES = {
    "EnrelmError": "enrelm._errors",
    "EnrelmClassifier": "enrelm._classifier",
    "EnrelmRegressor": "enrelm._estimators",
    "compare": "enrelm._functions",
    "curve": "enrelm._functions",
    "fit": "enrelm._functions",
    "load": "enrelm._functions",
    "update": "enrelm._functions",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'enrelm' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
