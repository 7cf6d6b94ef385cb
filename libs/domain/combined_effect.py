"""The combined effect of the ledger's events on capacity and traffic, at a time."""

from __future__ import annotations

from dataclasses import dataclass

from libs.domain.arrays import Floats, Names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EffectSums:
    """Sums over events, by how far they are, as (N,) arrays. No amount is counted twice.

    done       what has happened, of finished events and of those under way
    active     what is left of active events
    approved   of approved events
    proposed   of proposed events, which may still be refused
    """

    done: Floats
    active: Floats
    approved: Floats
    proposed: Floats

    @property
    def planned(self) -> Floats:
        """The amounts (N,) that are still to happen."""
        found: Floats = self.active + self.approved + self.proposed
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CapacityEffects:
    """The combined changes of services' capacity in regions, in units of the hardware type: (N,), by name."""

    service: Names
    region: Names
    hardware_type: Names
    sums: EffectSums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrafficEffects:
    """The combined changes of products' shares of traffic in regions: (N,), by name. The sums over all regions are
    0.
    """

    product: Names
    region: Names
    sums: EffectSums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CombinedEffect:
    """The effects on capacity and traffic. An installation has tens of thousands of places, so they are arrays."""

    capacity: CapacityEffects
    traffic: TrafficEffects
