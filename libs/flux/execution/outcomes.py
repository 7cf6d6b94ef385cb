"""Judge the answers of other systems about actions in flight. Pure."""

from __future__ import annotations

from dataclasses import replace

from libs.domain.action_outcome import Answer, Outcome
from libs.domain.execution_plan import Phase
from libs.domain.execution_progress import ActionProgress
from libs.domain.plan_execution import ActionState, Terms

RETRY_S_MAX = 3600.0


def judge_answer(
    row: ActionProgress, phase: Phase, answer: Answer, terms: Terms, now_s: float
) -> ActionProgress | None:
    """Return how far the action is after an answer; None if nothing changes.

    A request without a result in action_s_max becomes a new one, with a new key. A shift that cannot go back, and an
    action whose last attempt fails, wait for a person.
    """
    if answer.outcome is Outcome.NOT_ASKED:
        return None
    if answer.outcome is Outcome.DONE:
        return _done(row, phase, now_s)
    message = answer.message
    if answer.outcome is not Outcome.FAILED:
        if now_s - row.since_s <= terms.action_s_max:
            again_s = now_s + (answer.ask_again_s or 0.0)
            is_same = message in (None, row.note) and again_s <= now_s
            return None if is_same else replace(row, again_s=again_s, note=message or row.note)
        message = f"no result in {terms.action_s_max:g} s" + (f": {message}" if message else "")
    if row.tries >= terms.attempts_max:
        reason = "ReverseFailed" if row.state is ActionState.REVERSING else "Failed"
        note = f"{reason}: {message}" if message else reason
        return replace(row, state=ActionState.FAILED, since_s=now_s, again_s=now_s, note=note)
    wait_s = min(terms.retry_s * 2.0 ** (row.tries - 1), RETRY_S_MAX)
    return replace(
        row,
        attempt=row.attempt + 1,
        tries=row.tries + 1,
        since_s=now_s + wait_s,
        again_s=now_s + wait_s,
        note=message,
    )


def _done(row: ActionProgress, phase: Phase, now_s: float) -> ActionProgress:
    at = replace(row, since_s=now_s, again_s=now_s, note=None)
    if row.state is ActionState.REVERSING:
        return replace(at, state=ActionState.REVERSED, reached=0.0, asked=0.0, note=row.note)
    if phase is Phase.SHIFT:
        return replace(at, state=ActionState.BAKING, reached=row.asked)
    return replace(at, state=ActionState.DONE, reached=1.0)
