"""Solve a few reservations again with the terms of racks, and keep an answer that is better by definition.

The phases after the first differ in the reservations that they choose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from libs.assignment import Filter, GroupCountSpec, Limit, Limits, Problem, Result, StoppedBy, solve
from libs.domain.arrays import Floats, Indices, Ints
from libs.domain.fleet import FleetSnapshot
from libs.domain.uplinks import gbit_each, weighs_uplinks
from libs.plan_check.churn import ChurnBudget, needs_repair
from libs.ras.bundle_limits import with_time
from libs.ras.evaluate import evaluate
from libs.ras.extraction import extract_targets
from libs.ras.phases.churn_left import keeps_budget, most_preemptions
from libs.ras.phases.clock import Clock
from libs.ras.phases.few_reservations import FewReservations
from libs.ras.phases.kept_terms import add_kept_terms, worse_off
from libs.ras.phases.report import PhaseReport
from libs.ras.server_classes import Index, places_of
from libs.ras.statement import Statement, add_priced, state_region
from libs.ras.statement_names import BOUND, GBIT, OBJECTIVE, RACK, RESERVATION, RRU, UPLINK

SOLVER = "portfolio"
COUNTS_MAX = 10_000
"""Most counts of one model. Reservations beyond it are refined one model after the other, the worst first."""
NEIGHBOURHOODS_MAX = 4
"""Most neighbourhoods of one model. Steps on counts find most of the gain already.

Nor do trees raise its bound: they would take up to half of the processor time, and a proof could only end the search
earlier.
"""
_LEAST_GAIN = 1e-6
_STOPS = {StoppedBy.TIME: "time", StoppedBy.CANCELLED: "cancelled"}


def refine(
    snapshot: FleetSnapshot,
    target: Indices,
    chosen: Index,
    waiting: int,
    budget: ChurnBudget | None,
    limits: Limits,
    clock: Clock,
    *,
    seed: int,
    phase: str,
    term: str,
) -> tuple[Indices, PhaseReport]:
    """Return the plan `target` (S,) with the reservations `chosen` solved again, and a report.

    The answer costs less in total, and no reservation has more of any term than in `target`, moves and racks excepted:
    see kept_terms.py. It keeps to the churn budget `budget`.

    chosen   the worst first
    waiting  number of further reservations that stand badly
    phase    the name of the phase
    term     the field of Score that it refines
    """
    began, run = evaluate(snapshot, target), _Refined(target=target)
    together = list(batches(snapshot, chosen))
    for some in together:
        if clock.is_over():
            run.stopped_by = clock.stopped_by
            break
        run.refine(snapshot, some, budget, limits, clock, seed)
    solved = np.isin(chosen, run.seen)
    score = evaluate(snapshot, run.target)
    before, after = getattr(began, term), getattr(score, term)
    others = began.total - before - began.stability - (score.total - after - score.stability)
    return run.target, PhaseReport(
        phase=phase,
        reservations=tuple(str(snapshot.reservations.name[r]) for r in chosen[solved]),
        waiting=waiting + int((~solved).sum()),
        counts=run.counts,
        before=before,
        after=after,
        moves=score.stability - began.stability,
        others=others,
        moved_in_use=score.moved_in_use - began.moved_in_use,
        moved_idle=score.moved_idle - began.moved_idle,
        bound_gap=run.bound_gap if run.models == len(together) else None,
        stopped_by=run.stopped_by,
    )


@dataclass(slots=True, kw_only=True, eq=False)
class _Refined:
    """The plan so far, with the reservations that it refined.

    models       number of models, of which each reservation is in one
    cost, bound  the sums of their costs and bounds
    """

    target: Indices
    seen: list[int] = field(default_factory=list)
    counts: int = 0
    models: int = 0
    cost: float = 0.0
    bound: float = 0.0
    stopped_by: str = "finished"

    @property
    def bound_gap(self) -> float | None:
        """Return (cost - bound) / bound; None without a bound above 0."""
        return (self.cost - self.bound) / self.bound if self.bound > 0 else None

    def refine(
        self,
        snapshot: FleetSnapshot,
        some: Index,
        budget: ChurnBudget | None,
        limits: Limits,
        clock: Clock,
        seed: int,
    ) -> None:
        """Solve the reservations `some`, and keep the answer if it is better and no term of a reservation grows."""
        few = FewReservations.of(snapshot, self.target, some)
        found, answer = _solved(few, state_racks(few), limits, clock, seed)
        if budget is not None and not keeps_budget(budget, snapshot, self.target, few.in_whole(self.target, answer)):
            wanted = few.in_whole(self.target, answer)
            most = most_preemptions(budget, snapshot, few, self.target, wanted)
            found, answer = _solved(few, state_racks(few, most), limits, clock, seed)
        whole = few.in_whole(self.target, answer)
        cost = evaluate(few.snapshot, few.planned).objective
        better = evaluate(few.snapshot, answer).objective
        if (
            better < cost - _LEAST_GAIN
            and not worse_off(few.snapshot, few.planned, answer).any()
            and keeps_budget(budget, snapshot, self.target, whole)
        ):
            self.target, cost = whole, better
        self.seen += some.tolist()
        self.counts = max(self.counts, 0 if found.size is None else found.size.counts)
        self.models += 1
        self.cost, self.bound = self.cost + cost, self.bound + min(max(sum(found.bound[1:]), 0.0), cost)
        self.stopped_by = _STOPS.get(found.stopped_by, self.stopped_by)


def _solved(
    few: FewReservations, statement: Statement, limits: Limits, clock: Clock, seed: int
) -> tuple[Result, Indices]:
    """Return the answer of the solver, and the binding (N,) of the servers of `few` that follows."""
    most = limits.neighbourhoods_max
    tries = NEIGHBOURHOODS_MAX if most is None else min(most, NEIGHBOURHOODS_MAX)
    found = solve(
        statement.problem,
        replace(with_time(limits, clock.left_s), neighbourhoods_max=tries, whole_bound=False),
        solver=SOLVER,
        start=statement.assignment(few.planned),
        seed=seed,
        cancelled=clock.cancelled,
    )
    places = places_of(few.snapshot, few.snapshot.servers.rack, few.zones)
    binding = statement.binding(found.assignment, few.snapshot.servers.target)
    return found, extract_targets(few.snapshot, places, places.counts(binding, len(few.chosen)))


def chosen_by(snapshot: FleetSnapshot, above: Floats) -> tuple[Index, int]:
    """Return the reservations with most `above` (R,), the worst first, and how many wait.

    At most `rack_phase_share` of all reservations are chosen, rounded up. Reservations that hold servers announced for
    retirement wait too: those leave only when the servers of the first plan have come.
    """
    bad = np.flatnonzero(above > _LEAST_GAIN)
    able = bad[~np.isin(bad, retiring(snapshot))]
    most = math.ceil(snapshot.policy.rack_phase_share * len(snapshot.reservations) - 1e-9)
    chosen = able[np.argsort(-above[able], kind="stable")][:most]
    return chosen, len(bad) - len(chosen)


def retiring(snapshot: FleetSnapshot) -> Index:
    """Return the reservations that hold servers announced for retirement, rising."""
    servers = snapshot.servers
    return np.unique(servers.target[servers.leaving & (servers.target >= 0)]).astype(np.intp)


def batches(snapshot: FleetSnapshot, chosen: Index) -> Iterator[Index]:
    """Yield the reservations `chosen` in order, in parts whose models have at most COUNTS_MAX counts, or one each."""
    places = places_of(snapshot, snapshot.servers.rack)
    counts = (snapshot.reservations.rru[chosen][:, places.types(snapshot)] > 0).sum(1)
    first, total = 0, 0
    for k, count in enumerate(counts.tolist()):
        if k > first and total + count > COUNTS_MAX:
            yield chosen[first:k]
            first, total = k, 0
        total += count
    yield chosen[first:]


def state_racks(few: FewReservations, churn_most: Ints | None = None) -> Statement:
    """State the few reservations with the objective of the first phase, and the terms of racks, as specs.

        min  goals of state_region of priority OBJECTIVE
           + beta sum_{r,k} max(0, load[r,k] - alphaK[r] C[r])                            expression 2
           + epsilon sum_k max(0, sum_r gbit[r] load[r,k] - left[k])                      uplinks
        such that no term but moves and racks exceeds the plan's                          kept_terms.py

    The sums run over the racks k, and left[k] is what all other reservations leave of an uplink. Penalties are limits
    here and no goals: a large one would hide the racks in the gap.
    churn_most as in state_region. Source: RAS, 3.5.3.
    """
    snapshot = few.snapshot
    statement = state_region(
        snapshot,
        zones=few.zones,
        goals=(OBJECTIVE,),
        churn_most=churn_most,
        may_exceed=churn_most is not None and needs_repair(snapshot),
    )
    add_rack_spread(snapshot, statement.problem, statement.rows)
    add_uplinks(snapshot, statement.problem, statement.rows)
    add_kept_terms(snapshot, statement.problem, few.planned)
    return statement


def add_rack_spread(snapshot: FleetSnapshot, problem: Problem, rows: Indices) -> None:
    """Add expression 2 as a goal. `rows` are the rows of the objects in the snapshot, which is in cost units."""
    q = snapshot.reservations
    problem.add_partition(RACK, snapshot.servers.rack[rows], [str(rack) for rack in snapshot.topology.racks])
    spread = GroupCountSpec(
        name="rack spread",
        partition=RACK,
        scope=RESERVATION,
        dimension=RRU,
        limit=Limit(items=np.where(np.isinf(q.rack_spread_limit), 0.0, q.rack_spread_limit) * q.capacity_rru),
        filter=Filter(items=np.flatnonzero(np.isfinite(q.rack_spread_limit)).tolist()),
    )
    add_priced(snapshot, problem, spread, "spread_cost")


def add_uplinks(snapshot: FleetSnapshot, problem: Problem, rows: Indices) -> None:
    """Add the Gbit/s above the limits of racks as a goal, all reservations together. `rows` as in add_rack_spread."""
    if not weighs_uplinks(snapshot):
        return
    assert snapshot.uplinks is not None
    limited = np.flatnonzero(np.isfinite(snapshot.uplinks))
    number = np.full(len(snapshot.uplinks), -1)
    number[limited] = np.arange(len(limited))
    servers = snapshot.servers
    problem.add_partition(UPLINK, number[servers.rack[rows]], [str(rack) for rack in snapshot.topology.racks[limited]])
    problem.add_scope(BOUND, np.append(np.zeros(len(snapshot.reservations), np.int64), -1), [BOUND])
    problem.add_dimension(GBIT, 1.0, by_item=(RESERVATION, servers.hardware_type[rows], gbit_each(snapshot).T))
    above = GroupCountSpec(
        name="uplinks of racks",
        partition=UPLINK,
        scope=BOUND,
        dimension=GBIT,
        limit=Limit(groups=snapshot.uplinks[limited]),
    )
    problem.add_goal(above, weight=snapshot.policy.uplink_cost, priority=OBJECTIVE, normalise=False)
