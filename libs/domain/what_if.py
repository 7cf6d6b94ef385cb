"""A snapshot with one reservation other than it is: what an assessment asks about before anything is stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.domain.fleet import FleetSnapshot, Reservations
from libs.domain.reservation import ReservationSpec


def with_reservation(
    snapshot: FleetSnapshot, name: str, spec: ReservationSpec, *, reservation_id: int = 0, generation: int = 1
) -> tuple[FleetSnapshot, int]:
    """The snapshot with the reservation `name` as `spec` says, and its row: the one of that name, or a new last one.

    reservation_id   of a new row: 0 while it is not stored, its own once it is and the plan is to be committed
    A hardware type or datacenter of the spec that the snapshot lacks counts for nothing: there are no such servers.
    """
    q = snapshot.reservations
    found = np.flatnonzero(q.name == name)
    row = int(found[0]) if len(found) else len(q)
    types = snapshot.hardware_types
    values: dict[str, object] = {
        "id": int(q.id[row]) if len(found) else reservation_id,
        "name": name,
        "capacity_rru": spec.capacity_rru,
        "survives_msb_loss": spec.survives_msb_loss,
        "msb_spread_limit": np.inf if spec.msb_spread_limit is None else spec.msb_spread_limit,
        "rack_spread_limit": np.inf if spec.rack_spread_limit is None else spec.rack_spread_limit,
        "rru": np.array([spec.rru.get(t, 0.0) for t in types]),
        "affinity_share": np.array([spec.affinity.get(d, np.nan) for d in snapshot.topology.datacenters]),
        "generation": int(q.generation[row]) if len(found) else generation,
    }
    columns = {}
    for field, value in values.items():
        column = getattr(q, field)
        new = np.empty((1, *column.shape[1:]), column.dtype)
        new[0] = value
        columns[field] = np.concatenate([column[:row], new, column[row + 1 :]])
    return replace(snapshot, reservations=Reservations(**columns)), row
