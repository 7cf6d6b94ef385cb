"""Keep servers that would become free with reservations that hold too little even without a loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.reservation import ROUNDING
from libs.domain.violation import Violation
from libs.plan_check.check import check_plan
from libs.plan_check.hard_limits import outside
from libs.ras.evaluate import coverage_of
from libs.ras.solve_result import SolveResult


def with_held(snapshot: FleetSnapshot, result: SolveResult) -> SolveResult:
    """Return the result of a solve with the plan of keep_lawfully. Its report stays that of the solve."""
    return replace(result, plan=keep_lawfully(snapshot, result.plan))


def keep_lawfully(snapshot: FleetSnapshot, plan: TargetPlan) -> TargetPlan:
    """Return the plan with the targets that follow from keep_held, as far as check_plan has nothing against them.

    A server that comes back can worsen the affinity of its reservation. It can also use up the gain that allows a loss
    elsewhere, or a breach of the churn budget. So what check_plan names is undone: the server, else all servers of the
    reservation, else all. A lawful plan stays lawful.
    """
    kept = replace(plan, target=keep_held(snapshot, plan.target))
    while (back := kept.target != plan.target).any() and (violations := check_plan(snapshot, kept)):
        named = back & _named(snapshot, kept.target, violations)
        undone = named if named.any() else back
        kept = replace(kept, target=np.where(undone, plan.target, kept.target))
    return kept


def _named(snapshot: FleetSnapshot, target: Indices, violations: list[Violation]) -> Bools:
    """Return a (S,) mask of the servers that violations name, and of all servers of reservations that they name."""
    servers = {violation.server for violation in violations}
    reservations = {violation.reservation for violation in violations if violation.server is None}
    of_named = np.array([name in reservations for name in snapshot.reservations.name] + [False])
    by_name = np.array([name in servers for name in snapshot.servers.name])
    return np.asarray(by_name | of_named[np.maximum(target, FREE)])


def keep_held(snapshot: FleetSnapshot, target: Indices) -> Indices:
    """Return the targets (S,) after reservations below their capacity have kept servers that were to become free.

    A reservation that survives no loss of an MSB anyway saves its buffer if it has no servers at all (expressions 4 and
    6). But its owner runs on what is there, and the mover frees no server that a reservation lacks. So it keeps the
    servers that it still holds, as far as they give what it lacks and its hard limits allow. Servers in use come first.
    """
    servers, q = snapshot.servers, snapshot.reservations
    held = np.where((target == FREE) & servers.lasting, np.maximum(servers.current, FREE), FREE)
    held[outside(snapshot, held)] = FREE
    held[np.append(q.limits_domains, False)[held]] = FREE  # its domains are those of the plan
    rows = np.flatnonzero(held >= 0)
    if not len(rows):
        return target
    covered = coverage_of(snapshot, target)
    resources = zip(snapshot.measures[1:], covered.held, strict=True)
    has_rru = np.vstack([covered.total, *(one.shared(has * one.worth) for one, has in resources)])
    lacks_rru = q.enough_rru - has_rru  # in each measure, as a share of the capacity in RRU
    room_rru = q.msb_limit_rru[:, None] * (1 + ROUNDING) - covered.by_msb
    msb, rru = snapshot.server_msb, q.rru[held, servers.hardware_type]
    rows = rows[rru[rows] > 0]
    gives = snapshot.shared_rru[held, servers.hardware_type].T
    rows = rows[((gives[:, rows] > 0) & (lacks_rru[:, held[rows]] > 0)).any(0)]
    rows = rows[np.argsort(~servers.in_use[rows], kind="stable")]
    place = held[rows].astype(np.int64) * len(snapshot.topology.msbs) + msb[rows]
    rows = rows[_sum_before(place, rru[rows]) + rru[rows] <= room_rru[held[rows], msb[rows]]]
    of = held[rows]
    helps = [
        (one[rows] > 0) & (_sum_before(of, one[rows]) < lack[of]) for one, lack in zip(gives, lacks_rru, strict=True)
    ]
    rows = rows[np.any(helps, axis=0)]
    kept = target.copy()
    kept[rows] = held[rows]
    return kept


def _sum_before(group: Ints | Indices, amount: Floats) -> Floats:
    """Return for each of N entries the sum of `amount` (N,) over the earlier entries of the same `group` (N,)."""
    order = np.argsort(group, kind="stable")
    total = np.cumsum(amount[order]) - amount[order]
    first = np.searchsorted(group[order], group[order])
    before = np.empty(len(order))
    before[order] = total - total[first]
    return before
