"""Compute what an earlier phase left of the churn budget. Pure (docs/designs/0025-churn-budget.md)."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Indices, Ints
from libs.domain.fleet import FleetSnapshot
from libs.plan_check.churn import ChurnBudget, counted_preemptions, given_back, preemptible
from libs.ras.churn import divided
from libs.ras.phases.few_reservations import FewReservations


def keeps_budget(budget: ChurnBudget | None, snapshot: FleetSnapshot, before: Indices, after: Indices) -> bool:
    """Return whether the plan `after` exceeds the budget by no more than the plan `before`, a repair, does already."""
    if budget is None:
        return True
    counted, was = counted_preemptions(snapshot, after), counted_preemptions(snapshot, before)
    more = bool((np.maximum(counted - budget.reservation, 0) > np.maximum(was - budget.reservation, 0)).any())
    return not more and counted.sum() <= max(budget.region, int(was.sum()))


def most_preemptions(
    budget: ChurnBudget, snapshot: FleetSnapshot, few: FewReservations, before: Indices, wanted: Indices
) -> Ints:
    """Return the servers in use that a plan may preempt in each of F reservations, (F,), for their statement.

    before, wanted  (S,) int  the plan of the earlier phase, and the plan without a budget, which exceeds it

    The reservations divide what `before` leaves of the budget by what they want beyond it. Servers that already left
    the cut region are taken off. So are those that reservations give back in it, because the statement adds them.
    """
    was, now = counted_preemptions(snapshot, before), counted_preemptions(snapshot, wanted)
    left = ChurnBudget(
        in_use=budget.in_use,
        used=budget.used,
        region=max(budget.region - int(was.sum()), 0),
        reservation=np.maximum(budget.reservation - was, 0)[few.chosen],
    )
    more = divided(left, np.maximum(now - was, 0)[few.chosen])
    gone = preemptible(snapshot) & (before != snapshot.servers.target)
    gone[few.rows] = False
    of = snapshot.servers.target[gone]
    given = given_back(snapshot) - np.bincount(of, minlength=len(was)) + was
    return np.asarray(given[few.chosen] + more - given_back(few.snapshot), np.int64)
