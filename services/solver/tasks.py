"""The solver's kinds of jobs."""

from __future__ import annotations

from functools import partial

from libs.domain.plan import SolveStatus
from libs.jobs.kinds import JobRun, job
from libs.jobs.settings import JobSettings
from libs.jobs.working import ServiceJobs
from libs.reconcile.jobs import SHADOW_SOLVE, SIMULATE, SOLVE
from libs.store.fleet.policy_rollouts import has_open_rollout
from libs.store.platform.jobs import enqueue
from services.solver.reconcilers.run_simulation import RunSimulation
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.reconcilers.solve_shadow import SolveShadow
from services.solver.settings import SolverSettings, read_job_settings
from services.solver.shared_pool import solving_pool


@job(SOLVE)
def solve(run: JobRun) -> None:
    """Solve the region that is the subject."""
    trigger = str(run.job.arguments.get("trigger", "schedule"))
    settings = SolverSettings.from_environment()
    pool = partial(solving_pool, run.database, JobSettings.from_environment())
    status = SolveBindings(run.database, run.clock, settings, run.job.subject, trigger, pool).reconcile()
    with run.database.write() as tx:
        if status is SolveStatus.STALE:  # another plan was committed first: solve again at once, not in an hour
            enqueue(tx, SOLVE, run.job.subject, {"trigger": "stale"})
        elif has_open_rollout(tx, run.job.subject):
            enqueue(tx, SHADOW_SOLVE, run.job.subject, {"after_job": run.job.job_id})


@job(SHADOW_SOLVE)
def shadow_solve(run: JobRun) -> None:
    """Compare the policy that is rolled out in the region with its last real solve."""
    after_job = run.job.arguments.get("after_job")
    SolveShadow(run.database, run.clock, run.job.subject, after_job if isinstance(after_job, int) else None).reconcile()


@job(SIMULATE)
def simulate(run: JobRun) -> None:
    """Run the simulation whose id is the subject."""
    settings = SolverSettings.from_environment()
    pool = partial(solving_pool, run.database, JobSettings.from_environment())
    RunSimulation(run.database, run.clock, settings, int(run.job.subject), pool).reconcile()


KINDS = (solve, shadow_solve, simulate)
JOBS = ServiceJobs(kinds=KINDS, read_settings=read_job_settings)
