"""Explain why a reservation has its servers: their hardware types, and their spread over MSBs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from libs.domain.arrays import Bools, Indices, Ints
from libs.domain.domain_kind import WorstDomain
from libs.domain.fleet import FREE, FleetSnapshot
from libs.ras.evaluate import Score, coverage_of, evaluate, kinds_survived, scarce_resource, worst_domain
from libs.ras.explain.deciders import TIME_S_MAX, Deciders, decide
from libs.ras.explain.move import Standing, standing_of
from libs.ras.helpful_servers import helpful_servers
from libs.ras.shortage import Shortage, describe_shortage, stock_of
from libs.ras.single_reservation import alone

HOLDERS_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """The servers of a reservation of one hardware type in one MSB.

    servers  number of the servers
    rru      the RRU of those servers that are up
    """

    msb: str
    hardware_type: str
    servers: int
    rru: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A reservation, and the number of its servers of some hardware type."""

    reservation: str
    servers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeUse:
    """A hardware type that the reservation may use, or has servers of.

    servers       number of servers of the type that the reservation has
    free_servers  number of free servers of the type
    holders       the HOLDERS_MAX other reservations with most servers of the type, shared buffers included
    """

    hardware_type: str
    rru_per_server: float
    servers: int
    free_servers: int
    holders: tuple[Holder, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSolve:
    """The effect on the reservation of the last solve that changed the region.

    Costs are computed for the present request and the present servers.

    plan_id        the id of the plan of the solve
    gained, lost   number of servers that the plan brought to the reservation, and took from it
    before, after  the costs of the reservation by term, before and after the plan
    """

    plan_id: int
    gained: int
    lost: int
    before: Score
    after: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The whole explanation of a reservation, for the targets of servers and not for their present places.

    standing    the RRU of the reservation
    survived    the kinds of domain of which it survives the loss of any one, MSBs first
    worst_msb   the name of the MSB that holds most RRU of the reservation; None if no MSB holds any
    worst       the domain whose loss takes most, of those kinds; None if it survives no loss, or holds nothing
    servers     number of its servers
    holdings    its servers by MSB and hardware type
    types       the hardware types that it may use or has
    cost        its own costs by term. The cost of moves is 0, because nothing moves
    shortage    the reasons why it is short; None if it is not short
    deciders    the constraints and costs that decide which servers it has
    last_solve  the effect of the last solve that changed the region; None without such a solve
    move_cost   the reservation's factor on the costs of moving its servers
    """

    reservation: str
    capacity_rru: float
    survives_msb_loss: bool
    survived: tuple[str, ...]
    standing: Standing
    worst_msb: str | None
    worst: WorstDomain | None
    servers: int
    holdings: tuple[Holding, ...]
    types: tuple[TypeUse, ...]
    cost: Score
    shortage: Shortage | None
    deciders: Deciders
    last_solve: LastSolve | None
    move_cost: float = 1.0


def explain(
    snapshot: FleetSnapshot,
    reservation: int,
    *,
    last_solve: LastSolve | None,
    time_s_max: float = TIME_S_MAX,
    usable: Bools | None = None,
) -> Explanation:
    """Explain the reservation in row `reservation`: its servers, their cost, and the deciders.

    last_solve  the effect of the last solve that changed the region, from `last_solve_of`
    time_s_max  seconds for the search for deciders
    usable      (S,) whether the server could be brought to a reservation now; None: all servers could. Only usable
                servers count as free
    """
    servers, q = snapshot.servers, snapshot.reservations
    mine = np.flatnonzero(servers.target == reservation).astype(np.int32)
    covered = coverage_of(snapshot, servers.target)
    short = float(covered.shortfall[reservation])
    by_msb = covered.by_msb[reservation]
    worst_msb = str(snapshot.topology.msbs[int(by_msb.argmax())]) if by_msb.any() else None
    worst = worst_domain(snapshot, covered, reservation)
    free = (servers.target < 0) & servers.lasting & (True if usable is None else usable)
    types = _types(snapshot, reservation, free)
    resource = scarce_resource(snapshot, covered, reservation)
    helpful = helpful_servers(
        snapshot, servers.target, reservation, free=free, short_rru=short, worst=worst, resource=resource
    )
    return Explanation(
        reservation=str(q.name[reservation]),
        capacity_rru=float(q.capacity_rru[reservation]),
        move_cost=float(q.move_cost[reservation]),
        survives_msb_loss=bool(q.survives_msb_loss[reservation]),
        survived=kinds_survived(snapshot, reservation),
        standing=standing_of(covered, reservation),
        worst_msb=worst_msb,
        worst=worst,
        servers=len(mine),
        holdings=_holdings(snapshot, reservation, mine),
        types=types,
        cost=_own_cost(snapshot, reservation, servers.target, servers.target),
        shortage=None
        if short <= 1e-6
        else describe_shortage(
            snapshot,
            reservation,
            stock=stock_of(snapshot),
            short_rru=short,
            worst=worst,
            free_servers=helpful.servers,
            beyond_shares=helpful.beyond_shares,
            resource=resource,
        ),
        deciders=decide(snapshot, reservation, time_s_max=time_s_max),
        last_solve=last_solve,
    )


def last_solve_of(
    snapshot: FleetSnapshot, reservation: int, plan_id: int, changed: Mapping[int, tuple[int, int | None]]
) -> LastSolve:
    """Return the effect of the plan `plan_id` on the reservation in row `reservation`.

    changed   server id -> the server's target before the plan and its target after the plan, as ids of reservations. 0
              means no reservation. A target after the plan of None means the present target
    """
    servers, ids = snapshot.servers, snapshot.reservations.id
    row_of = {int(i): row for row, i in enumerate(ids)}
    before, after = servers.target.copy(), servers.target.copy()
    at = {int(i): row for row, i in enumerate(servers.id)}
    for server_id, (was, became) in changed.items():
        row = at.get(server_id)
        if row is not None:
            before[row] = row_of.get(was, FREE)
            after[row] = servers.target[row] if became is None else row_of.get(became, FREE)
    return LastSolve(
        plan_id=plan_id,
        gained=int(((after == reservation) & (before != reservation)).sum()),
        lost=int(((before == reservation) & (after != reservation)).sum()),
        before=_own_cost(snapshot, reservation, before, before),
        after=_own_cost(snapshot, reservation, before, after),
    )


def _own_cost(snapshot: FleetSnapshot, reservation: int, before: Indices, after: Indices) -> Score:
    """Return the reservation's own costs under the binding `after` (S,), with the moves from the binding `before`."""
    rows = np.flatnonzero((before == reservation) | (after == reservation)).astype(np.int32)
    own = alone(snapshot, reservation, rows)
    old, new = (np.where(binding[rows] == reservation, 0, FREE).astype(np.int32) for binding in (before, after))
    return evaluate(replace(own, servers=replace(own.servers, target=old)), new)


def _holdings(snapshot: FleetSnapshot, reservation: int, rows: Indices) -> tuple[Holding, ...]:
    servers, types = snapshot.servers, len(snapshot.hardware_types)
    place = snapshot.server_msb[rows].astype(np.int64) * types + servers.hardware_type[rows]
    value = snapshot.reservations.rru[reservation, servers.hardware_type[rows]] * servers.available[rows]
    places, inverse = np.unique(place, return_inverse=True)
    count, rru = np.bincount(inverse, minlength=len(places)), np.bincount(inverse, value, len(places))
    return tuple(
        Holding(
            msb=str(snapshot.topology.msbs[p // types]),
            hardware_type=str(snapshot.hardware_types[p % types]),
            servers=int(n),
            rru=float(v),
        )
        for p, n, v in zip(places, count, rru, strict=True)
    )


def _types(snapshot: FleetSnapshot, reservation: int, is_free: Bools) -> tuple[TypeUse, ...]:
    servers, T = snapshot.servers, len(snapshot.hardware_types)
    bound = np.flatnonzero((servers.target >= 0) & (servers.target != reservation))
    counts = np.zeros((len(snapshot.reservations), T), np.int64)
    np.add.at(counts, (servers.target[bound], servers.hardware_type[bound]), 1)
    mine = np.bincount(servers.hardware_type[servers.target == reservation], minlength=T)
    free = np.bincount(servers.hardware_type[is_free], minlength=T)
    rru = snapshot.reservations.rru[reservation]
    return tuple(
        TypeUse(
            hardware_type=str(snapshot.hardware_types[t]),
            rru_per_server=float(rru[t]),
            servers=int(mine[t]),
            free_servers=int(free[t]),
            holders=_holders(snapshot, counts[:, t]),
        )
        for t in np.flatnonzero((rru > 0) | (mine > 0))
    )


def _holders(snapshot: FleetSnapshot, counts: Ints) -> tuple[Holder, ...]:
    """Return the reservations with most servers, of which each has `counts` (R,), most first."""
    rows = np.argsort(-counts, kind="stable")[:HOLDERS_MAX]
    names = snapshot.reservations.name
    return tuple(Holder(reservation=str(names[r]), servers=int(counts[r])) for r in rows if counts[r])
