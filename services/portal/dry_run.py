"""Preview a request: make the decision of an assessment without storing it."""

from __future__ import annotations

from libs.domain.capacity_request import CapacityRequestPhase
from libs.reconcile.clock import Clock
from libs.store.capacity.reservation_servers import count_in_use
from libs.store.platform.database import Database
from libs.web.solving_slots import solving_slot
from services.portal.case import load_case, question_of_submission
from services.portal.end_reservation import freed_servers, freed_words
from services.portal.judge import Judgement, judge
from services.portal.submit_requests import Submission
from services.portal.ways_out import WayOut, ways_out


def preview(
    database: Database, clock: Clock, submission: Submission, *, holder: int | str
) -> tuple[Judgement, tuple[WayOut, ...]]:
    """Return the decision on a submission, and changes that would get a better one.

    Raises Problem (429) while too many others are judged.
    """
    if submission.spec is None:
        assert submission.reservation is not None
        servers = freed_servers(submission.reservation)
        with database.snapshot() as tx:
            in_use = count_in_use(tx, submission.reservation.reservation_id)
        message = f"{submission.name} would be deleted: {freed_words(servers, in_use)}."
        phase = CapacityRequestPhase.GRANTED
        numbers = {"released_servers": float(servers), "servers_in_use": float(in_use)}
        return Judgement(phase=phase, reason="Deleted", message=message, numbers=numbers), ()
    with solving_slot(holder):
        with database.snapshot() as tx:
            case = load_case(tx, question_of_submission(submission), now=clock.now())
        judgement = judge(case)
        return judgement, ways_out(case, judgement)
