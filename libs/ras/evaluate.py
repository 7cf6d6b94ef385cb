"""Evaluate a binding of servers: expressions 1 to 7 on single servers, by definition, without grouping or solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.domain_kind import MSB_KIND, DomainLoss, WorstDomain
from libs.domain.fleet import FleetSnapshot
from libs.domain.guest import unit_in_words
from libs.domain.locality import further_domains
from libs.domain.power_balance import balance_cost
from libs.domain.reservation import ROUNDING
from libs.domain.uplinks import uplinks_cost


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coverage:
    """The capacity that each of R reservations holds. Servers that are down or leaving do not count.

    total         (R,) RRU    all servers bound to the reservation
    worst_msb     (R,) RRU    its servers in the MSB that holds most of them
    surviving     (R,) RRU    what is left of the total after the worst loss that the reservation must survive. With
                              resources, it is the least share of a measure that is left, in RRU (docs/designs/0058)
    shortfall     (R,) RRU    the part of its capacity that `surviving` does not cover
    buffers       (L, R) RRU  its servers in the largest domain of each of `snapshot.losses`; 0 if it need not survive
                              that loss
    missing       (L, R) RRU  the part of its capacity that is not covered after each loss; 0 if it need not survive it.
                              The first row has the shortfall of a reservation that survives no loss
    held          (Q, R)      units of each of the Q resources of `snapshot.measures`
    held_after    (Q, R)      units of each resource after the worst loss that the reservation must survive
    lacks         (L, Q, R) RRU  the part of each resource that is not covered after each loss, like `missing`
    fullest       (L, R) int  the domain of each of `snapshot.losses` in which it has most
    by_msb        (R, M) RRU  its servers in each MSB
    off_affinity  (R, D) RRU  the RRU outside the affinity band of each datacenter (expression 7)
    """

    total: Floats
    worst_msb: Floats
    surviving: Floats
    shortfall: Floats
    buffers: Floats
    missing: Floats
    held: Floats
    held_after: Floats
    lacks: Floats
    fullest: Indices
    by_msb: Floats
    off_affinity: Floats

    @property
    def buffer(self) -> Floats:
        """Return the (R,) RRU that expression 4 counts: the buffers, added over the kinds of loss."""
        return np.asarray(self.buffers.sum(0))

    @property
    def unmet(self) -> Floats:
        """Return the (R,) RRU that the penalty of expression 6 counts: `missing` and `lacks`, added over the kinds of
        loss and the resources.
        """
        return np.asarray(self.missing.sum(0) + self.lacks.sum((0, 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The terms of the objective for one binding, in the currency of the policy's costs.

    stability            cost of servers that leave their reservation (expression 1)
    rack_spread          cost of RRU above the limit of a rack (expression 2)
    msb_spread           cost of RRU above the limit of an MSB (expression 3)
    buffer               cost of RRU in the largest domain of each kind whose loss a reservation must survive
                         (expression 4)
    surplus              cost of servers above the fewest that could give the capacity
    power                cost of kW that MSBs draw above the levels of an even region
    locality             cost of domains beyond those that reservations prefer
    uplinks              cost of Gbit/s that racks send above the limits of their uplinks
    short                penalty for RRU that reservations lack (expression 6)
    affinity             penalty for RRU outside the affinity bands (expression 7)
    moved_idle           number of idle servers that leave their reservation
    moved_in_use         number of servers in use that leave their reservation
    acquired             number of servers that reservations get
    shortfall_rru        RRU that reservations lack in total
    reservations_short   number of reservations that lack RRU
    """

    stability: float
    rack_spread: float
    msb_spread: float
    buffer: float
    surplus: float
    short: float
    affinity: float
    moved_idle: int
    moved_in_use: int
    acquired: int
    shortfall_rru: float
    reservations_short: int
    power: float = 0.0
    locality: float = 0.0
    uplinks: float = 0.0

    @property
    def objective(self) -> float:
        """Return the sum of expressions 1 to 4, of the surplus, the balance of power, locality and uplinks."""
        placed = self.stability + self.rack_spread + self.msb_spread + self.buffer + self.surplus
        return placed + self.power + self.locality + self.uplinks

    @property
    def penalty(self) -> float:
        """Return the penalties for shortfall and affinity."""
        return self.short + self.affinity

    @property
    def total(self) -> float:
        """Return the sum of `objective` and `penalty`."""
        return self.objective + self.penalty

    @property
    def total_without_rack(self) -> float:
        """Return the total without the terms of racks, which the lower bound of a solve leaves out: expression 2, and
        uplinks.
        """
        return self.total - self.rack_spread - self.uplinks


def coverage_of(snapshot: FleetSnapshot, binding: Indices) -> Coverage:
    """Return the coverage of all reservations under `binding` (S,).

    binding  the index of the reservation of each server; negative: the server is in no reservation
    """
    q, topology = snapshot.reservations, snapshot.topology
    R, M, D = len(q), len(topology.msbs), len(topology.datacenters)
    rows, value = _usable(snapshot, binding)
    by_msb = (
        np.bincount(binding[rows] * M + snapshot.server_msb[rows], value, R * M)
        .astype(np.float64, copy=False)
        .reshape(R, M)
    )
    by_datacenter = (
        np.bincount(binding[rows] * D + snapshot.server_datacenter[rows], value, R * D)
        .astype(np.float64, copy=False)
        .reshape(R, D)
    )
    total = by_msb.sum(1)
    survives, buffers, fullest = [], [], []
    for loss in snapshot.losses:
        N, load = len(loss.domains), by_msb
        if loss.kind != MSB_KIND:
            flat = np.bincount(binding[rows] * N + loss.of[rows], value, R * N)
            load = flat.astype(np.float64, copy=False).reshape(R, N)
        survives.append(loss.survives)
        buffers.append(np.where(loss.survives, load.max(1, initial=0.0), 0.0))
        fullest.append(load.argmax(1) if N else np.zeros(R, np.int64))
    left = total - np.array(buffers)
    surviving, counts = left.min(0), np.array(survives)
    counts[0] |= ~counts.any(0)
    held, after, lacks = [], [], []
    further = snapshot.measures[1:]
    for one in further:
        amount = one.rru[binding[rows], snapshot.servers.hardware_type[rows]]
        has = np.bincount(binding[rows], amount, R)
        kept = np.array([has - _largest(loss, binding[rows], rows, amount, R) for loss in snapshot.losses])
        held.append(has / one.worth)
        after.append(kept.min(0) / one.worth)
        lacks.append(np.maximum(one.capacity - kept, 0.0) * counts)
        surviving = np.minimum(surviving, one.shared(kept.min(0)))
    capacity = q.capacity_rru[:, None]
    off = np.abs(by_datacenter - q.affinity_share * capacity) - snapshot.policy.affinity_tolerance * capacity
    return Coverage(
        total=total,
        worst_msb=by_msb.max(1, initial=0.0),
        surviving=surviving,
        shortfall=np.maximum(q.capacity_rru - surviving, 0.0),
        buffers=np.array(buffers),
        missing=np.maximum(q.capacity_rru - left, 0.0) * counts,
        held=np.array(held).reshape(len(further), R),
        held_after=np.array(after).reshape(len(further), R),
        lacks=np.array(lacks).reshape(len(further), len(counts), R).swapaxes(0, 1),
        fullest=np.array(fullest, np.int32),
        by_msb=by_msb,
        off_affinity=np.maximum(np.nan_to_num(off, nan=0.0), 0.0),
    )


def _largest(loss: DomainLoss, of: Indices, rows: NDArray[np.intp], amount: Floats, R: int) -> Floats:
    """Return what each reservation holds in its largest domain of a kind, (R,); 0 if it need not survive the loss.

    of      the reservation of each of the servers `rows`
    amount  what each of them gives
    """
    N = len(loss.domains)
    load = np.bincount(of * np.int64(N) + loss.of[rows], amount, R * N).reshape(R, N)
    return np.where(loss.survives, load.max(1, initial=0.0), 0.0)


def kinds_survived(snapshot: FleetSnapshot, reservation: int) -> tuple[str, ...]:
    """Return the kinds of domain of which reservation `reservation` survives the loss of any one, MSBs first."""
    return tuple(loss.kind for loss in snapshot.losses if loss.survives[reservation])


def scarce_resource(snapshot: FleetSnapshot, covered: Coverage, reservation: int) -> str | None:
    """Return the resource of which a reservation lacks the largest share of what it asks for.

    Return None if it lacks none, or a larger share of its RRU.
    """
    left, found = float((covered.total - covered.buffers)[:, reservation].min()), None
    left = min(left, float(snapshot.reservations.capacity_rru[reservation]))
    for one, after in zip(snapshot.measures[1:], covered.held_after, strict=True):
        share = float(one.shared(after * one.worth)[reservation])
        if share < left * (1 - ROUNDING):
            left, found = share, one.resource
    return found


def short_of(snapshot: FleetSnapshot, covered: Coverage, reservation: int) -> str | None:
    """Return the resource of which a reservation is shortest, in words, such as "RRU of its guest cache".

    Return None if it is shortest of its own RRU. Shortfalls count a resource in RRU of the reservation.
    """
    resource = scarce_resource(snapshot, covered, reservation)
    return None if resource is None else unit_in_words(resource)


def worst_domain(snapshot: FleetSnapshot, covered: Coverage, reservation: int) -> WorstDomain | None:
    """Return the domain whose loss takes most from a reservation, of the kinds whose loss it must survive.

    Return None if it survives no loss, or holds nothing.
    """
    k = int(covered.buffers[:, reservation].argmax())
    loss, rru = snapshot.losses[k], float(covered.buffers[k, reservation])
    if rru <= 0:
        return None
    return WorstDomain(kind=loss.kind, domain=str(loss.domains[covered.fullest[k, reservation]]), rru=rru)


def short_rru(snapshot: FleetSnapshot, covered: Coverage) -> Floats:
    """Return the RRU that each reservation lacks, (R,). A residue of rounding counts as 0."""
    return np.where(covered.shortfall > ROUNDING * snapshot.reservations.capacity_rru, covered.shortfall, 0.0)


def surplus_servers(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the number of servers of each reservation above the fewest that could give its capacity, (R,).

    The fewest are C / max V servers: the capacity divided by the RRU of the best server. With resources, the measure
    that needs most counts. Servers of embedded buffers count, and so do servers of no use to their reservation. Servers
    that are down or leaving do not count.
    """
    R = len(snapshot.reservations)
    held = np.bincount(binding[(binding >= 0) & snapshot.servers.lasting], minlength=R)
    return np.asarray(np.maximum(held - snapshot.fewest_servers, 0.0))


def above_rack_limit(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the RRU of each reservation above the limits of its racks, (R,): expression 2 without its price."""
    q, racks = snapshot.reservations, len(snapshot.topology.racks)
    rows, value = _usable(snapshot, binding)
    keys, inverse = np.unique(binding[rows].astype(np.int64) * racks + snapshot.servers.rack[rows], return_inverse=True)
    by_rack, of = np.bincount(inverse, value, len(keys)).astype(np.float64, copy=False), keys // max(racks, 1)
    above = above_share(by_rack, q.rack_spread_limit[of], q.capacity_rru[of])
    return np.bincount(of, above, len(q)).astype(np.float64, copy=False)


def costs_by_reservation(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the cost of each reservation, (R,): expressions 3, 4, 6 and 7, the surplus, and locality."""
    q, policy, covered = snapshot.reservations, snapshot.policy, coverage_of(snapshot, binding)
    surplus = snapshot.price("surplus_cost") * q.surplus_weight * surplus_servers(snapshot, binding)
    spread = above_share(covered.by_msb, q.msb_spread_limit[:, None], q.capacity_rru[:, None]).sum(1)
    penalty = policy.shortfall_cost * covered.unmet + policy.affinity_cost * covered.off_affinity.sum(1)
    beta, tau = snapshot.price("spread_cost"), snapshot.price("buffer_cost")
    placed = snapshot.units_per_rru * (beta * spread + tau * covered.buffer)
    locality = snapshot.price("locality_cost") * further_domains(snapshot, binding)
    return np.asarray(placed + surplus + locality + snapshot.penalty_weight * penalty)


def evaluate(snapshot: FleetSnapshot, binding: Indices) -> Score:
    """Return the score of `binding` (S,). Source: RAS, 3.5.3.

    A server leaves its reservation if its binding differs from its target in the snapshot. Costs per RRU count in cost
    units (docs/designs/0033).
    """
    s, q, policy = snapshot.servers, snapshot.reservations, snapshot.policy
    units, weight, beta = snapshot.units_per_rru, snapshot.penalty_weight, snapshot.price("spread_cost")
    covered = coverage_of(snapshot, binding)
    moved, short = (s.target >= 0) & (binding != s.target), short_rru(snapshot, covered)
    return Score(
        # a leaving server's move is not the plan's choice
        stability=float(snapshot.leaving_cost[moved & ~s.leaving].sum()),
        rack_spread=float((beta * units * above_rack_limit(snapshot, binding)).sum()),
        msb_spread=float(
            (
                (beta * units)[:, None]
                * above_share(covered.by_msb, q.msb_spread_limit[:, None], q.capacity_rru[:, None])
            ).sum()
        ),
        buffer=float((snapshot.price("buffer_cost") * units * covered.buffer).sum()),
        surplus=float((snapshot.price("surplus_cost") * q.surplus_weight * surplus_servers(snapshot, binding)).sum()),
        short=policy.shortfall_cost * float((weight * covered.unmet).sum()),
        affinity=policy.affinity_cost * float((weight * covered.off_affinity.sum(1)).sum()),
        moved_idle=int((moved & ~s.in_use).sum()),
        moved_in_use=int((moved & s.in_use).sum()),
        acquired=int(((binding >= 0) & (binding != s.target)).sum()),
        shortfall_rru=float(short.sum()),
        reservations_short=int(np.count_nonzero(short)),
        power=balance_cost(snapshot, binding),
        locality=float((snapshot.price("locality_cost") * further_domains(snapshot, binding)).sum()),
        uplinks=uplinks_cost(snapshot, binding),
    )


def _usable(snapshot: FleetSnapshot, binding: Indices) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], Floats]:
    """Return the rows of servers that are bound, up and not leaving, and the RRU of each of these servers."""
    usable: Bools = (binding >= 0) & snapshot.servers.lasting
    rows = np.flatnonzero(usable)
    return rows, snapshot.reservations.rru[binding[rows], snapshot.servers.hardware_type[rows]]


def above_share(load: Floats, share: Floats, capacity: Floats) -> Floats:
    """Return the RRU of `load` above the spread limit, which is `share` times `capacity`.

    An infinite share means no limit, for any capacity.
    """
    limit = np.where(np.isinf(share), np.inf, np.where(np.isinf(share), 0.0, share) * capacity)
    return np.maximum(load - limit, 0.0)
