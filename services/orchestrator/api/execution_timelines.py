"""`/v1/plan-executions/{id}/timeline` and `/gates`: when actions began and end, and where gates stand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query
from pydantic import Field

from libs.domain.execution_plan import Phase
from libs.domain.gate import GateMode, Verdict
from libs.domain.plan_execution import SETTLED, ActionState
from libs.executions.graphs import load_graph, load_seen_progress
from libs.flux.execution.forecast import forecast
from libs.flux.execution.gate_standings import GateStanding, gate_standings
from libs.flux.execution.lanes import INTERVALS_MAX, LaneKind, lanes_of
from libs.store.executions.commands import load_readings
from libs.store.executions.executions import load_execution
from libs.store.executions.figures import load_action_times
from libs.web.context import Context
from libs.web.model import ResponseModel
from libs.web.openapi import problems
from services.orchestrator.api.plan_executions import ExecutionId

router = APIRouter(prefix="/v1/plan-executions", tags=["plan executions"])
_PATH_MAX, _GATES_MAX = 100, 200
_READ_LATELY = timedelta(hours=1)
_LanesMax = Annotated[
    int,
    Query(
        ge=5,
        le=200,
        description="Each lane is an action if there are at most so many; else the actions of a phase in a region; "
        "else those of a phase",
    ),
]


class IntervalOut(ResponseModel):
    """A time in which at least one action of a lane is under way."""

    begins_at: datetime
    ends_at: datetime
    expected: bool = Field(description="true: by the estimates of the plan, if people, gates and room hold nothing")


class LaneOut(ResponseModel):
    """An action, or the actions of a phase, perhaps in one region."""

    phase: Phase
    region: str | None = Field(description="null: of all regions. A shift counts in the region that it leaves")
    action: str | None = Field(description="null: the lane has several actions")
    states: dict[ActionState, int] = Field(description="Number of actions in each state")
    critical: int = Field(description="Number of its actions on the critical path")
    intervals: list[IntervalOut] = Field(description=f"At most {INTERVALS_MAX} past and {INTERVALS_MAX} expected ones")


class PathStepOut(ResponseModel):
    """An action of the critical path."""

    action: str
    phase: Phase
    state: ActionState
    begins_at: datetime = Field(description="When it began, or is expected to")
    ends_at: datetime = Field(description="When it ended, or is expected to")
    begun: bool
    ended: bool


class ExecutionTimelineOut(ResponseModel):
    """An execution over time."""

    ready_at: datetime | None = Field(
        description="Expected end of the last action, if people, gates, freezes and room hold nothing; null: all ended"
    )
    lanes_are: LaneKind
    actions: int = Field(description="Number of actions, without nodes that have no work")
    lanes: list[LaneOut] = Field(description="Phase by phase, in their order")
    critical_path: list[PathStepOut] = Field(
        description=f"First to last. Each ends last of all that the next one waits for. At most {_PATH_MAX}: the last"
    )
    critical_actions: int = Field(description="Number of actions on the critical path")


class GateStandingOut(ResponseModel):
    """A gate of an action that was read in the last hour."""

    action: str
    position: int
    state: ActionState
    reached: float = Field(description="Fraction of the action that is done, 0 to 1")
    gate: str
    mode: GateMode
    verdict: Verdict = Field(description="By the readings since the action reached its present fraction")
    overridden: bool = Field(description="true: a person overrode the verdict at this fraction")
    value: float | None = Field(description="Of the latest reading")
    bound: str
    at: datetime = Field(description="Time of the latest reading")
    note: str | None


class GateStandingsOut(ResponseModel):
    """The gates of an execution: bad ones first."""

    items: list[GateStandingOut]


@router.get("/{plan_execution_id}/timeline", operation_id="get_execution_timeline", responses=problems(404))
def get_timeline(plan_execution_id: ExecutionId, context: Context, lanes_max: _LanesMax = 60) -> ExecutionTimelineOut:
    """Return when actions began and ended, and when the others are expected to, with the critical path."""
    now_s = context.clock.now().timestamp()
    with context.database.snapshot() as tx:
        found = load_execution(tx, plan_execution_id)
        graph, progress = load_graph(tx, plan_execution_id), load_seen_progress(tx, found)
        began_s, ended_s = load_action_times(tx, plan_execution_id, len(graph.actions))
    foretold = forecast(graph, progress, found.terms, began_s, ended_s, now_s)
    kind, lanes = lanes_of(graph, progress, foretold, lanes_max, now_s)
    open_ = ~progress.is_in(*SETTLED)
    told = ("phase", "region", "action", "states", "critical")
    return ExecutionTimelineOut(
        ready_at=_moment(np.max(foretold.ends_s[open_])) if open_.any() else None,
        lanes_are=kind,
        actions=sum(sum(lane.states.values()) for lane in lanes),
        lanes=[
            LaneOut(
                **{name: getattr(lane, name) for name in told},
                intervals=[
                    IntervalOut(begins_at=_moment(one.begins_s), ends_at=_moment(one.ends_s), expected=one.expected)
                    for one in lane.intervals
                ],
            )
            for lane in lanes
        ],
        critical_path=[
            PathStepOut(
                action=graph.actions[i].action,
                phase=graph.actions[i].phase,
                state=progress.row(i).state,
                begins_at=_moment(foretold.begins_s[i]),
                ends_at=_moment(foretold.ends_s[i]),
                begun=bool(foretold.begun[i]),
                ended=bool(foretold.ended[i]),
            )
            for i in foretold.critical[-_PATH_MAX:]
        ],
        critical_actions=len(foretold.critical),
    )


@router.get("/{plan_execution_id}/gates", operation_id="list_execution_gates", responses=problems(404))
def get_gates(plan_execution_id: ExecutionId, context: Context) -> GateStandingsOut:
    """List the gates of open actions that were read in the last hour: bad ones first, at most 200."""
    now = context.clock.now()
    with context.database.snapshot() as tx:
        found = load_execution(tx, plan_execution_id)
        graph, progress = load_graph(tx, plan_execution_id), load_seen_progress(tx, found)
        readings = load_readings(tx, plan_execution_id, since=now - _READ_LATELY) if found.terms.gates else {}
    standings = gate_standings(graph, progress, found.terms, readings, now)[:_GATES_MAX]
    actions = [graph.actions[one.position].action for one in standings]
    rows = [progress.row(one.position) for one in standings]
    items = [
        _standing_out(one, action, row.state, row.reached)
        for one, action, row in zip(standings, actions, rows, strict=True)
    ]
    return GateStandingsOut(items=items)


def _standing_out(one: GateStanding, action: str, state: ActionState, reached: float) -> GateStandingOut:
    latest = one.latest
    return GateStandingOut(
        action=action,
        position=one.position,
        state=state,
        reached=reached,
        gate=one.gate.name,
        mode=one.gate.mode,
        verdict=one.verdict,
        overridden=one.overridden,
        value=latest.value,
        bound=latest.bound,
        at=latest.at,
        note=latest.note,
    )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(float(seconds), UTC)
