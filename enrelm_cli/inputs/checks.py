"""What a model's document may hold: ValueError unless a value is of the type, shape and range of a fitted one."""

from __future__ import annotations

from typing import Any

import numpy as np


def must(good: bool, problem: str) -> None:
    if not good:
        raise ValueError(problem)


def number(name: str, value: Any, lowest: float = -np.inf) -> None:
    must(type(value) in (int, float) and bool(np.isfinite(value)) and value >= lowest, f"'{name}' is out of range")


def whole(name: str, value: Any, lowest: int, highest: int) -> None:
    must(type(value) is int and lowest <= value <= highest, f"'{name}' is not a number from {lowest} to {highest}")


def truth(name: str, value: Any) -> None:
    must(type(value) is bool, f"'{name}' is neither true nor false")


def numbers(name: str, array: Any, shape: tuple[int, ...], lowest: float = -np.inf) -> None:
    must(type(array) is np.ndarray and array.dtype == np.float64, f"'{name}' is not an array of numbers")
    must(array.shape == shape, f"'{name}' has the shape {array.shape} instead of {shape}")
    must(bool(np.all(np.isfinite(array) & (array >= lowest))), f"'{name}' has values out of range")


def integers(name: str, array: Any, shape: tuple[int, ...], lowest: int, highest: int) -> None:
    must(type(array) is np.ndarray and array.dtype == np.int64, f"'{name}' is not an array of integers")
    must(array.shape == shape, f"'{name}' has the shape {array.shape} instead of {shape}")
    must(bool(np.all((array >= lowest) & (array <= highest))), f"'{name}' has values out of range")
