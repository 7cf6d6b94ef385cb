"""Which scope items a spec is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from libs.assignment.arrays import Ints
from libs.assignment.errors import ModelError
from libs.assignment.labels import Labels
from libs.assignment.matrices import Matrix, csr


@dataclass(frozen=True, kw_only=True)
class Filter:
    """All items, only some (`items`), or all but some (`but`); by name or index."""

    items: Sequence[str | int] | None = None
    but: Sequence[str | int] | None = None

    def kept(self, where: str, labels: Labels) -> Ints:
        """The indices that remain, in order."""
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
    """(kept, size) the map that leaves only some rows or columns; None where all are kept."""
    if len(kept) == size:
        return None
    return csr((np.ones(len(kept)), (np.arange(len(kept)), kept)), shape=(len(kept), size))
