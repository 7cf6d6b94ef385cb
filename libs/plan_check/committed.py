"""Check the changes of a plan that a commit would keep, against the present region. The checks follow the definitions
and use no solver.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.plan_changes import NONE, LimitedDomains, PlanChanges, TouchedReservations
from libs.domain.policy import RegionPolicy
from libs.domain.power_bounds import PowerBounds
from libs.domain.reservation import ROUNDING
from libs.domain.violation import Violation
from libs.plan_check.hard_limits import beyond_domains
from libs.plan_check.regression import TOLERANCE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """The state of Q reservations with given bindings. `short` is the RRU that each reservation lacks after the worst
    loss that it must survive. `penalty` is that of ADR 0012.
    """

    short: Floats
    penalty: Floats
    above: Floats
    """(Q, M) RRU above the hard limit on one MSB."""
    broken: tuple[tuple[Floats, Floats, Ints], ...]
    """The excess for each kind of domain with hard limits: (Q, N) servers and (Q, N) RRU above the most in one domain,
    and (Q,) servers beyond the most domains."""
    given_up: Bools
    """True if the reservation gives up leaving servers before the servers that have joined cover it (ADR 0013)."""


def standing(changes: PlanChanges, kept: Bools, policy: RegionPolicy) -> Standing:
    """Return the state of the reservations that a plan touches (takes servers from or gives servers to), once the
    `kept` (N,) changes are committed.
    """
    q = changes.touched
    load, there = q.load.copy(), q.load_there.copy()
    leaves, comes = kept & (changes.source != NONE), kept & (changes.to != NONE)
    there_leaves = leaves & (changes.current == changes.source)
    there_comes = comes & (changes.current == changes.to)
    for table, lost, gained in ((load, leaves, comes), (there, there_leaves, there_comes)):
        np.subtract.at(table, (changes.source[lost, None], changes.domain[lost]), changes.source_values[lost])
        np.add.at(table, (changes.to[gained, None], changes.domain[gained]), changes.to_values[gained])
    gives_up = kept & (changes.source != NONE) & changes.leaving & (changes.to == NONE)
    giving_up = np.bincount(changes.source[gives_up], minlength=len(q)) > 0
    by_msb, unmet = load[:, : q.axis.msbs], q.axis.unmet_rru(load, q.capacity_rru)
    return Standing(
        short=short_rru(q, load),
        penalty=policy.shortfall_cost * unmet + policy.affinity_cost * off_affinity_rru(q, by_msb, policy),
        above=np.maximum(by_msb - q.msb_limit_rru[:, None], 0.0),
        broken=tuple(_broken(one, changes, kept) for one in changes.limited),
        given_up=giving_up & (short_rru(q, there) > TOLERANCE),
    )


def _broken(one: LimitedDomains, changes: PlanChanges, kept: Bools) -> tuple[Floats, Floats, Ints]:
    """Return by how much the reservations break their limits for a kind once the `kept` changes are made."""
    servers, load = one.servers.copy(), one.load.copy()
    for of, by, rru in ((changes.source, -1, changes.source_rru), (changes.to, 1, changes.to_rru)):
        rows = np.flatnonzero(kept & one.counts & (of != NONE))
        np.add.at(servers, (of[rows], one.of[rows]), by)
        np.add.at(load, (of[rows], one.of[rows]), by * rru[rows])
    return (
        np.maximum(servers - one.servers_max[:, None], 0.0),
        np.maximum(load - one.rru_max[:, None], 0.0),
        beyond_domains(servers, one.placed, one.domains_max),
    )


def short_rru(q: TouchedReservations, load: Floats) -> Floats:
    """Return the RRU that each reservation lacks with a load (Q, P), after the worst loss that it must survive."""
    return np.asarray(np.maximum(q.capacity_rru - q.axis.left_rru(load), 0.0))


def off_affinity_rru(q: TouchedReservations, load: Floats, policy: RegionPolicy) -> Floats:
    """Return the RRU outside the affinity bands with a load (Q, M) (RAS, expression 7)."""
    by_datacenter = np.zeros(q.affinity_share.shape)
    np.add.at(by_datacenter.T, q.msb_datacenter, load.T)
    off = np.abs(by_datacenter - q.affinity_share * q.capacity_rru[:, None])
    band = policy.affinity_tolerance * q.capacity_rru[:, None]
    return np.asarray(np.where(np.isnan(q.affinity_share), 0.0, np.maximum(np.nan_to_num(off) - band, 0.0)).sum(1))


def shorter(capacity_rru: Floats, before: Floats, after: Floats) -> Bools:
    """Return a mask of the reservations that end below what they ask for and below what they had. Differences by
    rounding do not count.
    """
    rounding = ROUNDING * capacity_rru + 1e-12
    return np.asarray(after > np.where(before > rounding, before + rounding, rounding))


def check_committed(
    changes: PlanChanges, kept: Bools, policy: RegionPolicy, planned: Floats, power: PowerBounds | None = None
) -> list[Violation]:
    """Return every violation of the `kept` (N,) changes; empty if they may be committed.

    planned   (Q,) RRU by which the checked plan itself makes a reservation shorter; not 0 only if the policy does not
              fix first
    power     the limits on power, and what each change adds; None: there are none

    - No kept change is of a server that changed, or of one that is down, leaving or useless where it would go.
    - No reservation ends below both what it asks for and what it had, except as planned. The penalty of a reservation,
      or the sum of all if the policy does not fix first, does not grow.
    - No reservation comes above a hard limit on one domain, or further above it, or gets more servers beyond the most
      domains.
    - No reservation gives up servers that are leaving before others cover it.
    - No limit on power is exceeded, or further exceeded.
    """
    q = changes.touched
    illegal = kept & (changes.changed | ((changes.to != NONE) & (changes.to_rru <= 0)))
    found = [Violation(reason="Overtaken", message=f"{int(illegal.sum())} servers changed")] if illegal.any() else []
    before, after = standing(changes, np.zeros(len(changes), bool), policy), standing(changes, kept, policy)
    found += _each(q, "ShortfallGrows", shorter(q.capacity_rru, before.short + planned, after.short), before, after)
    found += _each(q, "GivenUpTooEarly", after.given_up, before, after)
    further = after.above - before.above > TOLERANCE * np.maximum(1.0, q.capacity_rru)[:, None]
    found += _each(q, "MsbShareExceeded", np.asarray(further.any(axis=1), bool), before, after)
    for was, now in zip(before.broken, after.broken, strict=True):
        tolerance = TOLERANCE * np.maximum(1.0, q.capacity_rru)[:, None]
        crowded = (now[0] > was[0]).any(axis=1) | (now[1] > was[1] + tolerance).any(axis=1) | (now[2] > was[2])
        found += _each(q, "DomainLimitExceeded", np.asarray(crowded, bool), before, after)
    if power is not None:
        for row in np.flatnonzero(power.beyond(kept)):
            message = f"{power.name[row]} has too little power for its new servers"
            found.append(Violation(reason="PowerLimitExceeded", message=message))
    grown, weight = after.penalty - before.penalty, q.penalty_weight
    if policy.fix_first:
        worse = grown > TOLERANCE * np.maximum(1.0, before.penalty)
        found += _each(q, "PenaltyGrows", worse, before, after)
    elif (weight * grown).sum() > TOLERANCE * max(1.0, float((weight * before.penalty).sum())):
        found.append(Violation(reason="PenaltyGrows", message="the sum of all penalties would grow"))
    return found


def _each(q: TouchedReservations, reason: str, bad: Bools, before: Standing, after: Standing) -> list[Violation]:
    return [
        Violation(
            reason=reason,
            message=f"{q.name[r]} would be short of {after.short[r]:.6g} RRU instead of {before.short[r]:.6g}",
            reservation=str(q.name[r]),
        )
        for r in np.flatnonzero(bad)
    ]
