"""Kill the tick of executions at each of its points."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from libs.domain.action_outcome import Answer, Outcome
from libs.domain.plan_execution import ExecutionState
from libs.reconcile.crash import crash_points_heard
from tests.builders.executed_plan import DONE, Orchestrator
from tests.builders.execution import TERMS
from tests.crash.points import crash_points
from tests.services.orchestrator.reconcilers.test_advance_executions import GATE


class Killed(BaseException):
    """Ends a tick as a kill would."""


def answers(request) -> Answer:
    """Some requests fail once, some take their time, and then all is done."""
    luck = sum(map(ord, request.action.action)) % 3
    attempt = int(request.key.rsplit("/", 1)[1])
    return Answer(outcome=Outcome.FAILED, message="500") if luck == 0 and attempt == 1 else DONE


def reached_points(orchestrator: Orchestrator) -> Iterator[str]:
    heard: list[str] = []
    orchestrator.world.say = answers
    with crash_points_heard(heard.append):
        execution_id = orchestrator.start(replace(TERMS, gates=(GATE,)))
        assert orchestrator.run(execution_id) is ExecutionState.DONE
    yield from heard


def test_a_crash_anywhere_loses_nothing_and_repeats_nothing(orchestrator):
    """Kill every tick of a run at each of its points in turn: the end is the same, and every key has one effect."""
    points = set(reached_points(orchestrator))
    assert points == {point for point in crash_points() if point.startswith("orchestrator.")}
    first = dict(orchestrator.world.sizes), dict(orchestrator.world.moved)
    for point in sorted(points):
        orchestrator.world.__init__()
        orchestrator.plan_again()
        orchestrator.world.say = answers
        seen = 0

        def kill(name: str, point: str = point) -> None:
            nonlocal seen
            seen += name == point
            if name == point and seen % 2:
                raise Killed

        execution_id = orchestrator.start(replace(TERMS, gates=(GATE,)))
        with crash_points_heard(kill):
            for _ in range(200):
                with suppress(Killed):
                    orchestrator.tick()
        assert seen > 2
        assert orchestrator.load(execution_id).state is ExecutionState.DONE, point
        assert (orchestrator.world.sizes, orchestrator.world.moved) == first
        assert len(set(orchestrator.world.effects)) == len(orchestrator.world.effects)
        for event in orchestrator.events().values():
            assert event.achieved == pytest.approx(event.effect.amount)
