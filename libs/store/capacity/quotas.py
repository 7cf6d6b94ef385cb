"""Quotas: the capacity that an owner may be promised in a region, and the capacity that counts toward it."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.page import Page
from libs.domain.quota import Quota
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.capacity_requests import UNDECIDED
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.store.tables import quotas, regions

# At most one request about each name is ever accepted, so only the largest of them counts.
_QUOTA = """
    SELECT asked.owner, limit_rru, coalesce(generation, 0) AS generation, coalesce(used_rru, 0) AS used_rru,
           coalesce(pending_rru, 0) AS pending_rru
    FROM (SELECT CAST(unnest(CAST(:owners AS text[])) AS text) AS owner) AS asked
    LEFT JOIN quotas ON quotas.region_id = :region_id AND quotas.owner = asked.owner
    LEFT JOIN LATERAL (
        SELECT sum(capacity_rru) AS used_rru FROM reservations
        WHERE region_id = :region_id AND reservations.owner = asked.owner AND kind = 'guaranteed'
          AND deleted_at IS NULL AND name <> ALL(CAST(:except_names AS text[]))
    ) AS used ON true
    LEFT JOIN LATERAL (
        SELECT sum(adds_rru) AS pending_rru FROM (
            SELECT max(greatest(0, CAST(q.spec ->> 'capacity_rru' AS float8) - coalesce(r.capacity_rru, 0))) AS adds_rru
            FROM capacity_requests q LEFT JOIN reservations r ON r.reservation_id = q.reservation_id
            WHERE q.region_id = :region_id AND q.owner = asked.owner AND q.phase = ANY(:undecided)
              AND q.kind <> 'delete' AND q.reservation_name <> ALL(CAST(:except_names AS text[]))
              AND (CAST(:before AS bigint) IS NULL OR q.capacity_request_id < :before)
            GROUP BY q.reservation_name
        ) AS by_name
    ) AS pending ON true
    ORDER BY asked.owner"""


def load_quota(
    tx: Transaction,
    region: str,
    owner: str,
    *,
    before: int | None = None,
    except_names: Collection[str] = (),
    lock: bool = False,
) -> Quota:
    """Return an owner's limit in a region, and the capacity that counts toward this limit. Raises NotFound if the
    region does not exist.

    before        count only undecided requests with an id below `before`; None: count all
    except_names  names of reservations that do not count, nor do requests about them
    lock          True: lock the limit until the transaction ends, so that no other transaction changes or reads it to
                  decide
    """
    region_id = load_region(tx, region).region_id
    if lock:
        row = sa.select(quotas.c.quota_id).where(quotas.c.region_id == region_id, quotas.c.owner == owner)
        tx.execute(row.with_for_update())
    [found] = _load(tx, region, region_id, [owner], before, except_names)
    return found


def list_quotas(tx: Transaction, region: str | None, *, after: int | None, limit: int) -> Page[Quota]:
    """Return a page of limits in order of id. `after` is the last id of the page before. Raises NotFound if the region
    does not exist.
    """
    query = sa.select(quotas.c.quota_id, quotas.c.owner, quotas.c.region_id, regions.c.name).join(
        regions, regions.c.region_id == quotas.c.region_id
    )
    query = query.where(quotas.c.quota_id > (after or 0), quotas.c.limit_rru.is_not(None))
    if region is not None:
        query = query.where(quotas.c.region_id == load_region(tx, region).region_id)
    rows = tx.execute(query.order_by(quotas.c.quota_id).limit(limit + 1)).all()
    loaded: dict[tuple[int, str], Quota] = {}
    for region_id, name in {(row.region_id, row.name) for row in rows}:  # one statement for each region on the page
        owners = [row.owner for row in rows if row.region_id == region_id]
        loaded |= {(region_id, quota.owner): quota for quota in _load(tx, name, region_id, owners, None, ())}
    ids = {(row.region_id, row.owner): row.quota_id for row in rows}
    region_ids = {row.name: row.region_id for row in rows}
    found = [loaded[row.region_id, row.owner] for row in rows]
    return Page.of(found, limit, lambda quota: ids[region_ids[quota.region], quota.owner])


def set_quota(tx: Transaction, region: str, owner: str, limit_rru: float | None, *, generation: int) -> Quota:
    """Set the limit of an owner in a region to `limit_rru`; None lifts the limit. A limit that was never set is at
    generation 0. Raises NotFound, StaleGeneration.
    """
    region_id = load_region(tx, region).region_id
    key = sa.and_(quotas.c.region_id == region_id, quotas.c.owner == owner)
    if generation == 0:
        new = insert(quotas).values(region_id=region_id, owner=owner, limit_rru=limit_rru).on_conflict_do_nothing()
        changed = tx.execute(new.returning(quotas.c.quota_id)).first()
    else:
        update = sa.update(quotas).where(key, quotas.c.generation == generation).values(limit_rru=limit_rru)
        changed = tx.execute(update.returning(quotas.c.quota_id)).first()
    found = load_quota(tx, region, owner)
    if changed is None:
        raise StaleGeneration("quota of", owner, expected=generation, found=found.generation)
    return found


def _load(
    tx: Transaction, region: str, region_id: int, owners: list[str], before: int | None, except_names: Collection[str]
) -> list[Quota]:
    values = {
        "region_id": region_id,
        "owners": owners,
        "before": before,
        "except_names": list(except_names),
        "undecided": [phase.value for phase in UNDECIDED],
    }
    return [Quota(region=region, **row) for row in tx.execute(sa.text(_QUOTA), values).mappings()]
