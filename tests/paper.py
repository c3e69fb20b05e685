"""The paper's algorithms 1 to 4 and the random ELM, written out literally: the slow oracle of the fast code.

As in the paper, samples are columns here: X is (n0, T), y is (T,), S = sigma(W X)^T is (T, n), sigma = erf.
Inputs arrive standardised and y centred, both by the training rows (`standardised` and `centred` below do that).
Nothing in this file is meant to be fast, and nothing in it imports the package that it checks.

Where it departs from the paper's text:
- (X X^T)^+ instead of (X X^T)^-1: one-hot columns add up to a constant, so after centring X X^T is singular, and the
  inverse of a singular matrix is rounding noise. Where X X^T is regular the two are the same matrix.
- Eigenvectors with lambda <= 1e-12 lambda_max are dropped: repeated rows make a null space whose basis is arbitrary.
- Centred hidden columns (algorithm 3) are centred by their means over the *training* rows, also when they predict.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, erfinv

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

EIGENVALUE_CUT = 1e-12
PINV_CUT = 1e-10


def kernel_matrix(
    X: Array, weight_variance: float | Array = 1.0, bias_variance: float = 0.0, depth: int = 1
) -> Array:  # (n0, T) -> (T, T)
    """Algorithm 1, step 1: the NNGP kernel by its recursion, one pair of samples at a time.

    q_1(a, c) = sum_k v_k a_k c_k + b, then q_l = K_(l-1) + b, and for every layer
    K_l(a, c) = E[erf(s) erf(t)] with (s, t) ~ N(0, [[q(a,a), q(a,c)], [q(a,c), q(c,c)]])
              = 2/pi arcsin( 2 q(a,c) / sqrt((1 + 2 q(a,a)) (1 + 2 q(c,c))) ).
    """
    n0, T = X.shape
    v = [float(x) for x in np.broadcast_to(weight_variance, (n0,))]
    b = float(bias_variance)
    samples = [[float(x) for x in X[:, i]] for i in range(T)]
    K = np.empty((T, T))
    for i in range(T):
        for j in range(i, T):
            aa, ac, cc = 0.0, 0.0, 0.0
            for v_k, a_k, c_k in zip(v, samples[i], samples[j], strict=True):
                aa += v_k * a_k * a_k
                ac += v_k * a_k * c_k
                cc += v_k * c_k * c_k
            for _ in range(depth):
                aa, ac, cc = aa + b, ac + b, cc + b
                aa, ac, cc = _dual(aa, aa, aa), _dual(aa, ac, cc), _dual(cc, cc, cc)
            K[i, j] = K[j, i] = ac
    return K


def _dual(aa: float, ac: float, cc: float) -> float:
    r = 2.0 * ac / math.sqrt((1.0 + 2.0 * aa) * (1.0 + 2.0 * cc))
    return 2.0 / math.pi * math.asin(max(-1.0, min(1.0, r)))


def phase1(
    X: Array, weight_variance: float | Array = 1.0, bias_variance: float = 0.0, depth: int = 1
) -> tuple[Array, Array, Array]:
    """Algorithm 1: (n0, T) -> U (T, k), eigenvalues (k,) largest first, W_hat = erfinv(U^T) X^T (X X^T)^+ (k, n0)."""
    K = kernel_matrix(X, weight_variance, bias_variance, depth)
    eigenvalues, U = np.linalg.eigh(K)
    eigenvalues, U = eigenvalues[::-1], U[:, ::-1]
    kept = eigenvalues > EIGENVALUE_CUT * eigenvalues[0]
    eigenvalues, U = eigenvalues[kept], U[:, kept]
    # A sample alone in its eigenspace has U_ij = 1 up to rounding: erfinv(1) is infinite, its neighbour is not.
    inside = np.nextafter(1.0, 0.0)
    W = erfinv(np.clip(U.T, -inside, inside)) @ X.T @ np.linalg.pinv(X @ X.T, rcond=PINV_CUT, hermitian=True)
    return U, eigenvalues, W


def approximate(y: Array, U: Array, W: Array, n: int) -> tuple[Array, Array, Indices]:
    """Algorithm 2 (A-ENR-ELM): W_J (n, n0), beta (n,) = U_J^T y, and the order J, largest |<y, U_j>| first."""
    J: list[int] = []
    for _ in range(min(n, U.shape[1])):
        chosen, largest = -1, -1.0
        for j in range(U.shape[1]):
            if j not in J and abs(float(y @ U[:, j])) > largest:
                chosen, largest = j, abs(float(y @ U[:, j]))
        J.append(chosen)
    order = np.array(J, dtype=np.int64)
    return W[order], U[:, order].T @ y, order


def incremental(
    y: Array, S: Array, W: Array, n: int, tol: float = 1e-5, eps: float | None = None
) -> tuple[Array, Array, Indices, int]:
    """Algorithm 3 (I-ENR-ELM): forward stagewise regression of the centred y on S, whose columns it centres.

    Returns W_J, beta_J, J (columns in the order they first came in) and how many steps; eps is 1/sqrt(T) unless given.
    The paper's loop runs while #J <= n, so it may end with n + 1 columns.
    """
    T = len(y)
    eps = 1.0 / math.sqrt(T) if eps is None else eps
    S = S - S.mean(axis=0)
    # A column that does not vary (a neuron with weights 0) cannot be correlated with anything: 0/0 is no step.
    squares = [float(S[:, j] @ S[:, j]) for j in range(S.shape[1])]
    beta = np.zeros(S.shape[1])
    r = y - y.mean()
    r_old = 1e10 * np.ones(T)
    J: list[int] = []
    steps = 0
    while len(J) <= n:
        j = int(np.argmax(np.abs(r @ S)))
        if squares[j] == 0.0:
            break
        step = eps * float(r @ S[:, j]) / squares[j]
        beta[j] += step
        r = r - step * S[:, j]
        steps += 1
        if j not in J:
            J.append(j)
        if (np.linalg.norm(r_old) - np.linalg.norm(r)) / np.linalg.norm(y) < tol:
            break
        r_old = r
    order = np.array(J, dtype=np.int64)
    return W[order], beta[order], order, steps


def approximate_several(Y: Array, U: Array, W: Array, n: int) -> tuple[Array, Array, Indices]:
    """Algorithm 2 with a row of targets for each sample, Y (T, q): beta = U_J^T Y (n, q), the longest row first."""
    lengths = [math.sqrt(sum(float(Y[:, c] @ U[:, j]) ** 2 for c in range(Y.shape[1]))) for j in range(U.shape[1])]
    order = np.array(sorted(range(U.shape[1]), key=lambda j: -lengths[j])[:n], dtype=np.int64)
    return W[order], U[:, order].T @ Y, order


def incremental_several(
    Y: Array, S: Array, W: Array, n: int, tol: float = 1e-5, eps: float | None = None
) -> tuple[Array, Array, Indices, int]:
    """Algorithm 3 with targets Y (T, q): the column with the largest norm of its correlations moves all its weights."""
    T, q = Y.shape
    eps = 1.0 / math.sqrt(T) if eps is None else eps
    S = S - S.mean(axis=0)
    squares = [float(S[:, j] @ S[:, j]) for j in range(S.shape[1])]
    beta = np.zeros((S.shape[1], q))
    R = Y - Y.mean(axis=0)
    before = np.inf
    J: list[int] = []
    steps = 0
    while len(J) <= n:
        j = int(np.argmax([np.linalg.norm(S[:, k] @ R) for k in range(S.shape[1])]))
        if squares[j] == 0.0:
            break
        for c in range(q):
            step = eps * float(R[:, c] @ S[:, j]) / squares[j]
            beta[j, c] += step
            R[:, c] = R[:, c] - step * S[:, j]
        steps += 1
        if j not in J:
            J.append(j)
        after = float(np.linalg.norm(R))
        if (before - after) / np.linalg.norm(Y) < tol:
            break
        before = after
    order = np.array(J, dtype=np.int64)
    return W[order], beta[order], order, steps


def error_curve_several(Y: Array, X: Array, W: Array, beta: Array, means: Array | None = None) -> Array:
    """Algorithm 4 with targets Y (T, q): the norms are those of matrices."""
    S = hidden(W, X) if means is None else hidden(W, X) - means
    Y_hat = np.zeros(Y.shape)
    errors = []
    for j in range(S.shape[1]):
        Y_hat = Y_hat + np.outer(S[:, j], beta[j])
        errors.append(float(np.linalg.norm(Y - Y_hat) / np.linalg.norm(Y)))
    return np.array(errors)


def hidden(W: Array, X: Array) -> Array:
    """S = sigma(W X)^T: (n, n0), (n0, T) -> (T, n)."""
    S: Array = erf(W @ X).T
    return S


def error_curve(y: Array, X: Array, W: Array, beta: Array, means: Array | None = None) -> Array:
    """Algorithm 4: Err(l) = ||y - yhat_l|| / ||y|| for l = 1..n, y centred by the training mean.

    `means` (n,) are the training means of S's columns where these were centred (algorithm 3).
    """
    S = hidden(W, X)
    if means is not None:
        S = S - means
    y_hat = np.zeros(len(y))
    errors = []
    for j in range(S.shape[1]):
        y_hat = y_hat + beta[j] * S[:, j]
        errors.append(float(np.linalg.norm(y - y_hat) / np.linalg.norm(y)))
    return np.array(errors)


def elm_curve(
    X: Array, y: Array, X_test: Array, y_test: Array, n_max: int, weights: Array
) -> tuple[Array, Array]:  # training and test errors of sizes 1..n_max
    """The random ELM, eq. (betahat): for every size n its own least-squares problem on the first n rows of `weights`.

    beta_n = argmin ||y - S_n beta||, S_n = erf(W_n X)^T; y centred by the training mean, no bias, S not centred.
    `weights` (n_max, n0) are one realisation's, N(0, 1/n0) in the paper.
    """
    train, test = [], []
    for n in range(1, n_max + 1):
        S = hidden(weights[:n], X)
        S_test = hidden(weights[:n], X_test)
        beta, *_ = np.linalg.lstsq(S, y, rcond=None)
        train.append(float(np.linalg.norm(y - S @ beta) / np.linalg.norm(y)))
        test.append(float(np.linalg.norm(y_test - S_test @ beta) / np.linalg.norm(y_test)))
    return np.array(train), np.array(test)


def paper_split(T: int) -> tuple[Indices, Indices]:
    """The paper's split: of RandomState(1234)'s permutation the first ceil(T/4) rows are held out, the rest train."""
    permutation = np.random.RandomState(1234).permutation(T)
    held_out = math.ceil(T / 4)
    return permutation[held_out:], permutation[:held_out]


def standardised(X: Array, X_test: Array) -> tuple[Array, Array]:
    """Both parts by the training mean and standard deviation (divisor T); inputs constant in training become 0."""
    mean = X.mean(axis=1, keepdims=True)
    std = X.std(axis=1, keepdims=True)
    std[std == 0.0] = 1.0
    return (X - mean) / std, (X_test - mean) / std


def centred(y: Array, y_test: Array) -> tuple[Array, Array]:
    """Both parts by the training mean."""
    return y - y.mean(), y_test - y.mean()


def most_neurons(n0: int, T: int) -> int:
    """min(50 n0, T / 2) for T training samples."""
    return max(1, min(50 * n0, T // 2))
