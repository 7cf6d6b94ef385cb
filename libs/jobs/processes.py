"""A worker and the scheduler as processes. Each call returns when the process is told to stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from celery import signals
from structlog import get_logger

from libs.jobs.app import make_celery
from libs.jobs.kinds import JobKind
from libs.jobs.settings import JobSettings

log = get_logger(__name__)
_QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")  # what workers tell each other, we have in SQL


def run_worker(settings: JobSettings, kinds: Sequence[JobKind]) -> None:
    """Run jobs of these kinds in pool processes, and none in this one: a fork of a process that solved hangs.

    SIGTERM ends it when the jobs that run are done. It ends itself when one of its pool processes is killed: whoever
    keeps it running starts it anew.
    """
    app = make_celery(settings, kinds)
    signals.worker_ready.connect(_watch_pool)
    app.worker_main(
        ["--quiet", "worker", "--pool=prefork", f"--concurrency={settings.job_slots}", "--loglevel=INFO", *_QUIET]
    )


def _watch_pool(sender: Any, **_: object) -> None:
    """Have this process end when one of its pool is killed.

    An idle pool process holds the lock of the queue that all of them take their jobs from. Killed then, by the kernel
    for want of memory for example, it never lets go of it, and those that come after it wait for ever.
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
    """Tick for ever. Several may run at once, for when one dies."""
    app = make_celery(settings)
    app.start(["beat", "--scheduler=libs.jobs.beat:TickScheduler", "--loglevel=INFO", "--pidfile="])
