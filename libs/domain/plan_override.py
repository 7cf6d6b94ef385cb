"""A bound that a person sets on the next plans, against what they would do by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class OverrideKind(StrEnum):
    """What is bounded."""

    CAPACITY = "capacity"
    """Of a service in a region, in units of its own hardware type, or of the type that the override names."""
    PRESENCE = "presence"
    """A product's share of its traffic in a region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOverride:
    """One override. It is in force until it expires or somebody withdraws it; then it stays, for whoever asks why.

    subject      the service or the product
    least, most  one of them at least
    """

    plan_override_id: int
    kind: OverrideKind
    subject: str
    region: str
    hardware_type: str | None
    least: float | None
    most: float | None
    reason: str
    expires_at: datetime | None
    created_by: str
    created_at: datetime
    withdrawn_by: str | None
    withdrawn_at: datetime | None
    withdrawn_reason: str | None
    generation: int

    def in_force(self, now: datetime) -> bool:
        """Whether plans keep to it."""
        return self.withdrawn_at is None and (self.expires_at is None or self.expires_at > now)
