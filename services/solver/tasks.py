"""The solver's kinds of jobs."""

from __future__ import annotations

from functools import partial

from libs.domain.plan import SolveStatus
from libs.jobs.kinds import JobRun, job
from libs.jobs.settings import JobSettings
from libs.jobs.working import ServiceJobs
from libs.reconcile.environment import read_environment
from libs.reconcile.jobs import SIMULATE, SOLVE
from libs.store.platform.jobs import enqueue
from services.solver.reconcilers.run_simulation import RunSimulation
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from services.solver.shared_pool import solving_pool


@job(SOLVE)
def solve(run: JobRun) -> None:
    """Solve the region that is the subject."""
    trigger = str(run.job.arguments.get("trigger", "schedule"))
    settings = SolverSettings.from_environment()
    pool = partial(solving_pool, run.database, JobSettings.from_environment())
    status = SolveBindings(run.database, run.clock, settings, run.job.subject, trigger, pool).reconcile()
    if status is SolveStatus.STALE:  # another plan was committed first: solve again at once, not in an hour
        with run.database.write() as tx:
            enqueue(tx, SOLVE, run.job.subject, {"trigger": "stale"})


@job(SIMULATE)
def simulate(run: JobRun) -> None:
    """Run the simulation whose id is the subject."""
    settings = SolverSettings.from_environment()
    pool = partial(solving_pool, run.database, JobSettings.from_environment())
    RunSimulation(run.database, run.clock, settings, int(run.job.subject), pool).reconcile()


KINDS = (solve, simulate)
JOBS = ServiceJobs(kinds=KINDS, read_settings=partial(read_environment, SolverSettings))
