"""The verdict on a capacity request, or on a dry run of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from libs.domain.fleet import TargetPlan

Phase = Literal["granted", "degraded", "rejected"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Verdict:
    """The verdict on one request.

    phase    granted: met in full now; degraded: accepted, and short for now; rejected: no state of the region can meet
             it
    reason   identifier that clients may match, CamelCase
    message  for people; says what to do next
    numbers  the figures in the message; units come last in the names
    plan     targets that cover as much as the reservation's own servers and free servers can; None if rejected
    """

    phase: Phase
    reason: str
    message: str
    numbers: Mapping[str, float]
    plan: TargetPlan | None
