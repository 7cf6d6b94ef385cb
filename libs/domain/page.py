"""One page of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Items, and the cursor that the next page starts after; None on the last page."""

    items: tuple[T, ...]
    next_cursor: int | None
