"""Roll a policy out in a stored region, as the broker and the portal do."""

from libs.domain.policy_rollout import PolicyRollout, RolloutStage
from libs.reconcile.clock import SystemClock
from libs.store.fleet.policy_rollouts import load_latest_rollout
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from libs.store.regions.rollout_stages import create_rollout, enter_stage


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
