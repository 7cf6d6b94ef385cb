"""A condition of a region: one aspect of its health, for its operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ConditionStatus(StrEnum):
    """Status of a condition, as in Kubernetes."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class RegionConditionType(StrEnum):
    """The aspects of a region. True is the healthy status."""

    LOST_SERVERS_REPLACED = "LostServersReplaced"
    ACTUATOR_REACHABLE = "ActuatorReachable"
    MOVING = "Moving"
    ROOM_TO_MOVE = "RoomToMove"
    LOANS_RETURNED = "LoansReturned"
    MAINTENANCE_RETURNS = "MaintenanceReturns"
    RETIREMENTS_DONE = "RetirementsDone"
    SOLVED = "Solved"
    POLICY_ROLLOUT = "PolicyRollout"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionCondition:
    """One condition of a region.

    reason       identifier that clients may match
    message      for people: the state, and what to do next
    numbers      the figures in the message
    changed_at   time of the last change of the status
    observed_at  time of the last change of anything above
    """

    type: RegionConditionType
    status: ConditionStatus
    reason: str
    message: str
    numbers: Mapping[str, object]
    changed_at: datetime
    observed_at: datetime
