"""A finding: the result of the last assessment or solve for a reservation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from libs.domain.reservation_phase import ReservationPhase


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of the last assessment or solve for a reservation, at the observed generation."""

    observed_generation: int
    phase: ReservationPhase
    reason: str
    message: str
    numbers: Mapping[str, object]
    changed_at: datetime
    observed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFinding:
    """A finding to store. The store adds the times. `phase` is GRANTED or DEGRADED."""

    reservation_id: int
    observed_generation: int
    phase: ReservationPhase
    reason: str
    message: str
    numbers: Mapping[str, object]
