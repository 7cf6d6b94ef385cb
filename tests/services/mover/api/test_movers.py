"""Operators pause a region's moves, and set their bounds."""

from libs.actuators.actuator import StepOutcome, StepState
from libs.domain.move import MoveStatus, MoveStep
from libs.domain.principal import Role
from libs.simulator.fleet import made_up_fleet
from libs.store.moves.movers import pause_mover, resume_mover
from libs.store.regions.region_import import import_region
from tests.builders.mover import Mover, http


def test_paused_no_step_begins_and_the_pause_counts_against_none(mover: Mover) -> None:
    mover.tick()
    mover.actuator.say = lambda step: StepOutcome(state=StepState.RUNNING)
    mover.tick()
    client = http(mover)
    paused = client.post("/v1/movers/west/pause", json={"reason": "power work"}).json()
    assert paused["paused_reason"] == "power work"
    region = client.get("/v1/regions/west").json()
    (moving,) = [c for c in region["conditions"] if c["type"] == "Moving"]
    assert (moving["status"], moving["reason"]) == ("False", "Paused")
    assert "power work" in moving["message"]
    mover.tick()
    assert len(mover.actuator.asked) == 2, "what had begun goes on"
    mover.actuator.say = lambda step: StepOutcome(state=StepState.DONE)
    for _ in range(5):
        mover.tick(1000.0)
    assert [step.step for step in mover.actuator.asked] == [MoveStep.PREEMPT] * 3, "and the next one does not begin"
    mover.retarget(server_01="web")
    assert mover.tick().started == 0
    mover.actuator.say = lambda step: StepOutcome(state=StepState.RUNNING)
    assert client.post("/v1/movers/west/resume", json={"reason": "done"}).json()["paused_at"] is None
    mover.tick()
    assert mover.moves("server-00")[0].attempt == 1
    mover.actuator.say = lambda step: StepOutcome(state=StepState.DONE)
    mover.settle()
    assert mover.server("server-00").current_reservation == "db"
    assert mover.server("server-01").current_reservation == "web"


def test_a_paused_move_that_is_not_wanted_any_more_is_cancelled(mover: Mover) -> None:
    mover.tick()
    with mover.database.write() as tx:
        pause_mover(tx, "west", reason="x", actor="olga", now=mover.clock.now())
    mover.tick()
    mover.retarget(server_00=None)
    mover.tick()
    (move,) = mover.moves()
    assert (move.status, move.reason) == (MoveStatus.CANCELLED, "target_changed")
    with mover.database.write() as tx:
        resume_mover(tx, "west", reason="x", actor="olga", now=mover.clock.now())


def test_operators_set_bounds_by_generation(mover: Mover) -> None:
    client = http(mover)
    read = client.get("/v1/movers/west")
    assert (read.json()["moves_max"], read.headers["ETag"]) == (None, '"1"')
    change = {"msb_moves_max": 5, "msb_share_max": 0.5}
    assert client.patch("/v1/movers/west", json=change).status_code == 428
    done = client.patch("/v1/movers/west", json=change, headers={"If-Match": '"1"'})
    assert (done.status_code, done.json()["msb_moves_max"]) == (200, 5)
    assert client.patch("/v1/movers/west", json=change, headers={"If-Match": '"1"'}).status_code == 409
    taken_back = client.patch("/v1/movers/west", json={"msb_moves_max": None}, headers=done_etag(done))
    assert (taken_back.json()["msb_moves_max"], taken_back.json()["msb_share_max"]) == (None, 0.5)
    for wrong in ({"moves_max": 0}, {"msb_share_max": 1.5}, {"unknown": 1}):
        assert client.patch("/v1/movers/west", json=wrong, headers=done_etag(taken_back)).status_code == 422
    assert client.get("/v1/movers/nowhere").status_code == 404
    assert http(mover, Role.VIEWER).post("/v1/movers/west/pause", json={"reason": "x"}).status_code == 403


def done_etag(response: object) -> dict[str, str]:
    return {"If-Match": response.headers["ETag"]}  # type: ignore[attr-defined]


def test_every_region_has_a_mover_in_the_list_also_one_that_nobody_set(mover: Mover) -> None:
    client = http(mover)
    client.post("/v1/movers/west/pause", json={"reason": "power work"})
    with mover.database.write() as tx:
        import_region(tx, made_up_fleet("east", servers=12, msbs=5), actor="olga", now=mover.clock.now())
    first = client.get("/v1/movers", params={"limit": 1}).json()
    assert first["items"] == [client.get("/v1/movers/west").json()]
    assert first["items"][0]["paused_reason"] == "power work"
    second = client.get("/v1/movers", params={"limit": 1, "cursor": first["next_cursor"]}).json()
    assert second == {"items": [client.get("/v1/movers/east").json()], "next_cursor": None}
    assert client.get("/v1/movers", params={"region": "east"}).json() == second
    assert client.get("/v1/movers", params={"region": "none"}).status_code == 404
