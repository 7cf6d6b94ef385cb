from datetime import timedelta

import pytest
import sqlalchemy as sa

from libs.actuators.actuator import StepState
from libs.domain.move import MoveStatus
from libs.domain.plan import PlanKind
from libs.store.plans.plans import list_plan_changes, list_plans
from libs.store.plans.targets_history import load_last_solve_changes
from libs.store.platform.database import Database
from libs.store.retention.of_regions import of_region
from services.mover.reconcilers.forget_history import ForgetHistory
from tests.builders.clock import ManualClock
from tests.builders.mover import SPECS, Mover
from tests.builders.region import region_image
from tests.builders.stored import stored


@pytest.fixture
def mover(database: Database, clock: ManualClock) -> Mover:
    current: dict[str, str | None] = dict.fromkeys(
        ["server-00", "server-01", "server-02", "server-03", "server-06", "server-07"], "web"
    )
    stored(database, region_image(reservations=SPECS, current=current, target=current))
    return Mover(database, clock)


def forget(mover: Mover, kept_days: int) -> int:
    return ForgetHistory(mover.database, mover.clock, "west", kept_days=kept_days, batch=2).reconcile()


def rows(database: Database, table: str) -> int:
    with database.snapshot() as tx:
        return int(tx.execute(sa.text(f"SELECT count(*) FROM {table}")).scalar_one())


def test_what_is_old_and_over_is_forgotten_batch_by_batch(mover: Mover) -> None:
    mover.retarget(server_00="db", server_01="db", server_02="db")
    mover.actuator.say = lambda step: StepState.FAILED if step.server == "server-02" else StepState.DONE
    mover.settle()
    mover.clock.sleep(timedelta(days=40).total_seconds())
    mover.actuator.say = lambda step: StepState.DONE
    mover.retarget(server_06="db")
    mover.settle()
    assert rows(mover.database, "plan_changes") == 4
    assert forget(mover, 60) == 0, "nothing is that old"

    assert forget(mover, 30) == 2 + 3 + 2, "moves, changes of plans, and the plans of the import and of the first solve"
    kept = mover.moves()
    assert [(move.server, move.status) for move in kept] == [
        ("server-02", MoveStatus.FAILED),  # a dead letter, still open
        ("server-06", MoveStatus.DONE),
    ]
    assert rows(mover.database, "move_steps") == sum(len(mover.records(move)) for move in kept)
    with mover.database.snapshot() as tx:
        [latest] = list_plans(tx, "west", kind=PlanKind.SOLVE).items
        assert latest.parent_plan_id is not None, "it says that there was one before"
        assert len(list_plan_changes(tx, latest.plan_id).items) == latest.changes == 1
    assert forget(mover, 30) == 0


def test_the_latest_solve_can_be_compared_with_what_was_before_however_old_it_is(mover: Mover) -> None:
    mover.retarget(server_00="db")
    mover.settle()
    with mover.database.snapshot() as tx:
        before = load_last_solve_changes(tx, "west")
    mover.clock.sleep(timedelta(days=400).total_seconds())
    assert forget(mover, 30) == 1 + 1, "the move, and the plan of the import"
    with mover.database.snapshot() as tx:
        assert load_last_solve_changes(tx, "west") == before


def test_moves_under_way_are_kept(mover: Mover) -> None:
    mover.actuator.say = lambda step: StepState.RUNNING
    mover.retarget(server_00="db")
    mover.tick()
    mover.clock.sleep(timedelta(days=400).total_seconds())
    with mover.database.write() as tx:
        assert of_region("west")["moves"](tx, before=mover.clock.now(), most=10) == 0
