"""Regions of other installations tell their supply and their promises by their portals."""

import json
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from libs.carriers.calls import CallLimits
from libs.carriers.portal_addresses import Portals, TokenError
from libs.domain.plan_run import PlanRunStatus, PlanTrigger
from libs.domain.principal import Role
from libs.domain.reservation import ReservationSpec
from libs.domain.retirement import RetirementKind, RetirementScope
from libs.reconcile.call_retries import Backoff, Retries
from libs.store.fleet.retirements import announce_retirement
from libs.store.planner.plan_runs import create_plan_run
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.broker.api import region_supply
from services.cli.flux.offline import make_plan
from services.planner.reconcilers.schedule_plan_runs import SchedulePlanRuns
from services.planner.remote_regions import RegionQuestion, RegionsUnknown, RemoteRegions
from services.portal.api import reservations
from tests.builders.granted import ask as ask_portal
from tests.builders.http_system import HttpSystem
from tests.builders.planning_inputs import put, put_world
from tests.builders.region import region_image
from tests.builders.stored import stored
from tests.libs.web.conftest import bearer
from tests.services.planner.conftest import DAY_ZERO, FixedClock, look

WINDOW_END = DAY_ZERO + timedelta(2)
RETRIES = Retries(attempts_max=3, backoff=Backoff(0.0), timeout_s=5.0)
SECRET = "tell-nobody-0123456789"
RESERVATION = {"name": "web", "region": "east", "spec": {"capacity_rru": 5.0}, "status": {"phase": "granted"}}
"""As an older portal tells it, without `granted_rru`."""


class Portal:
    """The portal of `east` in another installation. `fails` are answers that come first."""

    def __init__(self, say):
        self.fails, self._say = [], say

    def __call__(self, asked):
        return self.fails.pop(0) if self.fails else self._say(asked)


def fake(asked):
    url = urlsplit(asked.path)
    query = {name: value for name, [value] in parse_qs(url.query).items()}
    if url.path == "/v1/regions/east/supply":
        return 200, {"region": "east", "hardware_types": [], "at": query["at"], "retired_until": query["retired_until"]}
    assert url.path == "/v1/reservations"
    if "cursor" not in query:
        return 200, {"items": [RESERVATION], "next_cursor": "second page"}
    later = RESERVATION | {"name": "later", "status": {"phase": "scheduled", "granted_rru": 5.0}}
    waits = RESERVATION | {"name": "waits", "status": {"phase": "degraded", "granted_rru": 2.0}}
    new = RESERVATION | {"name": "new", "status": {"phase": "degraded", "granted_rru": 0.0}}
    return 200, {"items": [RESERVATION | {"name": "db"}, later, waits, new], "next_cursor": None}


@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text(SECRET + "\n")
    return path


@pytest.fixture
def regions_at(token):
    """A function that returns the regions behind an address."""

    def regions_at(url, timeout_s=5.0):
        portals = Portals.model_validate({"regions": {"east": {"url": url, "token_file": token}}})
        return RemoteRegions(portals.regions, CallLimits(timeout_s=timeout_s), RETRIES)

    return regions_at


WEEK = timedelta(7)
QUESTION = RegionQuestion(
    regions=frozenset({"east"}), starts=(WINDOW_END, WINDOW_END + WEEK), step=WEEK, now=WINDOW_END
)


@pytest.fixture
def other_database(other_database_url):
    database = Database(other_database_url)
    yield database
    database.close()


def test_all_pages_are_read_and_what_is_not_promised_yet_is_left_out(regions_at):
    with HttpSystem(Portal(fake)) as system:
        found = regions_at(system.url).read(QUESTION)
    assert found["east"].promised_rru == {"web": 5.0, "db": 5.0, "waits": 2.0, "new": 0.0}
    assert found["east"].supply == ((), ())
    assert {asked.headers["Authorization"] for asked in system.asked} == {f"Bearer {SECRET}"}


def test_a_late_plan_asks_for_no_time_in_the_past(regions_at):
    """A portal refuses it, because it knows the supply of now and of later times only."""
    late = WINDOW_END + timedelta(9)
    with HttpSystem(Portal(fake)) as system:
        regions_at(system.url).read(replace(QUESTION, now=late))
    asked = [parse_qs(urlsplit(one.path).query) for one in system.asked if "supply" in one.path]
    times = [(one["at"], one["retired_until"]) for one in asked]
    assert times == [([late.isoformat()], [until.isoformat()]) for until in (late, WINDOW_END + 2 * WEEK)]


@pytest.mark.parametrize("fails", [[(500, {}), (503, {})], [(429, {})]])
def test_an_answer_that_passes_is_asked_again(regions_at, fails):
    portal = Portal(fake)
    portal.fails = list(fails)
    with HttpSystem(portal) as system:
        assert regions_at(system.url).read(QUESTION)["east"].promised_rru


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ([(500, {})] * 3, "HTTP 500"),
        ([(401, {"detail": "unknown token"})], "unknown token"),
        ([(200, {"region": "east"})], "at: Field required"),
        ([(200, [])], "region"),
        (
            [(200, {"region": "west", "at": "2026-01-01T00:00Z", "retired_until": "2026-01-01T00:00Z"})],
            "hardware_types",
        ),
        (
            [
                (
                    200,
                    {
                        "region": "east",
                        "at": "2026-01-01T00:00Z",
                        "retired_until": "2026-01-01T00:00Z",
                        "hardware_types": [],
                    },
                )
            ],
            "another region or date",
        ),
        ([fake, fake, (200, {"items": [RESERVATION | {"region": "west"}], "next_cursor": None})], "'west'"),
        ([fake, fake, (200, {"items": [RESERVATION | {"spec": {"capacity_rru": -1}}], "next_cursor": None})], "rru"),
    ],
)
def test_an_unusable_answer_is_unknown_and_not_a_region_without_capacity(regions_at, fails, said):
    answers = list(fails)

    def say(asked):
        first = answers.pop(0) if answers else fake
        return first(asked) if callable(first) else first

    with HttpSystem(say) as system, pytest.raises(RegionsUnknown) as caught:
        regions_at(system.url).read(QUESTION)
    assert said in str(caught.value)
    assert "east: " in str(caught.value)


def test_a_portal_without_end_of_pages_is_unknown(regions_at, monkeypatch):
    monkeypatch.setattr("services.planner.remote_regions._PAGES_MAX", 3)

    def say(asked):
        status, document = fake(asked)
        return status, document | ({"next_cursor": "more"} if "items" in document else {})

    with HttpSystem(say) as system, pytest.raises(RegionsUnknown, match="more than 300 reservations"):
        regions_at(system.url).read(QUESTION)


def test_no_message_tells_the_token(regions_at, token):
    """An HTTP library quotes a header that it refuses."""
    token.write_text(f"{SECRET}\nand more")
    with pytest.raises(RegionsUnknown, match=str(token)) as caught:
        regions_at("http://127.0.0.1:9").read(QUESTION)
    assert SECRET not in str(caught.value)
    token.write_bytes(b"\xff\xfe")
    with pytest.raises(TokenError) as refused:
        regions_at("http://127.0.0.1:9").portals["east"].headers("me")
    assert "not text" in str(refused.value)


def test_a_plan_stands_on_the_supply_and_the_promises_of_a_portal(
    client, planner, ask, world, other_database, regions_at
):
    """The two installations have a database each, and the routes are the real ones."""
    put_world(client, world)
    put(client, "server_units", [{"server_type": "hw-a", "hardware_type": "compute", "units": 2.5}])
    row = {"service": "store", "hardware_type": "compute", "reservation": "store", "rru_per_unit": 0.01}
    put(client, "service_reservations", [row])
    delivery = {"region": "east", "server_type": "hw-a", "servers": 5}
    put(client, "deliveries", [delivery | {"due_at": (WINDOW_END + timedelta(1)).isoformat()}])
    buffer = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
    store = ReservationSpec(capacity_rru=6, rru={"hw-a": 1.0}, survives_msb_loss=False)
    stored(
        other_database,
        region_image("east", reservations={"buffer": buffer, "store": store}, kind={"buffer": "shared_buffer"}),
    )
    ask_portal(other_database, [("create", 4, "granted"), ("resize", 6, "degraded")], name="store")
    with other_database.write() as tx:
        announce_retirement(
            tx,
            "east",
            scope=RetirementScope.SERVER,
            scope_name="server-00",
            kind=RetirementKind.DECOMMISSION,
            to_hardware_type=None,
            reason="old",
            due_at=WINDOW_END + timedelta(3),  # in the middle of the first step
            back_at=None,
            actor="olga",
            now=FixedClock().now(),
        )
    app = create_app(
        title="east",
        version="1",
        database=other_database,
        clock=FixedClock(),
        routers=[region_supply.router, reservations.router],
    )
    with TestClient(app, headers=bearer(other_database, Role.VIEWER)) as there:

        def say(asked):
            answer = there.get(asked.path)
            return answer.status_code, answer.json()

        with HttpSystem(say) as system:
            run = ask()
            assert planner(regions=regions_at(system.url)).reconcile() is PlanRunStatus.DONE
    report = look(client, run)["report"]
    assert report["regions_read"] == ["east"]
    [found] = report["headroom"]
    assert (found["service"], found["granted"]) == ("store", pytest.approx(400.0))
    planned = make_plan(type(world)(look(client, run)["bundle"]))
    h, r = planned.words.hardware_types.tolist().index("compute"), planned.words.regions.tolist().index("east")
    assert planned.inputs.supply[:, h, r].tolist() == [2.5 * (8 - 2 - 1), 2.5 * (8 - 2 - 1 + 5)]


def test_no_plan_is_made_without_a_region_and_the_schedule_asks_again(client, planner, database, world, regions_at):
    put_world(client, world)
    with database.write() as tx:
        create_plan_run(tx, trigger=PlanTrigger.SCHEDULE, now=FixedClock().now())
    assert planner(regions=regions_at("http://127.0.0.1:9")).reconcile() is PlanRunStatus.FAILED
    [run] = client.get("/v1/plan-runs").json()["items"]
    assert run["reason"] == "RegionUnknown"
    assert "ConnectError" in run["error"]
    assert SECRET not in json.dumps(run)
    schedule = SchedulePlanRuns(database, FixedClock(), 0, 2)
    assert schedule.reconcile() == run["plan_run_id"] + 1


def test_regions_without_a_portal_are_as_people_put_them(client, planner, ask, world, regions_at):
    """Also a region of this installation is never asked over the network."""
    put_world(client, world)
    ask()
    regions = regions_at("http://127.0.0.1:9")
    elsewhere = RemoteRegions({"mars": regions.portals["east"]}, regions.limits, regions.retries)
    assert planner(regions=elsewhere).reconcile() is PlanRunStatus.DONE
