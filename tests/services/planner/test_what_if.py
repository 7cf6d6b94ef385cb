"""Test what-ifs of the planner: a plan for review, the difference, and how it becomes the target."""

import json

import pytest
from typer.testing import CliRunner

from libs.domain.plan_run import PlanRunStatus
from libs.store.planner.placement_plans import load_target_plan_id
from libs.store.platform.audit import list_entries
from services.cli.flux import command
from services.cli.flux.offline import make_plan
from tests.builders.planning_inputs import put_world
from tests.services.planner.conftest import look


def target(database):
    with database.snapshot() as tx:
        return load_target_plan_id(tx)


def planned(client, planner, ask, **body):
    run = ask(**body)
    assert planner().reconcile() is PlanRunStatus.DONE, look(client, run)
    return look(client, run)


def test_nothing_is_kept_unless_it_is_applied(client, planner, ask, world, database):
    put_world(client, world)
    first = planned(client, planner, ask)["placement_plan_id"]
    region = str(make_plan(world).words.regions[0])
    run = planned(client, planner, ask, what_if={"supply": [{"region": region, "factor": 0.5}]})
    plan = run["placement_plan_id"]
    assert (run["dry_run"], run["what_if"]["supply"][0]["factor"], target(database)) == (True, 0.5, first)
    found = client.get(f"/v1/placement-plans/{plan}/what-if").json()
    assert found["asked"]["supply"][0]["region"] == region
    assert found["capacity"]
    assert found["impossible"][0]["reason"] == "SupplyLacking"
    assert client.get(f"/v1/placement-plans/{first}/what-if").status_code == 404

    applied = client.post(f"/v1/placement-plans/{plan}/apply", json={"reason": "east shrinks"})
    assert (applied.status_code, applied.json()["target"], applied.json()["committed"]) == (201, True, True)
    made = applied.json()["placement_plan_id"]
    assert target(database) == made != plan
    dag = client.get(f"/v1/placement-plans/{made}/dag").json()
    assert dag == client.get(f"/v1/placement-plans/{plan}/dag").json()
    again = client.post(f"/v1/placement-plans/{plan}/apply", json={"reason": "east shrinks"})
    assert (again.status_code, again.json()["code"]) == (409, "stale_plan")
    assert client.post(f"/v1/placement-plans/{made}/apply", json={"reason": "x"}).json()["code"] == "conflict"
    with database.snapshot() as tx:
        (entry,) = list_entries(tx, subject_kind="placement_plan").items
    assert (entry.action, entry.reason) == ("apply", "east shrinks")


def test_an_unknown_name_ends_the_run_with_a_reason(client, planner, ask, world):
    put_world(client, world)
    for name, told in (("zzz", "Unknown region zzz."), ("eats", "Unknown region eats; did you mean east?")):
        run = ask(what_if={"lost": [name]})
        assert planner().reconcile() is PlanRunStatus.FAILED
        assert (look(client, run)["reason"], look(client, run)["error"]) == ("BadWhatIf", told)


@pytest.mark.parametrize(
    ("what_if", "told"),
    [
        ({}, "change something"),
        ({"supply": [{"region": "a", "add": 1}]}, "add needs a hardware_type"),
        ({"supply": [{"region": "a", "factor": -1}]}, "factor"),
        ({"regions": [{"region": "a", "supply": {}}]}, "supply"),
    ],
)
def test_its_fields_are_bounded(client, what_if, told):
    answer = client.post("/v1/plan-runs", json={"what_if": what_if})
    assert answer.status_code == 422
    assert told in answer.text


def test_it_can_be_asked_of_a_folder_too(world):
    words = make_plan(world).words
    region, hardware_type, product = str(words.regions[0]), str(words.hardware_types[0]), str(words.products[0])
    arguments = ["what-if", "--world", str(world), "--lose", region, "--new-region", f"coast/{hardware_type}=1000"]
    arguments += ["--growth", f"{product}=0.1", "--supply", f"{words.regions[1]}=1.5"]
    done = CliRunner().invoke(command.app, [*arguments, "-o", "json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert {one["region"] for one in found["traffic"]} >= {region, "coast"}
    shown = CliRunner().invoke(command.app, arguments, catch_exceptions=False)
    assert "WITHOUT" in shown.stdout
