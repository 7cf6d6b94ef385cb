"""Waits of servers to leave their reservations, as the mover reads and writes them. Others read them with
libs.store.fleet.departure_waits.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import numpy as np
import orjson
import sqlalchemy as sa

from libs.domain.departure_wait import KnownWaits, WaitsPlan
from libs.store.fleet.departure_waits import OF_WAIT, load_waits_of_region
from libs.store.moves.movers import lock_mover
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction

_KNOWN = """SELECT server_id, reservation_id, (extract(epoch FROM since) * 1000000)::bigint FROM departure_waits
            WHERE region_id = %(region_id)s ORDER BY server_id"""
_FIELDS = {"server_id": ">i8", "reservation_id": ">i8", "since_us": ">i8"}
_ENDED = sa.text("DELETE FROM departure_waits WHERE server_id = ANY(:ids)")
_BEGAN = sa.text("""
    INSERT INTO departure_waits (server_id, region_id, reservation_id, since)
    SELECT server_id, :region_id, reservation_id, :now
    FROM unnest(CAST(:server_ids AS bigint[]), CAST(:reservation_ids AS bigint[])) AS began (server_id, reservation_id)
    ON CONFLICT (server_id) DO UPDATE
        SET region_id = EXCLUDED.region_id, reservation_id = EXCLUDED.reservation_id, since = EXCLUDED.since""")
_GONE = sa.text("DELETE FROM reservation_waits WHERE reservation_id = ANY(:ids)")
_CHANGED = sa.text(f"""
    INSERT INTO reservation_waits (reservation_id, region_id, {", ".join(OF_WAIT)})
    SELECT reservation_id, :region_id, {", ".join(f"changed.{name}" for name in OF_WAIT)}
    FROM json_to_recordset(CAST(:waits AS json)) AS changed (
        reservation_id bigint, servers int, since timestamptz, level text, keeps_rru double precision,
        lacks_rru double precision, resource text, units double precision, loss text, waits_for text,
        moves int, replacements int, loans int, queued int,
        approval_id bigint, approval_state text)
    ORDER BY reservation_id
    ON CONFLICT (reservation_id) DO UPDATE SET {", ".join(f"{name} = EXCLUDED.{name}" for name in OF_WAIT)}""")


def load_known_waits(tx: Transaction, region_id: int) -> KnownWaits:
    """Return the stored waits of a region."""
    found = copy_out(tx, _KNOWN, {"region_id": region_id}, _FIELDS)
    return KnownWaits(
        **{name: found[name].astype(np.int64) for name in _FIELDS},
        by_reservation=load_waits_of_region(tx, region_id),
    )


def write_waits(tx: Transaction, region_id: int, plan: WaitsPlan, *, now: datetime) -> None:
    """Store how the waits of a region changed: a few statements, however many servers wait.

    Lock the mover of the region first: two ticks that wrote the same waits in different orders would deadlock.
    """
    lock_mover(tx, region_id)
    if len(plan.ended):
        tx.execute(_ENDED, {"ids": plan.ended.tolist()})
    if len(plan.began):
        ids = {"server_ids": plan.began[:, 0].tolist(), "reservation_ids": plan.began[:, 1].tolist()}
        tx.execute(_BEGAN, {**ids, "region_id": region_id, "now": now})
    if plan.gone:
        tx.execute(_GONE, {"ids": list(plan.gone)})
    if plan.changed:
        waits = orjson.dumps([asdict(wait) for wait in plan.changed]).decode()
        tx.execute(_CHANGED, {"region_id": region_id, "waits": waits})
