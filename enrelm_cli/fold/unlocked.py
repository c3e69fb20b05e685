"""BLAS without the interpreter's lock: scipy's own wrappers hold it, so that threads would take turns.

The routine is the one behind scipy.linalg.cython_blas, whose address scipy publishes for compiled callers; ctypes lets
go of the lock while it runs.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import blas, cython_blas

from enrelm_cli.types import Array

# What dtrmm takes: four letters, two sizes, a factor, and two matrices with their leading dimensions.
_DTRMM = ("char",) * 4 + ("int",) * 2 + ("double",) * 2 + ("int", "double", "int")


def triangular_product(C: Array, R: Array) -> Array:
    """C R for an upper triangular R (m, m) in Fortran order: half the work of a general product.

    C (t, m) is overwritten where it is contiguous; use what is returned.
    """
    routine = _dtrmm()
    fit = C.flags.c_contiguous and R.flags.f_contiguous and C.dtype == R.dtype == np.float64
    if routine is None or not fit:
        product: Array = blas.dtrmm(1.0, R, C.T, trans_a=1, overwrite_b=1).T
        return product
    t, m = C.shape
    # To BLAS, whose matrices lie column by column, C is C': C' <- R' C'.
    letters = [ctypes.byref(ctypes.c_char(letter)) for letter in (b"L", b"U", b"T", b"N")]
    rows, columns, one = ctypes.byref(ctypes.c_int(m)), ctypes.byref(ctypes.c_int(t)), ctypes.byref(ctypes.c_double(1))
    routine(*letters, rows, columns, one, R.ctypes.data, rows, C.ctypes.data, rows)
    return C


@cache
def _dtrmm() -> Any:
    """The routine; None where scipy's differs from what is known here."""
    capsule = getattr(cython_blas, "__pyx_capi__", {}).get("dtrmm")
    if capsule is None:
        return None
    name_of, pointer_to = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_to.restype, pointer_to.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = name_of(capsule)
    if _takes(name.decode()) != _DTRMM:
        return None
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(_DTRMM))(pointer_to(capsule, name))


def _takes(signature: str) -> tuple[str, ...]:
    """('char', ..., 'double', ...) of 'void (char *, ..., __pyx_t_5scipy_6linalg_11cython_blas_d *, ...)'."""
    pointed = [argument.strip().removesuffix("*").strip() for argument in signature.partition("(")[2][:-1].split(",")]
    return tuple("double" if kind.endswith("cython_blas_d") else kind for kind in pointed)
