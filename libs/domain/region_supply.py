"""The supply of a region: the servers of each hardware type that services may use at a date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSupply:
    """Servers of one hardware type, at a date.

    servers          in the fleet now, those that are down included: shared buffers stand in for them
    embedded_buffer  in the MSB that gives most to each reservation that survives the loss of one
    shared_buffer    of shared buffers: bound, or promised if that is more
    retired          whose announced retirement is due until the date
    returned         that become this type by a refresh until the date
    delivered        expected deliveries until the date
    """

    hardware_type: str
    servers: int
    embedded_buffer: int
    shared_buffer: int
    retired: int
    returned: int
    delivered: int = 0

    @property
    def usable(self) -> int:
        """Servers for the capacity of services; at least 0."""
        gone = self.embedded_buffer + self.shared_buffer + self.retired
        return max(0, self.servers + self.returned + self.delivered - gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """An expected delivery of servers to a region."""

    region: str
    hardware_type: str
    servers: int
    due_at: datetime


def with_deliveries(
    supply: Iterable[TypeSupply], deliveries: Iterable[Delivery], *, region: str, now: datetime, at: datetime
) -> tuple[TypeSupply, ...]:
    """Return the supply with the deliveries that are due after `now` until `at`, by name of the type.

    Deliveries that were due before count as arrived: their servers are in the fleet.
    """
    found: dict[str, TypeSupply] = {one.hardware_type: one for one in supply}
    for one in deliveries:
        if one.region != region or not now < one.due_at <= at:
            continue
        name = one.hardware_type
        known = found.get(name) or TypeSupply(
            hardware_type=name, servers=0, embedded_buffer=0, shared_buffer=0, retired=0, returned=0
        )
        found[name] = replace(known, delivered=known.delivered + one.servers)
    return tuple(found[name] for name in sorted(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerUnits:
    """The worth of a server to Flux.

    server_type      hardware type of the regions
    hardware_type    hardware type of the world, in whose measure services count
    units            capacity of one server in that measure; above 0
    """

    server_type: str
    hardware_type: str
    units: float


def capacity_by_type(supply: Iterable[TypeSupply], units: Iterable[ServerUnits]) -> Mapping[str, float]:
    """Return the capacity by hardware type of the world. Types of servers without a row are worth nothing."""
    usable = {one.hardware_type: one.usable for one in supply}
    found: dict[str, float] = {}
    for row in units:
        found[row.hardware_type] = found.get(row.hardware_type, 0.0) + row.units * usable.get(row.server_type, 0)
    return found
