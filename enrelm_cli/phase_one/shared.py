"""What follows from an eigenbasis alone, computed once: every target, and every stage of a fit, asks for it again."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from enrelm_cli.types import Array

# Bytes of one basis, on top of what --memory bounds: U of 4,000 rows and 2,000 columns, and with several targets twice
# that. (With 256 MB a fit of 300,000 rows from disk had a peak of 1.25 GB instead of 0.77, and two targets cost 1.1
# times one instead of 1.2.)
_ONE, _SEVERAL = 1 << 26, 1 << 27


class Shared:
    """Arrays by what they are of. What is beyond the limit is computed each time; nobody may write into the others."""

    def __init__(self, limit: int = _ONE) -> None:
        self._left = limit
        self._found: dict[Hashable, tuple[Array, Array]] = {}

    @staticmethod
    def of(c: Array) -> Shared:
        """For the targets that a basis has coefficients of: (k,), or (k, q)."""
        return Shared(_ONE if c.ndim == 1 else _SEVERAL)

    def once(self, key: Hashable, of: Array, compute: Callable[[], Array]) -> Array:
        """`of`: what the array follows from, which stays the same object as long as the key means it."""
        known = self._found.get(key)
        if known is not None and known[0] is of:
            return known[1]
        array = compute()
        if array.nbytes <= self._left:
            # Threads that ask at the same time compute the same.
            self._left -= array.nbytes
            array.flags.writeable = False
            self._found[key] = of, array
        return array

    def __len__(self) -> int:
        return len(self._found)

    def __reduce__(self) -> tuple[type[Shared], tuple[()]]:
        """It stays where it is: what travels to a cluster is computed there."""
        return Shared, ()
