"""A worker and the scheduler as processes. Each call returns when the process is told to stop."""

from __future__ import annotations

from collections.abc import Sequence

from libs.jobs.app import make_celery
from libs.jobs.kinds import JobKind
from libs.jobs.settings import JobSettings

_QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")  # what workers tell each other, we have in SQL


def run_worker(settings: JobSettings, kinds: Sequence[JobKind]) -> None:
    """Run jobs of these kinds in pool processes, and none in this one: a fork of a process that solved hangs.

    SIGTERM ends it when the jobs that run are done.
    """
    app = make_celery(settings, kinds)
    app.worker_main(
        ["--quiet", "worker", "--pool=prefork", f"--concurrency={settings.job_slots}", "--loglevel=INFO", *_QUIET]
    )


def run_scheduler(settings: JobSettings) -> None:
    """Tick for ever. Several may run at once, for when one dies."""
    app = make_celery(settings)
    app.start(["beat", "--scheduler=libs.jobs.beat:TickScheduler", "--loglevel=INFO", "--pidfile="])
