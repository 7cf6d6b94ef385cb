"""What would become of a request: the very decision that an assessment commits, with nothing kept."""

from __future__ import annotations

from libs.domain.capacity_request import CapacityRequestPhase
from libs.reconcile.clock import Clock
from libs.store.database import Database
from services.portal.judge import Judgement, Question, judge, load_case
from services.portal.slots import solving_slot
from services.portal.submissions import Submission


def preview(database: Database, clock: Clock, submission: Submission) -> Judgement:
    """The decision on it, were it sent. Raises Problem (503) while too many others are being looked at."""
    if submission.spec is None:
        assert submission.reservation is not None
        servers = submission.reservation.target.servers
        message = f"{submission.name} would be deleted, and the mover would free its {servers} servers."
        phase, numbers = CapacityRequestPhase.GRANTED, {"released_servers": float(servers)}
        return Judgement(phase=phase, reason="Deleted", message=message, numbers=numbers)
    with solving_slot():
        with database.snapshot() as tx:
            case = load_case(tx, Question.of_submission(submission), now=clock.now())
        return judge(case)
