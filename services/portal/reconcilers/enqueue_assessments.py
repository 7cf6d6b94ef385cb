"""Queue the assessment of each waiting request that has no job, and of each that no approval can help any more. So no
request waits forever because of a lost job or a deleted reservation.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from libs.domain.capacity_request import CapacityRequest, CapacityRequestPhase
from libs.reconcile.clock import Clock
from libs.reconcile.errors import StaleGeneration
from libs.reconcile.jobs import ASSESS
from libs.store.capacity.approvals import supersede_of_request
from libs.store.capacity.capacity_requests import change_phase, list_hopeless, list_unassessed
from libs.store.platform import audit
from libs.store.platform.certain_time import certain_now
from libs.store.platform.database import Database
from libs.store.platform.jobs import enqueue

ACTOR = "portal.assess"
AT_ONCE_MAX = 1000


@dataclass(frozen=True, slots=True)
class EnqueueAssessments:
    """Enqueues assessments. Idempotent, because at most one job waits per request."""

    database: Database
    clock: Clock

    def reconcile(self) -> int:
        """Return how many assessments were queued."""
        with self.database.snapshot() as tx:
            hopeless = list_hopeless(tx, now=certain_now(tx, self.clock), limit=AT_ONCE_MAX)
        for request in hopeless:
            with suppress(StaleGeneration):  # it was decided meanwhile
                self._submit_again(request)
        with self.database.write() as tx:
            waiting = list_unassessed(tx, job_kind=ASSESS, limit=AT_ONCE_MAX)
            for capacity_request_id, owner in waiting:
                enqueue(tx, ASSESS, str(capacity_request_id), lane=owner)
        return len(waiting)

    def _submit_again(self, request: CapacityRequest) -> None:
        """Let the request be assessed without an approval. The assessment says what has become of it."""
        submitted, why = CapacityRequestPhase.SUBMITTED, "NothingToApprove"
        message = "Its reservation changed or its time is over: it is assessed again, without an approval."
        with self.database.write() as tx:
            now = certain_now(tx, self.clock)
            supersede_of_request(tx, request.capacity_request_id, decided_by=ACTOR, reason=why, now=now)
            change_phase(tx, request, submitted, reason=why, message=message, numbers={}, now=now)
            audit.append(
                tx,
                actor=ACTOR,
                action="submit",
                subject_kind="capacity_request",
                subject_id=request.capacity_request_id,
                now=now,
                before={"phase": request.phase.value},
                after={"phase": submitted.value},
                reason=why,
            )
