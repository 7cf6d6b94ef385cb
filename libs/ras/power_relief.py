"""Say which limits on power keep a reservation from servers, and how a region looks without them. Pure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.fleet import FleetSnapshot
from libs.domain.power import PowerLimit
from libs.domain.power_use import by_limit, gains_w, joining_w, room_w, tight_kinds

_SHOWN = 5


def has_power_limits(snapshot: FleetSnapshot) -> bool:
    """Return whether some domain of the region cannot feed all of its free servers."""
    return any(True for _ in tight_kinds(snapshot))


def without_power_limits(snapshot: FleetSnapshot) -> FleetSnapshot:
    """Return the snapshot without its limits on power."""
    return (
        snapshot if snapshot.power is None else replace(snapshot, power=replace(snapshot.power, limits=(), part=None))
    )


def relieved_by_retirement(snapshot: FleetSnapshot) -> bool:
    """Return whether servers that will be retired are bound below a limit that is exceeded. A plan may give them up,
    and then less has to be freed. The program of a solve does not know which.
    """
    if snapshot.power is None or snapshot.power.part is not None:
        return False
    servers = snapshot.servers
    saved_w = snapshot.power.gain_w[servers.hardware_type]
    relief = by_limit(snapshot, np.where(servers.leaving & (servers.target >= 0), saved_w, 0.0))
    return bool(((room_w(snapshot) < 0) & (relief > 0)).any())


def full_limits(snapshot: FleetSnapshot, reservation: int, target: Indices) -> list[PowerLimit]:
    """Return the limits that leave no room for a free server that reservation `reservation` could use, once the plan
    `target` (S,) has its servers.
    """
    power, servers, found = snapshot.power, snapshot.servers, []
    if power is None:
        return []
    left, gain = room_w(snapshot) - joining_w(snapshot, target), gains_w(snapshot)
    usable = (target < 0) & servers.lasting & (snapshot.reservations.rru[reservation, servers.hardware_type] > 0)
    for one in tight_kinds(snapshot):
        waiting = usable & (one.of >= 0)
        least = np.full(len(one.rows), np.inf)
        np.minimum.at(least, one.of[waiting], gain[waiting])
        full = np.isfinite(least) & (least > np.maximum(left[one.rows], 0.0))
        found += [power.limits[row] for row in one.rows[full]]
    return found


def full_in_words(limits: list[PowerLimit]) -> str:
    """Return the domains of `limits`, at least one, in a sentence."""
    names = [f"{one.kind} {one.domain} ({one.allowed_w / 1000:.6g} kW)" for one in limits[:_SHOWN]]
    more = f" and {len(limits) - _SHOWN} more" if len(limits) > _SHOWN else ""
    return f"{', '.join(names)}{more}"
