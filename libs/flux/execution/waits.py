"""Tell what an action waits for. Pure."""

from __future__ import annotations

from datetime import UTC

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.execution_plan import Phase
from libs.domain.execution_progress import ExecutionGraph, Progress
from libs.domain.plan_execution import FINAL, IN_FLIGHT, ActionState, ExecutionState, Terms
from libs.flux.execution.freezes import Frozen
from libs.flux.execution.next_steps import bakes_until, met, ready_actions
from libs.plan_check.execution_room import fitting_starts


class Waits:
    """Reasons for which the actions of an execution wait, at one moment."""

    def __init__(
        self,
        graph: ExecutionGraph,
        state: ExecutionState,
        progress: Progress,
        terms: Terms,
        now_s: float,
        frozen: Frozen,
    ) -> None:
        self._graph, self._state, self._progress, self._now_s = graph, state, progress, now_s
        self._baked_s: Floats = bakes_until(graph, progress, terms)
        self._frozen = frozen
        self._bake_s = terms.bake_s
        self._met: Bools = met(graph, progress)
        ready = np.flatnonzero(ready_actions(graph, progress))
        self._no_room = frozenset(ready[~fitting_starts(graph, progress, ready)].tolist())

    def of(self, position: int) -> tuple[str, ...]:
        """Return what an action waits for, such as `approval`, `action ID`, `freeze ID until TIME`, `room` or
        `person`; () if for nothing.
        """
        row, action = self._progress.row(position), self._graph.actions[position]
        if row.state in (ActionState.DONE, ActionState.SKIPPED):
            return ()
        if self._state in FINAL:
            return ("nothing: the execution has ended",)
        found = [] if self._state is ExecutionState.RUNNING else [f"the execution, which is {self._state}"]
        found += ["resume"] if row.paused else []
        for one in () if row.state in IN_FLIGHT else self._frozen.freezes_of(self._graph, position):
            found.append(f"freeze {one.freeze_id} until {one.ends_at.astimezone(UTC):%Y-%m-%dT%H:%MZ}")
        match row.state:
            case ActionState.RUNNING | ActionState.REVERSING:
                return ("answer",)
            case ActionState.FAILED | ActionState.REVERSED | ActionState.TAKEN_OVER:
                return (*found, "person")
            case ActionState.HELD:
                return (*found, "gate" if (row.note or "").startswith("Gate") else "person")
            case ActionState.BAKING:
                return (*found, "bake time") if self._now_s < row.since_s + self._bake_s else (*found, "gate")
        found += ["approval"] if row.state is ActionState.AWAITING_APPROVAL else []
        first, last = np.searchsorted(self._graph.waits_to, (position, position + 1))
        before = self._graph.waits_from[first:last][~self._met[first:last]]
        found += [f"action {self._graph.actions[i].action}" for i in before.tolist()]
        if not found and action.phase is Phase.DOWNSIZE and self._baked_s[position] > self._now_s:
            found.append("bake time")
        return (*found, "room") if position in self._no_room else tuple(found)
