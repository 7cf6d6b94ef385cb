"""Lists of reservations: which are in them, and in which order. Every list is read page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.reservation import Reservation, ReservationKind
from libs.domain.reservation_order import ReservationKey, ReservationOrder, ReservationPlace
from libs.domain.reservation_phase import ReservationPhase
from libs.store.capacity.coverage import (
    KEPT,
    SHORT,
    WANTED,
    WAYS,
    Coverages,
    Which,
    coverage_query,
    coverages_of,
    total_query,
)
from libs.store.capacity.reservations import SELECT, with_parts
from libs.store.platform.database import Transaction
from libs.store.tables import regions, reservation_statuses, reservations

_FOUND = reservation_statuses
_IDS = (
    sa.select(reservations.c.reservation_id)
    .join(regions, regions.c.region_id == reservations.c.region_id)
    .outerjoin(_FOUND, _FOUND.c.reservation_id == reservations.c.reservation_id)
)

_SHORT = sa.text(f"""
    WITH wanted AS (
        SELECT reservation_id, capacity_rru, survives_msb_loss, survives_loss_of FROM reservations
        WHERE deleted_at IS NULL AND NOT scheduled AND reservation_id > :short_after
        AND (CAST(:short_region AS text) IS NULL
            OR region_id = (SELECT region_id FROM regions WHERE name = :short_region))
        AND (CAST(:short_owner AS text) IS NULL OR owner = :short_owner)
    ), {coverage_query("target")}
    SELECT reservation_id FROM coverage WHERE {SHORT}""")

_COLUMNS: dict[ReservationKey, sa.ColumnElement[Any]] = {
    ReservationKey.NAME: reservations.c.name.collate("C"),
    ReservationKey.OWNER: reservations.c.owner.collate("C"),
    ReservationKey.PHASE: sa.case(
        (reservations.c.deleted_at.is_not(None), ReservationPhase.DELETED.value),
        (reservations.c.scheduled, ReservationPhase.SCHEDULED.value),
        else_=sa.func.coalesce(_FOUND.c.phase, ReservationPhase.PENDING.value),
    ).collate("C"),
    ReservationKey.CAPACITY_RRU: reservations.c.capacity_rru,
}
"""The keys that rows have. Texts are compared by their characters, in no language."""

# The order of a sum's terms may differ between two queries, and then its last digits. A cursor would skip a row, or
# repeat it. So sums are rounded.
_ROUNDED = "CAST(round(CAST({} AS numeric), 6) AS float8)"
_TOTALS: dict[ReservationKey, Which] = {ReservationKey.TARGET_RRU: "target", ReservationKey.HELD_RRU: "held"}
"""The keys that are a total of RRU, and the way to count."""
_SUMS: dict[ReservationKey, tuple[Which, str]] = {
    ReservationKey.HELD_AFTER_MSB_LOSS_RRU: ("held", _ROUNDED.format("total_rru - worst_msb_rru")),
    ReservationKey.SHORTFALL_RRU: ("target", _ROUNDED.format(f"CASE WHEN {SHORT} THEN missing_rru ELSE 0 END")),
    ReservationKey.READY: (
        "held",
        f"""(CASE WHEN NOT is_promised THEN 'Unknown' WHEN {KEPT} THEN 'True' ELSE 'False' END) COLLATE "C" """,
    ),
}
"""The keys that follow from totals by MSB: the way to count, and SQL of a row of `coverage` and `wanted`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationFilter:
    """The reservations of a list. None: any. Deleted reservations are listed only with phase=DELETED.

    short   True: only reservations that their targets do not cover; False: only covered ones
    """

    region: str | None = None
    owner: str | None = None
    name: str | None = None
    kind: ReservationKind | None = None
    phase: ReservationPhase | None = None
    short: bool | None = None


def list_reservations(
    tx: Transaction, wanted: ReservationFilter | None = None, *, after: int | None = None, limit: int = 100
) -> Page[Reservation]:
    """Return a page of reservations in order of id. `after` is the last id of the page before."""
    query = SELECT.where(*_conditions(wanted or ReservationFilter(), after=after or 0))
    query = query.where(reservations.c.reservation_id > (after or 0))
    rows = tx.execute(query.order_by(reservations.c.reservation_id).limit(limit + 1)).mappings().all()
    return Page.of(with_parts(tx, rows), limit, lambda reservation: reservation.reservation_id)


def list_ordered_reservations(
    tx: Transaction,
    wanted: ReservationFilter,
    order: ReservationOrder,
    *,
    after: ReservationPlace | None = None,
    limit: int = 100,
) -> tuple[tuple[Reservation, ...], ReservationPlace | None]:
    """Return a page of reservations in an order, and the place of its last one; None on the last page. `after` is the
    place that the page before returned.

    A deleted reservation moves no other one to another page. A reservation whose key changes between two pages may be
    on both, or on none.
    """
    query = _IDS.where(*_conditions(wanted))
    known: Coverages | None = None
    if order.key in _COLUMNS:
        places = _by_column(tx, query, order, after, limit + 1)
    elif order.key in _TOTALS:
        places = _by_total(tx, tx.execute(query).scalars().all(), order, after, limit + 1)
    else:
        places, known = _by_sum(tx, tx.execute(query).scalars().all(), order, after, limit + 1)
    shown = places[:limit]
    ids = [place.reservation_id for place in shown]
    rows = tx.execute(SELECT.where(reservations.c.reservation_id.in_(ids))).mappings().all()
    of_id = {one.reservation_id: one for one in with_parts(tx, rows, known)}
    return tuple(of_id[i] for i in ids), shown[-1] if len(places) > limit else None


def _by_column(
    tx: Transaction, query: sa.Select[tuple[int]], order: ReservationOrder, after: ReservationPlace | None, most: int
) -> list[ReservationPlace]:
    key, reservation_id = _COLUMNS[order.key], reservations.c.reservation_id
    if after is not None:
        beyond = key < after.value if order.descending else key > after.value
        query = query.where(sa.or_(beyond, sa.and_(key == after.value, reservation_id > after.reservation_id)))
    query = query.order_by(key.desc() if order.descending else key, reservation_id).limit(most)
    return [ReservationPlace(value, i) for i, value in tx.execute(query.add_columns(key)).tuples()]


def _by_total(
    tx: Transaction, ids: Sequence[int], order: ReservationOrder, after: ReservationPlace | None, most: int
) -> list[ReservationPlace]:
    """Return the places of a page among the reservations `ids`."""
    page, values = _page(order, after, most)
    query = f"""
        WITH {WANTED}, {total_query(_TOTALS[order.key])}, keyed AS (
            SELECT reservation_id, {_ROUNDED.format("total_rru")} AS key FROM total
        ) {page}"""
    return [ReservationPlace(key, i) for i, key in tx.execute(sa.text(query), values | {"ids": list(ids)}).tuples()]


def _by_sum(
    tx: Transaction, ids: Sequence[int], order: ReservationOrder, after: ReservationPlace | None, most: int
) -> tuple[list[ReservationPlace], Coverages]:
    """Return the places of a page among the reservations `ids`, and the coverages of those on the page: one scan of
    the servers gives both.
    """
    which, key = _SUMS[order.key]
    page, values = _page(order, after, most)
    direction = "DESC" if order.descending else "ASC"
    query = f"""
        WITH {WANTED}, {coverage_query(*WAYS)}, keyed AS (
            SELECT reservation_id, {key} AS key FROM coverage JOIN wanted USING (reservation_id) WHERE which = :which
        ), page AS ({page})
        SELECT * FROM page JOIN coverage USING (reservation_id) ORDER BY key {direction}, reservation_id"""
    rows = tx.execute(sa.text(query), values | {"ids": list(ids), "which": which}).all()
    return [ReservationPlace(row.key, row.reservation_id) for row in rows if row.which == which], coverages_of(rows)


def _page(order: ReservationOrder, after: ReservationPlace | None, most: int) -> tuple[str, dict[str, object]]:
    """Return SQL of a page of the expression `keyed`, with reservation_id and key, and the values that it takes."""
    beyond, direction = ("<", "DESC") if order.descending else (">", "ASC")
    rest, values = "", dict[str, object](most=most)
    if after is not None:
        values |= {"value": after.value, "after": after.reservation_id}
        rest = f"WHERE key {beyond} :value OR key = :value AND reservation_id > :after"
    return f"SELECT * FROM keyed {rest} ORDER BY key {direction}, reservation_id LIMIT :most", values


def _conditions(wanted: ReservationFilter, *, after: int = 0) -> list[sa.ColumnElement[bool]]:
    """Return the conditions on reservations, their region and their finding. Ids up to `after` may be left out."""
    equal = {
        regions.c.name: wanted.region,
        reservations.c.owner: wanted.owner,
        reservations.c.name: wanted.name,
        reservations.c.kind: wanted.kind,
    }
    conditions = [column == value for column, value in equal.items() if value is not None]
    deleted = reservations.c.deleted_at.is_not(None)
    conditions.append(deleted if wanted.phase is ReservationPhase.DELETED else ~deleted)
    if wanted.phase is ReservationPhase.SCHEDULED:
        conditions.append(reservations.c.scheduled)
    elif wanted.phase is ReservationPhase.PENDING:
        conditions += [_FOUND.c.phase.is_(None), ~reservations.c.scheduled]
    elif wanted.phase in (ReservationPhase.GRANTED, ReservationPhase.DEGRADED):
        conditions.append(_FOUND.c.phase == wanted.phase)
    if wanted.short is not None:
        # Restrict it to the candidates, because coverage counts every server of a reservation.
        among = _SHORT.bindparams(short_after=after, short_region=wanted.region, short_owner=wanted.owner)
        is_short = reservations.c.reservation_id.in_(among.columns(sa.column("reservation_id", sa.BigInteger)))
        conditions.append(is_short if wanted.short else ~is_short)
    return conditions
