"""Carry executions out among faults, and compare the ledger with what really happened after every tick.

Systems answer 500, 409, late, twice or not at all; processes die at any crash point; people command at random; freezes
come and go. The ledger never shows an effect that did not happen, and never counts one twice.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

import pytest

from libs.domain.action_outcome import ActionRequest, Answer, Outcome
from libs.domain.capacity_event import EventStatus
from libs.domain.execution_plan import Phase
from libs.domain.freeze import FreezeScope
from libs.domain.plan_execution import FINAL, ActionState, ExecutionState, Verb
from libs.reconcile.crash import crash_points_heard
from libs.store.executions.actions import load_actions, load_progress
from libs.store.executions.executions import list_executions
from libs.store.executions.freezes import insert_freeze
from tests.builders.executed_plan import Orchestrator

DONE, FAILED = Answer(outcome=Outcome.DONE), Answer(outcome=Outcome.FAILED)
RUNNING, UNKNOWN = Answer(outcome=Outcome.RUNNING), Answer(outcome=Outcome.UNKNOWN)
LIVE = {EventStatus.PROPOSED, EventStatus.APPROVED, EventStatus.ACTIVE}
COMMANDS = (*[Verb.PAUSE, Verb.RESUME, Verb.RETRY, Verb.RETRY, Verb.RETRY, Verb.OVERRIDE, Verb.REVERSE], Verb.SKIP)


class Killed(BaseException):
    pass


class Site:
    """The true systems. Each key is worked on once; a higher attempt at an action drops the work of lower ones."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.faulty = chance, True
        self.work: dict[str, int] = {}  # key -> asks until it is done; -1: done, -2: refused
        self.effects: dict[str, list[tuple[str, float]]] = {}  # action -> (key, fraction or change) that happened

    def perform(self, requests: Sequence[ActionRequest]) -> Sequence[Answer]:
        return [self._ask(one) for one in requests]

    def _ask(self, one: ActionRequest) -> Answer:
        name, attempt = one.action.action, int(one.key.rsplit("/", 1)[1])
        for key in self.work:
            if key.rsplit("/", 1)[0] == one.key.rsplit("/", 1)[0] and int(key.rsplit("/", 1)[1]) < attempt:
                self.work[key] = -2 if self.work[key] >= 0 else self.work[key]
        left = self.work.setdefault(one.key, self.chance.choice((0, 0, 1, 3, -2)) if self.faulty else 0)
        if left > 0:
            self.work[one.key] = left - 1
        elif left == 0:
            self.work[one.key] = -1
            value = one.fraction if one.action.phase is Phase.SHIFT else one.size - one.action.before
            self.effects.setdefault(name, []).append((one.key, value))
        if self.faulty and self.chance.random() < 0.25:
            return UNKNOWN  # 500, or no answer: the work goes on all the same
        return {-1: DONE, -2: FAILED}.get(self.work[one.key], RUNNING)


class Story:
    def __init__(self, orchestrator: Orchestrator, seed: int) -> None:
        self.o, self.chance = orchestrator, random.Random(seed)
        self.site = self.o.world = Site(self.chance)  # type: ignore[assignment]
        self.site.measure = lambda questions: ()  # type: ignore[attr-defined]
        self.first = self.o.start()
        with self.o.database.snapshot() as tx:
            self.names = [a.action for a in load_actions(tx, self.first)]

    def tick(self, *, kills: bool) -> None:
        def die(point: str) -> None:
            if kills and self.chance.random() < 0.1:
                raise Killed(point)

        with suppress(Killed), crash_points_heard(die):
            self.o.tick(300.0)

    def disturb(self) -> None:
        if self.chance.random() < 0.4:
            self.o.command(self.first, self.chance.choice(COMMANDS), self.chance.choice(self.names))
        if self.chance.random() < 0.1:
            self.o.command(self.first, self.chance.choice((Verb.PAUSE, Verb.RESUME, Verb.OVERRIDE_FREEZE)))
        if self.chance.random() < 0.1:
            now = self.o.clock.now()
            with self.o.database.write() as tx:
                insert_freeze(
                    tx,
                    scope=FreezeScope.REGION,
                    name="west",
                    starts_at=now,
                    ends_at=now + timedelta(minutes=20),
                    reason="sale",
                    created_by="olga",
                    now=now,
                )

    def judge(self, execution_id: int) -> None:
        """Compare every event of the ledger with the true effects of its action."""
        with self.o.database.snapshot() as tx:
            actions, progress = load_actions(tx, execution_id), load_progress(tx, execution_id)
        events = self.o.events()
        for i, action in enumerate(actions):
            if action.action not in events:
                continue
            row, event = progress.row(i), events[action.action]
            happened = self.site.effects.get(action.action, [])
            assert len({key for key, _ in happened}) == len(happened), "a key had two effects"
            if action.phase is Phase.SHIFT:
                most = max((fraction for _, fraction in happened), default=0.0) * action.after
                assert event.achieved <= most + 1e-9, (action.action, event.achieved, happened)
            elif event.achieved:
                assert event.achieved == pytest.approx(row.size - action.before)
                assert any(change == pytest.approx(event.achieved) for _, change in happened)
            assert abs(event.achieved) <= abs(event.effect.amount) + 1e-9
            if row.state is ActionState.DONE and action.phase is not Phase.SETTLED:
                assert event.status is EventStatus.SUCCEEDED
                change = 1.0 if action.phase is Phase.SHIFT else row.size - action.before
                assert happened[-1][1] == pytest.approx(change)
            if row.state is ActionState.REVERSED:
                assert happened == [] or happened[-1][1] == 0.0
                assert event.achieved == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_the_ledger_tells_the_truth(orchestrator, seed):
    story = Story(orchestrator, seed)
    for _ in range(40):
        story.disturb()
        story.tick(kills=True)
        story.judge(story.first)
        if orchestrator.load(story.first).state in FINAL:
            break
    story.site.faulty = False
    orchestrator.command(story.first, Verb.OVERRIDE_FREEZE)
    reverses = story.chance.random() < 0.5
    orchestrator.command(story.first, Verb.REVERSE if reverses else Verb.ABORT)
    for _ in range(60):
        story.tick(kills=False)
        story.judge(story.first)
    assert orchestrator.load(story.first).state in FINAL
    assert {event.status for event in orchestrator.events().values()} & LIVE == set()
    if orchestrator.load(story.first).state is ExecutionState.REVERSED and story.first + 1 in _ids(orchestrator):
        story.judge(story.first + 1)


def _ids(orchestrator: Orchestrator) -> set[int]:
    with orchestrator.database.snapshot() as tx:
        return {one.plan_execution_id for one in list_executions(tx, state=None, before=None, limit=10).items}
