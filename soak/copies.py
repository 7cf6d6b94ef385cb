"""Second copies of the platform's processes, as a highly available installation runs them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from services.standalone.probe import HttpReady
from services.standalone.supervisor import Supervisor, listen

_COPIED = ("worker", "mover", "scheduler")


def launch_copies(supervisor: Supervisor, kept: ExitStack) -> str:
    """Start a second API, scheduler, worker and mover, and return the URL of the API. `kept` keeps its socket open."""
    sock = kept.enter_context(listen())
    host, port = sock.getsockname()[:2]
    api = supervisor.command("api")
    argv = list(api.argv)
    argv[argv.index("--fd") + 1] = str(sock.fileno())
    ready = HttpReady(host, port)
    supervisor.launch(replace(api, name="api-2", argv=argv, pass_fds=[sock.fileno()], ready=ready))
    for name in _COPIED:
        supervisor.launch(replace(supervisor.command(name), name=f"{name}-2"))
    supervisor.wait_ready("api-2")
    return f"http://{host}:{port}"
