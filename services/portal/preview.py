"""What would become of a request: the real admission on the region as it is, with nothing kept."""

from __future__ import annotations

from libs.domain.capacity_request import CapacityRequestPhase
from libs.store.database import Database
from services.portal.admission import assess
from services.portal.slots import solving_slot
from services.portal.submissions import Submission


def preview(database: Database, submission: Submission) -> tuple[CapacityRequestPhase, str, str, dict[str, object]]:
    """Phase, reason, message and numbers that the request would have by now, were it sent."""
    if submission.spec is None:
        assert submission.reservation is not None
        servers = submission.reservation.target.servers
        message = f"{submission.name} would be deleted, and the mover would free its {servers} servers."
        return CapacityRequestPhase.GRANTED, "Deleted", message, {"released_servers": servers}
    with solving_slot():
        verdict = assess(database, submission.region.name, submission.name, submission.spec).verdict
    return CapacityRequestPhase(verdict.phase), verdict.reason, verdict.message, dict(verdict.numbers)
