"""One page of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Items, and the cursor that the next page starts after; None on the last page."""

    items: tuple[T, ...]
    next_cursor: int | None

    @classmethod
    def of(cls, found: Sequence[T], limit: int, key: Callable[[T], int]) -> Page[T]:
        """The first `limit` of what was found by a query for one more than that; `key` gives an item's cursor."""
        items = tuple(found[:limit])
        return cls(items, key(items[-1]) if len(found) > limit else None)
