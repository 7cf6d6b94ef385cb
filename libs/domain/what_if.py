"""Change a snapshot in memory, for assessments and simulations: set a spec, or apply a what-if. Nothing is stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from libs.domain.added_racks import with_added_racks
from libs.domain.arrays import Bools, Indices, Names
from libs.domain.domain_kind import MSB_KIND, RACK
from libs.domain.domain_limits import DATACENTER, MSB, limits_table
from libs.domain.fleet import FleetSnapshot
from libs.domain.power import Power, PowerLimit
from libs.domain.reservation import CAPACITY_RRU_MAX, RRU_MIN, ReservationSpec
from libs.domain.reservation_rows import Reservations
from libs.domain.resources import resources_table
from libs.domain.simulation import Demand, Loss, NewRacks, PowerLimitChange, TrafficChange, UplinkLimitChange, WhatIf


def with_reservation(
    snapshot: FleetSnapshot, name: str, spec: ReservationSpec, *, reservation_id: int = 0, generation: int = 1
) -> tuple[FleetSnapshot, int]:
    """Return the snapshot with the reservation `name` set to `spec`, and its row. A new reservation comes last.

    reservation_id   id of a new row: its stored id if the plan will be committed, else 0
    generation       generation of a new row

    Ignore hardware types and datacenters that the snapshot lacks, because the region has no servers there.
    """
    snapshot = snapshot.with_resources(spec.resources)
    q = snapshot.reservations
    found = np.flatnonzero(q.name == name)
    row = int(found[0]) if len(found) else len(q)
    types = snapshot.hardware_types
    values: dict[str, object] = {
        "id": int(q.id[row]) if len(found) else reservation_id,
        "name": name,
        "capacity_rru": spec.capacity_rru,
        "survives_msb_loss": spec.survives_msb_loss,
        "survives_loss_of": np.array([kind.name in spec.survives_loss_of for kind in snapshot.topology.kinds], bool),
        "msb_spread_limit": np.inf if spec.msb_spread_limit is None else spec.msb_spread_limit,
        "rack_spread_limit": np.inf if spec.rack_spread_limit is None else spec.rack_spread_limit,
        "rru": np.array([spec.rru.get(t, 0.0) for t in types]),
        "resources": resources_table([spec.resources], snapshot.resources)[0],
        "affinity_share": np.array([spec.affinity.get(d, np.nan) for d in snapshot.topology.datacenters]),
        "priority": spec.priority,
        "move_cost": spec.move_cost,
        "gbit_per_rru": spec.gbit_per_rru,
        "msb_share_max": np.inf if spec.msb_share_max is None else spec.msb_share_max,
        "domain_limits": limits_table(spec.domain_limits, snapshot.topology.kinds),
        "allowed": np.array(
            [not spec.datacenters or d in spec.datacenters for d in snapshot.topology.datacenters], bool
        ),
        "generation": int(q.generation[row]) if len(found) else generation,
    }
    columns = {}
    for field, value in values.items():
        column = getattr(q, field)
        new = np.empty((1, *column.shape[1:]), column.dtype)
        new[0] = value
        columns[field] = np.concatenate([column[:row], new, column[row + 1 :]])
    churned, promised = snapshot.churned, snapshot.promised_rru
    if not len(found):
        churned = None if churned is None else np.append(churned, 0)
        promised = None if promised is None else np.append(promised, 0.0)
    return replace(snapshot, reservations=Reservations(**columns), churned=churned, promised_rru=promised), row


class ImpossibleWhatIf(ValueError):
    """A what-if that contradicts the region. The message begins with the name of the wrong field."""


class UnknownName(ValueError):
    """A name in a what-if that the snapshot lacks. `field` is its path in the what-if."""

    def __init__(self, field: str, noun: str, name: str, known: Collection[str]) -> None:
        self.field, self.noun, self.name, self.known = field, noun, name, known
        super().__init__(f"{field}: there is no {noun} {name}")


def imagine(snapshot: FleetSnapshot, what_if: WhatIf, owned: Mapping[str, str]) -> FleetSnapshot:
    """Return the snapshot with all changes of the what-if. Added servers come last, with negative ids.

    owned   reservation -> owner; changes of demand and traffic apply only to these reservations

    Raises UnknownName and ImpossibleWhatIf.
    """
    if what_if.policy:  # such a change ends the roll-out of another policy, and so its canary
        snapshot = replace(snapshot, policy=replace(snapshot.policy, **what_if.policy), canary=None)
    for k, demand in enumerate(what_if.demand):
        snapshot = _with_demand(snapshot, demand, owned, f"demand[{k}]")
    for k, new in enumerate(what_if.create):
        if new.name in snapshot.reservations.name:
            raise ImpossibleWhatIf(f"create[{k}].name: there is a reservation {new.name} by now")
        snapshot, _ = with_reservation(snapshot, new.name, new.spec)
    for k, loss in enumerate(what_if.lose):
        snapshot = _without(snapshot, _lost(snapshot, loss, f"lose[{k}]"))
    types, racks = snapshot.hardware_types, snapshot.topology.racks
    for k, name in enumerate(what_if.remove_hardware_types):
        gone = _index(types, name, f"remove_hardware_types[{k}]", "hardware type")
        snapshot = _without(snapshot, snapshot.servers.hardware_type == gone)
    for k, name in enumerate(what_if.withdraw_racks):
        snapshot = _without(snapshot, snapshot.servers.rack == _index(racks, name, f"withdraw_racks[{k}]", "rack"))
    for k, added in enumerate(what_if.add_racks):
        snapshot = _with_racks(snapshot, added, f"add_racks[{k}]")
    if what_if.power_limits:
        snapshot = _with_power_limits(snapshot, what_if.power_limits)
    if what_if.uplink_limits:
        snapshot = _with_uplink_limits(snapshot, what_if.uplink_limits)
    return _with_traffic(snapshot, what_if.traffic, owned) if what_if.traffic else snapshot


def _with_demand(snapshot: FleetSnapshot, demand: Demand, owned: Mapping[str, str], field: str) -> FleetSnapshot:
    q = snapshot.reservations
    if demand.reservation is not None:
        chosen = [_index(q.name, demand.reservation, f"{field}.reservation", "reservation")]
        if demand.reservation not in owned:
            raise UnknownName(f"{field}.reservation", "reservation of an owner", demand.reservation, owned)
    else:
        if demand.owner is not None and demand.owner not in owned.values():
            raise UnknownName(f"{field}.owner", "owner", demand.owner, set(owned.values()))
        wanted = {name for name, owner in owned.items() if demand.owner in (None, owner)}
        chosen = [row for row, name in enumerate(q.name) if name in wanted]
    capacity = q.capacity_rru.copy()
    if demand.capacity_rru is not None:
        capacity[chosen] = demand.capacity_rru
    elif demand.scale is not None:
        capacity[chosen] *= demand.scale
    if not ((capacity[chosen] >= RRU_MIN) & (capacity[chosen] <= CAPACITY_RRU_MAX)).all():
        raise ImpossibleWhatIf(f"{field}: a capacity must be from {RRU_MIN:g} to {CAPACITY_RRU_MAX:g} RRU")
    return replace(snapshot, reservations=replace(q, capacity_rru=capacity))


def _lost(snapshot: FleetSnapshot, loss: Loss, field: str) -> Bools:
    """Return a (S,) mask of the servers in the lost domain."""
    t, servers = snapshot.topology, snapshot.servers
    where: dict[str, tuple[Names, Indices]] = {
        DATACENTER: (t.datacenters, snapshot.server_datacenter),
        MSB: (t.msbs, snapshot.server_msb),
        RACK: (t.racks, servers.rack),
    }
    where |= {kind.name: (kind.domains, servers.domain[:, j]) for j, kind in enumerate(t.kinds)}
    if loss.scope not in where:
        raise UnknownName(f"{field}.scope", "kind of domain", loss.scope, where)
    names, of = where[loss.scope]
    return np.asarray(of == _index(names, loss.name, f"{field}.name", loss.scope))


def _without(snapshot: FleetSnapshot, gone: Bools) -> FleetSnapshot:
    servers = snapshot.servers
    return replace(snapshot, servers=replace(servers, available=servers.available & ~gone))


def _with_racks(snapshot: FleetSnapshot, added: NewRacks, field: str) -> FleetSnapshot:
    """Add racks of free servers under unused names, without limits on their uplinks.

    Raises UnknownName for an unknown MSB or hardware type.
    """
    s, t = snapshot.servers, snapshot.topology
    msb = _index(t.msbs, added.msb, f"{field}.msb", "MSB")
    hardware_type = _index(snapshot.hardware_types, added.hardware_type, f"{field}.hardware_type", "hardware type")
    first, count = len(t.racks), added.racks * added.servers_per_rack
    return with_added_racks(
        snapshot,
        np.array([f"new-{first + k}" for k in range(added.racks)], object),
        np.full(added.racks, msb),
        server=np.array([f"new-{len(s) + k}" for k in range(count)], object),
        rack=np.arange(added.racks).repeat(added.servers_per_rack),
        hardware_type=hardware_type,
    )


def _with_power_limits(snapshot: FleetSnapshot, changes: Sequence[PowerLimitChange]) -> FleetSnapshot:
    """Set limits on the power of domains. The domains that are not named keep theirs."""
    topology, none = snapshot.topology, np.zeros(len(snapshot.hardware_types))
    power = snapshot.power or Power(idle_w=none, full_w=none)
    domains = {MSB_KIND: topology.msbs} | {kind.name: kind.domains for kind in topology.kinds}
    limits = {(one.kind, one.domain): one for one in power.limits}
    for k, change in enumerate(changes):
        if change.kind not in domains:
            raise UnknownName(f"power_limits[{k}].kind", "kind of domain", change.kind, domains)
        _index(domains[change.kind], change.domain, f"power_limits[{k}].domain", change.kind)
        place = change.kind, change.domain
        headroom = change.headroom
        if headroom is None:
            headroom = limits[place].headroom if place in limits else 0.0
        limits[place] = PowerLimit(kind=change.kind, domain=change.domain, limit_w=change.limit_w, headroom=headroom)
    return replace(snapshot, power=replace(power, limits=tuple(limits.values())))


def _with_uplink_limits(snapshot: FleetSnapshot, changes: Sequence[UplinkLimitChange]) -> FleetSnapshot:
    """Set and lift limits on the uplinks of racks. A change without a rack is for all racks that no other one names."""
    racks = snapshot.topology.racks
    every = [_limit_gbit(one) for one in changes if one.rack is None]
    if every:
        limits = np.full(len(racks), every[-1])
    else:
        limits = np.full(len(racks), np.inf) if snapshot.uplinks is None else snapshot.uplinks.copy()
    for k, change in enumerate(changes):
        if change.rack is not None:
            limits[_index(racks, change.rack, f"uplink_limits[{k}].rack", "rack")] = _limit_gbit(change)
    return replace(snapshot, uplinks=limits)


def _limit_gbit(change: UplinkLimitChange) -> float:
    return np.inf if change.limit_gbit is None else change.limit_gbit


def _with_traffic(snapshot: FleetSnapshot, changes: Sequence[TrafficChange], owned: Mapping[str, str]) -> FleetSnapshot:
    q = snapshot.reservations
    sends = q.gbit_per_rru.copy()
    for k, change in enumerate(changes):
        field = f"traffic[{k}].reservation"
        row = _index(q.name, change.reservation, field, "reservation")
        if change.reservation not in owned:
            raise UnknownName(field, "reservation of an owner", change.reservation, owned)
        sends[row] = change.gbit_per_rru
    return replace(snapshot, reservations=replace(q, gbit_per_rru=sends))


def _index(names: Any, name: str, field: str, noun: str) -> int:
    found = np.flatnonzero(names == name)
    if not len(found):
        raise UnknownName(field, noun, name, names.tolist())
    return int(found[0])
