"""Test an older process in a region whose policy a newer one has changed: most loops go on, and no price is ignored."""

from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.policy import RegionPolicy
from libs.domain.principal import Role
from libs.domain.stored_policy import UnknownPrices
from libs.domain.unavailability import UnavailabilityScope
from libs.reconcile.clock import SystemClock
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.platform.database import Database, Transaction
from libs.store.regions.region_policies import update_policy
from libs.store.regions.rollout_stages import create_rollout
from libs.web.app import create_app
from services.broker.api import ROUTERS
from services.broker.reconcilers.refresh_unavailability import RefreshUnavailability
from services.mover.reconcilers.advance_moves import AdvanceMoves
from services.mover.reconcilers.watch_reservations import WatchReservations
from tests.builders.clock import ManualClock
from tests.builders.lost_servers import LostServers
from tests.builders.mover import POLICY, Scripted
from tests.builders.stored import NOW
from tests.libs.web.conftest import bearer


def stored_policy(database: Database) -> dict[str, Any]:
    with database.snapshot() as tx:
        return dict(tx.execute(sa.text("SELECT policy FROM regions")).scalar_one())


def newer(tx: Transaction) -> None:
    """Set a price of the future."""
    tx.execute(sa.text("UPDATE regions SET policy = policy || '{\"moon_cost\": 3.0}'"))


def newer_canary(tx: Transaction) -> None:
    """Try a price of the future on some reservations."""
    create_rollout(tx, load_region(tx, "west"), {"buffer_cost": 8.0}, actor="olga", reason="test", now=NOW)
    change = "change || '{\"moon_cost\": 3.0}'"
    tx.execute(
        sa.text(f"UPDATE policy_rollouts SET change = {change}, stage = 'canary', share = 0.5, canary_at = now()")
    )


@pytest.fixture(params=[newer, newer_canary])
def region(request: pytest.FixtureRequest, database: Database, clock: ManualClock) -> LostServers:
    region = LostServers(database, clock)
    with database.write() as tx:
        request.param(tx)
    return region


def test_a_region_without_newer_prices_is_stored_without_any_field(database: Database, clock: ManualClock) -> None:
    LostServers(database, clock)
    assert stored_policy(database) == {}
    with database.write() as tx:
        policy = RegionPolicy(buffer_cost=7.0)
        update_policy(tx, "west", policy, generation=1, actor="olga", now=NOW)
    assert stored_policy(database) == {"buffer_cost": 7.0}


def test_loops_without_prices_go_on_and_lost_servers_are_replaced(region: LostServers) -> None:
    database, clock = region.database, region.clock
    region.fail(UnavailabilityScope.SERVER, "server-01")
    assert region.draw() == {"drawn": 1}
    assert AdvanceMoves(database, clock, Scripted(), POLICY, "west").reconcile().started == 1
    RefreshUnavailability(database, clock, "west").reconcile()
    assert WatchReservations(database, clock, "west").reconcile() > 0


def test_a_decision_by_prices_is_refused_with_their_names(region: LostServers) -> None:
    unknown = pytest.raises(UnknownPrices, match="sets moon_cost, which this version does not know")
    with unknown, region.database.snapshot() as tx:
        load_fleet_snapshot(tx, "west")


def test_rest_refuses_it_for_a_while(region: LostServers) -> None:
    database = region.database
    app = create_app(title="Broker", version="1", database=database, clock=SystemClock(), routers=ROUTERS)
    with TestClient(app, headers=bearer(database, Role.ADMIN, "ada")) as client:
        assert client.get("/v1/regions/west").status_code == 200
        answer = client.get("/v1/regions/west/export")
    assert (answer.status_code, answer.json()["code"]) == (503, "newer_policy")
    assert "moon_cost" in answer.json()["detail"]
    assert "retry-after" in answer.headers


def test_a_change_keeps_prices_that_are_not_known(database: Database, clock: ManualClock) -> None:
    LostServers(database, clock)
    with database.write() as tx:
        newer(tx)
        found = load_region(tx, "west")
        policy = replace(found.policy, buffer_cost=7.0)
        after = update_policy(tx, "west", policy, generation=found.generation, actor="olga", now=NOW)
    assert after.policy == RegionPolicy(buffer_cost=7.0)
    assert stored_policy(database) == {"buffer_cost": 7.0, "moon_cost": 3.0}
