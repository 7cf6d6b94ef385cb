"""`/v1/plan-executions`: executions of placement plans, and how far their actions are."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import ConfigDict, Field

from libs.domain.execution_plan import Phase
from libs.domain.execution_progress import PHASES, STATES, ExecutionGraph, Progress
from libs.domain.plan_execution import FINAL, ActionState, ExecutionState, PlanExecution, Verb
from libs.domain.principal import Role
from libs.executions.graphs import load_graph, load_seen_progress
from libs.executions.shared_room import with_shared_room
from libs.flux.execution.commands import possible_action_verbs, possible_verbs
from libs.flux.execution.figures import figures_of
from libs.flux.execution.freezes import FrozenPlan, frozen_actions
from libs.flux.execution.next_steps import unmet
from libs.flux.execution.waits import Waits
from libs.plan_check.check import PlanRefusedError
from libs.store.executions.commands import list_readings
from libs.store.executions.executions import list_executions, load_execution
from libs.store.executions.freezes import load_calendar
from libs.store.ledger.proposals import ConflictingEvents
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, PageOf, RequestModel, ResponseModel, SomeName, Whole
from libs.web.openapi import headers, problems
from libs.web.problems import Problem
from libs.web.reasons import GivenReason
from services.orchestrator.api.terms_in import TermsIn
from services.orchestrator.create_execution import CannotExecute, create_execution

router = APIRouter(prefix="/v1/plan-executions", tags=["plan executions"])
_NOUN, _ACTIONS = "plan-executions", "execution-actions"
_READINGS_MAX = 200
ExecutionId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the execution")]
_Position = Annotated[int, Path(ge=0, le=10_000_000, description="Position of the action in its execution")]
_EXAMPLE: dict[str, Any] = {
    "placement_plan_id": 7,
    "reason": "weekly plan",
    "terms": {
        "gates": [
            {
                "name": "errors",
                "time": "fraction",
                "query": 'sum(rate(errors{product="{product}"}[5m]))',
                "most": 0.01,
                "mode": "reverse",
            }
        ]
    },
}


class PlanExecutionIn(RequestModel):
    """A request to prepare the execution of the target plan. It begins with the command `start`."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    placement_plan_id: Annotated[Whole, Field(ge=1, le=ID_MAX)]
    reason: GivenReason
    terms: TermsIn = Field(default_factory=TermsIn)


class PlanExecutionOut(ResponseModel):
    """One execution."""

    plan_execution_id: int
    placement_plan_id: int
    reverses_execution_id: int | None = Field(
        description="The execution that this one takes back; null: it carries out the plan"
    )
    state: ExecutionState
    terms: dict[str, Any]
    reason: str
    created_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    possible: list[Verb] = Field(description="Commands about the whole execution that would be accepted now")
    generation: int


class ExecutionFiguresOut(ResponseModel):
    """The part of the plan that was carried out so far. Amounts of several hardware types add up as they are."""

    upsize: float = Field(description="Planned capacity")
    upsized: float = Field(description="The part of it that was executed, as people may have edited it")
    downsize: float
    downsized: float
    shift: float = Field(description="Planned traffic, as a sum of shares of products")
    shifted: float
    automated: float | None = Field(description="Share of the finished actions without a person; null: none finished")


class PlanExecutionFullOut(PlanExecutionOut):
    """One execution, the number of its actions by phase and state, and its figures."""

    actions: dict[Phase, dict[ActionState, int]]
    figures: ExecutionFiguresOut


class ExecutionActionOut(ResponseModel):
    """One action, and how far it is."""

    position: int
    action: str
    phase: Phase
    service: str | None
    product: str | None
    region: str | None
    to_region: str | None
    hardware_type: str | None
    before: float = Field(description="Capacity before the action; 0 for a shift")
    after: float = Field(description="Planned capacity; for a shift, the share of the product's traffic")
    size: float = Field(
        description="Capacity or share that the action leads to: the planned one, unless a person edited it. If people "
        "changed or skipped an earlier resize of its place, its change from `before` comes on top of what is there"
    )
    approval: list[str] = Field(
        description="Reasons for which a person must approve the action; empty: no approval is needed"
    )
    waits_for: list[str] = Field(description="Actions that must finish before this one begins")
    state: ActionState
    reached: float = Field(description="Fraction of the action that is done, 0 to 1")
    attempt: int
    since: datetime = Field(description="When the state or the fraction last changed")
    note: str | None = Field(
        description="Reason of the state, or the last message of the system that carries out the action"
    )
    paused: bool
    person: bool = Field(description="true: a person changed the action, so automation does not take it back")
    waiting: list[str] = Field(description="Causes for which the action waits now")
    possible: list[Verb] = Field(description="Commands about the action that would be accepted now")


class GateReadingOut(ResponseModel):
    """One reading of a gate."""

    gate: str
    at: datetime
    value: float | None
    query: str
    bound: str
    note: str | None


@router.post(
    "",
    operation_id="create_plan_execution",
    status_code=201,
    response_model=PlanExecutionOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={201: {"headers": headers("ETag", "Location")}, **problems(404, 409)},
)
def post_execution(body: PlanExecutionIn, write: Write, principal: Asking, context: Context) -> Response:
    """Prepare the execution of the target plan, with an event in the capacity ledger for each action. It is a draft:
    people may approve, edit and skip actions before the command `start`.
    """

    def effect(tx: Transaction) -> Answer:
        now = context.clock.now()
        try:
            made = create_execution(
                tx, body.placement_plan_id, terms=body.terms.terms(), reason=body.reason, actor=principal.name, now=now
            )
        except (CannotExecute, PlanRefusedError, ConflictingEvents) as error:
            raise Problem(409, "conflict", str(error)) from error
        audit.append(
            tx,
            actor=principal.name,
            action="create",
            subject_kind="plan_execution",
            subject_id=made.plan_execution_id,
            now=now,
            after={"placement_plan_id": body.placement_plan_id},
            reason=body.reason,
        )
        location = {"Location": f"/v1/plan-executions/{made.plan_execution_id}"}
        return Answer(201, execution_out(made, frozen_plan(tx, made, now)), location | etag(made.generation))

    return write.once(effect)


@router.get("", operation_id="list_plan_executions")
def get_executions(
    context: Context,
    paging: Paging,
    state: Annotated[ExecutionState | None, Query(description="In this state only")] = None,
) -> PageOf[PlanExecutionOut]:
    """List executions, latest first."""
    before, now = paging.after(_NOUN), context.clock.now()
    with context.database.snapshot() as tx:
        page = list_executions(tx, state=state, before=before, limit=paging.limit)
        items = [execution_out(one, frozen_plan(tx, one, now)) for one in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get(
    "/{plan_execution_id}",
    operation_id="get_plan_execution",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_execution(plan_execution_id: ExecutionId, context: Context, response: Response) -> PlanExecutionFullOut:
    """Return one execution, the number of its actions by phase and state, and how much of its plan it carried out."""
    with context.database.snapshot() as tx:
        found = load_execution(tx, plan_execution_id)
        graph, progress = load_graph(tx, plan_execution_id), load_seen_progress(tx, found)
        frozen = frozen_plan(tx, found, context.clock.now())
    response.headers.update(etag(found.generation))
    counts: dict[Phase, dict[ActionState, int]] = {}
    for phase, state in zip(graph.phase.tolist(), progress.state.tolist(), strict=True):
        by_state = counts.setdefault(PHASES[phase], {})
        by_state[STATES[state]] = by_state.get(STATES[state], 0) + 1
    figures = ExecutionFiguresOut.model_validate(figures_of(graph, progress))
    return PlanExecutionFullOut(**execution_out(found, frozen).model_dump(), actions=counts, figures=figures)


@router.get("/{plan_execution_id}/actions", operation_id="list_execution_actions", responses=problems(404))
def get_actions(
    plan_execution_id: ExecutionId,
    context: Context,
    paging: Paging,
    phase: Annotated[Phase | None, Query(description="Of this phase only")] = None,
    state: Annotated[ActionState | None, Query(description="In this state only")] = None,
    region: Annotated[SomeName | None, Query(description="In, from or to this region only")] = None,
    action: Annotated[SomeName | None, Query(description="With this id only")] = None,
) -> PageOf[ExecutionActionOut]:
    """List actions in an order that works, each with what it waits for and what people may do about it now."""
    after, now = paging.after(_ACTIONS), context.clock.now()
    with context.database.snapshot() as tx:
        found = load_execution(tx, plan_execution_id)
        graph, progress = load_graph(tx, plan_execution_id), load_seen_progress(tx, found)
        calendar = load_calendar(tx, plan_execution_id, now)
        room = with_shared_room(tx, found, graph)
    frozen = frozen_actions(graph, progress, calendar, now.timestamp())
    waits = Waits(room, found.state, progress, found.terms, now.timestamp(), frozen)
    blocked = unmet(graph, progress)
    wanted = [
        i
        for i, one in enumerate(graph.actions)
        if (after is None or i > after)
        and (phase is None or one.phase is phase)
        and (state is None or STATES[progress.state[i]] is state)
        and (region is None or region in (one.region, one.to_region))
        and (action is None or one.action == action)
    ]
    page = wanted[: paging.limit]
    items = [
        _action_out(found, graph, progress, i, waits, is_blocked=bool(blocked[i]), is_frozen=bool(frozen.held[i]))
        for i in page
    ]
    last = page[-1] if len(wanted) > len(page) else None
    return PageOf(items=items, next_cursor=next_cursor(_ACTIONS, last))


@router.get(
    "/{plan_execution_id}/actions/{position}/readings",
    operation_id="list_gate_readings",
    responses=problems(404),
)
def get_readings(plan_execution_id: ExecutionId, position: _Position, context: Context) -> list[GateReadingOut]:
    """List the latest readings of an action's gates, latest first: at most 200."""
    with context.database.snapshot() as tx:
        load_execution(tx, plan_execution_id)
        if position >= len(load_graph(tx, plan_execution_id).actions):
            raise NotFound(f"action of plan execution {plan_execution_id} at position", position)
        found = list_readings(tx, plan_execution_id, position, limit=_READINGS_MAX)
    return [GateReadingOut.model_validate(one) for one in found]


def frozen_plan(tx: Transaction, one: PlanExecution, now: datetime) -> FrozenPlan:
    """Return the effect of freezes on commands about an execution."""
    calendar = load_calendar(tx, one.plan_execution_id, now)
    if not calendar.freezes or one.state in FINAL:
        return FrozenPlan()
    graph, progress = load_graph(tx, one.plan_execution_id), load_seen_progress(tx, one)
    return frozen_actions(graph, progress, calendar, now.timestamp()).plan


def execution_out(one: PlanExecution, frozen: FrozenPlan) -> PlanExecutionOut:
    """Return an execution as a response."""
    values = {name: getattr(one, name) for name in PlanExecution.__dataclass_fields__}
    possible = list(possible_verbs(one.state, frozen))
    return PlanExecutionOut(**values | {"terms": asdict(one.terms), "possible": possible})


def _action_out(
    execution: PlanExecution,
    graph: ExecutionGraph,
    progress: Progress,
    position: int,
    waits: Waits,
    *,
    is_blocked: bool,
    is_frozen: bool,
) -> ExecutionActionOut:
    action, row = graph.actions[position], progress.row(position)
    named = ("action", "phase", "service", "product", "region", "to_region", "hardware_type", "before", "after")
    told = ("position", "state", "size", "reached", "attempt", "note", "paused", "person")
    possible = possible_action_verbs(
        *(execution.state, row.state),
        phase=action.phase,
        paused=row.paused,
        begun=row.begun,
        waits=is_blocked,
        frozen=is_frozen,
    )
    return ExecutionActionOut(
        **{name: getattr(action, name) for name in named},
        **{name: getattr(row, name) for name in told},
        approval=list(action.approval),
        waits_for=list(action.waits_for),
        since=datetime.fromtimestamp(row.since_s, UTC),
        waiting=list(waits.of(position)),
        possible=list(possible),
    )
