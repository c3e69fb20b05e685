"""A 64-bit content hash of rows: the same on every platform, in any row order, for any cutting into chunks.

Every step is integer arithmetic modulo 2^64 on whole arrays. The mixer is the finaliser of splitmix64,

    z ^= z >> 30;  z *= 0xBF58476D1CE4E5B9;  z ^= z >> 27;  z *= 0x94D049BB133111EB;  z ^= z >> 31

a bijection in which every input bit reaches every output bit. It is no cipher: rows that collide can be built on
purpose, but two different rows of honest data share a key with probability 2^-64.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enrelm_cli.types import Keys

# The even sample of a table: at most this many of its rows, the first ones in the order of `first_rows`, which goes by
# rehash(key, SAMPLE_SALT). The salt is beyond any user's seed.
SAMPLE_ROWS = 32_768
SAMPLE_SALT = 0x656E_73616D706C65

_GOLDEN = 0x9E3779B97F4A7C15
_MISSING = 0x6D697373696E6721  # the hash of every missing cell, number or text
_START = 0x656E72656C6D2D31
_WORD = (1 << 64) - 1


def _mix(z: Keys) -> Keys:
    """The finaliser of splitmix64, in place."""
    shifted = z >> np.uint64(30)
    z ^= shifted
    z *= np.uint64(0xBF58476D1CE4E5B9)
    np.right_shift(z, np.uint64(27), out=shifted)
    z ^= shifted
    z *= np.uint64(0x94D049BB133111EB)
    np.right_shift(z, np.uint64(31), out=shifted)
    z ^= shifted
    return z


def hash_numbers(values: NDArray[Any]) -> Keys:
    """(t,) float64 -> (t,): by value, so that -0.0 equals 0.0 and every NaN equals every other."""
    # Adding +0.0 turns -0.0 into 0.0 and makes the copy that _mix works on.
    numbers = np.asarray(values, dtype=np.float64) + 0.0
    missing = np.isnan(numbers)
    bits = numbers.view(np.uint64)
    bits += np.uint64(_GOLDEN)
    keys = _mix(bits)
    keys[missing] = _MISSING
    return keys


def hash_targets(y: NDArray[Any]) -> Keys:
    """(t,), or (t, q) of several targets -> (t,)."""
    return hash_numbers(y) if y.ndim == 1 else combine([hash_numbers(column) for column in y.T])


def with_weights(target: Keys, weight: Keys | None) -> Keys:
    """(t,) hashes of what a row has beside its inputs: its target, and its weight where rows have weights."""
    return target if weight is None else combine([target, weight])


def hash_texts(texts: Sequence[str | None]) -> Keys:
    """A key for each text (None: missing), through blake2b: meant for distinct levels, not for every row."""
    return np.array([_MISSING if text is None else _hash_text(text) for text in texts], dtype=np.uint64)


def _hash_text(text: str) -> int:
    # surrogatepass: a level is never refused here because of what it contains.
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def combine(columns: Sequence[Keys], rows: int | None = None) -> Keys:
    """k_0 = start, k_j = mix((k_{j-1} + golden) XOR column_j): a key for each row; the order of columns counts."""
    if not columns:
        if rows is None:
            raise ValueError("no columns to combine, and no number of rows")
        return np.full(rows, _START, dtype=np.uint64)
    keys = np.full(len(columns[0]), _START, dtype=np.uint64)
    for column in columns:
        keys += np.uint64(_GOLDEN)
        keys ^= column
        _mix(keys)
    return keys


def rehash(keys: Keys, salt: int) -> Keys:
    """Another key from each key; two salts give two orders of the rows that know nothing of each other."""
    # Two rounds: with one, salts that differ in a bit would give visibly related orders.
    offset = _mix(np.array([(salt * _GOLDEN + _START) & _WORD], dtype=np.uint64))
    first = _mix(keys ^ offset)
    first += np.uint64(_GOLDEN)
    return _mix(first)


def first_rows(keys: Keys, targets: Keys, rows: int) -> NDArray[np.int64]:
    """Places of the first `rows` rows: every distinct key once in the order of its hash, then second copies, and so on.

    Without the number of the copy, a table that repeats a few inputs would be sampled by those with the smallest hash
    alone. Copies of one key are numbered by the hash of their target. Which keys are chosen, and how often, does not
    depend on the targets; and the first rows of two sets together follow from the first rows of each, because a row
    that is not among its own set's first has as many smaller places before it in the union.
    """
    order = rehash(keys, SAMPLE_SALT)
    if len(order) > 4 * rows:
        # Every copy of the keys with the smallest hashes: where they are as many different keys as are wanted, the
        # other rows need not be sorted.
        low = np.flatnonzero(order <= np.partition(order, 2 * rows)[2 * rows])
        if len(np.unique(order[low])) >= rows:
            return low[_in_order(order[low], targets[low])[:rows]]
    return _in_order(order, targets)[:rows]


def _in_order(order: Keys, targets: Keys) -> NDArray[np.int64]:
    """Places of all rows, sorted as `first_rows` says."""
    places = np.argsort(order)
    ascending = order[places]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = ascending[1:] != ascending[:-1]
    if begins.all():
        return places
    places = np.lexsort((targets, order))
    starts = np.flatnonzero(begins)
    copy = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    in_order: NDArray[np.int64] = places[np.lexsort((ascending, copy))]
    return in_order
