"""Make executions: of a placement plan, and of what takes one back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import orjson

from libs.domain.execution_plan import Action, ExecutionPlan, PoolRoom
from libs.domain.execution_progress import ExecutionGraph, Progress
from libs.domain.plan_execution import ExecutionState, PlanExecution, Terms
from libs.flux.execution.plan import scheduled
from libs.flux.execution.reverse import reverse_actions
from libs.flux.reservation_sizes import ReservationTable
from libs.interchange.planning_inputs.service_reservations import service_reservations_of
from libs.interchange.world.execution_plan import load_execution_plan
from libs.plan_check.check import require_clean
from libs.plan_check.execution import Pool, check_execution
from libs.plan_check.execution_room import most_used
from libs.store.executions.actions import insert_actions
from libs.store.executions.approvals import ask_for_actions, load_reservation_owners
from libs.store.executions.events import propose_action_events
from libs.store.executions.executions import (
    insert_execution,
    load_execution,
    load_moved_traffic,
    load_unfinished,
    set_state,
    take_places,
)
from libs.store.executions.freezes import copy_overrides
from libs.store.planner.placement_plans import load_placement_plan, load_plan_file
from libs.store.planner.plan_runs import load_plan_run
from libs.store.planner.planning_inputs import load_current
from libs.store.platform.database import Transaction

DAG = "dag.json"


class CannotExecute(Exception):
    """The plan cannot be executed. The message says why, and what to do."""


def create_execution(
    tx: Transaction, placement_plan_id: int, *, terms: Terms, reason: str, actor: str, now: datetime
) -> PlanExecution:
    """Store a draft of the execution of a plan, with an event in the ledger for each action.

    Raises NotFound, CannotExecute, PlanRefusedError, and ConflictingEvents of the ledger.
    """
    plan = load_placement_plan(tx, placement_plan_id, lock=True)  # else two at once would see no other execution
    if not plan.target:
        raise CannotExecute(f"Placement plan {placement_plan_id} is not the target plan: execute the target plan.")
    other = load_unfinished(tx, placement_plan_id)
    if other is not None:
        raise CannotExecute(
            f"Plan execution {other} of placement plan {placement_plan_id} has not ended: abort or supersede it first."
        )
    moved = load_moved_traffic(tx, placement_plan_id)
    if moved is not None:  # shifts are shares of a product's traffic, so a second execution would move as much again
        raise CannotExecute(
            f"Plan execution {moved} of placement plan {placement_plan_id} has moved traffic: plan again."
        )
    execution = load_execution_plan(orjson.loads(load_plan_file(tx, placement_plan_id, DAG)))
    if execution is None:
        raise CannotExecute(f"An older version made placement plan {placement_plan_id}: plan again.")
    if not execution.actions:
        raise CannotExecute(f"Placement plan {placement_plan_id} changes nothing.")
    return _store(tx, placement_plan_id, execution, execution.pools, terms=terms, reason=reason, actor=actor, now=now)


def take_back(
    tx: Transaction,
    execution: PlanExecution,
    graph: ExecutionGraph,
    progress: Progress,
    close: Callable[[], None],
    *,
    actor: str,
    now: datetime,
) -> PlanExecution | None:
    """End a locked execution with `close`, and store and start the one that takes it back; None if nothing was done.

    The places pass from one to the other, so no third execution comes between. Raises PlanRefusedError if the pools
    lack the room, because others have taken it.
    """
    actions = reverse_actions(graph, progress)
    if not actions:
        close()
        return None
    used = most_used(graph, progress)
    pools = tuple(
        PoolRoom(region=str(r), hardware_type=str(h), used=u, room=max(room, u))
        for (r, h), u, room in zip(graph.pools, used.tolist(), graph.room.tolist(), strict=True)
    )
    close()  # before the new events are proposed: those of the old ones would contradict them
    made = _store(
        tx,
        execution.placement_plan_id,
        scheduled(list(actions), 0),
        pools,
        terms=execution.terms,
        reason=f"takes back execution {execution.plan_execution_id}",
        actor=actor,
        now=now,
        reverses=execution.plan_execution_id,
    )
    copy_overrides(tx, execution.plan_execution_id, made.plan_execution_id)
    take_places(tx, made.plan_execution_id, graph.actions)
    set_state(tx, made, ExecutionState.RUNNING, now=now)
    return made


def _store(
    tx: Transaction,
    placement_plan_id: int,
    plan: ExecutionPlan,
    pools: Sequence[PoolRoom],
    *,
    terms: Terms,
    reason: str,
    actor: str,
    now: datetime,
    reverses: int | None = None,
) -> PlanExecution:
    used: dict[Pool, float] = {(pool.region, pool.hardware_type): pool.used for pool in pools}
    room: dict[Pool, float] = {(pool.region, pool.hardware_type): pool.room for pool in pools}
    require_clean(check_execution(plan, used, room))
    actions: Sequence[Action] = plan.actions
    event_ids = propose_action_events(
        # Plans of others must not hold a change where it is, so it is taken back in spite of them.
        *(tx, placement_plan_id, actions),
        reason=reason,
        actor=actor,
        now=now,
        despite_all=reverses is not None,
    )
    plan_execution_id = insert_execution(
        tx,
        placement_plan_id=placement_plan_id,
        terms=terms,
        pools=pools,
        reason=reason,
        created_by=actor,
        now=now,
        reverses=reverses,
    )
    insert_actions(tx, plan_execution_id, actions, event_ids, now_s=now.timestamp())
    owners = _owners(tx, actions)
    askers = [actor]
    if any(a.approval for a in actions):
        writer = load_plan_run(tx, load_placement_plan(tx, placement_plan_id).plan_run_id).requested_by
        askers += [writer] if writer not in (None, actor) else []
    ask_for_actions(tx, plan_execution_id, actions, owners, asked_by=askers, reason=reason, now=now)
    return load_execution(tx, plan_execution_id)


def _owners(tx: Transaction, actions: Sequence[Action]) -> dict[int, str]:
    """Return position -> owner of the reservation that holds the service in its region, where both are known."""
    found = load_current(tx, "service_reservations")
    if found is None or not any(a.approval for a in actions):
        return {}
    table, owners = ReservationTable(service_reservations_of(found[1])), load_reservation_owners(tx)
    known = {}
    for i, a in enumerate(actions):
        row = table.find((str(a.service), str(a.region), str(a.hardware_type))) if a.approval else None
        owner = None if row is None else owners.get((str(a.region), row.reservation))
        if owner is not None:
            known[i] = owner
    return known
