"""Assess one capacity request: load → pure verdict → commit, if nothing it rests on has moved."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from libs.domain.capacity_request import CapacityRequest, CapacityRequestKind, CapacityRequestPhase
from libs.domain.job import MOVE
from libs.domain.plan import PlanKind
from libs.domain.reservation import ReservationPhase, ReservationSpec
from libs.observability.tallies import ASSESSMENT_S, ASSESSMENTS, STALE
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.reconcile.errors import StaleGeneration
from libs.store import audit
from libs.store.capacity_requests import UNASSESSED, change_phase, load_capacity_request
from libs.store.database import Database, Transaction
from libs.store.findings import record_findings
from libs.store.jobs import enqueue
from libs.store.plans import commit_plan
from libs.store.refusals import AlreadyExists, NotFound
from libs.store.regions import load_region
from libs.store.reservations import create_reservation, find_reservation, load_reservation, update_spec
from services.portal.admission import Assessment, assess

ATTEMPTS_MAX = 10
ACTOR = "portal.assess"
_log = structlog.get_logger("plimsoll.portal")


class CapacityRequestAssess:
    """Takes a request to granted, degraded or rejected. Run twice, or killed and run again, it does so once."""

    def __init__(self, database: Database, clock: Clock, capacity_request_id: int) -> None:
        self._database, self._clock, self._id = database, clock, capacity_request_id

    def reconcile(self) -> CapacityRequest:
        """The request as it is afterwards.

        Raises NotFound for the request, and StaleGeneration where others were quicker ATTEMPTS_MAX times in a row: the
        request then stays assessing, and the next tick queues it again.
        """
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                return self._attempt()
            except (StaleGeneration, AlreadyExists, NotFound) as moved_on:
                # NotFound: a reservation was deleted meanwhile. Whatever it was, the next reading tells what to do.
                STALE.count("assess")
                if attempt == ATTEMPTS_MAX or (isinstance(moved_on, NotFound) and moved_on.noun != "reservation"):
                    raise
                _log.info(
                    "assessment starts again", capacity_request_id=self._id, attempt=attempt, because=str(moved_on)
                )
        raise AssertionError("unreachable")

    def _attempt(self) -> CapacityRequest:
        request = self._begin()
        if request.phase not in UNASSESSED:
            return request
        refusal = self._refusal(request)
        if refusal is not None:
            return self._reject(request, *refusal)
        assert request.spec is not None
        assessment = assess(self._database, request.region, request.reservation_name, request.spec)
        verdict = assessment.verdict
        if verdict.plan is None:
            return self._reject(request, verdict.reason, verdict.message, dict(verdict.numbers))
        return self._accept(request, request.spec, assessment)

    def _begin(self) -> CapacityRequest:
        with self._database.write() as tx:
            request = load_capacity_request(tx, self._id)
            if request.phase is not CapacityRequestPhase.SUBMITTED:
                return request
            request = change_phase(
                tx,
                request,
                CapacityRequestPhase.ASSESSING,
                reason="Assessing",
                message="Being compared with what the region has; read it again in a few seconds.",
                numbers={},
                now=self._clock.now(),
            )
            crash_point("portal.assess.begin.before")
        crash_point("portal.assess.begin.after")
        return request

    def _refusal(self, request: CapacityRequest) -> tuple[str, str, Mapping[str, object]] | None:
        """Why it cannot be done whatever the region has; None where nothing speaks against it."""
        name = request.reservation_name
        with self._database.snapshot() as tx:
            if request.kind is CapacityRequestKind.CREATE:
                taken = find_reservation(tx, request.region, name)
                if taken is None:
                    return None
                message = f"Somebody else created {name} first. Ask again under another name, or resize that one."
                return "NameTaken", message, {"reservation_id": taken.reservation_id}
            assert request.reservation_id is not None
            reservation = load_reservation(tx, request.reservation_id)
        if reservation.deleted_at is not None:
            message = f"{name} was deleted after this was asked. Ask for a new reservation if it is still needed."
            return "ReservationDeleted", message, {}
        if reservation.generation != request.reservation_generation:
            message = (
                f"{name} was changed after this was asked: it is at generation {reservation.generation}, this rests "
                f"on {request.reservation_generation}. Read it, and ask again if the change is still wanted."
            )
            return "ReservationChanged", message, {"found_generation": reservation.generation}
        return None

    def _accept(self, request: CapacityRequest, spec: ReservationSpec, assessment: Assessment) -> CapacityRequest:
        """Reservation, grant, finding, phase and trail, in one transaction."""
        verdict = assessment.verdict
        assert verdict.plan is not None
        now = self._clock.now()
        with self._database.write() as tx:
            region_id = load_region(tx, request.region).region_id
            reservation_id, generation = self._put_reservation(tx, region_id, request, spec)
            snapshot = assessment.snapshot(request.reservation_name, spec, reservation_id)
            commit_plan(
                tx,
                snapshot,
                verdict.plan,
                kind=PlanKind.GRANT,
                now=now,
                parent=snapshot.target_plan_id,
                capacity_request_id=request.capacity_request_id,
            )
            record_findings(
                tx,
                region_id,
                reservation_ids=[reservation_id],
                observed_generations=[generation],
                phases=[ReservationPhase(verdict.phase)],
                reasons=[verdict.reason],
                messages=[verdict.message],
                numbers=[dict(verdict.numbers)],
                now=now,
            )
            request = self._decide(
                tx,
                request,
                CapacityRequestPhase(verdict.phase),
                verdict.reason,
                verdict.message,
                verdict.numbers,
                reservation_id,
            )
            enqueue(tx, MOVE, request.region)  # the mover need not wait for its next tick
            crash_point("portal.assess.accept.before")
        crash_point("portal.assess.accept.after")
        self._count(request)
        return request

    def _put_reservation(
        self, tx: Transaction, region_id: int, request: CapacityRequest, spec: ReservationSpec
    ) -> tuple[int, int]:
        name, now = request.reservation_name, self._clock.now()
        if request.kind is CapacityRequestKind.CREATE:
            return create_reservation(tx, region_id, name=name, owner=request.owner, spec=spec, now=now), 1
        assert request.reservation_id is not None
        assert request.reservation_generation is not None
        generation = update_spec(tx, request.reservation_id, spec, generation=request.reservation_generation)
        return request.reservation_id, generation

    def _reject(
        self, request: CapacityRequest, reason: str, message: str, numbers: Mapping[str, object]
    ) -> CapacityRequest:
        """Rejected: nothing is kept but the answer."""
        with self._database.write() as tx:
            request = self._decide(tx, request, CapacityRequestPhase.REJECTED, reason, message, numbers)
            crash_point("portal.assess.reject.before")
        crash_point("portal.assess.reject.after")
        self._count(request)
        return request

    def _count(self, request: CapacityRequest) -> None:
        ASSESSMENTS.count(request.phase.value, request.reason)
        ASSESSMENT_S.observe(max(0.0, (self._clock.now() - request.created_at).total_seconds()))

    def _decide(
        self,
        tx: Transaction,
        request: CapacityRequest,
        phase: CapacityRequestPhase,
        reason: str,
        message: str,
        numbers: Mapping[str, object],
        reservation_id: int | None = None,
    ) -> CapacityRequest:
        now = self._clock.now()
        audit.append(
            tx,
            actor=ACTOR,
            action=phase.value,
            subject_kind="capacity_request",
            subject_id=request.capacity_request_id,
            now=now,
            after={"reservation_id": reservation_id, "numbers": dict(numbers)},
            reason=reason,
        )
        return change_phase(
            tx, request, phase, reason=reason, message=message, numbers=numbers, now=now, reservation_id=reservation_id
        )
