"""A hardware type, which all regions share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareType:
    """A type of server. `attributes` are figures from the server's maker, such as vcpu, memory_gb, watts."""

    hardware_type_id: int
    name: str
    attributes: Mapping[str, object]
    generation: int
