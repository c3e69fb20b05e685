"""What a user would pick instead, with its defaults: `python -m benchmarks.contenders METHOD TRAIN TEST THREADS`.

Both files are CSV with the target last; an empty cell is missing, other texts are categories. Prints JSON: predictions
for the rows of TEST, and the seconds of fitting and of predicting, reading and imports not counted.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

PACKAGES = {
    "catboost": "catboost",
    "lightgbm": "lightgbm",
    "hist-gradient-boosting": "scikit-learn",
    "ridge": "scikit-learn",
    "linear": "scikit-learn",
}


def read(train: str, test: str, label: bool = False) -> tuple[Any, Any, Any, list[str]]:
    """Inputs to train on and to predict, the target of the first (or its labels), and which columns are text."""
    import pandas as pd

    first = pd.read_csv(train, keep_default_na=False, na_values=[""])
    second = pd.read_csv(test, keep_default_na=False, na_values=[""])
    inputs, target = list(first.columns[:-1]), first.columns[-1]
    numbers = [name for name in inputs if all(pd.api.types.is_numeric_dtype(table[name]) for table in (first, second))]
    texts = [name for name in inputs if name not in numbers]
    X, X_new = (table[inputs].copy() for table in (first, second))
    for table in (X, X_new):
        table[texts] = table[texts].fillna("").astype(str)
        table[numbers] = table[numbers].astype(float)
    return X, first[target].astype(str if label else float).to_numpy(), X_new, texts


def catboost(X: Any, X_new: Any, texts: list[str], threads: int) -> tuple[Any, Any, Any]:
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(
        cat_features=texts, verbose=0, random_seed=0, thread_count=threads, allow_writing_files=False
    )
    return model, X, X_new


def lightgbm(X: Any, X_new: Any, texts: list[str], threads: int) -> tuple[Any, Any, Any]:
    from lightgbm import LGBMRegressor

    X, X_new = as_categories(X, X_new, texts)
    plain = [f"c{k}" for k in range(X.shape[1])]  # LightGBM refuses some characters in names
    return LGBMRegressor(n_jobs=threads, verbose=-1), X.set_axis(plain, axis=1), X_new.set_axis(plain, axis=1)


def hist_gradient_boosting(X: Any, X_new: Any, texts: list[str], _threads: int) -> tuple[Any, Any, Any]:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encoder = make_column_transformer((codes, texts), remainder="passthrough")
    return make_pipeline(encoder, HistGradientBoostingRegressor(random_state=0)), X, X_new


def ridge(X: Any, X_new: Any, texts: list[str], _threads: int) -> tuple[Any, Any, Any]:
    import numpy as np
    from sklearn.linear_model import RidgeCV

    return linear_model(RidgeCV(alphas=np.logspace(-3, 4, 15)), X, texts), X, X_new


def linear(X: Any, X_new: Any, texts: list[str], _threads: int) -> tuple[Any, Any, Any]:
    from sklearn.linear_model import LinearRegression

    return linear_model(LinearRegression(), X, texts), X, X_new


def linear_model(model: Any, X: Any, texts: list[str]) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [name for name in X.columns if name not in texts]
    scaled = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    indicators = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(make_column_transformer((scaled, numbers), (indicators, texts)), model)


def as_categories(X: Any, X_new: Any, texts: list[str]) -> tuple[Any, Any]:
    import pandas as pd

    for name in texts:
        levels = pd.CategoricalDtype(sorted(set(X[name])))
        X[name], X_new[name] = X[name].astype(levels), X_new[name].astype(levels)
    return X, X_new


METHODS = {
    "catboost": catboost,
    "lightgbm": lightgbm,
    "hist-gradient-boosting": hist_gradient_boosting,
    "ridge": ridge,
    "linear": linear,
}


def main(method: str, train: str, test: str, threads: str) -> None:
    X, y, X_new, texts = read(train, test)
    model, X, X_new = METHODS[method](X, X_new, texts, int(threads))
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    y_new = model.predict(X_new)
    seconds = {"fit": fitted - start, "predict": time.perf_counter() - fitted}
    print(json.dumps({"predictions": [float(value) for value in y_new], "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
