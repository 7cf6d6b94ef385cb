"""Run the whole platform on one machine: database, API, pages, worker and scheduler, each as a process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from socket import socket

from libs.reconcile.clock import Clock
from libs.reconcile.jobs import CYCLES, WORLD_CYCLES
from libs.reconcile.settings import ClockSettings
from services.standalone.database import provide_database
from services.standalone.environment_check import check_environment
from services.standalone.postgres_age import old_server_note
from services.standalone.probe import FileReady, HttpReady
from services.standalone.processes import Command, Tell, tell_nothing
from services.standalone.settings import StandaloneSettings
from services.standalone.supervisor import Supervisor, listen

_ACTUATOR = "PLIMSOLL_MOVER_ACTUATOR"
_ANY_DATABASE = "postgresql://127.0.0.1/any"
"""The address of a database, for a check before the real one is known."""
_LITTLE_MEMORY = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 20),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Variables that make processes give freed memory back: other threads can reuse it, and large blocks return to the
system.

The first two variables are for glibc. The third makes Arrow use glibc, because Arrow's own pool keeps freed memory. The
values of the environment come first.
"""


@dataclass(frozen=True, slots=True)
class Platform:
    """A running platform.

    pages_url   the address of the pages; None: they do not run
    actuator    the name of the actuator that moves its servers
    """

    url: str
    pages_url: str | None
    token_file: Path
    supervisor: Supervisor
    actuator: str


@contextmanager
def running_platform(
    settings: StandaloneSettings,
    *,
    clock: Clock,
    host: str = "127.0.0.1",
    port: int = 0,
    pages_port: int | None = None,
    cycles: Mapping[str, float] = CYCLES,
    world_cycles: Mapping[str, float] = WORLD_CYCLES,
    more: Mapping[str, str] | None = None,
    route: Callable[[str], str] = str,
    tell: Tell = tell_nothing,
) -> Iterator[Platform]:
    """Start everything, and stop it in order when the block ends.

    Port 0 takes the last port of this state folder if it is free, or else any free one.

    pages_port   the port of the pages, 0 likewise; None: no pages
    clock    the clock of all processes
    cycles   kind of job -> seconds on the clock between its runs for each region
    world_cycles   likewise, for jobs that belong to no region
    more     further variables for the processes' environment
    route    the database's URL -> the URL for the processes, if a proxy stands between
    tell     takes a sentence at each step of the start, and when a process dies

    The block begins once the API is ready. Workers may still load their code then: `supervisor.wait_until_ready()`
    waits for them. While the platform runs, `settings.endpoint_file` tells the command line its address. Raises
    ChildFailed, PostgresUnavailable or OSError, and SystemExit before anything starts if the environment is wrong.
    """
    state = settings.state_dir
    env = {
        _ACTUATOR: "simulated",
        "PLIMSOLL_AUDIT_DIR": str(state / "audit"),
        **os.environ,
        "PLIMSOLL_BUNDLE_DIR": str(state / "bundles"),
        "PLIMSOLL_JOB_CYCLES": json.dumps(dict(cycles)),
        "PLIMSOLL_JOB_WORLD_CYCLES": json.dumps(dict(world_cycles)),
        **ClockSettings.environment(clock),
        **(more or {}),
    }
    if not env.get("PLIMSOLL_BROKER_URL"):
        env["PLIMSOLL_BROKER_DIR"] = str(state / "queue")
        env.pop("PLIMSOLL_BROKER_URL", None)
    check_environment({**env, "DATABASE_URL": _ANY_DATABASE})
    state.mkdir(parents=True, exist_ok=True, mode=0o711)
    for folder in (settings.log_dir, settings.alive_dir, state / "bundles", state / "queue"):
        _make_private(folder)
    with (
        _listen(host, port, settings.port_file) as sock,
        _listen_for_pages(host, pages_port, settings.pages_port_file) as pages_sock,
        Supervisor(settings.log_dir, tell=tell) as supervisor,
    ):
        address, taken = sock.getsockname()[:2]
        url = f"http://{address}:{taken}"
        database_url = provide_database(settings, supervisor)
        settings.port_file.write_text(f"{taken}\n")  # only now: a second start in this folder fails at the line above
        if settings.database_url is None:
            note = old_server_note(state / "postgres" / "data", datetime.now(UTC).date())
            if note is not None:
                tell(note)
        env["DATABASE_URL"] = route(database_url)
        # Its code takes longest to load and needs no tables for that. It is ready once the tables exist.
        supervisor.launch(
            Command(
                name="api",
                argv=[
                    *(sys.executable, "-m", "uvicorn", "--factory", "services.standalone.api:make_app"),
                    *("--fd", str(sock.fileno()), "--no-access-log", "--log-level", "warning"),
                    *_proxy_headers(settings.trusted_proxies),
                ],
                env=_LITTLE_MEMORY | env,
                ready=HttpReady(address, taken),
                pass_fds=[sock.fileno()],
            )
        )
        pages_url = None
        if pages_sock is not None:
            pages_url = f"http://{address}:{pages_sock.getsockname()[1]}"
            settings.pages_port_file.write_text(f"{pages_sock.getsockname()[1]}\n")
        tell("bringing the database to the schema of this version")
        token_file = state / "admin-token"
        # Import here: the database and the API start while this code loads, and loading takes longer than running it.
        from services.portal.set_up import prepare_database

        prepare_database(database_url, token_file, clock)
        supervisor.launch(_loop("worker", settings, env, "-m", "services.standalone.worker", "others"))
        supervisor.wait_ready("api")
        # The others load while the first requests arrive: no request waits for a solve, and no move for a request.
        supervisor.launch(_loop("mover", settings, env, "-m", "services.standalone.worker", "mover"))
        supervisor.launch(_loop("scheduler", settings, env, "-m", "services.scheduler.main", "work"))
        if pages_sock is not None:
            supervisor.launch(_pages(pages_sock, env, url, settings.trusted_proxies))
        # A process per solve or plan gives all its memory back, and its peak is that of one solve.
        solver_env = {**env, "PLIMSOLL_JOB_SLOTS": str(settings.solver_slots)}
        solver_env["PLIMSOLL_JOB_PROCESS_JOBS_MAX"] = "1"
        supervisor.launch(_loop("solver", settings, solver_env, "-m", "services.standalone.worker", "solver"))
        supervisor.launch(_loop("planner", settings, solver_env, "-m", "services.standalone.worker", "planner"))
        endpoint = settings.endpoint_file
        endpoint.write_text(json.dumps({"url": url, "token_file": str(token_file)}) + "\n")
        supervisor.after_stop.callback(endpoint.unlink, missing_ok=True)
        yield Platform(url, pages_url, token_file, supervisor, actuator=env[_ACTUATOR])


def _listen(host: str, port: int, kept: Path) -> socket:
    """Return a listening socket. For port 0, prefer the port in the file `kept`, so that addresses stay valid after a
    restart.
    """
    last = _port_in(kept) if port == 0 else 0
    try:
        sock = listen(host, port or last)
    except OSError as error:
        if not last:
            why = (error.strerror or str(error)).partition(" (")[0]  # without the address, which create_server repeats
            raise OSError(
                f"cannot listen on {host}, port {port}: {why}. Choose another --host or --port, or none"
            ) from error
        sock = listen(host)
    return sock


@contextmanager
def _listen_for_pages(host: str, port: int | None, kept: Path) -> Iterator[socket | None]:
    """Yield a listening socket for the pages; None without pages."""
    if port is None:
        yield None
        return
    with _listen(host, port, kept) as sock:
        yield sock


def _pages(sock: socket, env: Mapping[str, str], api_url: str, trusted_proxies: str | None) -> Command:
    """Return the process of the pages. It gets no address of the database: it is a client of the API."""
    withheld = ("DATABASE_URL", "PLIMSOLL_BROKER_URL", "PLIMSOLL_BROKER_DIR")
    own = {name: value for name, value in env.items() if name not in withheld}
    return Command(
        name="pages",
        argv=[
            *(sys.executable, "-m", "uvicorn", "--factory", "services.pages.app:make_app", "--no-server-header"),
            *("--fd", str(sock.fileno()), "--no-access-log", "--log-level", "warning"),
            *_proxy_headers(trusted_proxies),
        ],
        env=_LITTLE_MEMORY | own | {"PLIMSOLL_URL": api_url},
        ready=HttpReady(*sock.getsockname()[:2]),
        pass_fds=[sock.fileno()],
    )


def _port_in(kept: Path) -> int:
    try:
        port = int(kept.read_text())
    except (OSError, ValueError):
        return 0
    return port if 0 < port < 1 << 16 else 0


def _make_private(folder: Path) -> None:
    """Make a folder private: bundles hold the reservations of all owners, and logs name requesters."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)  # also a folder that an earlier version made


def _proxy_headers(trusted: str | None) -> tuple[str, ...]:
    """Return uvicorn's options for trusted X-Forwarded-For. By default uvicorn would trust every client of this
    host.
    """
    return ("--proxy-headers", "--forwarded-allow-ips", trusted) if trusted else ("--no-proxy-headers",)


def _loop(name: str, settings: StandaloneSettings, env: Mapping[str, str], *arguments: str) -> Command:
    """Return a worker or the scheduler, which is ready once its loop turns."""
    alive = settings.alive_dir / name
    return Command(
        name=name,
        argv=[sys.executable, *arguments],
        env={**env, "PLIMSOLL_ALIVE_FILE": str(alive)},
        ready=FileReady(alive),
    )
