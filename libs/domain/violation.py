"""A violation: one fault of a plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One reason to refuse a plan.

    reason   identifier that clients may match, CamelCase
    message  for people
    server, reservation  names, if the violation is about a server or a reservation
    """

    reason: str
    message: str
    server: str | None = None
    reservation: str | None = None
