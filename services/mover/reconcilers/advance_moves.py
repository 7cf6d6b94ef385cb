"""Bring current bindings to the targets: start moves, ask for their steps, and record the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from structlog import get_logger

from libs.actuators.actuator import Actuator, ActuatorUnavailable, StepOutcome, StepRequest, StepState
from libs.domain.move import MoveChange, MovePostponed, MoveStatus, RunningMove, StepResult
from libs.domain.mover import Mover
from libs.domain.moves_snapshot import MovesSnapshot
from libs.observability.tallies import CALLS, MOVE_STEPS, MOVES, STALE
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.reconcile.jobs import MOVE
from libs.store.moves.exceptions import are_approved
from libs.store.moves.movers import note_answered, note_overstaying, note_unanswered, note_waits
from libs.store.moves.moves import (
    change_moves,
    fail_moves,
    mark_asked,
    rebind_servers,
    start_moves,
)
from libs.store.moves.moves_snapshot import load_moves_snapshot
from libs.store.moves.spares import write_loans
from libs.store.moves.urgent_departures import forget_departed
from libs.store.moves.waits import write_waits
from libs.store.platform.database import Database
from libs.store.platform.jobs import enqueue
from services.mover.breaker import answered, next_probe
from services.mover.move_policy import MovePolicy
from services.mover.moves_plan import MovesPlan, judge_outcome, plan_moves, postpone

log = get_logger(__name__)
_RESULTS = {StepState.DONE: StepResult.DONE, StepState.FAILED: StepResult.FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The effects of one tick on moves.

    rebound      number of servers that entered or left a shared buffer without a step
    left         number of moves that another writer changed meanwhile; the next tick reads them again
    unanswered   number of moves about which the mover asked, but whose state the actuator could not tell
    """

    started: int
    asked: int
    advanced: int
    done: int
    cancelled: int
    failed: int
    left: int
    unanswered: int
    rebound: int = 0


@dataclass(frozen=True, slots=True)
class _Answers:
    """The answers of the actuator: an outcome for each step that the mover asked for. If the actuator could not be
    reached, there is no outcome but a reason.
    """

    outcomes: Sequence[StepOutcome]
    unreachable: str | None = None


@dataclass(frozen=True, slots=True)
class AdvanceMoves:
    """The reconciler of one region's moves."""

    database: Database
    clock: Clock
    actuator: Actuator
    policy: MovePolicy
    region: str

    def reconcile(self) -> Report:
        """Do one tick: read the region's moves, decide, ask the actuator, and write the results. Idempotent. Raises
        NotFound if the region does not exist.
        """
        now = self.clock.now()
        with self.database.snapshot() as tx:
            snapshot = load_moves_snapshot(tx, self.region, moves_max=self.policy.moves_max, now=now)
        plan = plan_moves(snapshot, self.policy, now)
        rebound, started = self._rebind(plan), self._start(snapshot, plan)
        self._lend(plan)
        self._tell_overstaying(snapshot, plan)
        self._forget_departed(snapshot)
        self._tell_waits(snapshot, plan)
        asked = self._mark(snapshot, plan)
        answers = self._ask(asked)
        mover, outcomes = self._note(snapshot.mover, answers), answers.outcomes
        changes, postponed = self._judge(mover, asked, outcomes)
        changes = [*plan.cancel, *changes]
        written = self._write(snapshot, changes, postponed)
        self._count(outcomes, changes, len(changes) - written)
        by_status = Counter(change.status for change in changes)
        report = Report(
            started=started,
            asked=len(asked),
            advanced=by_status[MoveStatus.RUNNING],
            done=by_status[MoveStatus.DONE],
            cancelled=by_status[MoveStatus.CANCELLED],
            failed=by_status[MoveStatus.FAILED],
            left=len(changes) - written,
            unanswered=len(asked) - sum(outcome.state is not StepState.UNKNOWN for outcome in outcomes),
            rebound=rebound,
        )
        if rebound or started or changes:
            log.info("moves.advanced", region=self.region, report=report)
        return report

    def _rebind(self, plan: MovesPlan) -> int:
        if not plan.rebind:
            return 0
        crash_point("mover.rebind.before")
        with self.database.write() as tx:
            rebound = rebind_servers(tx, plan.rebind)
        crash_point("mover.rebind.after")
        return rebound

    def _start(self, snapshot: MovesSnapshot, plan: MovesPlan) -> int:
        if not plan.start:
            return 0
        crash_point("mover.start.before")
        with self.database.write() as tx:
            started = start_moves(tx, snapshot.region_id, plan.start, now=self.clock.now())
            if any(start.is_replacement for start in plan.start):
                enqueue(tx, MOVE, self.region)
        crash_point("mover.start.after")
        return started

    def _lend(self, plan: MovesPlan) -> None:
        if not plan.loans:
            return
        crash_point("mover.lend.before")
        with self.database.write() as tx:
            written = write_loans(tx, plan.loans, now=self.clock.now())
        crash_point("mover.lend.after")
        log.info("servers.lent", region=self.region, loans=len(plan.loans), written=written)

    def _tell_overstaying(self, snapshot: MovesSnapshot, plan: MovesPlan) -> None:
        if {spare.server_id for spare in plan.overstay} != snapshot.overstaying:
            with self.database.write() as tx:
                note_overstaying(tx, snapshot.region_id, plan.overstay, now=self.clock.now())

    def _forget_departed(self, snapshot: MovesSnapshot) -> None:
        """Remove the marks of urgent servers that have left. A mark that is left over hurries nothing."""
        if snapshot.hurried:
            with self.database.write() as tx:
                forget_departed(tx, snapshot.region_id)

    def _tell_waits(self, snapshot: MovesSnapshot, plan: MovesPlan) -> None:
        waits = plan.waits
        if waits is None or (waits.is_same and bool(waits.now) == (snapshot.waiting_since is not None)):
            return
        crash_point("mover.waits.before")
        with self.database.write() as tx:
            now = self.clock.now()
            write_waits(tx, snapshot.region_id, waits, now=now)
            note_waits(tx, snapshot.region_id, list(waits.now.values()), now=now)
        crash_point("mover.waits.after")

    def _mark(self, snapshot: MovesSnapshot, plan: MovesPlan) -> Sequence[RunningMove]:
        """Mark new attempts as asked for, before the call. Return the moves that have not changed since. Leave those
        out that rest on an approval which a newer plan has superseded meanwhile.
        """
        moves: Sequence[RunningMove] = plan.ask
        if all(move.asked for move in moves):
            return moves
        crash_point("mover.mark.before")
        with self.database.write() as tx:
            if plan.below_hold and snapshot.exceptions is not None:
                approval_id = snapshot.exceptions.approval_id
                if not are_approved(tx, approval_id):
                    moves = [move for move in moves if move.move_id not in plan.below_hold]
                log.info("moves.below_hold", region=self.region, approval_id=approval_id, moves=len(plan.below_hold))
            marked = mark_asked(tx, moves, now=self.clock.now())
        crash_point("mover.mark.after")
        return marked

    def _ask(self, moves: Sequence[RunningMove]) -> _Answers:
        if not moves:
            return _Answers(())
        crash_point("mover.actuate.before")
        try:
            answers = _Answers(self.actuator.perform([_request(move, self.region) for move in moves]))
        except ActuatorUnavailable as unreachable:
            answers = _Answers((), str(unreachable) or "it cannot be reached")
        crash_point("mover.actuate.after")
        return answers

    def _note(self, mover: Mover, answers: _Answers) -> Mover:
        """Update the circuit breaker by the answers. Return the mover with the updated breaker."""
        now, heard = self.clock.now(), answered(answers.outcomes)
        if answers.unreachable is None and heard is not False:
            if not heard or not (mover.ticks_failed or mover.probe_at):
                return mover
            with self.database.write() as tx:
                return note_answered(tx, self.region, now=now)
        messages = (answers.unreachable, *(outcome.message for outcome in answers.outcomes))
        said = next((message for message in messages if message), "no reason given")
        probe_at = next_probe(mover, self.policy.breaker, now)
        log.warning("actuator.not_answering", region=self.region, error=said, probe_at=probe_at)
        with self.database.write() as tx:
            return note_unanswered(tx, self.region, probe_at=probe_at, message=said, now=now)

    def _judge(
        self, mover: Mover, moves: Sequence[RunningMove], outcomes: Sequence[StepOutcome]
    ) -> tuple[list[MoveChange], list[MovePostponed]]:
        now = self.clock.now()
        changes: list[MoveChange] = []
        postponed: list[MovePostponed] = []
        # `outcomes` is empty if the actuator was not reached
        for move, outcome in zip(moves, outcomes, strict=False):
            if outcome.state is StepState.NOT_ASKED:
                continue
            change = judge_outcome(
                move,
                _RESULTS.get(outcome.state),
                outcome.message,
                self.policy,
                now,
                patient_since=mover.patient_since,
                is_known=outcome.state is not StepState.UNKNOWN,
            )
            if change is not None:
                changes.append(change)
            elif (later := postpone(move, outcome, self.policy, now)) is not None:
                postponed.append(later)
        return changes, postponed

    def _write(
        self,
        snapshot: MovesSnapshot,
        changes: Sequence[MoveChange],
        postponed: Sequence[MovePostponed],
    ) -> int:
        """Write the changes, and return how many were written. Moves that fail for good are written last, in a
        transaction of their own.
        """
        written = 0
        failed = [change for change in changes if change.status is MoveStatus.FAILED]
        others = [change for change in changes if change.status is not MoveStatus.FAILED]
        if others or postponed:
            crash_point("mover.commit.before")
            with self.database.write() as tx:
                written += change_moves(tx, others, postponed, now=self.clock.now())
                if any(_goes_on(change) for change in others):
                    enqueue(tx, MOVE, self.region)
            crash_point("mover.commit.after")
        if failed:
            crash_point("mover.fail.before")
            with self.database.write() as tx:
                written += fail_moves(tx, snapshot.region_id, failed, now=self.clock.now(), actor="mover")
            crash_point("mover.fail.after")
        return written

    def _count(self, outcomes: Sequence[StepOutcome], changes: Sequence[MoveChange], left: int) -> None:
        """Add outcomes and decisions to the metrics. A change that another writer overtook counts again on the next
        tick; this is rare.
        """
        for outcome in outcomes:
            if outcome.call is not None:
                CALLS.count(self.region, outcome.call)
        for change in changes:
            if change.result is not None:
                MOVE_STEPS.count(change.move.step.value, change.result.value)
            if change.status is not MoveStatus.RUNNING:
                MOVES.count(change.status.value, (change.reason or "").partition(":")[0])
        if left:
            STALE.count(MOVE, by=left)


def _goes_on(change: MoveChange) -> bool:
    """Return whether a replacement has a next step. It does not wait for the next tick of the timetable."""
    return change.status is MoveStatus.RUNNING and change.result is StepResult.DONE and change.move.from_buffer


def _request(move: RunningMove, region: str) -> StepRequest:
    return StepRequest(
        move_id=move.move_id,
        step=move.step,
        attempt=move.attempt,
        started_at=move.step_started_at,
        region=region,
        server=move.server,
        from_reservation=move.from_reservation,
        to_reservation=move.to_reservation,
        from_host_profile=move.host_profile,
        to_host_profile=move.to_host_profile,
    )
