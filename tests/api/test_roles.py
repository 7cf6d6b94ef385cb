"""Check every role × every operation of all services against one table. An operation outside the table fails the
test.
"""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web.app import create_app
from libs.web.auth import PUBLIC_PATHS
from services.broker.api import ROUTERS as BROKER
from services.mover.api import ROUTERS as MOVER
from services.orchestrator.api import ROUTERS as ORCHESTRATOR
from services.planner.api import ROUTERS as PLANNER
from services.portal.api import ROUTERS as PORTAL
from services.solver.api import ROUTERS as SOLVER
from tests.libs.web.conftest import bearer

ROUTERS = (*PORTAL, *BROKER, *SOLVER, *MOVER, *PLANNER, *ORCHESTRATOR)
V, R, O, A, L, H = Role.VIEWER, Role.REQUESTER, Role.OPERATOR, Role.ADMIN, Role.ALLOCATOR, Role.HEALTH
T, E = Role.TELEMETRY, Role.EXECUTOR
EVERYBODY, ASKING, OPERATING = {*Role}, {R, O, A}, {O, A}
MAY = {
    "GET /metrics": EVERYBODY,
    "GET /v1/loans": EVERYBODY,
    "GET /v1/whoami": EVERYBODY,
    "GET /v1/approvals": EVERYBODY,
    "GET /v1/approvals/{approval_id}": EVERYBODY,
    # Owners decide on actions of their services only: tests/services/portal/api/test_action_approvals.py.
    "POST /v1/approvals/{approval_id}/approve": ASKING,
    "POST /v1/approvals/{approval_id}/reject": ASKING,
    "POST /v1/approvals/{approval_id}/edit": ASKING,
    "POST /v1/approvals/{approval_id}/take-over": ASKING,
    "GET /v1/approval-figures": EVERYBODY,
    "GET /v1/execution-figures": EVERYBODY,
    "GET /v1/execution-figures/pictures/{name}.svg": EVERYBODY,
    "GET /v1/model-figures": EVERYBODY,
    "GET /v1/model-figures/pictures/residuals.svg": EVERYBODY,
    "GET /v1/audit-entries": EVERYBODY,
    "GET /v1/capacity-requests": EVERYBODY,
    "POST /v1/capacity-requests": ASKING,
    "GET /v1/capacity-requests/{capacity_request_id}": EVERYBODY,
    "PATCH /v1/capacity-requests/{capacity_request_id}": ASKING,
    "DELETE /v1/capacity-requests/{capacity_request_id}": ASKING,
    "GET /v1/hardware-types": EVERYBODY,
    "GET /v1/hardware-types/{hardware_type}": EVERYBODY,
    "PUT /v1/hardware-types/{hardware_type}": OPERATING,
    "PUT /v1/hardware-types/{hardware_type}/cost-units": OPERATING,
    "GET /v1/movers": EVERYBODY,
    "GET /v1/movers/{region}": EVERYBODY,
    "GET /v1/regions/{region}/imports": EVERYBODY,
    "GET /v1/regions/{region}/schedule": EVERYBODY,
    "PUT /v1/regions/{region}/schedule": OPERATING,
    "GET /v1/regions/{region}/imports/{import_id}": EVERYBODY,
    "GET /v1/regions/{region}/imports/{import_id}/items": EVERYBODY,
    "GET /v1/reservations/{reservation_id}/explain": EVERYBODY,
    "GET /v1/retirements": EVERYBODY,
    "GET /v1/retirements/{retirement_id}": EVERYBODY,
    "GET /v1/simulations": EVERYBODY,
    "GET /v1/simulations/{simulation_id}": EVERYBODY,
    "PATCH /v1/movers/{region}": OPERATING,
    "POST /v1/movers/{region}/pause": OPERATING,
    "GET /v1/urgent-departures": EVERYBODY,
    "POST /v1/urgent-departures": OPERATING,
    "DELETE /v1/urgent-departures/{server_id}": OPERATING,
    "POST /v1/movers/{region}/resume": OPERATING,
    "POST /v1/moves/{move_id}/retry": OPERATING,
    "POST /v1/moves/{move_id}/skip": OPERATING,
    "POST /v1/regions/{region}/imports": OPERATING,
    "POST /v1/regions/{region}/imports/{import_id}/confirm": OPERATING,
    "POST /v1/regions/{region}/imports/{import_id}/discard": OPERATING,
    "POST /v1/retirements": OPERATING,
    "POST /v1/retirements/{retirement_id}/cancel": OPERATING,
    "POST /v1/simulations": OPERATING,
    "POST /v1/simulations/{simulation_id}/apply": OPERATING,
    "POST /v1/simulations/{simulation_id}/cancel": OPERATING,
    "GET /v1/moves": EVERYBODY,
    "GET /v1/moves/{move_id}": EVERYBODY,
    "GET /v1/plans": EVERYBODY,
    "GET /v1/plans/{plan_id}": EVERYBODY,
    "GET /v1/plans/{plan_id}/changes": EVERYBODY,
    "GET /v1/policy-rollouts": EVERYBODY,
    "POST /v1/policy-rollouts": OPERATING,
    "GET /v1/policy-rollouts/{policy_rollout_id}": EVERYBODY,
    "GET /v1/policy-rollouts/{policy_rollout_id}/comparisons": EVERYBODY,
    "POST /v1/policy-rollouts/{policy_rollout_id}/advance": OPERATING,
    "POST /v1/policy-rollouts/{policy_rollout_id}/resume": OPERATING,
    "POST /v1/policy-rollouts/{policy_rollout_id}/back": OPERATING,
    "GET /v1/regions/{region}/server-counts": EVERYBODY,
    "GET /v1/regions/{region}/history": EVERYBODY,
    "GET /v1/regions/{region}/type-counts": EVERYBODY,
    "GET /v1/servers/{server_id}/explain": EVERYBODY,
    "GET /v1/reservations/{reservation_id}/under-way": EVERYBODY,
    "GET /v1/regions/{region}/power": EVERYBODY,
    "PUT /v1/regions/{region}/power": OPERATING,
    "GET /v1/regions/{region}/uplinks": EVERYBODY,
    "PUT /v1/regions/{region}/uplinks": OPERATING,
    "GET /v1/regions/{region}/msb-losses": EVERYBODY,
    "GET /v1/regions/{region}/domain-losses": EVERYBODY,
    "GET /v1/regions/{region}/chances": EVERYBODY,
    "GET /v1/regions/{region}/spares": EVERYBODY,
    "GET /v1/regions/{region}/drain-schedule": EVERYBODY,
    "GET /v1/approvals/{approval_id}/effects": OPERATING,
    "GET /v1/regions/{region}/replacements": EVERYBODY,
    "POST /v1/sessions": EVERYBODY,
    "DELETE /v1/sessions/current": EVERYBODY,
    "GET /v1/regions/{region}/rru-classes": EVERYBODY,
    "GET /v1/regions/{region}/rru-classes/{workload_class}": EVERYBODY,
    "GET /v1/regions/{region}/rru-classes/{workload_class}/versions": EVERYBODY,
    "PUT /v1/regions/{region}/rru-classes/{workload_class}": OPERATING,
    "DELETE /v1/regions/{region}/rru-classes/{workload_class}": OPERATING,
    "GET /v1/quotas": EVERYBODY,
    "GET /v1/quotas/{region}/{owner}": EVERYBODY,
    "PUT /v1/quotas/{region}/{owner}": OPERATING,
    "DELETE /v1/quotas/{region}/{owner}": OPERATING,
    "GET /v1/regions": EVERYBODY,
    "GET /v1/regions/{region}/approval-limits": EVERYBODY,
    "PUT /v1/regions/{region}/approval-limits": {A},
    "GET /v1/regions/{region}": EVERYBODY,
    "PATCH /v1/regions/{region}": OPERATING,
    "GET /v1/regions/{region}/export": EVERYBODY,
    "POST /v1/regions/{region}/import": OPERATING,
    "GET /v1/regions/{region}/summary": EVERYBODY,
    "GET /v1/regions/{region}/supply": EVERYBODY,
    "GET /v1/reservation-names": EVERYBODY,
    "GET /v1/reservations": EVERYBODY,
    "POST /v1/reservations": ASKING,
    "GET /v1/reservations/{reservation_id}": EVERYBODY,
    "PATCH /v1/reservations/{reservation_id}": ASKING,
    "DELETE /v1/reservations/{reservation_id}": ASKING,
    "GET /v1/reservations/{reservation_id}/history": EVERYBODY,
    "GET /v1/reservations/{reservation_id}/servers": EVERYBODY,
    "GET /v1/servers": EVERYBODY,
    "PATCH /v1/servers": {L, O, A},
    "GET /v1/servers/{server_id}": EVERYBODY,
    "PATCH /v1/servers/{server_id}": {L, O, A},
    "GET /v1/solve-runs": EVERYBODY,
    "POST /v1/solve-runs": OPERATING,
    "GET /v1/solve-runs/{solve_run_id}": EVERYBODY,
    "POST /v1/solve-runs/{solve_run_id}/cancel": OPERATING,
    "GET /v1/tokens": {A},
    "POST /v1/tokens": {A},
    "GET /v1/tokens/{token_id}": {A},
    "PATCH /v1/tokens/{token_id}": {A},
    "DELETE /v1/tokens/{token_id}": {A},
    "POST /v1/tokens/{token_id}/rotate": {A},
    "GET /v1/unavailability-events": EVERYBODY,
    "POST /v1/unavailability-events": {H, O, A},
    "GET /v1/unavailability-events/{unavailability_event_id}": EVERYBODY,
    "POST /v1/unavailability-events/{unavailability_event_id}/end": {H, O, A},
    "GET /v1/planning-inputs": EVERYBODY,
    "GET /v1/planning-inputs/{name}": EVERYBODY,
    "PUT /v1/planning-inputs/{name}": OPERATING,
    "GET /v1/planning-inputs/{name}/versions": EVERYBODY,
    "GET /v1/planning-inputs/{name}/diff": EVERYBODY,
    "GET /v1/plan-runs": EVERYBODY,
    "POST /v1/plan-runs": OPERATING,
    "GET /v1/plan-runs/{plan_run_id}": EVERYBODY,
    "POST /v1/plan-runs/{plan_run_id}/cancel": OPERATING,
    "GET /v1/placement-plans": EVERYBODY,
    "GET /v1/placement-plans/{placement_plan_id}": EVERYBODY,
    "GET /v1/placement-plans/{placement_plan_id}/changes": EVERYBODY,
    "GET /v1/placement-plans/{placement_plan_id}/models": EVERYBODY,
    "GET /v1/placement-plans/{placement_plan_id}/places": EVERYBODY,
    "GET /v1/placement-plans/{placement_plan_id}/dag": EVERYBODY,
    "GET /v1/placement-plans/{placement_plan_id}/region-losses": EVERYBODY,
    "GET /v1/placement-plans/{placement_plan_id}/pictures/{name}.svg": EVERYBODY,
    "GET /v1/placement-plans/{placement_plan_id}/what-if": EVERYBODY,
    "POST /v1/placement-plans/{placement_plan_id}/apply": OPERATING,
    "GET /v1/service-models": EVERYBODY,
    "GET /v1/plan-overrides": EVERYBODY,
    "POST /v1/plan-overrides": OPERATING,
    "GET /v1/plan-overrides/{plan_override_id}": EVERYBODY,
    "POST /v1/plan-overrides/{plan_override_id}/withdraw": OPERATING,
    "GET /v1/plan-executions": EVERYBODY,
    "POST /v1/plan-executions": OPERATING,
    "GET /v1/plan-executions/{plan_execution_id}": EVERYBODY,
    "GET /v1/plan-executions/{plan_execution_id}/actions": EVERYBODY,
    "GET /v1/plan-executions/{plan_execution_id}/actions/{position}/readings": EVERYBODY,
    "GET /v1/plan-executions/{plan_execution_id}/commands": EVERYBODY,
    "POST /v1/plan-executions/{plan_execution_id}/commands": OPERATING,
    "GET /v1/plan-executions/{plan_execution_id}/command-answers": EVERYBODY,
    "GET /v1/plan-executions/{plan_execution_id}/timeline": EVERYBODY,
    "GET /v1/plan-executions/{plan_execution_id}/gates": EVERYBODY,
    "GET /v1/regions/{region}/move-counts": EVERYBODY,
    "GET /v1/freezes": EVERYBODY,
    "POST /v1/freezes": OPERATING,
    "GET /v1/freezes/{freeze_id}": EVERYBODY,
    "POST /v1/freezes/{freeze_id}/end": OPERATING,
    "GET /v1/capacity-events": EVERYBODY,
    "POST /v1/capacity-events": OPERATING,
    "GET /v1/capacity-events/{capacity_event_id}": EVERYBODY,
    "POST /v1/capacity-events/{capacity_event_id}/decide": OPERATING,
    "POST /v1/capacity-events/{capacity_event_id}/report": {E, O, A},
    "GET /v1/capacity-effects": EVERYBODY,
    "GET /v1/waits": EVERYBODY,
    "GET /v1/waits/{reservation_id}": EVERYBODY,
    "POST /v1/traces": {T, O, A},
    "POST /v1/trace-files": {T, O, A},
    "POST /v1/usage": {T, O, A},
    "POST /v1/traffic": {T, O, A},
    "GET /v1/telemetry": EVERYBODY,
    "GET /v1/telemetry/services": EVERYBODY,
    "GET /v1/telemetry/callers": EVERYBODY,
    "GET /v1/telemetry/names": OPERATING,
    "DELETE /v1/telemetry/names": OPERATING,
    "GET /v1/metric-sources": EVERYBODY,
    "GET /v1/metric-sources/{name}": EVERYBODY,
    "PUT /v1/metric-sources/{name}": OPERATING,
    "DELETE /v1/metric-sources/{name}": OPERATING,
}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def app(database: Database) -> FastAPI:
    return create_app(title="Plimsoll", version="1", database=database, clock=SystemClock(), routers=ROUTERS)


def operations(app: FastAPI) -> dict[str, tuple[str, str]]:
    """Return label -> method, and a path to a missing object."""
    found = {}
    for path, item in app.openapi()["paths"].items():
        if path not in PUBLIC_PATHS:
            parts = ["999999" if part.startswith("{") else part for part in path.split("/")]
            for method in item:
                found[f"{method.upper()} {path}"] = (method.upper(), "/".join(parts))
    return found


def test_the_table_is_complete(app: FastAPI) -> None:
    assert set(operations(app)) == set(MAY)
    routed = {f"{m} {route.path_format}" for router in ROUTERS for route in router.routes for m in route.methods}
    assert routed | {"GET /metrics", "GET /v1/whoami"} == set(MAY), "a route that the document leaves out"


@pytest.mark.parametrize("role", list(Role))
def test_each_role_may_do_what_the_table_says(role: Role, app: FastAPI, database: Database) -> None:
    """A forbidden role gets 403 for any request, even an invalid one. An allowed role gets the actual error."""
    with TestClient(app, headers=bearer(database, role) | {"If-Match": '"1"'}) as client:
        for label, (method, url) in operations(app).items():
            answer = client.request(method, url)
            may = answer.status_code != 403
            assert may == (role in MAY[label]), (label, role, answer.text)
            if may:
                assert answer.status_code in (200, 201, 404, 409, 415, 422), (label, answer.text)
            else:
                assert answer.json()["code"] == "forbidden"


def test_without_a_token_there_is_nothing(app: FastAPI) -> None:
    with TestClient(app) as anyone:
        for label, (method, url) in operations(app).items():
            answer = anyone.request(method, url)
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated"), label


def test_a_body_is_not_read_from_who_may_not_send_it(app: FastAPI, database: Database) -> None:
    sent = []

    def body() -> Iterator[bytes]:
        for _ in range(1000):
            sent.append(None)
            yield b"x" * 1000

    with TestClient(app, headers=bearer(database, Role.VIEWER)) as client:
        answer = client.post(
            "/v1/trace-files", content=body(), headers={"Content-Type": "multipart/form-data; boundary=b"}
        )
    assert (answer.status_code, answer.json()["required_role"]) == (403, "telemetry")
    assert len(sent) < 1000
