"""Plans: immutable records of changes of servers' targets. Each new plan wakes the mover.

The lineage of a region is the chain of its target plans: each solve names the target plan that it replaces.

Every function locks in this order: region, reservations by id, servers by id. So writers wait for each other, but never
deadlock.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Bools
from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.page import Page
from libs.domain.plan import Plan, PlanChange, PlanKind
from libs.reconcile.errors import StaleGeneration, StalePlan
from libs.reconcile.jobs import MOVE
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import enqueue
from libs.store.platform.refusals import NotFound
from libs.store.tables import plan_changes, plans, regions, servers

# Arrays of one delta, as a table: the server, the generation it was read at, its new target (0: none), and whether
# that counts against the churn budget.
_DELTA = """unnest(CAST(:server_ids AS bigint[]), CAST(:generations AS bigint[]), CAST(:to_ids AS bigint[]),
                   CAST(:churns AS boolean[]))
            AS delta (server_id, generation, to_id, counts)"""

# One statement writes the plan, its changes and the targets, so that all of them exist or none.
_RECORD = """
    , planned AS (
        INSERT INTO plans (region_id, parent_plan_id, kind, solve_run_id, capacity_request_id, changes, left_alone,
                           created_at)
        SELECT :region_id, CAST(:parent AS bigint), :kind, CAST(:solve_run_id AS bigint),
               CAST(:capacity_request_id AS bigint), count(*), greatest(:wanted - count(*), 0), :now
        FROM changed HAVING count(*) > 0 OR :wanted > 0
        RETURNING plan_id
    ), recorded AS (
        INSERT INTO plan_changes (plan_id, server_id, from_reservation_id, to_reservation_id)
        SELECT plan_id, server_id, from_id, to_id FROM changed, planned
    )
    SELECT plan_id FROM planned"""

_COMMIT = f"""
    WITH untouched AS (  -- the servers are locked, so the values that are read here hold until the write
        SELECT server_id, target_reservation_id AS from_id, nullif(delta.to_id, 0) AS to_id, counts
        FROM {_DELTA} JOIN servers USING (server_id, generation)
        WHERE region_id = :region_id AND (delta.to_id = 0 OR delta.to_id = ANY(:live))
    ), changed AS (
        UPDATE servers SET target_reservation_id = to_id,
               churns = counts OR (churns AND to_id IS DISTINCT FROM current_reservation_id)
        FROM untouched
        WHERE servers.server_id = untouched.server_id
        RETURNING untouched.server_id, from_id, to_id
    ) {_RECORD}"""

_RELEASE = f"""
    WITH locked AS (
        SELECT server_id FROM servers WHERE target_reservation_id = :reservation_id ORDER BY server_id
        FOR NO KEY UPDATE
    ), changed AS (
        UPDATE servers SET target_reservation_id = NULL FROM locked
        WHERE servers.server_id = locked.server_id AND servers.target_reservation_id = :reservation_id
        RETURNING servers.server_id, :reservation_id AS from_id, CAST(NULL AS bigint) AS to_id
    ) {_RECORD}"""


def commit_plan(
    tx: Transaction,
    snapshot: FleetSnapshot,
    plan: TargetPlan,
    *,
    kind: PlanKind,
    now: datetime,
    parent: int | None,
    solve_run_id: int | None = None,
    capacity_request_id: int | None = None,
    dropped: int = 0,
    churns: Bools | None = None,
) -> Plan | None:
    """Write the plan's targets that differ from the targets in the snapshot. Return None if no target differs. The plan
    comes from a solve, a grant or replacements.

    The plan of a solve replaces `parent` as the region's target plan (ADR 0001). Servers that changed since the
    snapshot, and servers whose new reservation was deleted, keep their targets and count in `left_alone`. If no target
    differs, the region keeps its target plan.

    dropped   number of changes that the caller took out of the plan after lock_plan; they count in `left_alone`
    churns    (S,) the servers whose change counts against the churn budget (libs/plan_check/churn.py); None: no server

    A grant and replacements commit all of their changes or none. They record `parent`, but the region keeps its target
    plan.

    Raises StalePlan if the parent of a solve is not the target plan. For a grant and replacements, raises
    StaleGeneration if a server changed, and NotFound if a reservation was deleted. Raises ValueError for any other
    kind, for targets that are not rows of the snapshot, and for reservations that are not stored.
    """
    if kind not in (PlanKind.SOLVE, PlanKind.GRANT, PlanKind.REPLACEMENT):
        raise ValueError(f"a {kind} is not committed from a snapshot")
    if len(plan.target) != len(snapshot.servers):
        raise ValueError("a plan has one target for each server of its snapshot")
    rows = plan.changes(snapshot)
    new = plan.target[rows]
    if new.min(initial=FREE) < FREE or new.max(initial=FREE) >= len(snapshot.reservations):
        raise ValueError("a new target is a row of a reservation, or FREE")
    to_ids = np.append(snapshot.reservations.id, 0)[new]
    if (to_ids[new != FREE] <= 0).any():
        raise ValueError("a new target has no id: its reservation was never stored")
    region = load_region(tx, snapshot.region)
    if kind is PlanKind.SOLVE:
        lock_lineage(tx, region.region_id, snapshot.region, parent)
    if len(rows) + dropped == 0:
        return None
    delta = {
        "server_ids": snapshot.servers.id[rows].tolist(),
        "generations": snapshot.servers.generation[rows].tolist(),
        "to_ids": to_ids.tolist(),
        "churns": [False] * len(rows) if churns is None else churns[rows].tolist(),
    }
    live = _lock_reservations(tx, np.unique(to_ids[to_ids != 0]).tolist())
    _lock_servers(tx, delta["server_ids"])
    if kind is not PlanKind.SOLVE:
        _require_untouched(tx, delta, live)
    plan_id = tx.execute(
        sa.text(_COMMIT),
        delta
        | {
            "live": live,
            "region_id": region.region_id,
            "parent": parent,
            "kind": kind.value,
            "solve_run_id": solve_run_id,
            "capacity_request_id": capacity_request_id,
            "wanted": len(rows) + dropped,
            "now": now,
        },
    ).scalar_one()
    if kind is PlanKind.SOLVE:
        tx.execute(sa.update(regions).where(regions.c.region_id == region.region_id).values(target_plan_id=plan_id))
    enqueue(tx, MOVE, snapshot.region)
    return load_plan(tx, plan_id)


def lock_plan(tx: Transaction, snapshot: FleetSnapshot, plan: TargetPlan, *, parent: int | None) -> None:
    """Lock the rows that a plan depends on until the transaction ends: the region's target plan, the reservations that
    lose or gain servers, and the servers.

    Reservations are locked against resizes and deletion. Raises StalePlan unless `parent` is the target plan.
    """
    lock_lineage(tx, load_region(tx, snapshot.region).region_id, snapshot.region, parent)
    rows = plan.changes(snapshot)
    bound = np.append(plan.target[rows], snapshot.servers.target[rows])
    _lock_reservations(tx, np.unique(snapshot.reservations.id[bound[bound >= 0]]).tolist())
    _lock_servers(tx, snapshot.servers.id[rows].tolist())


def commit_release(
    tx: Transaction, region_name: str, reservation_id: int, *, now: datetime, capacity_request_id: int | None = None
) -> Plan | None:
    """Remove the target of every server whose target is `reservation_id`. Return None if there is no such server. The
    region keeps its target plan.

    Call commit_release in the transaction that marks the reservation as deleted, after the mark. A concurrent solve may
    bind servers to the reservation. That solve either waits for this transaction, or commits first, and then its
    bindings are removed here.
    """
    region = load_region(tx, region_name)
    plan_id = tx.execute(
        sa.text(_RELEASE),
        {
            "reservation_id": reservation_id,
            "region_id": region.region_id,
            "parent": region.target_plan_id,
            "kind": PlanKind.RELEASE.value,
            "solve_run_id": None,
            "capacity_request_id": capacity_request_id,
            "wanted": 0,
            "now": now,
        },
    ).scalar_one_or_none()
    if plan_id is None:
        return None
    enqueue(tx, MOVE, region_name)
    return load_plan(tx, plan_id)


def load_plan(tx: Transaction, plan_id: int) -> Plan:
    """Return one plan. Raises NotFound."""
    row = tx.execute(_SELECT.where(plans.c.plan_id == plan_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("plan", plan_id)
    return _plan(row)


def list_plans(
    tx: Transaction,
    region_name: str | None = None,
    *,
    kind: PlanKind | None = None,
    server: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> Page[Plan]:
    """Return a page of plans, latest first, of one region, or of all regions if `region_name` is None. `before` is the
    last id of the page before.

    server   only plans that changed the target of the server with this name

    Raises NotFound if the region does not exist.
    """
    query = _SELECT.order_by(plans.c.plan_id.desc()).limit(limit + 1)
    if region_name is not None:
        query = query.where(plans.c.region_id == load_region(tx, region_name).region_id)
    if kind is not None:
        query = query.where(plans.c.kind == kind.value)
    if server is not None:
        changed = sa.select(plan_changes.c.plan_id).join(servers, servers.c.server_id == plan_changes.c.server_id)
        query = query.where(plans.c.plan_id.in_(changed.where(servers.c.name == server)))
    if before is not None:
        query = query.where(plans.c.plan_id < before)
    found = [_plan(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda plan: plan.plan_id)


def list_plan_changes(tx: Transaction, plan_id: int, *, after: int | None = None, limit: int = 100) -> Page[PlanChange]:
    """Return a page of the servers whose targets a plan changed, in order of server id. The plan of an import has no
    rows. Raises NotFound if the plan does not exist.
    """
    load_plan(tx, plan_id)
    query = """
        SELECT server_id, servers.name AS server, was.name AS from_reservation, will.name AS to_reservation
        FROM plan_changes JOIN servers USING (server_id)
        LEFT JOIN reservations was ON was.reservation_id = from_reservation_id
        LEFT JOIN reservations will ON will.reservation_id = to_reservation_id
        WHERE plan_id = :plan_id AND server_id > :after ORDER BY server_id LIMIT :limit"""
    rows = tx.execute(sa.text(query), {"plan_id": plan_id, "after": after or 0, "limit": limit + 1}).mappings()
    return Page.of([PlanChange(**row) for row in rows], limit, lambda change: change.server_id)


_SELECT = sa.select(plans, regions.c.name.label("region")).join(regions, regions.c.region_id == plans.c.region_id)


def _plan(row: Mapping[Any, Any]) -> Plan:
    values = {str(key): value for key, value in row.items() if key != "region_id"}
    return Plan(**values | {"kind": PlanKind(row["kind"])})


def lock_lineage(tx: Transaction, region_id: int, region_name: str, parent: int | None) -> None:
    """Lock the lineage of a region (its current target plan) until the transaction ends. Raises StalePlan unless
    `parent` is the target plan.
    """
    query = sa.select(regions.c.target_plan_id).where(regions.c.region_id == region_id).with_for_update(key_share=True)
    target_plan_id = tx.execute(query).scalar_one()
    if target_plan_id != parent:
        raise StalePlan(region_name, parent_plan_id=parent, target_plan_id=target_plan_id)


def _lock_reservations(tx: Transaction, reservation_ids: list[int]) -> list[int]:
    """Lock the reservations in `reservation_ids` that are not deleted, so that they stay until the transaction ends.
    Return the ids of the locked reservations.
    """
    query = """SELECT reservation_id FROM reservations WHERE reservation_id = ANY(:ids) AND deleted_at IS NULL
               ORDER BY reservation_id FOR SHARE"""
    return list(tx.execute(sa.text(query), {"ids": reservation_ids}).scalars())


def _lock_servers(tx: Transaction, server_ids: list[int]) -> None:
    query = """SELECT count(*) FROM (SELECT FROM servers WHERE server_id = ANY(:ids) ORDER BY server_id
                                     FOR NO KEY UPDATE) AS locked"""
    tx.execute(sa.text(query), {"ids": server_ids})


def _require_untouched(tx: Transaction, delta: Mapping[str, list[Any]], live: list[int]) -> None:
    """Check that no reservation in `delta` was deleted, and that no server changed since its generation was read.
    Raises NotFound, StaleGeneration.
    """
    deleted = set(delta["to_ids"]) - {0, *live}
    if deleted:
        raise NotFound("reservation", min(deleted))
    query = f"""SELECT server_id, delta.generation, servers.generation FROM {_DELTA} LEFT JOIN servers USING (server_id)
                WHERE servers.generation IS DISTINCT FROM delta.generation ORDER BY server_id LIMIT 1"""
    stale = tx.execute(sa.text(query), dict(delta)).one_or_none()
    if stale is not None:
        raise StaleGeneration("server", stale[0], expected=stale[1], found=stale[2])
