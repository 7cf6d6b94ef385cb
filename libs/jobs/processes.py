"""A worker and the scheduler as processes. Each call returns when the process is told to stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from celery import signals
from structlog import get_logger

from libs.jobs.alive import ALIVE_S, AliveFile
from libs.jobs.app import make_celery
from libs.jobs.kinds import JobKind
from libs.jobs.settings import JobSettings

log = get_logger(__name__)
_QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")  # workers coordinate in SQL instead


def run_worker(settings: JobSettings, kinds: Sequence[JobKind]) -> None:
    """Run jobs of the kinds `kinds` in pool processes. No job runs in this process, because a fork of a process that
    has solved hangs.

    SIGTERM ends the worker after the running jobs. If one of its pool processes is killed, the worker exits, and a
    supervisor must start it again.
    """
    app = make_celery(settings, kinds)
    alive = AliveFile(settings.alive_file)

    def touch_often(sender: Any, **_: object) -> None:
        alive.touch()
        sender.timer.call_repeatedly(ALIVE_S, alive.touch)

    signals.worker_ready.connect(touch_often, weak=False)
    signals.worker_ready.connect(_watch_pool)
    app.worker_main(
        ["--quiet", "worker", "--pool=prefork", f"--concurrency={settings.job_slots}", "--loglevel=INFO", *_QUIET]
    )


def _watch_pool(sender: Any, **_: object) -> None:
    """Make this process exit when one of its pool processes is killed.

    An idle pool process holds the lock of the queue from which all pool processes take jobs. If the kernel kills it
    then, for example for lack of memory, the lock stays locked, and its successors wait forever.
    """
    pool = sender.pool._pool

    def down(process: Any) -> None:
        if process.exitcode is None or process.exitcode >= 0:
            return
        log.error("worker.pool_process_killed", pid=process.pid)
        for other in list(pool._pool):
            with suppress(ProcessLookupError):
                os.kill(other.pid, signal.SIGKILL)
        os._exit(1)  # an orderly end would wait for that lock

    pool.on_process_down = down


def run_scheduler(settings: JobSettings) -> None:
    """Tick forever. More than one scheduler may run at once, so that ticks go on if a scheduler dies."""
    app = make_celery(settings)
    app.start(["beat", "--scheduler=libs.jobs.beat:TickScheduler", "--loglevel=INFO", "--pidfile="])
