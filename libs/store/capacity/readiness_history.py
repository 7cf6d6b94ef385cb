"""The history of the capacity that reservations held, read for owners: pages of records, the availability, and the
reservations with the worst availability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.readiness import (
    AVAILABILITY_WINDOW,
    Availability,
    Readiness,
    ReadinessHistory,
    ReadinessInterval,
)
from libs.domain.region_summary import WorstReservation
from libs.store.capacity.readiness import LAST_RECORD, RECORD, record_of
from libs.store.platform.database import Transaction

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR_MAX = (datetime(9999, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)

# The window ends with the last look, because nothing is known of the time since. Two rows of a reservation suffice: the
# last one, and the one in force at the start of the window, or else the oldest. Each has the sums of all time before.
_HISTORIES = f"""
    SELECT reservations.reservation_id, name, last.*, greatest(window_from, first.from_at) AS first_at, window_until,
           first.from_at AS first_from_at, first.readiness AS first_readiness, first.ready_s AS first_ready_s,
           first.watched_s AS first_watched_s
    FROM reservations JOIN readiness_watches USING (region_id)
    CROSS JOIN LATERAL (
        SELECT least(watched_until, deleted_at) AS window_until,
               least(watched_until, deleted_at) - CAST(:window AS interval) AS window_from
    ) AS bounds
    CROSS JOIN LATERAL ({LAST_RECORD.format(chosen="from_at <= window_until")}) AS last
    CROSS JOIN LATERAL (
        ({LAST_RECORD.format(chosen="from_at <= window_from")})
        UNION ALL
        (SELECT {", ".join(RECORD)} FROM readiness_changes
         WHERE readiness_changes.reservation_id = reservations.reservation_id ORDER BY from_at LIMIT 1)
        LIMIT 1
    ) AS first
    WHERE {{chosen}}"""
_OF_RESERVATIONS = _HISTORIES.format(chosen="reservations.reservation_id = ANY(:ids)")
_OF_REGION = _HISTORIES.format(
    chosen="region_id = :region_id AND kind = 'guaranteed' AND deleted_at IS NULL AND NOT scheduled"
)
_PAGE = """
    SELECT history.*, lag(from_at, 1, :until_at) OVER (ORDER BY from_at DESC) AS until_at FROM (
        SELECT * FROM readiness_changes WHERE reservation_id = :reservation_id AND from_at <= :newest_at
        ORDER BY from_at DESC LIMIT :most
    ) AS history ORDER BY from_at DESC"""
_END = """
    SELECT least(watched_until, deleted_at) FROM reservations JOIN readiness_watches USING (region_id)
    WHERE reservation_id = :reservation_id"""


def load_readiness_histories(tx: Transaction, reservation_ids: Sequence[int]) -> dict[int, ReadinessHistory]:
    """Return the last record and the availability of each of `reservation_ids`. A history is empty until the mover
    first looks at the region.
    """
    rows = tx.execute(sa.text(_OF_RESERVATIONS), {"ids": list(reservation_ids), "window": AVAILABILITY_WINDOW})
    found = {row["reservation_id"]: _history(row) for row in rows.mappings()}
    return {i: found.get(i, ReadinessHistory()) for i in reservation_ids}


def load_worst(tx: Transaction, region_id: int, *, most: int) -> tuple[WorstReservation, ...]:
    """Return up to `most` guaranteed reservations of a region, lowest availability first. Leave out reservations that
    were always ready.
    """
    rows = tx.execute(sa.text(_OF_REGION), {"region_id": region_id, "window": AVAILABILITY_WINDOW}).mappings()
    found = [(row, _history(row)) for row in rows]
    short = [(row, one) for row, one in found if one.availability.share is not None and one.availability.share < 1]
    short.sort(key=lambda pair: (pair[1].availability.share, pair[0]["reservation_id"]))
    return tuple(
        WorstReservation(
            reservation_id=row["reservation_id"], name=row["name"], availability=one.availability, last=one.last
        )
        for row, one in short[:most]
        if one.last is not None
    )


def _history(row: sa.RowMapping) -> ReadinessHistory:
    """Return the history of a row of _HISTORIES."""
    last = record_of(row)
    assert last is not None
    first = replace(
        last,
        from_at=row["first_from_at"],
        readiness=Readiness(row["first_readiness"]),
        ready_s=row["first_ready_s"],
        watched_s=row["first_watched_s"],
    )
    ready_s, watched_s = (
        after - before
        for before, after in zip(first.sums_at(row["first_at"]), last.sums_at(row["window_until"]), strict=True)
    )
    return ReadinessHistory(last=last, availability=Availability(ready_s, watched_s))


def list_readiness(
    tx: Transaction, reservation_id: int, *, after: int | None = None, limit: int = 100
) -> Page[ReadinessInterval]:
    """Return a page of the history of a reservation, newest first. `after` is the cursor that the page before returned.

    The cursor is the start of the page's last interval, in microseconds since 1970.
    """
    if after is None:
        end: datetime | None = tx.execute(sa.text(_END), {"reservation_id": reservation_id}).scalar_one_or_none()
        if end is None:
            return Page((), None)
        until_at = newest_at = end
    else:
        until_at = _EPOCH + timedelta(microseconds=min(after, _CURSOR_MAX))
        newest_at = until_at - timedelta(microseconds=1)
    values = {"reservation_id": reservation_id, "until_at": until_at, "newest_at": newest_at, "most": limit + 1}
    found = []
    for row in tx.execute(sa.text(_PAGE), values).mappings():
        record = record_of(row)
        assert record is not None
        found.append(ReadinessInterval(record=record, until_at=row["until_at"]))
    return Page.of(found, limit, lambda one: (one.record.from_at - _EPOCH) // timedelta(microseconds=1))
