"""Take what other executions hold or add out of the room of pools that they share."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.execution_progress import ExecutionGraph, Pool, Progress
from libs.domain.plan_execution import FINAL, SETTLED, ActionState, PlanExecution
from libs.executions.graphs import load_graph
from libs.plan_check.execution_room import most_grown, most_over_plan
from libs.reconcile.errors import StaleGeneration
from libs.store.executions.actions import load_progress
from libs.store.executions.executions import load_executions_since, load_planned_at, lock_starts
from libs.store.platform.database import Transaction


def with_shared_room(tx: Transaction, execution: PlanExecution, graph: ExecutionGraph) -> ExecutionGraph:
    """Return the graph with the room that other executions leave in its pools.

    The use of a pool before an execution comes from its plan. The plan knew the executions that had started: it took
    their approved and active events as done. So of these, actions that needed an approval count here. A size counts as
    far as it passes the one in the plan: a shrink that has not happened holds its room. Of later executions all growth
    counts.
    """
    planned_at = load_planned_at(tx, execution.placement_plan_id)
    pools, room = _pools(graph), graph.room.copy()
    for other in load_executions_since(tx, planned_at):
        if other.placement_plan_id == execution.placement_plan_id:
            continue  # it resizes the same places to the same sizes, or takes that back
        theirs = load_graph(tx, other.plan_execution_id)
        shared = [(pools[name], q) for name, q in _pools(theirs).items() if name in pools]
        if not shared:
            continue
        progress, ended = load_progress(tx, other.plan_execution_id), other.state in FINAL
        asks = np.array([bool(a.approval) for a in theirs.actions], bool)
        is_later = other.started_at is None or other.started_at > planned_at
        taken = most_grown(theirs, progress, asks | is_later, ended=ended)
        if not is_later:
            taken += most_over_plan(theirs, progress, _as_given(theirs, progress, asks, planned_at), ended=ended)
        for mine, q in shared:
            room[mine] -= taken[q]
    return graph if (room == graph.room).all() else replace(graph, room=room)


def require_room(tx: Transaction, execution: PlanExecution, graph: ExecutionGraph, room: Floats) -> None:
    """Check that the pools still have the room (Q,) that a decision rests on. Raises StaleGeneration.

    The generation of an execution does not tell what others have begun since. So executions begin actions one after
    another, until the transaction ends.
    """
    lock_starts(tx)
    if (with_shared_room(tx, execution, graph).room < room).any():
        raise StaleGeneration("room of execution", execution.plan_execution_id, expected=0, found=0)


def _as_given(graph: ExecutionGraph, progress: Progress, asks: Bools, planned_at: datetime) -> Bools:
    """Return (N,) which actions a plan took as given, although they had not ended when it was made.

    asks   (N,) actions that needed an approval. All of their growth counts anyway.
    """
    ended = progress.is_in(*SETTLED) & (progress.since_s <= planned_at.timestamp())
    found: Bools = ~ended & ~progress.is_in(ActionState.AWAITING_APPROVAL) & (~asks | (graph.after < graph.before))
    return found


def _pools(graph: ExecutionGraph) -> dict[Pool, int]:
    return {name: q for q, name in enumerate(graph.pools)}
