"""A host profile that changes on a live reservation reaches its servers, few at a time, and within the promise."""

from dataclasses import replace

import sqlalchemy as sa

from libs.actuators.actuator import StepRequest, StepState
from libs.domain.move import MoveStatus, MoveStep
from libs.domain.reservation import ReservationSpec
from libs.store.capacity.reservations import load_reservation, update_spec
from libs.store.platform.database import Database
from tests.builders.clock import ManualClock
from tests.builders.mover import Mover
from tests.builders.region import region_image
from tests.builders.stored import read, reservation_id, stored

ONE = {"hw-a": 1.0}
NOW_SO = sa.text("""
    SELECT count(*) FILTER (WHERE current_reservation_id = target_reservation_id) AS held,
           count(*) FILTER (WHERE servers.host_profile = 'huge') AS changed,
           (SELECT count(*) FROM moves WHERE status = 'running') AS moving
    FROM servers JOIN reservations ON reservation_id = target_reservation_id WHERE reservations.name = :name""")


def change_profile(database: Database, name: str, to: str = "huge") -> None:
    of = reservation_id(read(database), name)
    with database.write() as tx:
        found = load_reservation(tx, of)
        update_spec(tx, of, replace(found.spec, host_profile=to), generation=found.generation)


def seen_while_it_changes(mover: Mover, name: str) -> list[sa.Row]:
    """Return what holds after each tick, until nothing happens."""
    seen = []
    for _ in range(200):
        report = mover.tick(10.0)
        with mover.database.snapshot() as tx:
            seen.append(tx.execute(NOW_SO, {"name": name}).one())
        if not (report.started or report.asked):
            return seen
    raise AssertionError("it goes on for ever")


def test_servers_change_their_profile_one_after_the_other_within_the_promise(
    database: Database, clock: ManualClock
) -> None:
    current = {f"server-{i:02d}": "web" for i in (0, 1, 4, 5)} | {"server-02": "db"}
    web = ReservationSpec(capacity_rru=3, rru=ONE, survives_msb_loss=False)
    stored(database, region_image(reservations={"web": web, "db": replace(web, capacity_rru=1)}, current=current))
    mover = Mover(database, clock)
    assert seen_while_it_changes(mover, "web")[-1].changed == 0
    change_profile(database, "web")
    seen = seen_while_it_changes(mover, "web")
    assert min(row.held for row in seen) == 3, "the promise, and one server at a time"
    assert (seen[-1].held, seen[-1].changed) == (4, 4)
    steps = {tuple(step.value for step in move.steps) for move in mover.moves()}
    assert steps == {("preempt", "clean", "host_profile", "join")}
    assert not mover.moves("server-02"), "other reservations stay as they are"


def test_a_quarter_of_the_spare_servers_changes_at_a_time(database: Database, clock: ManualClock) -> None:
    spares = {f"server-{i:02d}": "spare" for i in range(8)}
    spare = ReservationSpec(capacity_rru=8, rru=ONE, survives_msb_loss=False)
    image = region_image(reservations={"spare": spare}, current=spares, kind={"spare": "shared_buffer"})
    stored(database, image)
    mover = Mover(database, clock)
    change_profile(database, "spare")
    seen = seen_while_it_changes(mover, "spare")
    assert max(row.moving for row in seen) == 2
    assert (seen[-1].held, seen[-1].changed) == (8, 8)
    assert {tuple(step.value for step in move.steps) for move in mover.moves()} == {("host_profile",)}


def test_no_server_leaves_for_a_profile_that_was_taken_back(database: Database, clock: ManualClock) -> None:
    current = dict.fromkeys(("server-00", "server-01", "server-04", "server-05"), "web")
    web = ReservationSpec(capacity_rru=3, rru=ONE, survives_msb_loss=False)
    stored(database, region_image(reservations={"web": web}, current=current))
    mover = Mover(database, clock)
    change_profile(database, "web")
    assert mover.tick().started == 1
    change_profile(database, "web", web.host_profile)
    assert mover.tick().cancelled == 1
    (move,) = mover.moves()
    assert (move.status, move.reason) == (MoveStatus.CANCELLED, "target_changed")
    assert mover.actuator.asked == []


def test_a_server_has_the_profile_that_its_step_was_asked_for(database: Database, clock: ManualClock) -> None:
    web = ReservationSpec(capacity_rru=1, rru=ONE, survives_msb_loss=False, host_profile="small")
    kept = {"server-01": "web"}  # so that it can spare server-00
    target = kept | {"server-00": "web"}
    stored(database, region_image(reservations={"web": web}, current=kept, target=target))
    mover, done = Mover(database, clock), dict[str, str | None]()

    def say(step: StepRequest) -> StepState:
        """Set a server up by the first request for a step, as a receiver does, and say so at the second one."""
        if (step.server, step.step) != ("server-00", MoveStep.HOST_PROFILE) or f"{step.move_id}" in done:
            return StepState.DONE
        done[f"{step.move_id}"] = step.to_host_profile
        return StepState.RUNNING

    mover.actuator.say = say
    while not done:
        mover.tick()
    change_profile(database, "web")
    mover.tick()
    assert list(done.values()) == ["small"]
    assert mover.server("server-00").host_profile == "small"
    mover.settle()
    assert list(done.values()) == ["small", "huge"]
    assert mover.server("server-00").host_profile == "huge"
    by_step = {(step.move_id, step.step, step.to_host_profile) for step in mover.actuator.asked}
    assert len({key[:2] for key in by_step}) == len(by_step), "each step names one profile"
