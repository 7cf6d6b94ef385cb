"""The ledger over REST: propose, list, decide, report, and ask for the combined effect."""

from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient

from libs.domain.capacity_event import EventStatus
from libs.domain.freeze import FreezeScope
from libs.domain.plan_execution import Verb
from libs.domain.principal import Role
from libs.domain.reservation import ReservationSpec
from libs.store.executions.freezes import insert_freeze
from tests.builders.clock import ManualClock
from tests.builders.executed_plan import Orchestrator
from tests.builders.granted import ask
from tests.builders.planning_inputs import put
from tests.builders.region import region_image
from tests.builders.stored import stored
from tests.libs.web.conftest import bearer

CAPACITY = {"kind": "capacity", "service": "web", "region": "east", "hardware_type": "compute", "delta": 10.0}
TRAFFIC = {"kind": "traffic", "product": "shop", "from_region": "west", "to_region": "east", "share": 0.1}
DUE = "2026-12-01T00:00:00Z"


def event(effect=CAPACITY, **given):
    return {"effect": effect, "writer": "person", "reason": "a launch", "starts_at": DUE} | given


def propose(client, *events, headers=None, dry_run=None, **body):
    params = {} if dry_run is None else {"dry_run": dry_run}
    return client.post("/v1/capacity-events", json={"events": events} | body, headers=headers, params=params)


def change(client, event_id, verb, **body):
    path = f"/v1/capacity-events/{event_id}"
    match = {"If-Match": client.get(path).headers["etag"]}
    return client.post(f"{path}/{verb}", json=body, headers=match)


@pytest.fixture
def executor(client, database):
    with TestClient(client.app, headers=bearer(database, Role.EXECUTOR, "traffic-system")) as found:
        yield found


@pytest.fixture
def other(client, database):
    with TestClient(client.app, headers=bearer(database, Role.OPERATOR, "max")) as found:
        yield found


def test_an_event_from_its_proposal_to_its_end(client, executor):
    made = propose(client, event(), event(TRAFFIC, follows=[0]))
    assert made.status_code == 201
    assert made.json() == {"capacity_event_ids": [1, 2]}
    assert change(client, 1, "decide", status="approved").json()["status"] == "approved"
    assert change(client, 1, "decide", status="active").status_code == 200
    assert [one["capacity_event_id"] for one in listed(executor, status="active")] == [1]
    waits = change(client, 2, "decide", status="approved")
    assert waits.json()["antecedents"] == [1]
    early = change(client, 2, "decide", status="active")
    assert (early.status_code, early.json()["code"]) == (409, "wrong_phase")
    assert "antecedent 1 is active" in early.json()["detail"]
    assert change(executor, 1, "report", status="active", achieved=4.0).json()["achieved"] == 4.0
    done = change(executor, 1, "report", status="succeeded", achieved=9.0, reason="one server less")
    assert (done.json()["status"], done.json()["generation"]) == ("succeeded", 5)
    assert change(client, 2, "decide", status="active").status_code == 200
    history = client.get("/v1/capacity-events/1").json()["history"]
    assert [(one["status"], one["changed_by"], one["achieved"]) for one in history] == [
        ("proposed", "tester", 0.0),
        ("approved", "tester", 0.0),
        ("active", "tester", 0.0),
        ("active", "traffic-system", 4.0),
        ("succeeded", "traffic-system", 9.0),
    ]
    actions = client.get("/v1/capacity-effects", params={"service": "web", "at": "2027-01-01T00:00:00Z"}).json()
    sums = {"done": 9.0, "active": 0.0, "approved": 0.0, "proposed": 0.0, "planned": 0.0}
    assert actions["capacity"] == [{"service": "web", "region": "east", "hardware_type": "compute", "sums": sums}]
    assert actions["traffic"] == []


def listed(client, **query):
    return client.get("/v1/capacity-events", params=query).json()["items"]


def test_an_executing_system_only_reports(client, executor):
    propose(client, event())
    assert propose(executor, event()).status_code == 403
    assert change(executor, 1, "decide", status="approved").status_code == 403
    early = change(executor, 1, "report", status="succeeded", achieved=10.0)
    assert (early.status_code, early.json()["code"]) == (409, "wrong_phase")


def test_a_stale_report_is_refused(client, executor):
    propose(client, event())
    change(client, 1, "decide", status="approved")
    change(client, 1, "decide", status="active")
    stale = executor.post(
        "/v1/capacity-events/1/report", json={"status": "succeeded", "achieved": 10.0}, headers={"If-Match": '"2"'}
    )
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_generation")
    wrong = change(executor, 1, "report", status="succeeded", achieved=-10.0)
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "achieved")


def test_a_conflict_names_the_events(client, other):
    propose(other, event(CAPACITY | {"delta": -5.0}))
    refused = propose(client, event(service := CAPACITY), event(TRAFFIC))
    assert service["delta"] > 0
    assert (refused.status_code, refused.json()["code"]) == (409, "conflicting_events")
    assert refused.json()["conflicts"] == [
        {
            "kind": "opposite",
            "item": 0,
            "lacking": 0.0,
            "events": [
                {
                    "capacity_event_id": 1,
                    "author": "max",
                    "writer": "person",
                    "status": "proposed",
                    "amount": -5.0,
                    "starts_at": "2026-12-01T00:00:00+00:00",
                }
            ],
        }
    ]
    assert "event 1 (-5 by max, due 2026-12-01)" in refused.json()["detail"]
    assert propose(client, event(), dry_run=True).status_code == 409
    meant = propose(client, event(), despite=[1], despite_reason="agreed with max")
    assert meant.status_code == 201


def test_a_dry_run_keeps_nothing_and_a_repetition_does_nothing(client):
    assert propose(client, event(), dry_run=True).json() == {"capacity_event_ids": []}
    assert listed(client) == []
    key = {"Idempotency-Key": "launch"}
    assert propose(client, event(), headers=key).json() == propose(client, event(), headers=key).json()
    assert len(listed(client)) == 1


def test_pages(client):
    propose(client, *(event(CAPACITY | {"service": f"s{n}"}) for n in range(5)))
    page = client.get("/v1/capacity-events", params={"limit": 3}).json()
    rest = client.get("/v1/capacity-events", params={"limit": 3, "cursor": page["next_cursor"]}).json()
    assert [one["capacity_event_id"] for one in page["items"] + rest["items"]] == [1, 2, 3, 4, 5]
    assert rest["next_cursor"] is None
    some = listed(client, service="s3", status=["proposed", "active"], due_before="2026-12-02T00:00:00Z")
    assert [one["effect"]["service"] for one in some] == ["s3"]
    assert listed(client, service="s3", due_after="2026-12-02T00:00:00Z") == []
    due = some[0]["starts_at"]
    assert listed(client, service="s3", due_after=due) == some


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (event(CAPACITY | {"delta": 0.0}), "events.0.effect.capacity"),
        (event(CAPACITY | {"delta": 1e300}), "events.0.effect.capacity.delta"),
        (event(TRAFFIC | {"share": 1.5}), "events.0.effect.traffic.share"),
        (event(TRAFFIC | {"to_region": "west"}), "events.0.effect.traffic"),
        (event(CAPACITY | {"service": "x" * 300}), "events.0.effect.capacity.service"),
        (event(starts_at="2300-01-01T00:00:00Z"), "events.0.starts_at"),
        (event(reason=" "), "events.0.reason"),
        (event(antecedents=[0]), "events.0.antecedents.0"),
        (event(action="up"), "events.0"),
        (event(follows=[0]), "follows"),
        (event(antecedents=[1] * 1001), "events.0.antecedents"),
    ],
)
def test_every_input_is_bounded(client, wrong, field):
    refused = propose(client, wrong)
    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == [field]


def test_what_is_missing_is_said(client):
    assert propose(client, event(antecedents=[7])).status_code == 404
    assert client.get("/v1/capacity-events/7").status_code == 404
    assert client.get("/v1/capacity-effects").json()["errors"][0]["field"] == "service"
    alone = propose(client, event(), despite=[1])
    assert alone.status_code == 422


def test_events_do_not_take_more_than_the_reservation_of_a_service_is_promised(client, database):
    web = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
    stored(database, region_image("east", reservations={"web": web}))
    row = {"service": "web", "hardware_type": "compute", "reservation": "web", "rru_per_unit": 0.5}
    assert put(client, "service_reservations", [row]).status_code == 200
    refused = propose(client, event(CAPACITY | {"delta": -4.5}))
    assert (refused.status_code, refused.json()["conflicts"][0]["lacking"]) == (409, 0.5)
    assert propose(client, event(CAPACITY | {"delta": -4.5}), dry_run=True).status_code == 409
    ask(database, [("create", 1, "granted"), ("resize", 2, "degraded")])
    refused = propose(client, event(CAPACITY | {"delta": -2.5}))
    assert refused.json()["conflicts"][0]["lacking"] == 0.5, "the other half of what it asks for waits"
    ask(database, [("resize", 2, "granted")])
    assert propose(client, event(CAPACITY | {"delta": -4.0})).status_code == 201


def test_a_freeze_holds_the_activation_of_events_in_its_scope(client, database, executor):
    """Active events go on, and an operator may say otherwise with a reason."""
    now = datetime.now(UTC)

    def freeze(scope, name):
        given = {"scope": scope, "name": name, "starts_at": now - timedelta(1), "ends_at": now + timedelta(1)}
        with database.write() as tx:
            return insert_freeze(tx, **given, reason="the sale", created_by="olga", now=now)

    web, db, shift = propose(
        client, event(), event(CAPACITY | {"service": "db", "region": "north"}), event(TRAFFIC)
    ).json()["capacity_event_ids"]
    for one in (web, db, shift):
        change(client, one, "decide", status="approved")
    freeze(FreezeScope.SERVICE, "web")
    held = change(client, web, "decide", status="active")
    assert (held.status_code, held.json()["code"]) == (409, "conflict")
    assert "the sale" in held.json()["detail"]
    assert change(client, db, "decide", status="active").status_code == 200
    freeze(FreezeScope.REGION, "west")  # the shift leaves it
    assert change(client, shift, "decide", status="active").status_code == 409
    freeze(FreezeScope.ALL, None)
    assert change(executor, db, "report", status="active", achieved=1.0).status_code == 200
    assert change(client, web, "decide", status="active", despite_freezes=True).status_code == 422
    assert change(client, web, "decide", status="active", despite_freezes=True, reason="it hurts").status_code == 200
    assert change(client, shift, "decide", status="cancelled").status_code == 200


def test_the_events_of_an_execution_change_by_its_commands_alone(client, database, executor):
    """Else one person could approve, or cancel, what the execution asks another person about."""
    orchestrator = Orchestrator(database, ManualClock())
    execution_id = orchestrator.create().plan_execution_id
    action = "shift/shop/east/west"
    event_id = orchestrator.events()[action].capacity_event_id
    other = "downsize/shop-front/east/compute"

    def refused(answer, command):
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
        assert (answer.json()["plan_execution_id"], answer.json()["action"]) == (execution_id, action)
        assert f"Use `plimsoll execution {command}`." in answer.json()["detail"]

    give = f"give {execution_id} {{}} --action {action} --reason WHY"
    refused(change(client, event_id, "decide", status="approved"), give.format("approve"))
    refused(change(client, event_id, "decide", status="cancelled"), give.format("skip"))
    orchestrator.command(execution_id, Verb.START)
    refused(change(client, event_id, "decide", status="active"), f"show {execution_id}")
    while orchestrator.events()[action].status is not EventStatus.ACTIVE:
        orchestrator.tick()
    refused(change(executor, event_id, "report", status="succeeded", achieved=0.1), give.format("complete"))
    orchestrator.command(execution_id, Verb.ABORT)
    orchestrator.run(execution_id, 3)
    ended = change(client, orchestrator.events()[other].capacity_event_id, "decide", status="superseded")
    assert ended.json()["code"] == "wrong_phase", "the execution no longer holds it: its status does"
