"""An override: a bound that a person sets on future placement plans."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class OverrideKind(StrEnum):
    """The quantity that an override bounds."""

    CAPACITY = "capacity"
    """Capacity of a service in a region, in units of the override's hardware type; by default the service's own type.
    """
    PRESENCE = "presence"
    """Share of a product's traffic in a region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOverride:
    """One override of a planner's bound. An override is in force until it expires or is withdrawn, and is stored
    forever.

    subject      name of the service or product
    least, most  bounds; at least one is set
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
        """Return whether plans must respect the override at `now`."""
        return self.withdrawn_at is None and (self.expires_at is None or self.expires_at > now)
