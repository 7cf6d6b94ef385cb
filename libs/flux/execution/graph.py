"""Make the graph of an execution from its actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from libs.domain.execution_plan import Action
from libs.domain.execution_progress import PHASE_CODE, ExecutionGraph, Pool


def execution_graph(
    actions: Sequence[Action], used: Mapping[Pool, float], room: Mapping[Pool, float]
) -> ExecutionGraph:
    """Return the graph. `actions` are in topological order, as libs.flux.execution.plan.scheduled gives them.

    used, room   capacity in use and held by pool, before the execution starts; a pool that is missing has no room
    """
    position = {a.action: i for i, a in enumerate(actions)}
    pools: dict[Pool, int] = {}
    pool = [pools.setdefault((a.region, a.hardware_type), len(pools)) if a.service is not None else -1 for a in actions]
    edges = [(position[before], i) for i, a in enumerate(actions) for before in a.waits_for]
    ends = np.array(edges, np.int32).reshape(-1, 2)
    return ExecutionGraph(
        actions=tuple(actions),
        phase=np.array([PHASE_CODE[a.phase] for a in actions], np.int8),
        before=np.array([a.before for a in actions], float),
        after=np.array([a.after for a in actions], float),
        pool=np.array(pool, np.int32),
        waits_from=ends[:, 0].copy(),
        waits_to=ends[:, 1].copy(),
        used=np.array([used.get(name, 0.0) for name in pools], float),
        room=np.array([room.get(name, 0.0) for name in pools], float),
    )
