"""The windows of a region's reservations that are due to begin or end."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.domain.capacity_request import CapacityRequestPhase
from libs.store.platform.database import Transaction
from libs.store.tables import capacity_requests, regions, reservations

_LIVE = reservations.c.deleted_at.is_(None)
_IN_REGION = regions.c.region_id == reservations.c.region_id


def list_beginning(tx: Transaction, region: str, *, before: datetime, limit: int) -> tuple[int, ...]:
    """Return the ids of the scheduled requests whose reservations start by the time `before`, earliest first."""
    requests = capacity_requests
    query = (
        sa.select(requests.c.capacity_request_id)
        .join(reservations, reservations.c.reservation_id == requests.c.reservation_id)
        .join(regions, _IN_REGION)
        .where(regions.c.name == region, _LIVE, reservations.c.scheduled, reservations.c.starts_at <= before)
        .where(requests.c.phase == CapacityRequestPhase.SCHEDULED)
        .order_by(reservations.c.starts_at, requests.c.capacity_request_id)
    )
    return tuple(tx.execute(query.limit(limit)).scalars())


def list_over(tx: Transaction, region: str, *, now: datetime, limit: int) -> tuple[int, ...]:
    """Return the ids of the live reservations whose window is over, earliest end first."""
    query = sa.select(reservations.c.reservation_id).join(regions, _IN_REGION)
    query = query.where(regions.c.name == region, _LIVE, reservations.c.ends_at <= now)
    return tuple(
        tx.execute(query.order_by(reservations.c.ends_at, reservations.c.reservation_id).limit(limit)).scalars()
    )
