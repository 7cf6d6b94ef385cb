"""The parts of solves that other machines offer."""

from __future__ import annotations

from libs.jobs.kinds import JobRun, job
from libs.jobs.shared_parts import answer_part
from libs.jobs.working import ServiceJobs
from libs.reconcile.jobs import SOLVE_PART
from services.solver.shared_pool import answer_subproblem


@job(SOLVE_PART)
def solve_part(run: JobRun) -> None:
    """Solve the subproblem that is the subject."""
    answer_part(run, answer_subproblem)


JOBS = ServiceJobs(kinds=(solve_part,))
