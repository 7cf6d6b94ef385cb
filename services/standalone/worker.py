"""Run a worker for all jobs or a part: `python -m services.standalone.worker [solver | planner | mover | others |
parts]`.

The platform starts one of each but `parts`, which help the jobs of other machines. A solve or a plan takes minutes, and
a request for capacity must not wait for it. A replacement must not wait for requests.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from libs.jobs.working import ServiceJobs, work_jobs
from libs.reconcile.jobs import Worker

_PARTS: Mapping[str, Sequence[str]] = {
    Worker.SOLVER: ["services.solver.tasks"],
    Worker.PLANNER: ["services.planner.plan_tasks"],
    Worker.MOVER: ["services.mover.tasks"],
    Worker.OTHERS: [
        "services.portal.tasks",
        "services.broker.tasks",
        "services.planner.cycle_tasks",
        "services.orchestrator.tasks",
    ],
    Worker.PARTS: ["services.solver.part_tasks", "services.planner.part_tasks"],
}


def jobs_of(part: str) -> Sequence[ServiceJobs]:
    """Return the jobs of a part of the platform, or all jobs. Load only their code, because loading is most of a
    worker's start.
    """
    modules = [name for names in _PARTS.values() for name in names] if part == "all" else _PARTS[part]
    return [import_module(name).JOBS for name in modules]


def main(part: str = "all") -> None:
    """Run jobs until told to stop."""
    work_jobs("worker" if part == "all" else f"worker-{part}", *jobs_of(part))


if __name__ == "__main__":
    main(*sys.argv[1:])
