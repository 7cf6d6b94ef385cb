"""Build an orchestrator on a real database, with systems that the test controls."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from libs.domain.action_outcome import ActionRequest, Answer, Outcome
from libs.domain.capacity_event import CapacityEvent
from libs.domain.execution_plan import Action, PoolRoom
from libs.domain.plan_execution import (
    ActionState,
    Command,
    CommandLevel,
    ExecutionState,
    PlanExecution,
    RecordedCommand,
    Terms,
    Verb,
)
from libs.domain.plan_run import PlanRunStatus, PlanTrigger
from libs.executions.give_command import Given, give_command
from libs.flux.execution.plan import scheduled
from libs.gauges.gauge import Measured, Question
from libs.interchange.world.execution_plan import execution_plan_document
from libs.reconcile.clock import Clock
from libs.store.executions.actions import load_actions, load_progress
from libs.store.executions.executions import load_execution
from libs.store.ledger.events import load_events
from libs.store.planner.executed_changes import load_executed_shares
from libs.store.planner.placement_plans import commit_placement_plan, load_target_plan_id
from libs.store.planner.plan_runs import create_plan_run, finish_plan_run, take_plan_run
from libs.store.platform.database import Database
from services.orchestrator.create_execution import create_execution
from services.orchestrator.reconcilers.advance_executions import AdvanceExecutions
from services.orchestrator.systems import Systems
from tests.builders.execution import TERMS, pools_of, two_products

DONE = Answer(outcome=Outcome.DONE)


class World:
    """Carries out requests, each key once. Remembers sizes and traffic."""

    def __init__(self) -> None:
        self.say: Callable[[ActionRequest], Answer] = lambda request: DONE
        self.value: Callable[[Question], float | None] = lambda question: 0.0
        self.asked: list[ActionRequest] = []
        self.effects: list[str] = []
        self.sizes: dict[tuple[str, str], float] = {}
        self.moved: dict[str, float] = {}

    def perform(self, requests: Sequence[ActionRequest]) -> Sequence[Answer]:
        self.asked += requests
        for one in requests:
            a = one.action
            if self.say(one).outcome is Outcome.DONE and one.key not in self.effects:
                self.effects.append(one.key)
                if a.service is not None:
                    self.sizes[a.service, str(a.region)] = one.size
                else:
                    self.moved[a.action] = one.fraction * a.after
        return [self.say(one) for one in requests]

    def measure(self, questions: Sequence[Question]) -> Sequence[Measured]:
        return [Measured(self.value(one)) for one in questions]


class Orchestrator:
    def __init__(self, database: Database, clock: Clock, actions: tuple[Action, ...] | None = None) -> None:
        self.database, self.clock, self.world = database, clock, World()
        self._actions = two_products() if actions is None else actions
        self.plan_again()

    def plan_again(self) -> None:
        """Make the same changes the target plan of a further run."""
        self.plan_id = store_plan(self.database, self._actions, self.clock)

    def create(self, terms: Terms = TERMS) -> PlanExecution:
        with self.database.write() as tx:
            return create_execution(tx, self.plan_id, terms=terms, reason="weekly", actor="olga", now=self.clock.now())

    def start(self, terms: Terms = TERMS) -> int:
        made = self.create(terms)
        assert self.command(made.plan_execution_id, Verb.START).record.code is None
        return made.plan_execution_id

    def command(
        self,
        execution_id: int,
        verb: Verb,
        subject: str = "",
        size: float | None = None,
        level: CommandLevel | None = None,
    ) -> Given:
        level = level or (CommandLevel.ACTION if subject else CommandLevel.PLAN)
        asked = RecordedCommand(
            command=Command(level=level, verb=verb, subject=subject, size=size),
            actor="olga",
            given_at=self.clock.now(),
            reason="because",
        )
        with self.database.write() as tx:
            return give_command(tx, execution_id, asked, now=self.clock.now())

    def tick(self, seconds: float = 300.0) -> None:
        self.clock.sleep(seconds)
        systems = Systems(resizes=self.world, shifts=self.world, gauges={"prometheus": self.world}, read_every_s=0.0)
        AdvanceExecutions(self.database, self.clock, systems).reconcile()

    def run(self, execution_id: int, ticks: int = 80) -> ExecutionState:
        for _ in range(ticks):
            self.tick()
        return self.load(execution_id).state

    def run_until_moved(self, shift: str, share: float) -> None:
        """Tick until a shift has moved at least this share of its product's traffic."""
        for _ in range(60):
            if self.world.moved.get(shift, 0.0) > share - 1e-9:
                return
            self.tick()
        raise AssertionError("it never moved so much")

    def executed_shares(self) -> dict[str, float]:
        """Return phase -> share of the planned changes that has happened."""
        with self.database.snapshot() as tx:
            return {phase: found.share for phase, found in load_executed_shares(tx, plans=5).items()}

    def load(self, execution_id: int) -> PlanExecution:
        with self.database.snapshot() as tx:
            return load_execution(tx, execution_id)

    def states(self, execution_id: int) -> dict[str, ActionState]:
        with self.database.snapshot() as tx:
            actions, progress = load_actions(tx, execution_id), load_progress(tx, execution_id)
        return {a.action: progress.row(i).state for i, a in enumerate(actions)}

    def notes(self, execution_id: int) -> dict[str, str | None]:
        with self.database.snapshot() as tx:
            actions, progress = load_actions(tx, execution_id), load_progress(tx, execution_id)
        return {a.action: progress.row(i).note for i, a in enumerate(actions)}

    def events(self) -> dict[str, CapacityEvent]:
        with self.database.snapshot() as tx:
            page = load_events(tx, limit=1000)
            return {str(event.action): event for event in page.items}


def store_plan(database: Database, actions: tuple[Action, ...], clock: Clock, *, room: float | None = None) -> int:
    """Store a committed placement plan with this DAG, and perhaps as much room in each pool. Return its id."""
    used, rooms = pools_of(actions)
    pools = tuple(
        PoolRoom(region=r, hardware_type=h, used=used[r, h], room=rooms[r, h] if room is None else room)
        for r, h in used
    )
    plan = scheduled(list(actions), 1)
    document = execution_plan_document(plan) | {"pools": [{k: getattr(p, k) for k in p.__slots__} for p in pools]}
    with database.write() as tx:
        create_plan_run(tx, trigger=PlanTrigger.REQUEST, now=clock.now())
        run = take_plan_run(tx, window=(clock.now(), clock.now()), now=clock.now())
        assert run is not None
        plan_id = commit_placement_plan(
            tx,
            plan_run_id=run.plan_run_id,
            parent=load_target_plan_id(tx),
            committed=True,
            input_versions={},
            overrides=(),
            summary={},
            files={"dag.json": json.dumps(document).encode()},
            now=clock.now(),
        )
        finish_plan_run(tx, run, PlanRunStatus.DONE, now=clock.now(), placement_plan_id=plan_id)
        return plan_id
