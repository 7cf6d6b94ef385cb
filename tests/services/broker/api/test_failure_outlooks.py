"""Ask what failures may do: the answers to questions that have none."""

from datetime import timedelta

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.reservation import ReservationSpec
from libs.domain.words import moment
from libs.reconcile.clock import SystemClock
from libs.store.capacity.reservations import create_reservation
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from tests.builders.region import region_image
from tests.builders.stored import stored


@pytest.mark.parametrize(
    ("path", "field"), [("chances", "days"), ("drain-schedule", "hours_each"), ("drain-schedule", "within_hours")]
)
def test_a_number_that_is_none_is_refused_as_such(viewer: TestClient, imported: None, path: str, field: str) -> None:
    answer = viewer.get(f"/v1/regions/west/{path}", params={field: "nan"})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["field"], error["message"]) == (422, field, "must be a finite number")


def test_chances_say_which_losses_they_leave_out(viewer: TestClient, database: Database) -> None:
    path, alone = "/v1/regions/west/chances", "Only losses of MSBs count: other domains have no known rate of losses."
    blocks = {"network_block": {"server-00": "block-0"}, "power_row": {"server-00": "row-0"}}
    stored(database, region_image("west", domains=blocks))
    assert viewer.get(path).json()["covers"] == f"{alone} The loss of a network_block or power_row does not count."
    with database.write() as tx:
        tx.execute(sa.text("DELETE FROM server_domains"))
    assert viewer.get(path).json()["covers"] == alone


def test_what_has_not_begun_has_no_chance(viewer: TestClient, imported: None, database: Database) -> None:
    now = SystemClock().now()
    spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, starts_at=now + timedelta(days=9))
    with database.write() as tx:
        region_id = load_region(tx, "west").region_id
        create_reservation(tx, region_id, name="later", owner="team", spec=spec, now=now, scheduled=True)
        create_reservation(tx, region_id, name="spare", owner="us", spec=spec, now=now)
        tx.execute(sa.text("UPDATE reservations SET kind = 'shared_buffer' WHERE name = 'spare'"))
    listed = [one["reservation"] for one in viewer.get("/v1/regions/west/chances").json()["items"]]
    assert listed == ["web"]
    for name, code, said in (
        ("later", "not_begun", f"later has not begun, and begins at {moment(spec.starts_at)}"),
        ("spare", "not_for_this", "`spares` says how"),
    ):
        answer = viewer.get("/v1/regions/west/chances", params={"reservation": name})
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["field"], error["code"]) == (422, "reservation", code)
        assert said in error["message"]
    [error] = viewer.get("/v1/regions/west/chances", params={"reservation": "nope"}).json()["errors"]
    assert (error["field"], error["location"], error["known"]) == ("reservation", "query", ["web"])
