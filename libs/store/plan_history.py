"""What targets were around a plan, put together from the changes that plans recorded."""

from __future__ import annotations

import sqlalchemy as sa

from libs.domain.plan import PlanKind
from libs.store.database import Transaction
from libs.store.regions import load_region

# Of each server that the plan or a later one changed: what the first of those changed it from, and what the first
# after the plan did, which is what the plan left it at.
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
    """The region's latest plan of a solve, and the targets of servers around it; None where there is none.

    server id -> reservation ids before and after the plan (0: none). A server that is left out had its present target
    all along; None after it: the present target is what the plan left.
    """
    region_id = load_region(tx, region_name).region_id
    query = "SELECT max(plan_id) FROM plans WHERE region_id = :region_id AND kind = :kind"
    plan_id = tx.execute(sa.text(query), {"region_id": region_id, "kind": PlanKind.SOLVE.value}).scalar_one()
    if plan_id is None:
        return None
    rows = tx.execute(sa.text(_AROUND), {"region_id": region_id, "plan_id": plan_id})
    return plan_id, {row.server_id: (row.before_id, row.after_id) for row in rows}
