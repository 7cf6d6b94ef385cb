"""Executions: create, read, list, lock and change them. Their actions are in actions.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from libs.domain.execution_plan import Action, PoolRoom
from libs.domain.gate import Gate, GateMode, GateTime
from libs.domain.page import Page
from libs.domain.plan_execution import FINAL, ExecutionState, PlanExecution, Terms
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import execution_places, plan_executions

NOUN = "plan execution"
_T = plan_executions.c
_P = execution_places.c
_COLUMNS = tuple(_T[name] for name in PlanExecution.__dataclass_fields__)
"""Without the pools and the figures, which are large."""
_WANTED = "unnest(CAST(:kinds AS text[]), CAST(:names AS text[]), CAST(:regions AS text[])) AS w (kind, name, region)"
_TAKE = sa.text(f"""
    INSERT INTO execution_places (kind, name, region, plan_execution_id)
    SELECT kind, name, region, :id FROM {_WANTED} ON CONFLICT DO NOTHING""")
_TAKEN = sa.text(f"""
    SELECT kind, name, region, plan_execution_id FROM execution_places JOIN {_WANTED} USING (kind, name, region)
    WHERE plan_execution_id <> :id ORDER BY kind, name, region""")
_MOVED = sa.text("""
    SELECT max(plan_execution_id) FROM plan_executions JOIN execution_actions USING (plan_execution_id)
    WHERE placement_plan_id = :id AND phase = 'shift' AND (asked > 0 OR reached > 0)
    GROUP BY product, least(region, to_region), greatest(region, to_region)
    HAVING bool_or(asked <> reached)
        OR abs(sum(reached * after * CASE WHEN region < to_region THEN 1 ELSE -1 END)) > :least
    ORDER BY 1 DESC LIMIT 1""")
_SHARE_LEAST = 1e-9
_CLOSED = [state.value for state in (*FINAL, ExecutionState.DRAFT)]


class PlaceTaken(Exception):
    """Another execution is at work on a service or product in a region."""

    def __init__(self, places: Sequence[tuple[str, str, str, int]]) -> None:
        self.places = tuple(places)
        kind, name, region, other = self.places[0]
        more = f", and {len(places) - 1} more places" if len(places) > 1 else ""
        super().__init__(f"execution {other} is at work on {kind} {name} in {region}{more}")


def insert_execution(
    tx: Transaction,
    *,
    placement_plan_id: int,
    terms: Terms,
    pools: Sequence[PoolRoom],
    reason: str,
    created_by: str,
    now: datetime,
    reverses: int | None = None,
) -> int:
    """Store an execution in the state DRAFT, without actions. Return its id."""
    values = {
        "placement_plan_id": placement_plan_id,
        "reverses_execution_id": reverses,
        "state": ExecutionState.DRAFT.value,
        "terms": asdict(terms),
        "pools": [asdict(pool) for pool in pools],
        "reason": reason,
        "created_by": created_by,
        "created_at": now,
    }
    return int(tx.execute(sa.insert(plan_executions).values(values).returning(_T.plan_execution_id)).scalar_one())


def load_execution(tx: Transaction, plan_execution_id: int, *, lock: bool = False) -> PlanExecution:
    """Return one execution. With `lock`, no other transaction may change it or its actions until this one ends. Raises
    NotFound.
    """
    query = sa.select(*_COLUMNS).where(_T.plan_execution_id == plan_execution_id)
    row = tx.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    if row is None:
        raise NotFound(NOUN, plan_execution_id)
    return _execution(row)


def lock_execution(tx: Transaction, plan_execution_id: int, generation: int) -> PlanExecution:
    """Lock an execution that was read before. Raises NotFound, and StaleGeneration if it has changed since."""
    found = load_execution(tx, plan_execution_id, lock=True)
    if found.generation != generation:
        raise StaleGeneration(NOUN, plan_execution_id, expected=generation, found=found.generation)
    return found


def lock_starts(tx: Transaction) -> None:
    """Let no other transaction begin actions of any execution until this one ends."""
    tx.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtext("execution_starts"))))


def load_pools(tx: Transaction, plan_execution_id: int) -> tuple[PoolRoom, ...]:
    """Return the pools of an execution: use before it, and room."""
    found = tx.execute(sa.select(_T.pools).where(_T.plan_execution_id == plan_execution_id)).scalar_one()
    return tuple(PoolRoom(**pool) for pool in found)


def load_open_executions(tx: Transaction) -> tuple[PlanExecution, ...]:
    """Return the executions that have started and not ended, oldest first."""
    query = sa.select(*_COLUMNS).where(_T.state.not_in(_CLOSED)).order_by(_T.plan_execution_id)
    return tuple(_execution(row) for row in tx.execute(query).mappings())


def load_executions_since(tx: Transaction, since: datetime) -> tuple[PlanExecution, ...]:
    """Return the executions that have started, and had not ended before `since`, oldest first."""
    at_work = sa.or_(_T.finished_at.is_(None), _T.finished_at > since)
    query = sa.select(*_COLUMNS).where(_T.started_at.is_not(None), at_work).order_by(_T.plan_execution_id)
    return tuple(_execution(row) for row in tx.execute(query).mappings())


def load_planned_at(tx: Transaction, placement_plan_id: int) -> datetime:
    """Return when the run of a placement plan began to read its inputs. Raises NotFound."""
    query = sa.text("""
        SELECT coalesce(started_at, placement_plans.created_at) FROM placement_plans
        JOIN plan_runs USING (plan_run_id) WHERE placement_plans.placement_plan_id = :id""")
    found: datetime | None = tx.execute(query, {"id": placement_plan_id}).scalar_one_or_none()
    if found is None:
        raise NotFound("placement plan", placement_plan_id)
    return found


def load_unfinished(tx: Transaction, placement_plan_id: int) -> int | None:
    """Return the id of an execution of the plan that has not ended, drafts included; None if there is none."""
    ended = [state.value for state in FINAL]
    query = sa.select(_T.plan_execution_id).where(_T.placement_plan_id == placement_plan_id, _T.state.not_in(ended))
    found: int | None = tx.execute(query.order_by(_T.plan_execution_id).limit(1)).scalar()
    return found


def load_moved_traffic(tx: Transaction, placement_plan_id: int) -> int | None:
    """Return the id of the last execution of the plan after which traffic is not where it was before the plan, or may
    not be; None if no traffic moved, or all of it was taken back.
    """
    found: int | None = tx.execute(_MOVED, {"id": placement_plan_id, "least": _SHARE_LEAST}).scalar()
    return found


def list_executions(
    tx: Transaction, *, state: ExecutionState | None, before: int | None, limit: int
) -> Page[PlanExecution]:
    """Return a page of executions, latest first."""
    query = sa.select(*_COLUMNS).order_by(_T.plan_execution_id.desc()).limit(limit + 1)
    if state is not None:
        query = query.where(_T.state == state)
    if before is not None:
        query = query.where(_T.plan_execution_id < before)
    return Page.of([_execution(row) for row in tx.execute(query).mappings()], limit, lambda one: one.plan_execution_id)


def set_state(tx: Transaction, execution: PlanExecution, state: ExecutionState, *, now: datetime) -> None:
    """Write the state of a locked execution, and raise its generation even if the state stays. One that ends gives its
    places back.
    """
    values: dict[str, Any] = {"state": state.value}
    if execution.state is ExecutionState.DRAFT and state is not ExecutionState.DRAFT:
        values["started_at"] = now
    if state in FINAL:
        values["finished_at"] = now
    key = _T.plan_execution_id == execution.plan_execution_id
    tx.execute(sa.update(plan_executions).where(key).values(values))
    if state in FINAL:
        tx.execute(sa.delete(execution_places).where(_P.plan_execution_id == execution.plan_execution_id))


def take_places(tx: Transaction, plan_execution_id: int, actions: Sequence[Action]) -> None:
    """Take the places of the actions: services where they are resized, products where their traffic leaves or comes.

    Raises PlaceTaken, with all places that others hold.
    """
    places = sorted(places_of(actions))
    columns = [list(column) for column in zip(*places, strict=True)] or [[], [], []]
    values = dict(zip(("kinds", "names", "regions"), columns, strict=True))
    with tx.begin_nested():
        if tx.execute(_TAKE, values | {"id": plan_execution_id}).rowcount < len(places):
            rows = tx.execute(_TAKEN, values | {"id": plan_execution_id})
            raise PlaceTaken([(row.kind, row.name, row.region, row.plan_execution_id) for row in rows])


def places_of(actions: Sequence[Action]) -> set[tuple[str, str, str]]:
    """Return the (kind, name, region) that the actions touch."""
    found = {("service", str(a.service), str(a.region)) for a in actions if a.service is not None}
    for a in actions:
        if a.product is not None:
            found |= {("product", a.product, str(a.region)), ("product", a.product, str(a.to_region))}
    return found


def _execution(row: sa.RowMapping) -> PlanExecution:
    fields = {name: row[name] for name in PlanExecution.__dataclass_fields__}
    return PlanExecution(**{**fields, "state": ExecutionState(row["state"]), "terms": _terms(row["terms"])})


def _terms(stored: dict[str, Any]) -> Terms:
    gates = tuple(
        Gate(**{**gate, "time": GateTime(gate["time"]), "mode": GateMode(gate["mode"]), "then": GateMode(gate["then"])})
        for gate in stored["gates"]
    )
    return Terms(**{**stored, "fractions": tuple(stored["fractions"]), "gates": gates})
