"""Find the actions of an execution that freezes hold. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from libs.domain.arrays import Bools
from libs.domain.execution_plan import Phase
from libs.domain.execution_progress import PHASE_CODE, ExecutionGraph, Progress
from libs.domain.freeze import Calendar, Freeze, Scope, scopes_of
from libs.domain.plan_execution import SETTLED

_NODE = PHASE_CODE[Phase.SETTLED]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenPlan:
    """Effect of freezes on commands about the whole execution.

    begins     True: freezes hold all actions that have not begun
    goes_back  True: freezes hold all actions that could be taken back
    holds      ids of the freezes that hold at least one action, except those overridden for all their actions
    """

    begins: bool = False
    goes_back: bool = False
    holds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frozen:
    """The actions that freezes hold now.

    held       (N,) whether an action may not begin, nor go on to its next fraction
    by         the freezes that hold an action at each scope
    overrides  (freeze, position) of actions that are not held
    plan       effect on commands about the whole execution
    """

    held: Bools
    by: Mapping[Scope, Sequence[Freeze]]
    overrides: frozenset[tuple[int, int | None]]
    plan: FrozenPlan

    def freezes_of(self, graph: ExecutionGraph, position: int) -> tuple[Freeze, ...]:
        """Return the freezes that hold an action."""
        if not self.held[position]:
            return ()
        found = [freeze for scope in scopes_of(graph.actions[position]) for freeze in self.by.get(scope, ())]
        return tuple(one for one in found if (one.freeze_id, position) not in self.overrides)


def frozen_actions(graph: ExecutionGraph, progress: Progress, calendar: Calendar, now_s: float) -> Frozen:
    """Return what the freezes of this moment hold. Actions that are done, skipped or without work are never held."""
    n, now = len(graph.actions), datetime.fromtimestamp(now_s, UTC)
    held, held_for_all = np.zeros(n, bool), np.zeros(n, bool)
    open_: Bools = ~progress.is_in(*SETTLED) & (graph.phase != _NODE)
    begun: Bools = ((progress.asked > 0) | (progress.reached > 0)) & (graph.phase != _NODE)
    may_be_held = open_ | begun
    let_go: dict[int, list[int]] = {}
    for freeze_id, position in calendar.overrides:
        if position is not None:
            let_go.setdefault(freeze_id, []).append(position)
    by: dict[Scope, list[Freeze]] = {}
    for freeze in calendar.freezes:
        scope = freeze.scope, freeze.name
        if not freeze.is_on(now) or (freeze.freeze_id, None) in calendar.overrides or scope not in graph.scopes:
            continue
        within = graph.scopes[scope]
        held_for_all[within] = True
        if may_be_held[within].any():
            by.setdefault(scope, []).append(freeze)
            held[np.setdiff1d(within, let_go[freeze.freeze_id]) if freeze.freeze_id in let_go else within] = True
    held &= open_
    plan = FrozenPlan(
        begins=bool(open_.any() and held[open_].all()),
        goes_back=bool(begun.any() and held_for_all[begun].all()),
        holds=tuple(sorted(one.freeze_id for freezes in by.values() for one in freezes)),
    )
    return Frozen(held=held, by=by, overrides=calendar.overrides, plan=plan)
