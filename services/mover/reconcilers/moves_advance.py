"""Bring current bindings to the targets: start moves, have their steps done, write down what became so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from libs.actuators.actuator import Actuator, StepRequest, StepState
from libs.domain.move import MoveChange, MovesSnapshot, MoveStatus, RunningMove, StepResult
from libs.observability.tallies import MOVE_STEPS, MOVES, STALE
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.database import Database
from libs.store.moves import change_moves, fail_moves, start_moves
from libs.store.moves_snapshot import load_moves_snapshot
from services.mover.moves_plan import MovePolicy, MovesPlan, judge_outcome, plan_moves

_log = structlog.get_logger(__name__)
_RESULTS = {StepState.DONE: StepResult.DONE, StepState.FAILED: StepResult.FAILED, StepState.RUNNING: None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one tick did to moves. `left` were changed by somebody else meanwhile and wait for the next tick."""

    started: int
    asked: int
    advanced: int
    done: int
    cancelled: int
    failed: int
    left: int


class MovesAdvance:
    """The reconciler of one region's moves."""

    def __init__(self, database: Database, clock: Clock, actuator: Actuator, policy: MovePolicy, region: str) -> None:
        self._database, self._clock, self._actuator = database, clock, actuator
        self._policy, self._region = policy, region

    def reconcile(self) -> Report:
        """Do one tick. Idempotent; reads its own input.

        Raises ActuatorUnavailable after it has started what was to be started, and NotFound for the region.
        """
        with self._database.snapshot() as tx:
            snapshot = load_moves_snapshot(tx, self._region, moves_max=self._policy.moves_max)
        plan = plan_moves(snapshot, self._policy, self._clock.now())
        started = self._start(snapshot, plan)
        changes = [*plan.cancel, *self._ask(plan.ask)]
        written = self._write(snapshot, changes)
        _count(changes, len(changes) - written)
        by_status = Counter(change.status for change in changes)
        report = Report(
            started=started,
            asked=len(plan.ask),
            advanced=by_status[MoveStatus.RUNNING],
            done=by_status[MoveStatus.DONE],
            cancelled=by_status[MoveStatus.CANCELLED],
            failed=by_status[MoveStatus.FAILED],
            left=len(changes) - written,
        )
        if started or changes:
            _log.info("moves advanced", region=self._region, report=report)
        return report

    def _start(self, snapshot: MovesSnapshot, plan: MovesPlan) -> int:
        if not plan.start:
            return 0
        crash_point("mover.start.before")
        with self._database.write() as tx:
            started = start_moves(tx, snapshot.region_id, plan.start, now=self._clock.now())
        crash_point("mover.start.after")
        return started

    def _ask(self, moves: Sequence[RunningMove]) -> list[MoveChange]:
        if not moves:
            return []
        crash_point("mover.actuate.before")
        outcomes = self._actuator.perform([_request(move) for move in moves])
        crash_point("mover.actuate.after")
        now = self._clock.now()
        judged = (
            judge_outcome(move, _RESULTS[outcome.state], outcome.message, self._policy, now)
            for move, outcome in zip(moves, outcomes, strict=True)
        )
        return [change for change in judged if change is not None]

    def _write(self, snapshot: MovesSnapshot, changes: Sequence[MoveChange]) -> int:
        """How many were written. What failed for good comes last: it has a transaction of its own."""
        written = 0
        failed = [change for change in changes if change.status is MoveStatus.FAILED]
        others = [change for change in changes if change.status is not MoveStatus.FAILED]
        if others:
            crash_point("mover.commit.before")
            with self._database.write() as tx:
                written += change_moves(tx, others, now=self._clock.now())
            crash_point("mover.commit.after")
        if failed:
            crash_point("mover.fail.before")
            with self._database.write() as tx:
                written += fail_moves(tx, snapshot.region_id, failed, now=self._clock.now(), actor="mover")
            crash_point("mover.fail.after")
        return written


def _count(changes: Sequence[MoveChange], left: int) -> None:
    """What was decided; of changes that were left, which are few, the next tick tells again."""
    for change in changes:
        if change.result is not None:
            MOVE_STEPS.count(change.move.step.value, change.result.value)
        if change.status is not MoveStatus.RUNNING:
            MOVES.count(change.status.value, (change.reason or "").partition(":")[0])
    if left:
        STALE.count("move", by=left)


def _request(move: RunningMove) -> StepRequest:
    return StepRequest(
        move_id=move.move_id,
        step=move.step,
        attempt=move.attempt,
        started_at=move.step_started_at,
        server=move.server,
        from_reservation=move.from_reservation,
        to_reservation=move.to_reservation,
        from_host_profile=move.host_profile,
        to_host_profile=move.to_host_profile,
    )
