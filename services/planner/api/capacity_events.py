"""`/v1/capacity-events`: the capacity ledger. Writers propose, operators decide, executing systems report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Protocol

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import JSONResponse

from libs.domain.capacity_event import CapacityEvent, EventChange, EventStatus, Writer
from libs.domain.plan_execution import Verb
from libs.domain.principal import Role
from libs.domain.words import as_sentence
from libs.store.executions.events import find_execution_of
from libs.store.executions.freezes import load_freezes_on
from libs.store.ledger.changes import RefusedChange, change_events
from libs.store.ledger.events import EventFilter, load_event, load_events, load_history
from libs.store.ledger.proposals import ConflictingEvents, check_proposals, propose_events
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, Moment, PageOf, SomeName
from libs.web.openapi import headers, problems
from libs.web.problems import Problem
from services.planner.api.capacity_event_models import (
    CapacityEventOut,
    CapacityEventWithHistory,
    EventDecisionIn,
    EventReportIn,
    ProposalsIn,
    ProposedOut,
    event_out,
    with_history,
)
from services.planner.conflicting_events import conflict_problem
from services.planner.granted import granted_capacity

router = APIRouter(prefix="/v1/capacity-events", tags=["capacity events"])
_NOUN = "capacity-events"
_Id = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the event")]
_OPERATOR = [Depends(require(Role.OPERATOR))]
_EXECUTOR = [Depends(require(Role.EXECUTOR))]
_VERBS: Mapping[EventStatus, Verb] = {
    EventStatus.APPROVED: Verb.APPROVE,
    EventStatus.SUCCEEDED: Verb.COMPLETE,
    EventStatus.CANCELLED: Verb.SKIP,
    EventStatus.SUPERSEDED: Verb.SKIP,
}
"""Status of an event -> the command that brings its action there."""


class _Change(Protocol):
    """Changes an event, and returns the answer."""

    def __call__(
        self, status: EventStatus, reason: str | None, achieved: float | None, despite_freezes: bool = False
    ) -> Response:
        """Raises a Problem."""


def _change_event(
    capacity_event_id: _Id, expected: ExpectedGeneration, write: Write, principal: Asking, context: Context
) -> _Change:
    """Return a function that changes the event: from its status, reason and achieved amount to the answer."""

    def change_event(
        status: EventStatus, reason: str | None, achieved: float | None, despite_freezes: bool = False
    ) -> Response:
        change = EventChange(
            capacity_event_id=capacity_event_id, generation=expected, status=status, reason=reason, achieved=achieved
        )

        def effect(tx: Transaction) -> Answer:
            event = load_event(tx, capacity_event_id)
            _require_no_execution(tx, event, status)
            if status is EventStatus.ACTIVE and not despite_freezes:
                _require_no_freeze(tx, event, context.clock.now())
            change_events(tx, [change], actor=principal.name, now=context.clock.now())
            found = load_event(tx, capacity_event_id)
            return Answer(200, event_out(found), etag(found.generation))

        try:
            return write.once(effect)
        except RefusedChange as error:
            raise Problem(409, "wrong_phase", as_sentence(str(error))) from error

    return change_event


_ChangeEvent = Annotated[_Change, Depends(_change_event)]


def _require_no_execution(tx: Transaction, event: CapacityEvent, status: EventStatus) -> None:
    """Raise a Problem if the event belongs to an execution that has not ended.

    Such an event follows its action. Changed here, it would pass by the approvals and the four eyes of the execution.
    """
    found = find_execution_of(tx, event)
    if found is None:
        return
    execution, action = found
    verb = _VERBS.get(status)
    given = ["show", str(execution)]
    if verb is not None:
        given = ["give", str(execution), verb.value, "--action", action, "--reason", "WHY"]
    detail = (
        f"Capacity event {event.capacity_event_id} belongs to {action} of plan execution {execution}, which has not "
        f"ended, and follows that action. Use `{shlex.join(['plimsoll', 'execution', *given])}`."
    )
    raise Problem(409, "conflict", detail, plan_execution_id=execution, action=action)


def _require_no_freeze(tx: Transaction, event: CapacityEvent, now: datetime) -> None:
    """Raise a Problem if the event has not begun, and a freeze of this moment holds it."""
    held = [one for one in load_freezes_on(tx, now) if one.holds_effect(event.effect)]
    if held and event.status is not EventStatus.ACTIVE:
        named = "; ".join(
            f"freeze {one.freeze_id} until {one.ends_at:%Y-%m-%d %H:%M}Z: {one.reason}" for one in held[:3]
        )
        detail = f"Capacity event {event.capacity_event_id} may not begin now ({named}). Wait, end the freeze, or say "
        raise Problem(409, "conflict", f"{detail}despite_freezes with a reason.")


@router.post(
    "",
    operation_id="propose_capacity_events",
    status_code=201,
    response_model=ProposedOut,
    dependencies=_OPERATOR,
    responses={200: {"model": ProposedOut, "description": "The answer to a dry run"}, **problems(404, 409)},
)
def post_events(
    body: ProposalsIn,
    write: Write,
    principal: Asking,
    context: Context,
    dry_run: Annotated[bool, Query(description="Check the events without keeping them: answers 200")] = False,
) -> Response:
    """Propose events, all or none. Refuse events that contradict live ones, unless `despite` names these."""
    proposals = [one.proposal() for one in body.events]
    try:
        if dry_run:
            with context.database.snapshot() as tx:
                capacity = granted_capacity(tx)
                check_proposals(tx, proposals, author=principal.name, capacity=capacity, despite=body.despite)
            return JSONResponse(ProposedOut(capacity_event_ids=[]).model_dump())

        def effect(tx: Transaction) -> Answer:
            ids = propose_events(
                tx,
                proposals,
                actor=principal.name,
                now=context.clock.now(),
                capacity=granted_capacity(tx),
                despite=body.despite,
                despite_reason=body.despite_reason,
            )
            return Answer(201, ProposedOut(capacity_event_ids=ids.tolist()))

        return write.once(effect)
    except ConflictingEvents as error:
        raise conflict_problem(error) from error


@router.get("", operation_id="list_capacity_events")
def get_events(
    context: Context,
    paging: Paging,
    status: Annotated[list[EventStatus] | None, Query(description="Only these; repeatable")] = None,
    service: SomeName | None = None,
    region: Annotated[SomeName | None, Query(description="Also either end of a shift")] = None,
    hardware_type: SomeName | None = None,
    product: SomeName | None = None,
    writer: Writer | None = None,
    placement_plan_id: Annotated[int | None, Query(ge=1, le=ID_MAX)] = None,
    due_after: Annotated[Moment | None, Query(description="Only events that are due at this time or later")] = None,
    due_before: Annotated[Moment | None, Query(description="Only events that are due before this time")] = None,
) -> PageOf[CapacityEventOut]:
    """List events in the order of their proposal. Executing systems ask for `status=active`."""
    wanted = EventFilter(
        statuses=tuple(status or ()),
        service=service,
        region=region,
        hardware_type=hardware_type,
        product=product,
        writer=writer,
        placement_plan_id=placement_plan_id,
        due_after=due_after,
        due_before=due_before,
    )
    with context.database.snapshot() as tx:
        page = load_events(tx, wanted, after=paging.after(_NOUN), limit=paging.limit)
    return PageOf(items=[event_out(one) for one in page.items], next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get(
    "/{capacity_event_id}",
    operation_id="get_capacity_event",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_event(capacity_event_id: _Id, context: Context, response: Response) -> CapacityEventWithHistory:
    """Return one event with its history."""
    with context.database.snapshot() as tx:
        found, history = load_event(tx, capacity_event_id), load_history(tx, capacity_event_id)
    response.headers.update(etag(found.generation))
    return with_history(found, history)


@router.post(
    "/{capacity_event_id}/decide",
    operation_id="decide_capacity_event",
    response_model=CapacityEventOut,
    dependencies=_OPERATOR,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_decision(body: EventDecisionIn, change_event: _ChangeEvent) -> Response:
    """Approve, activate, cancel or supersede an event. It becomes active only when its antecedents have succeeded, and
    no freeze holds it. Commands of a plan's execution change the events of its actions, until it has ended.
    """
    return change_event(EventStatus(body.status.value), body.reason, None, body.despite_freezes)


@router.post(
    "/{capacity_event_id}/report",
    operation_id="report_capacity_event",
    response_model=CapacityEventOut,
    dependencies=_EXECUTOR,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_report(body: EventReportIn, change_event: _ChangeEvent) -> Response:
    """Report progress, success or failure of an active event, with the amount that has happened."""
    return change_event(EventStatus(body.status.value), body.reason, body.achieved)
