"""In no order of requests does an owner with guests hold more cost units than its quota."""

from itertools import permutations
from pathlib import Path

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.reconcile.clock import SystemClock
from libs.store.capacity.quotas import load_quota, set_quota
from libs.store.platform.database import Database
from services.portal.reconcilers.assess_capacity_request import AssessCapacityRequest
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.services.portal.conftest import create

LIMIT = 20.0
RRU = {"hw-a": 1, "hw-b": 2}
ASKS = {
    "web": create("web", {"capacity_rru": 4, "rru": RRU}),
    "larger": {"kind": "resize", "region": "west", "reservation": "web", "spec": {"capacity_rru": 7}},
    "cache": create("cache", {"capacity_rru": 8, "rru": {"hw-a": 4}, "guest_of": "web", "guest_share": 0.3}),
    "batch": create("batch", {"capacity_rru": 3, "rru": {"hw-b": 3}, "guest_of": "web", "guest_share": 0.4}),
}
HELD = """
    SELECT coalesce(sum(coalesce(cost_units, 1)), 0) FROM servers JOIN hardware_types USING (hardware_type_id)
    JOIN reservations ON reservation_id = target_reservation_id WHERE owner = 'team' AND kind = 'guaranteed'"""


def held(database: Database) -> float:
    """Count the cost units of the owner's servers without the platform's rules."""
    with database.snapshot() as tx:
        return float(tx.execute(sa.text(HELD)).scalar_one())


def clear(client: TestClient, database: Database) -> None:
    names = [one["name"] for one in client.get("/v1/reservations?owner=team&limit=1000").json()["items"]]
    for name in ("cache", "batch", "web"):
        if name in names:
            gone = client.post("/v1/capacity-requests", json={"kind": "delete", "region": "west", "reservation": name})
            assert gone.status_code == 201, gone.text
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET current_reservation_id = target_reservation_id, in_use = false"))


@pytest.mark.parametrize("together", [False, True])
def test_no_order_of_requests_passes_the_quota(
    client: TestClient, database: Database, tmp_path: Path, together: bool
) -> None:
    """Together: all requests are sent before the first one is judged."""
    settings = SolverSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": tmp_path, "PLIMSOLL_BUNDLES_MAX": 1})
    with database.write() as tx:
        tx.execute(sa.text("UPDATE hardware_types SET cost_units = 2.5 WHERE name = 'hw-b'"))
        set_quota(tx, "west", "team", LIMIT, generation=0)
    reasons, alone = set(), ["web"] if together else []
    for order in permutations([name for name in ASKS if name not in alone]):
        clear(client, database)
        sent = []
        for name in (*alone, *order):
            asked = client.post("/v1/capacity-requests", json=ASKS[name])
            if asked.status_code == 422:  # the host is not there yet
                continue
            assert asked.status_code == 201, asked.text
            sent.append(asked.json()["capacity_request_id"])
            if not together or name in alone:
                reasons.add(AssessCapacityRequest(database, SystemClock(), sent.pop()).reconcile().reason)
                assert held(database) <= LIMIT, order
        for number in sent:
            reasons.add(AssessCapacityRequest(database, SystemClock(), number).reconcile().reason)
            assert held(database) <= LIMIT, order
        SolveBindings(database, SystemClock(), settings, "west", "test").reconcile()
        with database.snapshot() as tx:
            used = load_quota(tx, "west", "team").used_cost_units
        assert held(database) <= used <= LIMIT + 1e-9, order
    assert {"Granted", "QuotaExceeded"} <= reasons
