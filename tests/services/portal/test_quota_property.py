"""No request, resize, affinity, window, unit or hard limit lets an owner hold more cost units than its quota."""

from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from libs.reconcile.clock import SystemClock
from libs.store.capacity.quotas import load_quota, set_quota
from libs.store.platform.database import Database
from services.portal.reconcilers.advance_windows import AdvanceWindows
from services.portal.reconcilers.assess_capacity_request import AssessCapacityRequest
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.services.portal.conftest import create

LIMIT = 16.0
COSTS = {"hw-a": 1.0, "hw-b": 2.5}
_UNITS = st.sampled_from([0.035, 0.3, 1, 1, 2, 2, 7])
SPECS = st.fixed_dictionaries(
    {
        "capacity_rru": st.sampled_from([0.05, 0.5, 1, 3, 5, 8, 12, 40]),
        "rru": st.dictionaries(st.sampled_from(sorted(COSTS)), _UNITS, min_size=1),
        "survives_msb_loss": st.booleans(),
    },
    optional={
        "affinity": st.dictionaries(st.sampled_from(["dc-00", "dc-01"]), st.sampled_from([0, 0.5, 1, 1.3, 4, 10])),
        "starts_at": st.sampled_from([timedelta(hours=-1), timedelta(days=2)]),
        "ends_at": st.sampled_from([timedelta(milliseconds=1500), timedelta(days=3)]),
        "msb_share_max": st.sampled_from([0.1, 0.25, 0.5, 1]),
        "datacenters": st.lists(st.sampled_from(["dc-00", "dc-01"]), min_size=1, unique=True),
        "msb_spread_limit": st.sampled_from([0.05, 0.3, 1]),
    },
)
BY_COUNT = st.fixed_dictionaries(
    {"count": st.integers(1, 20), "hardware_types": st.lists(st.sampled_from(sorted(COSTS)), min_size=1, unique=True)},
    optional={"survives_msb_loss": st.booleans()},
)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["create", "resize", "resize", "crowd"]), st.one_of(SPECS, BY_COUNT)),
    st.tuples(st.sampled_from(["delete", "solve", "solve", "move", "move_half", "windows"]), st.none()),
)
_HELD = """
    SELECT coalesce(sum(coalesce(cost_units, 1)), 0) FROM servers JOIN hardware_types USING (hardware_type_id)
    WHERE EXISTS (SELECT FROM reservations WHERE owner = 'team' AND kind = 'guaranteed' AND reservation_id IN ({}))"""


class World:
    """The region, and what its owner `team` holds there, counted without the platform's own rules."""

    def __init__(self, database: Database, client: TestClient, folder: Path) -> None:
        self.database, self.client = database, client
        self.settings = SolverSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": folder, "PLIMSOLL_BUNDLES_MAX": 1})

    def held(self, columns: str) -> float:
        with self.database.snapshot() as tx:
            return float(tx.execute(sa.text(_HELD.format(columns))).scalar_one())

    def targeted(self) -> float:
        return self.held("target_reservation_id")

    def bound(self) -> float:
        return self.held("current_reservation_id, target_reservation_id")

    def clear(self) -> None:
        """Delete all reservations, and let their servers go."""
        for row in self.client.get("/v1/reservations?limit=1000").json()["items"]:
            if row["kind"] == "guaranteed":
                body = {"kind": "delete", "region": "west", "reservation": row["name"]}
                assert self.client.post("/v1/capacity-requests", json=body).status_code == 201
        self.do("move", None)

    def do(self, step: str, spec: dict | None) -> None:
        live = [r["name"] for r in self.client.get("/v1/reservations?owner=team&limit=1000").json()["items"]]
        live = [name for name in live if not name.startswith("shared")]
        if step == "solve":
            SolveBindings(self.database, SystemClock(), self.settings, "west", "test").reconcile()
        elif step.startswith("move"):
            some = "server_id % 2 = 0" if step == "move_half" else "true"
            self.write(
                f"UPDATE servers SET current_reservation_id = target_reservation_id, in_use = false WHERE {some}"
            )
        elif step == "windows":
            AdvanceWindows(self.database, SystemClock(), "west").reconcile()
        elif step in ("create", "crowd") or live:
            self.ask(step, live, spec)

    def ask(self, step: str, live: list[str], spec: dict | None) -> None:
        number = len(self.client.get("/v1/capacity-requests?limit=1000").json()["items"])
        owner = "one" if step == "crowd" else "team"
        new = step in ("create", "crowd")
        body = create(f"r{number}", spec, owner=owner) if new else {"kind": step, "region": "west"}
        if spec is not None:
            now = SystemClock().now()
            times = {key: (now + value).isoformat() for key, value in spec.items() if isinstance(value, timedelta)}
            body["spec"] = {**spec, **times}
        if not new:
            body["reservation"] = live[number % len(live)]
        sent = self.client.post("/v1/capacity-requests", json=body)
        if sent.status_code == 201 and step != "delete":
            became = AssessCapacityRequest(self.database, SystemClock(), sent.json()["capacity_request_id"]).reconcile()
            event(f"{step}: {became.reason}")
        else:
            event(f"{step}: {sent.status_code}")

    def write(self, statement: str) -> None:
        with self.database.write() as tx:
            tx.execute(sa.text(statement))


@pytest.fixture
def world(database: Database, client: TestClient, tmp_path: Path) -> World:
    found = World(database, client, tmp_path)
    for name, units in COSTS.items():
        found.write(f"UPDATE hardware_types SET cost_units = {units} WHERE name = '{name}'")
    with database.write() as tx:
        set_quota(tx, "west", "team", LIMIT, generation=0)
    return found


def five(hardware_type: str, **more: object) -> dict:
    return {"capacity_rru": 5, "rru": {hardware_type: 1}, "survives_msb_loss": False, **more}


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, min_size=4, max_size=9))
@example([("create", five("hw-a")), ("move", None), ("resize", five("hw-b"))])
@example([("create", five("hw-a")), ("move", None), ("resize", five("hw-a", affinity={"dc-00": 10, "dc-01": 10}))])
@example([("create", five("hw-a")), ("move", None), ("delete", None), ("create", five("hw-b")), ("move", None)])
@example([("create", five("hw-a")), ("move", None), ("resize", five("hw-a", datacenters=["dc-01"])), ("solve", None)])
@example([("create", five("hw-b")), ("move", None), ("resize", five("hw-b", msb_share_max=0.25)), ("solve", None)])
def test_an_owner_never_holds_more_than_its_quota(world: World, steps: list[tuple[str, dict | None]]) -> None:
    """By target the quota always holds. A request never makes the servers that are bound or targeted pass it. Only a
    solve that exchanges servers may, until the moves are done.
    """
    world.clear()
    for step, spec in steps:
        before = world.bound()
        world.do(step, spec)
        assert world.targeted() <= LIMIT + 1e-9, step
        if step not in ("solve", "move_half"):
            assert world.bound() <= max(LIMIT, before) + 1e-9, step
        with world.database.snapshot() as tx:
            quota = load_quota(tx, "west", "team")
        assert quota.used_cost_units >= world.bound() - 1e-9
