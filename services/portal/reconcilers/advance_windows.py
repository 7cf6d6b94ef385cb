"""Begin and end the reservations of a region on time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from libs.domain.capacity_request import CapacityRequestPhase
from libs.domain.words import moment
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.reconcile.jobs import ASSESS
from libs.store.capacity.capacity_requests import change_phase, load_capacity_request
from libs.store.capacity.reservations import load_reservation
from libs.store.capacity.windows import list_beginning, list_over
from libs.store.fleet.regions import load_region
from libs.store.platform import audit
from libs.store.platform.certain_time import certain_now
from libs.store.platform.database import Database, Transaction
from libs.store.platform.jobs import enqueue
from services.portal.record_request import keep
from services.portal.submit_requests import submit_delete

ACTOR = "portal.windows"
AT_ONCE_MAX = 200
"""Largest number of reservations per run. The next run takes the rest."""


@dataclass(frozen=True, slots=True)
class AdvanceWindows:
    """Begins and ends reservations. Queues the assessment of a reservation whose window begins. Deletes a reservation
    whose window is over, like its owner would. Idempotent.

    Raises StaleGeneration if another writer changed one of these reservations meanwhile. The next run reads the
    reservation again.
    """

    database: Database
    clock: Clock
    region: str

    def reconcile(self) -> tuple[int, int]:
        """Return how many assessments began, and how many reservations ended."""
        with self.database.snapshot() as tx:
            over = list_over(tx, self.region, now=certain_now(tx, self.clock), limit=AT_ONCE_MAX)
        # One transaction each. A longer one could hold a reservation's servers while it waits for the next reservation.
        # A solve that waits for those servers may have locked the next reservation.
        ended = sum(self._commit(partial(self._end, reservation_id=reservation_id)) for reservation_id in over)
        return self._commit(self._begin), ended

    def _commit(self, effect: Callable[[Transaction], int]) -> int:
        with self.database.write() as tx:
            done = effect(tx)
            crash_point("portal.windows.before")
        crash_point("portal.windows.after")
        return done

    def _end(self, tx: Transaction, reservation_id: int) -> int:
        """Delete one reservation whose window is over, even if it never began. Return 1, or 0 if another writer was
        faster.
        """
        now, reservation = certain_now(tx, self.clock), load_reservation(tx, reservation_id)
        ends_at = reservation.spec.ends_at
        if reservation.deleted_at is not None or ends_at is None or ends_at > now:
            return 0  # another writer was faster
        submission = submit_delete(tx, reservation, generation=reservation.generation)
        keep(tx, submission, actor=ACTOR, given_reason=f"Its time ended at {moment(ends_at)}", now=now)
        return 1

    def _begin(self, tx: Transaction) -> int:
        now, phase, why = certain_now(tx, self.clock), CapacityRequestPhase.SUBMITTED, "WindowBegins"
        lead = timedelta(seconds=load_region(tx, self.region).policy.booking_lead_s)
        due = list_beginning(tx, self.region, before=now + lead, limit=AT_ONCE_MAX)
        for capacity_request_id in due:
            request = load_capacity_request(tx, capacity_request_id)
            message = "Its time has come: it is assessed, and gets the servers that were booked for it."
            change_phase(tx, request, phase, reason=why, message=message, numbers={}, now=now)
            enqueue(tx, ASSESS, str(capacity_request_id), lane=request.owner)
            audit.append(
                tx,
                actor=ACTOR,
                action="begin",
                subject_kind="capacity_request",
                subject_id=capacity_request_id,
                now=now,
                before={"phase": request.phase.value},
                after={"phase": phase.value},
                reason=why,
            )
        return len(due)
