"""Carry out executions: begin what may begin, ask the systems, measure the gates, and record the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from structlog import get_logger

from libs.domain.action_outcome import ActionRequest, Answer
from libs.domain.arrays import Floats
from libs.domain.execution_plan import Phase
from libs.domain.execution_progress import ActionProgress, ExecutionGraph, Progress, changed
from libs.domain.freeze import Calendar
from libs.domain.gate import Gate, GateReading
from libs.domain.plan_execution import (
    IN_FLIGHT,
    ActionState,
    Command,
    CommandLevel,
    ExecutionState,
    PlanExecution,
    RecordedCommand,
    Verb,
)
from libs.executions.graphs import load_graph
from libs.executions.shared_room import require_room, with_shared_room
from libs.executions.write_execution import write_execution
from libs.flux.execution.gates import bound_of, gates_of, query_of
from libs.flux.execution.next_steps import Decisions, next_steps
from libs.flux.execution.outcomes import judge_answer
from libs.flux.execution.real_sizes import real_sizes
from libs.gauges.gauge import Question
from libs.plan_check.check import PlanRefusedError
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.reconcile.errors import StaleGeneration
from libs.store.executions.actions import load_progress
from libs.store.executions.commands import append_readings, list_commands, load_readings, record_command
from libs.store.executions.events import load_refused_starts
from libs.store.executions.executions import load_execution, load_open_executions, lock_execution
from libs.store.executions.freezes import load_calendar
from libs.store.ledger.proposals import ConflictingEvents
from libs.store.platform.database import Database, Transaction
from services.orchestrator.create_execution import take_back
from services.orchestrator.systems import Systems

log = get_logger(__name__)
ACTOR = "orchestrator"
READINGS_S = 3600.0
"""Seconds for which readings are loaded at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The effects of one tick on one execution."""

    plan_execution_id: int
    state: ExecutionState
    changed: int
    asked: int
    answered: int
    read: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Snapshot:
    execution: PlanExecution
    graph: ExecutionGraph
    progress: Progress
    readings: Mapping[int, Sequence[GateReading]]
    calendar: Calendar


@dataclass(frozen=True, slots=True)
class AdvanceExecutions:
    """The reconciler of all executions."""

    database: Database
    clock: Clock
    systems: Systems

    def reconcile(self) -> tuple[Report, ...]:
        """Do one tick of each execution that has started and not ended. Idempotent.

        One that a person changed meanwhile is left to the next tick. A fault in one execution stops no other: it is
        raised when all have had their turn.
        """
        with self.database.snapshot() as tx:
            ids = [one.plan_execution_id for one in load_open_executions(tx)]
        reports: list[Report] = []
        faults: list[Exception] = []
        for one in ids:
            try:
                report = self._advance(one)
            except Exception as fault:
                log.error("execution.failed", plan_execution_id=one, exc_info=fault)
                faults.append(fault)
            else:
                reports += [] if report is None else [report]
        if faults:
            raise faults[0]
        return tuple(reports)

    def _advance(self, plan_execution_id: int) -> Report | None:
        now = self.clock.now()
        with self.database.snapshot() as tx:
            snapshot = _load(tx, plan_execution_id, now)
            graph = with_shared_room(tx, snapshot.execution, snapshot.graph)
        execution = snapshot.execution
        found = next_steps(
            *(graph, execution.state, snapshot.progress, snapshot.readings, execution.terms),
            *(now.timestamp(), snapshot.calendar),
        )
        try:
            snapshot = self._write(snapshot, found.changes, found.state, reverses=found.reverses, room=graph.room)
            read = self._measure(snapshot, found, now)
            in_flight = snapshot.progress.is_in(*IN_FLIGHT)
            ask = [i for i in found.ask if in_flight[i]]  # the ledger may have refused a start
            answered = self._ask(snapshot, ask)
        except StaleGeneration:
            log.info("execution.overtaken", plan_execution_id=plan_execution_id)
            return None
        except (PlanRefusedError, ConflictingEvents) as error:
            log.warning("execution.cannot_be_taken_back", plan_execution_id=plan_execution_id, error=str(error))
            self._record_stuck(plan_execution_id, str(error))
            return None
        report = Report(
            plan_execution_id=plan_execution_id,
            state=found.state,
            changed=len(found.changes),
            asked=len(ask),
            answered=answered,
            read=read,
        )
        if found.changes or answered:
            log.info("execution.advanced", report=report)
        return report

    def _record_stuck(self, plan_execution_id: int, message: str) -> None:
        """Record once why an execution cannot be taken back now, where people see the answers to their commands."""
        refused = RecordedCommand(
            command=Command(level=CommandLevel.PLAN, verb=Verb.REVERSE),
            actor=ACTOR,
            given_at=self.clock.now(),
            code="CannotTakeBack",
            message=f"it is tried again at each tick: {message}",
        )
        with self.database.write() as tx:
            load_execution(tx, plan_execution_id, lock=True)
            last = [one for _, one in list_commands(tx, plan_execution_id, before=None, limit=1).items]
            if [(one.actor, one.message) for one in last] != [(ACTOR, refused.message)]:
                record_command(tx, plan_execution_id, refused)

    def _write(
        self,
        snapshot: _Snapshot,
        changes: Sequence[ActionProgress],
        state: ExecutionState,
        *,
        reverses: bool = False,
        room: Floats | None = None,
    ) -> _Snapshot:
        """Write changes, and return the snapshot after them. Raises StaleGeneration.

        room   (Q,) the room of the pools on which the changes rest; None: they begin nothing
        """
        execution, now = snapshot.execution, self.clock.now()
        if not changes and state is execution.state and not reverses:
            return snapshot
        state = ExecutionState.REVERSED if reverses else state
        crash_point("orchestrator.write.before")
        with self.database.write() as tx:
            lock_execution(tx, execution.plan_execution_id, execution.generation)
            if load_calendar(tx, execution.plan_execution_id, now) != snapshot.calendar:
                raise StaleGeneration("freezes of execution", execution.plan_execution_id, expected=0, found=0)
            graph, progress = snapshot.graph, snapshot.progress
            changes = _without_refused(tx, execution.plan_execution_id, progress, changes)
            if room is not None and any(one.state is ActionState.RUNNING for one in changes):
                require_room(tx, execution, graph, room)
            close = partial(write_execution, tx, execution, graph, progress, changes, state, actor=ACTOR, now=now)
            if reverses:
                take_back(tx, execution, graph, progress, close, actor=ACTOR, now=now)
            else:
                close()
            execution = load_execution(tx, execution.plan_execution_id)
        crash_point("orchestrator.write.after")
        return replace(snapshot, execution=execution, progress=changed(snapshot.progress, tuple(changes)))

    def _measure(self, snapshot: _Snapshot, found: Decisions, now: datetime) -> int:
        """Read the gates that are due, and keep the readings."""
        due = list(_due_gates(snapshot, found.measure, now, self.systems.read_every_s))
        if not due:
            return 0
        crash_point("orchestrator.measure.before")
        readings = self._read(snapshot, due)
        with self.database.write() as tx:
            append_readings(tx, snapshot.execution.plan_execution_id, readings)
        crash_point("orchestrator.measure.after")
        return len(readings)

    def _read(self, snapshot: _Snapshot, due: Sequence[tuple[int, Gate]]) -> list[GateReading]:
        readings = []
        by_source: dict[str, list[tuple[int, Gate, Question]]] = {}
        for position, gate in due:
            by_source.setdefault(gate.source, []).append((position, gate, _question(snapshot, position, gate)))
        for source, asked in by_source.items():
            gauge = self.systems.gauges.get(source)
            values = gauge.measure([question for *_, question in asked]) if gauge is not None else [None] * len(asked)
            for (position, gate, question), measured in zip(asked, values, strict=True):
                note = f"there is no source {source}: set it up" if measured is None else measured.note
                readings.append(
                    GateReading(
                        position=position,
                        gate=gate.name,
                        at=self.clock.now(),
                        value=None if measured is None else measured.value,
                        query=question.query,
                        bound=bound_of(gate),
                        note=note,
                    )
                )
        return readings

    def _ask(self, snapshot: _Snapshot, positions: Sequence[int]) -> int:
        """Ask the systems about actions in flight, and write what they answer. Return the number of changes."""
        if not positions:
            return 0
        graph, execution = snapshot.graph, snapshot.execution
        crash_point("orchestrator.ask.before")
        answers: dict[int, Answer] = {}
        had, leads_to = (sizes.tolist() for sizes in real_sizes(graph, snapshot.progress))
        for carrier, shifts in ((self.systems.resizes, False), (self.systems.shifts, True)):
            own = [i for i in positions if (graph.actions[i].phase is Phase.SHIFT) is shifts]
            requests = [_request(snapshot, i, (had[i], leads_to[i])) for i in own]
            answers |= dict(zip(own, carrier.perform(requests) if requests else (), strict=True))
        crash_point("orchestrator.ask.after")
        now_s = self.clock.now().timestamp()
        changes = [
            new
            for i, answer in answers.items()
            if (new := judge_answer(snapshot.progress.row(i), graph.actions[i].phase, answer, execution.terms, now_s))
            is not None
        ]
        self._write(snapshot, changes, execution.state)
        return len(changes)


def _load(tx: Transaction, plan_execution_id: int, now: datetime) -> _Snapshot:
    execution = load_execution(tx, plan_execution_id)
    window_s = max((gate.age_s_max for gate in execution.terms.gates), default=0.0)
    since = now - timedelta(seconds=max(window_s, READINGS_S))
    return _Snapshot(
        execution=execution,
        graph=load_graph(tx, plan_execution_id),
        calendar=load_calendar(tx, plan_execution_id, now),
        progress=load_progress(tx, plan_execution_id),
        readings=load_readings(tx, plan_execution_id, since=since) if execution.terms.gates else {},
    )


def _without_refused(
    tx: Transaction, plan_execution_id: int, progress: Progress, changes: Sequence[ActionProgress]
) -> list[ActionProgress]:
    """Return the changes, but a start that the ledger refuses fails. So it waits for a person, and the rest goes on."""
    starts = [
        one.position for one in changes if one.state is ActionState.RUNNING and not progress.row(one.position).begun
    ]
    refused = load_refused_starts(tx, plan_execution_id, starts)
    return [
        one
        if (why := refused.get(one.position)) is None
        else replace(
            progress.row(one.position), state=ActionState.FAILED, since_s=one.since_s, note=f"LedgerRefuses: {why}"
        )
        for one in changes
    ]


def _due_gates(
    snapshot: _Snapshot, positions: Sequence[int], now: datetime, every_s: float
) -> Iterator[tuple[int, Gate]]:
    for position in positions:
        latest = {one.gate: one.at for one in snapshot.readings.get(position, ())}
        reached = datetime.fromtimestamp(float(snapshot.progress.again_s[position]), UTC)
        for gate in gates_of(snapshot.execution.terms.gates, snapshot.graph.actions[position]):
            last = latest.get(gate.name)
            if last is None or last < reached or (now - last).total_seconds() >= every_s:
                yield position, gate


def _question(snapshot: _Snapshot, position: int, gate: Gate) -> Question:
    row, action = snapshot.progress.row(position), snapshot.graph.actions[position]
    key = f"{snapshot.execution.plan_execution_id}/{action.action}/{row.attempt}/{gate.name}"
    return Question(key=key, action=action, query=query_of(gate, action))


def _request(snapshot: _Snapshot, position: int, sizes: tuple[float, float]) -> ActionRequest:
    row, action = snapshot.progress.row(position), snapshot.graph.actions[position]
    return ActionRequest(
        key=f"{snapshot.execution.plan_execution_id}/{action.action}/{row.attempt}",
        action=replace(action, before=sizes[0]),
        fraction=row.asked,
        size=sizes[1],
        requested_s=row.since_s,
    )
