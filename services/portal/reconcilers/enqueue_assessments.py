"""Queue the assessment of each waiting request that has no job. So a lost job does not make a request wait forever."""

from __future__ import annotations

from dataclasses import dataclass

from libs.reconcile.jobs import ASSESS
from libs.store.capacity.capacity_requests import list_unassessed
from libs.store.platform.database import Database
from libs.store.platform.jobs import enqueue

AT_ONCE_MAX = 1000


@dataclass(frozen=True, slots=True)
class EnqueueAssessments:
    """Enqueues assessments. Idempotent, because at most one job waits per request."""

    database: Database

    def reconcile(self) -> int:
        """Return how many assessments were queued."""
        with self.database.write() as tx:
            waiting = list_unassessed(tx, job_kind=ASSESS, limit=AT_ONCE_MAX)
            for capacity_request_id, owner in waiting:
                enqueue(tx, ASSESS, str(capacity_request_id), lane=owner)
        return len(waiting)
