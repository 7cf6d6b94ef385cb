"""The whole platform in one process, on a clock that stands still while it works.

The REST interface answers on a port, in threads of its own. The scheduler's tick and all jobs run here, one after the
other. So a month passes as fast as the platform works, and a server changes only while the soak looks.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, socket

import sqlalchemy as sa
import uvicorn

from libs.actuators.actuator import Actuator
from libs.jobs.kinds import JobKind, JobRun
from libs.jobs.runner import JobRunner
from libs.jobs.settings import WorkerSettings
from libs.jobs.tick import tick
from libs.reconcile.call_retries import CallSettings
from libs.reconcile.crash import crash_points_heard
from libs.reconcile.jobs import MOVE
from libs.store.platform.database import Database
from libs.store.platform.jobs import purge_jobs
from libs.store.tables import jobs, moves
from libs.web.app import create_app
from services.broker.api import API as BROKER
from services.broker.tasks import KINDS as BROKER_KINDS
from services.mover.api import API as MOVER
from services.mover.reconcilers.advance_moves import AdvanceMoves
from services.mover.settings import MoverSettings
from services.mover.tasks import KINDS as MOVER_KINDS
from services.portal.api import API as PORTAL
from services.portal.tasks import KINDS as PORTAL_KINDS
from services.solver.api import API as SOLVER
from services.solver.tasks import KINDS as SOLVER_KINDS
from soak.promise.clock import SteppedClock

_ROUNDS_MAX = 8
"""Most ticks at one moment. Jobs ask for jobs, and a chain of them ends soon."""


class PowerCut(BaseException):
    """A worker dies. No handler of the platform catches it."""


@dataclass(slots=True)
class Platform:
    """The platform. `kills` is the chance that a worker dies at a crash point; `solve_takes_s` the simulated time
    between the reading of a region and the commit of its plan.

    ran   kind -> number of jobs that were run
    """

    url: str
    database: Database
    clock: SteppedClock
    settings: WorkerSettings
    kinds: Mapping[str, JobKind]
    chance: random.Random
    kills: float
    solve_takes_s: float
    ran: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)
    _solving: bool = False

    def tick(self) -> None:
        """Run every job that is due, and the jobs that they ask for."""
        for _ in range(_ROUNDS_MAX):
            if not tick(self.database, self.clock, self.settings, self._run).sent:
                return

    def is_moving(self) -> bool:
        """Return whether a move is running."""
        with self.database.snapshot() as tx:
            return bool(tx.execute(sa.select(sa.exists().where(moves.c.status == "running"))).scalar_one())

    def forget_jobs(self) -> None:
        """Delete the jobs that are done. The platform does so by the database's clock, which does not jump."""
        with self.database.write() as tx:
            purge_jobs(tx, done_s=0.0, failed_s=365 * 86_400.0)

    def _run(self, kind: str, job_id: int, _: float) -> None:
        self.ran[kind] += 1
        try:
            with crash_points_heard(self._heard):
                JobRunner(self.database, self.clock, self.settings).run(self.kinds[kind], job_id)
        except PowerCut as cut:
            self.killed[str(cut)] += 1
            with self.database.write() as tx:
                running = (jobs.c.job_id == job_id) & (jobs.c.status == "running")
                tx.execute(sa.update(jobs).where(running).values(lease_expires_at=sa.func.now()))

    def _heard(self, point: str) -> None:
        """Let time pass while a solve works, and let workers die."""
        if point == "solver.begin.after" and not self._solving:
            self._solving = True
            try:
                self.clock.sleep(self.solve_takes_s)
            finally:
                self._solving = False
        if self.chance.random() < self.kills:
            raise PowerCut(point)


@contextmanager
def running(
    database_url: str,
    clock: SteppedClock,
    actuator: Callable[[], Actuator],
    *,
    chance: random.Random,
    kills: float,
    solve_takes_s: float,
) -> Iterator[Platform]:
    """Run the platform for the length of the block. The environment has the settings of its services.

    actuator   returns the actuator; it is called at every tick of the mover
    """
    settings = WorkerSettings()  # type: ignore[call-arg]  # from the environment
    database, behind = Database(database_url, pool_size=3), Database(database_url, pool_size=4)

    def move(run: JobRun) -> None:
        policy = MoverSettings().policy(CallSettings())
        AdvanceMoves(run.database, run.clock, actuator(), policy, run.job.subject).reconcile()

    kinds = {kind.name: kind for kind in (*BROKER_KINDS, *MOVER_KINDS, *PORTAL_KINDS, *SOLVER_KINDS)}
    kinds[MOVE] = JobKind(MOVE, move)
    services = (PORTAL, BROKER, SOLVER, MOVER)
    app = create_app(
        title="Plimsoll",
        version="soak",
        database=behind,
        clock=clock,
        routers=[router for service in services for router in service.routers],
        large_bodies={path: size for service in services for path, size in service.large_bodies.items()},
    )
    for service in services:
        service.prepare(app)
    listener = socket(AF_INET, SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run, args=([listener],), name="api", daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        yield Platform(url, database, clock, settings, kinds, chance, kills, solve_takes_s)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
        database.close()
        behind.close()


def environment(home: Path, database_url: str, cycles: str) -> dict[str, str]:
    """Return the settings of the services. `cycles` is PLIMSOLL_JOB_CYCLES."""
    return {
        "DATABASE_URL": database_url,
        "PLIMSOLL_BUNDLE_DIR": str(home / "bundles"),
        "PLIMSOLL_BUNDLES_MAX": "1",
        "PLIMSOLL_JOB_CYCLES": cycles,
        "PLIMSOLL_JOB_WORLD_CYCLES": "{}",
        "PLIMSOLL_JOB_RESEND_S": "0.01",
        "PLIMSOLL_JOB_LEASE_S": "3600",
        "PLIMSOLL_JOB_ATTEMPTS_MAX": "100",
        "PLIMSOLL_SOLVE_S_MAX": "60",
    }


@contextmanager
def given_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for the length of the block."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
