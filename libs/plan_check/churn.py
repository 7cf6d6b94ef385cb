"""Count the preemptions of servers in use that a plan asks for, and check them against the churn budget.

The definitions are here, and use no solver. See docs/designs/0025-churn-budget.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Indices, Ints
from libs.domain.fleet import FleetSnapshot
from libs.domain.violation import Violation
from libs.plan_check.hard_limits import excess
from libs.plan_check.regression import TOLERANCE, broken_promises, surviving_rru


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChurnBudget:
    """The numbers of servers in use that a plan may preempt, beyond those that reservations give back.

    in_use       number of the region's servers in use that are bound to a reservation
    used         preemptions of the last 24 hours, and those that present targets ask for
    region       the most for the whole plan
    reservation  (R,) the most for each reservation
    """

    in_use: int
    used: int
    region: int
    reservation: Ints

    def exceeded_by(self, counted: Ints) -> int:
        """Return the number of `counted` (R,) preemptions beyond the budget of the region or of a reservation."""
        of_each = int(np.maximum(counted - self.reservation, 0).sum())
        return max(of_each, int(counted.sum()) - self.region, 0)


def churn_budget(snapshot: FleetSnapshot) -> ChurnBudget | None:
    """Return what is left of the churn budget; None if it does not apply.

    A share above 0 allows at least one server.
    """
    if snapshot.churned is None:
        return None
    servers, policy, R = snapshot.servers, snapshot.policy, len(snapshot.reservations)
    bound = servers.in_use & (servers.current >= 0)
    used = snapshot.churned
    of_each = np.bincount(servers.current[bound], minlength=R)
    in_use = int(bound.sum())
    of_day = _share_of(in_use, policy.daily_churn_share) - int(used.sum())
    most = np.array([_share_of(int(n), policy.reservation_churn_share) for n in of_each], np.int64)
    return ChurnBudget(
        in_use=in_use,
        used=int(used.sum()),
        region=max(0, min(of_day, _share_of(in_use, policy.solve_churn_share))),
        reservation=np.maximum(most - used, 0),
    )


def preemptible(snapshot: FleetSnapshot) -> Bools:
    """Return a (S,) mask of the servers whose departure is a new preemption of a server in use.

    A server that is on its way to another reservation already is none: its preemption was counted before. Plans choose
    nothing about servers that are down or leaving.
    """
    servers = snapshot.servers
    return np.asarray(servers.in_use & servers.lasting & (servers.target >= 0) & (servers.current == servers.target))


def given_back(snapshot: FleetSnapshot) -> Ints:
    """Return how many servers in use each reservation holds above its need, (R,). Plans may take them at any time.

    A reservation needs its best servers, until they give its capacity with the present share of embedded buffer:
    C * load / surviving. Among equal servers it needs those in use. So a shrink gives servers back at once, and a
    reservation that holds what it was promised gives back none.
    """
    servers, q = snapshot.servers, snapshot.reservations
    R = len(q)
    rows = np.flatnonzero(servers.lasting & (servers.target >= 0))
    of = servers.target[rows]
    rru, in_use = q.rru[of, servers.hardware_type[rows]], servers.in_use[rows]
    load = np.bincount(of, rru, R)
    surviving = surviving_rru(snapshot, servers.target)
    covered = surviving >= q.capacity_rru
    need = np.where(covered, q.capacity_rru * load / np.where(surviving > 0, surviving, 1.0), np.inf)
    order = np.lexsort((~in_use, -rru, of))
    ordered = np.cumsum(rru[order])
    first = np.searchsorted(of[order], np.arange(R))
    before = np.append(0.0, ordered)[first]
    had = ordered - rru[order] - before[of[order]]
    above = (had >= need[of[order]] * (1 - 1e-9)) | (rru[order] <= 0)
    return np.bincount(of[order][above & in_use[order]], minlength=R).astype(np.int64)


def counted_preemptions(snapshot: FleetSnapshot, target: Indices) -> Ints:
    """Return the servers in use that a plan takes from each reservation, beyond those that it gives back, (R,)."""
    servers, R = snapshot.servers, len(snapshot.reservations)
    taken = preemptible(snapshot) & (target != servers.target)
    departures = np.bincount(servers.target[taken], minlength=R)
    return np.asarray(np.maximum(departures - given_back(snapshot), 0), np.int64)


def counted_servers(snapshot: FleetSnapshot, target: Indices) -> Bools:
    """Return a (S,) mask of the servers whose preemption counts. Of a reservation's departures, those of the first rows
    count.
    """
    taken = np.flatnonzero(preemptible(snapshot) & (target != snapshot.servers.target))
    of = snapshot.servers.target[taken]
    order = np.argsort(of, kind="stable")
    nth = np.arange(len(order)) - np.searchsorted(of[order], of[order])
    counts = np.zeros(len(target), bool)
    counts[taken[order]] = nth < counted_preemptions(snapshot, target)[of[order]]
    return counts


def needs_repair(snapshot: FleetSnapshot) -> bool:
    """Return whether present targets break a promise or a hard limit. Only then may a plan exceed the churn budget."""
    present = snapshot.servers.target
    broken = float(broken_promises(snapshot, present).sum())
    return broken > TOLERANCE or float(excess(snapshot, present)) > TOLERANCE


def check_churn(snapshot: FleetSnapshot, target: Indices) -> list[Violation]:
    """Return a violation if the plan exceeds the churn budget without repairing anything.

    A plan that lowers the penalties for broken promises may exceed the budget, because a promise comes first. So may
    one that breaks hard limits less. A request that waits for its grant has no promise yet.
    """
    budget = churn_budget(snapshot)
    if budget is None:
        return []
    counted = counted_preemptions(snapshot, target)
    over = budget.exceeded_by(counted)
    before, after = (broken_promises(snapshot, binding).sum() for binding in (snapshot.servers.target, target))
    if over == 0 or before - after > TOLERANCE * max(1.0, before):
        return []
    if excess(snapshot, snapshot.servers.target) - excess(snapshot, target) > TOLERANCE:
        return []
    message = (
        f"it would preempt {int(counted.sum())} servers in use, {over} more than the churn budget allows: "
        f"{budget.region} in the region, {budget.used} of the last 24 hours already counted"
    )
    return [Violation(reason="ChurnBudget", message=message)]


def _share_of(servers: int, share: float) -> int:
    """Return `share` of `servers`, rounded down, but at least 1 if the share is above 0."""
    return max(1, math.floor(share * servers + 1e-9)) if share > 0 and servers else 0
