"""`/v1/regions/{region}/replacements` pairs each lost server with its spare one, and times it."""

from datetime import timedelta

import pytest

from libs.domain.replacement import LossVerdict
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.store.fleet.unavailability_events import open_event
from libs.store.platform.database import Database
from services.mover.reconcilers.draw_replacements import DrawReplacements
from tests.builders.clock import ManualClock
from tests.builders.mover import Mover, http
from tests.builders.region import region_image
from tests.builders.stored import read, stored, targets

SPECS = {
    "web": ReservationSpec(capacity_rru=6, rru={"hw-a": 1.0}, survives_msb_loss=False),
    "spare": ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False),
}
CURRENT = {f"server-{i:02d}": "web" for i in (0, 1, 2, 3, 8, 9)} | {"server-10": "spare", "server-11": "spare"}


@pytest.fixture
def mover(database: Database, clock: ManualClock) -> Mover:
    stored(
        database, region_image(racks_per_msb=2, reservations=SPECS, current=CURRENT, kind={"spare": "shared_buffer"})
    )
    return Mover(database, clock)


def fail(mover: Mover, scope: UnavailabilityScope, name: str) -> None:
    now = mover.clock.now()
    with mover.database.write() as tx:
        open_event(
            tx,
            "west",
            scope=scope,
            scope_name=name,
            kind=Unavailability.UNPLANNED,
            reason="test",
            starts_at=now,
            ends_at=None,
            actor="health",
            now=now,
        )


def test_a_replacement_is_timed_from_the_failure_until_the_spare_server_joins(mover: Mover, clock: ManualClock) -> None:
    client = http(mover)

    def read(hours: int = 24) -> dict:
        answer = client.get("/v1/regions/west/replacements", params={"hours": hours})
        assert answer.status_code == 200
        return answer.json()

    assert {name: read()[name] for name in ("drawn", "joined", "median_s", "most_s", "latest")} == {
        "drawn": 0,
        "joined": 0,
        "median_s": None,
        "most_s": None,
        "latest": [],
    }
    failed_at = clock.now()
    fail(mover, UnavailabilityScope.RACK, "rack-00")
    clock.sleep(20)
    DrawReplacements(mover.database, clock, "west").reconcile()
    found = read()
    assert (found["drawn"], found["joined"], found["median_s"]) == (2, 0, None)
    pairs = {(one["server"], one["spare"], one["reservation"], one["msb"]) for one in found["latest"]}
    assert {spare for _, spare, _, _ in pairs} == {"server-10", "server-11"}
    assert {rest for _, _, *rest in map(list, pairs) for rest in [tuple(rest)]} == {("web", "msb-00")}
    mover.settle()
    found = read()
    assert (found["drawn"], found["joined"]) == (2, 2)
    for one in found["latest"]:
        (move,) = [m for m in mover.moves(one["spare"]) if m.to_reservation == "web"]
        assert move.finished_at is not None
        assert one["joined_at"] == move.finished_at.isoformat().replace("+00:00", "Z")
        assert one["failed_at"] == failed_at.isoformat().replace("+00:00", "Z")
        assert found["median_s"] == found["most_s"] == (move.finished_at - failed_at).total_seconds()
    clock.sleep(timedelta(hours=3).total_seconds())
    assert (read(1)["drawn"], read(24)["drawn"]) == (0, 2)


def test_a_spare_server_that_goes_back_is_no_replacement(database: Database, clock: ManualClock) -> None:
    """web survives the loss of an MSB. So it needs no spare server once all of the MSB is lost."""
    web = dict.fromkeys((f"server-{i:02d}" for i in (0, 1, 4, 5, 8, 9, 12, 13)), "web")
    specs = {**SPECS, "web": ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0})}
    spares = {"server-10": "spare", "server-11": "spare"}
    image = region_image(racks_per_msb=2, reservations=specs, current=web | spares, kind={"spare": "shared_buffer"})
    stored(database, image)
    mover = Mover(database, clock)
    fail(mover, UnavailabilityScope.SERVER, "server-00")
    clock.sleep(1)
    assert DrawReplacements(database, clock, "west").reconcile() == {LossVerdict.DRAWN: 1}
    fail(mover, UnavailabilityScope.MSB, "msb-00")
    clock.sleep(1)
    DrawReplacements(database, clock, "west").reconcile()
    assert targets(read(database))["server-00"] == "web", "it has its server back"
    found = http(mover).get("/v1/regions/west/replacements").json()
    assert [(one["server"], one["reservation"]) for one in found["latest"]] == [("server-00", "web")]
    assert found["drawn"] == 1


def test_hours_are_bounded_and_the_region_must_exist(mover: Mover) -> None:
    client = http(mover)
    for wrong in (0, 24 * 30 + 1, "many"):
        refused = client.get("/v1/regions/west/replacements", params={"hours": wrong})
        assert (refused.status_code, "hours" in refused.text) == (422, True)
    assert client.get("/v1/regions/nowhere/replacements").status_code == 404
