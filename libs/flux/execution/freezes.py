"""Find the actions of an execution that freezes hold. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from libs.domain.arrays import Bools
from libs.domain.execution_plan import Phase
from libs.domain.execution_progress import PHASE_CODE, ExecutionGraph, Progress
from libs.domain.freeze import Calendar, Freeze
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
    by         position -> the freezes that hold it
    plan       effect on commands about the whole execution
    """

    held: Bools
    by: Mapping[int, tuple[Freeze, ...]]
    plan: FrozenPlan = FrozenPlan()


def frozen_actions(graph: ExecutionGraph, progress: Progress, calendar: Calendar, now_s: float) -> Frozen:
    """Return what the freezes of this moment hold. Actions that are done, skipped or without work are never held."""
    n, now = len(graph.actions), datetime.fromtimestamp(now_s, UTC)
    held, held_for_all = np.zeros(n, bool), np.zeros(n, bool)
    by: dict[int, tuple[Freeze, ...]] = {}
    open_: Bools = ~progress.is_in(*SETTLED) & (graph.phase != _NODE)
    begun: Bools = ((progress.asked > 0) | (progress.reached > 0)) & (graph.phase != _NODE)
    holds = []
    for freeze in calendar.freezes:
        if not freeze.is_on(now) or (freeze.freeze_id, None) in calendar.overrides:
            continue
        within = np.fromiter((freeze.holds(a) for a in graph.actions), bool, n)
        held_for_all |= within
        if (within & (open_ | begun)).any():
            holds.append(freeze.freeze_id)
        for i in np.flatnonzero(within & open_).tolist():
            if (freeze.freeze_id, i) not in calendar.overrides:
                held[i] = True
                by[i] = (*by.get(i, ()), freeze)
    plan = FrozenPlan(
        begins=bool(open_.any() and held[open_].all()),
        goes_back=bool(begun.any() and held_for_all[begun].all()),
        holds=tuple(holds),
    )
    return Frozen(held=held, by=by, plan=plan)
