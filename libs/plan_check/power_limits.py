"""Check the limits on the power of domains. The definitions use no solver. See docs/designs/0055-power.md."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.fleet import FleetSnapshot
from libs.domain.power_use import above_w, beyond_w, joining_w, room_w
from libs.domain.violation import Violation

_W_PER_KW = 1000.0


def above_limits_kw(snapshot: FleetSnapshot, binding: Indices) -> float:
    """Return the kW above limits once all servers have `binding` (S,), added over the limits."""
    return float(above_w(snapshot, binding).sum()) / _W_PER_KW


def check_power(snapshot: FleetSnapshot, target: Indices) -> Iterator[Violation]:
    """Yield a violation for each limit below which the plan adds more W than there is room for.

    A limit that is exceeded already has no room. Servers that leave count in full until they have left.
    """
    power = snapshot.power
    if power is None:
        return
    for row in np.flatnonzero(beyond_w(snapshot, target)):
        limit = power.limits[row]
        room, added = max(float(room_w(snapshot)[row]), 0.0), float(joining_w(snapshot, target)[row])
        yield Violation(
            reason="PowerLimitExceeded",
            message=f"new servers in {limit.kind} {limit.domain} would add {added:.6g} W, and its limit of "
            f"{limit.limit_w:.6g} W with headroom {limit.headroom:g} has room for {room:.6g}",
        )
