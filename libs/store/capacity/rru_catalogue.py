"""The RRU catalogues of regions. Versions are only appended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, insert

from libs.domain.page import Page
from libs.domain.rru_catalogue import ClassVersion, RruVersion
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.coverage import BY_TARGET
from libs.store.fleet.guests import scale_rru
from libs.store.fleet.present_classes import CURRENT
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import regions, reservations, rru_versions

_table = rru_versions
_SELECT = sa.select(_table, regions.c.name.label("region")).join(regions, regions.c.region_id == _table.c.region_id)
_WANTED = f"""
    WITH wanted AS (
        SELECT reservation_id, hardware_type_id, CAST(value AS float8) AS rru
        FROM reservations JOIN ({CURRENT}) AS current USING (workload_class)
        CROSS JOIN jsonb_each_text(current.rru) JOIN hardware_types ON hardware_types.name = key
        WHERE region_id = :region_id AND deleted_at IS NULL AND NOT scheduled
    )"""
_STALE = f"""{_WANTED}, found AS (
        SELECT reservation_id, hardware_type_id, coalesce(whole_rru, rru) AS rru FROM reservation_rru
        WHERE reservation_id IN (SELECT reservation_id FROM wanted)
    )
    SELECT DISTINCT reservation_id FROM wanted FULL JOIN found USING (reservation_id, hardware_type_id)
    WHERE wanted.rru IS DISTINCT FROM found.rru"""
_LOCK = "SELECT FROM reservations WHERE reservation_id = ANY(:ids) ORDER BY reservation_id FOR NO KEY UPDATE"
_FOLLOW = (
    # Requests that rest on the RRUs of before are then refused.
    "UPDATE reservations SET generation = generation + 1 WHERE reservation_id = ANY(:ids)",
    "DELETE FROM reservation_rru WHERE reservation_id = ANY(:ids)",
    f"""INSERT INTO reservation_rru (reservation_id, hardware_type_id, rru) {_WANTED}
        SELECT reservation_id, hardware_type_id, rru FROM wanted WHERE reservation_id = ANY(:ids)""",
)
_SERVERS = f"""
    SELECT reservations.name, capacity_rru, survives_msb_loss, msb_id, hardware_types.name, count(*)
    FROM reservations JOIN servers ON target_reservation_id = reservation_id
    JOIN racks USING (rack_id) JOIN hardware_types USING (hardware_type_id)
    WHERE reservations.region_id = :region_id AND workload_class = :workload_class AND deleted_at IS NULL
      AND NOT scheduled AND {BY_TARGET}
    GROUP BY reservation_id, msb_id, hardware_types.name ORDER BY reservation_id"""


def find_version(tx: Transaction, region_id: int, workload_class: str) -> RruVersion | None:
    """Return the latest version of a class; None if the region never had such a class."""
    query = _SELECT.where(_table.c.region_id == region_id, _table.c.workload_class == workload_class)
    row = tx.execute(query.order_by(_table.c.version.desc()).limit(1)).mappings().one_or_none()
    return None if row is None else _version(row)


def load_version(tx: Transaction, region_id: int, workload_class: str) -> RruVersion:
    """Return the latest version of a class. Raises NotFound."""
    found = find_version(tx, region_id, workload_class)
    if found is None:
        raise NotFound("class of workload", workload_class)
    return found


def list_classes(tx: Transaction, region_id: int, *, after: int | None, limit: int) -> Page[RruVersion]:
    """Return a page of the present versions of a region's classes, in the order of these versions. Retired classes are
    left out.
    """
    newer = _table.alias()
    same = sa.and_(newer.c.region_id == _table.c.region_id, newer.c.workload_class == _table.c.workload_class)
    query = _SELECT.where(
        _table.c.region_id == region_id,
        _table.c.rru_version_id > (after or 0),
        ~sa.exists().where(same, newer.c.version > _table.c.version),
        _table.c.rru != sa.literal({}, JSONB),
    )
    rows = tx.execute(query.order_by(_table.c.rru_version_id).limit(limit + 1)).mappings()
    return Page.of([_version(row) for row in rows], limit, lambda one: one.rru_version_id)


def list_versions(
    tx: Transaction, region_id: int, workload_class: str, *, before: int | None, limit: int
) -> Page[RruVersion]:
    """Return a page of the versions of a class, latest first. Raises NotFound."""
    load_version(tx, region_id, workload_class)
    query = _SELECT.where(_table.c.region_id == region_id, _table.c.workload_class == workload_class)
    if before is not None:
        query = query.where(_table.c.rru_version_id < before)
    rows = tx.execute(query.order_by(_table.c.rru_version_id.desc()).limit(limit + 1)).mappings()
    return Page.of([_version(row) for row in rows], limit, lambda one: one.rru_version_id)


def load_versions(tx: Transaction, region_id: int) -> tuple[ClassVersion, ...]:
    """Return all versions of all classes of a region, the oldest first."""
    columns = [_table.c[field.name] for field in fields(ClassVersion)]
    rows = tx.execute(sa.select(*columns).where(_table.c.region_id == region_id).order_by(_table.c.rru_version_id))
    return tuple(ClassVersion(**row | {"asked_by": tuple(row["asked_by"])}) for row in map(dict, rows.mappings()))


def add_versions(tx: Transaction, region_id: int, versions: Sequence[ClassVersion]) -> None:
    """Add the versions of a region that is imported. The region is new, so it has none."""
    rows = [
        {field.name: getattr(one, field.name) for field in fields(ClassVersion)}
        | {"region_id": region_id, "rru": dict(one.rru), "asked_by": list(one.asked_by)}
        for one in versions
    ]
    if rows:
        tx.execute(insert(_table), rows)


def append_version(
    tx: Transaction,
    region_id: int,
    workload_class: str,
    *,
    after: int,
    reference: str,
    rru: Mapping[str, float],
    asked_by: Collection[str],
    approved_by: str,
    reason: str | None,
    now: datetime,
) -> None:
    """Append the version after version `after` of a class; 0: the first. Raises StaleGeneration if there is one."""
    values = {
        "region_id": region_id,
        "workload_class": workload_class,
        "version": after + 1,
        "reference": reference,
        "rru": dict(rru),
        "asked_by": sorted(set(asked_by)),
        "approved_by": approved_by,
        "reason": reason,
        "created_at": now,
    }
    new = insert(_table).values(values).on_conflict_do_nothing().returning(_table.c.rru_version_id)
    made = tx.execute(new).first()
    found = find_version(tx, region_id, workload_class)
    assert found is not None
    if made is None or found.version != after + 1:
        raise StaleGeneration("class of workload", workload_class, expected=after, found=found.version)


def follow_catalogue(tx: Transaction, region_id: int, *, actor: str, now: datetime) -> int:
    """Give the RRUs of their class's present version to the reservations that name a class. Idempotent.

    A reservation whose window has not begun keeps its RRUs until then, because its request refers to its generation.
    Return the number of reservations that changed.
    """
    stale = _stale(tx, region_id)
    if stale:
        tx.execute(sa.text(_LOCK), {"ids": sorted(stale)})
        # A resize may have dropped the class since. A reservation that is stale only now is not locked, and waits.
        stale &= _stale(tx, region_id)
    if stale:
        for statement in _FOLLOW:
            tx.execute(sa.text(statement), {"region_id": region_id, "ids": sorted(stale)})
        scale_rru(tx, sorted(stale))
        audit.append(
            tx,
            actor=actor,
            action="follow_catalogue",
            subject_kind="region",
            subject_id=region_id,
            now=now,
            after={"reservations": len(stale)},
        )
    return len(stale)


def load_class_users(tx: Transaction, region_id: int, workload_class: str) -> list[str]:
    """Return the names of the reservations that follow a class, scheduled ones included, in order."""
    query = sa.select(reservations.c.name).where(
        reservations.c.region_id == region_id,
        reservations.c.workload_class == workload_class,
        reservations.c.deleted_at.is_(None),
    )
    return list(tx.execute(query.order_by(reservations.c.name)).scalars())


def load_class_servers(
    tx: Transaction, region_id: int, workload_class: str
) -> list[tuple[str, float, bool, int, str, int]]:
    """Return the servers that target the reservations of a class, up and not retiring, one row per MSB and type.

    A row has the name of the reservation, its capacity in RRU, whether it survives an MSB's loss. Then follow the MSB's
    id, the hardware type and the number of servers.
    """
    rows = tx.execute(sa.text(_SERVERS), {"region_id": region_id, "workload_class": workload_class})
    return [tuple(row) for row in rows.tuples()]


def _stale(tx: Transaction, region_id: int) -> set[int]:
    """Return the reservations whose RRUs are not those of their class."""
    return set(tx.execute(sa.text(_STALE), {"region_id": region_id}).scalars())


def _version(row: sa.RowMapping) -> RruVersion:
    values = {field.name: row[field.name] for field in fields(RruVersion)}
    return RruVersion(**values | {"asked_by": tuple(row["asked_by"])})
