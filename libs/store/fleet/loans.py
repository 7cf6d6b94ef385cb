"""Read the loans of servers for people. libs.store.moves.spares writes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.spare import OVERSTAYS_S, LoanState, LoanSummary, LoanView
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction

_LIST = sa.text("""
    SELECT server_id, servers.name AS server, regions.name AS region, borrows.reservation_id,
           borrows.name AS reservation, home.name AS home, spare_since AS since, spare_until AS until,
           spare_recalled_at AS recalled_at,
           CASE WHEN spare_recalled_at < :overstays AND unavailability = 'none' THEN 'overstays'
                WHEN spare_recalled_at IS NOT NULL THEN 'returning'
                WHEN current_reservation_id = spare_for_reservation_id THEN 'lent' ELSE 'joining' END AS state
    FROM servers JOIN regions ON regions.region_id = servers.region_id
    JOIN reservations AS borrows ON borrows.reservation_id = spare_for_reservation_id
    LEFT JOIN reservations AS home ON home.reservation_id = target_reservation_id
    WHERE spare_for_reservation_id IS NOT NULL AND server_id > :after
      AND servers.region_id = coalesce(:region_id, servers.region_id)
      AND borrows.name = coalesce(CAST(:reservation AS text), borrows.name)
    ORDER BY server_id LIMIT :limit""")
_SUMMARIES = sa.text("""
    SELECT spare_for_reservation_id AS reservation_id, count(*) AS servers, min(spare_since) AS since,
           max(spare_until) FILTER (WHERE spare_recalled_at IS NULL) AS until, count(spare_recalled_at) AS returning
    FROM servers WHERE spare_for_reservation_id = ANY(:ids) GROUP BY spare_for_reservation_id""")
_COUNTS = sa.text("""
    SELECT regions.name AS region, count(*) FILTER (WHERE spare_recalled_at IS NULL) AS lent,
           count(spare_recalled_at) AS returning
    FROM servers JOIN regions USING (region_id) WHERE spare_for_reservation_id IS NOT NULL GROUP BY regions.name""")


def list_loans(
    tx: Transaction,
    *,
    region: str | None = None,
    reservation: str | None = None,
    after: int | None = None,
    limit: int = 100,
    now: datetime,
) -> Page[LoanView]:
    """Return a page of loans by server id. Raises NotFound for the region.

    region, reservation   of this one alone, by name
    """
    values = {
        "region_id": None if region is None else load_region(tx, region).region_id,
        "reservation": reservation,
        "after": after or 0,
        "limit": limit + 1,
        "overstays": now - timedelta(seconds=OVERSTAYS_S),
    }
    rows = tx.execute(_LIST, values).mappings()
    found = [LoanView(**{**row, "state": LoanState(row["state"])}) for row in rows]
    return Page.of(found, limit, lambda one: one.server_id)


def load_loans(tx: Transaction, reservation_ids: Sequence[int]) -> dict[int, LoanSummary]:
    """Return the loans of those of these reservations that have one."""
    rows = tx.execute(_SUMMARIES, {"ids": list(reservation_ids)}).mappings()
    return {
        row["reservation_id"]: LoanSummary(**{name: row[name] for name in LoanSummary.__dataclass_fields__})
        for row in rows
    }


def count_loans(tx: Transaction) -> dict[str, dict[str, int]]:
    """Return region -> the number of its servers that are lent, and of those whose loan is over and that have not
    left.
    """
    return {row.region: {"lent": row.lent, "returning": row.returning} for row in tx.execute(_COUNTS)}
