"""Read jobs from the database."""

from libs.domain.job import Job
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import list_jobs


def load_job(tx: Transaction, job_id: int) -> Job:
    """Return a job by its id."""
    (found,) = list_jobs(tx, after=job_id - 1, limit=1).items
    assert found.job_id == job_id
    return found
