"""The whole platform in one process, on a clock that stands still while it works.

The REST interface answers on a port, in threads of its own. All jobs run here, one after the other. So a month passes
as fast as the platform works, and a server changes only while the soak looks.

Periodic jobs run by the timetable of this file, without a row in the table of jobs. Solves, and all that the platform
itself asks for, go through the table of jobs and the scheduler's tick.
"""

from __future__ import annotations

import math
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, socket

import psycopg
import sqlalchemy as sa
import uvicorn

from libs.actuators.actuator import Actuator
from libs.domain.job import Job, JobStatus
from libs.jobs.kinds import JobKind, JobRun
from libs.jobs.lease import Lease
from libs.jobs.runner import JobRunner
from libs.jobs.settings import WorkerSettings
from libs.jobs.tick import tick
from libs.reconcile.call_retries import CallSettings
from libs.reconcile.crash import crash_points_heard
from libs.reconcile.errors import Overtaken, StaleGeneration, StalePlan
from libs.reconcile.jobs import MOVE
from libs.store.platform.database import Database
from libs.store.platform.jobs import purge_jobs
from libs.store.tables import jobs
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
_STALE = (StaleGeneration, StalePlan, Overtaken)
_LOOK = """
    SELECT pg_snapshot_xmax(pg_current_snapshot())::text,
           EXISTS (SELECT FROM jobs WHERE status = 'queued')
           OR EXISTS (SELECT FROM jobs WHERE status = 'running' AND lease_expires_at < now())
           OR EXISTS (SELECT FROM schedules WHERE next_at <= %s)
           OR NOT EXISTS (SELECT FROM schedules)"""
"""Returns the number of the next transaction, and whether the scheduler has anything to do. Reading takes no such
number, so it changes only when something is written.
"""


class PowerCut(BaseException):
    """A worker dies. No handler of the platform catches it."""


@dataclass(slots=True)
class Platform:
    """The platform. `kills` is the chance that a worker dies at a crash point; `solve_takes_s` the simulated time
    between the reading of a region and the commit of its plan.

    every_s  kind of a periodic job of `region` -> simulated seconds between two runs, the mover's tick left out
    ran      kind -> number of jobs that were run
    raised   kind and error -> number of attempts at jobs that ended so, stale writes left out
    stale    likewise of stale writes, which the next attempt makes up for
    """

    url: str
    region: str
    database: Database
    look: psycopg.Connection[tuple[object, ...]]
    clock: SteppedClock
    settings: WorkerSettings
    kinds: Mapping[str, JobKind]
    every_s: Mapping[str, float]
    chance: random.Random
    kills: float
    solve_takes_s: float
    ran: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)
    raised: Counter[str] = field(default_factory=Counter)
    stale: Counter[str] = field(default_factory=Counter)
    moved_at_s: float = -math.inf
    """When the mover's last tick was."""
    _seen: object = None
    _due_s: dict[str, float] = field(default_factory=dict)
    _solving: bool = False

    def tick(self, *, move: bool) -> bool:
        """Run every job that is due, and the jobs that they ask for, and the mover's tick if asked. Return whether
        anything was written since the last call, or waits to be done.
        """
        now_s = self.clock.now_s
        due = [kind for kind, every_s in self.every_s.items() if self._due_s.get(kind, 0.0) <= now_s]
        for kind in due:
            self._due_s[kind] = now_s + self.every_s[kind]
            self._run_at_once(kind)
        if move:
            self.moved_at_s = now_s
            self._run_at_once(MOVE)
        for _ in range(_ROUNDS_MAX):
            seen, has_work = self._look()
            if not (has_work and tick(self.database, self.clock, self.settings, self._run).sent):
                break
        is_changed, self._seen = bool(seen != self._seen or has_work), seen
        return is_changed

    def _look(self) -> tuple[object, ...]:
        row = self.look.execute(_LOOK, [self.clock.now()]).fetchone()
        assert row is not None
        return row

    def forget_jobs(self) -> None:
        """Delete the jobs that are done. The platform does so by the database's clock, which does not jump."""
        with self.database.write() as tx:
            purge_jobs(tx, done_s=0.0, failed_s=365 * 86_400.0)

    def _run_at_once(self, kind: str) -> None:
        """Run a periodic job. One process runs all jobs in turn, so it needs no lease."""
        self.ran[kind] += 1
        job = _job(kind, self.region, self.clock)
        try:
            with crash_points_heard(self._heard):
                lease = Lease(self.database, job, lease_s=math.inf, heartbeat_s=math.inf)
                self._attempt(JobRun(job=job, database=self.database, clock=self.clock, lease=lease))
        except PowerCut as cut:
            self.killed[str(cut)] += 1
        except Exception:  # as a worker: it is counted, and the next run does the work
            return

    def _attempt(self, run: JobRun) -> None:
        """Run a job once, and count the error that ends it."""
        try:
            self.kinds[run.job.kind].run(run)
        except Exception as error:
            counted = self.stale if isinstance(error, _STALE) else self.raised
            counted[f"{run.job.kind}: {type(error).__name__}"] += 1
            raise

    def _run(self, kind: str, job_id: int, _: float) -> None:
        self.ran[kind] += 1
        try:
            with crash_points_heard(self._heard):
                runner = JobRunner(self.database, self.clock, self.settings)
                runner.run(replace(self.kinds[kind], run=self._attempt), job_id)
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


def _job(kind: str, subject: str, clock: SteppedClock) -> Job:
    return Job(
        job_id=0,
        kind=kind,
        subject=subject,
        arguments={},
        status=JobStatus.RUNNING,
        attempts=1,
        worker="soak",
        error=None,
        created_at=clock.now(),
        finished_at=None,
        sends=1,
        trace=None,
    )


@contextmanager
def running(
    database_url: str,
    region: str,
    clock: SteppedClock,
    actuator: Callable[[], Actuator],
    *,
    every_s: Mapping[str, float],
    chance: random.Random,
    kills: float,
    solve_takes_s: float,
) -> Iterator[Platform]:
    """Run the platform for the length of the block. The environment has the settings of its services.

    every_s    see Platform
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
        with psycopg.connect(database_url, autocommit=True) as look:
            yield Platform(
                url=url,
                region=region,
                database=database,
                look=look,
                clock=clock,
                settings=settings,
                kinds=kinds,
                every_s=every_s,
                chance=chance,
                kills=kills,
                solve_takes_s=solve_takes_s,
            )
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
        database.close()
        behind.close()


def environment(home: Path, database_url: str, cycles: str, solve_limit_s: float) -> dict[str, str]:
    """Return the environment of the services: that of this process and their settings. `cycles` is
    PLIMSOLL_JOB_CYCLES.
    """
    return {
        **os.environ,
        "DATABASE_URL": database_url,
        "PLIMSOLL_BUNDLE_DIR": str(home / "bundles"),
        "PLIMSOLL_BUNDLES_MAX": "4",
        "PLIMSOLL_JOB_CYCLES": cycles,
        "PLIMSOLL_JOB_WORLD_CYCLES": "{}",
        "PLIMSOLL_JOB_RESEND_S": "0.01",
        "PLIMSOLL_JOB_LEASE_S": "3600",
        "PLIMSOLL_JOB_ATTEMPTS_MAX": "100",
        "PLIMSOLL_SOLVE_S_MAX": str(solve_limit_s),
    }
