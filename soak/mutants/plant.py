"""Mutants: each one replaces a correct function with a faulty one, in the importing process only.

The platform's code has no switch for this. A mutant is installed from outside, before anything else is imported.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any

_OFTEN = 0.4
"""Share of calls in which a mutant is faulty. The other calls let the run go on."""


def lost_update() -> None:
    """Write a change of a region's policy without comparing its generation."""
    from libs.store.fleet import regions
    from libs.store.regions import region_policies

    right = region_policies.update_policy

    def update_policy(tx: Any, name: str, policy: Any, *, generation: int, **named: Any) -> Any:
        latest = regions.load_region(tx, name, lock=True).generation
        return right(tx, name, policy, generation=latest, **named)

    region_policies.update_policy = update_policy


def double_join() -> None:
    """Let the mover skip the step in which a server leaves its reservation."""
    from services.mover import moves_plan

    right = moves_plan.steps_of

    def steps_of(*, runs: bool, **named: Any) -> Any:
        forgets = named["joins"] and random.random() < _OFTEN
        return right(runs=runs and not forgets, **named)

    moves_plan.steps_of = steps_of


def dropped_request() -> None:
    """Acknowledge a client's write, but roll its transaction back. Do not touch the writes that set up the run."""
    from libs.web import idempotency

    class Dropped(Exception):
        """Raised to roll the transaction back."""

    right = idempotency.Writer.once

    def once(self: Any, effect: Callable[[Any], Any]) -> Any:
        if random.random() > _OFTEN or not (self.key or "").startswith("client-"):
            return right(self, effect)
        try:
            with self.context.database.write() as tx:
                answer = effect(tx)
                raise Dropped
        except Dropped:
            body = None if answer.body is None else answer.body.model_dump(mode="json")
            return idempotency._response(answer.status_code, body, answer.headers)

    idempotency.Writer.once = once  # type: ignore[method-assign]


def stale_commit() -> None:
    """Commit a plan after a delay, even if servers have changed since it was made."""
    import sqlalchemy as sa

    from libs.store.plans import plans
    from libs.store.tables import regions

    plans._COMMIT = plans._COMMIT.replace("USING (server_id, generation)", "USING (server_id)")
    plans._require_untouched = lambda tx, delta, live: None
    right = plans.commit_plan

    def commit_plan(tx: Any, *arguments: Any, **named: Any) -> Any:
        time.sleep(0.5)
        return right(tx, *arguments, **named)

    def lock_lineage(tx: Any, region_id: int, region_name: str, parent: int | None) -> None:
        query = sa.select(regions.c.target_plan_id).where(regions.c.region_id == region_id)
        tx.execute(query.with_for_update(key_share=True))

    plans.commit_plan, plans.lock_lineage = commit_plan, lock_lineage


def skipped_clean() -> None:
    """Let the mover skip the cleaning of a server."""
    from libs.domain.move import MoveStep
    from services.mover import moves_plan

    right = moves_plan.steps_of

    def steps_of(**named: Any) -> Any:
        steps = right(**named)
        forgets = len(steps) > 1 and random.random() < _OFTEN
        return tuple(step for step in steps if step is not MoveStep.CLEAN) if forgets else steps

    moves_plan.steps_of = steps_of


def forgotten_lease() -> None:
    """Never take back a job whose worker was killed."""
    from libs.store.platform import jobs

    jobs.take_back_expired = lambda tx, *, attempts_max: ()


def repeated_order() -> None:
    """Let the orchestrator ask again under a new key while a system works on the old one."""
    from dataclasses import replace

    from libs.domain.action_outcome import Outcome
    from libs.flux.execution import outcomes

    right = outcomes.judge_answer

    def judge_answer(row: Any, phase: Any, answer: Any, terms: Any, now_s: float) -> Any:
        if answer.outcome in (Outcome.RUNNING, Outcome.UNKNOWN):
            return replace(row, attempt=row.attempt + 1)
        return right(row, phase, answer, terms, now_s)

    outcomes.judge_answer = judge_answer


def early_success() -> None:
    """Let the orchestrator take a request that a system works on for one that is done."""
    from dataclasses import replace

    from libs.domain.action_outcome import Outcome
    from libs.flux.execution import outcomes

    right = outcomes.judge_answer

    def judge_answer(row: Any, phase: Any, answer: Any, terms: Any, now_s: float) -> Any:
        if answer.outcome is Outcome.RUNNING and random.random() < _OFTEN:
            answer = replace(answer, outcome=Outcome.DONE)
        return right(row, phase, answer, terms, now_s)

    outcomes.judge_answer = judge_answer


MUTANTS: Mapping[str, Callable[[], None]] = {
    mutant.__name__: mutant
    for mutant in (
        *(lost_update, double_join, dropped_request, stale_commit, skipped_clean, forgotten_lease),
        *(repeated_order, early_success),
    )
}
"""Mutants by name."""


def plant(name: str) -> None:
    """Install one mutant in this process."""
    MUTANTS[name]()
