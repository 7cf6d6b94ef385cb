"""A region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from libs.domain.policy import RegionPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One region. `target_plan_id` is the newest plan in the region's lineage, the chain of its target plans.

    solve_every_s   seconds on the Clock between its solves, set by an operator; None: the scheduler's own period
    unknown_prices  fields of its policy that a process of a newer version set, and this version does not know
    """

    region_id: int
    name: str
    policy: RegionPolicy
    target_plan_id: int | None
    solve_every_s: float | None
    generation: int
    created_at: datetime
    unknown_prices: Mapping[str, object] = field(default_factory=dict)
