"""Write what changes of an execution: its actions, their events, its state, and what was executed in the end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from libs.domain.execution_plan import Phase
from libs.domain.execution_progress import ActionProgress, ExecutionGraph, Progress, changed
from libs.domain.plan_execution import FINAL, ActionState, ExecutionState, PlanExecution, RecordedCommand
from libs.flux.execution.figures import figures_document
from libs.flux.execution.reverse import BACK
from libs.store.executions.actions import change_actions
from libs.store.executions.approvals import close_approvals, follow_approvals
from libs.store.executions.events import close_events, follow_actions
from libs.store.executions.executions import set_state
from libs.store.executions.figures import load_action_seconds, record_figures
from libs.store.planner.executed_changes import record_all_executed, record_taken_back
from libs.store.platform.database import Transaction

_RESIZES = (Phase.UPSIZE, Phase.DOWNSIZE)


def write_execution(
    tx: Transaction,
    execution: PlanExecution,
    graph: ExecutionGraph,
    progress: Progress,
    changes: Sequence[ActionProgress],
    state: ExecutionState,
    *,
    actor: str,
    now: datetime,
    command: RecordedCommand | None = None,
) -> None:
    """Write the changes of a locked execution, and its next state.

    progress   before the changes
    command    the command behind them; None: the reconciler decided them
    """
    change_actions(tx, execution.plan_execution_id, changes)
    follow_approvals(tx, execution.plan_execution_id, changes, command, decided_by=actor, now=now)
    follow_actions(tx, execution.plan_execution_id, graph, changes, actor=actor, now=now)
    if state in FINAL:
        after = changed(progress, tuple(changes))
        close_events(tx, execution.plan_execution_id, after, state, actor=actor, now=now)
        close_approvals(tx, execution.plan_execution_id, state, decided_by=actor, now=now)
        _record_executed(tx, execution, graph, after, now=now)
        seconds = load_action_seconds(tx, execution.plan_execution_id, len(graph.actions))
        record_figures(tx, execution.plan_execution_id, figures_document(graph, after, seconds))
    set_state(tx, execution, state, now=now)


def _record_executed(
    tx: Transaction, execution: PlanExecution, graph: ExecutionGraph, progress: Progress, *, now: datetime
) -> None:
    """Record how much of each resize of the plan was carried out. Amounts that were taken back do not count."""
    resizes = [i for i in np.flatnonzero(graph.pool >= 0).tolist() if graph.before[i] != graph.after[i]]
    done = progress.is_in(ActionState.DONE)
    if execution.reverses_execution_id is not None:
        names = [graph.actions[i].action.removesuffix(BACK) for i in resizes if done[i]]
        record_taken_back(tx, execution.placement_plan_id, names, now=now)
        return
    rows = []
    for i in resizes:
        action = graph.actions[i]
        if action.phase in _RESIZES:
            executed = abs(float(progress.size[i]) - action.before) if done[i] else 0.0
            rows.append((action.action, action.phase.value, abs(action.after - action.before), executed))
    record_all_executed(tx, execution.placement_plan_id, rows, now=now)
