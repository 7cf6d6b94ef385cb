"""Test approvals of actions of placement plans, of which owners decide those of their services."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.approval import ApprovalLimits
from libs.domain.execution_plan import Action, Phase
from libs.domain.plan_execution import ActionState, CommandLevel, ExecutionState, Verb
from libs.domain.principal import Role
from libs.domain.reservation import ReservationSpec
from libs.interchange.planning_inputs.formats import parquet_of
from libs.interchange.planning_inputs.rows import checked_rows
from libs.interchange.planning_inputs.tables import INPUT_TABLES
from libs.store.capacity.approval_limits import set_approval_limits
from libs.store.fleet.regions import load_region
from libs.store.planner.planning_inputs import append_version
from libs.store.platform.database import Database
from libs.store.regions.region_import import import_region
from libs.web.app import create_app
from services.orchestrator import api as orchestrator_api
from services.portal.api import ROUTERS
from tests.builders.clock import ManualClock
from tests.builders.executed_plan import Orchestrator, store_plan
from tests.builders.execution import two_products
from tests.builders.region import region_image
from tests.libs.web.conftest import bearer

FRONT, STORE = "upsize/shop-front/west/compute", "upsize/store/west/compute"
WAITING = {FRONT: "LowConfidence", STORE: "OwnerApproves"}


@pytest.fixture
def orchestrator(database_url: str) -> Iterator[Orchestrator]:
    database = Database(database_url, pool_size=4)
    found = Orchestrator(database, ManualClock())
    actions = tuple(replace(a, approval=(WAITING[a.action],) if a.action in WAITING else ()) for a in two_products())
    found.plan_id = store_plan(database, actions, found.clock)
    yield found
    database.close()


@pytest.fixture
def client(orchestrator: Orchestrator):
    app = create_app(
        title="t", version="1", database=orchestrator.database, clock=orchestrator.clock, routers=list(ROUTERS)
    )
    with TestClient(app, headers=bearer(orchestrator.database, Role.OPERATOR, "olga")) as client:
        yield client


def waiting(client: TestClient, **query) -> dict[str, dict]:
    found = client.get("/v1/approvals", params={"status": "pending", "kind": "plan_action"} | query).json()["items"]
    return {one["change"]["action"]: one for one in found}


def decide(client: TestClient, approval: dict, what: str, headers=None, **more):
    match = {"If-Match": f'"{approval["generation"]}"'} | (headers or {})
    path = f"/v1/approvals/{approval['approval_id']}/{what}"
    return client.post(path, json={"reason": "reviewed"} | more, headers=match)


def shop_front_is_of(orchestrator: Orchestrator, owner: str) -> None:
    """Import the region west with the reservation `front` of an owner, and say that it holds shop-front."""
    spec = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
    rows = [
        {"service": "shop-front", "hardware_type": "compute", "reservation": "front", "rru_per_unit": 1.0},
        {"service": "store", "hardware_type": "compute", "reservation": "not-here", "rru_per_unit": 1.0},
    ]
    now = orchestrator.clock.now()
    with orchestrator.database.write() as tx:
        image = region_image("west", reservations={"front": spec}, owner={"front": owner})
        import_region(tx, image, actor="test", now=now)
        table = INPUT_TABLES["service_reservations"]
        content = parquet_of(table, checked_rows(table, rows, minute_zero=None))
        append_version(
            *(tx, "service_reservations", content),
            rows=len(rows),
            generation=0,
            comment=None,
            created_by="test",
            now=now,
        )


def test_actions_wait_in_the_same_list_and_go_on_once_approved(client, orchestrator):
    execution_id = orchestrator.start()
    found = waiting(client)
    assert set(found) == {FRONT, STORE}
    one = found[FRONT]
    assert (one["region"], one["plan_execution_id"], one["asked_by"]) == ("west", execution_id, ["olga"])
    assert [cause["reason"] for cause in one["causes"]] == ["LowConfidence"]
    assert set(one["possible"]) == {"approve", "reject", "edit", "take_over"}
    assert set(waiting(client, region="west")) == {FRONT, STORE}
    assert waiting(client, region="nowhere") == {}
    orchestrator.run(execution_id, 3)
    assert orchestrator.states(execution_id)[FRONT] is ActionState.AWAITING_APPROVAL
    orchestrator.clock.sleep(600)
    for name in (FRONT, STORE):
        answer = decide(client, found[name], "approve")
        assert (answer.status_code, answer.json()["status"], answer.json()["possible"]) == (200, "approved", [])
        assert answer.json()["waited_s"] == 1500.0
    assert orchestrator.run(execution_id) is ExecutionState.DONE


def test_the_answer_belongs_to_the_version_that_was_read(client, orchestrator):
    execution_id = orchestrator.start()
    read = waiting(client)[FRONT]
    bigger = decide(client, read, "edit", size=read["change"]["after"] + 1, reject_kind="too_little_headroom")
    assert (bigger.status_code, bigger.json()["status"]) == (200, "pending")
    assert bigger.json()["change"]["size"] == read["change"]["after"] + 1
    assert decide(client, read, "approve").json()["code"] == "stale_generation"
    orchestrator.command(execution_id, Verb.EDIT, FRONT, size=read["change"]["after"] + 2)
    assert decide(client, bigger.json(), "approve").json()["code"] == "stale_generation"
    now = waiting(client)[FRONT]
    assert now["change"]["size"] == read["change"]["after"] + 2
    done = decide(client, now, "approve").json()
    assert decide(client, done, "take-over").json()["code"] == "wrong_phase"
    answer = decide(client, waiting(client)[STORE], "edit", size=0.0)
    assert (answer.status_code, answer.json()["reason"]) == (409, "SizeOutOfBounds")


def test_owners_decide_on_their_services_and_on_nothing_else(client, orchestrator):
    shop_front_is_of(orchestrator, "shop-team")
    orchestrator.start()
    found = waiting(client)
    assert set(waiting(client, owner="shop-team")) == {FRONT}
    owner = bearer(orchestrator.database, Role.REQUESTER, "sue", owners=("shop-team",))
    other = bearer(orchestrator.database, Role.REQUESTER, "tom", owners=("other-team",))
    assert decide(client, found[FRONT], "approve", other).json()["code"] == "not_an_owner"
    assert decide(client, found[STORE], "approve", owner).json()["code"] == "forbidden"
    assert decide(client, found[FRONT], "approve", owner).json()["decided_by"] == "sue"
    assert decide(client, found[STORE], "take-over").json()["decided_by"] == "olga"


def test_reasons_are_counted_by_kind_and_service(client, orchestrator):
    execution_id = orchestrator.start()
    found = waiting(client)
    edited = decide(client, found[STORE], "edit", size=found[STORE]["change"]["after"] + 1, reject_kind="bad_estimate")
    decide(client, edited.json(), "reject", reject_kind="too_small")
    orchestrator.clock.sleep(60)
    figures = client.get("/v1/approval-figures").json()
    assert figures["reasons"] == [
        {"service": "store", "verb": "edit", "reject_kind": "bad_estimate", "number": 1},
        {"service": "store", "verb": "reject", "reject_kind": "too_small", "number": 1},
    ]
    assert client.get("/v1/approval-figures", params={"service": "shop-front"}).json()["reasons"] == []
    (left,) = figures["waiting"]
    assert (left["kind"], left["owner"], left["number"]) == ("plan_action", None, 1)
    orchestrator.tick()
    states = orchestrator.states(execution_id)
    assert states["shift/shop/east/west"] is states[STORE] is ActionState.SKIPPED


def test_what_waits_when_its_execution_ends_is_superseded(client, orchestrator):
    execution_id = orchestrator.start()
    orchestrator.command(execution_id, Verb.ABORT)
    orchestrator.run(execution_id, 3)
    assert waiting(client) == {}
    (one, _) = client.get("/v1/approvals", params={"plan_execution_id": execution_id}).json()["items"]
    assert (one["status"], one["decision_reason"]) == ("superseded", "the execution is aborted")


def test_a_draft_takes_decisions_but_nothing_can_be_taken_over(client, orchestrator):
    execution_id = orchestrator.create().plan_execution_id
    one = waiting(client)[FRONT]
    assert set(one["possible"]) == {"approve", "reject", "edit"}
    refused = decide(client, one, "take-over")
    assert (refused.status_code, refused.json()["reason"]) == (409, "NotStarted")
    assert decide(client, one, "approve").status_code == 200
    assert orchestrator.states(execution_id)[FRONT] is ActionState.WAITING


@pytest.fixture
def otto(orchestrator: Orchestrator) -> dict[str, str]:
    return bearer(orchestrator.database, Role.OPERATOR, "otto")


def answers(orchestrator: Orchestrator, execution_id: int, headers, *, level="action", subject=FRONT) -> dict:
    """Return the answers that the commands of an operator would get."""
    app = create_app(
        title="t",
        version="1",
        database=orchestrator.database,
        clock=orchestrator.clock,
        routers=list(orchestrator_api.ROUTERS),
    )
    with TestClient(app, headers=headers) as one:
        query = {"level": level, "subject": subject}
        found = one.get(f"/v1/plan-executions/{execution_id}/command-answers", params=query).json()["items"]
    return {answer["verb"]: answer for answer in found}


def demand_four_eyes(orchestrator: Orchestrator) -> None:
    shop_front_is_of(orchestrator, "web")
    with orchestrator.database.write() as tx:
        set_approval_limits(tx, load_region(tx, "west").region_id, ApprovalLimits(four_eyes=True))


def test_nobody_approves_alone_what_they_asked_for_where_the_region_demands_four_eyes(client, orchestrator, otto):
    demand_four_eyes(orchestrator)
    execution_id = orchestrator.start()  # by olga
    found = waiting(client)
    for what in ("approve", "take-over"):
        answer = decide(client, found[FRONT], what)
        assert (answer.status_code, answer.json()["code"]) == (403, "four_eyes"), what
        assert "olga asked for" in answer.json()["detail"]
    olga = {"Authorization": client.headers["Authorization"]}
    foretold = {"olga": answers(orchestrator, execution_id, olga), "otto": answers(orchestrator, execution_id, otto)}
    assert foretold["olga"]["approve"]["code"] == foretold["olga"]["take_over"]["code"] == "FourEyes"
    assert "another person must approve it" in foretold["olga"]["approve"]["message"]
    assert foretold["olga"]["reject"]["possible"], "nothing demands a second person for that"
    assert foretold["otto"]["approve"]["possible"]
    of_phase = answers(orchestrator, execution_id, otto, level="phase", subject="upsize")["approve"]
    assert (of_phase["possible"], of_phase["actions"], of_phase["others"]) == (True, 2, 0)
    refused = orchestrator.command(execution_id, Verb.APPROVE, "upsize", level=CommandLevel.PHASE).record
    assert refused.code == "FourEyes"
    assert orchestrator.states(execution_id)[FRONT] is ActionState.AWAITING_APPROVAL
    assert decide(client, found[FRONT], "approve", otto).json()["status"] == "approved"
    assert decide(client, found[STORE], "reject").json()["status"] == "rejected"


def test_the_editor_of_a_size_does_not_approve_it_and_an_approved_size_stays(client, orchestrator, otto):
    demand_four_eyes(orchestrator)
    orchestrator.start()
    size = waiting(client)[FRONT]["change"]["after"] + 1
    edited = decide(client, waiting(client)[FRONT], "edit", otto, size=size).json()
    assert edited["asked_by"] == ["olga", "otto"]
    again = decide(client, edited, "edit", otto, size=size + 1).json()
    assert (again["asked_by"], again["change"]["size"]) == (["olga", "otto"], size + 1)
    for headers in ({}, otto):
        assert decide(client, again, "approve", headers).json()["code"] == "four_eyes"
    third = bearer(orchestrator.database, Role.OPERATOR, "tina")
    assert decide(client, again, "approve", third).json()["status"] == "approved"
    refused = orchestrator.command(again["plan_execution_id"], Verb.EDIT, FRONT, size=size + 2).record
    assert refused.code == "FourEyes"
    assert "was approved with its size" in (refused.message or "")


def test_one_person_is_enough_where_the_region_does_not_demand_two(client, orchestrator):
    shop_front_is_of(orchestrator, "web")
    orchestrator.start()
    edited = decide(client, waiting(client)[FRONT], "edit", size=waiting(client)[FRONT]["change"]["after"] + 1).json()
    assert decide(client, edited, "approve").json()["status"] == "approved"


@pytest.mark.parametrize("four_eyes", [False, True])
def test_a_phase_takes_as_many_statements_whatever_its_size(orchestrator, four_eyes):
    with orchestrator.database.write() as tx:
        import_region(tx, region_image("west"), actor="test", now=orchestrator.clock.now())
        limits = ApprovalLimits(four_eyes=four_eyes)
        set_approval_limits(tx, load_region(tx, "west").region_id, limits)
    statements: list[str] = []
    sa.event.listen(orchestrator.database._engine, "before_cursor_execute", lambda *given: statements.append(given[2]))

    def statements_for(count: int) -> int:
        upsizes = [
            Action(
                action=f"upsize/s{count}-{i}/west/hw",
                phase=Phase.UPSIZE,
                service=f"s{count}-{i}",
                region="west",
                hardware_type="hw",
                before=1.0,
                after=2.0,
                approval=("OwnerApproves",),
            )
            for i in range(count)
        ]
        orchestrator.plan_id = store_plan(orchestrator.database, tuple(upsizes), orchestrator.clock, room=1000.0)
        made = orchestrator.create()
        statements.clear()
        given = orchestrator.command(made.plan_execution_id, Verb.APPROVE, "upsize", level=CommandLevel.PHASE)
        assert given.record.code == ("FourEyes" if four_eyes else None)
        return len(statements)

    assert statements_for(2) == statements_for(20)
