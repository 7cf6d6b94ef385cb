"""Find the actions that another person must approve, because this one wrote the plan or changed a size."""

from __future__ import annotations

from collections.abc import Sequence

from libs.domain.execution_progress import STATES, ActionProgress, ExecutionGraph, Progress
from libs.domain.plan_execution import ActionState, Verb
from libs.domain.second_person_rule import lacks_second_person
from libs.store.executions.approvals import load_askers
from libs.store.platform.database import Transaction
from libs.store.platform.tokens import load_person_of

FOUR_EYES = "FourEyes"
"""Code of the refusal."""
_LET_GO = frozenset({ActionState.WAITING, ActionState.TAKEN_OVER})
"""States of an action that no longer waits for an approval, and may be carried out."""


def second_person_needed(
    tx: Transaction,
    plan_execution_id: int,
    graph: ExecutionGraph,
    progress: Progress,
    changes: Sequence[ActionProgress],
    verb: Verb,
    actor: str,
) -> dict[int, str]:
    """Return position -> why this command may not change the action, where its region demands four eyes.

    progress   before the changes

    A person who wrote the plan, created the execution or changed the size does not approve the action, and does not
    take it over either. A size that was approved stays: its change would be approved by one person alone.
    """
    waited = {one.position: STATES[progress.state[one.position]] is ActionState.AWAITING_APPROVAL for one in changes}
    let_go = [one.position for one in changes if waited[one.position] and one.state in _LET_GO]
    resized = [
        one.position
        for one in changes
        if verb is Verb.EDIT and not waited[one.position] and graph.actions[one.position].approval
    ]
    if not let_go and not resized:
        return {}
    askers = load_askers(tx, plan_execution_id, [*let_go, *resized])
    names = {name for asked in askers.values() if asked.limits.four_eyes for name in asked.names}
    person_of = load_person_of(tx, names | {actor})  # at once: a phase may have thousands of actions
    person = person_of[actor]
    found = {
        position: f"{person} asked for {graph.actions[position].action} or changed its size; in its region another "
        "person must approve it"
        for position in let_go
        if (asked := askers.get(position)) is not None
        and lacks_second_person(asked.limits, [person_of.get(name, name) for name in asked.names], person)
    }
    for position in resized:
        if position in askers and askers[position].limits.four_eyes:
            name = graph.actions[position].action
            found[position] = f"{name} was approved with its size, and its region demands four eyes: skip it instead"
    return found
