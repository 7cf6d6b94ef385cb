"""The platform in one process, on a clock that goes on when a test says so.

The API answers on a port, in threads of its own. Jobs run in the thread that calls `tick`, one after the other.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, socket

import pytest
import uvicorn

from libs.actuators.actuator import Actuator
from libs.jobs.kinds import JobKind, JobRun
from libs.jobs.runner import JobRunner
from libs.jobs.settings import WorkerSettings
from libs.jobs.tick import tick
from libs.reconcile.call_retries import CallSettings
from libs.reconcile.jobs import CYCLES, MOVE
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.broker.api import API as BROKER
from services.broker.tasks import KINDS as BROKER_KINDS
from services.mover.api import API as MOVER
from services.mover.reconcilers.advance_moves import AdvanceMoves
from services.mover.settings import MoverSettings
from services.mover.tasks import KINDS as MOVER_KINDS
from services.orchestrator.api import API as ORCHESTRATOR
from services.planner.api import API as PLANNER
from services.portal.api import API as PORTAL
from services.portal.set_up import prepare_database
from services.portal.tasks import KINDS as PORTAL_KINDS
from services.solver.api import API as SOLVER
from services.solver.tasks import KINDS as SOLVER_KINDS

_ROUNDS_MAX = 8
"""Most ticks at one moment. Jobs ask for jobs, and a chain of them ends soon."""


class SteppedClock:
    """A time that goes on only when it is told to."""

    def __init__(self, begins: datetime) -> None:
        self._now = begins

    def now(self) -> datetime:
        return self._now

    def skip(self, duration_s: float) -> None:
        self._now += timedelta(seconds=duration_s)

    def sleep(self, duration_s: float) -> None:
        self.skip(duration_s)


@dataclass(frozen=True)
class Platform:
    """A running platform."""

    url: str
    database: Database
    clock: SteppedClock
    settings: WorkerSettings
    kinds: Mapping[str, JobKind]

    def tick(self) -> None:
        """Run every job that is due, and the jobs that they ask for."""
        for _ in range(_ROUNDS_MAX):
            if not tick(self.database, self.clock, self.settings, self._run).sent:
                return

    def _run(self, kind: str, job_id: int, _: float) -> None:
        JobRunner(self.database, self.clock, self.settings).run(self.kinds[kind], job_id)


@contextmanager
def one_process(
    database_url: str, home: Path, clock: SteppedClock, actuator: Actuator
) -> Iterator[tuple[Platform, str]]:
    """Yield the platform of portal, broker, solver and mover, with the routes of planner and orchestrator, and the
    token of its first admin.
    """

    def move(run: JobRun) -> None:
        policy = MoverSettings().policy(CallSettings())
        AdvanceMoves(run.database, run.clock, actuator, policy, run.job.subject).reconcile()

    kinds = {kind.name: kind for kind in (*BROKER_KINDS, *MOVER_KINDS, *PORTAL_KINDS, *SOLVER_KINDS)}
    kinds[MOVE] = JobKind(MOVE, move)
    services = (PORTAL, BROKER, SOLVER, MOVER, PLANNER, ORCHESTRATOR)
    variables = {
        "DATABASE_URL": database_url,
        "PLIMSOLL_BUNDLE_DIR": str(home / "bundles"),
        "PLIMSOLL_JOB_CYCLES": json.dumps({kind: max(every_s, 60.0) for kind, every_s in CYCLES.items()}),
        "PLIMSOLL_JOB_WORLD_CYCLES": "{}",
        "PLIMSOLL_JOB_RESEND_S": "0.01",
        "PLIMSOLL_SOLVE_S_MAX": "10",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        token_file = home / "token"
        prepare_database(database_url, token_file, clock)
        settings = WorkerSettings()
        database, behind = Database(database_url, pool_size=3), Database(database_url, pool_size=4)
        routers = [router for service in services for router in service.routers]
        sizes = {path: size for service in services for path, size in service.large_bodies.items()}
        app = create_app(
            title="Plimsoll", version="1", database=behind, clock=clock, routers=routers, large_bodies=sizes
        )
        for service in services:
            service.prepare(app)
        with listening(app) as url:
            yield Platform(url, database, clock, settings, kinds), token_file.read_text().strip()
        database.close()
        behind.close()


@contextmanager
def listening(app: object) -> Iterator[str]:
    """Serve an app in threads of this process, and yield its address."""
    with socket(AF_INET, SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
