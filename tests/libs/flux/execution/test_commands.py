from itertools import product

import pytest

from libs.domain.execution_plan import Phase
from libs.domain.plan_execution import FINAL, SETTLED, ActionState, ExecutionState, Verb
from libs.flux.execution.commands import (
    Refusal,
    answer_action,
    answer_execution,
    possible_action_verbs,
    possible_verbs,
)

RUNNING = ExecutionState.RUNNING
SITUATIONS = list(product(ExecutionState, ActionState, Verb, Phase, (False, True), (False, True), (False, True)))


def test_every_command_has_an_answer_in_every_state():
    for state, verb in product(ExecutionState, Verb):
        answer = answer_execution(state, verb)
        assert isinstance(answer, ExecutionState) or (answer.code and answer.message)
    for execution, state, verb, phase, paused, begun, waits in SITUATIONS:
        answer = answer_action(execution, state, verb, phase=phase, paused=paused, begun=begun, waits=waits)
        assert isinstance(answer, ActionState) or (answer.code and answer.message)


def test_nothing_leaves_a_final_state():
    for execution, state, verb, phase, paused, begun, waits in SITUATIONS:
        answer = answer_action(execution, state, verb, phase=phase, paused=paused, begun=begun, waits=waits)
        if execution in FINAL or state in SETTLED:
            assert isinstance(answer, Refusal)
    assert all(possible_verbs(state) == () for state in FINAL)


def test_what_is_offered_is_accepted_and_changes_something():
    for execution, state, _, phase, paused, begun, waits in SITUATIONS:
        for verb in possible_action_verbs(execution, state, phase=phase, paused=paused, begun=begun, waits=waits):
            answer = answer_action(execution, state, verb, phase=phase, paused=paused, begun=begun, waits=waits)
            assert isinstance(answer, ActionState)
            assert answer is not state or verb in (Verb.PAUSE, Verb.RESUME, Verb.EDIT)


@pytest.mark.parametrize("state", sorted(set(ExecutionState) - FINAL))
def test_an_execution_can_always_be_ended(state):
    """By a command, or because it ends by itself when what runs has ended."""
    ends = {ExecutionState.ABORTING, ExecutionState.SUPERSEDING, ExecutionState.REVERSING}
    assert state in ends or Verb.ABORT in possible_verbs(state)


@pytest.mark.parametrize("state", [ActionState.HELD, ActionState.FAILED, ActionState.REVERSED, ActionState.TAKEN_OVER])
def test_a_person_can_always_go_on_or_leave_it_out(state):
    for phase, begun in product(Phase, (False, True)):
        found = possible_action_verbs(ExecutionState.RUNNING, state, phase=phase, paused=False, begun=begun, waits=True)
        assert Verb.SKIP in found
        assert {Verb.RETRY, Verb.RESUME} & set(found)


def test_the_table(golden):
    lines = []
    for state in ExecutionState:
        lines.append(f"{state}: {_cells((verb, answer_execution(state, verb)) for verb in Verb)}")
    for phase, begun in product((Phase.SHIFT, Phase.UPSIZE), (False, True)):
        lines.append(f"\n{phase} {'begun' if begun else 'not begun'}")
        for state in ActionState:
            answers = (
                (verb, answer_action(RUNNING, state, verb, phase=phase, paused=False, begun=begun, waits=False))
                for verb in Verb
            )
            lines.append(f"{state}: {_cells(answers)}")
    golden.check("execution_commands.txt", "\n".join(lines) + "\n")


def _cells(answers) -> str:
    return ", ".join(f"{verb} -> {a.code if isinstance(a, Refusal) else a}" for verb, a in answers)
