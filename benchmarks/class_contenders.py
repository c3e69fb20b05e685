"""Classifiers that a user would pick instead: `python -m benchmarks.class_contenders METHOD TRAIN TEST THREADS`.

Files as in contenders.py, the last column read as labels. Prints JSON: the labels that were trained, in the order of
the probabilities; the probabilities of the rows of TEST; and the seconds of fitting and of predicting.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from benchmarks.contenders import as_categories, linear_model, read

PACKAGES = {
    "catboost": "catboost",
    "lightgbm": "lightgbm",
    "logistic regression": "scikit-learn",
    "RBF SVM": "scikit-learn",
}


def catboost(X: Any, X_new: Any, texts: list[str], threads: int) -> tuple[Any, Any, Any]:
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        cat_features=texts, verbose=0, random_seed=0, thread_count=threads, allow_writing_files=False
    )
    return model, X, X_new


def lightgbm(X: Any, X_new: Any, texts: list[str], threads: int) -> tuple[Any, Any, Any]:
    from lightgbm import LGBMClassifier

    X, X_new = as_categories(X, X_new, texts)
    plain = [f"c{k}" for k in range(X.shape[1])]  # LightGBM refuses some characters in names
    return LGBMClassifier(n_jobs=threads, verbose=-1), X.set_axis(plain, axis=1), X_new.set_axis(plain, axis=1)


def logistic_regression(X: Any, X_new: Any, texts: list[str], _threads: int) -> tuple[Any, Any, Any]:
    from sklearn.linear_model import LogisticRegression

    return linear_model(LogisticRegression(max_iter=5000), X, texts), X, X_new


def rbf_svm(X: Any, X_new: Any, texts: list[str], _threads: int) -> tuple[Any, Any, Any]:
    """Its scores become probabilities by Platt's method, on five folds."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    return linear_model(CalibratedClassifierCV(SVC(), ensemble=False, cv=5), X, texts), X, X_new


METHODS = {
    "catboost": catboost,
    "lightgbm": lightgbm,
    "logistic regression": logistic_regression,
    "RBF SVM": rbf_svm,
}


def main(method: str, train: str, test: str, threads: str) -> None:
    X, y, X_new, texts = read(train, test, label=True)
    model, X, X_new = METHODS[method](X, X_new, texts, int(threads))
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    p = model.predict_proba(X_new)
    seconds = {"fit": fitted - start, "predict": time.perf_counter() - fitted}
    labels = [str(label) for label in model.classes_]
    print(json.dumps({"labels": labels, "probabilities": p.tolist(), "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
