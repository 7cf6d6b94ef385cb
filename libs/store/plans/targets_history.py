"""The targets before and after a plan, rebuilt from the changes of plans."""

from __future__ import annotations

import sqlalchemy as sa

from libs.domain.plan import PlanKind
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction

# For each server that this plan or a later one changed: its target before the first change (before), and its target
# before the first change by a later plan (after), which is the target that this plan left.
_AROUND = """
    WITH since AS (
        SELECT server_id, plan_id, coalesce(from_reservation_id, 0) AS from_id
        FROM plan_changes JOIN plans USING (plan_id) WHERE region_id = :region_id AND plan_id >= :plan_id
    ), before AS (
        SELECT DISTINCT ON (server_id) server_id, from_id FROM since ORDER BY server_id, plan_id
    ), after AS (
        SELECT DISTINCT ON (server_id) server_id, from_id FROM since WHERE plan_id > :plan_id
        ORDER BY server_id, plan_id
    )
    SELECT server_id, before.from_id AS before_id, after.from_id AS after_id
    FROM before LEFT JOIN after USING (server_id)"""


def load_last_solve_changes(tx: Transaction, region_name: str) -> tuple[int, dict[int, tuple[int, int | None]]] | None:
    """Return the id of the region's latest plan of a solve, and the targets before and after this plan. Return None if
    there is no such plan. Raises NotFound.

    The targets map server id -> (before, after), the ids of the target reservation before and after the plan. An id of
    0 stands for no target. If `after` is None, the present target of the server is its target after
    the plan. An absent server had its present target before and after the plan.
    """
    region_id = load_region(tx, region_name).region_id
    query = "SELECT max(plan_id) FROM plans WHERE region_id = :region_id AND kind = :kind"
    plan_id = tx.execute(sa.text(query), {"region_id": region_id, "kind": PlanKind.SOLVE.value}).scalar_one()
    if plan_id is None:
        return None
    rows = tx.execute(sa.text(_AROUND), {"region_id": region_id, "plan_id": plan_id})
    return plan_id, {row.server_id: (row.before_id, row.after_id) for row in rows}
