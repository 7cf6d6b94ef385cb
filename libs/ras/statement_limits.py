"""State the limits of a region: the hard limits of reservations, and the churn budget."""

from __future__ import annotations

import numpy as np

from libs.assignment import AvoidAssignmentsSpec, CapacitySpec, Filter, Flavour, GroupCountSpec, Limit, Problem
from libs.domain.arrays import Bools, Indices, Ints
from libs.domain.canary import PER_RESERVATION
from libs.domain.domain_limits import MSB as MSB_LIMITS
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import limited_kinds
from libs.domain.locality import preferring_kinds
from libs.domain.power_balance import W_PER_KW
from libs.plan_check.churn import given_back, preemptible
from libs.ras.statement_names import COUNT, DATACENTER, MSB, OBJECTIVE, PREEMPTION, RESERVATION, RRU, ZONE
from libs.ras.zones import Zones


def add_hard_limits(snapshot: FleetSnapshot, problem: Problem, rows: Indices, zones: Zones | None) -> None:
    """Add the hard limits of reservations as constraints. `rows` are those of the objects in the snapshot.

        load[r,n] <= H[r,k] C[r]                      for all r with a share of kind k and all domains n of k
        servers[r,n] <= S[r,k]                        for all r with a number of servers of kind k and all n
        no server of datacenter d in reservation r    for all d that r does not allow
        no server of zone z in reservation r          for all z that are not open to r

    A binding that breaks a limit already may stay, and no new one does. A solver repairs constraints before any goal.
    The zones follow from the domains chosen for reservations that may lie in a few domains only (libs/ras/zones.py).
    """
    q, topology = snapshot.reservations, snapshot.topology
    stated = set(problem.partitions)
    for kind in limited_kinds(snapshot):
        partition = MSB if kind.kind == MSB_LIMITS else kind.kind
        for name, dimension, most in (("share", RRU, kind.rru_max), ("servers", COUNT, kind.servers_max)):
            limited = np.flatnonzero(np.isfinite(most))
            if not len(limited):
                continue
            if partition not in stated:
                problem.add_partition(partition, kind.of[rows], [str(domain) for domain in kind.domains])
                stated.add(partition)
            spread = GroupCountSpec(
                name=f"{partition} {name}",
                partition=partition,
                scope=RESERVATION,
                dimension=dimension,
                limit=Limit(items=np.where(np.isinf(most), 0.0, most)),
                filter=Filter(items=limited.tolist()),
            )
            problem.add_constraint(spread)
    if not q.allowed.all():
        if DATACENTER not in stated:
            problem.add_partition(DATACENTER, snapshot.server_datacenter[rows], [str(d) for d in topology.datacenters])
        _add_closed(problem, "datacenters", DATACENTER, q.allowed)
    if zones is not None and not zones.open.all():
        problem.add_partition(ZONE, zones.of[rows], [f"zone {z}" for z in range(zones.open.shape[1])])
        _add_closed(problem, "zones", ZONE, zones.open)


def _add_closed(problem: Problem, name: str, partition: str, is_open: Bools) -> None:
    """Close the groups of a partition to reservations, by `is_open` (R, groups)."""
    closed = [(d, np.flatnonzero(~is_open[:, d]).tolist()) for d in range(is_open.shape[1])]
    for part, flavour in ((name, Flavour.NEW), (f"servers outside {name}", Flavour.AFTER)):
        avoided = AvoidAssignmentsSpec(
            name=part, assignments=closed, scope=RESERVATION, partition=partition, flavour=flavour
        )
        problem.add_constraint(avoided)


def add_churn(snapshot: FleetSnapshot, problem: Problem, rows: Indices, most: Ints, *, may_exceed: bool) -> None:
    """Add the churn budget: a goal if a repair may exceed it, else a constraint.

    rows  the rows of the objects in the snapshot
    most  (R,) preemptions that each reservation may have, beyond the servers that it gives back

    The limits are per reservation, because a limit on the whole region would couple all containers: the solver could
    then no longer relax a large region by columns.
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
    most += len(preferring_kinds(snapshot)) * dearest["locality_cost"]
    if snapshot.power is not None:
        most += snapshot.policy.power_balance_cost * float(snapshot.power.gain_w.max(initial=0.0)) / W_PER_KW
    return 10.0 * max(most, 1.0)
