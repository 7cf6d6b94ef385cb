"""Select the scope items of a spec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from libs.assignment.language.arrays import Ints
from libs.assignment.language.columns import is_column, listed
from libs.assignment.language.errors import BadValues, ModelError
from libs.assignment.language.labels import Labels
from libs.assignment.language.matrices import Matrix, csr


@dataclass(frozen=True, kw_only=True)
class Filter:
    """All items, only some (`items`), or all except some (`but`); by name or index, in any kind of column.

    A spec also takes plain names as a filter: they are its `items`.
    """

    items: Sequence[str | int] | None = None
    but: Sequence[str | int] | None = None

    def __post_init__(self) -> None:
        """Convert columns to lists, and a single name to a list of one."""
        for name in ("items", "but"):
            given = getattr(self, name)
            if isinstance(given, str) or is_column(given):
                object.__setattr__(self, name, listed(given))

    @classmethod
    def from_plain(cls, where: str, given: Any) -> Filter:
        """Return the filter of plain names."""
        if isinstance(given, str) or (isinstance(given, Iterable) and not isinstance(given, Mapping)):
            return cls(items=listed(given))
        raise BadValues(f"{where} = {given!r}; expected names, or Filter(items=...) or Filter(but=...)")

    def kept(self, where: str, labels: Labels) -> Ints:
        """Return the indices of the kept items, in order."""
        if self.items is not None and self.but is not None:
            raise ModelError(f"{where}, filter: give items or but, not both")
        for name, given in (("items", self.items), ("but", self.but)):
            if isinstance(given, str | int):
                raise ModelError(f"{where}, filter: {name} = {given!r}; expected a list, such as [{given!r}]")
        if self.items is not None:
            return np.unique(labels.indices(f"{where}, filter", self.items))
        gone = labels.indices(f"{where}, filter", self.but or ())
        return np.setdiff1d(np.arange(len(labels)), gone)


def selection(kept: Ints, size: int) -> Matrix | None:
    """Return the map (kept, size) that keeps some rows or columns; None if all are kept."""
    if len(kept) == size:
        return None
    return csr((np.ones(len(kept)), (np.arange(len(kept)), kept)), shape=(len(kept), size))
