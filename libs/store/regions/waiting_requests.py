"""Requests for the part of an imported region that is asked for and not promised. See docs/interchange.md."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from psycopg.types.json import Jsonb

from libs.domain.arrays import Ints
from libs.domain.capacity_request import CapacityRequestKind, CapacityRequestPhase
from libs.domain.guest import Guest
from libs.domain.region_image import RegionImage
from libs.domain.reservation import ReservationKind
from libs.domain.stacked_region import spec_of_row
from libs.store.capacity.capacity_requests import spec_json
from libs.store.platform.bulk import Column, copy_in, new_ids
from libs.store.platform.database import Transaction
from libs.store.tables import capacity_requests


def add_waiting_requests(
    tx: Transaction,
    region_id: int,
    image: RegionImage,
    guests: Sequence[Guest],
    reservation_ids: Ints,
    *,
    requested_by: str,
    now: datetime,
) -> None:
    """Add a resize of each reservation that was granted less than it asks for. It waits, as its request did that files
    leave out, and a solve that finds the whole grants it.

    image            the region in which guests are rows
    reservation_ids  (R,) of its reservations
    """
    q, promised = image.snapshot.reservations, image.snapshot.promised_rru
    if promised is None:
        return
    is_owned = image.reservation_kind == ReservationKind.GUARANTEED
    rows = np.flatnonzero(is_owned & (promised < q.capacity_rru))
    of_guest = {guest.name: guest.spec for guest in guests}
    same: dict[str, object] = {
        "region_id": region_id,
        "kind": CapacityRequestKind.RESIZE.value,
        "reservation_generation": 1,
        "phase": CapacityRequestPhase.DEGRADED.value,
        "reason": "Imported",
        "requested_by": requested_by,
        "created_at": now,
        "changed_at": now,
    }
    each: dict[str, Column] = {
        "capacity_request_id": new_ids(tx, capacity_requests.c.capacity_request_id, len(rows)),
        "reservation_id": reservation_ids[rows],
        "reservation_name": q.name[rows],
        "owner": image.reservation_owner[rows],
        "spec": [Jsonb(spec_json(of_guest.get(str(q.name[row])) or spec_of_row(image, row))) for row in rows.tolist()],
        "message": [
            f"It was imported with {promised[row]:g} of {q.capacity_rru[row]:g} RRU granted. The rest waits until "
            "a solve finds all of it."
            for row in rows
        ],
        "numbers": [Jsonb({"promised_rru": one}) for one in promised[rows].tolist()],
    }
    copy_in(tx, capacity_requests, each | {name: [value] * len(rows) for name, value in same.items()})
