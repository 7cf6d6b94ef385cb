"""Schemathesis over every operation of all services: none answers 5xx, most of them are really reached.

Half of the cases are what the schema allows, half what it forbids; of both, every other one is aimed: its ids, region
and generation are those of something that is there, and its body is the example that the schema gives.
"""

from __future__ import annotations

import io
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import schemathesis
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from libs.domain.principal import Role
from libs.interchange.inventory import dump_inventory
from libs.interchange.servers_csv import load_csv
from libs.reconcile.clock import SystemClock
from libs.store.database import Database
from libs.web.app import create_app
from services.broker.api import ROUTERS as BROKER
from services.mover.api import ROUTERS as MOVER
from services.planner.api import ROUTERS as PLANNER
from services.planner.otlp_errors import OtlpErrors
from services.planner.reconcilers.placement_plan_make import PlacementPlanMake
from services.planner.settings import PlannerSettings
from services.portal.api import ROUTERS as PORTAL
from services.solver.api import ROUTERS as SOLVER
from tests.builders.measured import measure_world
from tests.builders.planning_inputs import put_world
from tests.libs.web.conftest import bearer
from tests.services.mover.conftest import ManualClock
from tests.services.portal.conftest import WEB, assess_all, create, database  # noqa: F401 - fixtures
from tests.worlds import write_world

EXAMPLES = 8
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
PLANNED = (
    "/planning-inputs",
    "/plan-runs",
    "/placement-plans",
    "/service-models",
    "/plan-overrides",
    "/metric-sources",
)
"""Nouns of which every operation must be reached. What takes files or spans has tests of its own."""
FUZZ = settings(
    max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


class Seeds:
    """Makes or finds something that is there, for the path parameters of an operation."""

    def __init__(self, client: TestClient, assess: Callable[[], None], world: Callable[[], int]) -> None:
        self._client, self._assess, self._number = client, assess, itertools.count()
        self._placement_plan_id = world()

    def parameters(self, path: str, names: list[str]) -> dict[str, object]:
        noun = path.split("/")[2] if path.count("/") > 1 else ""
        make = getattr(self, noun.replace("-", "_"), None)
        if make is None or not names:
            return {}
        made = make()
        found = dict(zip(names, made, strict=True)) if isinstance(made, tuple) else dict.fromkeys(names, made)
        return found | {name: made for name, made in self._beside(path) if name in names}

    def _beside(self, path: str) -> Iterator[tuple[str, object]]:
        """What a second parameter of a path is about."""
        if "{import_id}" in path:
            yield "import_id", self.imports()
        if path.endswith("/pictures/{name}.svg"):
            yield "name", "pools"

    def capacity_requests(self) -> int:
        return self._client.post("/v1/capacity-requests", json=create(f"asked-{next(self._number)}")).json()[
            "capacity_request_id"
        ]

    def simulations(self) -> int:
        return self._client.post("/v1/simulations", json={"region": "west", "demand": [{"scale": 1.2}]}).json()[
            "simulation_id"
        ]

    def reservations(self) -> int:
        body = create(f"held-{next(self._number)}", WEB | {"capacity_rru": 1, "survives_msb_loss": False})
        request = self._client.post("/v1/capacity-requests", json=body).json()
        self._assess()
        found = self._client.get(f"/v1/capacity-requests/{request['capacity_request_id']}").json()["reservation_id"]
        return found or self._client.get("/v1/reservations").json()["items"][0]["reservation_id"]

    def tokens(self) -> int:
        body = {"name": f"t-{next(self._number)}", "role": "requester"}
        return self._client.post("/v1/tokens", json=body).json()["token_id"]

    def approvals(self) -> int:
        share = next(self._number) / 1000 + 0.001
        body = {"policy": {"shared_buffer_share": share}}
        match = {"If-Match": self._client.get("/v1/regions/west").headers["etag"]}
        return self._client.patch("/v1/regions/west", json=body, headers=match).json()["approval_id"]

    def quotas(self) -> tuple[str, str]:
        return "west", "team"

    def regions(self) -> str:
        return "west"

    def hardware_types(self) -> str:
        return "hw-a"

    def servers(self) -> object:
        return self._first("servers", "server_id")

    def plans(self) -> object:
        return self._first("plans", "plan_id")

    def unavailability_events(self) -> object:
        server = self._client.get("/v1/servers", params={"limit": 1}).json()["items"][0]["name"]
        body = {"region": "west", "scope": "server", "scope_name": server, "kind": "planned", "reason": "test"}
        return self._client.post("/v1/unavailability-events", json=body).json()["unavailability_event_id"]

    def imports(self) -> object:
        content = dump_inventory(
            load_csv(io.BytesIO(b"server,datacenter,msb,rack,hardware_type\nx,d,m,r,hw-a\n"), "a.csv")
        )
        made = self._client.post("/v1/regions/west/imports", files={"servers": ("servers.parquet", content)})
        return made.json()["import_id"]

    def retirements(self) -> object:
        found = self._client.get("/v1/retirements", params={"status": "announced"}).json()["items"]
        if found:
            return found[0]["retirement_id"]
        body = {"region": "west", "scope": "rack", "scope_name": "rack-00", "kind": "decommission", "reason": "test"}
        made = self._client.post("/v1/retirements", json=body | {"due_at": "2100-01-01T00:00:00Z"})
        return made.json()["retirement_id"]

    def planning_inputs(self) -> str:
        return "traffic_growth"

    def plan_runs(self) -> int:
        return self._client.post("/v1/plan-runs", json={"reason": "test"}).json()["plan_run_id"]

    def placement_plans(self) -> int:
        return self._placement_plan_id

    def plan_overrides(self) -> int:
        body = {"kind": "presence", "subject": "feed", "region": "east", "least": 0.0, "reason": "test"}
        return self._client.post("/v1/plan-overrides", json=body).json()["plan_override_id"]

    def metric_sources(self) -> str:
        body = {"fills": "traffic", "query": "up", "labels": {"product": "product", "region": "region"}}
        made = self._client.put(f"/v1/metric-sources/s{next(self._number)}", json=body, headers={"If-Match": '"0"'})
        return made.json()["name"]

    def _first(self, noun: str, key: str) -> object:
        return self._client.get(f"/v1/{noun}", params={"limit": 1}).json()["items"][0][key]


@pytest.fixture
def app(database: Database) -> FastAPI:  # noqa: F811
    routers = [*PORTAL, *BROKER, *SOLVER, *MOVER, *PLANNER]
    app = create_app(title="Plimsoll", version="1", database=database, clock=SystemClock(), routers=routers)
    app.add_middleware(OtlpErrors)
    return app


@pytest.fixture
def client(app: FastAPI, database: Database) -> Iterator[TestClient]:  # noqa: F811
    with TestClient(app, headers=bearer(database, Role.ADMIN), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def planned(client: TestClient, database: Database, tmp_path: Path) -> Callable[[], int]:  # noqa: F811
    """Puts the inputs of a small world and plans it; the id of the plan."""

    def planned() -> int:
        clock, world = ManualClock(), write_world(tmp_path / "world")
        day_zero = clock.now().replace(hour=0) - timedelta(days=2)
        put_world(client, world, minute_zero=day_zero.isoformat())
        run = client.post("/v1/plan-runs", json={}).json()["plan_run_id"]
        settings = PlannerSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": tmp_path, "PLIMSOLL_PLAN_WINDOW_DAYS": 2})
        PlacementPlanMake(database, clock, settings, measure_world(world, day_zero)).reconcile()
        return int(client.get(f"/v1/plan-runs/{run}").json()["placement_plan_id"])

    return planned


@pytest.mark.timeout(1500)  # some hundred operations; as long as a busy machine takes
def test_every_operation(
    app: FastAPI,
    client: TestClient,
    assess_all: Callable[[], None],  # noqa: F811
    planned: Callable[[], int],
) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    seeds, statuses = Seeds(client, assess_all, planned), defaultdict(set)
    turn = itertools.count()

    def send(case: Case) -> None:
        if next(turn) % 2 == 0:
            aim(case, client, seeds)
        case.headers = {k: v for k, v in dict(case.headers or {}).items() if k.lower() != "authorization"}
        response = case.call(headers={"Authorization": client.headers["Authorization"]})
        statuses[case.operation.label].add(response.status_code)
        case.validate_response(response, checks=CHECKS)

    for result in schema.get_all_operations():
        operation = result.ok()
        has_input = operation.body or operation.query or operation.path_parameters or operation.headers
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            if mode is GenerationMode.POSITIVE or has_input:
                FUZZ(given(case=operation.as_strategy(generation_mode=mode))(send))()
    reached = {label for label, seen in statuses.items() if any(200 <= status < 300 for status in seen)}
    broken = {label: seen for label, seen in statuses.items() if any(status >= 500 for status in seen)}
    print(f"{len(reached)} of {len(statuses)} operations reached 2xx; not: {sorted(set(statuses) - reached)}")
    assert not broken
    assert len(reached) > len(statuses) / 2, sorted(set(statuses) - reached)
    planner = {label for label in statuses if any(noun in label for noun in PLANNED)}
    assert len(planner) > 20
    assert planner <= reached, sorted(planner - reached)


def aim(case: Case, client: TestClient, seeds: Seeds) -> None:
    """Let the case be about something that is there."""
    operation = case.operation
    names = [parameter.name for parameter in operation.path_parameters]
    case.path_parameters = dict(case.path_parameters or {}) | seeds.parameters(operation.path, names)
    case.query = {"region": "west"} if "region" in (case.query or {}) else {}
    headers = dict(case.headers or {})
    headers.pop("Idempotency-Key", None)
    definition = operation.definition.raw
    if any(parameter["name"] == "If-Match" for parameter in definition.get("parameters", ())):
        url = operation.path.format(**case.path_parameters)
        read = url.removesuffix("/rotate").removesuffix("/approve").removesuffix("/reject")
        headers["If-Match"] = client.get(read).headers.get("etag", '"1"')
    case.headers = headers
    content = definition.get("requestBody", {}).get("content", {}).get("application/json", {})
    example = example_of(content.get("schema", {}), client)
    if example is not None:
        case.body = example


def example_of(schema: dict[str, object], client: TestClient) -> object:
    """The first example of a body's schema."""
    name = str(schema.get("$ref", "")).rsplit("/", 1)[-1]
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    return (schemas.get(name, {}).get("examples") or [None])[0]
