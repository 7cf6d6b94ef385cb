"""Replacements of lost servers in the past, and how long they took."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PastReplacement:
    """A lost server, and the spare server that took its place.

    failed_at    start of the failure
    drawn_at     when the spare server was chosen
    joined_at    when it joined the reservation; None: it has not
    """

    server: str
    spare: str
    reservation: str
    hardware_type: str
    msb: str
    failed_at: datetime
    drawn_at: datetime
    joined_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacementHistory:
    """The replacements that were drawn since a moment.

    drawn              number of all
    joined             of them, those whose spare server has joined
    median_s, most_s   seconds from failure to joining; None: none has joined
    latest             the latest of them, latest first
    """

    drawn: int
    joined: int
    median_s: float | None
    most_s: float | None
    latest: tuple[PastReplacement, ...]
