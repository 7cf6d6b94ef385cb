"""RAS in the assignment library's words: servers are objects, reservations are containers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import CountBound, GroupCountSpec
from libs.assignment.language.specs.largest_group import LargestGroupSpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.no_regression import NoRegressionSpec
from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from libs.assignment.language.specs.spec import Spec
from libs.domain.arrays import Floats, Indices
from libs.domain.fleet import FREE, FleetSnapshot

RESERVATION, MSB, HARDWARE_TYPE = "reservation", "MSB", "hardware type"
RRU, MOVE_COST = "RRU", "move cost"
PENALTY, OBJECTIVE = 0, 1
"""Priorities: what is broken, and all else. Who wants the sum of both weighs them, as phases.py does."""
NO_REGRESSION = "no regression"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statement:
    """A region as a problem of assignment. N lasting servers are the objects, R reservations and `free` the containers.

    rows   (N,) int   the snapshot's row of each object; servers that are down or leaving are not in it: they count for
                      nothing and stay where they are, which is free
    free   int        the container of what is bound to no reservation: R
    """

    problem: Problem
    rows: Indices
    free: int

    def assignment(self, binding: Indices) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """(N,) the containers that a binding (S,) of servers stands for; a deleted reservation's are free."""
        bound = binding[self.rows].astype(np.int64)
        return np.where(bound >= 0, bound, self.free)

    def binding(self, assignment: np.ndarray[tuple[int], np.dtype[np.int64]], present: Indices) -> Indices:
        """(S,) back again; servers that are not in the problem keep `present` (S,)."""
        binding = np.maximum(present, FREE).astype(np.int32)
        binding[self.rows] = np.where(assignment == self.free, FREE, assignment)
        return binding


def state_region(snapshot: FleetSnapshot, penalty_most: Floats | None = None) -> Statement:
    """Expressions 1 and 3 to 7 of the model as specs; no racks (expression 2), as in the paper's first phase.

        min  sum_s M[s] [s leaves its reservation]                                        expression 1
           + beta sum_{r,m} max(0, load[r,m] - alpha[r] C[r])                             expression 3
           + tau sum_{r survives} max_m load[r,m]                                         expression 4
           + lambda sum_r max(0, C[r] - (load[r] - [r survives] max_m load[r,m]))         expression 6, soft
           + mu sum_{r,d} max(0, |load[r,d] - A[r,d] C[r]| - theta C[r])                  expression 7, soft

    The penalties of 6 and 7 are priority PENALTY, the others OBJECTIVE; their sum is `total_without_rack` of any
    binding that leaves servers which do not last where they are. Expression 5, a server is bound at most once, is what
    an assignment is. What a reservation holds of a type it may not use may stay, at 0 RRU. Where the policy fixes
    first, no reservation's penalty may grow, or exceed `penalty_most` (R,) where that is given. Source: RAS, 3.5.3;
    departures in docs/adr/0003, 0004, 0012 and 0020.
    """
    servers, q, policy, topology = snapshot.servers, snapshot.reservations, snapshot.policy, snapshot.topology
    rows = np.flatnonzero(servers.lasting).astype(np.int32)
    R = len(q)
    target, kind, msb = servers.target[rows], servers.hardware_type[rows], snapshot.server_msb[rows]
    problem = Problem(objects=len(rows), containers=R + 1, initial=np.where(target >= 0, target, R).astype(np.int64))
    problem.add_scope(RESERVATION, np.append(np.arange(R), -1), [str(name) for name in q.name])
    problem.add_partition(MSB, msb, [str(name) for name in topology.msbs])
    problem.add_partition(HARDWARE_TYPE, kind, [str(name) for name in snapshot.hardware_types])
    problem.add_dimension(RRU, 1.0, by_item=(RESERVATION, kind, q.rru.T))
    leaving = np.where(servers.in_use[rows], policy.move_cost_in_use, policy.move_cost_idle)
    problem.add_dimension(MOVE_COST, np.where(target >= 0, leaving, 0.0))

    penalties = _penalties(snapshot, problem, rows)
    for one, cost in penalties:
        problem.add_goal(one, weight=cost, priority=PENALTY, normalise=False)
    surviving = np.flatnonzero(q.survives_msb_loss).tolist()
    if surviving and len(topology.msbs):
        buffer = LargestGroupSpec(
            name="embedded buffer", partition=MSB, scope=RESERVATION, dimension=RRU, filter=Filter(items=surviving)
        )
        problem.add_goal(buffer, weight=policy.buffer_cost, priority=OBJECTIVE, normalise=False)
    limited = np.flatnonzero(np.isfinite(q.msb_spread_limit))
    spread = GroupCountSpec(
        name="MSB spread",
        partition=MSB,
        scope=RESERVATION,
        dimension=RRU,
        limit=Limit(items=_finite(q.msb_spread_limit) * q.capacity_rru),
        filter=Filter(items=limited.tolist()),
    )
    if len(limited):
        problem.add_goal(spread, weight=policy.spread_cost, priority=OBJECTIVE, normalise=False)
    stability = MinimizeMovementSpec(name="stability", dimension=MOVE_COST)
    problem.add_goal(stability, priority=OBJECTIVE, normalise=False)
    useless = [(t, np.flatnonzero(q.rru[:, t] <= 0).tolist()) for t in range(len(snapshot.hardware_types))]
    eligibility = AvoidAssignmentsSpec(
        name="eligibility", assignments=useless, scope=RESERVATION, partition=HARDWARE_TYPE, flavour=Flavour.NEW
    )
    if R:
        problem.add_constraint(eligibility)
    if policy.fix_first and penalties:
        unit = max(policy.shortfall_cost, policy.affinity_cost) or 1.0
        specs, costs = zip(*penalties, strict=True)
        weights = [cost / unit for cost in costs]
        problem.add_constraint(
            NoRegressionSpec(
                name=NO_REGRESSION,
                specs=specs,
                weights=weights,
                scope=RESERVATION,
                most=None if penalty_most is None else (penalty_most / unit).tolist(),
            )
        )
    return Statement(problem=problem, rows=rows, free=R)


def _penalties(snapshot: FleetSnapshot, problem: Problem, rows: Indices) -> list[tuple[Spec, float]]:
    """Expressions 6 and 7 as constraints by reservation, and what one RRU of each costs."""
    q, policy, topology = snapshot.reservations, snapshot.policy, snapshot.topology
    wanted = Limit(items=q.capacity_rru)
    found: list[tuple[Spec, float]] = []
    surviving = q.survives_msb_loss if len(topology.msbs) else np.zeros(len(q), bool)
    alive = SingleGroupFailureBufferSpec(
        name="capacity after an MSB's loss",
        partition=MSB,
        scope=RESERVATION,
        dimension=RRU,
        limit=wanted,
        filter=Filter(items=np.flatnonzero(surviving).tolist()),
    )
    held = CapacitySpec(
        name="capacity",
        scope=RESERVATION,
        dimension=RRU,
        limit=wanted,
        bound=Bound.MIN,
        filter=Filter(items=np.flatnonzero(~surviving).tolist()),
    )
    found += [(one, policy.shortfall_cost) for one in (alive, held) if one.filter.items]
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


def _finite(limit: Floats) -> Floats:
    return np.where(np.isinf(limit), 0.0, limit)
