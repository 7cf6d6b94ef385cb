"""The capacity events of an execution's actions. They change in the transaction that changes the actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from libs.domain.action_event import closing_event, effect_of, wanted_event, way_to
from libs.domain.capacity_event import LIVE, CapacityEvent, EventChange, EventStatus, Proposal, Writer
from libs.domain.execution_plan import Action, Phase
from libs.domain.execution_progress import ActionProgress, ExecutionGraph, Progress
from libs.domain.plan_execution import FINAL, SETTLED, ExecutionState
from libs.store.ledger.changes import change_events
from libs.store.ledger.proposals import ConflictingEvents, check_proposals, propose_events
from libs.store.platform.database import Transaction
from libs.store.tables import capacity_event_antecedents, capacity_events, execution_actions, plan_executions

_A, _E, _P = execution_actions.c, capacity_events.c, plan_executions.c
_NEEDS = {Phase.SHIFT: {Phase.UPSIZE}, Phase.DOWNSIZE: {Phase.UPSIZE, Phase.SHIFT}}
"""Phase -> the phases of the actions without which it must not happen. Other dependencies are about room only."""


def propose_action_events(
    tx: Transaction,
    placement_plan_id: int,
    actions: Sequence[Action],
    *,
    reason: str,
    actor: str,
    now: datetime,
    despite_all: bool = False,
) -> Mapping[int, int]:
    """Propose an event for each action that has an effect. Return position -> id of the event.

    despite_all   True: contradict the live events of others, and name them in the audit trail with the reason

    Raises ConflictingEvents.
    """
    proposals: list[Proposal] = []
    positions: list[int] = []
    proposed: dict[str, tuple[Phase, int]] = {}  # action -> its phase and the position of its proposal
    for position, a in enumerate(actions):
        effect = effect_of(a)
        if effect is None:
            continue
        before = [proposed[name] for name in a.waits_for if name in proposed]
        proposals.append(
            Proposal(
                effect=effect,
                writer=Writer.FLUX,
                reason=reason,
                starts_at=now + timedelta(hours=a.start_h),
                lead_time_h=a.lead_time_h,
                follows=tuple([at for phase, at in before if phase in _NEEDS.get(a.phase, ())]),
                placement_plan_id=placement_plan_id,
                action=a.action,
            )
        )
        proposed[a.action] = a.phase, len(positions)
        positions.append(position)
    if not proposals:
        return {}
    despite = _opponents(tx, proposals, actor) if despite_all else []
    ids = propose_events(
        tx, proposals, actor=actor, now=now, despite=despite, despite_reason=reason if despite else None
    )
    return {position: int(event_id) for position, event_id in zip(positions, ids, strict=True)}


def _opponents(tx: Transaction, proposals: Sequence[Proposal], author: str) -> list[int]:
    """Return the ids of the live events that the proposals contradict."""
    try:
        check_proposals(tx, proposals, author=author)
    except ConflictingEvents as error:
        return sorted({event.capacity_event_id for one in error.conflicts for event in one.with_})
    return []


def load_refused_starts(tx: Transaction, plan_execution_id: int, positions: Sequence[int]) -> dict[int, str]:
    """Return position -> why its event cannot become active: it is over, or an antecedent has not succeeded.

    An action starts when all that it waits for is done. So such an antecedent was ended in the ledger, and never
    succeeds. The events of actions that have begun are left out.
    """
    if not positions:
        return {}
    before, link = capacity_events.alias("before"), capacity_event_antecedents.c
    over = _E.status.not_in(LIVE)
    waits = sa.and_(_E.status != EventStatus.ACTIVE, before.c.status != EventStatus.SUCCEEDED)
    query = (
        sa.select(_A.position, _E.capacity_event_id, _E.status, link.antecedent_id, before.c.status.label("is_"))
        .join_from(execution_actions, capacity_events, _A.capacity_event_id == _E.capacity_event_id)
        .outerjoin(capacity_event_antecedents, link.capacity_event_id == _E.capacity_event_id)
        .outerjoin(before, before.c.capacity_event_id == link.antecedent_id)
        .where(_A.plan_execution_id == plan_execution_id)
        .where(_A.position == sa.func.any(sa.cast(list(positions), ARRAY(sa.Integer))))
        .where(sa.or_(over, waits))
        .order_by(_A.position, link.antecedent_id.desc())
    )
    return {
        row.position: f"capacity event {row.capacity_event_id} is {row.status}"
        if row.status not in LIVE
        else f"capacity event {row.capacity_event_id} needs event {row.antecedent_id}, which is {row.is_}"
        for row in tx.execute(query)
    }


def find_execution_of(tx: Transaction, event: CapacityEvent) -> tuple[int, str] | None:
    """Return the execution that has not ended and whose action the event belongs to, and the action; None if there is
    none.
    """
    if event.action is None:
        return None
    query = (
        sa.select(_A.plan_execution_id, _A.action)
        .join_from(plan_executions, execution_actions, _A.plan_execution_id == _P.plan_execution_id)
        .where(_P.placement_plan_id == event.placement_plan_id, _P.state.not_in([state.value for state in FINAL]))
        .where(_A.action == event.action, _A.capacity_event_id == event.capacity_event_id)
    )
    row = tx.execute(query).one_or_none()
    return None if row is None else (row.plan_execution_id, row.action)


def follow_actions(
    tx: Transaction,
    plan_execution_id: int,
    graph: ExecutionGraph,
    changes: Sequence[ActionProgress],
    *,
    actor: str,
    now: datetime,
) -> None:
    """Bring the events of changed actions to where the actions are."""
    found = _load_events(tx, plan_execution_id, [one.position for one in changes])
    ways: list[list[EventChange]] = []
    for one in changes:
        if one.position not in found:
            continue
        event_id, generation, status, now_achieved = found[one.position]
        wanted, achieved = wanted_event(graph.actions[one.position], one)
        way = way_to(status, wanted)
        if not way and status is wanted is EventStatus.ACTIVE and achieved != now_achieved:
            way = (EventStatus.ACTIVE,)
        ways.append(_changes(event_id, generation, status, way, achieved, one.note))
    _write(tx, ways, actor=actor, now=now)


def close_events(
    tx: Transaction,
    plan_execution_id: int,
    progress: Progress,
    state: ExecutionState,
    *,
    actor: str,
    now: datetime,
) -> None:
    """End the events of an execution that ends. An event keeps the part of its effect that has happened."""
    found = _load_events(tx, plan_execution_id, None)
    ways = []
    for position, (event_id, generation, status, achieved) in found.items():
        row = progress.row(position)
        closing = closing_event(row, state, status)
        if closing is not None and row.state not in SETTLED:
            ways.append(_changes(event_id, generation, status, (closing,), achieved, f"the execution is {state}"))
    _write(tx, ways, actor=actor, now=now)


def _changes(
    event_id: int,
    generation: int,
    status: EventStatus,
    way: Sequence[EventStatus],
    achieved: float,
    reason: str | None,
) -> list[EventChange]:
    found = []
    for step in way:
        told = achieved if status is EventStatus.ACTIVE else None
        one = EventChange(capacity_event_id=event_id, generation=generation, status=step, reason=reason, achieved=told)
        found.append(one)
        status, generation = step, generation + 1
    return found


def _write(tx: Transaction, ways: Sequence[Sequence[EventChange]], *, actor: str, now: datetime) -> None:
    """Write the steps of all ways, round by round: a round changes an event at most once. Successes come before
    activations, because an event needs its antecedents.
    """
    longest = max((len(way) for way in ways), default=0)
    for back in range(longest, 0, -1):
        change_events(tx, [way[-back] for way in ways if len(way) >= back], actor=actor, now=now)


def _load_events(
    tx: Transaction, plan_execution_id: int, positions: Sequence[int] | None
) -> dict[int, tuple[int, int, EventStatus, float]]:
    query = (
        sa.select(_A.position, _E.capacity_event_id, _E.generation, _E.status, _E.achieved)
        .join_from(execution_actions, capacity_events, _A.capacity_event_id == _E.capacity_event_id)
        .where(_A.plan_execution_id == plan_execution_id)
    )
    if positions is not None:
        query = query.where(_A.position == sa.func.any(sa.cast(list(positions), ARRAY(sa.Integer))))
    return {
        row.position: (row.capacity_event_id, row.generation, EventStatus(row.status), float(row.achieved))
        for row in tx.execute(query)
    }
