"""A region in a few numbers, for its operators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareTypeSummary:
    """The servers of one type.

    bound         to be bound to a reservation, by target
    free          to be bound to none, and not down: what a request could get at once is among them
    to_move       whose current binding is not yet the target
    unavailable   down for an unplanned reason; in_maintenance: planned
    """

    hardware_type: str
    servers: int
    bound: int
    free: int
    in_use: int
    to_move: int
    unavailable: int
    in_maintenance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSummary:
    """Servers by hardware type, and what reservations have by their targets.

    embedded_buffer_rru   in the worst MSBs of the reservations that survive the loss of one
    shared_buffer_rru     in the shared buffers
    shortfall_rru         missing, over the `degraded` reservations
    """

    hardware_types: tuple[HardwareTypeSummary, ...]
    reservations: int
    degraded: int
    capacity_rru: float
    embedded_buffer_rru: float
    shared_buffer_rru: float
    shortfall_rru: float
