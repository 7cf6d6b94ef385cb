"""Foretell when the actions of an execution begin and end, from what has happened and the plan's estimates. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.execution_plan import Phase
from libs.domain.execution_progress import PHASE_CODE, ExecutionGraph, Progress
from libs.domain.plan_execution import SETTLED, Terms

_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forecast:
    """The begin and the end of N actions, in seconds since 1970.

    begins_s   (N,)       when it began, or is expected to
    ends_s     (N,)       when it ended, or is expected to
    begun      (N,) bool  the begin has happened
    ended      (N,) bool  the end has happened
    critical   positions of the actions on the critical path, first to last: each ended, or will end, last of all those
               that the next one waits for
    """

    begins_s: Floats
    ends_s: Floats
    begun: Bools
    ended: Bools
    critical: tuple[int, ...]


def forecast(
    graph: ExecutionGraph, progress: Progress, terms: Terms, began_s: Floats, ended_s: Floats, now_s: float
) -> Forecast:
    """Return when each action begins and ends if nothing but its dependencies holds it.

        begins(i) = max(now, max over j that i waits for of ends(j))      for an action that has not begun
        ends(i)   = max(now, begins(i) + estimate(i))                     for one that has not ended

    A downsize begins the bake time of the terms after the shifts that it waits for. People, gates, freezes and room may
    hold actions for longer.

    began_s, ended_s   (N,) when the action was first asked for, and when it was done; nan: not known
    """
    ended = progress.is_in(*SETTLED)
    ends = np.where(np.isnan(ended_s), progress.since_s, ended_s)
    begun = ended | ~np.isnan(began_s) | (progress.asked > 0) | (progress.reached > 0)
    begins = np.where(np.isnan(began_s), np.where(ended, ends, progress.since_s), began_s)
    begins = np.where(begun, begins, now_s)
    estimate_s = np.array([action.estimate_h for action in graph.actions]) * _HOUR_S
    bakes = graph.phase[graph.waits_from] == PHASE_CODE[Phase.SHIFT]
    bakes &= graph.phase[graph.waits_to] == PHASE_CODE[Phase.DOWNSIZE]
    bake_s = np.where(bakes, terms.downsize_bake_s, 0.0)
    open_ = ~ended & ~begun
    ends = np.where(ended, ends, np.maximum(now_s, begins + estimate_s))
    while True:  # as often as the longest way through the graph has actions
        latest = np.full(len(begins), -np.inf)
        np.maximum.at(latest, graph.waits_to, ends[graph.waits_from] + bake_s)
        later = np.where(open_, np.maximum(begins, latest), begins)
        if (later == begins).all():
            break
        begins = later
        ends = np.where(open_, begins + estimate_s, ends)
    return Forecast(
        begins_s=begins, ends_s=ends, begun=begun, ended=ended, critical=_critical(graph, begins, ends, ended)
    )


def _critical(graph: ExecutionGraph, begins: Floats, ends: Floats, ended: Bools) -> tuple[int, ...]:
    if not len(ends):
        return ()
    open_ = np.flatnonzero(~ended)
    last = open_ if len(open_) else np.arange(len(ends))
    at = int(last[np.argmax(ends[last])])
    path = [at]
    while True:
        first, end = np.searchsorted(graph.waits_to, (at, at + 1))
        before = graph.waits_from[first:end]
        if not len(before):
            return tuple(reversed(path))
        at = int(before[np.argmax(ends[before])])
        path.append(at)
