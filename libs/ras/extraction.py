"""Turn counts of servers into bindings of single servers. Deterministic, and without unnecessary moves.

A count is the number of servers of one place that a reservation gets. A place is a group of servers that no reservation
distinguishes: see server_classes.py.
"""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.uplinks import gbit_each, left_to, weighs_uplinks
from libs.ras.retiring_servers import give_up_leaving
from libs.ras.server_classes import Counts, Index, Places

_DIGITS = 6
"""Decimals of Gbit/s in which servers are compared. Smaller differences are rounding."""


def extract_targets(snapshot: FleetSnapshot, places: Places, wanted: Counts) -> Indices:
    """Return target bindings (S,) that give each of R reservations `wanted` (R, K) servers of each of K places.

    Servers that are down or leaving keep their target, except for leaving servers that give_up_leaving releases. The
    servers of a deleted reservation become free.

    If a reservation loses servers of a place, it keeps those that cost most to move. If a reservation grows in a place,
    it gets servers that no reservation keeps there. Servers that it holds at present come first, which cancels a
    running move. Then come free idle servers, then other idle servers, then servers in use. Among equal servers, those
    come first that add least to the Gbit/s of racks above their limits. Then comes the rack with the fewest servers of
    the reservation, and then the lowest row. Reservations that send most choose first, if racks have limits.
    """
    servers, place = snapshot.servers, places.of
    K = wanted.shape[1]
    target = np.where(servers.lasting, FREE, np.maximum(servers.target, FREE)).astype(np.int32)

    held = np.flatnonzero(servers.lasting & (servers.target >= 0))
    stay = held[_stays(snapshot, held, place, wanted)]
    target[stay] = servers.target[stay]

    bound = target >= 0
    usable = bound & servers.lasting
    missing = wanted - np.bincount(target[usable].astype(np.int64) * K + place[usable], minlength=wanted.size).reshape(
        wanted.shape
    )
    pool = np.flatnonzero(servers.lasting & ~bound)
    pool = pool[np.argsort(place[pool], kind="stable")]
    starts = np.searchsorted(place[pool], np.arange(K + 1))
    crowd, uplinks = _RackCrowd(snapshot, target, usable), _Uplinks.of(snapshot, target)
    for g in np.flatnonzero(missing.sum(0)):
        candidates = pool[starts[g] : starts[g + 1]]
        wanting = np.flatnonzero(missing[:, g])
        for r in wanting if uplinks is None else uplinks.in_order(wanting):
            chosen = _best(snapshot, candidates, int(r), crowd, uplinks)[: missing[r, g]]
            target[candidates[chosen]] = r
            if uplinks is not None:
                uplinks.take(int(r), candidates[chosen])
            candidates = np.delete(candidates, chosen)
    return give_up_leaving(snapshot, target)


def _stays(snapshot: FleetSnapshot, held: Index, place: Index, wanted: Counts) -> Bools:
    """Return for each server of `held` whether it stays with its reservation, (len(held),).

    Of the servers of one reservation in one place, the best stay, as many as `wanted` (R, K) says. Servers that cost
    most to move are best. Next come servers that are at their target already, and then servers that keep racks even.
    """
    servers = snapshot.servers
    of = np.maximum(servers.target, FREE)
    in_use_dearer = np.append(snapshot.price("move_cost_in_use") >= snapshot.price("move_cost_idle"), True)[of]
    dear = servers.in_use == in_use_dearer
    group = servers.target[held].astype(np.int64) * wanted.shape[1] + place[held]
    rank = 2 * ~dear[held] + (servers.current[held] != servers.target[held])
    even = _nth(np.lexsort((held, servers.rack[held], rank, group)), group, rank, servers.rack[held])
    order = np.lexsort((held, even, rank, group))
    stays = np.zeros(len(held), bool)
    stays[order] = np.arange(len(order)) - np.searchsorted(group[order], group[order]) < wanted.ravel()[group[order]]
    return stays


def _nth(order: Index, *keys: Counts | Indices) -> Counts:
    """Return for each entry the number of earlier entries in `order` that are equal to it in all `keys`.

    Entries with equal keys must be neighbours in `order`.
    """
    new = np.zeros(len(order), bool)
    new[:1] = True
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    starts = np.flatnonzero(new)
    nth = np.empty(len(order), np.int64)
    nth[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return nth


def _best(snapshot: FleetSnapshot, candidates: Index, r: int, crowd: _RackCrowd, uplinks: _Uplinks | None) -> Index:
    """Return the positions of the servers in `candidates`, the best server for reservation `r` first."""
    servers = snapshot.servers
    rack = servers.rack[candidates]
    churn = np.where(
        servers.current[candidates] == r,
        0,
        np.where(servers.in_use[candidates], 3, 1 + (servers.target[candidates] >= 0)),
    )
    nth = _nth(np.lexsort((candidates, rack, churn)), churn, rack)
    above = np.zeros(len(rack)) if uplinks is None else uplinks.above(r, candidates, nth)
    return np.lexsort((candidates, nth + crowd.of(r, rack), above, churn))


class _RackCrowd:
    """The number of servers that each reservation keeps in each rack, before further servers are distributed."""

    def __init__(self, snapshot: FleetSnapshot, target: Indices, usable: Bools) -> None:
        self._racks = len(snapshot.topology.racks)
        rows = np.flatnonzero(usable)
        keys = target[rows].astype(np.int64) * self._racks + snapshot.servers.rack[rows]
        self._keys, self._counts = np.unique(keys, return_counts=True)

    def of(self, r: int, rack: Indices) -> Counts:
        """Return the number of servers that reservation `r` has in each rack of `rack` (k,), (k,)."""
        if not len(self._keys):
            return np.zeros(len(rack), np.int64)
        key = r * self._racks + rack.astype(np.int64)
        at = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return np.where(self._keys[at] == key, self._counts[at], 0)


class _Uplinks:
    """The Gbit/s that racks have to spare while servers are distributed."""

    def __init__(self, snapshot: FleetSnapshot, spare: Floats) -> None:
        self._servers, self._spare = snapshot.servers, spare
        self._each, self._gbit_per_rru = gbit_each(snapshot), snapshot.reservations.gbit_per_rru

    @classmethod
    def of(cls, snapshot: FleetSnapshot, target: Indices) -> _Uplinks | None:
        """Return what the bindings `target` (S,) leave; None if uplinks cost nothing."""
        if not weighs_uplinks(snapshot):
            return None
        spare = left_to(snapshot, np.zeros(len(target), bool), target)
        assert spare is not None
        return cls(snapshot, spare)

    def in_order(self, reservations: Index) -> Index:
        """Return the reservations, those that send most first."""
        return reservations[np.argsort(-self._gbit_per_rru[reservations], kind="stable")]

    def above(self, r: int, rows: Index, nth: Counts) -> Floats:
        """Return the Gbit/s above the limit of its rack that each of the servers `rows` adds for `r`, rounded.

        nth  the number of servers of the rack that come before it
        """
        each, spare = self._sent(r, rows), self._spare[self._servers.rack[rows]]
        before, after = np.maximum(nth * each - spare, 0.0), np.maximum((nth + 1) * each - spare, 0.0)
        return np.asarray(np.round(after - before, _DIGITS))

    def take(self, r: int, rows: Index) -> None:
        """Count the servers `rows` for `r`."""
        np.subtract.at(self._spare, self._servers.rack[rows], self._sent(r, rows))

    def _sent(self, r: int, rows: Index) -> Floats:
        return np.asarray(self._each[r, self._servers.hardware_type[rows]])
