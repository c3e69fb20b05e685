"""BLAS and LAPACK without the interpreter's lock: scipy's own wrappers hold it, so that threads would take turns.

The routines are those behind scipy.linalg.cython_blas and cython_lapack, whose addresses scipy publishes for compiled
callers; ctypes lets go of the lock while they run. numpy's own loops (matmul, arcsin, eigh) let go of it by themselves.
Where scipy's signatures differ from what is known here, its wrappers do the work, under the lock.

Matrices lie row by row here and column by column there: LAPACK's upper triangle is our lower one, and its
B op(U) is our op(U)' B'.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import blas, cython_blas, cython_lapack, lapack

from enrelm_cli.types import Array

_PRODUCT = ("char",) * 4 + ("int",) * 2 + ("double",) * 2 + ("int", "double", "int")  # dtrmm, dtrsm
_FACTOR = ("char", "int", "double", "int", "int")  # dpotrf, dpotri
_GENERAL = ("char",) * 2 + ("int",) * 3 + ("double",) * 2 + ("int", "double", "int", "double", "double", "int")  # dgemm
_INVERSE = ("char", "char", "int", "double", "int", "int")  # dtrtri
_SYMMETRIC = ("char",) * 2 + ("int",) * 2 + ("double",) * 2 + ("int", "double", "int", "double", "double", "int")


def triangular_product(C: Array, R: Array) -> Array:
    """C R for an upper triangular R (m, m) in Fortran order: half the work of a general product.

    C (t, m) is overwritten where it is contiguous; use what is returned.
    """
    routine = _routine(cython_blas, "dtrmm", _PRODUCT)
    if routine is None or not (_plain(C) and R.flags.f_contiguous and R.dtype == np.float64):
        product: Array = blas.dtrmm(1.0, R, C.T, trans_a=1, overwrite_b=1).T
        return product
    t, m = C.shape
    _call(routine, b"L", b"U", b"T", b"N", m, t, 1.0, R, m, C, m)
    return C


def cholesky(A: Array) -> bool:
    """The lower triangle of A (n, n) <- L with A = L L'; the upper one stays. False where A is not positive."""
    n = len(A)
    routine = _routine(cython_lapack, "dpotrf", _FACTOR)
    _require_plain(A)
    if routine is None:
        return not lapack.dpotrf(A.T, lower=0, clean=0, overwrite_a=1)[1]
    return _call(routine, b"U", n, A, max(n, 1), ctypes.c_int()) == 0


def cholesky_inverse(L: Array) -> bool:
    """The lower triangle L (n, n) of A = L L' <- the lower triangle of A^-1. False where that failed."""
    n = len(L)
    routine = _routine(cython_lapack, "dpotri", _FACTOR)
    _require_plain(L)
    if routine is None:
        return not lapack.dpotri(L.T, lower=0, overwrite_c=1)[1]
    return _call(routine, b"U", n, L, max(n, 1), ctypes.c_int()) == 0


def lower_inverse(L: Array) -> None:
    """The lower triangle L (n, n) <- L^-1, its upper one left as it is."""
    n = len(L)
    routine = _routine(cython_lapack, "dtrtri", _INVERSE)
    _require_plain(L)
    if routine is None:
        lapack.dtrtri(L.T, lower=0, overwrite_c=1)
    else:
        _call(routine, b"U", b"N", n, L, max(n, 1), ctypes.c_int())


def lower_solve(L: Array, B: Array, transposed: bool = False) -> None:
    """B (n, m) <- L^-1 B, or L'^-1 B."""
    n, m = B.shape
    routine = _routine(cython_blas, "dtrsm", _PRODUCT)
    _require_plain(L, B)
    if routine is None:
        blas.dtrsm(1.0, L.T, B.T, side=1, lower=0, trans_a=int(transposed), overwrite_b=1)
    else:
        _call(routine, b"R", b"U", b"T" if transposed else b"N", b"N", m, n, 1.0, L, max(n, 1), B, max(m, 1))


def symmetric_product(S: Array, B: Array) -> Array:
    """S B for a symmetric S (n, n) of which only the lower triangle is read: (n, m) -> (n, m)."""
    n, m = B.shape
    routine = _routine(cython_blas, "dsymm", _SYMMETRIC)
    _require_plain(S, B)
    if routine is None or not m:
        product: Array = blas.dsymm(1.0, S.T, B, lower=0)
        return product
    C = np.zeros((n, m))
    _call(routine, b"R", b"U", m, n, 1.0, S, max(n, 1), B, m, 0.0, C, m)
    return C


def subtract_product(C: Array, A: Array, B: Array) -> None:
    """C (a, b) <- C - A B'. C may be a part of longer rows."""
    a, b = C.shape
    routine = _routine(cython_blas, "dgemm", _GENERAL)
    _require_plain(A, B)
    if routine is None or C.strides[1] != C.itemsize or C.dtype != np.float64:
        C -= A @ B.T
    else:
        k, row = A.shape[1], C.strides[0] // C.itemsize
        _call(routine, b"T", b"N", b, a, k, -1.0, B, max(k, 1), A, max(k, 1), 1.0, C, row)


def _plain(A: Array) -> bool:
    return A.flags.c_contiguous and A.dtype == np.float64


def _require_plain(*matrices: Array) -> None:
    """Another layout would be read past its end."""
    if not all(_plain(A) for A in matrices):
        raise ValueError("matrices must be contiguous, row by row, in double precision")


def _call(routine: Any, *values: Any) -> int:
    """Fortran wants an address of everything. The last argument's value, where LAPACK leaves its verdict there."""
    kinds: dict[type, Any] = {bytes: ctypes.c_char, int: ctypes.c_int, float: ctypes.c_double}
    boxed: list[Any] = [kinds[type(value)](value) if type(value) in kinds else value for value in values]
    routine(*[box.ctypes.data if isinstance(box, np.ndarray) else ctypes.byref(box) for box in boxed])
    return int(boxed[-1].value)


@cache
def _routine(module: Any, name: str, arguments: tuple[str, ...]) -> Any:
    """The routine; None where scipy's differs from what is known here."""
    capsule = getattr(module, "__pyx_capi__", {}).get(name)
    if capsule is None:
        return None
    name_of, pointer_to = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_to.restype, pointer_to.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature = name_of(capsule)
    if _takes(signature.decode()) != arguments:
        return None
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))(pointer_to(capsule, signature))


def _takes(signature: str) -> tuple[str, ...]:
    """('char', ..., 'double', ...) of 'void (char *, ..., __pyx_t_5scipy_6linalg_11cython_blas_d *, ...)'."""
    pointed = [argument.strip().removesuffix("*").strip() for argument in signature.partition("(")[2][:-1].split(",")]
    return tuple("double" if kind.endswith(("cython_blas_d", "cython_lapack_d")) else kind for kind in pointed)
