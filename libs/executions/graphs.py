"""The graphs of executions. They never change, so a process keeps the last few."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from libs.domain.execution_progress import ExecutionGraph
from libs.flux.execution.graph import execution_graph
from libs.store.executions.actions import load_actions
from libs.store.executions.executions import load_execution, load_pools
from libs.store.platform.database import Transaction

_KEPT_MAX = 8
_kept: OrderedDict[tuple[str, int, str], ExecutionGraph] = OrderedDict()
_lock = Lock()


def load_graph(tx: Transaction, plan_execution_id: int) -> ExecutionGraph:
    """Return the graph of an execution. Raises NotFound."""
    # A restored database may have another execution under the same id: its moment tells them apart.
    key = (str(tx.engine.url), plan_execution_id, load_execution(tx, plan_execution_id).created_at.isoformat())
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
