"""One or several services' jobs as a worker process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from libs.jobs.kinds import JobKind
from libs.jobs.processes import run_worker
from libs.jobs.settings import MessageSettings
from libs.observability.logs import configure_logging
from libs.observability.traces import configure_tracing
from libs.reconcile.environment import read_environment, wrong_in_one_line


def _nothing() -> None:
    """Most jobs need no settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceJobs:
    """The jobs of one service, or a part of them, for a process of its own or beside those of others.

    read_settings   reads all settings of the jobs at the start, so that a wrong setting fails then and not in each job
    """

    kinds: Sequence[JobKind]
    read_settings: Callable[[], object] = _nothing


def work_jobs(name: str, *services: ServiceJobs) -> None:
    """Run jobs until told to stop. `name` is that of the process in its logs."""
    configure_logging(name)
    configure_tracing(name)
    for service in services:
        wrong_in_one_line(service.read_settings)
    kinds = [kind for service in services for kind in service.kinds]
    run_worker(read_environment(MessageSettings), kinds)
