"""Requests for a reservation, as they are stored once they are decided."""

import json
from collections.abc import Iterable

import sqlalchemy as sa

from libs.store.platform.database import Database
from tests.builders.stored import NOW

_REQUEST = sa.text("""
    INSERT INTO capacity_requests (region_id, kind, reservation_name, reservation_id, owner, spec, phase, reason,
                                   message, numbers, requested_by, created_at, changed_at)
    SELECT region_id, :kind, name, reservation_id, 'team', CAST(:spec AS jsonb), :phase, '',
           '', '{}', 'olga', :now, :now
    FROM reservations WHERE name = :name""")


def ask(database: Database, requests: Iterable[tuple[str, float, str]], *, name: str = "web") -> None:
    """Store requests, each with its kind, its capacity in RRU and its phase, in this order."""
    with database.write() as tx:
        for kind, capacity_rru, phase in requests:
            spec = json.dumps({"capacity_rru": capacity_rru})
            tx.execute(_REQUEST, {"name": name, "kind": kind, "spec": spec, "phase": phase, "now": NOW})
