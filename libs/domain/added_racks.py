"""Add racks of free servers to a snapshot in memory, for what-ifs and explanations."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from libs.domain.arrays import Ints, Names
from libs.domain.domain_kind import UNPLACED
from libs.domain.fleet import FREE, FleetSnapshot


def with_added_racks(
    snapshot: FleetSnapshot, racks: Names, rack_msb: Ints, *, server: Names, rack: Ints, hardware_type: int
) -> FleetSnapshot:
    """Return the snapshot with K more racks of N free servers, which come last. The servers have negative ids.

    racks, rack_msb   (K,) name and MSB of each rack, which has no limit on its uplink
    server, rack      (N,) name of each server, and its place among the K racks
    """
    s, t, count = snapshot.servers, snapshot.topology, len(server)
    new: dict[str, object] = {
        "id": -1 - len(s) - np.arange(count),
        "name": server,
        "rack": len(t.racks) + rack,
        "hardware_type": hardware_type,
        "current": FREE,
        "target": FREE,
        "in_use": False,
        "available": True,
        "leaving": False,
        "drained": False,
        "awaited": False,
        "booked": False,
        "domain": UNPLACED,
        "generation": 1,
    }
    columns = {}
    for column in fields(s):
        old = getattr(s, column.name)
        more = np.empty((count, *old.shape[1:]), old.dtype)
        more[:] = new[column.name]
        columns[column.name] = np.concatenate([old, more])
    topology = replace(
        t,
        racks=np.concatenate([t.racks, racks]),
        rack_msb=np.concatenate([t.rack_msb, rack_msb.astype(t.rack_msb.dtype)]),
    )
    uplinks = snapshot.uplinks
    if uplinks is not None:
        uplinks = np.append(uplinks, np.full(len(racks), np.inf))
    return replace(snapshot, topology=topology, servers=replace(s, **columns), uplinks=uplinks)
