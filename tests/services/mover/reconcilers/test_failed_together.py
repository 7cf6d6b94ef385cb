"""Moves that fail for good together lock their servers in the order of all writers of servers."""

from concurrent.futures import ThreadPoolExecutor

import sqlalchemy as sa

from libs.actuators.actuator import StepOutcome, StepRequest, StepState
from libs.domain.move import MoveStatus, MoveStep
from libs.store.platform.database import Database
from tests.builders.clock import ManualClock
from tests.builders.mover import SPECS, Answers, Mover
from tests.builders.race import wait_for_a_lock
from tests.builders.region import region_image
from tests.builders.stored import stored


def say(step: StepRequest) -> StepOutcome:
    """server-00 fails, and the join of server-05 has no answer: the row of each changes."""
    if step.server == "server-00":
        return StepOutcome(state=StepState.FAILED, message="no")
    return StepOutcome(state=StepState.UNKNOWN if step.step is MoveStep.JOIN else StepState.DONE)


def test_a_writer_that_locks_servers_in_their_order_meets_no_deadlock(database: Database, clock: ManualClock) -> None:
    stored(database, region_image(reservations=SPECS, target={"server-00": "web", "server-05": "web"}))
    mover = Mover(database, clock)
    mover.actuator = Answers()  # type: ignore[assignment]
    mover.actuator.say = lambda step: StepOutcome(state=StepState.RUNNING)  # type: ignore[assignment, return-value]
    mover.tick()
    mover.tick()
    with database.write() as tx:
        tx.execute(sa.text("UPDATE moves SET attempt = 2"))
    mover.actuator.say = say  # type: ignore[assignment]
    locks = sa.text("SELECT FROM servers WHERE name = :name FOR NO KEY UPDATE")
    with ThreadPoolExecutor(1) as pool:
        with database.write() as tx:
            tx.execute(locks, {"name": "server-00"})
            ticks = pool.submit(mover.tick, mover.policy.step_s_max + 1)
            wait_for_a_lock(database, ticks.done)
            tx.execute(locks, {"name": "server-05"})
        assert ticks.result().failed == 2
    assert {move.status for move in mover.moves()} == {MoveStatus.FAILED}
