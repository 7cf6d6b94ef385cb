"""Which moves start, which steps are asked for, and what an outcome means. Pure.

It lies in the mover because no other service decides this. It imports the domain, the answers of actuators and the
back-off only.
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
    """Bounds on what is under way in a region, and how patient the mover is.

    moves_max        moves at a time
    msb_share_max    share of an MSB's servers that may be on their way out of a reservation at a time, one at least:
                     moves must not look like the loss of an MSB
    attempts_max     at one step; then the move has failed for good
    backoff          between attempts at a step
    step_s_max       an attempt that takes longer has failed, so every move ends
    call_backoff     before a step is asked for again after a call without an answer
    breaker          when to stop asking an actuator that answers nothing
    msb_moves_max, msb_starts_per_minute   of an MSB; None: no bound
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
        """The policy with what a region's operators have set."""
        return replace(self, **{name: value for name, value in asdict(bounds).items() if value is not None})


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
    """Decide what to start, to cancel and to ask for. The same snapshot gives the same plan.

    Paused, no move starts and no step begins. With the circuit breaker open, nothing is asked for; once it is time to
    probe, one step is, and one move may start, so that the probe is not always about the same server.
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
    """What becomes of a move whose step stands so; None: nothing yet.

    result          None: the step is under way
    patient_since   time before it does not count against the step
    is_known        False, with no result: the actuator could not say, so a failure is not the server's
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
    """When to ask again for a step that is neither done nor failed; None: on the next tick, as it comes."""
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
    """The steps of a move. A server that left a reservation without being cleaned is cleaned first."""
    steps = (
        (MoveStep.PREEMPT, from_reservation),
        (MoveStep.CLEAN, from_reservation or uncleaned),
        (MoveStep.HOST_PROFILE, to_reservation and other_profile),
        (MoveStep.JOIN, to_reservation),
    )
    return tuple(step for step, needed in steps if needed)


def _starts(snapshot: MovesSnapshot, policy: MovePolicy) -> list[MoveStart]:
    """Replacements, all of them; then unused servers, among them those that bring capacity first; then by id.

    Bounded by region and by MSB, but for replacements: the size of the shared buffers bounds those.
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
