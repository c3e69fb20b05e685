"""Robust inputs, the kernel variant's: what each column asks for, whatever its tails, its holes and its levels.

Numbers: squashed, normal scores, indicators of a few values, and the values themselves where they are names.
Dates: days and the parts of the calendar, each as a number. Texts: indicators of the frequent levels, and the mean
target of each where there are many. A column that is a copy of another adds nothing and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from enrelm_cli.fold import weights
from enrelm_cli.fold.weights import Weights
from enrelm_cli.inputs.encoding import Column
from enrelm_cli.inputs.maps.codes import Codes, code_map
from enrelm_cli.inputs.maps.column_map import ColumnMap, Folds
from enrelm_cli.inputs.maps.dates import VALUE, parts_for
from enrelm_cli.inputs.maps.input_map import Expansion, InputMap
from enrelm_cli.inputs.maps.levels import MOST_POOLED, indicators, means, pooled
from enrelm_cli.inputs.maps.missing import Missing
from enrelm_cli.inputs.maps.numbers import Form, number_maps
from enrelm_cli.types import Array


def robust_maps(
    columns: Sequence[Column],
    raw: Array,
    sums: Mapping[int, Array],
    calendar: bool,
    weight: Weights = None,
    form: Form = Form.ROBUST,
    codes: Mapping[int, Codes] = MappingProxyType({}),
) -> tuple[ColumnMap, ...]:
    """From training rows of the sample, raw (t, columns), and each text's counts and sums by level and fold.

    `codes`: columns of numbers whose values, given here, are names as well; they have sums, too.
    """
    copied = copies(raw)
    maps: list[ColumnMap] = []
    for k, column in enumerate(columns):
        if k not in copied:
            levels = column.levels is not None
            maps += _levels(k, column, sums[k]) if levels else _numbers(k, column, raw[:, k], calendar, weight, form)
            maps += [code_map(k, codes[k], sums[k])] if k in codes else []
    return tuple(maps)


def copies(raw: Array) -> dict[int, int]:
    """Columns that equal an earlier one in every row: copy -> original."""
    first: dict[bytes, int] = {}
    found: dict[int, int] = {}
    for k in range(raw.shape[1]):
        original = first.setdefault(np.ascontiguousarray(raw[:, k] + 0.0).tobytes(), k)
        if original != k:
            found[k] = original
    return found


def _numbers(place: int, column: Column, raw: Array, calendar: bool, weight: Weights, form: Form) -> list[ColumnMap]:
    parts = parts_for(raw, calendar) if column.is_date else (VALUE,)
    maps: list[ColumnMap] = [one for part in parts for one in number_maps(place, part, raw, weight, form)]
    missing = np.isnan(raw)
    return [*maps, Missing(place)] if missing.any() and not missing.all() else maps


def _levels(place: int, column: Column, sums: Array) -> list[ColumnMap]:
    levels = len(column.levels or ())
    counts = sums[0].sum(axis=1)[:-1]
    one = indicators(place, levels, counts)
    maps: list[ColumnMap] = [] if one is None else [one]
    return [*maps, means(place, sums)] if np.count_nonzero(counts) > 1 and pooled(counts) > MOST_POOLED else maps


def scaled(expansion: Expansion, raw: Array, fold: Folds, weight: Weights = None) -> InputMap | None:
    """Standardised on these training rows; indicators of one thing share the scale sqrt(sum p (1 - p)).

    None where no input varies.
    """
    E = expansion(raw, fold)
    mean = weights.mean(E, weight)
    variance = weights.mean((E - mean) ** 2, weight)
    scale = np.empty(expansion.width)
    at = 0
    for one in expansion.maps:
        part = slice(at, at + one.width)
        spread = np.sqrt(variance[part].sum() if one.shared else variance[part])
        scale[part] = np.maximum(spread, one.least_spread)
        at += one.width
    keep = np.flatnonzero((E.max(axis=0) > E.min(axis=0)) & (scale > 0.0)) if len(E) else np.zeros(0, np.int64)
    if not len(keep):
        return None
    return InputMap(expansion, keep, np.zeros(len(keep), np.int64), mean[keep], scale[keep])
