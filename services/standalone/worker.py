"""A worker for all jobs, or for a part: `python -m services.standalone.worker [solver | planner | others]`.

The platform starts one of each: a solve or a plan takes minutes, and whoever asks for capacity must not wait for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from libs.actuators.webhook import WebhookSettings
from libs.jobs.kinds import JobKind
from libs.jobs.processes import run_worker
from libs.jobs.settings import WorkerSettings
from libs.observability.logs import configure_logging
from libs.observability.traces import configure_tracing
from libs.reconcile.calls import CallSettings
from libs.reconcile.environment import read_environment
from libs.reconcile.jobs import Worker
from services.mover.settings import MoverSettings
from services.planner.settings import PlannerSettings
from services.planner.telemetry_settings import TelemetrySettings
from services.solver.settings import SolverSettings

Kinds = Sequence[JobKind]


def _solver() -> Kinds:
    from services.solver.tasks import KINDS

    return KINDS


def _planner() -> Kinds:
    from services.planner.plan_tasks import PLANNING

    return PLANNING


def _others() -> Kinds:
    from services.broker.tasks import KINDS as BROKER
    from services.mover.tasks import KINDS as MOVER
    from services.planner.cycle_tasks import BESIDE
    from services.portal.tasks import KINDS as PORTAL

    return (*PORTAL, *BROKER, *MOVER, *BESIDE)


_PARTS: Mapping[str, Callable[[], Kinds]] = {
    "all": lambda: (*_solver(), *_planner(), *_others()),
    Worker.SOLVER: _solver,
    Worker.PLANNER: _planner,
    Worker.OTHERS: _others,
}


def kinds_of(part: str) -> Kinds:
    """The kinds of jobs of a part. Loads the code of these alone: it is most of what a worker takes to start."""
    return _PARTS[part]()


def main(part: str = "all") -> None:
    """Run jobs until told to stop."""
    configure_logging("worker" if part == "all" else f"worker-{part}")
    configure_tracing("worker" if part == "all" else f"worker-{part}")
    read_environment(SolverSettings)  # jobs need these: better to fail now than in each
    read_environment(PlannerSettings)
    read_environment(TelemetrySettings)
    read_environment(CallSettings)
    if read_environment(MoverSettings).mover_actuator == "webhook":
        read_environment(WebhookSettings)
    run_worker(read_environment(WorkerSettings), kinds_of(part))


if __name__ == "__main__":
    main(*sys.argv[1:])
