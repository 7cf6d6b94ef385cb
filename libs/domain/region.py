"""A region and the hardware types that its servers are of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from libs.domain.policy import RegionPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One region; `target_plan_id` heads the lineage of its target bindings.

    solve_every_s   seconds on the Clock between its solves, as an operator chose; None: the scheduler's own period
    """

    region_id: int
    name: str
    policy: RegionPolicy
    target_plan_id: int | None
    solve_every_s: float | None
    generation: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareType:
    """A kind of server; attributes are figures that the maker published, such as vcpu, memory_gb, watts."""

    hardware_type_id: int
    name: str
    attributes: Mapping[str, object]
    generation: int
