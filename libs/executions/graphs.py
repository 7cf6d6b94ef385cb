"""The graphs of executions, and how far they are. A process keeps the last few of both."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from libs.domain.execution_progress import ExecutionGraph, Progress
from libs.domain.plan_execution import PlanExecution
from libs.flux.execution.graph import execution_graph
from libs.store.executions.actions import load_actions, load_progress
from libs.store.executions.executions import load_execution, load_pools
from libs.store.platform.database import Transaction

_KEPT_MAX = 8
_kept: OrderedDict[tuple[str, int, str], ExecutionGraph] = OrderedDict()
_seen: OrderedDict[tuple[str, int, str], tuple[PlanExecution, Progress]] = OrderedDict()
_lock = Lock()


def load_graph(tx: Transaction, plan_execution_id: int) -> ExecutionGraph:
    """Return the graph of an execution. Raises NotFound."""
    key = _key(tx, load_execution(tx, plan_execution_id))
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    pools = load_pools(tx, plan_execution_id)
    graph = execution_graph(
        load_actions(tx, plan_execution_id),
        {(pool.region, pool.hardware_type): pool.used for pool in pools},
        {(pool.region, pool.hardware_type): pool.room for pool in pools},
    )
    with _lock:
        _kept[key] = graph
        while len(_kept) > _KEPT_MAX:
            _kept.popitem(last=False)
    return graph


def load_seen_progress(tx: Transaction, execution: PlanExecution) -> Progress:
    """Return how far the actions are, as arrays that nothing can change.

    execution   as `tx` reads it. Every write of actions changes its row, so an equal row means equal actions
    """
    key = _key(tx, execution)
    with _lock:
        seen = _seen.get(key)
        if seen is not None and seen[0] == execution:
            _seen.move_to_end(key)
            return seen[1]
    progress = load_progress(tx, execution.plan_execution_id)
    for name in Progress.__slots__:
        getattr(progress, name).setflags(write=False)
    with _lock:
        _seen[key] = execution, progress
        while len(_seen) > _KEPT_MAX:
            _seen.popitem(last=False)
    return progress


def _key(tx: Transaction, execution: PlanExecution) -> tuple[str, int, str]:
    # A restored database may have another execution under the same id: its moment tells them apart.
    return str(tx.engine.url), execution.plan_execution_id, execution.created_at.isoformat()
