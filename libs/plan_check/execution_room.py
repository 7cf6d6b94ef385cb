"""Check that the pools have room for new actions, in every order in which running ones end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats
from libs.domain.execution_progress import ExecutionGraph, Progress
from libs.domain.plan_execution import ActionState
from libs.plan_check.execution import TOLERANCE


def most_used(graph: ExecutionGraph, progress: Progress) -> Floats:
    """Return (Q,) the most that each pool can hold in any state that is reachable without a further start.

    A growing resize counts from its first request, because it may be done before its answer comes. A shrinking one
    counts only when it is done.
    """
    change, counts = _change(graph, progress), has_happened(graph, progress)
    used = graph.used.copy()
    np.add.at(used, graph.pool[counts], change[counts])
    return used


def has_happened(graph: ExecutionGraph, progress: Progress) -> Bools:
    """Return (N,) which resizes count as done: no place may have more than it then seems to have."""
    change = _change(graph, progress)
    found: Bools = np.where(change > 0, _may_be_done(progress), progress.is_in(ActionState.DONE)) & (change != 0)
    return found


def most_grown(graph: ExecutionGraph, progress: Progress, only: Bools, *, ended: bool) -> Floats:
    """Return (Q,) the most that some actions of an execution have added to each pool, or add without a further start.

    only    (N,) the actions that count
    ended   True: nothing runs any more, so what they gave back counts too
    """
    change, done = _change(graph, progress), progress.is_in(ActionState.DONE)
    counts = only & (change != 0) & (done if ended else (change > 0) & _may_be_done(progress))
    found = np.zeros(len(graph.used))
    np.add.at(found, graph.pool[counts], change[counts])
    return found


def most_over_plan(graph: ExecutionGraph, progress: Progress, only: Bools, *, ended: bool) -> Floats:
    """Return (Q,) the most by which actions pass the sizes that a later plan counts on, in each pool.

    only    (N,) the actions that count: those that the plan took as given
    ended   True: nothing runs any more, so a size that was not reached is not reached

    A shrink that has not happened still holds what the plan has given to others.
    """
    done = progress.is_in(ActionState.DONE)
    reached = graph.before if ended else np.maximum(graph.before, progress.size)
    over = np.where(done, progress.size, reached) - graph.after
    counts = only & (graph.pool >= 0) & (over > 0)
    found = np.zeros(len(graph.used))
    np.add.at(found, graph.pool[counts], over[counts])
    return found


def fitting_starts(graph: ExecutionGraph, progress: Progress, ready: NDArray[np.integer[Any]]) -> Bools:
    """Return, per action of `ready`, whether its pool has room for it too, in the order given.

    An action that does not fit leaves the room to later, smaller ones. An action that adds nothing always fits.
    """
    used, fits = most_used(graph, progress), np.ones(len(ready), bool)
    limit = graph.room + TOLERANCE * np.maximum(1.0, graph.room)
    more = np.where(_may_be_done(progress), 0.0, _change(graph, progress))[ready]
    for index in np.flatnonzero(more > 0).tolist():
        pool = int(graph.pool[ready[index]])
        fits[index] = used[pool] + more[index] <= limit[pool]
        used[pool] += more[index] if fits[index] else 0.0
    return fits


def _change(graph: ExecutionGraph, progress: Progress) -> Floats:
    """Return (N,) the capacity that each action adds to its pool; 0 for a shift."""
    found: Floats = np.where(graph.pool >= 0, progress.size - graph.before, 0.0)
    return found


def _may_be_done(progress: Progress) -> Bools:
    """Return (N,) which actions may have had their effect, at least in part."""
    states = progress.is_in(ActionState.TAKEN_OVER, ActionState.DONE)
    found: Bools = (progress.asked > 0) | (progress.reached > 0) | states
    return found
