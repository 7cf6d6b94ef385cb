"""List the constraints and costs that may decide which servers a reservation has.

Make for each of them the region of the one reservation without that constraint or cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from libs.domain.added_racks import with_added_racks
from libs.domain.domain_limits import LIMITS, MSB, limit_kinds
from libs.domain.fleet import FleetSnapshot
from libs.domain.guest import guest_name, host_share, is_guest_resource
from libs.domain.limited_kinds import limited_kinds
from libs.ras.power_relief import has_power_limits, without_power_limits
from libs.ras.single_reservation import with_servers


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A constraint or cost that may decide which servers a reservation has.

    Without the constraint or cost no answer costs more. So the best answer with it stays possible. A guest is the
    exception: without it each server is worth more, so servers above the fewest and buffers may cost more.

    name      an identifier that clients may match, CamelCase
    subject   the hardware type, the kind of domain or the resource that the constraint is about; None: about none
    applies   returns whether the region has the constraint or cost
    relax     returns the region without the constraint or cost. It has the same servers, and perhaps more servers after
              these
    """

    name: str
    subject: str | None
    applies: Callable[[FleetSnapshot], bool]
    relax: Callable[[FleetSnapshot], FleetSnapshot]


def _free_of(snapshot: FleetSnapshot, *costs: str) -> FleetSnapshot:
    return snapshot.with_costs(**dict.fromkeys(costs, 0.0))


def _asking(snapshot: FleetSnapshot, column: str, value: object) -> FleetSnapshot:
    whole = np.full_like(getattr(snapshot.reservations, column), value)
    return replace(snapshot, reservations=replace(snapshot.reservations, **{column: whole}))


def _costs(snapshot: FleetSnapshot, *prices: str) -> bool:
    """Return whether one of these prices of the only reservation is above 0."""
    return any(snapshot.price(name)[0] > 0 for name in prices)


_OF_MOVES = ("move_cost_idle", "move_cost_in_use")
MOVE_COST = Relaxation(
    "MoveCost",
    None,
    lambda s: bool((s.servers.lasting & (s.servers.target == 0)).any()) and _costs(s, *_OF_MOVES),
    lambda s: _free_of(s, *_OF_MOVES),
)
"""Leaving a server costs nothing (expression 1)."""

ALWAYS = (
    Relaxation(
        "Capacity",
        None,
        lambda s: bool(s.reservations.capacity_rru[0] > 0),
        lambda s: _free_of(s, "shortfall_cost"),
    ),
    Relaxation(
        "MsbLoss",
        None,
        lambda s: bool(s.reservations.survives_msb_loss[0]),
        lambda s: _asking(s, "survives_msb_loss", False),
    ),
    Relaxation(
        "BufferCost",
        None,
        lambda s: any(loss.survives[0] for loss in s.losses) and _costs(s, "buffer_cost"),
        lambda s: _free_of(s, "buffer_cost"),
    ),
    Relaxation(
        "SurplusCost",
        None,
        lambda s: _costs(s, "surplus_cost"),
        lambda s: _free_of(s, "surplus_cost"),
    ),
    Relaxation(
        "MsbSpread",
        None,
        lambda s: bool(np.isfinite(s.reservations.msb_spread_limit[0])) and _costs(s, "spread_cost"),
        lambda s: _asking(s, "msb_spread_limit", np.inf),
    ),
    Relaxation(
        "Affinity",
        None,
        lambda s: not bool(np.isnan(s.reservations.affinity_share).all()),
        lambda s: _asking(s, "affinity_share", np.nan),
    ),
    Relaxation(
        "MsbShareMax",
        None,
        lambda s: bool(np.isfinite(s.reservations.msb_share_max[0])),
        lambda s: _asking(s, "msb_share_max", np.inf),
    ),
    Relaxation(
        "Datacenters",
        None,
        lambda s: not bool(s.reservations.allowed.all()),
        lambda s: _asking(s, "allowed", True),
    ),
    Relaxation("PowerLimits", None, has_power_limits, without_power_limits),
)
"""A shortfall costs nothing (6); the loss of an MSB need not be survived (4, 6); the embedded buffer is free (4); a
server above the fewest is free; an MSB may hold any share (3); no datacenter is preferred (7); and the hard
limits of the reservation and of power.
"""


def losses_of(snapshot: FleetSnapshot) -> list[Relaxation]:
    """Return a relaxation for each further kind of domain whose loss the reservation survives: it need not (4, 6)."""
    return [_loss_of(j, kind.name) for j, kind in enumerate(snapshot.topology.kinds)]


def _loss_of(j: int, kind: str) -> Relaxation:
    def without(snapshot: FleetSnapshot) -> FleetSnapshot:
        survives = snapshot.reservations.survives_loss_of.copy()
        survives[:, j] = False
        return replace(snapshot, reservations=replace(snapshot.reservations, survives_loss_of=survives))

    return Relaxation("DomainLoss", kind, lambda s: bool(s.reservations.survives_loss_of[0, j]), without)


def resources_of(snapshot: FleetSnapshot) -> list[Relaxation]:
    """Return a relaxation for each resource that the reservation asks for: a lack of it costs nothing (6). Without a
    guest, the reservation also has the share of each server that the guest has.
    """
    asked = snapshot.reservations.resources[0]
    return [_resource_of(k, str(snapshot.resources.names[k])) for k in np.flatnonzero(asked > 0).tolist()]


def _resource_of(k: int, resource: str) -> Relaxation:
    def without(snapshot: FleetSnapshot) -> FleetSnapshot:
        q, waived = snapshot.reservations, snapshot.resources.waived | {resource}
        guests = [guest for guest in snapshot.guests if guest.host == str(q.name[0])]
        others = [guest for guest in guests if guest.resource != resource]
        if len(others) < len(guests):
            q = replace(q, rru=q.rru * (host_share(others) / host_share(guests)))
        return replace(snapshot, reservations=q, resources=replace(snapshot.resources, waived=waived))

    name, subject = ("Guest", guest_name(resource)) if is_guest_resource(resource) else ("Resource", resource)
    return Relaxation(name, subject, lambda s: bool(s.reservations.resources[0, k] > 0), without)


def limits_of(snapshot: FleetSnapshot) -> list[Relaxation]:
    """Return a relaxation for each limit that the reservation has for a kind of domain (docs/designs/0054)."""
    names = limit_kinds(snapshot.topology.kinds)
    return [_limit_of(k, n, names[k]) for k, n in np.argwhere(np.isfinite(snapshot.reservations.domain_limits[0]))]


def _limit_of(k: int, n: int, kind: str) -> Relaxation:
    def without(snapshot: FleetSnapshot) -> FleetSnapshot:
        limits = snapshot.reservations.domain_limits.copy()
        limits[:, k, n] = np.inf
        return replace(snapshot, reservations=replace(snapshot.reservations, domain_limits=limits))

    name = "".join(part.capitalize() for part in LIMITS[n].split("_"))
    return Relaxation(name, kind, lambda s: bool(np.isfinite(s.reservations.domain_limits[0, k, n])), without)


def supply_of(snapshot: FleetSnapshot, hardware_type: int) -> Relaxation:
    """Return the relaxation that adds free servers of a hardware type in every MSB (expression 5).

    It adds as many servers as the reservation could use.
    """
    name = str(snapshot.hardware_types[hardware_type])
    return Relaxation("Supply", name, lambda s: True, lambda s: with_plenty(s, hardware_type))


def enough_of(snapshot: FleetSnapshot, hardware_type: int) -> int:
    """Return the most servers of the type `hardware_type` that the reservation could use if all stood in one MSB."""
    q = snapshot.reservations
    share = float(np.nanmax(q.affinity_share, initial=1.0)) + snapshot.policy.affinity_tolerance
    worth = snapshot.shared_rru[0, hardware_type]
    enough = math.ceil(share * float(q.capacity_rru[0]) / float(worth[0])) + 1
    if len(worth) == 1 or not (worth[1:] > 0).any():
        return enough
    more = math.ceil(share * float(q.capacity_rru[0]) / float(worth[worth > 0].min())) + 1
    return max(enough, min(more, len(snapshot.servers)))  # little of a resource in each could take very many


def of_use(snapshot: FleetSnapshot) -> FleetSnapshot:
    """Return the region of one reservation without the free servers that it could not use, so that MSBs look alike.

    At most `enough_of` servers of a hardware type remain in an MSB, with the reservation's own servers. No free server
    of a type without RRU for the reservation remains.
    """
    s, T = snapshot.servers, len(snapshot.hardware_types)
    useful = np.array([enough_of(snapshot, t) if snapshot.reservations.rru[0, t] > 0 else 0 for t in range(T)])
    place, places = snapshot.server_msb.astype(np.int64) * T + s.hardware_type, len(snapshot.topology.msbs) * T
    split = [(loss.of, len(loss.domains)) for loss in snapshot.losses[1:]]
    split += [(kind.of, len(kind.domains)) for kind in limited_kinds(snapshot) if kind.kind != MSB]
    for of, domains in split:
        place, places = place * domains + of, places * domains
    held = np.bincount(place[s.lasting & (s.target == 0)], minlength=places)
    free = np.flatnonzero(s.lasting & (s.target != 0))
    order = free[np.argsort(place[free], kind="stable")]
    nth = np.arange(len(order)) - np.searchsorted(place[order], place[order])
    kept = s.target == 0
    kept[order] = nth < np.maximum(useful[s.hardware_type[order]] - held[place[order]], 0)
    return with_servers(snapshot, np.flatnonzero(kept).astype(np.int32))


def with_plenty(snapshot: FleetSnapshot, hardware_type: int) -> FleetSnapshot:
    """Return the region of one reservation with additional free servers of a hardware type.

    Every MSB gets one new rack with `enough_of` such servers.
    """
    msbs = snapshot.topology.msbs
    rack = np.arange(len(msbs)).repeat(enough_of(snapshot, hardware_type))
    return with_added_racks(
        snapshot,
        np.array([f"more in {msb}" for msb in msbs], object),
        np.arange(len(msbs)),
        server=np.full(len(rack), "", object),
        rack=rack,
        hardware_type=hardware_type,
    )
