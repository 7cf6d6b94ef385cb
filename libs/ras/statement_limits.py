"""State the limits of a region: the hard limits of reservations, and the churn budget."""

from __future__ import annotations

import numpy as np

from libs.assignment import AvoidAssignmentsSpec, CapacitySpec, Filter, Flavour, GroupCountSpec, Limit, Problem
from libs.domain.arrays import Indices, Ints
from libs.domain.canary import PER_RESERVATION
from libs.domain.fleet import FleetSnapshot
from libs.plan_check.churn import given_back, preemptible
from libs.ras.statement_names import DATACENTER, MSB, OBJECTIVE, PREEMPTION, RESERVATION, RRU


def add_hard_limits(snapshot: FleetSnapshot, problem: Problem, rows: Indices) -> None:
    """Add the hard limits of reservations as constraints. `rows` are those of the objects in the snapshot.

        load[r,m] <= H[r] C[r]                        for all r with a limit and all m
        no server of datacenter d in reservation r    for all d that r does not allow

    A binding that breaks a limit already may stay, and no new one does. A solver repairs constraints before any goal.
    """
    q, topology = snapshot.reservations, snapshot.topology
    limited = np.flatnonzero(np.isfinite(q.msb_share_max))
    if len(limited):
        spread = GroupCountSpec(
            name="MSB share",
            partition=MSB,
            scope=RESERVATION,
            dimension=RRU,
            limit=Limit(items=np.where(np.isinf(q.msb_limit_rru), 0.0, q.msb_limit_rru)),
            filter=Filter(items=limited.tolist()),
        )
        problem.add_constraint(spread)
    if not q.allowed.all():
        problem.add_partition(DATACENTER, snapshot.server_datacenter[rows], [str(d) for d in topology.datacenters])
        barred = [(d, np.flatnonzero(~q.allowed[:, d]).tolist()) for d in range(len(topology.datacenters))]
        for name, flavour in (("datacenters", Flavour.NEW), ("servers outside datacenters", Flavour.AFTER)):
            allowed = AvoidAssignmentsSpec(
                name=name, assignments=barred, scope=RESERVATION, partition=DATACENTER, flavour=flavour
            )
            problem.add_constraint(allowed)


def add_churn(snapshot: FleetSnapshot, problem: Problem, rows: Indices, most: Ints, *, may_exceed: bool) -> None:
    """Add the churn budget: a goal if a repair may exceed it, else a constraint.

    rows  the rows of the objects in the snapshot
    most  (R,) preemptions that each reservation may have, beyond the servers that it gives back

    The limits are per reservation, because a limit on the whole region would couple all containers: the solver could
    then no longer relax a large region in parts.
    """
    counts = preemptible(snapshot)[rows]
    some = np.unique(snapshot.servers.target[rows[counts]])
    if not len(some):
        return
    problem.add_dimension(PREEMPTION, counts.astype(np.float64))
    churn = CapacitySpec(
        name="churn budget",
        dimension=PREEMPTION,
        scope=RESERVATION,
        flavour=Flavour.OLD,
        limit=Limit(items=(given_back(snapshot) + most).astype(np.float64)),
        filter=Filter(items=some.tolist()),
    )
    if may_exceed:
        problem.add_goal(churn, weight=churn_cost(snapshot), priority=OBJECTIVE, normalise=False)
    else:
        problem.add_constraint(churn)


def churn_cost(snapshot: FleetSnapshot) -> float:
    """Return the cost of a preemption beyond the churn budget: ten times the most that a server can cost otherwise."""
    best = float(snapshot.in_cost_units().reservations.rru.max(initial=0.0))
    dearest = {name: float(snapshot.price(name).max(initial=0.0)) for name in PER_RESERVATION}
    factor = float(snapshot.reservations.surplus_weight.max(initial=1.0))
    most = factor * (dearest["move_cost_in_use"] + dearest["surplus_cost"])
    most += best * (dearest["spread_cost"] + dearest["buffer_cost"])
    return 10.0 * max(most, 1.0)
