"""Decide which moves start, which steps to ask for, and what an outcome changes. Pure.

The module belongs to the mover, because no other service makes these decisions. It imports only the domain, the answers
of actuators, the back-off, and the rules of waves (libs/ras/waves), which the solver uses too.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from libs.actuators.actuator import ASK_AGAIN_S_MAX, StepOutcome, StepState
from libs.domain.departure_exceptions import ExceptionState
from libs.domain.departure_wait import WaitsPlan
from libs.domain.move import (
    MoveChange,
    MovePostponed,
    MoveStart,
    MoveStatus,
    MoveStep,
    Rebinding,
    RunningMove,
    StepResult,
)
from libs.domain.moves_snapshot import MovesSnapshot, WaitingServers
from libs.domain.spare import Loan, Spare
from libs.ras.waves.departures import Departures
from libs.ras.waves.guard import Guard
from libs.ras.waves.steps import needed_steps
from services.mover.move_policy import MovePolicy
from services.mover.spares_plan import take_back
from services.mover.starts_plan import choose_starts
from services.mover.waits_plan import plan_waits


@dataclass(frozen=True, slots=True, kw_only=True)
class MovesPlan:
    """The decisions of one tick.

    start     moves to start
    rebind    servers that change their binding without a step
    cancel    moves without a running step that no reservation wants any more, or whose server may not leave. Moves
              that wait to leave would count against the bounds meanwhile
    ask       moves whose step to ask the actuator for
    waits     servers that may not leave yet, because their reservation would fall below what it must keep; None: the
              mover is paused, so nothing is known of them
    loans     servers to lend to reservations, and to take back
    below_hold   those of `ask`, by id, that rest on an approval to go below *hold*
    overstay     servers whose loan ended long ago, and that their reservation cannot spare
    """

    start: tuple[MoveStart, ...]
    cancel: tuple[MoveChange, ...]
    ask: tuple[RunningMove, ...]
    waits: WaitsPlan | None = None
    rebind: tuple[Rebinding, ...] = ()
    loans: tuple[Loan, ...] = ()
    below_hold: frozenset[int] = frozenset()
    overstay: tuple[Spare, ...] = ()


def plan_moves(snapshot: MovesSnapshot, policy: MovePolicy, now: datetime) -> MovesPlan:
    """Decide what to start, to cancel and to ask for. The same snapshot gives the same plan.

    A paused mover starts no move and begins no step. An open circuit breaker asks for nothing. When a probe is due, the
    mover may ask for one step and start one move. So a probe does not always concern the same server. No server leaves
    a reservation that would fall below its promise (docs/designs/0020).
    """
    mover, policy = snapshot.mover, policy.bounded_by(snapshot.mover.bounds)
    cancel = tuple(
        _end(move, None, None, MoveStatus.CANCELLED, reason)
        for move in snapshot.running
        if not move.asked and (reason := _unwanted(move)) is not None
    )
    going = [move for move in snapshot.running if move.asked or _unwanted(move) is None]
    due = [move for move in going if move.asked and _is_due(move, policy, now)]
    starts: tuple[MoveStart, ...] = ()
    rebind: list[Rebinding] = []
    waits = None
    stored = snapshot.exceptions
    approved = stored if stored is not None and stored.state(now) is ExceptionState.APPROVED else None
    guard = Guard(snapshot.holdings, snapshot.resources)
    departures = Departures(guard, going)
    departures.arrive(spare.reservation_id for spare in snapshot.spares if spare.is_coming)
    sees_all = len(snapshot.running) < policy.moves_max
    loans = take_back(snapshot, now, sees_all=sees_all)
    if mover.paused_at is None:
        fresh = [move for move in going if not move.asked and _is_due(move, policy, now)]
        due += [
            move
            for move in fresh
            if not _takes(move)
            or departures.allow_running(move, hurried=move.server_id in snapshot.hurried, yields=snapshot.yields(move))
        ]
        waiting = snapshot.waiting
        rebind = [
            Rebinding(server_id=int(waiting.id[row]), server_generation=int(waiting.generation[row]))
            for row in np.flatnonzero(~waiting.need_steps).tolist()
        ]
        chosen = choose_starts(snapshot, policy, departures, guard, approved, now)
        starts = tuple(_start(waiting, row) for row in chosen.rows)
        loans += chosen.loans
        let_go = departures.relieved_running + departures.exceeding_running
        due += let_go
        held_back = [move for move in departures.held_back if move not in let_go]
        if snapshot.idle is not None:  # all other ways were looked for
            # One whose step has failed keeps its attempts: a broken server must become a dead letter at some time. But
            # it must not take the place of a server that may move, because it may wait for that very server.
            in_the_way = [m for m in held_back if m.attempt == 1 or not sees_all or m.msb_id in chosen.crowded]
            cancel += tuple(_end(move, None, None, MoveStatus.CANCELLED, "may_not_leave") for move in in_the_way)
        waits = plan_waits(snapshot, guard, chosen, held_back, going, sees_all=sees_all, now=now)
    due.sort(key=lambda move: (not move.from_buffer, move.due_at, move.move_id))
    if mover.probe_at is not None:
        probes = int(mover.probe_at <= now)
        due, starts = sorted(due, key=lambda move: (move.due_at, move.move_id))[:probes], starts[:probes]
    return MovesPlan(
        start=starts,
        cancel=cancel,
        ask=tuple(due),
        waits=waits,
        rebind=tuple(rebind),
        loans=tuple(loans),
        below_hold=frozenset(move.move_id for move in departures.exceeding_running),
        overstay=tuple(spare for spare in snapshot.spares if spare.overstays(now)),
    )


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

    An attempt without an answer in step_s_max has the result UNKNOWN. The mover asks for the step again, as the next
    attempt. A move that ends with an UNKNOWN step leaves its server in doubt (docs/designs/0019).

    result          None: the step is running, as far as is known
    patient_since   time before `patient_since` does not count toward the step's time limit
    is_known        False, with no result: the actuator could not tell, so the server has not failed
    """
    if result is None:
        since = move.step_started_at if patient_since is None else max(move.step_started_at, patient_since)
        if now - since <= timedelta(seconds=policy.step_s_max):
            return None
        waited = f"no answer in {policy.step_s_max:g} s"
        result, message = StepResult.UNKNOWN, waited if message is None else f"{waited}: {message}"
    unwanted = _unwanted(move)
    if result in (StepResult.DONE, StepResult.SKIPPED):
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
    """Return when to ask again for a step without a result; None: on the next tick.

    A replacement is asked about on each tick, unless the receiver named a time: a reservation is short meanwhile.
    """
    if outcome.state is not StepState.UNKNOWN:
        usual_s = None if move.from_buffer else outcome.poll_s
        wait_s = usual_s if outcome.ask_again_s is None else outcome.ask_again_s
        if wait_s is None:
            return None
        ask_at = now + timedelta(seconds=wait_s)
        return MovePostponed(move=move, ask_at=ask_at, calls_failed=0, note=outcome.message)
    wait_s = policy.call_backoff.wait_s(move.calls_failed + 1)
    ask_at = now + timedelta(seconds=max(wait_s, outcome.ask_again_s or 0.0))
    return MovePostponed(move=move, ask_at=ask_at, calls_failed=move.calls_failed + 1, note=outcome.message)


def steps_of(*, runs: bool, joins: bool, other_profile: bool, unclean: bool, in_doubt: bool) -> tuple[MoveStep, ...]:
    """Return the steps of a move. See needed_steps."""
    needed = needed_steps(runs=runs, joins=joins, other_profile=other_profile, unclean=unclean, in_doubt=in_doubt)
    return tuple(step for step, is_needed in needed if is_needed)


def _start(waiting: WaitingServers, row: int) -> MoveStart:
    from_id, to_id = int(waiting.current_id[row]), int(waiting.target_id[row])
    return MoveStart(
        server_id=int(waiting.id[row]),
        server_generation=int(waiting.generation[row]),
        from_reservation_id=from_id or None,
        to_reservation_id=to_id or None,
        steps=steps_of(
            runs=bool(waiting.runs[row]),
            joins=bool(waiting.joins[row]),
            other_profile=to_id != 0 and bool(waiting.other_profile[row]),
            unclean=bool(waiting.unclean[row]),
            in_doubt=bool(waiting.in_doubt[row]),
        ),
        is_replacement=bool(waiting.urgent[row]),
    )


def _takes(move: RunningMove) -> bool:
    """Return whether the step under way takes the server from a reservation to which the server gives capacity."""
    return move.step is MoveStep.PREEMPT and move.takes_capacity


def _is_due(move: RunningMove, policy: MovePolicy, now: datetime) -> bool:
    """Return whether it is time to ask the actuator about the move. A wait that is longer than the mover ever sets
    comes from a clock that jumped, and does not count.
    """
    wait_s = (move.due_at - now).total_seconds()
    longest_s = max(policy.backoff.wait_s(policy.attempts_max), policy.call_backoff.s_max, ASK_AGAIN_S_MAX)
    return wait_s <= 0 or wait_s > longest_s


def _unwanted(move: RunningMove) -> str | None:
    """Return the reason why the move should end; None if it should continue."""
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
