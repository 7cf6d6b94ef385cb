"""How much capacity an owner may be promised in a region."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A limit, and what counts toward it.

    limit_rru    None: there is none
    used_rru     of the owner's live guaranteed reservations, scheduled ones too
    pending_rru  what requests that are not decided yet would add
    generation   0 where no limit was ever set
    """

    region: str
    owner: str
    limit_rru: float | None
    used_rru: float
    pending_rru: float
    generation: int
