"""Group first: servers that no term of the model tells apart become one integer count per reservation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from libs.domain.fleet import Bools, FleetSnapshot, Floats
from libs.domain.policy import RegionPolicy

Counts = NDArray[np.int64]
Index = NDArray[np.intp]
Amounts = Counts | Floats
"""Counts, or the fractions of them that a relaxation has."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountProblem:
    """The RAS model without rack terms, on counts of servers per (reservation, MSB, hardware type).

    N count columns, sorted by reservation, MSB, hardware type; R reservations, M MSBs, T hardware types, D datacenters;
    a place is an (MSB, hardware type), numbered m * T + t.

    reservation, msb, hardware_type  (N,) int
    rru           (N,) RRU     V per server
    most          (N,) int     servers that may be bound at most
    held_cheap    (N,) int     lasting servers bound now whose leaving costs leave_cost_cheap each (idle ones)
    held_dear     (N,) int     likewise leave_cost_dear (servers in use)
    supply        (M*T,) int   lasting servers of each place
    msb_datacenter   (M,) int
    capacity_rru     (R,) RRU  C_r
    survives         (R,) bool
    msb_limit_rru    (R,) RRU  alpha^F C_r; inf: no limit
    affinity_share   (R, D)    A; nan: not constrained
    penalty_most     (R,)      what shortfall and affinity may cost each at most, see blocks/regression; inf: any

    Servers that are down or leaving are not in it: they count for nothing and stay where they are, which is free.
    Movement need not split a count by where its servers come from: the cost of leaving is convex in the number that
    leaves, the cheap ones first (docs/adr/0003).
    """

    reservation: Index
    msb: Index
    hardware_type: Index
    rru: Floats
    most: Counts
    held_cheap: Counts
    held_dear: Counts
    supply: Counts
    msb_datacenter: Index
    capacity_rru: Floats
    survives: Bools
    msb_limit_rru: Floats
    affinity_share: Floats
    penalty_most: Floats
    leave_cost_cheap: float
    leave_cost_dear: float
    policy: RegionPolicy

    @property
    def reservations(self) -> int:
        """R."""
        return len(self.capacity_rru)

    @property
    def msbs(self) -> int:
        """M."""
        return len(self.msb_datacenter)

    @property
    def place(self) -> Index:
        """(N,) the (MSB, hardware type) of each count."""
        return self.msb * (len(self.supply) // max(self.msbs, 1)) + self.hardware_type

    @property
    def held(self) -> Counts:
        """(N,) lasting servers bound now."""
        return self.held_cheap + self.held_dear

    @property
    def first(self) -> Index:
        """(R + 1,) the counts of reservation r are first[r] to first[r + 1] - 1."""
        return np.searchsorted(self.reservation, np.arange(self.reservations + 1))

    @property
    def penalty_unit(self) -> float:
        """What the dearer of an RRU short and an RRU outside its band costs; 1 where neither costs anything."""
        return max(self.policy.shortfall_cost, self.policy.affinity_cost) or 1.0

    @property
    def penalty_slack(self) -> float:
        """What a penalty may exceed its limit by, because sums of floats do."""
        return 1e-9 * self.penalty_unit

    def used(self, counts: Counts) -> Counts:
        """(M*T,) servers of each place that are bound."""
        return np.bincount(self.place, counts, len(self.supply)).astype(np.int64)

    def select(self, chosen: Index, columns: Index, supply: Counts) -> CountProblem:
        """The same problem for some reservations, some of their columns and a given supply: a neighbourhood.

        chosen   reservations, increasing; columns  increasing indices, all of chosen reservations; supply (M*T,)
        """
        return replace(
            self,
            reservation=np.searchsorted(chosen, self.reservation[columns]),
            msb=self.msb[columns],
            hardware_type=self.hardware_type[columns],
            rru=self.rru[columns],
            most=np.minimum(self.most[columns], supply[self.place[columns]]),
            held_cheap=self.held_cheap[columns],
            held_dear=self.held_dear[columns],
            supply=supply,
            capacity_rru=self.capacity_rru[chosen],
            survives=self.survives[chosen],
            msb_limit_rru=self.msb_limit_rru[chosen],
            affinity_share=self.affinity_share[chosen],
            penalty_most=self.penalty_most[chosen],
        )


def group_servers(snapshot: FleetSnapshot) -> CountProblem:
    """Count what there is, per place, and what each reservation holds of it. Leaving is measured from the targets.

    A reservation that holds servers of a type it may not use keeps a column for them, worth nothing: they may stay.
    """
    servers, reservations, policy = snapshot.servers, snapshot.reservations, snapshot.policy
    M, T, R = len(snapshot.topology.msbs), len(snapshot.hardware_types), len(reservations)
    place = snapshot.server_msb.astype(np.intp) * T + servers.hardware_type
    supply = np.bincount(place[servers.lasting], minlength=M * T)
    dear = servers.in_use if policy.move_cost_in_use >= policy.move_cost_idle else ~servers.in_use
    held = np.zeros((2, R, M * T), np.int64)
    stays = servers.lasting & (servers.target >= 0)
    np.add.at(held, (dear[stays].astype(np.intp), servers.target[stays], place[stays]), 1)
    eligible = np.tile(reservations.rru > 0, (1, M)) & (supply > 0)
    reservation, at = np.nonzero(eligible | (held.sum(0) > 0))
    rru = reservations.rru[reservation, at % T]
    cheap_held, dear_held = held[:, reservation, at]
    return CountProblem(
        reservation=reservation,
        msb=at // T,
        hardware_type=at % T,
        rru=rru,
        most=np.where(rru > 0, supply[at], cheap_held + dear_held),
        held_cheap=cheap_held,
        held_dear=dear_held,
        supply=supply,
        msb_datacenter=snapshot.topology.msb_datacenter.astype(np.intp),
        capacity_rru=reservations.capacity_rru,
        survives=reservations.survives_msb_loss,
        msb_limit_rru=np.where(
            np.isinf(reservations.msb_spread_limit),
            np.inf,
            _times(reservations.msb_spread_limit, reservations.capacity_rru),
        ),
        affinity_share=reservations.affinity_share,
        penalty_most=np.full(R, np.inf),
        leave_cost_cheap=min(policy.move_cost_idle, policy.move_cost_in_use),
        leave_cost_dear=max(policy.move_cost_idle, policy.move_cost_in_use),
        policy=policy,
    )


def _times(limit: Floats, capacity: Floats) -> Floats:
    return np.where(np.isinf(limit), 0.0, limit) * capacity
