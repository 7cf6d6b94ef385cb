"""Applying a simulation keeps to what is left of the churn budget."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from tests.builders.region import region_image
from tests.builders.stored import read, reservation_id, stored, targets
from tests.services.solver.what_ifs import NEW, dump

IN_USE = {f"server-{k:02d}" for k in range(16)}
HW_B = {f"server-{k:02d}" for k in (*range(8), *range(16, 24))}
POLICY = RegionPolicy(spread_cost=50.0, daily_churn_share=0.25, solve_churn_share=0.2, reservation_churn_share=1.0)
CROWDED = region_image(
    msbs=4,
    servers_per_rack=16,
    reservations={
        "web": ReservationSpec(capacity_rru=16, rru={"hw-a": 1.0}, survives_msb_loss=False, msb_spread_limit=0.25)
    },
    current=dict.fromkeys(IN_USE, "web"),
    in_use=IN_USE,
    policy=POLICY,
)
"""`web` has 16 servers in use, all in one of 4 MSBs. A day may preempt 4 of them, a solve 3."""
LACKING = region_image(
    msbs=4,
    servers_per_rack=8,
    hardware_types=("hw-b", "hw-a"),
    reservations={
        "web": ReservationSpec(capacity_rru=16, rru={"hw-a": 1.0, "hw-b": 1.0}, survives_msb_loss=False),
        "db": ReservationSpec(capacity_rru=2, rru={"hw-b": 1.0}, survives_msb_loss=False),
    },
    current=dict.fromkeys(HW_B, "web"),
    in_use=HW_B,
    policy=POLICY,
)
"""`web` uses all servers of hw-b, and `db` can use no others."""


@pytest.fixture
def database(database_url: str, request: pytest.FixtureRequest) -> Iterator[Database]:
    database = Database(database_url)
    stored(database, request.param)
    yield database
    database.close()


def use_up(database: Database) -> None:
    """Four servers in use of web were preempted 20 hours ago."""
    web, then = reservation_id(read(database), "web"), SystemClock().now() - timedelta(hours=20)
    with database.write() as tx:
        insert = """INSERT INTO moves (region_id, server_id, from_reservation_id, steps, step_index, attempt, status,
                                       step_started_at, created_at, finished_at, churned_at)
                    SELECT region_id, server_id, :web, ARRAY['preempt'], 0, 1, 'done', :then, :then, :then, :then
                    FROM servers WHERE name IN ('server-20', 'server-21', 'server-22', 'server-23')"""
        tx.execute(sa.text(insert), {"web": web, "then": then})


def preempted(database: Database, in_use: set[str]) -> int:
    bound = targets(read(database))
    return sum(bound.get(server) != "web" for server in in_use)


@pytest.mark.parametrize("database", [CROWDED], indirect=True)
@pytest.mark.parametrize("more", [{"create": [NEW]}, {"policy": {"spread_cost": 60}}])
def test_a_budget_that_was_used_up_meanwhile_refuses_exchanges(
    simulate: Callable[..., dict], client: TestClient, database: Database, more: dict
) -> None:
    found = simulate(**more)
    assert found["report"]["solve"]["churn"]["planned"] == 3
    use_up(database)
    before = dump(database)
    refused = client.post(f"/v1/simulations/{found['simulation_id']}/apply")
    assert (refused.status_code, refused.json()["code"]) == (409, "churn_budget")
    detail = refused.json()["detail"]
    until = SystemClock().now() + timedelta(hours=4)
    assert "preempt 3 servers in use, and the churn budget has 0 left in west: 4 count" in detail
    assert f"counts until {until:%Y-%m-%d}" in detail
    assert dump(database) == before
    again = simulate(**more)
    assert client.post(f"/v1/simulations/{again['simulation_id']}/apply").status_code == 200
    assert preempted(database, IN_USE) == 0


@pytest.mark.parametrize("database", [LACKING], indirect=True)
def test_a_repair_may_exceed_the_budget_as_the_simulation_said(
    simulate: Callable[..., dict], client: TestClient, database: Database
) -> None:
    use_up(database)
    found = simulate(policy={"spread_cost": 60})
    assert found["report"]["solve"]["churn"]["over"] == 2
    applied = client.post(f"/v1/simulations/{found['simulation_id']}/apply")
    assert applied.status_code == 200, applied.json()
    assert preempted(database, HW_B) == 2
