"""The waves of a plan are what the mover then does, on a real database."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from libs.actuators.actuator import StepState
from libs.domain.move import MoveStep
from libs.ras.waves.report import report_waves
from libs.ras.waves.steps import DEFAULT_STEP_S
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.moves.moving_state import SAMPLES_MIN, load_moving_state
from libs.store.platform.database import Database
from tests.builders.clock import ManualClock
from tests.builders.mover import SPECS, Mover
from tests.builders.region import names, region_image
from tests.builders.stored import stored


def foretold(database: Database, granted: dict[str, float] | None = None) -> dict[str, Any]:
    """granted: reservation -> RRU, where less was granted than is asked for."""
    with database.snapshot() as tx:
        snapshot, state = load_fleet_snapshot(tx, "west"), load_moving_state(tx, "west")
    if granted is not None:
        q = snapshot.reservations
        promised = [granted.get(name, rru) for name, rru in zip(q.name, q.capacity_rru, strict=True)]
        snapshot = replace(snapshot, promised_rru=np.array(promised))
    return report_waves(snapshot, snapshot.servers.target, state)


def mover_of(database: Database, clock: ManualClock, **image: Any) -> Mover:
    stored(database, region_image(reservations=SPECS, **image))
    return Mover(database, clock)


def test_a_departure_is_foretold_after_the_arrival_that_allows_it(database: Database, clock: ManualClock) -> None:
    """web survives the loss of an MSB with one server in each of two: it gives server-00 once server-05 has joined."""
    web = {"server-00": "web", "server-04": "web"}
    mover = mover_of(
        database, clock, msbs=3, current=web, target={"server-08": "web", "server-04": "web", "server-00": "db"}
    )
    report = foretold(database)
    assert report["message"] == "2 waves, about 7 min, no reservation falls below its promise"
    assert [(wave["moves"], wave["at_hold"]) for wave in report["each"]] == [(1, 0), (1, 0)]
    whole = (MoveStep.PREEMPT, MoveStep.CLEAN, MoveStep.HOST_PROFILE, MoveStep.JOIN)
    second = report["each"][1]["seconds"]
    assert second == sum(DEFAULT_STEP_S[step] for step in whole) + 5, "db has another host profile"
    assert {row["reservation"]: row["first_wave"] for row in report["reservations"]} == {"web": 2, "db": None}
    mover.settle()
    joined = {move.server: move.created_at for move in mover.moves()}
    assert joined["server-08"] < joined["server-00"]
    assert foretold(database)["message"] == "no server has to move"


def test_what_needs_an_approval_is_named_with_what_would_be_short(database: Database, clock: ManualClock) -> None:
    mover_of(
        database,
        clock,
        msbs=1,
        racks_per_msb=1,
        servers_per_rack=2,
        current={"server-00": "web", "server-01": "db"},
        target={"server-00": "db", "server-01": "web"},
    )
    report = foretold(database)
    assert report["message"] == (
        "no move can go without an approval; 2 moves need an approval, about 10 min: "
        "web 1 RRU below its promise for 10 min"
    )
    rows = {row["reservation"]: row for row in report["reservations"]}
    assert {name: (row["needs_approval"], row["below_promise_rru"]) for name, row in rows.items()} == {
        "web": (1, 1.0),
        "db": (1, 0.0),
    }


@pytest.mark.parametrize(
    ("granted", "below"),
    [
        ({"web": 0.75}, "web 0.75 RRU below what was granted of it"),
        ({"web": 0.0, "db": 0.0}, "web 1 RRU below its request"),
    ],
)
def test_a_request_that_waits_falls_below_no_promise(
    database: Database, clock: ManualClock, granted: dict[str, float], below: str
) -> None:
    current, target = {"server-00": "web", "server-01": "db"}, {"server-00": "db", "server-01": "web"}
    mover_of(database, clock, msbs=1, racks_per_msb=1, servers_per_rack=2, current=current, target=target)
    message = foretold(database, granted)["message"]
    assert message == f"no move can go without an approval; 2 moves need an approval, about 10 min: {below} for 10 min"


def test_loans_are_foretold_and_then_made(database: Database, clock: ManualClock) -> None:
    """Each of web and db survives the loss of an MSB with just what it has. Eight servers are free."""
    current = {"server-00": "web", "server-04": "web", "server-05": "db", "server-08": "db"}
    swap = {"server-00": "db", "server-04": "web", "server-05": "db", "server-08": "web"}
    mover = mover_of(database, clock, msbs=3, current=current, target=swap)
    report = foretold(database)
    assert report["message"] == (
        "2 waves, about 11 min, no reservation falls below its promise; 2 idle servers are lent to db, web for up to "
        "14 min"
    )
    assert [(wave["moves"], wave["lent"], wave["at_hold"]) for wave in report["each"]] == [(0, 2, 0), (2, 0, 0)]
    rows = {row["reservation"]: row for row in report["reservations"]}
    assert {name: (row["lent"], row["keeps"], row["below_survive_s"]) for name, row in rows.items()} == {
        "web": (1, 0, 0.0),
        "db": (1, 0, 0.0),
    }
    for _ in range(40):
        mover.tick(60)
        then = foretold(database)
        assert then["needs_approval"] == 0
        assert then["lent"] <= 2, "a server that is lent already is not foretold again"
    lent = [move for move in mover.moves() if move.is_spare]
    assert sorted(str(move.to_reservation) for move in lent) == ["db", "web"]
    assert foretold(database)["message"] == "no server has to move"


def test_a_running_move_needs_only_the_steps_that_remain(database: Database, clock: ManualClock) -> None:
    mover = mover_of(
        database,
        clock,
        current={"server-00": "web", "server-04": "web", "server-01": "web"},
        target={"server-04": "web", "server-01": "web", "server-00": "db"},
    )
    mover.tick()
    mover.actuator.say = lambda step: StepState.DONE if step.step is MoveStep.PREEMPT else StepState.RUNNING
    mover.tick()
    mover.tick()
    (wave,) = foretold(database)["each"]
    remaining = (MoveStep.CLEAN, MoveStep.HOST_PROFILE, MoveStep.JOIN)
    assert wave == {
        "moves": 1,
        "at_hold": 0,
        "below_hold": 0,
        "lent": 0,
        "seconds": sum(DEFAULT_STEP_S[step] for step in remaining) + 5,
    }


def test_steps_that_were_measured_take_as_long_again(database: Database, clock: ManualClock) -> None:
    """Each step takes a tick of 60 s here. Before enough have been measured, the defaults count."""
    joins = dict.fromkeys(names("server", SAMPLES_MIN - 1), "web")
    mover = mover_of(database, clock, servers_per_rack=2 * SAMPLES_MIN, target=joins)
    mover.settle()
    mover.retarget(server_20="web")
    assert foretold(database)["seconds"] == DEFAULT_STEP_S[MoveStep.JOIN] + 5
    mover.settle()
    mover.retarget(server_21="web")
    assert foretold(database)["seconds"] == 60 + 5
