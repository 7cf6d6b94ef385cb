"""Decide which moves start, which steps to ask for, and what an outcome changes. Pure.

The module belongs to the mover, because no other service makes these decisions. It imports only the domain, the answers
of actuators, the back-off, and the rules of waves (libs/ras/waves), which the solver uses too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np

from libs.actuators.actuator import ASK_AGAIN_S_MAX, StepOutcome, StepState
from libs.domain.move import (
    MoveChange,
    MovePostponed,
    MovesSnapshot,
    MoveStart,
    MoveStatus,
    MoveStep,
    Rebinding,
    RunningMove,
    StepResult,
    WaitingServers,
)
from libs.domain.mover import MoverBounds
from libs.domain.spare import Loan
from libs.ras.waves.departures import Departures
from libs.ras.waves.guard import Guard
from libs.ras.waves.steps import needed_steps, preferred_order
from libs.reconcile.call_retries import BREAKER, CALLS, Backoff, Breaker
from services.mover.spares_plan import lend, take_back, waiting_by_reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePolicy:
    """Bounds on running moves in a region, and the patience of the mover.

    moves_max        moves at a time
    msb_share_max    share of an MSB's servers that may leave reservations at a time, and at least one server:
                     moves must not look like the loss of an MSB
    attempts_max     attempts at one step; after the last attempt the move has failed for good
    backoff          pause between attempts at a step
    step_s_max       seconds; the outcome of a longer attempt is unknown, so every move ends
    call_backoff     pause before the next call about a step, after a call without an answer
    breaker          when to stop calling a silent actuator
    msb_moves_max, msb_starts_per_minute   per MSB; None: no bound
    wait_s_max       seconds after which a server may leave a reservation that then falls below its promise; None: never
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
    wait_s_max: float | None = None

    def bounded_by(self, bounds: MoverBounds) -> MovePolicy:
        """Return the policy with the bounds that the region's operators have set."""
        return replace(self, **{name: value for name, value in asdict(bounds).items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class MovesPlan:
    """The decisions of one tick.

    start     moves to start
    rebind    servers that change their binding without a step
    cancel    moves that no reservation wants any more and that have no running step
    ask       moves whose step to ask the actuator for
    waits     reservation -> number of its servers that may not leave yet, because the reservation would fall below its
              promise
    loans     servers to lend to reservations, and to take back
    """

    start: tuple[MoveStart, ...]
    cancel: tuple[MoveChange, ...]
    ask: tuple[RunningMove, ...]
    waits: Mapping[str, int] = field(default_factory=dict)
    rebind: tuple[Rebinding, ...] = ()
    loans: tuple[Loan, ...] = ()


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
    starts: list[MoveStart] = []
    rebind: list[Rebinding] = []
    since, longest_s = snapshot.waiting_since, policy.wait_s_max
    is_overdue = since is not None and longest_s is not None and now - since > timedelta(seconds=longest_s)
    guard = Guard(snapshot.holdings)
    departures = Departures(guard, going, overdue=is_overdue)
    departures.arrive(spare.reservation_id for spare in snapshot.spares if spare.usable and not spare.has_joined)
    loans = take_back(snapshot, sees_all=len(snapshot.running) < policy.moves_max)
    if mover.paused_at is None:
        fresh = [move for move in going if not move.asked and _is_due(move, policy, now)]
        due += [move for move in fresh if not _takes(move) or departures.allow_running(move)]
        waiting = snapshot.waiting
        rebind = [
            Rebinding(server_id=int(waiting.id[row]), server_generation=int(waiting.generation[row]))
            for row in np.flatnonzero(~waiting.need_steps).tolist()
        ]
        starts, lent = _starts(snapshot, policy, departures, guard)
        loans += lent
        due += departures.relieved_running
    due.sort(key=lambda move: (not move.from_buffer, move.due_at, move.move_id))
    if mover.probe_at is not None:
        probes = int(mover.probe_at <= now)
        due, starts = sorted(due, key=lambda move: (move.due_at, move.move_id))[:probes], starts[:probes]
    return MovesPlan(
        start=tuple(starts),
        cancel=cancel,
        ask=tuple(due),
        waits=departures.waits(),
        rebind=tuple(rebind),
        loans=tuple(loans),
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


def _starts(
    snapshot: MovesSnapshot, policy: MovePolicy, departures: Departures, guard: Guard
) -> tuple[list[MoveStart], list[Loan]]:
    """Return the moves to start, and the servers to lend to reservations that wait: all replacements first, then unused
    servers, then used ones.

    Bounds per region and MSB apply to all but replacements, because the size of the shared buffers bounds those. A
    server waits if its reservation cannot spare it.
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
    chosen: list[int] = []
    blocked: list[int] = []
    urgent, runs = waiting.urgent, waiting.runs
    brings_nothing = (waiting.target_id == 0) | waiting.stays
    order = preferred_order(urgent=urgent, in_use=waiting.in_use, to_none=brings_nothing, key=waiting.id)
    spares = _spares_to_change(snapshot)
    for row in order[waiting.need_steps[order]].tolist():
        msb_id = int(waiting.msb_id[row])
        if not urgent[row]:
            if free <= 0:
                break
            if waiting.from_buffer[row] and waiting.stays[row]:
                if spares[int(waiting.target_id[row])] <= 0:
                    continue
                spares[int(waiting.target_id[row])] -= 1
            takes = runs[row] and not waiting.in_doubt[row]
            if to_start[msb_id] <= 0 or (takes and to_leave[msb_id] <= 0):
                continue
            if takes and not departures.allow(int(waiting.current_id[row]), msb_id, float(waiting.leaves_rru[row])):
                blocked.append(row)
                continue
            to_leave[msb_id] -= takes
        to_start[msb_id] -= 1
        free -= 1
        chosen.append(row)
    departures.arrive(waiting.target_id[chosen].tolist())
    departures.arrive(_coming(waiting, departures.held_back))
    lent = lend(snapshot, waiting_by_reservation(snapshot, blocked, departures.held_back), guard, departures)
    if snapshot.idle is None:  # spares come first, and they were not looked for
        return [_start(waiting, row) for row in chosen], lent
    departures.relieve_running()
    for row in blocked:
        msb_id = int(waiting.msb_id[row])
        if to_start[msb_id] <= 0 or to_leave[msb_id] <= 0 or free <= 0:
            continue
        if departures.relieve(int(waiting.current_id[row]), msb_id, float(waiting.leaves_rru[row])):
            to_leave[msb_id] -= 1
            to_start[msb_id] -= 1
            free -= 1
            chosen.append(row)
    return [_start(waiting, row) for row in chosen], lent


def _coming(waiting: WaitingServers, held_back: Sequence[RunningMove]) -> set[int]:
    """Return the reservations for which free servers wait, because of the bounds alone. Moves that are held back may be
    what the bounds count, so their reservations do not wait for those servers.
    """
    is_free = (waiting.current_id == 0) & ~waiting.in_doubt
    return set(waiting.target_id[is_free].tolist()) - {move.from_reservation_id for move in held_back}


def _spares_to_change(snapshot: MovesSnapshot) -> Counter[int]:
    """Return shared buffer -> number of its servers whose host profile may begin to change now: a quarter of those that
    wait for it, and at least one, so that the others can replace lost servers.
    """
    waiting = snapshot.waiting
    wait = Counter(waiting.target_id[waiting.from_buffer & waiting.stays].tolist())
    under_way = Counter(move.to_reservation_id for move in snapshot.running if move.stays)
    return Counter({buffer: max(1, number // 4) - under_way[buffer] for buffer, number in wait.items()})


def _start(waiting: WaitingServers, row: int) -> MoveStart:
    from_id, to_id = int(waiting.current_id[row]), int(waiting.target_id[row])
    return MoveStart(
        server_id=int(waiting.id[row]),
        server_generation=int(waiting.generation[row]),
        from_reservation_id=from_id or None,
        to_reservation_id=to_id or None,
        steps=steps_of(
            runs=bool(waiting.runs[row]),
            joins=to_id != 0 and not bool(waiting.to_buffer[row]),
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
