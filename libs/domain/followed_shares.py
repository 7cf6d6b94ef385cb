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

    The divisor is 1 without survival. Return None if the other one holds nothing.

    A datacenter of one MSB may have more than a half of s. This ratio, kept after the loss of the MSB, would take many
    times the capacity. So the MSB gets the capacity once, and the other datacenters together get it once more.

    held_rru  (D,) RRU that the other one holds in each datacenter
    msbs      (D,) number of MSBs of each datacenter
    """
    total = float(held_rru.sum())
    if total <= 0:
        return None
    share = held_rru / total
    if survives_msb_loss:
        in_msb = share / np.maximum(msbs, 1)
        fullest = int(in_msb.argmax())
        share = share / (1.0 - in_msb[fullest]) if in_msb[fullest] < 1.0 else share
        share[fullest] = min(share[fullest], float(max(msbs[fullest], 1)))
    return np.asarray(share.round(_DIGITS))


def following(snapshot: FleetSnapshot, spec: ReservationSpec) -> ReservationSpec:
    """Return the spec with the present shares of the reservation that it follows, by the targets. Return it as it is if
    it follows none, or one that is not there or holds nothing.
    """
    other = spec.affinity_follows
    held = None if other is None else _held_rru(snapshot, other)
    share = None if held is None else _shares(snapshot, held, survives_msb_loss=spec.survives_msb_loss)
    if share is None:
        return spec
    return replace(spec, affinity=dict(zip(map(str, snapshot.topology.datacenters), share.tolist(), strict=True)))


def with_followed_shares(snapshot: FleetSnapshot, follows: Names) -> FleetSnapshot:
    """Return the snapshot with the shares of the reservations that follow another one, by the targets.

    follows  (R,) str or None   the name of the other one. The shares stay if it is not there, or holds nothing
    """
    held = {name: _held_rru(snapshot, name) for name in sorted({*follows} - {None})}
    if not held:
        return snapshot
    q = snapshot.reservations
    share = q.affinity_share.copy()
    for row, other in enumerate(follows):
        of_other = None if other is None else held[other]
        if of_other is not None:
            found = _shares(snapshot, of_other, survives_msb_loss=bool(q.survives_msb_loss[row]))
            share[row] = share[row] if found is None else found
    return replace(snapshot, reservations=replace(q, affinity_share=share))


def why_not_followed(name: str, other: str, *, follows: str | None, follower: str | None) -> str | None:
    """Return why the reservation `name` may not follow `other`, as the end of a sentence; None if it may. One that is
    followed follows none, so that a change settles within one solve.

    follows   name of the reservation that `other` follows, or None
    follower  name of a reservation that follows `name`, or None
    """
    if other == name:
        return "is this reservation itself: name another one"
    if follows is not None:
        return f"follows {follows} itself: name {follows}" if follows != name else f"follows {name}: let it follow none"
    if follower is not None:
        return f"cannot be followed here, because {follower} follows {name}: let {follower} follow it too"
    return None


def _held_rru(snapshot: FleetSnapshot, name: str) -> Floats | None:
    """Return the RRU (D,) that the reservation `name` has in each datacenter; None if it is not there."""
    q, servers = snapshot.reservations, snapshot.servers
    found = np.flatnonzero(q.name == name)
    if not len(found):
        return None
    mine = np.flatnonzero(servers.target == found[0])
    value = q.rru[found[0], servers.hardware_type[mine]]
    held = np.bincount(snapshot.server_datacenter[mine], value, len(snapshot.topology.datacenters))
    return held.astype(np.float64, copy=False)


def _shares(snapshot: FleetSnapshot, held_rru: Floats, *, survives_msb_loss: bool) -> Floats | None:
    msbs = np.bincount(snapshot.topology.msb_datacenter, minlength=len(held_rru))
    return followed_shares(held_rru, msbs, survives_msb_loss=survives_msb_loss)
