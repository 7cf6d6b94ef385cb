"""Turn names into indices and back. All other code uses indices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from libs.assignment.language.arrays import Ints
from libs.assignment.language.columns import listed
from libs.assignment.language.errors import BadValues, UnknownName, shown

Names = int | Sequence[str] | Any
"""A number of items, or their names."""


class Labels:
    """The names of indexed items. Unnamed items are called by their noun and number."""

    def __init__(self, noun: str, given: Names) -> None:
        """Take a number of items, or their names: a list, or a column of NumPy, Arrow, pandas or polars.

        Raises: BadValues for a number below 0, for names that are no strings, and for a repeated name.
        """
        self.noun = noun
        counted = isinstance(given, Integral) and not isinstance(given, bool)
        self._names = None if counted else _names(noun, given)
        self._size = int(given) if self._names is None else len(self._names)  # type: ignore[arg-type]
        self._index: dict[str, int] | None = None
        if self._size < 0:
            raise BadValues(f"{noun}: the number {self._size} is negative; give 0 or more")
        if self._names is not None and len(set(self._names)) != self._size:
            twice = [name for name, times in Counter(self._names).items() if times > 1]
            raise BadValues(f"{noun}: names occur twice: {shown(twice)}; give each its own name")

    def __len__(self) -> int:
        return self._size

    @property
    def names(self) -> tuple[str, ...] | None:
        """Return all names; None if none were given."""
        return None if self._names is None else tuple(self._names)

    def name(self, index: int) -> str:
        """Return the name of an index, for people."""
        return f"{self.noun} {index}" if self._names is None else self._names[index]

    def some(self, indices: Ints) -> Labels:
        """Return the labels of the given indices alone, in the given order."""
        return Labels(self.noun, len(indices) if self._names is None else [self._names[k] for k in indices])

    def index(self, where: str, given: str | int) -> int:
        """Return the index of a name, or of an index itself.

        Raises: UnknownName with the nearest name; BadValues for an index out of range, and for True and False.
        """
        if isinstance(given, bool | np.bool_):
            raise BadValues(f"{where}: {self.noun} {given!r}; expected a name or a number")
        if isinstance(given, int | np.integer):
            if not 0 <= given < self._size:
                raise BadValues(f"{where}: {self.noun} {given} is outside 0..{self._size - 1}")
            return int(given)
        if self._names is None:
            raise BadValues(
                f"{where}: {self.noun} {given!r} is a name, but the {self.noun}s have none; give 0 to {self._size - 1}"
            )
        if self._index is None:
            self._index = {name: k for k, name in enumerate(self._names)}
        if given not in self._index:
            raise UnknownName(where, self.noun, str(given), self._names)
        return self._index[given]

    def indices(self, where: str, given: Iterable[str | int]) -> Ints:
        """Return the index of each item in `given`, (n,).

        given  names or indices of items, in a list or any other kind of column. A single one counts as a list of one

        Raises: UnknownName with the nearest name; BadValues for an index out of range.
        """
        several = listed(given) if isinstance(given, Iterable) else [given]
        return np.array([self.index(where, one) for one in several], dtype=np.int64)

    def keys(self, where: str, given: Mapping[str | int, Any]) -> Ints:
        """Return the index of each key of a mapping, (n,). Raises: as `indices`; BadValues for an item that is named
        twice, for example by its name and by its index.
        """
        found = self.indices(where, given)
        twice = np.flatnonzero(np.bincount(found, minlength=1) > 1)
        if len(twice):
            raise BadValues(f"{where}: {shown(self.name(int(k)) for k in twice)} is given twice")
        return found


def _names(noun: str, given: Any) -> list[str]:
    if isinstance(given, str | set | frozenset) or not isinstance(given, Iterable):
        raise BadValues(f"{noun}: {given!r}; expected a number or a list of names, in order")
    names = listed(given)
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise BadValues(f"{noun}: {shown(map(repr, wrong))}; expected names, which are strings, or one number")
    return names
