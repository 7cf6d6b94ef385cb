"""Names, kept aside: everything else is an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from libs.assignment.arrays import Ints
from libs.assignment.errors import BadValues, UnknownName, shown


class Labels:
    """The names of things that are otherwise indices; without names they are called by their noun and number."""

    def __init__(self, noun: str, given: int | Sequence[str]) -> None:
        self.noun = noun
        self._names = None if isinstance(given, int) else list(given)
        self._size = given if isinstance(given, int) else len(given)
        self._index: dict[str, int] | None = None
        if self._size < 0:
            raise BadValues(f"{noun}: a number of {self._size}")
        if self._names is not None and len(set(self._names)) != self._size:
            twice = [name for name, times in Counter(self._names).items() if times > 1]
            raise BadValues(f"{noun}: named twice: {shown(twice)}")

    def __len__(self) -> int:
        return self._size

    @property
    def names(self) -> tuple[str, ...] | None:
        """All of them, where they were given."""
        return None if self._names is None else tuple(self._names)

    def name(self, index: int) -> str:
        """What people call it."""
        return f"{self.noun} {index}" if self._names is None else self._names[index]

    def some(self, indices: Ints) -> Labels:
        """Only these, in this order: by their names, where they have any."""
        return Labels(self.noun, len(indices) if self._names is None else [self._names[k] for k in indices])

    def index(self, where: str, given: str | int) -> int:
        """The index of a name, or of an index itself."""
        if isinstance(given, int | np.integer):
            if not 0 <= given < self._size:
                raise BadValues(f"{where}: {self.noun} {given} is outside 0..{self._size - 1}")
            return int(given)
        if self._names is None:
            raise BadValues(
                f"{where}: {self.noun} {given!r}: they have no names here; give a number below {self._size}"
            )
        if self._index is None:
            self._index = {name: k for k, name in enumerate(self._names)}
        if given not in self._index:
            raise UnknownName(where, self.noun, str(given), self._names)
        return self._index[given]

    def indices(self, where: str, given: Iterable[str | int]) -> Ints:
        """The indices of several."""
        return np.array([self.index(where, one) for one in given], dtype=np.int64)
