"""The combined effect of the ledger's events on capacity and traffic, at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSums:
    """Sums over events, by how far they are. No amount is counted twice.

    done       what has happened, of finished events and of those under way
    active     what is left of active events
    approved   of approved events
    proposed   of proposed events, which may still be refused
    """

    done: float
    active: float
    approved: float
    proposed: float

    @property
    def planned(self) -> float:
        """The amount that is still to happen."""
        return self.active + self.approved + self.proposed


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityEffect:
    """The combined change of a service's capacity in a region, in units of the hardware type."""

    service: str
    region: str
    hardware_type: str
    sums: EffectSums


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficEffect:
    """The combined change of a product's share of traffic in a region. The sums over all regions are 0."""

    product: str
    region: str
    sums: EffectSums


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedEffect:
    """The effects on capacity and traffic, by name."""

    capacity: tuple[CapacityEffect, ...]
    traffic: tuple[TrafficEffect, ...]
