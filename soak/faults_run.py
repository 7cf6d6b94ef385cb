"""One run: the platform, its clients and the faults, and the record of it all."""

from __future__ import annotations

import random
import shutil
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from libs.interchange.region_files import dump_region
from libs.reconcile.clock import ScaledClock
from libs.simulator.fleet import made_up_fleet
from libs.store.database import Database
from services.cli.client import Client as AdminClient
from services.standalone.platform import CYCLES, running_platform
from services.standalone.settings import StandaloneSettings
from soak.caller import Caller
from soak.disk import SmallDisk
from soak.faults import Faults
from soak.history import Recorder
from soak.proxy import DatabaseProxy
from soak.settle import settle
from soak.workload import Client

REGION = "soak"
_RESTARTS_MAX = 1_000_000
"""We kill on purpose: that is no reason for the supervisor to give up."""
_SOLVE_EVERY_S = 20.0
"""Real seconds between the solves of a cycle."""
ENVIRONMENT = {
    "PLIMSOLL_JOB_LEASE_S": "3",
    "PLIMSOLL_JOB_HEARTBEAT_S": "0.5",
    "PLIMSOLL_JOB_RESEND_S": "2",
    "PLIMSOLL_JOB_TICK_S": "0.2",
    "PLIMSOLL_SOLVE_S_MAX": "3",
    "PLIMSOLL_SIMULATED_DELAY": "0.2",
    "PLIMSOLL_SIMULATED_FAILURE_RATE": "0.02",
    "PLIMSOLL_MOVES_MSB_SHARE_MAX": "0.5",
    "PLIMSOLL_DATABASE_POOL_SIZE": "5",
}
"""Patience that fits a run of minutes: what takes minutes of a day takes seconds here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run. Times are real seconds."""

    seed: int
    duration_s: float
    servers: int
    clients: int
    fault_every_s: float
    speed: float
    settle_s: float


def run_faults(plan: Plan, folder: Path, state: Path, history: Path, disk: SmallDisk | None) -> None:
    """Run it, and leave its history in `history`. Raises what keeps the platform from coming up at all."""
    socket = folder / "proxy"
    socket.mkdir()
    clock = ScaledClock(datetime.now(UTC), datetime.now(UTC), plan.speed)
    cycles = {kind: max(interval_s, 0.5 * plan.speed) for kind, interval_s in CYCLES.items()}
    cycles["solve"] = _SOLVE_EVERY_S * plan.speed
    settings = StandaloneSettings.model_validate({"PLIMSOLL_STATE_DIR": state, "DATABASE_URL": None})
    with (
        ExitStack() as kept,
        Recorder(history) as recorder,
        DatabaseProxy(socket) as proxy,
        running_platform(
            settings,
            clock=clock,
            cycles=cycles,
            more=ENVIRONMENT,
            route=proxy.route,
            restarts_max=_RESTARTS_MAX,
        ) as platform,
    ):
        kept.callback(shutil.copytree, settings.log_dir, folder / "logs")
        recorder.write("run", **asdict(plan), small_disk=disk is not None)
        admin = AdminClient(platform.url, platform.token_file.read_text().strip())
        image = made_up_fleet(REGION, servers=plan.servers, seed=plan.seed)
        admin.post(f"/v1/regions/{REGION}/import", files=region_files(REGION, plan.servers, plan.seed))
        over, gone = threading.Event(), threading.Event()
        tend = platform.supervisor.tend
        threads = []
        for number in range(plan.clients):
            name = f"client-{number}"
            secret = admin.post("/v1/tokens", {"name": name, "role": "operator"})["secret"]
            client = Client(
                Caller(platform.url, secret, name, recorder, gone),
                region=REGION,
                names=list(image.snapshot.servers.name),
                racks=list(image.snapshot.topology.racks),
                hardware_types=list(image.snapshot.hardware_types),
                region_files=lambda region, seed=number: region_files(region, 24, seed),  # type: ignore[misc]
                seed=plan.seed * 1000 + number,
            )
            threads.append(threading.Thread(target=client.run, args=(over,), name=name, daemon=True))
        chance = random.Random(plan.seed)
        faults = Faults(platform.supervisor, proxy, disk, clock, recorder, chance)
        for thread in threads:
            thread.start()
        began_s = time.monotonic()
        next_s = began_s + chance.expovariate(1 / plan.fault_every_s)
        while time.monotonic() < began_s + plan.duration_s:
            tend()
            faults.undo_due()
            if time.monotonic() >= next_s:
                faults.one()
                next_s = time.monotonic() + chance.expovariate(1 / plan.fault_every_s)
            time.sleep(0.05)
        faults.undo_due(all_of_it=True)
        recorder.write("fault", name="over", detail="no more from here on")
        over.set()
        _end(threads, gone, tend, plan.settle_s)
        database = Database(proxy.database_url, pool_size=2)
        try:
            settle(admin, database, recorder, tend, s_max=plan.settle_s)
        finally:
            database.close()


def _end(threads: list[threading.Thread], gone: threading.Event, tend: Any, s_max: float) -> None:
    """Let the clients end what they have begun; whoever still has no answer then gives up, and does not know."""
    deadline = time.monotonic() + s_max
    while any(thread.is_alive() for thread in threads) and time.monotonic() < deadline:
        tend()
        time.sleep(0.05)
    gone.set()
    for thread in threads:
        thread.join(15.0)
        if thread.is_alive():
            sys.stderr.write(f"soak: {thread.name} still waits for an answer\n")


def region_files(region: str, servers: int, seed: int) -> Mapping[str, Any]:
    """A made-up region as the form that import takes."""
    image = made_up_fleet(region, servers=servers, seed=seed)
    return {name.partition(".")[0]: (name, content) for name, content in dump_region(image).items()}
