"""One page of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
ITEMS_MAX = 1000
"""Most items of one page, of any list."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """The items of one page, and the cursor after which the next page starts. The cursor is None on the last page."""

    items: tuple[T, ...]
    next_cursor: int | None

    @classmethod
    def of(cls, found: Sequence[T], limit: int, key: Callable[[T], int]) -> Page[T]:
        """Return the first `limit` items. The query must ask for limit + 1; `key` returns the cursor of an item."""
        items = tuple(found[:limit])
        return cls(items, key(items[-1]) if len(found) > limit else None)
