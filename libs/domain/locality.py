"""Count the domains of reservations that prefer few (docs/designs/0062-priced-locality.md)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Indices, Ints
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import LimitedKind, limited_kinds


def preferring_kinds(snapshot: FleetSnapshot) -> tuple[LimitedKind, ...]:
    """Return the kinds of domain of which some reservation prefers few."""
    return tuple(kind for kind in limited_kinds(snapshot) if np.isfinite(kind.preferred).any())


def domains_held(snapshot: FleetSnapshot, kind: LimitedKind, binding: Indices) -> Ints:
    """Return the number of domains of a kind in which each reservation has servers by `binding` (S,), (R,).

    Only servers that plans may count on are counted. Those without a place count as in one domain.
    """
    R, N = len(snapshot.reservations), len(kind.domains)
    rows = np.flatnonzero((binding >= 0) & snapshot.servers.lasting)
    holds = np.zeros((R, N), bool)
    holds[binding[rows], kind.of[rows]] = True
    return np.asarray(holds.sum(1), np.int64)


def further_domains(snapshot: FleetSnapshot, binding: Indices) -> Ints:
    """Return the domains of each reservation beyond those that it prefers, added over the kinds, (R,)."""
    found = np.zeros(len(snapshot.reservations), np.int64)
    for kind in preferring_kinds(snapshot):
        held = domains_held(snapshot, kind, binding)
        wanted = np.isfinite(kind.preferred)
        found[wanted] += np.maximum(held[wanted] - kind.preferred[wanted], 0).astype(np.int64)
    return found


def added_domains(
    snapshot: FleetSnapshot,
    kinds: tuple[LimitedKind, ...],
    binding: Indices,
    reservation: int,
    joining: NDArray[np.intp],
) -> Ints:
    """Return how many more domains beyond those that a reservation prefers it has with each of N servers, (N,).

    kinds        from `preferring_kinds`
    binding      (S,) the reservation of each server before one of them joins
    reservation  row of the reservation
    joining      (N,) rows of the servers, of which one is to join
    """
    found = np.zeros(len(joining), np.int64)
    held = (binding == reservation) & snapshot.servers.lasting
    for kind in kinds:
        if np.isfinite(kind.preferred[reservation]):
            domains = np.unique(kind.of[held])
            if len(domains) >= kind.preferred[reservation]:
                found += ~np.isin(kind.of[joining], domains)
    return found
