"""Retention of the history of a region: what is over, and nothing in force rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import sqlalchemy as sa

from libs.store.capacity.readiness import forget_readiness
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.store.retention.batches import Forget, allow_forgetting, first_owners

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


@dataclass(frozen=True, slots=True)
class _Rows:
    """The old rows of a table.

    key      its primary key
    tables   tables whose rows go with it, those that refer to others first; itself last
    old      the SQL condition on rows that are over since before `:before`, and that nothing needs
    """

    key: str
    tables: tuple[str, ...]
    old: str

    def forget(self, tx: Transaction, /, region_name: str, *, before: datetime, most: int) -> int:
        """Delete up to `most` old rows of a region, oldest first, with the rows that belong to them. Their number
        bounds the batch too (first_owners). Return the number of old rows.
        """
        query = f"""
            SELECT {self.key} FROM {self.tables[-1]} AS it WHERE region_id = :region_id AND ({self.old})
            ORDER BY {self.key} LIMIT :most FOR UPDATE SKIP LOCKED"""
        old = tx.execute(sa.text(query), _which(tx, region_name, before, most)).scalars().all()
        dependents = [f"FROM {table} WHERE {self.key} = owner" for table in self.tables[:-1]]
        old = first_owners(tx, old, dependents, most=most)
        for table in self.tables:
            tx.execute(sa.text(f"DELETE FROM {table} WHERE {self.key} = ANY(:old)"), {"old": old})
        return len(old)


# Keep open dead letters: an operator has yet to resolve them.
_MOVES = _Rows(
    "move_id",
    ("move_steps", "moves"),
    "created_at < :before AND finished_at < :before AND dead_letter IS DISTINCT FROM 'open'",
)
_SIMULATIONS = _Rows(
    "simulation_id",
    ("simulation_changes", "simulations"),
    "finished_at < :before AND coalesce(applied_at < :before, true)",
)
# An undecided proposal is as old as its list of servers.
_IMPORTS = _Rows("import_id", ("import_items", "imports"), "coalesce(decided_at, created_at) < :before")
_EVENTS = _Rows("unavailability_event_id", ("unavailability_events",), "ended_at < :before")
_RETIREMENTS = _Rows("retirement_id", ("retirements",), "finished_at < :before")
# plan_changes goes before, and with it the use of a plan that the targets no longer rest on.
_PLANS = _Rows(
    "plan_id",
    ("plans",),
    """created_at < :before
       AND plan_id < (SELECT max(plan_id) FROM plans WHERE region_id = :region_id AND kind = 'solve')
       AND plan_id <> (SELECT coalesce(target_plan_id, 0) FROM regions WHERE region_id = :region_id)
       AND NOT EXISTS (SELECT FROM plan_changes WHERE plan_changes.plan_id = it.plan_id)
       AND NOT EXISTS (SELECT FROM simulations WHERE applied_plan_id = it.plan_id)""",
)
# The latest run, and the latest that succeeded, are what the conditions and metrics of the region are about.
_SOLVE_RUNS = _Rows(
    "solve_run_id",
    ("solve_runs",),
    """finished_at < :before
       AND solve_run_id < (SELECT max(solve_run_id) FROM solve_runs WHERE region_id = :region_id)
       AND solve_run_id IS DISTINCT FROM (
           SELECT max(solve_run_id) FROM solve_runs
           WHERE region_id = :region_id AND status IN ('committed', 'unchanged'))
       AND NOT EXISTS (SELECT FROM plans WHERE plans.solve_run_id = it.solve_run_id)""",
)
# An approval of a request counts until the request is decided. An approved fall below *hold* counts until a later one
# supersedes it.
_APPROVALS = _Rows(
    "approval_id",
    ("excepted_servers", "excepted_reservations", "approvals"),
    """status <> 'pending' AND coalesce(decided_at, created_at) < :before
       AND (kind <> 'below_hold' OR status <> 'approved')
       AND NOT EXISTS (
           SELECT FROM capacity_requests AS open WHERE open.capacity_request_id = it.capacity_request_id
           AND phase NOT IN ('granted', 'degraded', 'rejected', 'withdrawn'))""",
)
# A live reservation rests on its latest accepted request. If that is degraded, the latest granted one before it says
# what was promised so far, and the churn budget reads it.
_REQUESTS = _Rows(
    "capacity_request_id",
    ("capacity_requests",),
    """phase IN ('granted', 'degraded', 'rejected', 'withdrawn') AND changed_at < :before
       AND (phase IN ('rejected', 'withdrawn') OR EXISTS (
               SELECT FROM capacity_requests AS later WHERE later.reservation_id = it.reservation_id
               AND later.capacity_request_id > it.capacity_request_id
               AND later.kind <> 'delete' AND later.phase IN ('granted', it.phase))
           OR EXISTS (
               SELECT FROM reservations WHERE reservations.reservation_id = it.reservation_id
               AND deleted_at < :before))
       AND NOT EXISTS (SELECT FROM plans WHERE plans.capacity_request_id = it.capacity_request_id)
       AND NOT EXISTS (SELECT FROM approvals WHERE approvals.capacity_request_id = it.capacity_request_id)""",
)


def of_region(region_name: str) -> Mapping[str, Forget]:
    """Return the deletions in the history of a region, in an order that the foreign keys allow."""
    return {table: partial(forget, region_name=region_name) for table, forget in _OF_REGION.items()}


def forget_plan_changes(tx: Transaction, /, region_name: str, *, before: datetime, most: int) -> int:
    """Delete up to `most` changes of plans that were made before `before` and before the latest solve. Return the
    number of deleted changes.
    """
    return tx.execute(sa.text(_CHANGES), _which(tx, region_name, before, most)).rowcount


def _which(tx: Transaction, region_name: str, before: datetime, most: int) -> dict[str, object]:
    allow_forgetting(tx)
    return {"region_id": load_region(tx, region_name).region_id, "before": before, "most": most}


_OF_REGION = {
    "moves": _MOVES.forget,
    "simulations": _SIMULATIONS.forget,
    "plan_changes": forget_plan_changes,
    "plans": _PLANS.forget,
    "solve_runs": _SOLVE_RUNS.forget,
    "approvals": _APPROVALS.forget,
    "capacity_requests": _REQUESTS.forget,
    "imports": _IMPORTS.forget,
    "unavailability_events": _EVENTS.forget,
    "retirements": _RETIREMENTS.forget,
    "readiness_changes": forget_readiness,
}
