"""Simulations: a what-if, its answer, and the state of the region that the answer depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.domain_limits import DomainLimit
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.reservation import CapacityUnit, ReservationSpec

_DECISIONS = ("policy", "demand", "create")
"""The parts of a what-if that a plan can bring about."""


class SimulationStatus(StrEnum):
    """Status of a simulation. One that is cancelled while it runs keeps its best answer so far."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A change of demand: for one reservation, for all reservations of an owner, or for the reservations of all owners.

    The capacity becomes capacity_rru, or the present capacity times `scale`.
    """

    reservation: str | None = None
    owner: str | None = None
    capacity_rru: float | None = None
    scale: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReservation:
    """A reservation to add."""

    name: str
    owner: str
    spec: ReservationSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The loss of a whole domain.

    scope   datacenter, msb, rack, or a further kind, such as network_block
    """

    scope: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRacks:
    """Racks of free servers of one hardware type in an MSB."""

    msb: str
    hardware_type: str
    racks: int
    servers_per_rack: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLimitChange:
    """Another limit on the power of a domain.

    headroom  share that plans keep free; None: as it is, or 0 if the domain has no limit yet
    """

    kind: str
    domain: str
    limit_w: float
    headroom: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UplinkLimitChange:
    """Another limit on the uplink of a rack; of all racks that no other change names, if `rack` is None.

    limit_gbit  None: no limit
    """

    rack: str | None
    limit_gbit: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficChange:
    """Other Gbit/s that one RRU of a reservation sends out of its rack."""

    reservation: str
    gbit_per_rru: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The assumed changes to a region, applied in the order of `imagine`.

    policy                  cost -> assumed value
    lose                    domains whose servers are down
    remove_hardware_types   types whose servers are gone
    withdraw_racks          racks whose servers are gone
    power_limits            limits on power, at most one per domain; domains that are not named keep theirs
    uplink_limits           limits on uplinks, at most one per rack
    traffic                 what reservations send, at most one each, which owners state and no plan changes
    """

    policy: Mapping[str, Any]
    demand: tuple[Demand, ...] = ()
    create: tuple[NewReservation, ...] = ()
    lose: tuple[Loss, ...] = ()
    add_racks: tuple[NewRacks, ...] = ()
    remove_hardware_types: tuple[str, ...] = ()
    withdraw_racks: tuple[str, ...] = ()
    power_limits: tuple[PowerLimitChange, ...] = ()
    uplink_limits: tuple[UplinkLimitChange, ...] = ()
    traffic: tuple[TrafficChange, ...] = ()

    @property
    def not_decisions(self) -> tuple[str, ...]:
        """Return the names of the parts that a plan cannot bring about. They can be simulated, but not applied."""
        return tuple(one.name for one in fields(self) if one.name not in _DECISIONS and getattr(self, one.name))

    def as_dict(self) -> dict[str, Any]:
        """Return the what-if as a JSON object."""
        return asdict(self)


def what_if_of(found: Mapping[str, Any]) -> WhatIf:
    """Return the what-if of a JSON object made by `as_dict`."""
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
        power_limits=tuple(PowerLimitChange(**one) for one in found.get("power_limits", ())),
        uplink_limits=tuple(UplinkLimitChange(**one) for one in found.get("uplink_limits", ())),
        traffic=tuple(TrafficChange(**one) for one in found.get("traffic", ())),
    )


def _spec(found: Mapping[str, Any]) -> ReservationSpec:
    limits = tuple(DomainLimit(**one) for one in found.get("domain_limits", ()))
    return ReservationSpec(**{**found, "unit": CapacityUnit(found["unit"]), "domain_limits": limits})


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """One simulation.

    rests_on   the state that the answer depends on (see the function `rests_on`)
    applied_*  the plan that applied the answer, the token and the time; None: not applied
    ends_rollout_id   the open roll-out of a policy that applying it would end, or the one that it ended; None: none
    """

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
    ends_rollout_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedChange:
    """A server to which the answer gives another target, with the server's generation at the time of reading. A target
    of None means that the server is free.
    """

    server_id: int
    generation: int
    to_reservation: str | None


def rests_on(before: FleetSnapshot, imagined: FleetSnapshot, target: Indices) -> dict[str, str]:
    """Return the things that an answer depends on: description -> state. The answer is valid while every state is the
    same.

    target   (S,) the answer: the targets of the imagined servers

    An answer depends on the policy, and on the reservations that it resizes or takes servers from or gives servers to.
    It also depends on these servers, whose generations are stored with the changes. Anything else may change, because
    the commit checks the changes against the present region.
    """
    q, present = before.reservations, imagined.servers.target
    moved = target != np.maximum(present, FREE)
    resized = np.flatnonzero(imagined.reservations.capacity_rru[: len(q)] != q.capacity_rru)
    rows = np.unique(np.concatenate([resized, target[moved], present[moved]]))
    policy = hashlib.sha256(repr(sorted(asdict(before.policy).items())).encode())
    if before.canary is not None:
        policy.update(repr(before.canary).encode())
    reservations = {
        f"the reservation {q.name[row]}": f"{q.id[row]} at {q.generation[row]}"
        for row in rows[(rows >= 0) & (rows < len(q))]
    }
    return {"the policy": policy.hexdigest()} | reservations
