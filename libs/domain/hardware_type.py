"""A hardware type, which all regions share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareType:
    """A type of server. `attributes` are figures from the server's maker, such as vcpu, memory_gb, watts.

    `cost_units` is what one server counts toward quotas and approval limits; None: no operator has set it.
    """

    hardware_type_id: int
    name: str
    attributes: Mapping[str, object]
    cost_units: float | None
    generation: int
