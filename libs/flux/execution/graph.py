"""Make the graph of an execution from its actions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.execution_plan import Action, Phase
from libs.domain.execution_progress import PHASE_CODE, ExecutionGraph, Pool
from libs.domain.freeze import Scope, scopes_of


def execution_graph(
    actions: Sequence[Action], used: Mapping[Pool, float], room: Mapping[Pool, float]
) -> ExecutionGraph:
    """Return the graph. `actions` are in topological order, as libs.flux.execution.plan.scheduled gives them.

    used, room   capacity in use and held by pool, before the execution starts; a pool that is missing has no room
    """
    position = {a.action: i for i, a in enumerate(actions)}
    pools: dict[Pool, int] = {}
    pool = [pools.setdefault((a.region, a.hardware_type), len(pools)) if a.service is not None else -1 for a in actions]
    waits_from = [position[before] for a in actions for before in a.waits_for]
    return ExecutionGraph(
        actions=tuple(actions),
        phase=np.array([PHASE_CODE[a.phase] for a in actions], np.int8),
        before=np.array([a.before for a in actions], float),
        after=np.array([a.after for a in actions], float),
        pool=np.array(pool, np.int32),
        earlier=_earlier(actions),
        waits_from=np.array(waits_from, np.int32),
        waits_to=np.repeat(np.arange(len(actions), dtype=np.int32), [len(a.waits_for) for a in actions]),
        scopes=_scopes(actions),
        pools=tuple(pools),
        used=np.array([used.get(name, 0.0) for name in pools], float),
        room=np.array([room.get(name, 0.0) for name in pools], float),
    )


def _earlier(actions: Sequence[Action]) -> Indices:
    last: dict[tuple[str | None, str | None, str | None], int] = {}
    found = np.full(len(actions), -1, np.int32)
    for i, a in enumerate(actions):
        if a.service is not None:
            place = a.service, a.region, a.hardware_type
            found[i] = last.get(place, -1)
            if a.phase is not Phase.GROW:  # growth comes last; older plans list it before the upsize of its place
                last[place] = i
    return found


def _scopes(actions: Sequence[Action]) -> dict[Scope, Indices]:
    found: defaultdict[Scope, list[int]] = defaultdict(list)
    for i, a in enumerate(actions):
        for scope in scopes_of(a):
            found[scope].append(i)
    return {scope: np.array(positions, np.int32) for scope, positions in found.items()}
