"""A condition of a region: one thing that is so, or not, for its operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ConditionStatus(StrEnum):
    """As Kubernetes has it."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class RegionConditionType(StrEnum):
    """What a region's conditions are about. True is how it should be."""

    LOST_SERVERS_REPLACED = "LostServersReplaced"
    ACTUATOR_REACHABLE = "ActuatorReachable"
    MOVING = "Moving"
    SOLVED = "Solved"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionCondition:
    """One of a region.

    reason       identifier that clients may match;  message   for people: what is so, and what to do next
    numbers      the figures in the message
    changed_at   since when it has this status;  observed_at   when it was last looked at and said something else
    """

    type: RegionConditionType
    status: ConditionStatus
    reason: str
    message: str
    numbers: Mapping[str, object]
    changed_at: datetime
    observed_at: datetime
