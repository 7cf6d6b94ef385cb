"""The solver's kinds of jobs."""

from __future__ import annotations

from libs.jobs.kinds import JobRun, job
from services.solver.reconcilers.bindings_solve import BindingsSolve
from services.solver.settings import SolverSettings

SOLVE = "solve"


@job(SOLVE)
def solve(run: JobRun) -> None:
    """Solve the region that is the subject."""
    trigger = str(run.job.arguments.get("trigger", "schedule"))
    settings = SolverSettings()  # type: ignore[call-arg]  # from the environment
    BindingsSolve(run.database, run.clock, settings, run.job.subject, trigger).reconcile()


KINDS = (solve,)
"""For make_celery."""
