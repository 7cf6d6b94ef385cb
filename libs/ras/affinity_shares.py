"""Say how the datacenter shares of a reservation stand in its way, and what would let it have its capacity. Pure."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ROUNDING
from libs.domain.words import rounded_down
from libs.ras.evaluate import kinds_survived
from libs.ras.hard_limits import SHOWN, Met, limits_in_words, most_met
from libs.ras.largest_possible import Potential


def beyond_shares(snapshot: FleetSnapshot, r: int, p: Potential, met: Met) -> tuple[str, list[str]]:
    """Return what the shares of reservation `r` bar, and the changes with which it could have its capacity, each on its
    own. The shares are those of its capacity, so they grow and shrink with it.

    p    the potential of the reservation, which is less than it asks for
    met  returns whether a region could give the reservation its capacity
    """
    q = snapshot.reservations
    name, asked, share = q.name[r], p.asked_rru, q.affinity_share[r]
    value, tolerance = q.rru[r, snapshot.servers.hardware_type], snapshot.policy.affinity_tolerance
    there = np.bincount(snapshot.server_datacenter, value * ~snapshot.servers.leaving, len(share))
    lacking = np.flatnonzero((share - tolerance) * asked > there + ROUNDING * asked)
    ways = []
    if len(lacking):
        datacenters, wanted = snapshot.topology.datacenters[lacking], share[lacking[0]] * asked
        message = f"{datacenters[0]} holds {there[lacking[0]]:.6g} RRU of what {name} may use; its share wants "
        message += f"{wanted:.6g}."
        lower = share.copy()
        lower[lacking] = np.floor((there[lacking] / asked + tolerance) * SHOWN) / SHOWN
        if met(_with_shares(snapshot, r, lower)):
            each = (f"that of {datacenters[k]} to {to:.4g}" for k, to in enumerate(lower[lacking]) if k > 0)
            ways.append(" and ".join([f"lower that share to {lower[lacking[0]]:.4g}", *each]))
        unused = (snapshot.server_datacenter == lacking[0]) & (value <= 0) & ~snapshot.servers.leaving
        if unused.any():
            ways.append(f"allow more types that {datacenters[0]} has")
    else:
        message = f"Within its datacenter shares {name} could have {rounded_down(p.most_rru)} of {asked:.12g} RRU"
        # nan: the datacenter has no band
        if (share.sum() + tolerance * len(share)) * asked < p.least_held_rru * (1 - ROUNDING):
            times = p.least_held_rru / asked
            message += f": every datacenter has one, and they add up to {share.sum():.4g} of the capacity"
            kinds = " or ".join(kinds_survived(snapshot, r))
            if kinds:
                message += f", but to keep {asked:.12g} RRU without any one {kinds} it must hold {times:.4g} times that"
            factor = math.ceil(times / share.sum() * SHOWN) / SHOWN if share.sum() > 0 else math.inf
            if math.isfinite(factor) and met(_with_shares(snapshot, r, share * factor)):
                ways.append(f"multiply each share by {factor:.12g}")
        message += "."
    ways.append(_without_shares(snapshot, r, met))
    most = most_met(snapshot, r, met)
    if most > 0:
        ways.append(f"ask for at most {most:.12g} RRU")
    return message, ways


def _without_shares(snapshot: FleetSnapshot, r: int, met: Met) -> str:
    """Return how reservation `r` could be met by giving up one of its shares, all of them, or its hard limits too."""
    share = snapshot.reservations.affinity_share[r]
    given = np.flatnonzero(~np.isnan(share))
    enough = [d for d in given if met(_with_shares(snapshot, r, np.where(np.arange(len(share)) == d, np.nan, share)))]
    if enough:
        return f"leave {' or '.join(str(name) for name in snapshot.topology.datacenters[enough])} without a share"
    if met(_with_shares(snapshot, r, np.full_like(share, np.nan))):
        return "leave every datacenter without a share"
    return f"do without its shares and its hard limits ({limits_in_words(snapshot, r)})"


def _with_shares(snapshot: FleetSnapshot, r: int, share: Floats) -> FleetSnapshot:
    """Return the snapshot in which reservation `r` has the shares (D,); nan: the datacenter has none."""
    shares = snapshot.reservations.affinity_share.copy()
    shares[r] = share
    return replace(snapshot, reservations=replace(snapshot.reservations, affinity_share=shares))
