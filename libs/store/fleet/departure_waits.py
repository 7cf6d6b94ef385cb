"""Read the waits of servers that may not leave their reservations yet, for people. libs.store.moves.waits writes
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from libs.domain.departure_wait import DepartureWait, Level, ServerWait, WaitsFor
from libs.domain.page import Page
from libs.store.platform.database import Transaction
from libs.store.tables import departure_waits, regions, reservation_waits, reservations

OF_WAIT = (
    *("servers", "since", "level", "keeps_rru", "lacks_rru", "resource", "units", "loss"),
    *("waits_for", "moves", "replacements", "loans", "queued", "approval_id", "approval_state"),
)
"""Columns of reservation_waits that the mover updates."""
_SELECT = (
    sa.select(reservation_waits, reservations.c.name.label("reservation"), regions.c.name.label("region"))
    .join(reservations, reservations.c.reservation_id == reservation_waits.c.reservation_id)
    .join(regions, regions.c.region_id == reservation_waits.c.region_id)
)

WAIT_COLUMNS = [departure_waits.c.since.label("server_waits_since")] + [
    reservation_waits.c[name].label(f"wait_{name}") for name in ("reservation_id", *OF_WAIT)
]
"""Columns for `wait_of`, for a query that joins both tables of waits to servers."""


def list_waits(
    tx: Transaction,
    *,
    region: str | None = None,
    reservation: str | None = None,
    after: int | None = None,
    limit: int = 100,
) -> Page[tuple[str, DepartureWait]]:
    """Return a page of (region, wait) in order of the reservations' ids. `after` is the last id of the page before."""
    query = _SELECT.where(reservation_waits.c.reservation_id > (after or 0))
    query = query.order_by(reservation_waits.c.reservation_id).limit(limit + 1)
    for column, value in ((regions.c.name, region), (reservations.c.name, reservation)):
        query = query if value is None else query.where(column == value)
    rows = [(row["region"], _wait(row)) for row in tx.execute(query).mappings()]
    return Page.of(rows, limit, lambda one: one[1].reservation_id)


def load_waits(tx: Transaction, reservation_ids: Sequence[int]) -> dict[int, DepartureWait]:
    """Return the waits of those of these reservations that have one."""
    query = _SELECT.where(reservation_waits.c.reservation_id.in_(reservation_ids))
    return {row["reservation_id"]: _wait(row) for row in tx.execute(query).mappings()}


def load_waits_of_region(tx: Transaction, region_id: int) -> dict[int, DepartureWait]:
    """Return the waits of all reservations of a region."""
    query = _SELECT.where(reservation_waits.c.region_id == region_id)
    return {row["reservation_id"]: _wait(row) for row in tx.execute(query).mappings()}


def load_oldest_waits(tx: Transaction) -> dict[str, float]:
    """Return region -> time since which its first server waits to leave, in seconds since 1970."""
    query = """SELECT name, extract(epoch FROM min(since))::float8 AS since_s
               FROM reservation_waits JOIN regions USING (region_id) GROUP BY name"""
    return {row.name: row.since_s for row in tx.execute(sa.text(query))}


def wait_of(row: Mapping[Any, Any], reservation: str | None) -> ServerWait | None:
    """Return the wait of a server from its WAIT_COLUMNS; None: it does not wait."""
    if row["server_waits_since"] is None or row["wait_reservation_id"] is None or reservation is None:
        return None
    wait = _wait({name: row[f"wait_{name}"] for name in ("reservation_id", *OF_WAIT)} | {"reservation": reservation})
    return ServerWait(since=row["server_waits_since"], waits_for=wait.waits_for, message=wait.message)


def _wait(row: Mapping[Any, Any]) -> DepartureWait:
    fields = {name: row[name] for name in DepartureWait.__dataclass_fields__}
    fields["units"] = 1.0 if row["units"] is None else row["units"]  # a process of the previous version wrote none
    return DepartureWait(**fields | {"level": Level(row["level"]), "waits_for": WaitsFor(row["waits_for"])})
