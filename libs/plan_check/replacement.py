"""Check that a plan of replacements is legal and safe, by definition only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from libs.domain.arrays import Bools, Indices, Ints
from libs.domain.domain_kind import MSB_KIND
from libs.domain.fleet import TargetPlan
from libs.domain.replacement import FailuresSnapshot
from libs.domain.violation import Violation
from libs.plan_check.hard_limits import check_hard_limits
from libs.plan_check.regression import TOLERANCE, shortfall_rru


def check_replacements(failures: FailuresSnapshot, plan: TargetPlan) -> list[Violation]:
    """Return every violation of a plan of replacements; empty if it may be carried out.

    The plan may bind a spare server to a reservation that can use its type. It may bind a lost server to the shared
    buffer of its type, unless the server was lost with its MSB or datacenter. Every reservation gets as many servers of
    a type as it gives. No reservation becomes short, or shorter, except a shared buffer. No reservation breaks a hard
    limit further.

    It may also take such a swap back, if more than a quarter of a domain of the lost server is down: of its MSB, or of
    one whose loss its reservation survives. Then the reservation must still hold its capacity while no other domain is
    lost.
    """
    servers, q = failures.fleet.servers, failures.fleet.reservations
    if plan.target.shape != servers.target.shape or plan.parent_plan_id != failures.fleet.target_plan_id:
        return [Violation(reason="WrongSnapshot", message="it is not about the servers of this snapshot")]
    changed = plan.target != servers.target
    known = (plan.target >= 0) & (plan.target < len(q))
    to = np.where(known, plan.target, 0)
    is_buffer = np.zeros(len(q) + 1, bool)
    is_buffer[failures.buffer[failures.buffer >= 0]] = True
    drawn = failures.spare & known & ~is_buffer[to] & (q.rru[to, servers.hardware_type] > 0)
    lost = failures.lost & ~failures.with_place & known & (to == failures.buffer[servers.hardware_type])
    was_buffer = failures.swap_from == failures.buffer[servers.hardware_type]
    swapped = (failures.swap > 0) & known & (to == failures.swap_from) & (failures.swap_from >= 0)
    given = swapped & servers.available & was_buffer
    taken = swapped & ~servers.available & ~was_buffer & (failures.with_place | _hard_hit(failures))
    found = [*_servers(failures, changed & ~drawn & ~lost & ~given & ~taken)]
    gives_back = np.zeros(len(q), bool)
    gives_back[to[changed & taken]] = True
    if found:
        return found
    limits = check_hard_limits(failures.fleet, plan.target)
    return [*_counts(failures, plan, changed), *_shortfalls(failures, plan, gives_back), *limits]


def _hard_hit(failures: FailuresSnapshot) -> Bools:
    """Return the servers, (S,), of which a domain is more than a quarter down: their MSB, or one whose loss the
    reservation that they left survives.
    """
    fleet = failures.fleet
    found = np.zeros(len(fleet.servers), bool)
    for loss in fleet.losses:
        every = np.bincount(loss.of, minlength=len(loss.domains))
        down = np.bincount(loss.of[~fleet.servers.available], minlength=len(loss.domains))
        found |= (4 * down > every)[loss.of] & (loss.survived_by(failures.swap_from) | (loss.kind == MSB_KIND))
    return found


def _servers(failures: FailuresSnapshot, bad: Bools) -> Iterator[Violation]:
    for row in np.flatnonzero(bad):
        name = str(failures.fleet.servers.name[row])
        message = f"{name} is neither a spare server that is of use where it goes nor a lost one that joins its buffer"
        yield Violation(reason="NotASwap", message=message, server=name)


def _counts(failures: FailuresSnapshot, plan: TargetPlan, changed: Bools) -> Iterator[Violation]:
    fleet = failures.fleet
    before, after = (_by_type(failures, target[changed], changed) for target in (fleet.servers.target, plan.target))
    for r, kind in np.argwhere(before != after):
        reservation = str(fleet.reservations.name[r])
        message = f"{reservation} gets {after[r, kind]} {fleet.hardware_types[kind]} for {before[r, kind]}"
        yield Violation(reason="NotOneForOne", message=message, reservation=reservation)


def _by_type(failures: FailuresSnapshot, binding: Indices, rows: Bools) -> Ints:
    """Return the (R, T) number of servers of each type bound to each reservation. All given servers are bound."""
    R, T = failures.fleet.reservations.rru.shape
    index = binding * T + failures.fleet.servers.hardware_type[rows]
    return np.bincount(index, minlength=R * T).reshape(R, T).astype(np.int64)


def _shortfalls(failures: FailuresSnapshot, plan: TargetPlan, gives_back: Bools) -> Iterator[Violation]:
    """Yield a violation for each reservation whose shortfall grows. Shared buffers are exempt, because replacements
    take servers from them. One that gives a server back, `gives_back` (R,), must hold its capacity with all that is up.
    """
    fleet = failures.fleet
    before, after = shortfall_rru(fleet, fleet.servers.target), shortfall_rru(fleet, plan.target)
    worse = after > before + TOLERANCE
    up = fleet.servers.available & (plan.target >= 0)
    bound, kind = plan.target[up], fleet.servers.hardware_type[up]
    held = np.min([np.bincount(bound, rru, len(worse)) for rru in fleet.shared_rru[bound, kind].T], axis=0)
    worse &= ~(gives_back & (held >= fleet.reservations.enough_rru))
    worse[failures.buffer[failures.buffer >= 0]] = False
    for r in np.flatnonzero(worse):
        message = f"{fleet.reservations.name[r]} would lack {after[r]:.6g} RRU instead of {before[r]:.6g}"
        yield Violation(reason="ShortfallGrows", message=message, reservation=str(fleet.reservations.name[r]))
