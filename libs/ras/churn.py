"""Divide what is left of the churn budget among reservations, and report what it held back. Pure.

See docs/designs/0025-churn-budget.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from libs.domain.arrays import Ints, Names
from libs.domain.fleet import FleetSnapshot
from libs.plan_check.churn import ChurnBudget
from libs.plan_check.regression import surviving_rru


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Churn:
    """The preemptions of a plan of R reservations, beside the churn budget.

    budget     the budget before the plan
    wanted     (R,) servers in use that the plan would preempt without the budget
    planned    (R,) servers in use that the plan preempts. Both are beyond those that reservations give back
    """

    budget: ChurnBudget
    wanted: Ints
    planned: Ints

    def as_dict(self, reservation: Names) -> dict[str, object]:
        """Return the numbers for JSON. `reservation` (R,) are the names.

        in_use     servers in use that are bound to a reservation
        used       preemptions of the last 24 hours, and those under way
        most       the most that this plan could preempt
        planned    what it preempts; over: how many of them exceed the budget, to repair a promise
        held_back  reservation -> servers that would be exchanged if the budget were larger
        """
        held_back = np.maximum(self.wanted - self.planned, 0)
        return {
            "in_use": self.budget.in_use,
            "used": self.budget.used,
            "most": self.budget.region,
            "planned": int(self.planned.sum()),
            "over": self.budget.exceeded_by(self.planned),
            "held_back": {str(reservation[r]): int(held_back[r]) for r in np.flatnonzero(held_back)},
        }


def without_requests(snapshot: FleetSnapshot) -> FleetSnapshot:
    """Return the snapshot in which no reservation asks for more than it was granted, or has now if that is more.

    Hard limits stay the same number of RRU. A reservation that asks for nothing needs none.
    """
    if snapshot.promised_rru is None:
        return snapshot
    q = snapshot.reservations
    has = np.maximum(surviving_rru(snapshot, snapshot.servers.target), snapshot.promised_rru)
    capacity = np.minimum(has, q.capacity_rru)
    factor = np.divide(q.capacity_rru, capacity, out=np.full(len(q), np.inf), where=capacity > 0)
    limits = q.domain_limits.copy()
    limits[:, :, 2] *= factor[:, None]
    kept = replace(q.with_capacity(capacity), msb_share_max=q.msb_share_max * factor, domain_limits=limits)
    return replace(snapshot, reservations=kept)


def divided(budget: ChurnBudget, wanted: Ints) -> Ints:
    """Return the most preemptions of each reservation, (R,), with a sum of at most what the region may.

    wanted  (R,) the preemptions of each reservation in the best plan without a budget

    If all wishes fit, each reservation gets its wish, up to its own budget. Otherwise each gets its share of that, and
    the servers that rounding leaves go to the largest remainders.
    """
    most = np.minimum(wanted, budget.reservation)
    total = int(most.sum())
    if total <= budget.region:
        return most
    share = most * (budget.region / total)
    whole = np.floor(share + 1e-9).astype(np.int64)
    first = np.argsort(whole - share, kind="stable")
    whole[first[: budget.region - int(whole.sum())]] += 1
    return whole
