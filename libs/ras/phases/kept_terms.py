"""Keep what the plan of an earlier phase gives to each reservation, while a later phase refines another term.

The limits of the statement are here, and so is the check of its answer by definition.
"""

from __future__ import annotations

import numpy as np

from libs.assignment import (
    Bound,
    CapacitySpec,
    CountBound,
    Filter,
    GroupCountSpec,
    Limit,
    NoRegressionSpec,
    Problem,
    SingleGroupFailureBufferSpec,
)
from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.fleet import FleetSnapshot
from libs.domain.locality import further_domains
from libs.domain.power import ROUNDING_W
from libs.domain.power_use import beyond_w, by_limit, drawn_w, room_w
from libs.domain.resources import Measure
from libs.plan_check.hard_limits import excess
from libs.plan_check.regression import by_place, left_each
from libs.ras.evaluate import Coverage, above_share, coverage_of, surplus_servers
from libs.ras.statement_locality import add_kept_locality
from libs.ras.statement_names import COUNT, MSB, RESERVATION, RRU, capacity_name, dimension_of
from libs.ras.statement_power import add_kept_power

_ROUNDING = 1e-6


def add_kept_terms(snapshot: FleetSnapshot, problem: Problem, planned: Indices) -> None:
    """Add limits so that no reservation has more of a term than the plan `planned` (S,) gives it, as constraints.

        sum_m max(0, load[r,m] - alpha[r] C[r]) <= planned               for all r with a limit            expression 3
        load[r,m] <= max_m planned load[r,m]                             for all r that survive, all m     expression 4
        surviving load[r] >= min(C[r], planned)                          for all r, losses and measures    expression 6
        load[r,d] <= max((A[r,d] + theta) C[r], planned load[r,d])       for all d with a share            expression 7
        load[r,d] >= min((A[r,d] - theta) C[r], planned load[r,d])
        held[r] <= max(planned held[r], max C[r] / max_t V[r,t])         for all r                         surplus
        domains[r,k] <= max(planned, preferred[r,k])                     for all r, kinds k                locality
        W[d] <= planned W[d]                                             for all domains d above a limit on power

    `problem` is a statement of `snapshot`, which is in cost units.
    """
    q, covered = snapshot.reservations, coverage_of(snapshot, planned)
    losses = [
        (loss, buffer, Filter(items=np.flatnonzero(loss.survives).tolist()))
        for loss, buffer in zip(snapshot.losses, covered.buffers, strict=True)
        if loss.survives.any() and len(loss.domains)
    ]
    for loss, buffer, alive in losses:
        largest = GroupCountSpec(
            name=f"embedded buffer of the plan by {loss.kind}",
            partition=loss.kind,
            scope=RESERVATION,
            dimension=RRU,
            limit=Limit(items=buffer),
            filter=alive,
        )
        problem.add_constraint(largest)
    _add_msb_spread(snapshot, problem, covered)
    for measure in snapshot.measures:
        _add_capacity(snapshot, problem, measure, left_each(snapshot, planned, measure))
    _add_datacenters(snapshot, problem, planned)
    held = np.bincount(planned[planned >= 0], minlength=len(q))
    surplus = CapacitySpec(
        name="servers of the plan",
        dimension=COUNT,
        scope=RESERVATION,
        limit=Limit(items=np.maximum(held, snapshot.fewest_servers)),
    )
    problem.add_constraint(surplus)
    rows = np.flatnonzero(snapshot.servers.lasting).astype(np.int32)
    add_kept_locality(snapshot, problem, rows, planned)
    add_kept_power(snapshot, problem, rows, planned)


def _add_capacity(snapshot: FleetSnapshot, problem: Problem, measure: Measure, left: Floats) -> None:
    """Add the limits of expression 6 in one measure. `left` (L, R) is what the plan leaves after each loss."""
    unguarded = measure.asks.copy()
    for loss, kept in zip(snapshot.losses, left, strict=True):
        alive = loss.survives & measure.asks
        if not alive.any() or not len(loss.domains):
            continue
        unguarded &= ~alive
        buffered = SingleGroupFailureBufferSpec(
            name=f"{capacity_name(measure)} of the plan after the loss of one {loss.kind}",
            partition=loss.kind,
            scope=RESERVATION,
            dimension=dimension_of(measure),
            limit=Limit(items=np.minimum(measure.capacity, kept)),
            filter=Filter(items=np.flatnonzero(alive).tolist()),
        )
        problem.add_constraint(buffered)
    all_loads = np.flatnonzero(unguarded)
    if len(all_loads):
        capacity = CapacitySpec(
            name=f"{capacity_name(measure)} of the plan",
            scope=RESERVATION,
            dimension=dimension_of(measure),
            limit=Limit(items=np.minimum(measure.capacity, left[0])),
            bound=Bound.MIN,
            filter=Filter(items=all_loads.tolist()),
        )
        problem.add_constraint(capacity)


def _add_msb_spread(snapshot: FleetSnapshot, problem: Problem, covered: Coverage) -> None:
    """Add the limits of expression 3. `covered` is the coverage of the plan."""
    q = snapshot.reservations
    limited = np.flatnonzero(np.isfinite(q.msb_spread_limit))
    if len(limited):
        spread = GroupCountSpec(
            name="MSB spread",
            partition=MSB,
            scope=RESERVATION,
            dimension=RRU,
            limit=Limit(items=np.where(np.isinf(q.msb_spread_limit), 0.0, q.msb_spread_limit) * q.capacity_rru),
            filter=Filter(items=limited.tolist()),
        )
        most = above_share(covered.by_msb, q.msb_spread_limit[:, None], q.capacity_rru[:, None]).sum(1)
        problem.add_constraint(
            NoRegressionSpec(name="MSB spread of the plan", specs=[spread], scope=RESERVATION, most=most.tolist())
        )


def _add_datacenters(snapshot: FleetSnapshot, problem: Problem, planned: Indices) -> None:
    """Add the limits of expression 7: a load outside its band comes no further from it, and none leaves its band."""
    q, names = snapshot.reservations, snapshot.topology.datacenters
    banded = np.flatnonzero(~np.isnan(q.affinity_share).all(0))
    if not len(banded):
        return
    load = by_place(snapshot, planned, snapshot.server_datacenter, len(names))
    rows = np.flatnonzero(snapshot.servers.lasting)
    theta = snapshot.policy.affinity_tolerance
    for d in banded:
        partition = f"share of {names[d]}"
        problem.add_partition(partition, np.where(snapshot.server_datacenter[rows] == d, 0, -1), [str(names[d])])
        share = np.nan_to_num(q.affinity_share[:, d])
        most = np.maximum((share + theta) * q.capacity_rru, load[:, d])
        least = np.minimum((share - theta) * q.capacity_rru, load[:, d])
        for bound, limit in ((CountBound.MAX, most), (CountBound.MIN, least)):
            band = GroupCountSpec(
                name=f"{partition} in the plan, {bound}",
                partition=partition,
                scope=RESERVATION,
                dimension=RRU,
                limit=Limit(items=limit),
                bound=bound,
                filter=Filter(items=np.flatnonzero(~np.isnan(q.affinity_share[:, d])).tolist()),
            )
            problem.add_constraint(band)


def worse_off(snapshot: FleetSnapshot, before: Indices, after: Indices) -> Bools:
    """Return a (R,) mask of the reservations for which a term grows from the plan `before` to the plan `after`.

    The terms are expressions 3, 4, 6 and 7, the surplus and locality, by definition and without a solver. All
    reservations count as worse off if `after` breaks hard limits more, or a limit on power. So they do if a domain
    above its limit draws more. `snapshot` is in cost units.
    """
    q = snapshot.reservations
    if excess(snapshot, after) > excess(snapshot, before) + _ROUNDING or beyond_w(snapshot, after).any():
        return np.ones(len(q), bool)
    draws, drew = (by_limit(snapshot, drawn_w(snapshot, binding >= 0)) for binding in (after, before))
    if ((room_w(snapshot) < 0) & (draws > drew + ROUNDING_W)).any():
        return np.ones(len(q), bool)
    was, now = _terms(snapshot, before), _terms(snapshot, after)
    return np.asarray((now > was + _ROUNDING * np.maximum(1.0, was)).any(1))


def _terms(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the terms of each reservation, (R, terms)."""
    q, covered = snapshot.reservations, coverage_of(snapshot, binding)
    spread = above_share(covered.by_msb, q.msb_spread_limit[:, None], q.capacity_rru[:, None]).sum(1)
    one = (
        spread,
        *covered.buffers,
        *covered.missing,
        *np.concatenate(covered.lacks),
        surplus_servers(snapshot, binding),
        further_domains(snapshot, binding),
    )
    return np.column_stack([*one, covered.off_affinity])
