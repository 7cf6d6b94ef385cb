"""The foretold answers are those that commands get."""

import random

import pytest

from libs.domain.execution_plan import Phase
from libs.domain.plan_execution import Command, CommandLevel, ExecutionState, Verb
from libs.flux.execution.apply import apply_command
from libs.flux.execution.command_answers import foretell_answers
from tests.builders.execution import Execution, two_products

SEEDS = range(4)


def subjects(execution: Execution) -> list[tuple[CommandLevel, str]]:
    return [
        (CommandLevel.PLAN, ""),
        *((CommandLevel.PHASE, phase.value) for phase in Phase),
        *((CommandLevel.ACTION, action.action) for action in execution.graph.actions),
    ]


def assert_foretold(execution: Execution) -> None:
    state, now = (execution.graph, execution.state, execution.progress), execution.now_s
    for level, subject in subjects(execution):
        answers = foretell_answers(*state, level, subject, now, execution.calendar)
        assert [one.verb for one in answers] == list(Verb)
        for foretold in answers:
            size = 1e9 if foretold.verb is Verb.EDIT else None
            command = Command(level=level, verb=foretold.verb, subject=subject, size=size)
            given = apply_command(*state, command, now, execution.calendar)
            if given.refusal is not None and given.refusal.code == "SizeOutOfBounds":
                continue  # of a downsize, which may not grow: sizes are not foretold
            assert foretold.refusal == given.refusal, (level, subject, foretold.verb)
            if level is not CommandLevel.PLAN:
                assert foretold.actions == len(given.changes), (level, subject, foretold.verb)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_answer_is_the_one_that_the_command_gets(seed):
    rng, execution = random.Random(seed), Execution(two_products())
    assert_foretold(execution)
    execution.command(Verb.START)
    for _ in range(12):
        execution.tick(rng.choice((60.0, 700.0)))
        level, subject = rng.choice(subjects(execution))
        if level is not CommandLevel.PLAN:
            execution.command(rng.choice(list(Verb)), subject, None)
        assert_foretold(execution)


@pytest.mark.parametrize("verb", [Verb.PAUSE, Verb.ABORT])
def test_an_execution_that_stops_foretells_so_too(verb):
    execution = Execution(two_products())
    execution.command(Verb.START)
    execution.tick()
    execution.command(verb)
    assert_foretold(execution)
    execution.run(ticks=40)
    assert execution.state in (ExecutionState.PAUSED, ExecutionState.ABORTED)
    assert_foretold(execution)


def test_an_unknown_subject_is_refused():
    execution = Execution(two_products())
    for level in (CommandLevel.PHASE, CommandLevel.ACTION):
        with pytest.raises(KeyError):
            foretell_answers(
                *(execution.graph, execution.state, execution.progress, level, "none"), 0.0, execution.calendar
            )
