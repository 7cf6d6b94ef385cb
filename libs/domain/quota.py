"""A quota: the most capacity that an owner may be promised in a region."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A limit, and the capacity that counts toward it.

    limit_rru    None: no limit
    used_rru     capacity of the owner's live guaranteed reservations, scheduled ones included
    pending_rru  capacity that undecided requests would add
    generation   0: no limit was ever set
    """

    region: str
    owner: str
    limit_rru: float | None
    used_rru: float
    pending_rru: float
    generation: int
