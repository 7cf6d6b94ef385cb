"""Decide whether a reservation can ever have its capacity, and whether it can have it now.

Pure, and fast enough for a client that waits for the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from libs.assignment import Limits
from libs.domain.arrays import Bools
from libs.domain.domain_kind import MSB_KIND, WorstDomain
from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.guest import number_name, unit_in_words
from libs.domain.reservation import ROUNDING
from libs.domain.resources import resources_in
from libs.domain.verdict import Verdict
from libs.domain.words import rounded_down
from libs.ras.affinity_shares import beyond_shares
from libs.ras.coverable import coverable_rru
from libs.ras.evaluate import coverage_of, kinds_survived, scarce_resource, worst_domain
from libs.ras.hard_limits import (
    SHOWN,
    broken,
    has_limits,
    limits_in_words,
    limits_of,
    most_met,
    ways_out,
    without_limits,
)
from libs.ras.largest_possible import Potential, ScarceResource, potential_of
from libs.ras.power_relief import full_in_words, full_limits, without_power_limits
from libs.ras.shortage import describe_shortage, stock_of
from libs.ras.single_reservation import alone, own_and_free
from libs.ras.solve import plan_target_bindings

QUICK = Limits(exact_columns_max=2000, nodes_max=1, relative_gap=0.0)
"""Limits of the first search. Admission needs an answer, and not the best answer.

The gap must be 0. With a larger gap the search could take every free server, because free servers only break ties.
"""
THOROUGH = Limits(exact_columns_max=2000, nodes_max=200, relative_gap=1e-4)
"""Limits of the second search, before a reservation counts as short."""


def admit(snapshot: FleetSnapshot, reservation: int, *, cancelled: Callable[[], bool] | None = None) -> Verdict:
    """Return the verdict on one reservation of a snapshot.

    Reject the reservation if the region could not meet it even without other reservations and with all servers up.
    Otherwise plan with its own servers and the free servers, and grant it if these are enough. If they are not, its
    phase is degraded. The plan moves no server of another reservation, because only a solve may do that.

    reservation  row of the reservation in the snapshot
    cancelled    returns whether to stop the search
    """
    potential = potential_of(snapshot, reservation)
    asked = potential.asked_rru
    rounding_rru = ROUNDING * asked
    coverable = coverable_rru(snapshot, reservation)
    at_most = {} if coverable is None else {"coverable_rru": coverable}
    if _beyond(potential):
        refusal = _rejected(snapshot, reservation, potential)
        # A refusal names what some state of the region could give, and others hold servers now.
        now = f" {_now(coverable)}" if coverable and coverable < potential.most_rru * (1 - ROUNDING) else ""
        return replace(refusal, message=refusal.message + now, numbers={**refusal.numbers, **at_most})
    for limits in (QUICK, THOROUGH):
        plan = plan_with_free_servers(snapshot, reservation, limits, cancelled=cancelled)
        covered = coverage_of(snapshot, plan.target)
        short, off = float(covered.shortfall[reservation]), float(covered.off_affinity[reservation].sum())
        if max(short, off) <= rounding_rru:
            break
    joins = (plan.target == reservation) & (snapshot.servers.target != reservation)
    gained = int(joins.sum())
    numbers = potential.numbers() | at_most
    numbers |= {"short_rru": short, "off_affinity_rru": off, "free_servers": float(gained)}
    if short > rounding_rru:
        worst = worst_domain(snapshot, covered, reservation)
        scarce = scarce_resource(snapshot, covered, reservation)
        helpful = gained if worst is None or scarce is not None else int((joins & ~_is_in(snapshot, worst)).sum())
        found = describe_shortage(
            snapshot,
            reservation,
            stock=stock_of(snapshot),
            short_rru=short,
            worst=worst,
            free_servers=helpful,
            granted_servers=helpful,
            resource=scarce,
            names_limits=False,
        )
        numbers |= found.numbers
        reason, message = found.reason, found.message + _barred(snapshot, reservation, rounding_rru, cancelled)
        unfed = _unfed(snapshot, reservation, plan, short, cancelled)
        if unfed:
            reason, message = "PowerLimits", message + unfed
        if coverable:
            message += f" {_now(coverable)}"
        return Verdict(phase="degraded", reason=reason, message=message, numbers=numbers, plan=plan)
    servers_outside, above = broken(snapshot, reservation, plan.target)
    if servers_outside or above > rounding_rru:
        numbers |= {"servers_outside": float(servers_outside), "above_limits": above}
        message = (
            f"Has its {asked:g} RRU, but {servers_outside} servers outside its datacenters and {above:.4g} servers or "
        )
        message += f"RRU beyond its limits ({limits_in_words(snapshot, reservation)}). Solves exchange them as soon as "
        message += "other servers are free."
        return Verdict(phase="degraded", reason="OutsideHardLimits", message=message, numbers=numbers, plan=plan)
    if off > rounding_rru:
        datacenter = snapshot.topology.datacenters[int(covered.off_affinity[reservation].argmax())]
        message = (
            f"Has its {asked:g} RRU, but {off:.4g} of them outside its datacenter shares, most of it in {datacenter}."
        )
        message += " The next solve may improve it; a wider tolerance or other shares would too."
        return Verdict(phase="degraded", reason="OffAffinity", message=message, numbers=numbers, plan=plan)
    servers = int((plan.target == reservation).sum())
    kinds = " or ".join(kinds_survived(snapshot, reservation))
    amounts = _amounts(snapshot, reservation, asked)
    message = "1 server covers" if servers == 1 else f"{servers} servers cover"
    message += f" {amounts}" + (f" and the loss of any one {kinds}" if kinds else "") + "; "
    surplus = float(covered.surviving[reservation]) - asked
    if gained:
        message += "the mover brings it." if servers == 1 else f"the mover brings {gained} of them."
    else:
        message += f"it holds {'this one' if servers == 1 else 'them'} already."
    lost = int(((snapshot.servers.target == reservation) & (plan.target != reservation)).sum())
    if lost:
        message += " 1 other goes back at once." if lost == 1 else f" {lost} others go back at once."
    # With resources or guests, the surplus is that of the scarcest, scaled to RRU: of no use to who asks for it.
    alone = not resources_in(snapshot.reservations.resources[reservation], snapshot.resources)
    if surplus > rounding_rru and alone and not gained:
        message += f" They give {surplus:.4g} RRU more than it asks for."
    return Verdict(phase="granted", reason="Granted", message=message, numbers=numbers, plan=plan)


def _is_in(snapshot: FleetSnapshot, worst: WorstDomain) -> Bools:
    """Return whether each server lies in that domain, (S,). A shortage counts servers outside of it alone."""
    loss = next(loss for loss in snapshot.losses if loss.kind == worst.kind)
    return np.asarray(loss.domains[loss.of] == worst.domain)


def _now(coverable_rru: float) -> str:
    return f"Its own and the free servers could cover {rounded_down(coverable_rru)} RRU now."


def _amounts(snapshot: FleetSnapshot, r: int, asked_rru: float) -> str:
    """Return all that reservation `r` asks for, such as "100 RRU and 4000 memory_gib"."""
    resources = resources_in(snapshot.reservations.resources[r], snapshot.resources)
    return " and ".join(
        [f"{asked_rru:g} RRU", *(f"{amount:g} {unit_in_words(name)}" for name, amount in resources.items())]
    )


def _barred(snapshot: FleetSnapshot, r: int, rounding_rru: float, cancelled: Callable[[], bool] | None) -> str:
    """Return a sentence if the free servers would be enough for reservation `r` without its hard limits; else ""."""
    limits = limits_of(snapshot, r)
    for some in [[limit] for limit in limits] + ([limits] if len(limits) > 1 else []):
        freer = without_limits(snapshot, r, some)
        plan = plan_with_free_servers(freer, r, QUICK, cancelled=cancelled)
        if coverage_of(freer, plan.target).shortfall[r] <= rounding_rru:
            limit = f"its hard limit {some[0].name}" if len(some) == 1 else "its hard limits"
            return f" Without {limit} the free servers would be enough ({limits_in_words(snapshot, r)})."
    return ""


def _unfed(
    snapshot: FleetSnapshot, r: int, plan: TargetPlan, short_rru: float, cancelled: Callable[[], bool] | None
) -> str:
    """Return a sentence if reservation `r` would lack less than `short_rru` without the limits on power; else ""."""
    full = full_limits(snapshot, r, plan.target)
    if not full:
        return ""
    freer = without_power_limits(snapshot)
    fed = plan_with_free_servers(freer, r, QUICK, cancelled=cancelled)
    gained = short_rru - float(coverage_of(freer, fed.target).shortfall[r])
    if gained <= ROUNDING * float(snapshot.reservations.capacity_rru[r]):
        return ""
    return (
        f" Free servers with {gained:.4g} RRU more are below limits on power that have no room for them: "
        f"{full_in_words(full)}."
    )


def refusal_of(snapshot: FleetSnapshot, reservation: int) -> Verdict | None:
    """Return the rejection of a reservation that no state of the region could meet.

    Return None if some state of the region could meet the reservation.
    """
    potential = potential_of(snapshot, reservation)
    return _rejected(snapshot, reservation, potential) if _beyond(potential) else None


def _could(snapshot: FleetSnapshot, r: int) -> bool:
    """Return whether some state of the region could meet reservation `r`."""
    return not _beyond(potential_of(snapshot, r))


def _beyond(potential: Potential) -> bool:
    return potential.scarce is not None or potential.most_rru < potential.asked_rru * (1 - ROUNDING)


def plan_with_free_servers(
    snapshot: FleetSnapshot,
    reservation: int,
    limits: Limits = THOROUGH,
    *,
    cancelled: Callable[[], bool] | None = None,
) -> TargetPlan:
    """Return the best plan for the reservation in row `reservation` that uses only its own servers and free servers."""
    servers = snapshot.servers
    rows = own_and_free(snapshot, reservation)
    found = plan_target_bindings(alone(snapshot, reservation, rows), limits, cancelled=cancelled).plan.target
    target = np.maximum(servers.target, FREE)
    target[rows] = np.where(found == 0, reservation, FREE)
    return TargetPlan(target=target, parent_plan_id=snapshot.target_plan_id)


def _rejected(snapshot: FleetSnapshot, r: int, p: Potential) -> Verdict:
    """Return the rejection of reservation `r`, which names the most that the region could give, and the deciding limit.

    p  the potential of the reservation
    """
    name, asked = snapshot.reservations.name[r], f"{p.asked_rru:.12g} RRU"
    least = p.asked_rru * (1 - ROUNDING)
    numbers = p.numbers()
    if has_limits(snapshot, r) and _could(without_limits(snapshot, r), r):
        ways = ways_out(snapshot, r, lambda other: _could(other, r), at_most=_most_of_all_sizes(snapshot, r, p))
        todo = _either(ways)
        reason = "BeyondHardLimits"
        most = f"{rounded_down(p.most_rru)} of {asked}"
        if p.scarce is not None:
            most, numbers = _in_words(p.scarce), {**numbers, **_numbers(p.scarce)}
        message = f"Within its hard limits ({limits_in_words(snapshot, r)}) {name} could have {most}."
    elif p.scarce is not None:
        shared = " within its datacenter shares" if not np.isnan(snapshot.reservations.affinity_share[r]).all() else ""
        return _too_little(snapshot, r, p, p.scarce, shared)
    elif p.eligible_rru <= 0:
        reason, message = "NoEligibleHardware", f"This region has no server of a hardware type that {name} may use."
        todo = "Allow a type that it has."
    elif p.eligible_rru < least:
        come = f"{rounded_down(p.eligible_rru)} of {asked}"
        reason, message = "BeyondRegion", f"All servers that {name} may use come to {come}."
        less = _ask_for_less(snapshot, r, p.eligible_rru)
        todo = f"{less} more types, or use another region."
    elif p.worst is not None and p.surviving_rru < least:
        less = _ask_for_less(snapshot, r, p.surviving_rru)
        reason, message, todo = _beyond_loss(name, asked, p, p.worst, less)
    else:
        message, ways = beyond_shares(snapshot, r, p, lambda other: _could(other, r))
        # Sums say what the region could meet, not solves: each way would take one.
        reason, todo = "BeyondAffinity", f"{_either(ways)} Whole servers may lie a little outside shares that remain."
    return Verdict(phase="rejected", reason=reason, message=f"{message} {todo}", numbers=numbers, plan=None)


def _most_of_all_sizes(snapshot: FleetSnapshot, r: int, p: Potential) -> float:
    """Return the RRU that no smaller request of reservation `r` could exceed either; inf: `p` does not tell.

    A smaller request has smaller shares of MSBs, or the same limits. Yet its datacenter shares, which are bands around
    the capacity, and a scarce resource may let it have more than the larger one.
    """
    has_bands = not np.isnan(snapshot.reservations.affinity_share[r]).all()
    return np.inf if has_bands or p.scarce is not None else p.most_rru


def _either(ways: list[str]) -> str:
    return f"Either {', or '.join(ways)}." if len(ways) > 1 else f"{ways[0][0].upper()}{ways[0][1:]}."


def _too_little(snapshot: FleetSnapshot, r: int, p: Potential, scarce: ScarceResource, shared: str) -> Verdict:
    """Return the rejection of a reservation that asks for more of a resource than the region could give it.

    shared   its datacenter shares in words; "" without any
    """
    message = (
        f"All servers that {snapshot.reservations.name[r]} may use could give it {_in_words(scarce)}"
        f"{' after its worst loss' if p.worst is not None else ''}{shared}. "
        f"{'Ask for at most that, allow' if scarce.most > 0 else 'Allow'} more types, or use another region."
    )
    numbers = {**p.numbers(), **_numbers(scarce)}
    asked = snapshot.reservations.resources.copy()
    asked[r, np.flatnonzero(snapshot.resources.names == scarce.resource)] = scarce.most
    fewer = replace(snapshot, reservations=replace(snapshot.reservations, resources=asked))
    rest = refusal_of(fewer, r)
    if rest is not None:
        message += f" That alone is not enough: {rest.message}"
    return Verdict(phase="rejected", reason="BeyondResource", message=message, numbers=numbers, plan=None)


def _in_words(scarce: ScarceResource) -> str:
    return f"{rounded_down(scarce.most)} of {scarce.asked:.12g} {unit_in_words(scarce.resource)}"


def _numbers(scarce: ScarceResource) -> dict[str, float]:
    of = number_name(scarce.resource)
    return {f"asked_{of}": scarce.asked, f"most_{of}": scarce.most}


def _ask_for_less(snapshot: FleetSnapshot, r: int, named_rru: float) -> str:
    """Return the advice to ask for a capacity that reservation `r` could have, where the message names `named_rru`, or
    to allow. The sentence goes on with what to allow.

    The capacity is less than that if losses, hard limits or datacenter shares leave less of it.
    """
    if named_rru <= 0:
        return "Allow"
    most = most_met(snapshot, r, lambda other: _could(other, r))
    if most >= named_rru * (1 - ROUNDING) - 1 / SHOWN:
        return "Ask for at most that, allow"
    kinds, where = " or ".join(kinds_survived(snapshot, r)), []
    if kinds:
        where.append(f"after the loss of any one {kinds}")
    if has_limits(snapshot, r):
        where.append("within its hard limits")
    if not np.isnan(snapshot.reservations.affinity_share[r]).all():
        where.append("within its datacenter shares")
    remain = f"Of these {most:.12g} RRU remain {' and '.join(where)}."
    return f"{remain} {'Ask for at most these' if most > 0 else 'Change these terms'}, allow"


def _beyond_loss(name: str, asked: str, p: Potential, worst: WorstDomain, less: str) -> tuple[str, str, str]:
    """Return the reason, message and advice for a reservation that would lack RRU after the loss of `worst`.

    less  the advice to ask for less, up to "allow"
    """
    if worst.kind == MSB_KIND:
        message = f"{worst.domain} holds {worst.rru:.6g} RRU of what {name} may use; after losing it"
        reason, without = "BeyondMsbLoss", "an MSB"
    else:
        message = f"{worst.rru:.6g} RRU of what {name} may use are in {worst.words}; after losing them"
        reason, without = "BeyondDomainLoss", f"the loss of a {worst.kind}"
    message += f" {rounded_down(p.surviving_rru)} of {asked} would be left."
    return reason, message, f"{less} more types, or do without surviving {without}."
