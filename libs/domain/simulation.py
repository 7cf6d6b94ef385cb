"""What-ifs: what is asked, what became of it, and what its answer rests on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import numpy as np

from libs.domain.fleet import FleetSnapshot, Names
from libs.domain.reservation import CapacityUnit, ReservationSpec


class SimulationStatus(StrEnum):
    """How a simulation stands. One that was cancelled while it ran keeps the best that it had."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Reservations of this name or owner, or all that owners have: at this capacity, or at `scale` times theirs."""

    reservation: str | None = None
    owner: str | None = None
    capacity_rru: float | None = None
    scale: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReservation:
    """One that is not there yet."""

    name: str
    owner: str
    spec: ReservationSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Everything in a datacenter, MSB or rack is down."""

    scope: Literal["datacenter", "msb", "rack"]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRacks:
    """Racks of free servers of one hardware type in an MSB."""

    msb: str
    hardware_type: str
    racks: int
    servers_per_rack: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """All that is other than it is, in this order.

    policy             costs by name
    remove_hardware_types   their servers are gone
    withdraw_racks     likewise
    """

    policy: Mapping[str, Any]
    demand: tuple[Demand, ...] = ()
    create: tuple[NewReservation, ...] = ()
    lose: tuple[Loss, ...] = ()
    add_racks: tuple[NewRacks, ...] = ()
    remove_hardware_types: tuple[str, ...] = ()
    withdraw_racks: tuple[str, ...] = ()

    @property
    def not_decisions(self) -> tuple[str, ...]:
        """The parts that nobody can decide by a plan: they can be imagined, and not applied."""
        events = ("lose", "add_racks", "remove_hardware_types", "withdraw_racks")
        return tuple(name for name in events if getattr(self, name))

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)


def what_if_of(found: Mapping[str, Any]) -> WhatIf:
    """What `as_dict` gave."""
    return WhatIf(
        policy=dict(found["policy"]),
        demand=tuple(Demand(**one) for one in found["demand"]),
        create=tuple(
            NewReservation(name=one["name"], owner=one["owner"], spec=_spec(one["spec"])) for one in found["create"]
        ),
        lose=tuple(Loss(**one) for one in found["lose"]),
        add_racks=tuple(NewRacks(**one) for one in found["add_racks"]),
        remove_hardware_types=tuple(found["remove_hardware_types"]),
        withdraw_racks=tuple(found["withdraw_racks"]),
    )


def _spec(found: Mapping[str, Any]) -> ReservationSpec:
    return ReservationSpec(**{**found, "unit": CapacityUnit(found["unit"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """One what-if. rests_on: digests of what the answer was made from; applied: by whom, when and as which plan."""

    simulation_id: int
    region: str
    requested_by: str
    what_if: WhatIf
    status: SimulationStatus
    progress: Mapping[str, object]
    report: Mapping[str, object] | None
    error: str | None
    bundle: str | None
    rests_on: Mapping[str, str] | None
    cancel_requested: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    applied_plan_id: int | None
    applied_by: str | None
    applied_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedChange:
    """A server that the answer binds elsewhere, at the generation that it was read at; None: free."""

    server_id: int
    generation: int
    to_reservation: str | None


def rests_on(snapshot: FleetSnapshot) -> dict[str, str]:
    """Digests of what a solve's answer rests on, by what it is: where they are equal, the answer is as good as it was.

    Of servers that the answer does not touch neither use nor current binding: moves may go on. Of those that it does
    touch the generation is compared as well, apart from this.
    """
    s, q, t = snapshot.servers, snapshot.reservations, snapshot.topology
    return {
        "plan": str(snapshot.target_plan_id),
        "policy": _digest(repr(sorted(asdict(snapshot.policy).items()))),
        "reservations": _digest(*(getattr(q, field.name) for field in fields(q))),
        "topology": _digest(t.racks, t.rack_msb, t.msb_datacenter, snapshot.hardware_types),
        "servers": _digest(s.id, s.rack, s.hardware_type),
        "availability": _digest(s.available),
        "retirements": _digest(s.leaving),
        "targets": _digest(s.target),
    }


def _digest(*parts: np.ndarray[Any, Any] | Names | str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            digest.update(part.encode())
        elif part.dtype == object:
            digest.update("\0".join(part.tolist()).encode())
        else:
            digest.update(np.ascontiguousarray(part).tobytes())
        digest.update(b"\1")
    return digest.hexdigest()
