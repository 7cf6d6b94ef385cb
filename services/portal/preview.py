"""What would become of a request: the real admission on the region as it is, with nothing kept."""

from __future__ import annotations

from threading import BoundedSemaphore

from libs.domain.capacity_request import CapacityRequestPhase
from libs.store.database import Database
from libs.web.problems import Problem
from services.portal.admission import assess
from services.portal.submissions import Submission

AT_ONCE_MAX = 2
"""Each loads a whole region and solves: more at a time would keep the process from answering anything else."""
_slots = BoundedSemaphore(AT_ONCE_MAX)


def preview(database: Database, submission: Submission) -> tuple[CapacityRequestPhase, str, str, dict[str, object]]:
    """Phase, reason, message and numbers that the request would have by now, were it sent."""
    if submission.spec is None:
        assert submission.reservation is not None
        servers = submission.reservation.target.servers
        message = f"{submission.name} would be deleted, and the mover would free its {servers} servers."
        return CapacityRequestPhase.GRANTED, "Deleted", message, {"released_servers": servers}
    if not _slots.acquire(blocking=False):
        detail = f"{AT_ONCE_MAX} dry runs are under way, and no more at a time. Try again in a few seconds."
        raise Problem(503, "unavailable", detail, headers={"Retry-After": "2"})
    try:
        verdict = assess(database, submission.region.name, submission.name, submission.spec).verdict
    finally:
        _slots.release()
    return CapacityRequestPhase(verdict.phase), verdict.reason, verdict.message, dict(verdict.numbers)
