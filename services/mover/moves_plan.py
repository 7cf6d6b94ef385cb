"""Decide which moves start, which steps to ask for, and what an outcome changes. Pure.

This lies in the mover because no other service decides it. It imports only the domain, the answers of actuators and the
back-off.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from libs.actuators.actuator import StepOutcome, StepState
from libs.domain.move import (
    MoveChange,
    MovePostponed,
    MovesSnapshot,
    MoveStart,
    MoveStatus,
    MoveStep,
    RunningMove,
    StepResult,
    WaitingServers,
)
from libs.domain.mover import MoverBounds
from libs.reconcile.calls import BREAKER, CALLS, Backoff, Breaker


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePolicy:
    """Bounds on running moves in a region, and the patience of the mover.

    moves_max        moves at a time
    msb_share_max    share of an MSB's servers that may leave reservations at a time, and at least one server:
                     moves must not look like the loss of an MSB
    attempts_max     attempts at one step; after the last one the move has failed for good
    backoff          pause between attempts at a step
    step_s_max       seconds; a longer attempt counts as failed, so every move ends
    call_backoff     pause before the next call about a step, after a call without an answer
    breaker          when to stop calling a silent actuator
    msb_moves_max, msb_starts_per_minute   per MSB; None: no bound
    """

    moves_max: int
    msb_share_max: float
    attempts_max: int
    backoff: Backoff
    step_s_max: float
    call_backoff: Backoff = CALLS
    breaker: Breaker = BREAKER
    msb_moves_max: int | None = None
    msb_starts_per_minute: int | None = None

    def bounded_by(self, bounds: MoverBounds) -> MovePolicy:
        """Return the policy with the bounds that the region's operators have set."""
        return replace(self, **{name: value for name, value in asdict(bounds).items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class MovesPlan:
    """The decisions of one tick.

    start     moves to start
    cancel    moves that no reservation wants any more and that have no running step
    ask       moves whose step to ask the actuator for
    """

    start: tuple[MoveStart, ...]
    cancel: tuple[MoveChange, ...]
    ask: tuple[RunningMove, ...]


def plan_moves(snapshot: MovesSnapshot, policy: MovePolicy, now: datetime) -> MovesPlan:
    """Decide what to start, to cancel and to ask for. The same snapshot gives the same plan.

    A paused mover starts no move and begins no step. An open circuit breaker asks for nothing. When a probe is due, the
    breaker lets one step be asked for and one move start. So the probe is not always about the same server.
    """
    mover, policy = snapshot.mover, policy.bounded_by(snapshot.mover.bounds)
    begun_by = now if mover.paused_at is None else min(now, mover.paused_at)
    cancel = tuple(
        _end(move, None, None, MoveStatus.CANCELLED, reason)
        for move in snapshot.running
        if move.step_started_at > begun_by and (reason := _unwanted(move)) is not None
    )
    due = [move for move in snapshot.running if move.step_started_at <= begun_by and move.due_at <= now]
    due.sort(key=lambda move: (not move.from_buffer, move.due_at, move.move_id))
    starts = [] if mover.paused_at is not None else _starts(snapshot, policy)
    if mover.probe_at is not None:
        probes = int(mover.probe_at <= now)
        due, starts = sorted(due, key=lambda move: (move.due_at, move.move_id))[:probes], starts[:probes]
    return MovesPlan(start=tuple(starts), cancel=cancel, ask=tuple(due))


def judge_outcome(
    move: RunningMove,
    result: StepResult | None,
    message: str | None,
    policy: MovePolicy,
    now: datetime,
    *,
    patient_since: datetime | None = None,
    is_known: bool = True,
) -> MoveChange | None:
    """Return the change of a move after an outcome of its step; None for no change yet.

    result          None: the step is running
    patient_since   the step's time limit ignores the time before this
    is_known        False, with no result: the actuator could not tell, so the server has not failed
    """
    if result is None:
        since = move.step_started_at if patient_since is None else max(move.step_started_at, patient_since)
        if now - since <= timedelta(seconds=policy.step_s_max):
            return None
        waited = f"no answer in {policy.step_s_max:g} s"
        result, message = StepResult.FAILED, waited if message is None else f"{waited}: {message}"
    unwanted = _unwanted(move)
    if result is not StepResult.FAILED:
        if move.step_index + 1 == len(move.steps):
            return _end(move, result, message, MoveStatus.DONE, None)
        if unwanted is not None:
            return _end(move, result, message, MoveStatus.CANCELLED, unwanted, step_index=move.step_index + 1)
        return _go_on(move, result, message, step_index=move.step_index + 1, attempt=1, at=now)
    if unwanted is not None:
        return _end(move, result, message, MoveStatus.CANCELLED, unwanted)
    if move.attempt >= policy.attempts_max:
        reason = f"move_failed: {move.step}" if is_known else f"no_answer: {move.step}"
        return _end(move, result, message, MoveStatus.FAILED, reason)
    again_at = now + timedelta(seconds=policy.backoff.wait_s(move.attempt))
    return _go_on(move, result, message, step_index=move.step_index, attempt=move.attempt + 1, at=again_at)


def postpone(move: RunningMove, outcome: StepOutcome, policy: MovePolicy, now: datetime) -> MovePostponed | None:
    """Return when to ask again for a step without a result; None: on the next tick."""
    if outcome.state is not StepState.UNKNOWN:
        if outcome.ask_again_s is None:
            return None
        ask_at = now + timedelta(seconds=outcome.ask_again_s)
        return MovePostponed(move=move, ask_at=ask_at, calls_failed=0, note=outcome.message)
    wait_s = policy.call_backoff.wait_s(move.calls_failed + 1)
    ask_at = now + timedelta(seconds=max(wait_s, outcome.ask_again_s or 0.0))
    return MovePostponed(move=move, ask_at=ask_at, calls_failed=move.calls_failed + 1, note=outcome.message)


def steps_of(
    *, from_reservation: bool, to_reservation: bool, other_profile: bool, uncleaned: bool
) -> tuple[MoveStep, ...]:
    """Return the steps of a move. Clean first a server that left a reservation without being cleaned."""
    steps = (
        (MoveStep.PREEMPT, from_reservation),
        (MoveStep.CLEAN, from_reservation or uncleaned),
        (MoveStep.HOST_PROFILE, to_reservation and other_profile),
        (MoveStep.JOIN, to_reservation),
    )
    return tuple(step for step, needed in steps if needed)


def _starts(snapshot: MovesSnapshot, policy: MovePolicy) -> list[MoveStart]:
    """Return the moves to start: all replacements first, then unused servers, then used ones.

    Among unused servers, those that bring capacity come first, then the lower id. Bounds per region and MSB apply to
    all but replacements, because the size of the shared buffers bounds those.
    """
    free = policy.moves_max - len(snapshot.running)
    waiting = snapshot.waiting
    leaving = Counter(move.msb_id for move in snapshot.running if move.takes_capacity)
    running = Counter(move.msb_id for move in snapshot.running)
    to_leave, to_start = {}, {}
    for msb_id, servers in snapshot.msb_servers.items():
        to_leave[msb_id] = max(1, int(servers * policy.msb_share_max)) - leaving[msb_id]
        at_a_time = math.inf if policy.msb_moves_max is None else policy.msb_moves_max - running[msb_id]
        rate = policy.msb_starts_per_minute
        to_start[msb_id] = min(at_a_time, math.inf if rate is None else rate - snapshot.msb_started.get(msb_id, 0))
    starts: list[MoveStart] = []
    for row in np.lexsort((waiting.id, waiting.target_id == 0, waiting.in_use, ~waiting.urgent)).tolist():
        msb_id = int(waiting.msb_id[row])
        if not waiting.urgent[row]:
            if free <= 0:
                break
            takes = waiting.current_id[row] != 0
            if to_start[msb_id] <= 0 or (takes and to_leave[msb_id] <= 0):
                continue
            to_leave[msb_id] -= takes
        to_start[msb_id] -= 1
        free -= 1
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
    """Return why a move should not continue; None if it should."""
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
