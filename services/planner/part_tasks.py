"""The parts of sweeps that other machines offer."""

from __future__ import annotations

from libs.jobs.kinds import JobRun, job
from libs.jobs.shared_parts import answer_part
from libs.jobs.working import ServiceJobs
from libs.reconcile.jobs import SUM_SPANS_PART
from services.planner.shared_attribution import answer_shard


@job(SUM_SPANS_PART)
def sum_spans_part(run: JobRun) -> None:
    """Sum the shard of spans that is the subject."""
    answer_part(run, answer_shard)


JOBS = ServiceJobs(kinds=(sum_spans_part,))
