"""The history of the capacity that reservations held: read, append and delete its records. See docs/designs/0022.

A look is one reading of all reservations of a region. It appends a record for each reservation that changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.readiness import Readiness, ReadinessRecord, RegionReadiness
from libs.domain.readiness_look import ReadinessLook, ReadinessPlan, Watched
from libs.store.capacity.coverage import load_coverage
from libs.store.capacity.ungranted import GRANTED_RRU
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.store.tables import readiness_watches, regions

RECORD = tuple(ReadinessRecord.__dataclass_fields__)
LAST_RECORD = f"""
    SELECT {", ".join(RECORD)} FROM readiness_changes
    WHERE readiness_changes.reservation_id = reservations.reservation_id AND {{chosen}}
    ORDER BY from_at DESC LIMIT 1"""
"""SQL of the last record of a row of `reservations`. The placeholder `chosen` takes a condition on the record."""

_WATCHED = f"""
    SELECT reservation_id, kind = 'guaranteed' AS is_guaranteed, NOT scheduled AS is_promised,
           host_reservation_id IS NOT NULL AS is_guest,
           CASE WHEN scheduled THEN 0 ELSE reservations.capacity_rru END AS asked_rru,
           CASE WHEN scheduled THEN 0 ELSE {GRANTED_RRU} END AS promised_rru, generation, last.*
    FROM reservations LEFT JOIN LATERAL ({LAST_RECORD.format(chosen="from_at <= :now")}) AS last ON true
    WHERE region_id = :region_id AND deleted_at IS NULL ORDER BY reservation_id"""

# Two changes at one moment are one: only a clock that stood still makes them.
_APPEND = f"""
    INSERT INTO readiness_changes (reservation_id, {", ".join(RECORD)})
    SELECT * FROM unnest(CAST(:reservation_id AS bigint[]), CAST(:from_at AS timestamptz[]),
        CAST(:since_at AS timestamptz[]), CAST(:readiness AS text[]), CAST(:observed_generation AS bigint[]),
        CAST(:capacity_rru AS float8[]), CAST(:granted_rru AS float8[]), CAST(:held_rru AS float8[]),
        CAST(:held_after_msb_loss_rru AS float8[]), CAST(:ready_s AS float8[]), CAST(:watched_s AS float8[]))
    ON CONFLICT (reservation_id, from_at) DO UPDATE SET
        {", ".join(f"{name} = EXCLUDED.{name}" for name in RECORD if name != "from_at")}"""
_FORGET_FUTURE = """
    DELETE FROM readiness_changes USING reservations
    WHERE readiness_changes.reservation_id = reservations.reservation_id
      AND region_id = :region_id AND from_at > :now"""

# Keep the row in force at that time: it says what was so at the start of the window.
_FORGET = """
    WITH old AS (
        SELECT reservation_id, from_at FROM reservations JOIN readiness_changes AS old USING (reservation_id)
        WHERE region_id = :region_id AND from_at < :before AND (deleted_at < :before OR EXISTS (
            SELECT FROM readiness_changes AS later WHERE later.reservation_id = old.reservation_id
            AND later.from_at > old.from_at AND later.from_at <= :before))
        ORDER BY reservation_id, from_at LIMIT :most
    )
    DELETE FROM readiness_changes USING old
    WHERE readiness_changes.reservation_id = old.reservation_id AND readiness_changes.from_at = old.from_at"""


def load_readiness_look(tx: Transaction, region_name: str, *, now: datetime) -> ReadinessLook:
    """Return the capacity that the live reservations of a region hold, and the last record of each reservation up to
    `now`. Raises NotFound.

    `tx` must come from Database.snapshot(), so that all data are of one moment.
    """
    region_id = load_region(tx, region_name).region_id
    rows = tx.execute(sa.text(_WATCHED), {"region_id": region_id, "now": now}).mappings().all()
    held = load_coverage(tx, [row["reservation_id"] for row in rows], "held")
    watches = sa.select(readiness_watches).where(readiness_watches.c.region_id == region_id)
    before = tx.execute(watches).mappings().one_or_none()
    return ReadinessLook(
        region_id=region_id,
        before=None if before is None else _region(before),
        reservations=tuple(
            Watched(
                reservation_id=row["reservation_id"],
                is_guaranteed=row["is_guaranteed"],
                is_promised=row["is_promised"],
                is_guest=row["is_guest"],
                capacity_rru=row["asked_rru"],
                granted_rru=row["promised_rru"],
                generation=row["generation"],
                held=held[row["reservation_id"]],
                last=record_of(row),
            )
            for row in rows
        ),
    )


def commit_readiness(tx: Transaction, look: ReadinessLook, plan: ReadinessPlan) -> bool:
    """Append the records of `plan`, and set the time of the region's last look. Return False and write nothing if
    another look was committed since `look` was read.
    """
    table, now = readiness_watches, plan.region.watched_until
    values = {name: getattr(plan.region, name) for name in RegionReadiness.__dataclass_fields__}
    statement = insert(table).values(region_id=look.region_id, **values)
    seen = None if look.before is None else look.before.watched_until
    same = table.c.watched_until == seen if seen is not None else sa.false()
    statement = statement.on_conflict_do_update(index_elements=["region_id"], set_=values, where=same)
    if tx.execute(statement.returning(table.c.region_id)).one_or_none() is None:
        return False
    if seen is not None and seen > now:
        tx.execute(sa.text(_FORGET_FUTURE), {"region_id": look.region_id, "now": now})
    if plan.records:
        columns: dict[str, list[Any]] = {name: [getattr(one, name) for _, one in plan.records] for name in RECORD}
        columns["readiness"] = [one.value for one in columns["readiness"]]
        tx.execute(sa.text(_APPEND), {"reservation_id": [i for i, _ in plan.records], **columns})
    return True


def forget_readiness(tx: Transaction, region_name: str, *, before: datetime, most: int) -> int:
    """Delete up to `most` records whose interval ended before `before`. Return the number of deleted records.

    Delete all records of a reservation that was itself deleted before `before`.
    """
    values = {"region_id": load_region(tx, region_name).region_id, "before": before, "most": most}
    return tx.execute(sa.text(_FORGET), values).rowcount


def load_region_readiness(tx: Transaction, region_names: Sequence[str] | None = None) -> dict[str, RegionReadiness]:
    """Return region -> the numbers of the region's last look, for the regions `region_names`, or for all regions if
    None. A region without a look is absent.
    """
    query = sa.select(regions.c.name, readiness_watches)
    query = query.join(regions, regions.c.region_id == readiness_watches.c.region_id).order_by(regions.c.name)
    if region_names is not None:
        query = query.where(regions.c.name.in_(region_names))
    return {row["name"]: _region(row) for row in tx.execute(query).mappings()}


def record_of(row: sa.RowMapping) -> ReadinessRecord | None:
    """Return the readiness record in the columns of a row; None if the columns are NULL."""
    if row["readiness"] is None:
        return None
    return ReadinessRecord(**{name: row[name] for name in RECORD} | {"readiness": Readiness(row["readiness"])})


def _region(row: sa.RowMapping) -> RegionReadiness:
    return RegionReadiness(**{name: row[name] for name in RegionReadiness.__dataclass_fields__})
