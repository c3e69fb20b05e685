"""One dataset, one draw of it: every method by the paper's protocol, and by an honest one.

Paper: of RandomState(1234)'s permutation the first quarter is held out; n is the minimum of the held-out curve, and
that minimum is the error. Honest: a quarter of the *training* rows chooses n, the method is fitted to all training rows
at that n, and the held-out rows only judge. The held-out curve at the n chosen inside is exactly that error.

Times are processor time of one core (workers have one thread each), so a busy machine does not stretch them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import erf, erfinv

from benchmarks.paper.datasets import BY_NAME
from enrelm_cli.commands import synthetic
from enrelm_cli.fold.folds import Chunk, LocalEngine, Sums
from enrelm_cli.inputs.dataset import open_dataset, split_of
from enrelm_cli.inputs.split import Side, paper_split
from enrelm_cli.inputs.training import Training, rows_of_arrays, training
from enrelm_cli.judge import baselines
from enrelm_cli.judge.baselines import RandomElm, Spread
from enrelm_cli.judge.curve import Choices, choices
from enrelm_cli.judge.errors import curve_of, relative_errors
from enrelm_cli.judge.fitting import FittedVariant, fit_variant
from enrelm_cli.phase_one.phase_one import Basis, Start, basis_of, tune
from enrelm_cli.settings import DataSettings, EngineSettings, KernelSettings, MethodSettings, SplitSettings
from enrelm_cli.table.table import ReadOptions, Roles
from enrelm_cli.types import Array
from enrelm_cli.variants import named
from enrelm_cli.variants._variant import paper_limit
from enrelm_cli.variants.incremental import stagewise

PAPER_SEED = 1234
HELD_OUT = 0.25

Json = dict[str, Any]
# The paper's split (0: held-out rows are validation rows), or the one inside its training rows (they are test rows).
Splits = Callable[[float], Training]


@dataclass(frozen=True)
class Plan:
    """How much is run."""

    seeds: int = 20  # draws of every synthetic dataset; splits of every small real one
    kernel_seeds: int = 5  # of which the kernel variant (whose tuning is slow) and v = 1/d see so many
    large_splits: int = 3  # splits of a real dataset with many rows
    realizations: int = 20  # of the random ELM
    text_realizations: int = 5  # of the one with the weights of the paper's text
    choosing_realizations: int = 5  # whose mean curve chooses the ELM's n on rows inside training


@dataclass(frozen=True)
class Job:
    """One line of the results."""

    kind: str  # synthetic, real, elm_timing, generator or inverse
    dataset: str
    seed: int
    plan: Plan
    folder: str = ""  # of the real data

    @property
    def name(self) -> str:
        return f"{self.kind} {self.dataset} {self.seed}"


def measure(job: Job) -> Json:
    """Run one job."""
    return {
        "synthetic": _methods,
        "real": _methods,
        "elm_timing": _elm_timing,
        "generator": _generator,
        "inverse": _inverse,
    }[job.kind](job)


# ----------------------------------------------------------------------------------------------------------- the rows


def splits_of(job: Job) -> Splits:
    """The dataset's rows, split as the paper does."""
    if job.dataset in BY_NAME:
        return _real(job)
    drawn = synthetic.generate(int(job.dataset), job.seed)
    rows = rows_of_arrays(drawn.X, drawn.y, LocalEngine(1))
    return lambda test: training(rows, paper_split(rows.total, PAPER_SEED, HELD_OUT, test))


def _real(job: Job) -> Splits:
    one = BY_NAME[job.dataset]
    roles = Roles(target=one.target, categorical=one.categorical)
    data = DataSettings((str(Path(job.folder) / f"{one.name}.csv"),), roles, ReadOptions())
    dataset = open_dataset(data, EngineSettings(threads=1), LocalEngine(1))

    def split(test: float) -> Training:
        # Seed 0 is the paper's own split; the others are further splits of the same rows.
        split = split_of(dataset.rows, SplitSettings("shuffle", HELD_OUT, seed=PAPER_SEED + job.seed), test)
        return training(dataset.rows, split)

    return split


# -------------------------------------------------------------------------------------------------------- the methods


def _methods(job: Job) -> Json:
    """Linear regression, A and I, the random ELM with both weights; on some draws the kernel variant and v = 1/d."""
    splits = splits_of(job)
    outer, inner = splits(0.0), splits(HELD_OUT)
    plan, d = job.plan, outer.d
    large = outer.T > 2000
    first = job.seed == 0
    answer: Json = {"T": outer.T, "d": d, "linear": {"error": baselines.linear_error(outer, Side.VALIDATION)}}
    answer.update(_paper_variants(outer, inner, None, with_curves=first))
    if first or not large:
        # What the authors' code draws (standard deviation 1/d), and what the paper's text says (variance 1/d).
        answer["elm"] = _elm(outer, inner, job.seed, plan, with_curves=first)
        answer["elm_text"] = _elm_of_the_text(outer, job.seed, plan)
    if job.seed < plan.kernel_seeds:
        answer["kernel"] = _kernel(outer)
        narrow = _paper_variants(outer, inner, 1.0 / d, with_curves=False)
        answer.update({f"{name}_narrow": one for name, one in narrow.items()})
    return answer


def _start(data: Training, method: MethodSettings, start: Start) -> Basis:
    return basis_of(tune(data, method, start), method)


def _paper_variants(outer: Training, inner: Training, v: float | None, with_curves: bool) -> Json:
    method = MethodSettings(kernel=KernelSettings(weight_variance=v))
    answer: Json = {}
    inside = _start(inner, method, Start.PAPER)
    start = time.process_time()
    outside = _start(outer, method, Start.PAPER)
    shared = time.process_time() - start
    for name in ("approximate", "incremental"):
        start = time.process_time()
        fitted = fit_variant(named(name), outside, method)
        seconds = shared + time.process_time() - start
        inner_fit = fit_variant(named(name), inside, method)
        chosen = inner_fit.curve.choices
        answer[name] = {**judged(fitted.curve.validation, fitted.curve.choices, chosen), "seconds": seconds}
        # The network that chose n itself, not fitted again to more rows: is n of one fit any good for another?
        kept = curve_of(inside, inner_fit.network, Side.TEST)
        answer[name]["kept_error"] = float(kept[chosen.best.neurons - 1])
        if with_curves:
            answer[name]["curves"] = _curves_of(fitted)
    return answer


def judged(curve: Array, own: Choices, inside: Choices) -> Json:
    """Four errors of the held-out rows: n by their own minimum and knee, and by those of rows inside training."""

    def at(n: int) -> float:
        return float(curve[min(n, len(curve)) - 1])

    # A curve without a clear knee has none to choose: the few neurons within 1 % of the best stand in for it.
    knee, inner_knee = own.knee or own.smallest, inside.knee or inside.smallest
    return {
        "neurons": own.best.neurons,
        "error": own.best.error,
        "knee_neurons": knee.neurons,
        "knee_error": knee.error,
        "honest_neurons": inside.best.neurons,
        "honest_error": at(inside.best.neurons),
        "honest_knee_neurons": inner_knee.neurons,
        "honest_knee_error": at(inner_knee.neurons),
        "last_error": float(curve[-1]),
    }


def _curves_of(fitted: FittedVariant) -> Json:
    curve = fitted.curve
    return {
        "train": short(curve.train),
        "test": short(curve.validation),
        "converged": curve.converged,
        "limit": curve.limit,
    }


def short(curve: Array) -> list[float]:
    """Enough digits for a figure."""
    return [float(f"{value:.5g}") for value in curve]


def _elm_curves(data: Training, realizations: int, seed: int, std: float | None) -> baselines.ElmCurves:
    # Told that the rows are not in memory it uses this thread alone.
    alone = replace(data, rows=replace(data.rows, in_memory=False))
    return baselines.elm_curves(alone, RandomElm(paper_limit(data.d, data.T), realizations, seed, std))


def _elm(outer: Training, inner: Training, seed: int, plan: Plan, with_curves: bool) -> Json:
    std = 1.0 / outer.d
    start = time.process_time()
    outside = _elm_curves(outer, plan.realizations, seed, std)
    seconds = time.process_time() - start
    test = outside.validation
    inside = choices(_elm_curves(inner, plan.choosing_realizations, seed, std).validation.mean)
    answer = {**judged(test.mean, choices(test.mean), inside), "seconds": seconds}
    answer["std"] = float(test.std[answer["neurons"] - 1])
    if with_curves:
        answer["curves"] = {"train": _band(outside.train), "test": _band(test)}
    return answer


def _elm_of_the_text(data: Training, seed: int, plan: Plan) -> Json:
    """Standard deviation 1/sqrt(d), the paper's protocol only."""
    test = _elm_curves(data, plan.text_realizations, seed, None).validation
    n = int(np.argmin(test.mean))
    return {"neurons": n + 1, "error": float(test.mean[n]), "std": float(test.std[n])}


def _band(spread: Spread) -> Json:
    return {"mean": short(spread.mean), "low": short(spread.min), "high": short(spread.max)}


def _kernel(data: Training) -> Json:
    """Tuned and filtered on training rows only, all its features kept: nothing is chosen on held-out rows."""
    method = MethodSettings()
    start = time.process_time()
    fitted = fit_variant(named("kernel"), _start(data, method, Start.TUNED), method)
    best = fitted.curve.choices.best
    return {
        "neurons": best.neurons,
        "error": best.error,
        "honest_error": float(fitted.curve.validation[-1]),
        "seconds": time.process_time() - start,
    }


# --------------------------------------------------------------------------------------- the paper's ELM, size by size


@dataclass(frozen=True)
class _Rows:
    X: Array  # (T, d) standardised
    y: Array  # (T,)


def _side(data: Training, side: Side) -> _Rows:
    chunks: list[Chunk] = [data.view(chunk, side) for piece in data.rows.pieces for chunk in piece]
    return _Rows(np.concatenate([one.X for one in chunks]), np.concatenate([one.y for one in chunks]))


def inversion_per_size(X: Array, y: Array, X_test: Array, y_test: Array, W: Array) -> tuple[Array, Array]:
    """The paper's way: for every n its own hidden outputs and its own inverse, beta = (S'S)^-1 S'y."""
    train, test = [], []
    for n in range(1, len(W) + 1):
        S, S_test = erf(X @ W[:n].T), erf(X_test @ W[:n].T)
        beta = np.linalg.inv(S.T @ S) @ S.T @ y
        train.append(np.linalg.norm(y - S @ beta) / np.linalg.norm(y))
        test.append(np.linalg.norm(y_test - S_test @ beta) / np.linalg.norm(y_test))
    return np.array(train), np.array(test)


def _elm_timing(job: Job) -> Json:
    """One realisation's whole curve both ways."""
    data = splits_of(job)(0.0)
    rows, held_out = _side(data, Side.TRAIN), _side(data, Side.VALIDATION)
    W = RandomElm(paper_limit(data.d, data.T), 1, job.seed).weights(data.d)[0]
    start = time.process_time()
    slow = inversion_per_size(rows.X, rows.y, held_out.X, held_out.y, W)
    middle = time.process_time()
    fast = baselines.elm_curve(erf(rows.X @ W.T), rows.y, erf(held_out.X @ W.T), held_out.y)
    end = time.process_time()
    gap = max(float(np.abs(a / b - 1.0).max()) for a, b in zip(slow, fast, strict=True))
    return {"inversions": middle - start, "qr": end - middle, "gap": gap, "neurons": len(W), "T": data.T, "d": data.d}


# ------------------------------------------------------------------------------------------- what the text leaves open

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "logistic": lambda z: 1.0 / (1.0 + np.exp(-z)),
    "tanh": np.tanh,
    "erf": erf,
    "relu": lambda z: np.maximum(z, 0.0),
}


def _generator(job: Job) -> Json:
    """Linear regression's error on networks of other activations, and with the SNR a ratio of standard deviations.

    The paper does not name the activation. A's error is nearly linear regression's, so that is enough to tell them
    apart. The inputs are those of our own dataset of that number.
    """
    recipe = synthetic.recipe(int(job.dataset))
    drawn = synthetic.generate(recipe.number, job.seed)
    rng = np.random.default_rng([job.seed, recipe.number])
    W = rng.standard_normal((synthetic.HIDDEN_NEURONS, recipe.inputs)) * recipe.inputs**-0.5
    b = rng.standard_normal(synthetic.HIDDEN_NEURONS) * synthetic.HIDDEN_NEURONS**-0.5
    e = rng.standard_normal(recipe.rows)
    errors = {}
    if recipe.function is synthetic.Function.NETWORK:
        for name, sigma in ACTIVATIONS.items():
            signal = sigma(drawn.X @ W.T) @ b
            errors[name] = _linear(drawn.X, signal + e * np.sqrt(np.var(signal) / recipe.snr))
    else:
        signal = drawn.signal
        errors["variances"] = _linear(drawn.X, signal + e * np.sqrt(np.var(signal) / recipe.snr))
        errors["deviations"] = _linear(drawn.X, signal + e * np.sqrt(np.var(signal)) / recipe.snr)
    return errors


def _linear(X: Array, y: Array) -> float:
    rows = rows_of_arrays(X, y, LocalEngine(1))
    return baselines.linear_error(training(rows, paper_split(len(y), PAPER_SEED, HELD_OUT)), Side.VALIDATION)


# -------------------------------------------------------------------------------- inverting a matrix that is singular


def _inverse(job: Job) -> Json:
    """A and I with inv(X'X) in place of the pseudo-inverse, for several orders of the same columns.

    Where X'X is regular the order changes nothing. Where one-hot columns make it singular, its inverse is rounding
    noise, and so are the weights, the errors and the chosen n.
    """
    data = splits_of(job)(0.0)
    method = MethodSettings()
    basis = _start(data, method, Start.PAPER).eigen
    chunks = [data.view(chunk, Side.TRAIN) for piece in data.rows.pieces for chunk in piece]
    X = np.concatenate([one.X for one in chunks])
    y = np.concatenate([one.y for one in chunks])
    U = np.concatenate([basis.of_training(one) for one in chunks])
    held_out = _side(data, Side.VALIDATION)
    n = paper_limit(data.d, data.T)
    rng = np.random.default_rng(job.seed)
    inside = np.nextafter(1.0, 0.0)
    target = erfinv(np.clip(U, -inside, inside))
    rank = int(np.linalg.matrix_rank(X))
    answer: Json = {"approximate": [], "incremental": [], "refused": 0, "rank": rank, "d": data.d}
    for _ in range(job.plan.seeds):
        order = rng.permutation(data.d)
        A = X[:, order]
        try:
            W = (np.linalg.inv(A.T @ A) @ A.T @ target).T  # (k, d)
        except np.linalg.LinAlgError:
            answer["refused"] += 1
            continue
        S, S_test = erf(A @ W.T), erf(held_out.X[:, order] @ W.T)
        first = np.argsort(-np.abs(basis.c), kind="stable")[:n]
        answer["approximate"].append(_least(S_test[:, first] * basis.c[first], held_out.y))
        gram = Sums({"n": len(y), "s": S.sum(axis=0), "SS": S.T @ S, "Sy": S.T @ y, "yy": y @ y})
        path = stagewise(gram, n, len(y) ** -0.5, method.tolerance)
        answer["incremental"].append(_least((S_test[:, path.order] - path.means) * path.beta, held_out.y))
    return answer


def _least(terms: Array, y: Array) -> float:
    """The minimum of the curve of running sums of these terms, (t, n)."""
    squares = np.sum((y[:, None] - np.cumsum(terms, axis=1)) ** 2, axis=0)
    return float(relative_errors(squares, float(y @ y)).min())
