"""Placement plans. A plan is immutable and names its parent, the plan before. One row of the database names the target
plan, the plan in force.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.plan_run import StoredPlan
from libs.reconcile.errors import StalePlan
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import placement_lineage, placement_plan_files, placement_plans

NOUN = "placement plan"
_T = placement_plans.c
_HEAD = placement_lineage.c.placement_plan_id
_TARGET = sa.select(_HEAD).scalar_subquery()
_COLUMNS = (*placement_plans.c, sa.func.coalesce(_T.placement_plan_id == _TARGET, sa.false()).label("target"))


def load_target_plan_id(tx: Transaction) -> int | None:
    """Return the id of the target plan; None before the first."""
    found: int | None = tx.execute(sa.select(_HEAD)).scalar_one()
    return found


def commit_placement_plan(
    tx: Transaction,
    *,
    plan_run_id: int,
    parent: int | None,
    committed: bool,
    input_versions: Mapping[str, int],
    overrides: Sequence[Mapping[str, object]],
    summary: Mapping[str, object],
    files: Mapping[str, bytes],
    now: datetime,
) -> int:
    """Store a plan and its documents, and make it the target if `committed`. Return its id.

    Raises StalePlan if `parent` is no longer the target plan.
    """
    if committed:
        found = tx.execute(sa.select(_HEAD).with_for_update()).scalar_one()
        if found != parent:
            raise StalePlan("world", parent_plan_id=parent, target_plan_id=found)
    values = {
        "parent_placement_plan_id": parent,
        "plan_run_id": plan_run_id,
        "committed": committed,
        "input_versions": dict(input_versions),
        "overrides": list(overrides),
        "summary": dict(summary),
        "created_at": now,
    }
    insert = sa.insert(placement_plans).values(values).returning(_T.placement_plan_id)
    placement_plan_id = int(tx.execute(insert).scalar_one())
    rows = [{"placement_plan_id": placement_plan_id, "name": n, "content": content} for n, content in files.items()]
    tx.execute(sa.insert(placement_plan_files), rows)
    if committed:
        tx.execute(sa.update(placement_lineage).values(placement_plan_id=placement_plan_id))
    return placement_plan_id


def apply_placement_plan(tx: Transaction, plan: StoredPlan, *, now: datetime) -> int:
    """Store a plan that was made for review again, as the target. Return its new id.

    Raises StalePlan if its parent is no longer the target plan, and NotFound if its documents were deleted.
    """
    files = placement_plan_files.c
    rows = tx.execute(sa.select(files.name, files.content).where(files.placement_plan_id == plan.placement_plan_id))
    contents = {row.name: bytes(row.content) for row in rows}
    if not contents:
        raise NotFound(f"documents of {NOUN}", plan.placement_plan_id)
    return commit_placement_plan(
        tx,
        plan_run_id=plan.plan_run_id,
        parent=plan.parent_placement_plan_id,
        committed=True,
        input_versions=plan.input_versions,
        overrides=plan.overrides,
        summary=plan.summary,
        files=contents,
        now=now,
    )


def load_placement_plan(tx: Transaction, placement_plan_id: int, *, lock: bool = False) -> StoredPlan:
    """Return one plan; with `lock`, no other transaction locks it until this one ends. Raises NotFound."""
    query = sa.select(*_COLUMNS).where(_T.placement_plan_id == placement_plan_id)
    row = tx.execute(query.with_for_update(key_share=True) if lock else query).mappings().one_or_none()
    if row is None:
        raise NotFound(NOUN, placement_plan_id)
    return StoredPlan(**row)


def list_placement_plans(tx: Transaction, *, before: int | None, limit: int) -> Page[StoredPlan]:
    """Return a page of plans, latest first; `before` is the id that the last page ended with."""
    query = sa.select(*_COLUMNS).order_by(_T.placement_plan_id.desc()).limit(limit + 1)
    if before is not None:
        query = query.where(_T.placement_plan_id < before)
    found = [StoredPlan(**row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda plan: plan.placement_plan_id)


def load_plan_file(tx: Transaction, placement_plan_id: int, name: str) -> bytes:
    """Return a document or picture of a plan. Raises NotFound: the plan or file does not exist, or was deleted."""
    files = placement_plan_files.c
    query = sa.select(files.content).where(files.placement_plan_id == placement_plan_id, files.name == name)
    content = tx.execute(query).scalar_one_or_none()
    if content is None:
        load_placement_plan(tx, placement_plan_id)
        raise NotFound(f"document {name} of {NOUN}", placement_plan_id)
    return bytes(content)


def forget_plan_files(tx: Transaction, *, most: int) -> int:
    """Delete the documents and pictures of all plans but the newest and the target; return their number."""
    plans = sa.select(_T.placement_plan_id)
    kept = plans.order_by(_T.placement_plan_id.desc()).limit(most).union(sa.select(_HEAD).where(_HEAD.is_not(None)))
    column = placement_plan_files.c.placement_plan_id
    return tx.execute(sa.delete(placement_plan_files).where(column.not_in(kept))).rowcount
