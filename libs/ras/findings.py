"""Derive a finding for each reservation from its targets: whether its servers cover its capacity. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from libs.domain.arrays import Bools, Indices, Ints
from libs.domain.domain_kind import MSB_KIND, one_of
from libs.domain.finding import NewFinding
from libs.domain.fleet import FleetSnapshot
from libs.domain.guest import Guest, on_servers_of
from libs.domain.locality import domains_held, further_domains, preferring_kinds
from libs.domain.reservation import Coverage
from libs.domain.reservation_phase import ReservationPhase
from libs.domain.resources import resources_in
from libs.ras.awaited_losses import awaited_by_kind
from libs.ras.helpful_servers import helpful_servers
from libs.ras.shortage import describe_shortage, stock_of


def findings_of(
    snapshot: FleetSnapshot, target: Indices, free: Ints, coverage: Mapping[int, Coverage]
) -> list[NewFinding]:
    """Return a finding for every reservation of the snapshot, in the snapshot's order, and then for every guest.

    target     (S,) the targets of the committed plan
    free       (N,) ids of the free servers that plans may count on
    coverage   id of a reservation -> the capacity of its present targets

    Read `free` and `coverage` after the commit of a plan, because the commit leaves alone servers that changed during
    the solve.
    """
    q = snapshot.reservations
    is_free = np.isin(snapshot.servers.id, free)
    ground = _Ground(snapshot, target, is_free, stock_of(snapshot), awaited_by_kind(snapshot))
    row_of = {str(name): row for row, name in enumerate(q.name)}
    found = [_finding(ground, row, coverage[int(reservation_id)]) for row, reservation_id in enumerate(q.id)]
    further = further_domains(snapshot, target)
    for kind in preferring_kinds(snapshot):
        held = domains_held(snapshot, kind, target)
        for row in np.flatnonzero(held > kind.preferred).tolist():
            said = f"It lies in {held[row]} domains of the kind {kind.kind}, and prefers {kind.preferred[row]:g}."
            numbers = {**found[row].numbers, "further_domains": float(further[row])}
            found[row] = replace(found[row], message=f"{found[row].message} {said}", numbers=numbers)
    for guest in snapshot.guests:
        found.append(_finding(ground, row_of[guest.host], coverage[guest.reservation_id], guest))
    return found


def found_ids(snapshot: FleetSnapshot) -> list[int]:
    """Return the ids of the reservations and guests that `findings_of` tells of, in its order."""
    return [*snapshot.reservations.id.tolist(), *(guest.reservation_id for guest in snapshot.guests)]


def covered_finding(reservation_id: int, generation: int, capacity_rru: float, covered: Coverage) -> NewFinding:
    """Return the finding for a reservation whose targets lack nothing."""
    return NewFinding(
        reservation_id=reservation_id,
        observed_generation=generation,
        phase=ReservationPhase.GRANTED,
        reason="Granted",
        message=f"Its {covered.servers} servers, once they are all there, cover {capacity_rru:g} RRU.",
        numbers=_numbers(capacity_rru, covered),
    )


def _numbers(capacity_rru: float, covered: Coverage) -> dict[str, float]:
    return {
        "capacity_rru": capacity_rru,
        "total_rru": covered.total_rru,
        "largest_msb_rru": covered.worst_msb_rru,
        "servers": float(covered.servers),
    }


@dataclass(frozen=True, slots=True)
class _Ground:
    """The state that all findings rest on.

    target  (S,) the committed targets
    free    (S,) servers that plans may count on
    stock   (T,) servers of each hardware type
    awaits  row of a reservation -> kind of loss -> servers that it awaits
    """

    snapshot: FleetSnapshot
    target: Indices
    free: Bools
    stock: Ints
    awaits: Mapping[int, Mapping[str, int]]


def _finding(ground: _Ground, row: int, covered: Coverage, guest: Guest | None = None) -> NewFinding:
    """Return the finding for the reservation at `row`, or for a guest of it."""
    snapshot = ground.snapshot
    q = snapshot.reservations
    reservation_id, generation = int(q.id[row]), int(q.generation[row])
    capacity_rru, where = float(q.capacity_rru[row]), ""
    if guest is not None:
        reservation_id, generation = guest.reservation_id, guest.generation
        capacity_rru, where = guest.spec.capacity_rru, on_servers_of(guest.host)
    if covered.shortfall_rru == 0:
        message = f"{where}its share of {covered.servers}, once they are all there, covers {capacity_rru:g} RRU."
        found = covered_finding(reservation_id, generation, capacity_rru, covered)
        return found if guest is None else replace(found, message=message)
    numbers = _numbers(capacity_rru, covered)
    awaits = ground.awaits.get(row, {})
    if awaits and covered.keeps(capacity_rru):
        hours, awaited = snapshot.policy.rebuild_after_s / 3600, sum(awaits.values())
        lost = " and of ".join(map(one_of, awaits))
        return NewFinding(
            reservation_id=reservation_id,
            observed_generation=generation,
            phase=ReservationPhase.DEGRADED,
            reason="MsbAwaited" if [*awaits] == [MSB_KIND] else "DomainAwaited",
            message=f"{where}Its embedded buffer covers the loss of {lost} with {awaited} of its servers. It is "
            f"rebuilt if they are not back {hours:g} h after the loss (rebuild_after_s of the region's policy).",
            numbers={**numbers, "short_rru": covered.shortfall_rru, "awaited_servers": float(awaited)},
        )
    known = resources_in(q.resources[row], snapshot.resources)  # it may ask for another one since
    scarce = covered.scarce(capacity_rru)
    resource = scarce.resource if scarce is not None and scarce.resource in known else None
    resource = resource if guest is None else guest.resource
    short_rru = covered.shortfall_rru if guest is None else _in_host_rru(snapshot, row, guest, covered.shortfall_rru)
    helpful = helpful_servers(
        snapshot, ground.target, row, free=ground.free, short_rru=short_rru, worst=covered.worst, resource=resource
    )
    short = describe_shortage(
        snapshot,
        row,
        stock=ground.stock,
        short_rru=short_rru,
        worst=covered.worst,
        free_servers=helpful.servers,
        beyond_shares=helpful.beyond_shares,
        resource=resource,
    )
    return NewFinding(
        reservation_id=reservation_id,
        observed_generation=generation,
        phase=ReservationPhase.DEGRADED,
        reason=short.reason,
        message=f"{where}{short.message}",
        numbers={**numbers, **short.numbers} | ({} if guest is None else {"short_rru": covered.shortfall_rru}),
    )


def _in_host_rru(snapshot: FleetSnapshot, row: int, guest: Guest, rru: float) -> float:
    """Return the share of the host's RRU that some RRU of its guest stand for."""
    measure = next(one for one in snapshot.measures_of(row) if one.resource == guest.resource)
    return rru * float(measure.share[0] * measure.worth[0])
