"""Check that a plan leaves no reservation worse off than the reservation is now."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Floats, Indices
from libs.domain.fleet import FleetSnapshot
from libs.domain.guest import unit_in_words
from libs.domain.resources import Measure
from libs.domain.violation import Violation

TOLERANCE = 1e-6


def shortfall_rru(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the (R,) RRU that each reservation is short of after the worst loss that it must survive (RAS, expression
    6).

    See `surviving_rru` for what counts. A resource that lacks counts by its share of what is asked for.
    """
    return np.asarray(np.maximum(snapshot.reservations.capacity_rru - surviving_rru(snapshot, binding), 0.0))


def surviving_rru(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the (R,) RRU that each reservation has left after the worst loss that it must survive.

    Of a reservation with resources, it is the least share of its measures that is left, in RRU (docs/designs/0058).
    """
    left = [one.shared(left_each(snapshot, binding, one).min(0)) for one in snapshot.measures]
    return np.asarray(np.min(left, axis=0))


def left_each(snapshot: FleetSnapshot, binding: Indices, measure: Measure) -> Floats:
    """Return the (L, R) RRU of a measure that each reservation has left without its largest domain of each of
    `snapshot.losses`.

    All of it is left where the reservation need not survive the loss.
    """
    left = []
    for loss in snapshot.losses:
        load = by_place(snapshot, binding, loss.of, len(loss.domains), measure.rru)
        left.append(load.sum(1) - np.where(loss.survives, load.max(1, initial=0.0), 0.0))
    return np.array(left)


def unmet_rru(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the (R,) RRU that penalties count: what is missing after the loss of each kind, added over the kinds
    that the reservation survives, and over the measures.

    It is the shortfall of a reservation without resources that survives one kind of loss, or none (docs/designs/0051).
    """
    return np.asarray(np.sum([unmet_in(snapshot, binding, one) for one in snapshot.measures], axis=0))


def unmet_in(snapshot: FleetSnapshot, binding: Indices, measure: Measure) -> Floats:
    """Return the (R,) RRU that penalties count in one measure. See `unmet_rru`."""
    survives = np.array([loss.survives for loss in snapshot.losses])
    survives[0] |= ~survives.any(0)
    missing = np.maximum(measure.capacity - left_each(snapshot, binding, measure), 0.0)
    return np.asarray((missing * survives).sum(0))


def penalties(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the (R,) penalty of each reservation, multiplied by the factor of its priority and the cost units of
    one RRU (ADR 0012, docs/designs/0033).
    """
    short, off = unmet_rru(snapshot, binding), off_affinity_rru(snapshot, binding)
    policy = snapshot.policy
    return np.asarray(snapshot.penalty_weight * (policy.shortfall_cost * short + policy.affinity_cost * off))


def broken_promises(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the penalty of each reservation (R,) as `penalties` does, for what the reservation was granted so far.

    A reservation that still waits for a part of its capacity counts only what it lacks of the rest, without affinity.
    """
    if snapshot.promised_rru is None:
        return penalties(snapshot, binding)
    waits = snapshot.promised_rru < snapshot.reservations.capacity_rru
    lacks = np.maximum(snapshot.promised_rru - surviving_rru(snapshot, binding), 0.0)
    of_waiting = snapshot.penalty_weight * snapshot.policy.shortfall_cost * lacks
    return np.where(waits, of_waiting, penalties(snapshot, binding))


def planned_shortfall_rru(snapshot: FleetSnapshot, target: Indices) -> Floats:
    """Return the (R,) RRU by which a plan makes each reservation shorter on purpose.

    A plan may do this only if `policy.fix_first` is off. Otherwise no reservation may lose for the gain of another (ADR
    0012).
    """
    if snapshot.policy.fix_first:
        return np.zeros(len(snapshot.reservations))
    more = shortfall_rru(snapshot, target) - shortfall_rru(snapshot, snapshot.servers.target)
    return np.asarray(np.maximum(more, 0.0))


def off_affinity_rru(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the (R,) RRU outside the affinity bands (RAS, expression 7)."""
    q = snapshot.reservations
    by_datacenter = by_place(snapshot, binding, snapshot.server_datacenter, len(snapshot.topology.datacenters))
    off = np.abs(by_datacenter - q.affinity_share * q.capacity_rru[:, None])
    band = snapshot.policy.affinity_tolerance * q.capacity_rru[:, None]
    return np.asarray(np.where(np.isnan(q.affinity_share), 0.0, np.maximum(np.nan_to_num(off) - band, 0.0)).sum(1))


def check_regression(snapshot: FleetSnapshot, target: Indices) -> list[Violation]:
    """Return a violation for each reservation that the plan leaves worse off.

    A constraint may not regress from its initial value (RAS, 3.5.1). The value of a reservation is its unmet RRU plus
    its RRU outside the affinity bands, each weighted by the policy (ADR 0012). If `policy.fix_first` is off, the sum
    over all reservations counts, weighted by priority and cost units: one may lose as much as the others gain.
    """
    q, policy = snapshot.reservations, snapshot.policy
    short = unmet_rru(snapshot, snapshot.servers.target), unmet_rru(snapshot, target)
    off = off_affinity_rru(snapshot, snapshot.servers.target), off_affinity_rru(snapshot, target)
    before, after = (policy.shortfall_cost * s + policy.affinity_cost * o for s, o in zip(short, off, strict=True))
    grown = after - before
    weight = snapshot.penalty_weight
    if not policy.fix_first and (weight * grown).sum() <= TOLERANCE * max(1.0, float((weight * before).sum())):
        return []
    others = "" if policy.fix_first else ", and no other reservation gains as much"
    bad = np.flatnonzero(grown > TOLERANCE * np.maximum(1.0, before))
    if not len(bad):
        return []
    terms = [
        ("be short of", unit_in_words(one.resource), was / one.worth, now / one.worth)
        for one in snapshot.measures
        for was, now in [(unmet_in(snapshot, binding, one) for binding in (snapshot.servers.target, target))]
    ]
    terms.append(("have", "RRU outside its datacenters' shares", *off))
    return [
        Violation(
            reason="ShortfallGrows" if short[1][r] - short[0][r] > TOLERANCE else "AffinityWorsens",
            message=f"{q.name[r]} would {_worse([(does, of, was[r], now[r]) for does, of, was, now in terms])}{others}",
            reservation=str(q.name[r]),
        )
        for r in bad
    ]


def _worse(terms: list[tuple[str, str, float, float]]) -> str:
    """Describe the change of terms, each with its values before and after, without those that stay 0. Sums of floats
    seldom hit 0, so they are rounded.
    """
    rounded = [(does, what, round(was, 6), round(now, 6)) for does, what, was, now in terms]
    told = [one for one in rounded if one[2] or one[3]]
    return " and ".join(f"{does} {now:.6g} {what} instead of {was:.6g}" for does, what, was, now in told)


def by_place(
    snapshot: FleetSnapshot, binding: Indices, place: Indices, places: int, rru: Floats | None = None
) -> Floats:
    """Return the (R, places) RRU in each place, of servers that are up and not leaving.

    rru   (R, T) the values of a measure; None: the RRU themselves
    """
    q = snapshot.reservations
    rows = np.flatnonzero((binding >= 0) & snapshot.servers.lasting)
    value = (q.rru if rru is None else rru)[binding[rows], snapshot.servers.hardware_type[rows]]
    return (
        np.bincount(binding[rows] * places + place[rows], value, len(q) * places)
        .astype(np.float64, copy=False)
        .reshape(len(q), places)
    )
