"""Shares of datacenters that follow the holdings of another reservation (docs/designs/0060)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.domain.arrays import Floats, Ints, Names
from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ReservationSpec

_DIGITS = 6


def followed_shares(held_rru: Floats, msbs: Ints, *, survives_msb_loss: bool) -> Floats | None:
    """Return the shares of capacity (D,) that a reservation wants in each datacenter, if it follows another one.

        s[d] = held[d] / sum_d held[d]      A[d] = s[d] / (1 - max_d s[d] / msbs[d])

    The divisor is 1 without survival. If it would be 0, all is in one MSB, and nothing survives: it is 1 too. Return
    None if the other one holds nothing.

    held_rru  (D,) RRU that the other one holds in each datacenter
    msbs      (D,) number of MSBs of each datacenter
    """
    total = float(held_rru.sum())
    if total <= 0:
        return None
    share = held_rru / total
    fullest = float((share / np.maximum(msbs, 1)).max())
    grown = 1.0 / (1.0 - fullest) if survives_msb_loss and fullest < 1.0 else 1.0
    return np.asarray((share * grown).round(_DIGITS))


def following(snapshot: FleetSnapshot, spec: ReservationSpec) -> ReservationSpec:
    """Return the spec with the present shares of the reservation that it follows, by the targets. Return it as it is if
    it follows none, or one that is not there or holds nothing.
    """
    share = _shares_of(snapshot, spec.affinity_follows, survives_msb_loss=spec.survives_msb_loss)
    if share is None:
        return spec
    return replace(spec, affinity=dict(zip(map(str, snapshot.topology.datacenters), share.tolist(), strict=True)))


def with_followed_shares(snapshot: FleetSnapshot, follows: Names) -> FleetSnapshot:
    """Return the snapshot with the shares of the reservations that follow another one, by the targets.

    follows  (R,) str or None   the name of the other one. The shares stay if it is not there, or holds nothing
    """
    q = snapshot.reservations
    share = q.affinity_share.copy()
    for row, other in enumerate(follows):
        found = _shares_of(snapshot, other, survives_msb_loss=bool(q.survives_msb_loss[row]))
        if found is not None:
            share[row] = found
    return replace(snapshot, reservations=replace(q, affinity_share=share))


def _shares_of(snapshot: FleetSnapshot, other: str | None, *, survives_msb_loss: bool) -> Floats | None:
    q, topology, servers = snapshot.reservations, snapshot.topology, snapshot.servers
    found = np.flatnonzero(q.name == other) if other is not None else ()
    if not len(found):
        return None
    mine, places = np.flatnonzero(servers.target == found[0]), len(topology.datacenters)
    value = q.rru[found[0], servers.hardware_type[mine]]
    held = np.bincount(snapshot.server_datacenter[mine], value, places)
    msbs = np.bincount(topology.msb_datacenter, minlength=places)
    return followed_shares(held, msbs, survives_msb_loss=survives_msb_loss)
