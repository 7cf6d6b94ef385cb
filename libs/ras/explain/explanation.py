"""Explain the hardware mix of a reservation, and its spread over MSBs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from libs.domain.arrays import Bools, Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.ras.evaluate import Score, coverage_of, evaluate
from libs.ras.explain.deciders import Deciders, decide
from libs.ras.explain.move import Standing, standing_of
from libs.ras.shortage import Shortage, describe_shortage, stock_of
from libs.ras.single_reservation import alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Servers of one hardware type in one MSB, and the RRU of those that are up."""

    msb: str
    hardware_type: str
    servers: int
    rru: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeUse:
    """A hardware type that the reservation may use, or has servers of: the numbers of its own and of the free
    servers.
    """

    hardware_type: str
    rru_per_server: float
    servers: int
    free_servers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSolve:
    """The effect of the region's last changing solve on the reservation, by today's spec and servers.

    gained, lost   servers
    before, after  its costs by term
    """

    plan_id: int
    gained: int
    lost: int
    before: Score
    after: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The whole explanation, by targets. cost: the reservation's own costs by term; moving is 0, because nothing
    moves.
    """

    reservation: str
    capacity_rru: float
    survives_msb_loss: bool
    standing: Standing
    worst_msb: str | None
    servers: int
    holdings: tuple[Holding, ...]
    types: tuple[TypeUse, ...]
    cost: Score
    shortage: Shortage | None
    deciders: Deciders
    last_solve: LastSolve | None


def explain(
    snapshot: FleetSnapshot,
    reservation: int,
    *,
    last_solve: LastSolve | None,
    time_s_max: float = 10.0,
    usable: Bools | None = None,
) -> Explanation:
    """Explain one reservation (row): its servers, their cost, and the deciders.

    usable   (S,) servers that could be brought to a reservation now; None: all that are up. Only those count as free
    """
    servers, q = snapshot.servers, snapshot.reservations
    mine = np.flatnonzero(servers.target == reservation).astype(np.int32)
    covered = coverage_of(snapshot, servers.target)
    short = float(covered.shortfall[reservation])
    by_msb = covered.by_msb[reservation]
    worst = str(snapshot.topology.msbs[int(by_msb.argmax())]) if by_msb.any() else None
    free = (servers.target < 0) & servers.lasting & (True if usable is None else usable)
    types = _types(snapshot, reservation, free)
    helps = free & (q.rru[reservation, servers.hardware_type] > 0)
    if q.survives_msb_loss[reservation] and worst is not None:
        helps &= snapshot.server_msb != by_msb.argmax()
    return Explanation(
        reservation=str(q.name[reservation]),
        capacity_rru=float(q.capacity_rru[reservation]),
        survives_msb_loss=bool(q.survives_msb_loss[reservation]),
        standing=standing_of(covered, reservation),
        worst_msb=worst,
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
            worst_msb=worst,
            free_servers=int(helps.sum()),
        ),
        deciders=decide(snapshot, reservation, time_s_max=time_s_max),
        last_solve=last_solve,
    )


def last_solve_of(
    snapshot: FleetSnapshot, reservation: int, plan_id: int, changed: Mapping[int, tuple[int, int | None]]
) -> LastSolve:
    """Return the effect of a plan on a reservation.

    changed   server id -> its target before the plan and after it, as reservation ids (0: none; after None: as now)
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
    """Return one reservation's own costs with the servers of `after`, moved from those of `before`."""
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
    mine = np.bincount(servers.hardware_type[servers.target == reservation], minlength=T)
    free = np.bincount(servers.hardware_type[is_free], minlength=T)
    rru = snapshot.reservations.rru[reservation]
    return tuple(
        TypeUse(
            hardware_type=str(snapshot.hardware_types[t]),
            rru_per_server=float(rru[t]),
            servers=int(mine[t]),
            free_servers=int(free[t]),
        )
        for t in np.flatnonzero((rru > 0) | (mine > 0))
    )
