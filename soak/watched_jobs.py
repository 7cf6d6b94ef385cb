"""Read jobs from the database, because REST does not show how long ago their leases ended."""

from __future__ import annotations

import sqlalchemy as sa

from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE
from soak.history import Json, Recorder

_JOBS = """
    SELECT job_id, kind, subject, status, attempts, error,
           CAST(extract(epoch FROM now() - lease_expires_at) AS float) AS lease_over_s
    FROM jobs WHERE status <> 'done' ORDER BY job_id LIMIT 3000"""
_SENT = "SELECT CAST(extract(epoch FROM now() - max(sent_at)) AS float) FROM jobs"


def load_jobs(database: Database) -> Json:
    """Return `jobs`, the jobs not done, and `since_sent_s`, the seconds since the last message was sent."""
    with database.snapshot() as tx:  # both queries see the same moment
        jobs = [dict(row) for row in tx.execute(sa.text(_JOBS)).mappings()]
        return {"jobs": jobs, "since_sent_s": tx.execute(sa.text(_SENT)).scalar_one()}


def record_held(database: Database, recorder: Recorder) -> None:
    """Record running jobs with an expired lease, if the database can be reached."""
    try:
        found = load_jobs(database)
    except UNAVAILABLE:
        return
    held = [job for job in found["jobs"] if job["status"] == "running" and (job["lease_over_s"] or 0.0) > 0.0]
    if held:
        recorder.write("held", since_sent_s=found["since_sent_s"], jobs=held)


def load_holders(database: Database) -> frozenset[int]:
    """Return the ids of the processes that hold a job; none if the database cannot be reached."""
    try:
        with database.snapshot() as tx:
            found = tx.execute(sa.text("SELECT worker FROM jobs WHERE status = 'running'")).scalars().all()
    except UNAVAILABLE:
        return frozenset()
    return frozenset(int(worker.split(":")[1]) for worker in found)  # host:pid:number
