"""Run the platform in one process: an API, a scheduler and four workers as threads, on a database.

    SOAK_MUTANT=NAME PYTHONPATH=soak/mutants/site:. python -m tests.soak.inline DATABASE_URL HISTORY SECONDS

It starts at once, but six processes take a minute on a busy machine. The only fault: a worker sometimes forgets a job,
like a killed one.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from libs.reconcile.clock import ScaledClock
from libs.reconcile.settings import ClockSettings
from soak.faults_run import ENVIRONMENT, QUIET_REGION, REGION, region_files
from soak.history import History, Recorder
from soak.judge import AT_ANY_TIME, judge
from soak.settle import settle
from soak.systems import Systems
from soak.systems_server import SystemsServer
from soak.work import Client, Site, work
from soak.work.planned_world import bring_world
from soak.world import Receiver, World

SERVERS, CLIENTS, SPEED, SETTLE_S = 60, 4, 60.0, 30.0
CYCLES = {"move": 30.0, "draw_replacements": 120.0, "refresh_unavailability": 120.0, "advance_windows": 120.0}
WORLD_CYCLES = {"advance_executions": 60.0, "sum_spans": 60.0}
FORGETS = 0.1
"""Share of jobs whose worker acts as if killed right after the start."""


def main(database_url: str, history: Path, seconds: float) -> None:
    """Run until a rule that can be checked at any time is broken, or the time is over and all is settled."""
    with Recorder(history) as recorder:
        world = World(recorder, 1)
        systems = Systems(recorder, 4)
        with Receiver(world, recorder) as receiver, SystemsServer(systems, recorder) as server:
            clock = ScaledClock(datetime.now(UTC), datetime.now(UTC), SPEED)
            os.environ.update(ENVIRONMENT | ClockSettings.environment(clock))
            os.environ.update({"DATABASE_URL": database_url, "PLIMSOLL_WEBHOOK_URL": receiver.url})
            os.environ.update(
                {
                    "PLIMSOLL_BUNDLE_DIR": str(history.parent / "bundles"),
                    "PLIMSOLL_JOB_CYCLES": "{}",
                    "PLIMSOLL_JOB_WORLD_CYCLES": "{}",
                }
            )
            os.environ.update(server.environment((REGION, QUIET_REGION), history.parent))
            os.environ["PLIMSOLL_BROKER_DIR"] = str(history.parent / "queue")
            _run(database_url, history, recorder, (world, systems), clock, seconds)


def _run(
    database_url: str,
    history: Path,
    recorder: Recorder,
    worlds: tuple[World, Systems],
    clock: ScaledClock,
    seconds: float,
) -> None:
    import uvicorn

    from libs.domain.policy import RegionPolicy
    from libs.simulator.fleet import made_up_fleet
    from libs.store.platform.database import Database
    from services.cli.client import Client as AdminClient
    from services.portal.admin_token import ensure_admin_token
    from services.standalone.api import make_app
    from soak.caller import Caller

    database = Database(database_url, pool_size=4)
    token = history.parent / "token"
    with database.write() as tx:
        ensure_admin_token(tx, token, now=clock.now())
    server = uvicorn.Server(uvicorn.Config(make_app(), port=0, log_level="warning"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    over, stopped = threading.Event(), threading.Event()
    scheduler = threading.Thread(target=_jobs, args=(database_url, clock, stopped), daemon=True)
    scheduler.start()
    admin = AdminClient(url, token.read_text().strip())
    policy = RegionPolicy(shared_buffer_share=0.06)
    admin.post(f"/v1/regions/{REGION}/import", files=region_files(REGION, SERVERS, 1, policy))
    admin.post(f"/v1/regions/{QUIET_REGION}/import", files=region_files(QUIET_REGION, 24, 1))
    fleet = made_up_fleet(REGION, servers=SERVERS, seed=1).snapshot
    secret = admin.post("/v1/tokens", {"name": "planner", "role": "operator"})["secret"]
    planner = Caller([url], secret, "planner", recorder, over)
    bring_world(planner, (REGION, QUIET_REGION), fleet.hardware_types[0], clock.now())
    threads = []
    for number in range(CLIENTS):
        secret = admin.post("/v1/tokens", {"name": f"client-{number}", "role": "operator"})["secret"]
        site = Site(
            region=REGION,
            quiet_region=QUIET_REGION,
            servers=list(fleet.servers.name),
            racks=list(fleet.topology.racks),
            hardware_types=list(fleet.hardware_types),
            region_files=lambda region, servers: region_files(region, servers, 1),
            now=clock.now,
            world=worlds[0],
            systems=worlds[1],
        )
        client = Client(Caller([url], secret, f"client-{number}", recorder, over), site, random.Random(number))
        threads.append(threading.Thread(target=work, args=(client, over), daemon=True))
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not judge(History.read(history), AT_ANY_TIME):
        time.sleep(2.0)
    over.set()
    for thread in threads:
        thread.join(15.0)
    if not judge(History.read(history), AT_ANY_TIME):
        settle(admin, database, recorder, lambda: None, s_max=SETTLE_S)
    stopped.set()
    scheduler.join()


def _jobs(database_url: str, clock: ScaledClock, stopped: threading.Event) -> None:
    """Tick, and run the jobs in two threads."""
    from libs.jobs.runner import JobRunner
    from libs.jobs.settings import WorkerSettings
    from libs.jobs.tick import tick
    from libs.store.platform.database import Database
    from libs.store.platform.jobs import claim_job
    from services.standalone.worker import jobs_of

    settings: Any = WorkerSettings()  # type: ignore[call-arg]  # from the environment
    settings = settings.model_copy(update={"job_cycles": CYCLES, "job_world_cycles": WORLD_CYCLES})
    database, chance = Database(database_url, pool_size=8), random.Random(1)
    kinds = {kind.name: kind for jobs in jobs_of("all") for kind in jobs.kinds}
    runners = threading.local()

    def run(kind: str, job_id: int, _: float) -> None:
        if not hasattr(runners, "one"):
            runners.one = JobRunner(database, clock, settings)
        if chance.random() < FORGETS:
            with database.write() as tx:
                claim_job(tx, job_id, worker="killed", lease_s=settings.job_lease_s)
        else:
            runners.one.run(kinds[kind], job_id)

    with ThreadPoolExecutor(4) as pool:
        send: Callable[[str, int, float], Any] = lambda kind, job_id, s: pool.submit(run, kind, job_id, s)  # noqa: E731
        while not stopped.wait(0.2):
            tick(database, clock, settings, send)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
