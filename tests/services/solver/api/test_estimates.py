"""A dry run of a simulation answers an estimate, and writes nothing."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.store.platform.database import Database
from libs.web.solving_slots import solving_slot
from tests.libs.web.conftest import bearer
from tests.services.solver.what_ifs import ANY, NEW, dump

Ask = Callable[..., dict]


@pytest.fixture
def ask(client: TestClient) -> Ask:
    def send(**what_if: object) -> dict:
        answer = client.post("/v1/simulations", params={"dry_run": "true"}, json={"region": "west", **what_if})
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return send


def row_of(found: dict, name: str) -> dict:
    return {row["reservation"]: row for row in found["reservations"]}[name]


def test_it_writes_nothing_and_repeats_the_question(ask: Ask, client: TestClient, database: Database) -> None:
    before = dump(database)
    found = ask(lose=[{"scope": "msb", "name": "msb-03"}], demand=[ANY])
    assert dump(database) == before
    assert client.get("/v1/simulations").json()["items"] == []
    assert (found["region"], found["applicable"]) == ("west", False)
    assert found["what_if"]["lose"] == [{"scope": "msb", "name": "msb-03"}]
    assert "without a solve" in found["covers"]
    assert "resources get none, because only a solve weighs these" in found["covers"]
    assert ask(demand=[ANY])["applicable"] is True


@pytest.mark.parametrize(
    "what_if",
    [
        {"demand": [{"reservation": "thin", "scale": 1.5}]},
        {"demand": [{"owner": "team", "scale": 0.5}]},
        {"lose": [{"scope": "msb", "name": "msb-00"}]},
        {"withdraw_racks": ["rack-00", "rack-03"]},
        {"remove_hardware_types": ["hw-a"]},
        {"create": [NEW]},
        {"add_racks": [{"msb": "msb-01", "hardware_type": "hw-a", "servers_per_rack": 9}]},
    ],
)
def test_now_and_at_once_are_what_the_simulation_says(ask: Ask, simulate: Callable[..., dict], what_if: dict) -> None:
    found, report = ask(**what_if), simulate(**what_if)["report"]
    for moment in ("now", "at_once"):
        cost = report["cost"][moment]
        assert found[moment]["shortfall_rru"] == pytest.approx(cost["shortfall_rru"])
        assert found[moment]["reservations_short"] == cost["reservations_short"]
    told = {row["reservation"]: row for row in report["reservations"]}
    for row in found["reservations"]:
        for name in ("capacity_rru_now", "capacity_rru", "short_rru_now", "short_rru_at_once"):
            assert row[name] == pytest.approx(told[row["reservation"]][name])


def test_free_servers_of_other_msbs_are_handed_out(ask: Ask) -> None:
    """The 4 free servers are in one MSB, so they are no use to `thin`. With 2 in each of two others, it holds 2 in each
    of three, and keeps 4 of its 6 RRU.
    """
    racks = [{"msb": f"msb-0{m}", "hardware_type": "hw-a", "servers_per_rack": 2} for m in (1, 2)]
    found = ask(add_racks=racks)
    thin = row_of(found, "thin")
    assert (thin["short_rru_at_once"], thin["short_rru_with_free"]) == (6, 2)
    assert (thin["taken_servers"], thin["missing_servers"], thin["missing_hardware_type"]) == (6, 2, "hw-a")
    (kind,) = found["hardware_types"]
    assert kind == {"hardware_type": "hw-a", "free_now": 4, "free_at_once": 8, "taken": 6, "missing": 2}
    assert (found["with_free"]["shortfall_rru"], found["missing_servers"]) == (2, 2)


def test_what_only_a_solve_tells_is_not_told_as_missing(ask: Ask, database: Database) -> None:
    limit = """
        INSERT INTO reservation_domain_limits (region_id, reservation_id, kind, servers_max)
        SELECT region_id, reservation_id, 'msb', 3 FROM reservations WHERE name = 'thin'"""
    with database.write() as tx:
        tx.execute(sa.text(limit))
    found = ask(demand=[{"reservation": "thin", "capacity_rru": 8}])
    thin = row_of(found, "thin")
    assert (thin["needs_solve"], found["needing_solve"]) == (True, 1)
    assert (thin["taken_servers"], thin["missing_servers"], thin["missing_hardware_type"]) == (0, 0, None)
    assert thin["short_rru_with_free"] == thin["short_rru_at_once"] > 0, "at most that"
    assert found["missing_servers"] == sum(one["missing"] for one in found["hardware_types"]) == 0


def test_a_smaller_reservation_has_servers_to_spare(ask: Ask) -> None:
    """`fat` holds 4 servers in each of 3 MSBs. 1.5 RRU need 0.75 in each of 3, which leaves 9.75."""
    found = ask(demand=[{"reservation": "fat", "scale": 0.5}])
    assert (row_of(found, "fat")["spare_servers"], found["spare_servers"]) == (9, 9)


def test_what_no_state_could_meet_is_seen_from_the_most(ask: Ask) -> None:
    thin = row_of(ask(demand=[{"reservation": "thin", "capacity_rru": 13}]), "thin")
    assert thin["capacity_rru"] > thin["most_rru"] == 12


def test_wrong_fields_are_named_as_for_a_simulation(client: TestClient) -> None:
    for body, field in (
        ({}, "demand"),
        ({"lose": [{"scope": "msb", "name": "msb-99"}]}, "lose[0].name"),
        ({"demand": [{"scale": 1000}] * 5}, "demand[3]"),
    ):
        refused = client.post("/v1/simulations", params={"dry_run": "true"}, json={"region": "west", **body})
        assert refused.status_code == 422
        assert field in [error["field"] for error in refused.json()["errors"]]
    missing = client.post("/v1/simulations", params={"dry_run": "true"}, json={"region": "north", "demand": [ANY]})
    assert missing.status_code == 404


def test_only_operators_ask_and_only_a_few_at_a_time(client: TestClient, database: Database) -> None:
    body = {"region": "west", "demand": [ANY]}
    requester = bearer(database, Role.REQUESTER, "rita")
    assert client.post("/v1/simulations?dry_run=true", json=body, headers=requester).status_code == 403
    with solving_slot(-1), solving_slot(-2):
        busy = client.post("/v1/simulations?dry_run=true", json=body)
    assert (busy.status_code, busy.headers["Retry-After"]) == (429, "2")
    assert client.post("/v1/simulations?dry_run=true", json=body).status_code == 200
