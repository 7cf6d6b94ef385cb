"""Dead letters: moves that failed for good, and their resolution by operators."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.domain.move import DeadLetter, Move, MoveStatus
from libs.store.fleet.unavailability_events import MOVE_FAILED, end_event, lock_events
from libs.store.moves.move_history import load_move
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound, NotPossible
from libs.store.tables import moves, servers, unavailability_events

_events = unavailability_events


def retry_dead_letter(tx: Transaction, move_id: int, *, reason: str, actor: str, now: datetime) -> Move:
    """Resolve a dead letter: let the mover plan a new move from the server's present state. End the event that reported
    the server.

    Raises NotFound, and NotPossible for a move that is not an open dead letter.
    """
    move = _resolve(tx, move_id, DeadLetter.RETRIED, reason=reason, actor=actor, now=now)
    tx.execute(sa.update(moves).where(moves.c.move_id == move_id).values(dead_letter=DeadLetter.RETRIED.value))
    return load_move(tx, move.move_id)


def reopen_to_skip(tx: Transaction, move_id: int, *, reason: str, actor: str, now: datetime) -> Move:
    """Reopen a failed move at a new attempt of its failed step. The caller must record this step as skipped in the same
    transaction.

    End the event that reported the server. Raises the same errors as retry_dead_letter.
    """
    move = _resolve(tx, move_id, DeadLetter.SKIPPED, reason=reason, actor=actor, now=now)
    values = {
        "status": MoveStatus.RUNNING.value,
        "reason": None,
        "finished_at": None,
        "attempt": move.attempt + 1,
        "step_started_at": now,
        "dead_letter": DeadLetter.SKIPPED.value,
    }
    tx.execute(sa.update(moves).where(moves.c.move_id == move_id).values(**values))
    return load_move(tx, move_id)


def _resolve(
    tx: Transaction,
    move_id: int,
    how: DeadLetter,
    *,
    reason: str,
    actor: str,
    now: datetime,
) -> Move:
    """Lock and check the dead letter of a move. End the events that reported the move's server, and write the audit
    entry.

    Locks follow the global order: events, servers, moves.
    """
    found = tx.execute(sa.select(moves.c.region_id, moves.c.server_id).where(moves.c.move_id == move_id)).one_or_none()
    if found is None:
        raise NotFound("move", move_id)
    lock_events(tx, found.region_id)
    reported = sa.select(_events.c.unavailability_event_id).where(
        _events.c.server_id == found.server_id,
        _events.c.ended_at.is_(None),
        _events.c.reason.startswith(MOVE_FAILED, autoescape=True),
    )
    event_ids = tx.execute(reported).scalars().all()
    tx.execute(sa.select(servers.c.server_id).where(servers.c.server_id == found.server_id).with_for_update())
    tx.execute(sa.select(moves.c.move_id).where(moves.c.move_id == move_id).with_for_update())
    move = load_move(tx, move_id)
    if move.dead_letter is not DeadLetter.OPEN:
        state = move.status if move.dead_letter is None else move.dead_letter
        raise NotPossible("move_id", f"move {move_id} is not an open dead letter: it is {state}")
    for event_id in event_ids:
        end_event(tx, event_id, generation=None, actor=actor, now=now)
    audit.append(
        tx,
        actor=actor,
        action={DeadLetter.RETRIED: "retry_move", DeadLetter.SKIPPED: "skip_step"}[how],
        subject_kind="move",
        subject_id=move_id,
        now=now,
        before={"step": move.step.value, "attempt": move.attempt, "reason": move.reason},
        reason=reason,
    )
    return move
