"""Test bounds on running moves per MSB, and replacements beyond them."""

from dataclasses import replace

from libs.actuators.actuator import StepState
from libs.domain.move import MoveStatus
from libs.store.platform.database import Database
from tests.builders.clock import ManualClock
from tests.builders.mover import SPECS, Mover, bound
from tests.builders.region import region_image
from tests.builders.stored import stored


def test_bounds_per_msb_hold_for_every_move(database: Database, clock: ManualClock) -> None:
    servers = [f"server-{i:02d}" for i in range(40)]
    stored(database, region_image(servers_per_rack=20, reservations=SPECS, target=dict.fromkeys(servers, "web")))
    mover = Mover(database, clock)
    bound(mover, msb_moves_max=3)
    assert mover.tick().started == 6
    bound(mover, msb_starts_per_minute=4)
    assert mover.tick().started == 2, "three of four have started in each this minute"
    assert mover.tick().started == 0
    assert mover.tick(61.0).started == 8
    bound(mover, moves_max=1)
    mover.settle()
    assert len(mover.moves()) == 40


def test_replacements_start_before_and_beyond_everything_else(database: Database, clock: ManualClock) -> None:
    servers = [f"server-{i:02d}" for i in range(20)]
    image = region_image(
        servers_per_rack=20,
        reservations={**SPECS, "spare": SPECS["web"]},
        kind={"spare": "shared_buffer"},
        current={**dict.fromkeys(servers[10:], "web"), "server-05": "spare", "server-06": "spare"},
        target={**dict.fromkeys(servers, "web"), "server-06": "spare"} | dict.fromkeys(servers[10:], "db"),
    )
    stored(database, image)
    mover = Mover(database, clock)
    mover.policy = replace(mover.policy, moves_max=2, msb_share_max=0.01)
    mover.actuator.say = lambda step: StepState.RUNNING
    mover.tick()
    assert "server-05" in {move.server for move in mover.moves()}
    mover.retarget(server_06="web")
    mover.tick(0.0)
    running = [move.server for move in mover.moves() if move.status is MoveStatus.RUNNING]
    assert "server-06" in running
    assert len(running) == 3, "one more than may be under way"
