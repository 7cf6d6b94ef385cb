"""One run: start the platform, its clients and the faults, and record everything."""

from __future__ import annotations

import random
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from libs.domain.policy import RegionPolicy
from libs.interchange.region.write import dump_region
from libs.reconcile.clock import ScaledClock
from libs.reconcile.jobs import ADVANCE_EXECUTIONS, CYCLES, MOVE, SOLVE, WORLD_CYCLES
from libs.simulator.fleet import made_up_fleet
from libs.store.platform.database import Database
from services.cli.client import Client as AdminClient
from services.standalone.platform import running_platform
from services.standalone.settings import StandaloneSettings
from services.standalone.supervisor import Supervisor
from soak.caller import Caller
from soak.copies import launch_copies
from soak.disk import SmallDisk
from soak.faults import Faults
from soak.history import Recorder
from soak.proxy_process import Proxies, ProxyProcess
from soak.servers import Servers, both
from soak.settle import settle
from soak.systems import Systems
from soak.systems_server import SystemsServer
from soak.unreliable import TIMEOUT_S
from soak.watched_jobs import load_holders, record_held
from soak.work import Client, Site, work
from soak.work.planned_world import bring_world
from soak.world import SECRET, Receiver, World

REGION, QUIET_REGION = "soak", "soak-quiet"
_QUIET_SERVERS = 24
_SOLVE_EVERY_S = 20.0
_MOVE_EVERY_S = 2.0
_ADVANCE_EVERY_S = 1.5
_CYCLE_S = 10.0
"""Real seconds between two solves of a region, between two ticks of the mover, of the executions, and at least
between all other jobs.

Otherwise jobs without work would take all the time of the workers.
"""
_BUFFER_SHARE = 0.06
"""Share of each hardware type that is its shared buffer from the start."""
_BOOKING_LEAD_S = 20.0
"""Shorter than the usual hour: otherwise every window that clients ask for would begin at once."""
_ANSWERS_BETWEEN, _PATIENCE_S = 5, 8.0
"""Number of answers between two faults, and longest wait for these answers in seconds. Without the wait, a busy machine
would see only faults.
"""
_WATCH_EVERY_S = 5.0
"""Seconds between two checks for jobs with an expired lease."""
_LIMIT_SHARE = 0.05
"""Share of the region's servers above which a request needs approval."""
ENVIRONMENT = {
    "PLIMSOLL_JOB_LEASE_S": "3",
    "PLIMSOLL_JOB_HEARTBEAT_S": "0.5",
    "PLIMSOLL_JOB_RESEND_S": "4",
    "PLIMSOLL_JOB_TICK_S": "0.2",
    "PLIMSOLL_SOLVE_S_MAX": "3",
    "PLIMSOLL_MOVES_MSB_SHARE_MAX": "0.5",
    "PLIMSOLL_MOVE_ATTEMPTS_MAX": "2",
    "PLIMSOLL_MOVE_BACKOFF_S": "15",
    "PLIMSOLL_MOVE_STEP_S_MAX": "240",
    "PLIMSOLL_MOVER_ACTUATOR": "webhook",
    "PLIMSOLL_WEBHOOK_SECRET": SECRET,
    "PLIMSOLL_WEBHOOK_TIMEOUT_S": str(TIMEOUT_S),
    "PLIMSOLL_WEBHOOK_TICK_S": "2",
    "PLIMSOLL_WEBHOOK_PARALLEL": "8",
    "PLIMSOLL_DATABASE_POOL_SIZE": "5",
}
"""Timeouts for a run of minutes: seconds here in place of minutes in production."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters of a run. Times are real seconds."""

    seed: int
    duration_s: float
    servers: int
    clients: int
    fault_every_s: float
    speed: float
    settle_s: float
    history_days: int | None = None
    """Days of the Clock after which moves are forgotten; None: never in a run."""
    fail_over: bool = False
    """True: a second copy of each process, and a database whose primary is lost in the middle of the work."""
    only: tuple[str, ...] = ()
    """Names of the only faults to inject; empty: all."""
    more: Mapping[str, str] = field(default_factory=dict)
    """Additional environment of the platform's processes."""


def run_faults(
    plan: Plan,
    folder: Path,
    state: Path,
    history: Path,
    disk: SmallDisk | None,
    is_enough: Callable[[], bool] = lambda: False,
) -> None:
    """Run the plan, and write its history to `history`. Raises an error if the platform does not start.

    is_enough   called now and then during the work; True ends the run at once, without a `final` record
    """
    sockets = [folder / f"proxy-{number}" for number in range(1 + plan.fail_over)]
    for socket in sockets:
        socket.mkdir()
    clock = ScaledClock(datetime.now(UTC), datetime.now(UTC), plan.speed)
    with ExitStack() as kept:
        logs = StandaloneSettings.model_validate({"PLIMSOLL_STATE_DIR": state, "DATABASE_URL": None}).log_dir
        kept.callback(shutil.copytree, logs, folder / "logs", dirs_exist_ok=True)
        servers = kept.enter_context(Servers(state, folder, logs)) if plan.fail_over else None
        database_url = None if servers is None else both(servers.urls)
        settings = StandaloneSettings.model_validate({"PLIMSOLL_STATE_DIR": state, "DATABASE_URL": database_url})
        recorder = kept.enter_context(Recorder(history))
        world = World(recorder, plan.seed)
        receiver = kept.enter_context(Receiver(world, recorder))
        systems = Systems(recorder, plan.seed)
        server = kept.enter_context(SystemsServer(systems, recorder))
        proxies = [kept.enter_context(ProxyProcess(one)) for one in sockets]
        platform = kept.enter_context(
            running_platform(
                settings,
                clock=clock,
                cycles=_slowed(CYCLES, _CYCLE_S * plan.speed)
                | {SOLVE: _SOLVE_EVERY_S * plan.speed, MOVE: _MOVE_EVERY_S * plan.speed},
                world_cycles=_slowed(WORLD_CYCLES, _CYCLE_S * plan.speed)
                | {ADVANCE_EXECUTIONS: _ADVANCE_EVERY_S * plan.speed},
                more=_environment(plan, receiver) | server.environment((REGION, QUIET_REGION), folder),
                route=proxies[0].route if servers is None else partial(_route_both, proxies, servers),
            )
        )
        recorder.write("run", **asdict(plan), small_disk=disk is not None)
        admin = AdminClient(platform.url, platform.token_file.read_text().strip())
        chance = random.Random(plan.seed)
        database = Database(database_url or proxies[0].database_url, pool_size=2)
        kept.callback(database.close)
        faults = Faults(
            platform.supervisor,
            proxies[0] if servers is None else Proxies(proxies),
            receiver,
            server,
            disk,
            clock,
            recorder,
            chance,
            only=frozenset(plan.only),
            servers=servers,
            holders=lambda: load_holders(database),
        )
        over, gone = threading.Event(), threading.Event()
        urls = [platform.url, launch_copies(platform.supervisor, kept)] if plan.fail_over else [platform.url]
        clients = _clients(plan, urls, admin, faults, world, systems, gone)
        threads = [threading.Thread(target=work, args=(one, over), name=one.name, daemon=True) for one in clients]
        for thread in threads:
            thread.start()
        recorder.write("fault", name="begin", detail="from here on", hit=True)
        tend = partial(_tend, platform.supervisor, servers)
        if not _harm(plan, faults, tend, database, is_enough):
            gone.set()
            over.set()
            return
        faults.end()
        over.set()
        _end(threads, gone, tend, plan.settle_s)
        settle(admin, database, recorder, tend, s_max=plan.settle_s, is_up=lambda: _answers(platform.url))


def region_files(region: str, servers: int, seed: int, policy: RegionPolicy | None = None) -> Mapping[str, Any]:
    """Return a made-up region as the form that the import route takes."""
    image = made_up_fleet(region, servers=servers, seed=seed, policy=policy)
    return {name.partition(".")[0]: (name, content) for name, content in dump_region(image).items()}


def _slowed(cycles: Mapping[str, float], least_s: float) -> dict[str, float]:
    """Return the cycles with intervals of at least `least_s`: shorter ones would take all the time of two cores."""
    return {kind: max(interval_s, least_s) for kind, interval_s in cycles.items()}


def _environment(plan: Plan, receiver: Receiver) -> dict[str, str]:
    found = ENVIRONMENT | {"PLIMSOLL_WEBHOOK_URL": receiver.url}
    if plan.history_days is not None:
        found["PLIMSOLL_HISTORY_KEPT_DAYS"] = str(plan.history_days)
    return found | dict(plan.more)


def _clients(
    plan: Plan,
    urls: Sequence[str],
    admin: AdminClient,
    faults: Faults,
    world: World,
    systems: Systems,
    gone: threading.Event,
) -> list[Client]:
    """Import the regions, and return their clients: the first one is an admin, the others are operators."""
    policy = RegionPolicy(shared_buffer_share=_BUFFER_SHARE, booking_lead_s=_BOOKING_LEAD_S)
    admin.post(f"/v1/regions/{REGION}/import", files=region_files(REGION, plan.servers, plan.seed, policy))
    admin.post(f"/v1/regions/{QUIET_REGION}/import", files=region_files(QUIET_REGION, _QUIET_SERVERS, plan.seed))
    limits = {"size_cost_units": _LIMIT_SHARE * plan.servers}
    admin.put(f"/v1/regions/{REGION}/approval-limits", limits, generation=0)
    image = made_up_fleet(REGION, servers=plan.servers, seed=plan.seed)
    types = list(image.snapshot.hardware_types)
    secret = admin.post("/v1/tokens", {"name": "planner", "role": "operator"})["secret"]
    planner = Caller(urls, secret, "planner", faults.recorder, gone)
    bring_world(planner, (REGION, QUIET_REGION), types[0], faults.clock.now())
    found = []
    for number in range(plan.clients):
        name, role = f"client-{number}", "operator" if number else "admin"
        secret = admin.post("/v1/tokens", {"name": name, "role": role})["secret"]
        seed = plan.seed * 1000 + number
        site = Site(
            region=REGION,
            quiet_region=QUIET_REGION,
            servers=list(image.snapshot.servers.name),
            racks=list(image.snapshot.topology.racks),
            hardware_types=types,
            region_files=lambda region, servers, seed=seed: region_files(region, servers, seed),  # type: ignore[misc]
            now=lambda: faults.clock.now(),
            world=world,
            systems=systems,
        )
        caller = Caller(urls, secret, name, faults.recorder, gone)
        found.append(Client(caller, site, random.Random(seed), is_admin=role == "admin"))
    return found


def _harm(
    plan: Plan, faults: Faults, tend: Callable[[], None], database: Database, is_enough: Callable[[], bool]
) -> bool:
    """Inject one fault after the other until the time is over; return False if is_enough ended it earlier."""
    chance, fails_over = faults.chance, plan.fail_over
    began_s, answers = time.monotonic(), faults.recorder.answers
    next_s = began_s + chance.expovariate(1 / plan.fault_every_s)
    watched_s = began_s
    while time.monotonic() < began_s + plan.duration_s:
        tend()
        faults.undo_due()
        gets_on = faults.recorder.answers >= answers + _ANSWERS_BETWEEN or time.monotonic() >= next_s + _PATIENCE_S
        if time.monotonic() >= next_s and gets_on:
            faults.one()
            answers = faults.recorder.answers
            next_s = time.monotonic() + chance.expovariate(1 / plan.fault_every_s)
        if fails_over and time.monotonic() >= began_s + plan.duration_s / 2:
            fails_over = not faults.fail_over()
        if time.monotonic() >= watched_s + _WATCH_EVERY_S:
            watched_s = time.monotonic()
            record_held(database, faults.recorder)
        if is_enough():
            return False
        time.sleep(0.05)
    return True


def _route_both(proxies: Sequence[ProxyProcess], servers: Servers, _: str) -> str:
    """Return the URL of both servers that leads through their proxies."""
    first, second = (proxy.route(url) for proxy, url in zip(proxies, servers.urls, strict=True))
    return both((first, second))


def _tend(supervisor: Supervisor, servers: Servers | None) -> None:
    """Restart dead processes. Never waits."""
    supervisor.tend()
    if servers is not None:
        servers.tend()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=1.0, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def _end(threads: list[threading.Thread], gone: threading.Event, tend: Any, s_max: float) -> None:
    """Let the clients finish their operations.

    A client that has no answer after `s_max` seconds gives up, with an unknown outcome.
    """
    deadline = time.monotonic() + s_max
    while any(thread.is_alive() for thread in threads) and time.monotonic() < deadline:
        tend()
        time.sleep(0.05)
    gone.set()
    for thread in threads:
        thread.join(15.0)
        if thread.is_alive():
            sys.stderr.write(f"soak: {thread.name} still waits for an answer\n")
