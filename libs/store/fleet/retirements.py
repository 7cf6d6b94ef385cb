"""Retirements: announced, cancelled, and finished once their servers are empty and they are due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as insert_into

from libs.domain.page import Page
from libs.domain.retirement import Retirement, RetirementKind, RetirementScope, RetirementStatus
from libs.domain.unavailability import UnavailabilityScope
from libs.reconcile.errors import StaleGeneration
from libs.store.fleet.regions import load_region
from libs.store.fleet.unavailability_events import find_scope, lock_events, refresh_unavailability
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import AlreadyExists, NotFound, NotPossible
from libs.store.tables import datacenters, hardware_types, msbs, racks, regions, retirements, servers

# A row for each retirement and each server in its scope that is in the fleet.
_SERVERS_OF = """
    SELECT retirement_id, retirements.kind, to_hardware_type_id, servers.*
    FROM retirements JOIN servers USING (region_id, rack_id)
    WHERE retirement_id = ANY(:ids) AND decommissioned_at IS NULL
    UNION ALL
    SELECT retirement_id, retirements.kind, to_hardware_type_id, servers.*
    FROM retirements JOIN servers USING (region_id, server_id)
    WHERE retirement_id = ANY(:ids) AND decommissioned_at IS NULL
    UNION ALL
    SELECT retirement_id, retirements.kind, to_hardware_type_id, servers.*
    FROM retirements JOIN racks USING (msb_id) JOIN servers ON servers.rack_id = racks.rack_id
    WHERE retirement_id = ANY(:ids) AND decommissioned_at IS NULL
    UNION ALL
    SELECT retirement_id, retirements.kind, to_hardware_type_id, servers.*
    FROM retirements JOIN msbs USING (datacenter_id) JOIN racks ON racks.msb_id = msbs.msb_id
    JOIN servers ON servers.rack_id = racks.rack_id
    WHERE retirement_id = ANY(:ids) AND decommissioned_at IS NULL"""

# Without a target and a current binding. The current binding of a server that is down does not count.
_EMPTY = """target_reservation_id IS NULL
    AND ((current_reservation_id IS NULL AND in_doubt_reservation_id IS NULL) OR unavailability = 'unplanned')
    AND NOT EXISTS (SELECT FROM moves WHERE moves.server_id = {of}.server_id AND moves.status = 'running')"""

_DUE = sa.text("""
    SELECT retirement_id FROM retirements WHERE region_id = :region_id AND status = 'announced' AND due_at <= :now
    ORDER BY retirement_id FOR NO KEY UPDATE""")
_READY = sa.text(f"""
    WITH scoped AS ({_SERVERS_OF})
    SELECT id FROM unnest(CAST(:ids AS bigint[])) AS id
    WHERE NOT EXISTS (SELECT FROM scoped WHERE retirement_id = id AND NOT ({_EMPTY.format(of="scoped")}))
    ORDER BY id""")
_LOCK = sa.text(f"""
    SELECT FROM servers WHERE server_id IN (SELECT server_id FROM ({_SERVERS_OF}) AS scoped)
    ORDER BY server_id FOR NO KEY UPDATE""")
_DECOMMISSION = sa.text(f"""
    UPDATE servers SET decommissioned_at = :now, spare_for_reservation_id = NULL, spare_since = NULL,
                       spare_until = NULL, spare_recalled_at = NULL, current_reservation_id = NULL,
                       in_doubt_reservation_id = NULL, in_use = false, unavailability = 'unplanned'
    WHERE server_id IN (SELECT server_id FROM ({_SERVERS_OF}) AS scoped
                        WHERE kind = 'decommission')
    RETURNING server_id""")
# Another machine comes back: no step has set it up yet.
_REFRESH = sa.text(f"""
    UPDATE servers SET hardware_type_id = to_hardware_type_id, current_reservation_id = NULL, in_use = false,
                       host_profile = 'unknown',
                       unclean = unclean OR current_reservation_id IS NOT NULL OR in_doubt_reservation_id IS NOT NULL
    FROM (SELECT server_id, to_hardware_type_id FROM ({_SERVERS_OF}) AS scoped
          WHERE kind = 'refresh') AS refreshed
    WHERE servers.server_id = refreshed.server_id""")
_AWAY = sa.text("""
    INSERT INTO unavailability_events
        (region_id, scope, datacenter_id, msb_id, rack_id, server_id, kind, reason, starts_at, ends_at)
    SELECT region_id, scope, datacenter_id, msb_id, rack_id, server_id, 'unplanned', 'refresh: ' || reason, :now,
           back_at FROM retirements
    WHERE retirement_id = ANY(:ids) AND back_at > :now""")
_END_EVENTS = sa.text("""
    UPDATE unavailability_events SET ended_at = greatest(:now, starts_at)
    WHERE server_id = ANY(:gone) AND ended_at IS NULL""")
# No operator can resolve the dead letter of a server that is gone, and skipping its step would write to the server.
_CLOSE_LETTERS = sa.text(
    "UPDATE moves SET dead_letter = 'mended' WHERE server_id = ANY(:gone) AND dead_letter = 'open'"
)
_DONE = sa.text("""
    UPDATE retirements SET status = 'done', finished_at = :now
    WHERE status = 'announced' AND (retirement_id = ANY(:ids) OR server_id = ANY(:gone)) RETURNING retirement_id""")
_HELD = sa.text(f"""
    SELECT retirement_id, server_id, holds.name AS holds, wants.name AS wants,
           EXISTS (SELECT FROM moves WHERE moves.server_id = scoped.server_id AND moves.status = 'running') AS moving
    FROM ({_SERVERS_OF}) AS scoped
    LEFT JOIN reservations AS holds ON holds.reservation_id = current_reservation_id AND unavailability <> 'unplanned'
    LEFT JOIN reservations AS wants ON wants.reservation_id = target_reservation_id""")

_BOOKED = sa.text(f"""
    SELECT retirement_id, later.name, count(*) AS servers
    FROM ({_SERVERS_OF}) AS scoped JOIN booked_servers USING (server_id)
    JOIN reservations AS later ON later.reservation_id = booked_servers.reservation_id
    WHERE later.scheduled AND later.deleted_at IS NULL GROUP BY 1, 2""")


def announce_retirement(
    tx: Transaction,
    region_name: str,
    *,
    scope: RetirementScope,
    scope_name: str,
    kind: RetirementKind,
    to_hardware_type: str | None,
    reason: str,
    due_at: datetime,
    back_at: datetime | None,
    actor: str,
    now: datetime,
) -> Retirement:
    """Announce a retirement. Its servers count as leaving from now on.

    to_hardware_type, back_at   new type of the servers, and the time at which they return; only for a refresh

    Raises NotFound for an unknown region, scope or type. Raises AlreadyExists if the scope has an announced retirement.
    Raises NotPossible if `kind` and `to_hardware_type` do not match.
    """
    if (kind is RetirementKind.REFRESH) != (to_hardware_type is not None):
        raise NotPossible("to_hardware_type", "a refresh needs the type that comes back, a decommission has none")
    region_id = load_region(tx, region_name).region_id
    scope_id = find_scope(tx, region_id, UnavailabilityScope(scope.value), scope_name)
    type_id = None
    if to_hardware_type is not None:
        query = sa.select(hardware_types.c.hardware_type_id).where(hardware_types.c.name == to_hardware_type)
        type_id = tx.execute(query).scalar_one_or_none()
        if type_id is None:
            raise NotFound("hardware type", to_hardware_type)
    values = {"region_id": region_id, "scope": scope.value, "kind": kind.value, "reason": reason}
    values |= {f"{scope.value}_id": scope_id}
    insert = insert_into(retirements).values(
        **values, to_hardware_type_id=type_id, due_at=due_at, back_at=back_at, created_at=now
    )
    statement = insert.on_conflict_do_nothing().returning(retirements.c.retirement_id)
    retirement_id = tx.execute(statement).scalar_one_or_none()
    if retirement_id is None:
        todo = "cancel it first to announce another one"
        raise AlreadyExists("announced retirement of", f"{scope.value} {scope_name}", todo)
    after = {"scope": scope.value, "scope_name": scope_name, "kind": kind.value, "due_at": due_at.isoformat()}
    _audit(tx, [retirement_id], "announce", actor, now, after, reason)
    return load_retirement(tx, retirement_id)


def cancel_retirement(tx: Transaction, retirement_id: int, *, generation: int, actor: str, now: datetime) -> Retirement:
    """Cancel a retirement, so that its servers stay. If the retirement is over, change nothing. Raises NotFound,
    StaleGeneration.
    """
    one = retirements.c.retirement_id == retirement_id
    query = sa.select(retirements.c.generation, retirements.c.status).where(one).with_for_update(key_share=True)
    row = tx.execute(query).one_or_none()
    if row is None:
        raise NotFound("retirement", retirement_id)
    if row.generation != generation:
        raise StaleGeneration("retirement", retirement_id, expected=generation, found=row.generation)
    if row.status == RetirementStatus.ANNOUNCED:
        tx.execute(sa.update(retirements).where(one).values(status="cancelled", finished_at=now))
        _audit(tx, [retirement_id], "cancel", actor, now, {}, None)
    return load_retirement(tx, retirement_id)


def finish_retirements(tx: Transaction, region_id: int, *, actor: str, now: datetime) -> tuple[int, int]:
    """Finish the retirements that are due and whose servers are empty. Return the number of finished retirements, and
    the number of due retirements that still have servers in use or bound.

    A place is retired as a whole. The generation of each server rises, so that a writer that read the server before
    fails.
    """
    lock_events(tx, region_id)
    due = list(tx.execute(_DUE, {"region_id": region_id, "now": now}).scalars())
    ready = list(tx.execute(_READY, {"ids": due}).scalars())
    if not ready:
        return 0, len(due)
    tx.execute(_LOCK, {"ids": ready})
    ready = list(tx.execute(_READY, {"ids": ready}).scalars())  # again, because from now on no one can bind them
    gone = list(tx.execute(_DECOMMISSION, {"ids": ready, "now": now}).scalars())
    tx.execute(_REFRESH, {"ids": ready})
    tx.execute(_AWAY, {"ids": ready, "now": now})
    tx.execute(_END_EVENTS, {"gone": gone, "now": now})
    tx.execute(_CLOSE_LETTERS, {"gone": gone})
    done = list(tx.execute(_DONE, {"ids": ready, "gone": gone, "now": now}).scalars())
    refresh_unavailability(tx, region_id, now=now)
    _audit(tx, done, "finish", actor, now, {"decommissioned": len(gone)}, None)
    return len(done), len(set(due) - set(done))


def load_retirement(tx: Transaction, retirement_id: int) -> Retirement:
    """Return one retirement. Raises NotFound."""
    row = tx.execute(_SELECT.where(retirements.c.retirement_id == retirement_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("retirement", retirement_id)
    return _retirements(tx, [row])[0]


def list_retirements(
    tx: Transaction,
    region_name: str | None = None,
    *,
    status: RetirementStatus | None = None,
    due_by: datetime | None = None,
    after: int | None = None,
    limit: int = 100,
) -> Page[Retirement]:
    """Return a page of retirements in order of id. `after` is the last id of the page before. Raises NotFound if the
    region does not exist.
    """
    key = retirements.c.retirement_id
    query = _SELECT.where(key > (after or 0)).order_by(key).limit(limit + 1)
    if region_name is not None:
        query = query.where(retirements.c.region_id == load_region(tx, region_name).region_id)
    if status is not None:
        query = query.where(retirements.c.status == status.value)
    if due_by is not None:
        query = query.where(retirements.c.due_at <= due_by)
    found = _retirements(tx, tx.execute(query).mappings().all())
    return Page.of(found, limit, lambda retirement: retirement.retirement_id)


_SELECT = (
    sa.select(
        retirements,
        regions.c.name.label("region"),
        sa.func.coalesce(servers.c.name, racks.c.name, msbs.c.name, datacenters.c.name).label("scope_name"),
        hardware_types.c.name.label("to_hardware_type"),
    )
    .join(regions, regions.c.region_id == retirements.c.region_id)
    .outerjoin(servers, servers.c.server_id == retirements.c.server_id)
    .outerjoin(racks, racks.c.rack_id == retirements.c.rack_id)
    .outerjoin(msbs, msbs.c.msb_id == retirements.c.msb_id)
    .outerjoin(datacenters, datacenters.c.datacenter_id == retirements.c.datacenter_id)
    .outerjoin(hardware_types, hardware_types.c.hardware_type_id == retirements.c.to_hardware_type_id)
)
_COUNTED = frozenset({"servers", "held", "moving", "booked"})


def _retirements(tx: Transaction, rows: Sequence[Mapping[Any, Any]]) -> list[Retirement]:
    """Return the retirements of `rows`. Announced retirements state the obstacles to them. Two queries count
    the obstacles and the bookings for the whole page.
    """
    announced = [row["retirement_id"] for row in rows if row["status"] == RetirementStatus.ANNOUNCED]
    held: dict[int, dict[str, int]] = {i: {} for i in announced}
    count, moving = dict.fromkeys(announced, 0), dict.fromkeys(announced, 0)
    for row in tx.execute(_HELD, {"ids": announced}) if announced else ():
        count[row.retirement_id] += 1
        moving[row.retirement_id] += row.moving
        for name in {row.holds, row.wants} - {None}:
            held[row.retirement_id][name] = held[row.retirement_id].get(name, 0) + 1
    booked: dict[int, dict[str, int]] = {i: {} for i in announced}
    for row in tx.execute(_BOOKED, {"ids": announced}) if announced else ():
        booked[row.retirement_id][row.name] = row.servers
    return [
        Retirement(
            **{name: row[name] for name in Retirement.__dataclass_fields__ if name not in _COUNTED}
            | {
                "scope": RetirementScope(row["scope"]),
                "kind": RetirementKind(row["kind"]),
                "status": RetirementStatus(row["status"]),
            },
            servers=count.get(row["retirement_id"], 0),
            held=held.get(row["retirement_id"], {}),
            moving=moving.get(row["retirement_id"], 0),
            booked=booked.get(row["retirement_id"], {}),
        )
        for row in rows
    ]


def _audit(
    tx: Transaction,
    retirement_ids: Sequence[int],
    action: str,
    actor: str,
    now: datetime,
    after: Mapping[str, object],
    reason: str | None,
) -> None:
    audit.append_each(
        tx,
        retirement_ids,
        actor=actor,
        action=action,
        subject_kind="retirement",
        now=now,
        after=after,
        reason=reason,
    )
