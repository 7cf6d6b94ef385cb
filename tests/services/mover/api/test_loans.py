"""`/v1/loans` lists what is lent to whom, since when and until when."""

from datetime import timedelta

from libs.domain.reservation import ReservationSpec
from libs.domain.spare import LOAN_S_MAX
from libs.store.platform.database import Database
from tests.builders.clock import ManualClock
from tests.builders.mover import Mover, http
from tests.builders.region import region_image
from tests.builders.stored import stored

ONE = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})
CURRENT = {"server-00": "web", "server-04": "web", "server-05": "db", "server-08": "db"}
SWAP = {"server-00": "db", "server-04": "web", "server-05": "db", "server-08": "web"}


def test_the_list_has_the_borrower_the_home_and_the_times(database: Database, clock: ManualClock) -> None:
    stored(database, region_image(msbs=3, reservations={"web": ONE, "db": ONE}, current=CURRENT, target=SWAP))
    mover = Mover(database, clock)
    client = http(mover)
    assert client.get("/v1/loans").json() == {"items": [], "next_cursor": None}
    lent_at = None
    while not (items := client.get("/v1/loans", params={"region": "west", "limit": 1}).json())["items"]:
        mover.tick()
        lent_at = clock.now()
    (first,) = items["items"]
    assert lent_at is not None
    assert (first["region"], first["home"], first["recalled_at"], first["state"]) == ("west", None, None, "joining")
    assert first["since"] == lent_at.isoformat().replace("+00:00", "Z")
    assert first["until"] == (lent_at + timedelta(seconds=LOAN_S_MAX)).isoformat().replace("+00:00", "Z")
    (second,) = client.get("/v1/loans", params={"cursor": items["next_cursor"]}).json()["items"]
    assert {first["reservation"], second["reservation"]} == {"web", "db"}
    (of_web,) = client.get("/v1/loans", params={"reservation": "web"}).json()["items"]
    assert of_web in (first, second)
    assert client.get("/v1/loans", params={"region": "east"}).status_code == 404
    for noun, field in (("loans", "reservation"), ("waits", "reservation"), ("moves", "server")):
        (error,) = client.get(f"/v1/{noun}", params={field: "wbe"}).json()["errors"]
        assert (error["field"], error["code"]) == (field, "unknown_name")


def test_operators_bound_loans_and_a_limit_is_bounded_too(database: Database, clock: ManualClock) -> None:
    stored(database, region_image(reservations={"web": ONE}))
    client = http(Mover(database, clock))
    for wrong in (59, 7 * 86400 + 1, "long"):
        answer = client.patch("/v1/movers/west", json={"loan_s_max": wrong}, headers={"If-Match": '"1"'})
        assert answer.status_code == 422
        assert "loan_s_max" in answer.text
    answer = client.patch("/v1/movers/west", json={"loan_s_max": 7200}, headers={"If-Match": '"1"'})
    assert (answer.status_code, answer.json()["loan_s_max"]) == (200, 7200.0)
