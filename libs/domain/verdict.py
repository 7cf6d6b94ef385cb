"""The answer to a capacity request, before or after it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from libs.domain.fleet import TargetPlan

Phase = Literal["granted", "degraded", "rejected"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Verdict:
    """granted: met in full now. degraded: accepted and short for now. rejected: no state of the region could meet it.

    reason   identifier that clients may match, CamelCase
    message  for people; says what to do next
    numbers  what the message was made of; units come last in the names
    plan     targets that give the reservation the most it can have from its own and free servers; None where rejected
    """

    phase: Phase
    reason: str
    message: str
    numbers: Mapping[str, float]
    plan: TargetPlan | None
