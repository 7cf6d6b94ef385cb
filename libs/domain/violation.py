"""What is wrong with a plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One reason not to carry a plan out.

    reason   identifier that clients may match, CamelCase
    message  for people
    server, reservation  names, where it is about one
    """

    reason: str
    message: str
    server: str | None = None
    reservation: str | None = None
