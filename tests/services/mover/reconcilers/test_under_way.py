"""The time at which servers on their way are expected is that of the waves, and what has no time is named."""

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from libs.actuators.actuator import StepState
from libs.domain.move import MoveStep
from libs.ras.waves.report import report_waves
from libs.ras.waves.steps import DEFAULT_STEP_S
from libs.ras.waves.under_way import under_way
from libs.ras.waves.wave_time import TICK_S
from libs.store.capacity.reservations import load_reservation
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.moves.movers import pause_mover
from libs.store.moves.moving_state import load_moving_state
from libs.store.moves.under_way import load_moves_under_way
from libs.store.platform.database import Database
from tests.builders.clock import ManualClock
from tests.builders.mover import SPECS, Mover, bound
from tests.builders.region import region_image
from tests.builders.stored import read, reservation_id, stored

FREE_TO_WEB_S = DEFAULT_STEP_S[MoveStep.JOIN]
WHOLE_S = sum(DEFAULT_STEP_S[step] for step in MoveStep if step is not MoveStep.ABORT)


def mover_of(database: Database, clock: ManualClock, **image: Any) -> Mover:
    stored(database, region_image(reservations=SPECS, **image))
    return Mover(database, clock)


def seen(mover: Mover, name: str) -> Any:
    own = reservation_id(read(mover.database), name)
    with mover.database.snapshot() as tx:
        moves = load_moves_under_way(tx, load_reservation(tx, own))
    return None if moves is None else under_way(moves, own, mover.clock.now())


def test_nothing_is_under_way(database: Database, clock: ManualClock) -> None:
    assert seen(mover_of(database, clock, current={"server-00": "web"}, target={"server-00": "web"}), "web") is None


@pytest.mark.parametrize("moves_max", [None, 2])
def test_servers_to_start_are_expected_at_the_end_of_the_first_wave(
    database: Database, clock: ManualClock, moves_max: int | None
) -> None:
    mover = mover_of(database, clock, msbs=3, target={f"server-{n:02}": "web" for n in (0, 1, 4, 5, 8)})
    bound(mover, moves_max=moves_max)
    with database.snapshot() as tx:
        snapshot, state = load_fleet_snapshot(tx, "west"), load_moving_state(tx, "west")
    waves: Any = report_waves(snapshot, snapshot.servers.target, state)
    found = seen(mover, "web")
    assert found is not None
    assert found.leaving is None
    assert (found.arriving.servers, found.arriving.waiting) == (5, 0)
    assert found.arriving.expected_at == mover.clock.now() + timedelta(seconds=waves["seconds"])
    assert found.arriving.not_before == found.arriving.expected_at
    assert "5 servers are on their way to it: by about 20" in found.message
    assert seen(mover, "db") is None


def test_a_running_step_counts_from_its_start_until_it_takes_far_longer_than_usual(
    database: Database, clock: ManualClock
) -> None:
    mover = mover_of(
        database,
        clock,
        current={"server-00": "web", "server-01": "web"},
        target={"server-00": "db", "server-01": "web"},
    )
    mover.actuator.say = lambda step: StepState.RUNNING
    began = mover.clock.now() + timedelta(seconds=1)
    mover.tick()
    for passed_s in (0, 40):
        mover.clock.sleep(passed_s)
        found = seen(mover, "db")
        assert found.arriving.expected_at == began + timedelta(seconds=WHOLE_S)
        assert seen(mover, "web").leaving.expected_at == found.arriving.expected_at
    mover.clock.sleep(3 * DEFAULT_STEP_S[MoveStep.PREEMPT])
    found = seen(mover, "db")
    assert (found.arriving.waiting, found.arriving.expected_at, found.arriving.not_before) == (1, None, None)
    assert "because of 1 server with a step that takes more than 3 times as long as usual." in found.message


def test_a_server_that_cannot_be_spared_has_no_time_but_a_cause(database: Database, clock: ManualClock) -> None:
    """web survives the loss of an MSB with one server in each of two: it gives server-00 once server-08 has joined."""
    web = {"server-00": "web", "server-04": "web"}
    mover = mover_of(
        database,
        clock,
        msbs=3,
        current=web,
        target={"server-08": "web", "server-04": "web", "server-00": "db", "server-09": "db"},
    )
    mover.actuator.say = lambda step: StepState.RUNNING
    mover.tick()
    db, web_seen = seen(mover, "db").arriving, seen(mover, "web")
    assert (db.servers, db.waiting, db.expected_at) == (2, 1, None)
    assert db.causes == ("1 server that web cannot spare yet: it waits for servers: 1 on their way to it",)
    joins_s = DEFAULT_STEP_S[MoveStep.HOST_PROFILE] + DEFAULT_STEP_S[MoveStep.JOIN]
    assert db.not_before == mover.clock.now() + timedelta(seconds=joins_s)
    assert "The time of the last one is not known, because of 1 server that web cannot spare yet" in db.message
    assert web_seen.arriving.expected_at is not None
    assert (web_seen.leaving.waiting, web_seen.leaving.not_before) == (1, None)
    assert "It is not before" not in web_seen.leaving.message
    mover.actuator.say = lambda step: StepState.DONE
    mover.settle()
    assert seen(mover, "db") is None
    assert seen(mover, "web") is None


def test_servers_that_are_down_and_a_pause_are_causes(database: Database, clock: ManualClock) -> None:
    mover = mover_of(database, clock, target={"server-00": "web", "server-01": "web"})
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET unavailability = 'unplanned' WHERE name = 'server-01'"))
    found = seen(mover, "web").arriving
    assert found.causes == ("1 server down or in maintenance",)
    assert found.not_before == mover.clock.now() + timedelta(seconds=TICK_S + FREE_TO_WEB_S)
    with database.write() as tx:
        pause_mover(tx, "west", reason="power work", actor="olga", now=mover.clock.now())
    found = seen(mover, "web").arriving
    assert (found.waiting, found.not_before, found.causes) == (2, None, ("the pause of the mover (power work)",))
