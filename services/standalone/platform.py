"""The whole platform on one machine: database, API, worker and scheduler, as processes of their own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from libs.reconcile.clock import Clock
from libs.reconcile.settings import ClockSettings
from libs.store.database import Database
from libs.store.migrate import migrate
from services.portal.admin_token import ensure_admin_token
from services.standalone.database import provide_database
from services.standalone.processes import Command
from services.standalone.settings import StandaloneSettings
from services.standalone.supervisor import RESTARTS_MAX, Supervisor, http_ready, listen

CYCLES: Mapping[str, float] = {
    "solve": 3600.0,
    "move": 5.0,
    "draw_replacements": 60.0,
    "enqueue_assessments": 60.0,
    "advance_windows": 60.0,
    "refresh_unavailability": 60.0,
    "finish_retirements": 60.0,
    "forget_history": 86_400.0,
    "forget_idempotency_keys": 3600.0,
}
"""Kind of job -> seconds on the Clock between its runs for each region."""

WORLD_CYCLES: Mapping[str, float] = {
    "schedule_plan": 3600.0,
    "sum_spans": 15.0,
    "pull_metrics": 60.0,
    "forget_telemetry": 3600.0,
    "forget_planning": 86_400.0,
}
"""Likewise, of jobs that belong to no region."""


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform that answers."""

    url: str
    token_file: Path
    supervisor: Supervisor


@contextmanager
def running_platform(
    settings: StandaloneSettings,
    *,
    clock: Clock,
    host: str = "127.0.0.1",
    port: int = 0,
    cycles: Mapping[str, float] = CYCLES,
    world_cycles: Mapping[str, float] = WORLD_CYCLES,
    more: Mapping[str, str] | None = None,
    route: Callable[[str], str] = str,
    restarts_max: int = RESTARTS_MAX,
) -> Iterator[Platform]:
    """Start everything, and stop it in order when the block ends. Port 0 takes a free one.

    clock    the processes live by it
    cycles   kind of job -> seconds on the clock between its runs for each region
    world_cycles   likewise, of jobs that belong to no region
    more     what the processes' environment holds beside ours
    route    the database's URL -> the one that the processes use, where something stands between them and it
    restarts_max    deaths of a process, none of which it ran well before, that end the platform
    While it runs, `settings.endpoint_file` tells the command line where it is. Raises ChildFailed, PostgresUnavailable
    or OSError.
    """
    state = settings.state_dir
    state.mkdir(parents=True, exist_ok=True)
    with listen(host, port) as sock, Supervisor(settings.log_dir, restarts_max=restarts_max) as supervisor:
        address, taken = sock.getsockname()[:2]
        url = f"http://{address}:{taken}"
        database_url = provide_database(settings, supervisor)
        env = {
            **os.environ,
            "PLIMSOLL_BUNDLE_DIR": str(state / "bundles"),
            "PLIMSOLL_JOB_CYCLES": json.dumps(dict(cycles)),
            "PLIMSOLL_JOB_WORLD_CYCLES": json.dumps(dict(world_cycles)),
            **ClockSettings.environment(clock),
            **(more or {}),
            "DATABASE_URL": route(database_url),
        }
        if not env.get("PLIMSOLL_BROKER_URL"):
            env["PLIMSOLL_BROKER_DIR"] = str(state / "queue")
        migrate(database_url)
        token_file = state / "admin-token"
        _make_token(database_url, token_file, clock)
        supervisor.start(_python("scheduler", env, "-m", "services.standalone.scheduler"))
        # A process per solve or plan gives all its memory back, and its peak is that solve's own.
        solver_env = {**env, "PLIMSOLL_JOB_SLOTS": env.get("PLIMSOLL_SOLVER_SLOTS", "1")}
        solver_env["PLIMSOLL_JOB_PROCESS_JOBS_MAX"] = "1"
        supervisor.start(_python("solver", solver_env, "-m", "services.standalone.worker", "solver"))
        supervisor.start(_python("worker", env, "-m", "services.standalone.worker", "others"))
        supervisor.start(
            Command(
                name="api",
                argv=[
                    *(sys.executable, "-m", "uvicorn", "--factory", "services.standalone.api:make_app"),
                    *("--fd", str(sock.fileno()), "--no-access-log", "--log-level", "warning"),
                ],
                env=env,
                ready=lambda: http_ready(address, taken),
                pass_fds=[sock.fileno()],
            )
        )
        # The last, since nobody waits for a plan while everything starts.
        supervisor.start(_python("planner", solver_env, "-m", "services.standalone.worker", "planner"))
        endpoint = settings.endpoint_file
        endpoint.write_text(json.dumps({"url": url, "token_file": str(token_file)}) + "\n")
        supervisor.after_stop.callback(endpoint.unlink, missing_ok=True)
        yield Platform(url, token_file, supervisor)


def _python(name: str, env: Mapping[str, str], *arguments: str) -> Command:
    return Command(name=name, argv=[sys.executable, *arguments], env=env)


def _make_token(database_url: str, path: Path, clock: Clock) -> None:
    database = Database(database_url, pool_size=1)
    try:
        with database.write() as tx:
            ensure_admin_token(tx, path, now=clock.now())
    finally:
        database.close()
