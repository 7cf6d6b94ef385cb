"""Take the growth of other executions out of the room of pools that they share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.execution_progress import ExecutionGraph, Pool
from libs.domain.plan_execution import FINAL, PlanExecution
from libs.executions.graphs import load_graph
from libs.plan_check.execution_room import most_grown
from libs.reconcile.errors import StaleGeneration
from libs.store.executions.actions import load_progress
from libs.store.executions.executions import load_executions_since, load_planned_at, lock_starts
from libs.store.platform.database import Transaction


def with_shared_room(tx: Transaction, execution: PlanExecution, graph: ExecutionGraph) -> ExecutionGraph:
    """Return the graph with the room that other executions leave in its pools.

    The use of a pool before an execution comes from its plan. The plan knew the executions of its time: the approved
    and active events of the ledger are part of it. So of those, only actions that needed an approval count here. Of
    later executions all actions count.
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
        unknown: Bools = np.array([bool(a.approval) or other.created_at > planned_at for a in theirs.actions], bool)
        progress = load_progress(tx, other.plan_execution_id)
        grown = most_grown(theirs, progress, unknown, ended=other.state in FINAL)
        for mine, q in shared:
            room[mine] -= grown[q]
    return graph if (room == graph.room).all() else replace(graph, room=room)


def require_room(tx: Transaction, execution: PlanExecution, graph: ExecutionGraph, room: Floats) -> None:
    """Check that the pools still have the room (Q,) that a decision rests on. Raises StaleGeneration.

    The generation of an execution does not tell what others have begun since. So executions begin actions one after
    another, until the transaction ends.
    """
    lock_starts(tx)
    if (with_shared_room(tx, execution, graph).room < room).any():
        raise StaleGeneration("room of execution", execution.plan_execution_id, expected=0, found=0)


def _pools(graph: ExecutionGraph) -> dict[Pool, int]:
    return {name: q for q, name in enumerate(graph.pools)}
