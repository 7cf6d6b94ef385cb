"""Put the actions of an execution into lanes of a time line, so few that people can look at them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np

from libs.domain.arrays import Floats, Ints
from libs.domain.execution_plan import Phase
from libs.domain.execution_progress import PHASES, STATES, ExecutionGraph, Progress
from libs.domain.plan_execution import ActionState
from libs.flux.execution.forecast import Forecast

INTERVALS_MAX = 20
"""Largest number of intervals of a lane. The smallest gaps between more of them are closed."""
_NO_WORK = PHASES.index(Phase.SETTLED)


class LaneKind(StrEnum):
    """The content of a lane."""

    ACTION = "action"
    REGION = "region"
    """All actions of a phase in one region. Shifts count in the region that they leave."""
    PHASE = "phase"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A time in which at least one action of a lane is under way, in seconds since 1970.

    expected   True: it lies in the future, as far as the lane is concerned
    """

    begins_s: float
    ends_s: float
    expected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One lane.

    action     of LaneKind.ACTION: its id
    region     None: the lane has actions of several regions, or the action has none
    states     number of actions in each state
    critical   number of actions on the critical path
    """

    phase: Phase
    region: str | None
    action: str | None
    states: dict[ActionState, int]
    critical: int
    intervals: tuple[Interval, ...]


def lanes_of(
    graph: ExecutionGraph, progress: Progress, foretold: Forecast, lanes_max: int, now_s: float
) -> tuple[LaneKind, tuple[Lane, ...]]:
    """Return the finest lanes of which there are at most `lanes_max`, phase by phase in their order; else the phases.

    Nodes without work have no lane.
    """
    rows = np.flatnonzero(graph.phase != _NO_WORK)
    rows = rows[np.argsort(graph.phase[rows], kind="stable")]
    if len(rows) <= lanes_max:
        return LaneKind.ACTION, tuple(
            _lane(graph, progress, foretold, [int(i)], now_s, action=graph.actions[i].action, region=region)
            for i in rows
            for region in [graph.actions[i].region]
        )
    places: dict[tuple[int, str], list[int]] = {}
    for i in rows.tolist():
        places.setdefault((int(graph.phase[i]), graph.actions[i].region or ""), []).append(i)
    if len(places) <= lanes_max:
        return LaneKind.REGION, tuple(
            _lane(graph, progress, foretold, members, now_s, region=region or None)
            for (_, region), members in sorted(places.items())
        )
    phases = [np.flatnonzero(graph.phase == phase).tolist() for phase in np.unique(graph.phase[rows])]
    return LaneKind.PHASE, tuple(_lane(graph, progress, foretold, members, now_s) for members in phases)


def _lane(
    graph: ExecutionGraph,
    progress: Progress,
    foretold: Forecast,
    members: Sequence[int],
    now_s: float,
    *,
    region: str | None = None,
    action: str | None = None,
) -> Lane:
    rows: Ints = np.array(members, int)
    codes, counts = np.unique(progress.state[rows], return_counts=True)
    shown = rows[progress.state[rows] != STATES.index(ActionState.SKIPPED)]
    begun = shown[foretold.begun[shown]]
    past = _merged(foretold.begins_s[begun], np.where(foretold.ended, foretold.ends_s, now_s)[begun])
    coming = shown[~foretold.ended[shown]]
    future = _merged(np.maximum(foretold.begins_s, now_s)[coming], foretold.ends_s[coming])
    return Lane(
        phase=PHASES[graph.phase[members[0]]],
        region=region,
        action=action,
        states={STATES[code]: int(count) for code, count in zip(codes.tolist(), counts.tolist(), strict=True)},
        critical=len(set(members) & set(foretold.critical)),
        intervals=(
            *(Interval(begins_s=a, ends_s=b, expected=False) for a, b in past),
            *(Interval(begins_s=a, ends_s=b, expected=True) for a, b in future),
        ),
    )


def _merged(begins: Floats, ends: Floats) -> list[tuple[float, float]]:
    """Return the union of intervals, ascending; the smallest gaps are closed if there are too many."""
    order = np.argsort(begins, kind="stable")
    found: list[tuple[float, float]] = []
    for begin, end in zip(begins[order].tolist(), ends[order].tolist(), strict=True):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    if len(found) <= INTERVALS_MAX:
        return found
    gaps = sorted(range(1, len(found)), key=lambda i: found[i - 1][1] - found[i][0])[: INTERVALS_MAX - 1]
    edges = [0, *sorted(gaps), len(found)]
    return [(found[a][0], found[b - 1][1]) for a, b in pairwise(edges)]
