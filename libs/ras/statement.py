"""State a region in specs of the assignment library: servers are objects, reservations are containers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from libs.assignment import (
    AvoidAssignmentsSpec,
    AvoidMovingSpec,
    Bound,
    CapacitySpec,
    CountBound,
    Filter,
    Flavour,
    GroupCountSpec,
    GroupDiversitySpec,
    LargestGroupSpec,
    Limit,
    MaximizeAllocationSpec,
    MinimizeMovementSpec,
    NoRegressionSpec,
    Problem,
    SingleGroupFailureBufferSpec,
)
from libs.domain.arrays import Floats, Indices, Ints
from libs.domain.canary import PER_RESERVATION
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.reservation import PRIORITY_MIDDLE
from libs.domain.reservation_rows import Reservations, weight_of
from libs.domain.resources import Measure
from libs.ras.statement_limits import add_churn, add_hard_limits
from libs.ras.statement_locality import locality_specs
from libs.ras.statement_names import (
    COUNT,
    HARDWARE_TYPE,
    MOVE_COST,
    MSB,
    OBJECTIVE,
    PENALTY,
    RESERVATION,
    RRU,
    SURPLUS,
    capacity_name,
    dimension_of,
)
from libs.ras.statement_power import add_power_balance, add_power_limits
from libs.ras.zones import Zones

TAKEN = 1e-5
"""Cost of a server that a reservation holds, as a share of the least other cost. The cost only breaks ties."""


Penalty = SingleGroupFailureBufferSpec | CapacitySpec | GroupCountSpec
Priced = LargestGroupSpec | CapacitySpec | GroupCountSpec | GroupDiversitySpec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statement:
    """A region as an assignment problem.

    The N objects are the lasting servers, which plans may count on. The containers are the R reservations, and one
    container for free servers. Servers that are not lasting are no objects. They count for nothing, and keep their
    binding at no cost.

    problem  the assignment problem
    rows     (N,) int   the row of each object in the snapshot
    free     int        the number of the container for free servers: R
    """

    problem: Problem
    rows: Indices
    free: int

    def assignment(self, binding: Indices) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return the container of each object, (N,), for the binding `binding` (S,) of all servers.

        A server that is bound to a deleted reservation is in the container for free servers.
        """
        bound = binding[self.rows].astype(np.int64)
        return np.where(bound >= 0, bound, self.free)

    def binding(self, assignment: np.ndarray[tuple[int], np.dtype[np.int64]], present: Indices) -> Indices:
        """Return the binding (S,) of all servers for the assignment `assignment` (N,) of the objects.

        A server that is no object keeps its binding in `present` (S,).
        """
        binding = np.maximum(present, FREE).astype(np.int32)
        binding[self.rows] = np.where(assignment == self.free, FREE, assignment)
        return binding


def state_region(
    snapshot: FleetSnapshot,
    penalty_most: Floats | None = None,
    *,
    zones: Zones | None = None,
    server_cost: float | None = None,
    goals: Collection[int] = (PENALTY, OBJECTIVE),
    churn_most: Ints | None = None,
    may_exceed: bool = False,
) -> Statement:
    """State expressions 1 and 3 to 7 as specs. Racks (expression 2) are left out, as in the paper's first phase.

        min  sum_s M[s] [s leaves its reservation]                                        expression 1
           + beta sum_{r,m} max(0, load[r,m] - alpha[r] C[r])                             expression 3
           + tau sum_k sum_{r survives k} max_{m in k} load[r,m]                          expression 4
           + lambda sum_k sum_{r survives k} max(0, C[r] - (load[r] - max_{m in k} load[r,m]))   expression 6, soft
           + lambda sum_{r survives no k} max(0, C[r] - load[r])
           + the last two lines for each resource that r asks for, with its own C, load and V
           + mu sum_{r,d} max(0, |load[r,d] - A[r,d] C[r]| - theta C[r])                  expression 7, soft
           + sigma sum_r s[r] max(0, held[r] - max C[r] / max_t V[r,t])                   surplus
           + delta sum_k sum_m max(0, kW[m] - level[k,m])                                 balance of power
           + nu sum_k sum_r max(0, sum_{n in k} [servers[r,n] > 0] - preferred[r,k])      locality
           + K sum_r max(0, preempted[r] - given_back[r] - churn_most[r])                 churn budget
           - server_cost * free servers

    k is a kind of domain: MSBs, and each further kind whose loss a reservation survives (docs/designs/0051). m is an
    MSB, except in lines with k.

    Loads, capacities and limits count in cost units, if the snapshot has them: V[r,t] and C[r] are multiplied by the
    cost units of one RRU of the reservation (docs/designs/0033).

    Expressions 6 and 7 have priority PENALTY, and all other lines have priority OBJECTIVE. Lambda and mu of a
    reservation are multiplied by the factor of its class of priority: see `weight_of`. Without the last line, the sum
    is the `total_without_rack` of any binding that keeps the servers that are not lasting.

    M[s] is multiplied by the `move_cost` of the server's reservation, and s[r] is the larger of this factor and 1.
    held[r] counts servers of any worth (docs/designs/0024). The last line only breaks ties. With it, new servers that
    bring nothing stay free even at a surplus_cost of 0. Expression 5 (a server is bound at most once) holds for every
    assignment. So do the hard limits of reservations (docs/designs/0029). Servers that are pinned stay. A reservation
    may keep servers of types that it may not use, at 0 RRU. If the policy fixes first, the penalty of no reservation
    may grow. Source: RAS, 3.5.3; departures in docs/adr/0003, 0004, 0012, 0020 and 0042.

    penalty_most    (R,)  upper limit of the penalty of each reservation in cost units, without the factor of its class,
                          if the policy fixes first; None: its present penalty
    zones                 the domains chosen for reservations with a `domains_max`; None: no reservation has one
    server_cost           the gain of a free server in the last line; None: TAKEN of the least cost of the policy
    goals                 the priorities whose goals to state. Without PENALTY, penalties have no limit either
    churn_most      (R,)  servers in use that the plan may preempt in each reservation, beyond those that the
                          reservation gives back; None: no limit
    may_exceed            whether a lower penalty may exceed churn_most. K is then `churn_cost`, above what a move can
                          gain at this priority; otherwise K is infinite
    """
    snapshot = snapshot.in_cost_units()
    servers, q, policy = snapshot.servers, snapshot.reservations, snapshot.policy
    rows = np.flatnonzero(servers.lasting).astype(np.int32)
    R = len(q)
    target, kind = servers.target[rows], servers.hardware_type[rows]
    problem = Problem(objects=len(rows), containers=R + 1, initial=np.where(target >= 0, target, R).astype(np.int64))
    problem.add_scope(RESERVATION, np.append(np.arange(R), -1), [str(name) for name in q.name])
    for loss in snapshot.losses:
        problem.add_partition(loss.kind, loss.of[rows], [str(name) for name in loss.domains])
    problem.add_partition(HARDWARE_TYPE, kind, [str(name) for name in snapshot.hardware_types])
    for measure in snapshot.measures:
        problem.add_dimension(dimension_of(measure), 1.0, by_item=(RESERVATION, kind, measure.rru.T))
    problem.add_dimension(MOVE_COST, snapshot.leaving_cost[rows])
    if churn_most is not None and (OBJECTIVE in goals or not may_exceed):
        add_churn(snapshot, problem, rows, churn_most, may_exceed=may_exceed)

    penalties = _penalties(snapshot, problem, rows) if PENALTY in goals else []
    for one, cost in penalties:
        for part, factor in _by_class(one, q):
            problem.add_goal(part, weight=cost * factor, priority=PENALTY, normalise=False)
    if OBJECTIVE in goals:
        _add_objective(snapshot, problem, least_cost(snapshot) * TAKEN if server_cost is None else server_cost)
        for locality in locality_specs(snapshot, problem, rows):
            add_priced(snapshot, problem, locality, "locality_cost")
        add_power_balance(snapshot, problem, rows)
    useless = [(t, np.flatnonzero(q.rru[:, t] <= 0).tolist()) for t in range(len(snapshot.hardware_types))]
    eligibility = AvoidAssignmentsSpec(
        name="eligibility", assignments=useless, scope=RESERVATION, partition=HARDWARE_TYPE, flavour=Flavour.NEW
    )
    if R:
        problem.add_constraint(eligibility)
    add_hard_limits(snapshot, problem, rows, zones)
    add_power_limits(snapshot, problem, rows)
    pinned = np.flatnonzero(servers.pinned[rows])
    if len(pinned):
        problem.add_constraint(AvoidMovingSpec(name="servers that cannot move now", objects=pinned.tolist()))
    if policy.fix_first and penalties:
        unit = max(policy.shortfall_cost, policy.affinity_cost) or 1.0
        specs, costs = zip(*penalties, strict=True)
        weights = [cost / unit for cost in costs]
        problem.add_constraint(
            NoRegressionSpec(
                name="no regression",
                specs=specs,
                weights=weights,
                scope=RESERVATION,
                most=None if penalty_most is None else (penalty_most / unit).tolist(),
            )
        )
    return Statement(problem=problem, rows=rows, free=R)


def _add_objective(snapshot: FleetSnapshot, problem: Problem, server_cost: float) -> None:
    """Add expressions 1, 3 and 4, the surplus, and the servers that are left free, as goals."""
    q = snapshot.reservations
    for loss in (one for one in snapshot.losses if len(one.domains)):
        buffer = LargestGroupSpec(
            name=f"embedded buffer by {loss.kind}",
            partition=loss.kind,
            scope=RESERVATION,
            dimension=RRU,
            filter=Filter(items=np.flatnonzero(loss.survives).tolist()),
        )
        add_priced(snapshot, problem, buffer, "buffer_cost")
    spread = GroupCountSpec(
        name="MSB spread",
        partition=MSB,
        scope=RESERVATION,
        dimension=RRU,
        limit=Limit(items=_finite(q.msb_spread_limit) * q.capacity_rru),
        filter=Filter(items=np.flatnonzero(np.isfinite(q.msb_spread_limit)).tolist()),
    )
    add_priced(snapshot, problem, spread, "spread_cost")
    stability = MinimizeMovementSpec(name="stability", dimension=MOVE_COST)
    problem.add_goal(stability, priority=OBJECTIVE, normalise=False)
    if (snapshot.price("surplus_cost") > 0).any():
        counted, weight = COUNT, q.surplus_weight
        if (weight != 1.0).any():
            counted = SURPLUS
            every = np.zeros(len(problem.objects), np.int64)
            problem.add_dimension(SURPLUS, 1.0, by_item=(RESERVATION, every, weight[None, :]))
        surplus = CapacitySpec(
            name="surplus",
            dimension=counted,
            scope=RESERVATION,
            limit=Limit(items=snapshot.fewest_servers * weight),
            filter=Filter(items=list(range(len(q)))),
        )
        add_priced(snapshot, problem, surplus, "surplus_cost")
    if server_cost > 0:
        left = MaximizeAllocationSpec(name="servers left free", filter=Filter(items=[len(q)]))
        problem.add_goal(left, weight=server_cost, priority=OBJECTIVE, normalise=False)


def add_priced(snapshot: FleetSnapshot, problem: Problem, spec: Priced, price: str) -> None:
    """Add the reservations of `spec` as goals of the priority OBJECTIVE: one goal for each value of their `price`."""
    rows, prices = np.array(spec.filter.items, np.int64), snapshot.price(price)
    for value in np.unique(prices[rows]):
        usual = value == getattr(snapshot.policy, price)
        part = replace(
            spec,
            name=spec.name if usual else f"{spec.name}, canary",
            filter=Filter(items=rows[prices[rows] == value].tolist()),
        )
        problem.add_goal(part, weight=float(value), priority=OBJECTIVE, normalise=False)


def least_cost(snapshot: FleetSnapshot) -> float:
    """Return the least positive cost of the priority OBJECTIVE, per server or RRU; 1 if all costs are 0."""
    policies = [snapshot.policy] if snapshot.canary is None else [snapshot.policy, snapshot.canary.policy]
    costs = (getattr(policy, name) for policy in policies for name in PER_RESERVATION if name != "locality_cost")
    return min((cost for cost in costs if cost > 0), default=1.0)


def _penalties(snapshot: FleetSnapshot, problem: Problem, rows: Indices) -> list[tuple[Penalty, float]]:
    """Return the specs of expressions 6 and 7, each with the cost of one RRU that the spec lacks or exceeds.

    rows  the row of each object of `problem` in the snapshot
    """
    q, policy, topology = snapshot.reservations, snapshot.policy, snapshot.topology
    found: list[tuple[Penalty, float]] = []
    for measure in snapshot.measures:
        found += [(one, policy.shortfall_cost) for one in _shortfalls(snapshot, measure) if one.filter.items]
    datacenter = snapshot.server_datacenter[rows]
    for d in np.flatnonzero(~np.isnan(q.affinity_share).all(0)):
        name = f"datacenter {topology.datacenters[d]}"
        problem.add_partition(name, np.where(datacenter == d, 0, -1), [str(topology.datacenters[d])])
        banded = np.flatnonzero(~np.isnan(q.affinity_share[:, d]))
        share = np.nan_to_num(q.affinity_share[:, d])
        for bound, theta in ((CountBound.MAX, policy.affinity_tolerance), (CountBound.MIN, -policy.affinity_tolerance)):
            affinity = GroupCountSpec(
                name=f"affinity to {topology.datacenters[d]}, {bound}",
                partition=name,
                scope=RESERVATION,
                dimension=RRU,
                limit=Limit(items=(share + theta) * q.capacity_rru),
                bound=bound,
                filter=Filter(items=banded.tolist()),
            )
            found.append((affinity, policy.affinity_cost))
    return found


def _shortfalls(snapshot: FleetSnapshot, measure: Measure) -> Iterator[SingleGroupFailureBufferSpec | CapacitySpec]:
    """Yield the specs of expression 6 in one measure: one per kind of loss, and one for those that survive none."""
    wanted, name = Limit(items=measure.capacity), capacity_name(measure)
    unguarded = measure.asks.copy()
    for loss in (one for one in snapshot.losses if len(one.domains)):
        unguarded &= ~loss.survives
        yield SingleGroupFailureBufferSpec(
            name=f"{name} after the loss of one {loss.kind}",
            partition=loss.kind,
            scope=RESERVATION,
            dimension=dimension_of(measure),
            limit=wanted,
            filter=Filter(items=np.flatnonzero(loss.survives & measure.asks).tolist()),
        )
    yield CapacitySpec(
        name=name,
        scope=RESERVATION,
        dimension=dimension_of(measure),
        limit=wanted,
        bound=Bound.MIN,
        filter=Filter(items=np.flatnonzero(unguarded).tolist()),
    )


def _by_class(one: Penalty, q: Reservations) -> Iterator[tuple[Penalty, float]]:
    """Yield for each class of priority the spec `one` for the reservations of the class, with the class's factor."""
    rows = np.array(one.filter.items, np.int64)
    for priority in np.unique(q.priority[rows]):
        name = one.name if priority == PRIORITY_MIDDLE else f"{one.name}, priority {priority}"
        items = rows[q.priority[rows] == priority].tolist()
        yield replace(one, name=name, filter=Filter(items=items)), float(weight_of(priority))


def _finite(limit: Floats) -> Floats:
    return np.where(np.isinf(limit), 0.0, limit)
