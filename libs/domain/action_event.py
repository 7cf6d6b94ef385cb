"""How far an action is, as its capacity event shows it."""

from __future__ import annotations

from libs.domain.capacity_event import LIVE, CapacityDelta, Effect, EventStatus, TrafficShift
from libs.domain.execution_plan import Action, Phase
from libs.domain.execution_progress import ActionProgress
from libs.domain.plan_execution import ActionState, ExecutionState

_ORDER = (EventStatus.PROPOSED, EventStatus.APPROVED, EventStatus.ACTIVE, EventStatus.SUCCEEDED)


def effect_of(action: Action) -> Effect | None:
    """Return the effect of an action; None for one without work."""
    if action.service is not None:
        change = action.after - action.before
        place = {"service": action.service, "region": str(action.region), "hardware_type": str(action.hardware_type)}
        return CapacityDelta(**place, delta=change) if change else None
    if action.phase is not Phase.SHIFT:
        return None
    return TrafficShift(
        product=str(action.product),
        from_region=str(action.region),
        to_region=str(action.to_region),
        share=min(action.after, 1.0),
    )


def wanted_event(action: Action, row: ActionProgress) -> tuple[EventStatus, float]:
    """Return the status that the action's event must have, and the amount of its effect that has happened.

    A failed action may be tried again, so its event stays active until the execution ends.
    """
    whole = min(action.after, 1.0) if action.phase is Phase.SHIFT else row.size - action.before
    achieved = row.reached * whole
    match row.state:
        case ActionState.AWAITING_APPROVAL:
            return EventStatus.PROPOSED, 0.0
        case ActionState.DONE:
            return EventStatus.SUCCEEDED, achieved
        case ActionState.SKIPPED:
            return EventStatus.CANCELLED, achieved
    return (EventStatus.ACTIVE, achieved) if row.attempt > 0 else (EventStatus.APPROVED, 0.0)


def closing_event(row: ActionProgress, execution: ExecutionState, status: EventStatus) -> EventStatus | None:
    """Return the status of an event whose execution ends; None if it has ended already."""
    if status not in LIVE:
        return None
    if row.state is ActionState.FAILED and status is EventStatus.ACTIVE:
        return EventStatus.FAILED
    return EventStatus.SUPERSEDED if execution is ExecutionState.SUPERSEDED else EventStatus.CANCELLED


def way_to(now: EventStatus, wanted: EventStatus) -> tuple[EventStatus, ...]:
    """Return the statuses between `now` and `wanted`, `wanted` included; () if it cannot get there or is there."""
    if now not in LIVE or now is wanted:
        return ()
    if wanted not in _ORDER:
        return (wanted,)
    return _ORDER[_ORDER.index(now) + 1 : _ORDER.index(wanted) + 1]
