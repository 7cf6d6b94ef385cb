"""Which moves start, which steps are asked for, and what an outcome means. Pure.

It lies in the mover and not in libs because nobody else decides this; it imports nothing but the domain.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from libs.domain.move import (
    MoveChange,
    MovesSnapshot,
    MoveStart,
    MoveStatus,
    MoveStep,
    RunningMove,
    StepResult,
    WaitingServers,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePolicy:
    """Bounds on what is under way in a region, and how patient the mover is.

    moves_max        moves at a time
    msb_share_max    share of an MSB's servers that may be on their way out of a reservation at a time, one at least:
                     moves must not look like the loss of an MSB
    attempts_max     at one step; then the move has failed for good
    backoff_s        before the second attempt; doubles with each further one
    step_s_max       an attempt that takes longer has failed, so every move ends
    """

    moves_max: int
    msb_share_max: float
    attempts_max: int
    backoff_s: float
    step_s_max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MovesPlan:
    """What one tick does.

    start     moves to start
    cancel    moves that are no longer wanted and have no step under way
    ask       moves whose step the actuator is to be asked for
    """

    start: tuple[MoveStart, ...]
    cancel: tuple[MoveChange, ...]
    ask: tuple[RunningMove, ...]


def plan_moves(snapshot: MovesSnapshot, policy: MovePolicy, now: datetime) -> MovesPlan:
    """Decide what to start, to cancel and to ask for. The same snapshot gives the same plan."""
    pausing = [move for move in snapshot.running if move.step_started_at > now]
    cancel = tuple(
        _end(move, None, None, MoveStatus.CANCELLED, reason)
        for move in pausing
        if (reason := _unwanted(move)) is not None
    )
    ask = tuple(move for move in snapshot.running if move.step_started_at <= now)
    return MovesPlan(start=tuple(_starts(snapshot, policy)), cancel=cancel, ask=ask)


def judge_outcome(
    move: RunningMove, result: StepResult | None, message: str | None, policy: MovePolicy, now: datetime
) -> MoveChange | None:
    """What becomes of a move whose step stands so; None: nothing yet. `result` None: the step is under way."""
    if result is None:
        if now - move.step_started_at <= timedelta(seconds=policy.step_s_max):
            return None
        result, message = StepResult.FAILED, f"no answer in {policy.step_s_max:g} s"
    unwanted = _unwanted(move)
    if result is StepResult.DONE:
        if move.step_index + 1 == len(move.steps):
            return _end(move, result, message, MoveStatus.DONE, None)
        if unwanted is not None:
            return _end(move, result, message, MoveStatus.CANCELLED, unwanted, step_index=move.step_index + 1)
        return _go_on(move, result, message, step_index=move.step_index + 1, attempt=1, at=now)
    if unwanted is not None:
        return _end(move, result, message, MoveStatus.CANCELLED, unwanted)
    if move.attempt >= policy.attempts_max:
        return _end(move, result, message, MoveStatus.FAILED, f"move_failed: {move.step}")
    again_at = now + timedelta(seconds=policy.backoff_s * 2.0 ** (move.attempt - 1))
    return _go_on(move, result, message, step_index=move.step_index, attempt=move.attempt + 1, at=again_at)


def steps_of(
    *, from_reservation: bool, to_reservation: bool, other_profile: bool, uncleaned: bool
) -> tuple[MoveStep, ...]:
    """The steps of a move. A server that left a reservation without being cleaned is cleaned first."""
    steps = (
        (MoveStep.PREEMPT, from_reservation),
        (MoveStep.CLEAN, from_reservation or uncleaned),
        (MoveStep.HOST_PROFILE, to_reservation and other_profile),
        (MoveStep.JOIN, to_reservation),
    )
    return tuple(step for step, needed in steps if needed)


def _starts(snapshot: MovesSnapshot, policy: MovePolicy) -> list[MoveStart]:
    """Unused servers first, among them those that bring capacity; then by id. Bounded by region and by MSB."""
    free = policy.moves_max - len(snapshot.running)
    waiting = snapshot.waiting
    if free <= 0 or len(waiting) == 0:
        return []
    leaving = Counter(move.msb_id for move in snapshot.running if move.takes_capacity)
    room = {
        msb_id: max(1, int(servers * policy.msb_share_max)) - leaving[msb_id]
        for msb_id, servers in snapshot.msb_servers.items()
    }
    starts: list[MoveStart] = []
    for row in np.lexsort((waiting.id, waiting.target_id == 0, waiting.in_use)).tolist():
        if len(starts) == free:
            break
        if waiting.current_id[row] != 0:
            msb_id = int(waiting.msb_id[row])
            if room[msb_id] <= 0:
                continue
            room[msb_id] -= 1
        starts.append(_start(waiting, row))
    return starts


def _start(waiting: WaitingServers, row: int) -> MoveStart:
    from_id, to_id = int(waiting.current_id[row]), int(waiting.target_id[row])
    return MoveStart(
        server_id=int(waiting.id[row]),
        server_generation=int(waiting.generation[row]),
        from_reservation_id=from_id or None,
        to_reservation_id=to_id or None,
        steps=steps_of(
            from_reservation=from_id != 0,
            to_reservation=to_id != 0,
            other_profile=bool(waiting.other_profile[row]),
            uncleaned=bool(waiting.uncleaned[row]),
        ),
    )


def _unwanted(move: RunningMove) -> str | None:
    """Why a move should not go on; None where it should."""
    if not move.wanted:
        return "target_changed"
    return None if move.available else "server_unavailable"


def _end(
    move: RunningMove,
    result: StepResult | None,
    message: str | None,
    status: MoveStatus,
    reason: str | None,
    *,
    step_index: int | None = None,
) -> MoveChange:
    return MoveChange(
        move=move,
        result=result,
        message=message,
        status=status,
        reason=reason,
        step_index=move.step_index if step_index is None else step_index,
        attempt=move.attempt if step_index is None else 1,
        step_started_at=move.step_started_at,
    )


def _go_on(
    move: RunningMove, result: StepResult, message: str | None, *, step_index: int, attempt: int, at: datetime
) -> MoveChange:
    return MoveChange(
        move=move,
        result=result,
        message=message,
        status=MoveStatus.RUNNING,
        reason=None,
        step_index=step_index,
        attempt=attempt,
        step_started_at=at,
    )
