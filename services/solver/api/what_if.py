"""Read a what-if from JSON. Every part is bounded, and every name must exist."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain, islice
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from libs.domain.domain_kind import PLACE_KINDS
from libs.domain.region import Region
from libs.domain.reservation import CAPACITY_RRU_MAX, RRU_MIN
from libs.domain.simulation import (
    Demand,
    Loss,
    NewRacks,
    NewReservation,
    PowerLimitChange,
    TrafficChange,
    UplinkLimitChange,
    WhatIf,
)
from libs.store.capacity.reservations import find_reservations, live_names, load_owners
from libs.store.fleet.guests import load_guests
from libs.store.fleet.known_names import (
    empty_places,
    hardware_types_of,
    known_kinds,
    known_msbs,
    known_places,
    known_racks,
)
from libs.store.platform.database import Transaction
from libs.web.domain_kinds import PlaceKind
from libs.web.filled_specs import filled_in
from libs.web.model import Name, Number, Owner, RequestModel, SomeName, Whole
from libs.web.names import not_begun, unknown_name
from libs.web.names_in_specs import wrong_names
from libs.web.policy_model import policy_change
from libs.web.power_limits import Headroom, LimitedDomainIn, wrong_limits
from libs.web.problems import FieldError, Problem, invalid
from libs.web.specs import SpecIn
from libs.web.uplinks import GbitPerRru, LimitGbit

_PARTS_MAX = 100
_ERRORS_MAX = 20
"""Most wrong fields that a refusal names. Each unknown name is compared with some 1,000 known ones."""
_SERVERS_MAX = 20_000
"""Largest number of servers that a what-if may add in total."""


class SimulatedPolicy(policy_change(simulated=True)):  # type: ignore[misc]  # a base that is made
    """Costs that differ from the region's. Omitted costs stay."""


class DemandIn(RequestModel):
    """A change of capacity for one reservation, for all of an owner, or for all. A number is possible for one only."""

    reservation: SomeName | None = Field(default=None, description="This one")
    owner: SomeName | None = Field(
        default=None, description="All reservations of this owner; without owner and reservation, all of the region"
    )
    capacity_rru: Annotated[Number, Field(ge=RRU_MIN, le=CAPACITY_RRU_MAX)] | None = Field(
        default=None, description="For one: in RRU"
    )
    scale: Annotated[Number, Field(gt=0, le=1000)] | None = Field(
        default=None, description="Factor on the present capacity in RRU. Resources and guests keep what they ask for"
    )


class NewReservationIn(RequestModel):
    """A reservation to create in the simulation."""

    name: Name
    owner: Owner
    spec: SpecIn


class LossIn(RequestModel):
    """A domain that is down with all its servers."""

    scope: PlaceKind = Field(
        description="datacenter, msb, rack, or a further kind of the region, such as network_block"
    )
    name: SomeName


class NewRacksIn(RequestModel):
    """Racks of free servers of one type."""

    msb: SomeName
    hardware_type: SomeName
    racks: Annotated[Whole, Field(ge=1, le=1000)] = 1
    servers_per_rack: Annotated[Whole, Field(ge=1, le=1000)]


class PowerLimitChangeIn(LimitedDomainIn):
    """Another limit on the power of a domain. The other domains keep theirs."""

    headroom: Headroom | None = Field(
        default=None, description="Share of limit_w that plans keep free; omitted: as it is, or 0 for a new limit"
    )


class UplinkLimitChangeIn(RequestModel):
    """Another limit on the uplink of a rack. The other racks keep theirs."""

    rack: SomeName | None = Field(default=None, description="Omitted: all racks that no other entry names")
    limit_gbit: LimitGbit | None = Field(description="Gbit/s that the rack may send; null: no limit")


class TrafficChangeIn(RequestModel):
    """Other traffic of a reservation."""

    reservation: SomeName
    gbit_per_rru: GbitPerRru = Field(description="Gbit/s that one RRU sends out of its rack")


class SimulationIn(RequestModel):
    """A region, and the changes to simulate. Changes of demand and policy can be applied later; the others cannot."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"region": "west", "demand": [{"scale": 1.2}], "policy": {"buffer_cost": 8}}]}
    )
    region: SomeName
    policy: SimulatedPolicy | None = None
    demand: Annotated[list[DemandIn], Field(max_length=_PARTS_MAX)] = Field(default_factory=list)
    create: Annotated[list[NewReservationIn], Field(max_length=_PARTS_MAX)] = Field(default_factory=list)
    lose: Annotated[list[LossIn], Field(max_length=_PARTS_MAX)] = Field(default_factory=list)
    add_racks: Annotated[list[NewRacksIn], Field(max_length=_PARTS_MAX)] = Field(default_factory=list)
    remove_hardware_types: Annotated[list[SomeName], Field(max_length=_PARTS_MAX)] = Field(default_factory=list)
    withdraw_racks: Annotated[list[SomeName], Field(max_length=_PARTS_MAX)] = Field(default_factory=list)
    power_limits: Annotated[list[PowerLimitChangeIn], Field(max_length=_PARTS_MAX)] = Field(default_factory=list)
    uplink_limits: Annotated[list[UplinkLimitChangeIn], Field(max_length=_PARTS_MAX)] = Field(default_factory=list)
    traffic: Annotated[list[TrafficChangeIn], Field(max_length=_PARTS_MAX)] = Field(default_factory=list)


def to_what_if(tx: Transaction, region: Region, body: SimulationIn) -> WhatIf:
    """Return the what-if of a request. Raises Problem (422) that names at most _ERRORS_MAX wrong fields."""
    errors = [*islice(chain(_ill_formed(body), _unknown(tx, region, body)), _ERRORS_MAX)]
    specs, types = [], hardware_types_of(tx, region.region_id) if body.create else ()
    for k, new in enumerate(body.create):
        try:
            spec = new.spec.to_spec()
            if spec.guest_of is not None:
                message = "is for requests: ask with dry_run whether a guest finds room, or simulate more of its host"
                raise invalid(_error("spec.guest_of", "not_simulated", message))
            wrong = wrong_names(tx, region, spec, types)
            if wrong:
                raise invalid(*wrong)
            specs.append(filled_in(tx, region, new.name, spec))
        except Problem as problem:
            errors += [e.model_copy(update={"field": f"create[{k}].{e.field}"}) for e in problem.errors]
    if errors:
        raise invalid(*errors[:_ERRORS_MAX])
    return WhatIf(
        policy=body.policy.model_dump(exclude_unset=True) if body.policy is not None else {},
        demand=tuple(Demand(**one.model_dump()) for one in body.demand),
        create=tuple(
            NewReservation(name=new.name, owner=new.owner, spec=spec)
            for new, spec in zip(body.create, specs, strict=True)
        ),
        lose=tuple(Loss(scope=one.scope, name=one.name) for one in body.lose),
        add_racks=tuple(NewRacks(**one.model_dump()) for one in body.add_racks),
        remove_hardware_types=tuple(body.remove_hardware_types),
        withdraw_racks=tuple(body.withdraw_racks),
        power_limits=tuple(PowerLimitChange(**one.model_dump()) for one in body.power_limits),
        uplink_limits=tuple(UplinkLimitChange(**one.model_dump()) for one in body.uplink_limits),
        traffic=tuple(TrafficChange(**one.model_dump()) for one in body.traffic),
    )


def _ill_formed(body: SimulationIn) -> Iterator[FieldError]:
    changes = [name for name in SimulationIn.model_fields if name != "region"]
    if not any(getattr(body, name) for name in changes):
        yield _error("demand", "missing", f"name at least one change: {', '.join(changes)}")
    for k, one in enumerate(body.demand):
        if (one.capacity_rru is None) == (one.scale is None):
            yield _error(f"demand[{k}].scale", "conflict", "give either scale or capacity_rru")
        if one.reservation is not None and one.owner is not None:
            yield _error(f"demand[{k}].owner", "conflict", "give either reservation or owner")
        if one.capacity_rru is not None and one.reservation is None:
            yield _error(
                f"demand[{k}].capacity_rru", "conflict", "is for one reservation: name the reservation, or give scale"
            )
    if sum(one.racks * one.servers_per_rack for one in body.add_racks) > _SERVERS_MAX:
        yield _error("add_racks", "too_many", f"adds more than {_SERVERS_MAX} servers in all: simulate fewer")
    for k, new in enumerate(body.create):
        for name in ("starts_at", "ends_at"):
            if getattr(new.spec, name) is not None:
                message = "a simulation has no window: request a window with a capacity request"
                yield _error(f"create[{k}].spec.{name}", "not_expected", message)


def _unknown(tx: Transaction, region: Region, body: SimulationIn) -> Iterator[FieldError]:
    """Yield names that do not exist, and new names that are taken."""
    owned, taken = load_owners(tx, region.name), live_names(tx, region.name)
    types, msbs = hardware_types_of(tx, region.region_id), known_msbs(tx, region.region_id)
    limited = [one.rack for one in body.uplink_limits]
    racks = known_racks(tx, region.region_id) if body.withdraw_racks or any(limited) else ()
    kinds = (*PLACE_KINDS, *known_kinds(tx, region.region_id)) if body.lose else ()
    lost = {one.scope for one in body.lose} & {*kinds}
    places = {kind: known_places(tx, region.region_id, kind) for kind in lost}
    empty = {kind: empty_places(tx, region.region_id, kind, _lost_of(body, kind)) for kind in lost}
    named: list[tuple[str, str, str, Collection[Any]]] = []
    for k, one in enumerate(body.demand):
        if one.reservation is not None:
            named.append((f"demand[{k}].reservation", "reservation of an owner", one.reservation, owned))
        if one.owner is not None:
            named.append((f"demand[{k}].owner", "owner", one.owner, set(owned.values())))
    for k, loss in enumerate(body.lose):
        if loss.scope in places:
            named.append((f"lose[{k}].name", loss.scope, loss.name, places[loss.scope]))
            if loss.name in empty[loss.scope]:
                message = f"no server lies in {loss.name}, so its loss changes nothing: name another {loss.scope}"
                yield _error(f"lose[{k}].name", "no_servers", message)
        else:
            named.append((f"lose[{k}].scope", "kind of domain", loss.scope, kinds))
    for k, added in enumerate(body.add_racks):
        named.append((f"add_racks[{k}].msb", "MSB", added.msb, msbs))
        named.append((f"add_racks[{k}].hardware_type", "hardware type", added.hardware_type, types))
    named += [
        (f"remove_hardware_types[{k}]", "hardware type", name, types)
        for k, name in enumerate(body.remove_hardware_types)
    ]
    named += [(f"withdraw_racks[{k}]", "rack", name, racks) for k, name in enumerate(body.withdraw_racks)]
    named += [(f"uplink_limits[{k}].rack", "rack", name, racks) for k, name in enumerate(limited) if name]
    named += [
        (f"traffic[{k}].reservation", "reservation of an owner", one.reservation, owned)
        for k, one in enumerate(body.traffic)
    ]
    unknown = [one for one in named if one[2] not in one[3]]
    hosts = {guest.name: guest.host for guest in load_guests(tx, region.region_id)} if unknown else {}
    unowned = {name for _, _, name, known in unknown if known is owned}
    later = {one.name: one for one in find_reservations(tx, region.name, unowned) if one.scheduled} if unowned else {}
    for field, noun, name, known in unknown:
        if known is owned and name in hosts:
            yield _error(field, "not_simulated", f"{name} is a guest of {hosts[name]}: name {hosts[name]}")
        elif known is owned and name in later:
            yield not_begun(field, later[name], "a what-if is of the region as it is now, so request a resize instead")
        else:
            yield unknown_name(field, noun, name, known)
    yield from wrong_limits(tx, region.region_id, body.power_limits, lambda k: f"power_limits[{k}]")
    for k, rack in enumerate(limited):
        if rack in limited[:k]:
            message = f"{'rack ' + rack if rack else 'all racks'} had a limit before: give one limit for each rack"
            yield _error(f"uplink_limits[{k}].rack", "given_twice", message)
    sending = [one.reservation for one in body.traffic]
    for k, name in enumerate(sending):
        if name in sending[:k]:
            message = f"{name} had other traffic before: give one entry for each reservation"
            yield _error(f"traffic[{k}].reservation", "given_twice", message)
    names = [new.name for new in body.create]
    for k, name in enumerate(names):
        if name in taken or name in names[:k] or name.startswith("shared-buffer-"):
            yield _error(f"create[{k}].name", "duplicate_name", "is taken: choose another, or give it as demand")


def _lost_of(body: SimulationIn, kind: str) -> set[str]:
    return {one.name for one in body.lose if one.scope == kind}


def _error(field: str, code: str, message: str) -> FieldError:
    return FieldError(field=field, location="body", code=code, message=message)
