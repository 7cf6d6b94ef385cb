"""Ask the rules of maintenance before a planned event begins, in the order of asking. See docs/designs/0023."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime

from libs.domain.approval import Approval, ApprovalKind, Cause
from libs.domain.maintenance import LASTING_REASONS, MaintenanceAnswer, MaintenanceVerdict
from libs.domain.unavailability import EventState, Unavailability, UnavailabilityEvent
from libs.ras.maintenance import in_queue, may_begin, waits_behind
from libs.store.capacity.approval_limits import load_approval_limits
from libs.store.capacity.approvals import create_approval
from libs.store.capacity.maintenance import load_ground
from libs.store.fleet.regions import load_region
from libs.store.fleet.unavailability_events import (
    find_scope,
    list_asking,
    load_event,
    lock_events,
    open_event,
    refresh_unavailability,
    settle_event,
)
from libs.store.platform.database import Transaction
from services.broker.ask_for_newcomers import ACTOR, ask_for_newcomers


class MaintenanceRefused(Exception):
    """A request was refused. Nothing of it may be committed."""

    def __init__(self, answer: MaintenanceAnswer) -> None:
        super().__init__(answer.message)
        self.answer = answer


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceRequest:
    """A request for planned maintenance.

    scope            server, rack, msb, datacenter or a further kind of domain
    ends_at          expected end; None: until a caller ends the event
    override_reason  why an operator lets the event begin against the rules; None: the rules decide
    """

    region: str
    scope: str
    scope_name: str
    reason: str
    starts_at: datetime
    ends_at: datetime | None
    override_reason: str | None = None


def ask_queue(tx: Transaction, region_id: int, *, now: datetime) -> int:
    """Begin and end events that are due. Ask the rules about the servers that entered maintenance under way, and then
    about the events that wait, in the order of their requests.

    The first event that must wait blocks the events behind it. Return the number of servers that became available or
    unavailable. Idempotent: a repetition writes nothing.
    """
    changed = refresh_unavailability(tx, region_id, now=now)  # takes the lock of the region's events
    changed += ask_for_newcomers(tx, region_id, now=now)
    waiting: list[UnavailabilityEvent] = []
    for event in list_asking(tx, region_id, now=now):
        answer = _answer(tx, region_id, event, waiting, now)
        state = _STATE_AFTER[answer.verdict]
        settle_event(tx, event, state, answer, actor=ACTOR, now=now)
        if state is EventState.QUEUED:
            waiting.append(replace(event, answer=answer))
        elif state is EventState.ALLOWED:
            changed += refresh_unavailability(tx, region_id, now=now)
    return changed


def foresee(tx: Transaction, request: MaintenanceRequest, *, now: datetime) -> MaintenanceAnswer:
    """Return the answer that a request would get now, whenever the event begins. Write nothing. Raises NotFound."""
    region_id = load_region(tx, request.region).region_id
    scope_id = find_scope(tx, region_id, request.scope, request.scope_name)
    waiting = list_asking(tx, region_id, now=now)
    ground = load_ground(tx, region_id, request.scope, scope_id, now=now)
    return in_queue(may_begin(ground, behind=_last(waiting)), waiting)


def request_maintenance(
    tx: Transaction, request: MaintenanceRequest, *, actor: str, now: datetime
) -> tuple[UnavailabilityEvent, Approval | None]:
    """Record planned maintenance, and ask the rules. An override may wait for an approval.

    Raises NotFound. Raises MaintenanceRefused if the rules refuse it, or will refuse it whenever it is due.
    """
    region_id = load_region(tx, request.region).region_id
    lock_events(tx, region_id)
    refresh_unavailability(tx, region_id, now=now)
    answer = foresee(tx, request, now=now)
    is_later = request.starts_at > now
    if request.override_reason is not None and (is_later or answer.verdict is not MaintenanceVerdict.NOW):
        return _override(tx, region_id, request, answer, actor=actor, now=now)
    if answer.verdict is MaintenanceVerdict.REFUSED and (not is_later or answer.reason in LASTING_REASONS):
        raise MaintenanceRefused(answer)
    event = _open(tx, request, EventState.ANNOUNCED if is_later else EventState.QUEUED, None, actor, now)
    ask_queue(tx, region_id, now=now)
    event = load_event(tx, event.unavailability_event_id)
    if event.state is EventState.REFUSED and event.answer is not None:
        raise MaintenanceRefused(event.answer)  # the queue moved on since it was foreseen
    return event, None


_STATE_AFTER = {
    MaintenanceVerdict.NOW: EventState.ALLOWED,
    MaintenanceVerdict.QUEUED: EventState.QUEUED,
    MaintenanceVerdict.REFUSED: EventState.REFUSED,
}


def _answer(
    tx: Transaction, region_id: int, event: UnavailabilityEvent, waiting: list[UnavailabilityEvent], now: datetime
) -> MaintenanceAnswer:
    behind = _last(waiting)
    if behind is not None and event.answer is not None:
        return in_queue(waits_behind(behind), waiting)  # without a reading of the fleet for each
    scope_id = find_scope(tx, region_id, event.scope, event.scope_name)
    ground = load_ground(tx, region_id, event.scope, scope_id, now=now)
    return in_queue(may_begin(ground, behind=behind), waiting)


def _last(waiting: list[UnavailabilityEvent]) -> int | None:
    return waiting[-1].unavailability_event_id if waiting else None


def _override(
    tx: Transaction,
    region_id: int,
    request: MaintenanceRequest,
    answer: MaintenanceAnswer,
    *,
    actor: str,
    now: datetime,
) -> tuple[UnavailabilityEvent, Approval | None]:
    """Record maintenance that begins against the rules. If the region's limits demand four eyes, it waits for an
    approval.
    """
    if not load_approval_limits(tx, region_id).four_eyes:
        return _open(tx, request, EventState.ALLOWED, answer, actor, now), None
    event = _open(tx, request, EventState.AWAITING_APPROVAL, answer, actor, now)
    numbers = {f"short_rru.{name}": rru for name, rru in answer.short_rru.items()}
    approval = create_approval(
        tx,
        region_id,
        kind=ApprovalKind.MAINTENANCE_OVERRIDE,
        causes=[Cause(reason=answer.reason.value, message=answer.message, numbers=numbers)],
        change={
            "unavailability_event_id": event.unavailability_event_id,
            "scope": event.scope,
            "scope_name": event.scope_name,
        },
        before=None,
        asked_by=[actor],
        given_reason=request.override_reason,
        now=now,
    )
    return event, approval


def _open(
    tx: Transaction,
    request: MaintenanceRequest,
    state: EventState,
    answer: MaintenanceAnswer | None,
    actor: str,
    now: datetime,
) -> UnavailabilityEvent:
    values = asdict(request)
    region = values.pop("region")
    kind = Unavailability.PLANNED
    return open_event(tx, region, **values, kind=kind, state=state, answer=answer, actor=actor, now=now)
