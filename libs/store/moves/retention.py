"""Retention of finished moves, and of the changes of old plans."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction

# Keep open dead letters: an operator has yet to resolve them.
_MOVES = """
    SELECT move_id FROM moves
    WHERE region_id = :region_id AND created_at < :before AND finished_at < :before
      AND dead_letter IS DISTINCT FROM 'open'
    ORDER BY created_at LIMIT :most FOR UPDATE SKIP LOCKED"""

# Keep the changes of the latest solve and later: plan_history rebuilds the targets around that plan from them.
_CHANGES = """
    WITH old AS (
        SELECT plan_id, server_id FROM plan_changes JOIN plans USING (plan_id)
        WHERE region_id = :region_id AND created_at < :before
          AND plan_id < (SELECT max(plan_id) FROM plans WHERE region_id = :region_id AND kind = 'solve')
        LIMIT :most
    )
    DELETE FROM plan_changes USING old
    WHERE plan_changes.plan_id = old.plan_id AND plan_changes.server_id = old.server_id"""


def forget_moves(tx: Transaction, region_name: str, *, before: datetime, most: int) -> int:
    """Delete up to `most` moves that ended before `before`, with their attempts, oldest first. Return the number of
    deleted moves.
    """
    old = tx.execute(sa.text(_MOVES), _which(tx, region_name, before, most)).scalars().all()
    for table in ("move_steps", "moves"):
        tx.execute(sa.text(f"DELETE FROM {table} WHERE move_id = ANY(:old)"), {"old": old})
    return len(old)


def forget_plan_changes(tx: Transaction, region_name: str, *, before: datetime, most: int) -> int:
    """Delete up to `most` changes of plans that were made before `before` and before the latest solve. Return the
    number of deleted changes.

    The plans stay, and still state how many changes they had.
    """
    return tx.execute(sa.text(_CHANGES), _which(tx, region_name, before, most)).rowcount


def _which(tx: Transaction, region_name: str, before: datetime, most: int) -> dict[str, object]:
    tx.execute(sa.text("SET LOCAL plimsoll.forgetting = 'on'"))  # or triggers refuse the deletion
    return {"region_id": load_region(tx, region_name).region_id, "before": before, "most": most}
