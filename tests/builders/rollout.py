"""Roll a policy out in a stored region, as the broker and the portal do."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from libs.domain.policy_rollout import ComparisonStatus, Finding, PolicyRollout, RolloutStage
from libs.reconcile.clock import SystemClock
from libs.store.fleet.policy_rollouts import load_latest_rollout, load_rollout
from libs.store.fleet.regions import load_region
from libs.store.plans.policy_comparisons import finish_comparison, start_comparison
from libs.store.platform.database import Database
from libs.store.regions.rollout_stages import create_rollout, enter_stage, hold_rollout


def start(database: Database, **change: float | bool) -> PolicyRollout:
    """Start a roll-out of a change of the policy in the region `west`."""
    with database.write() as tx:
        region = load_region(tx, "west", lock=True)
        return create_rollout(tx, region, change, actor="olga", reason="test", now=SystemClock().now())


def latest(database: Database) -> PolicyRollout:
    """Return the latest roll-out of the region."""
    with database.snapshot() as tx:
        found = load_latest_rollout(tx, load_region(tx, "west").region_id)
    assert found is not None
    return found


def enter(database: Database, stage: RolloutStage, share: float | None = None) -> PolicyRollout:
    """Bring the latest roll-out into another stage."""
    rollout = latest(database)
    with database.write() as tx:
        return enter_stage(
            tx,
            load_region(tx, "west", lock=True),
            rollout,
            stage,
            generation=rollout.generation,
            share=share,
            actor="olga",
            reason="test",
            now=SystemClock().now(),
        )


def compare(
    database: Database,
    policy_rollout_id: int,
    runs: Sequence[Mapping[str, Any]],
    *,
    now: datetime,
    findings: Sequence[Finding] = (),
) -> None:
    """Store a comparison with each of these solve runs, which the API returned, as shadow solves do. The last one has
    `findings`, and they hold the roll-out.
    """
    with database.write() as tx:
        rollout = load_rollout(tx, policy_rollout_id, lock=True)
        for at, run in enumerate(runs):
            found = findings if at == len(runs) - 1 else ()
            new_id = start_comparison(tx, rollout, run["solve_run_id"], now=now)
            told = {"now": now, "report": _report(run["report"]), "findings": found}
            assert finish_comparison(tx, new_id, ComparisonStatus.DONE, **told)
        if findings:
            hold_rollout(tx, load_region(tx, rollout.region).region_id, rollout, findings, now)


def _report(real: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report of a comparison in which the shadow solve moved two more servers than this solve."""
    terms = {**real["terms"], "total": real["total"]}
    solve = {name: real[name] for name in ("solve_s", "peak_mib", "gap", "stopped_by")}
    shadow = {**terms, "total": 1.04 * terms["total"], "moved_idle": terms["moved_idle"] + 2}
    return {
        "at_old_prices": {"real": terms, "shadow": shadow},
        "bound_differently": 4,
        "servers": 240,
        "solve": {"real": solve, "shadow": {**solve, "solve_s": 1.2 * solve["solve_s"]}},
    }
