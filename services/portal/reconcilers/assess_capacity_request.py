"""Assess one capacity request: load → pure judgement → commit if its basis has not changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from structlog import get_logger

from libs.domain.approval import ApprovalKind
from libs.domain.capacity_request import CapacityRequest, CapacityRequestPhase
from libs.domain.finding import NewFinding
from libs.domain.fleet import FleetSnapshot, TargetPlan
from libs.domain.guest import on_servers_of
from libs.domain.plan import PlanKind
from libs.domain.reservation import ROUNDING
from libs.domain.reservation_phase import ReservationPhase
from libs.observability.tallies import ASSESSMENT_S, ASSESSMENTS, STALE
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.reconcile.errors import Overtaken, StaleGeneration
from libs.reconcile.jobs import ASSESS
from libs.reconcile.retry import retry_stale
from libs.store.capacity.approvals import create_approval, supersede_of_request
from libs.store.capacity.bookings import record_bookings, require_no_conflict
from libs.store.capacity.capacity_requests import UNASSESSED, change_phase, load_capacity_request, spec_json
from libs.store.capacity.coverage import load_coverage
from libs.store.capacity.findings import record_findings
from libs.store.capacity.quotas import load_quota
from libs.store.capacity.reservations import create_reservation, lock_at_generation, update_spec
from libs.store.fleet.power_limits import load_power_bounds
from libs.store.fleet.regions import load_region
from libs.store.plans.plans import commit_plan
from libs.store.platform import audit
from libs.store.platform.database import Database, Transaction
from libs.store.platform.refusals import is_stale
from services.portal.case import load_case, question_of_request
from services.portal.end_reservation import drop_scheduled_reservation, withdraw_scheduled_requests
from services.portal.judge import Case, Judgement, judge, over_quota

ACTOR = "portal.assess"
log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AssessCapacityRequest:
    """Brings a request to the phase that the judgement gives. Idempotent, also after a kill."""

    database: Database
    clock: Clock
    capacity_request_id: int

    def reconcile(self) -> CapacityRequest:
        """Return the request after its assessment.

        Raises NotFound if the request does not exist. Raises an error that `is_stale` recognises if other writers won
        ATTEMPTS_MAX times in a row. The request then stays in assessment, and the next tick queues it again.
        """
        return retry_stale(self._attempt, stale=is_stale, note=self._note_stale)

    def _note_stale(self, attempt: int, error: Exception) -> None:
        STALE.count(ASSESS)
        log.info(
            "assessment.overtaken", capacity_request_id=self.capacity_request_id, attempt=attempt, because=str(error)
        )

    def _attempt(self) -> CapacityRequest:
        request = self._begin()
        if request.phase not in UNASSESSED:
            return request
        with self.database.snapshot() as tx:
            case = load_case(tx, question_of_request(request), now=self.clock.now())
        judgement = judge(case)
        commits = {
            CapacityRequestPhase.REJECTED: self._reject,
            CapacityRequestPhase.AWAITING_APPROVAL: self._wait,
            CapacityRequestPhase.SCHEDULED: self._schedule,
        }
        return commits.get(judgement.phase, self._accept)(request, case, judgement)

    def _begin(self) -> CapacityRequest:
        with self.database.write() as tx:
            request = load_capacity_request(tx, self.capacity_request_id)
            if request.phase is not CapacityRequestPhase.SUBMITTED:
                return request
            request = change_phase(
                tx,
                request,
                CapacityRequestPhase.ASSESSING,
                reason="Assessing",
                message="Being compared with what the region has; read it again in a few seconds.",
                numbers={},
                now=self.clock.now(),
            )
            crash_point("portal.assess.begin.before")
        crash_point("portal.assess.begin.after")
        return request

    def _accept(self, request: CapacityRequest, case: Case, judgement: Judgement) -> CapacityRequest:
        """Write the reservation, grant, finding, phase and audit trail in one transaction."""
        assert judgement.plan is not None
        now = self.clock.now()
        with self.database.write() as tx:
            _require_quota(tx, case, judgement)
            region_id = load_region(tx, request.region).region_id
            reservation_id, generation = self._put_reservation(tx, region_id, case, scheduled=False)
            holder = _Holder.of(case, reservation_id, generation)
            withdraw_scheduled_requests(tx, reservation_id, by=request, reason="Superseded", actor=ACTOR, now=now)
            snapshot, _ = case.imagined(reservation_id=holder.reservation_id)
            commit_plan(
                tx,
                snapshot,
                judgement.plan,
                kind=PlanKind.GRANT,
                now=now,
                parent=snapshot.target_plan_id,
                capacity_request_id=request.capacity_request_id,
            )
            _require_held(tx, case, judgement, holder.reservation_id)
            changed = judgement.plan.target != case.snapshot.servers.target
            record_bookings(tx, case.snapshot, judgement.rebooked, now=now, changed=changed, own=holder.reservation_id)
            require_no_conflict(tx, holder.reservation_id, lead_s=case.snapshot.policy.booking_lead_s, now=now)
            _require_power(tx, region_id, snapshot, judgement.plan)
            finding = NewFinding(
                reservation_id=reservation_id,
                observed_generation=generation,
                phase=ReservationPhase(judgement.phase),
                reason=judgement.reason,
                message=judgement.message,
                numbers=dict(judgement.numbers),
            )
            of_holder = replace(
                finding,
                reservation_id=holder.reservation_id,
                observed_generation=holder.generation,
                message=judgement.message.removeprefix(on_servers_of(case.asked.name)),
            )
            both = {one.reservation_id: one for one in (finding, of_holder)}
            record_findings(tx, region_id, list(both.values()), now=now)
            request = self._decide(tx, request, judgement, reservation_id)
            crash_point("portal.assess.accept.before")
        crash_point("portal.assess.accept.after")
        self._count(request)
        return request

    def _schedule(self, request: CapacityRequest, case: Case, judgement: Judgement) -> CapacityRequest:
        """Store the reservation and what is booked for it; services.portal.reconcilers.advance_windows begins it."""
        assert judgement.booking is not None
        with self.database.write() as tx:
            _require_quota(tx, case, judgement)
            region_id = load_region(tx, request.region).region_id
            reservation_id, generation = self._put_reservation(tx, region_id, case, scheduled=True)
            withdraw_scheduled_requests(
                tx, reservation_id, by=request, reason="Superseded", actor=ACTOR, now=self.clock.now()
            )
            booking = replace(judgement.booking, reservation_id=reservation_id, generation=generation)
            record_bookings(tx, case.snapshot, (booking, *judgement.rebooked), now=self.clock.now())
            request = self._decide(tx, request, judgement, reservation_id, accepted_generation=generation)
            crash_point("portal.assess.schedule.before")
        crash_point("portal.assess.schedule.after")
        return request

    def _wait(self, request: CapacityRequest, case: Case, judgement: Judgement) -> CapacityRequest:
        """Ask a person: store an approval and nothing else."""
        assert request.spec is not None
        with self.database.write() as tx:
            create_approval(
                tx,
                load_region(tx, request.region).region_id,
                kind=ApprovalKind.CAPACITY_REQUEST,
                capacity_request_id=request.capacity_request_id,
                causes=judgement.causes,
                change=spec_json(request.spec),
                before=None if case.found is None else spec_json(case.found.spec),
                asked_by={request.requested_by, *request.amended_by},
                given_reason=request.given_reason,
                now=self.clock.now(),
            )
            request = self._decide(tx, request, judgement)
            crash_point("portal.assess.wait.before")
        crash_point("portal.assess.wait.after")
        return request

    def _reject(self, request: CapacityRequest, case: Case, judgement: Judgement) -> CapacityRequest:
        """Reject the request. Store the rejection, and no reservation or plan."""
        now = self.clock.now()
        with self.database.write() as tx:
            drop_scheduled_reservation(tx, request, actor=ACTOR, reason=judgement.reason, now=now)
            supersede_of_request(tx, request.capacity_request_id, decided_by=ACTOR, reason=judgement.reason, now=now)
            request = self._decide(tx, request, judgement)
            crash_point("portal.assess.reject.before")
        crash_point("portal.assess.reject.after")
        self._count(request)
        return request

    def _put_reservation(self, tx: Transaction, region_id: int, case: Case, *, scheduled: bool) -> tuple[int, int]:
        """Create or update the reservation, and return its id and generation."""
        question, now = case.question, self.clock.now()
        if case.stack.host is not None:
            lock_at_generation(tx, case.stack.host.reservation_id, case.stack.host.generation)
        if question.reservation_id is None:
            new_id = create_reservation(
                tx,
                region_id,
                name=question.name,
                owner=question.owner,
                spec=question.spec,
                now=now,
                scheduled=scheduled,
            )
            _audit_reservation(tx, new_id, "create", case, now)
            return new_id, 1
        assert question.reservation_generation is not None
        generation = update_spec(
            tx,
            question.reservation_id,
            question.spec,
            generation=question.reservation_generation,
            scheduled=scheduled,
        )
        _audit_reservation(tx, question.reservation_id, "resize", case, now)
        return question.reservation_id, generation

    def _count(self, request: CapacityRequest) -> None:
        ASSESSMENTS.count(request.phase.value, request.reason)
        ASSESSMENT_S.observe(max(0.0, (self.clock.now() - request.created_at).total_seconds()))

    def _decide(
        self,
        tx: Transaction,
        request: CapacityRequest,
        judgement: Judgement,
        reservation_id: int | None = None,
        *,
        accepted_generation: int | None = None,
    ) -> CapacityRequest:
        now = self.clock.now()
        audit.append(
            tx,
            actor=ACTOR,
            action=judgement.phase.value,
            subject_kind="capacity_request",
            subject_id=request.capacity_request_id,
            now=now,
            before={"phase": request.phase.value},
            after={
                "phase": judgement.phase.value,
                "reservation_id": reservation_id,
                "numbers": dict(judgement.numbers),
            },
            reason=judgement.reason,
        )
        return change_phase(
            tx,
            request,
            judgement.phase,
            reason=judgement.reason,
            message=judgement.message,
            numbers=judgement.numbers,
            now=now,
            reservation_id=reservation_id,
            accepted_generation=accepted_generation,
        )


@dataclass(frozen=True, slots=True)
class _Holder:
    """The reservation that holds the servers of a decided one, after the decision: itself, or the host of a guest."""

    reservation_id: int
    generation: int

    @classmethod
    def of(cls, case: Case, reservation_id: int, generation: int) -> _Holder:
        """Return the holder of the reservation that was just written. A change of a guest raises that of its host."""
        host = case.stack.host
        return cls(reservation_id, generation) if host is None else cls(host.reservation_id, host.generation + 1)


def _audit_reservation(tx: Transaction, reservation_id: int, action: str, case: Case, now: datetime) -> None:
    question = case.question
    audit.append(
        tx,
        actor=ACTOR,
        action=action,
        subject_kind="reservation",
        subject_id=reservation_id,
        now=now,
        before=None if case.found is None else {"spec": spec_json(case.found.spec)},
        after={"capacity_request_id": question.capacity_request_id, "spec": spec_json(question.spec)},
    )


def _require_held(tx: Transaction, case: Case, judgement: Judgement, reservation_id: int) -> None:
    """Raise Overtaken if the reservation now lacks more capacity than `judgement` states, because some of its servers
    left or failed.

    A grant checks the generations of the servers that it takes, but not of the servers that the reservation has
    already. This transaction holds the lock of the reservation, so no solve can take these servers before the
    transaction ends.
    """
    found = load_coverage(tx, [reservation_id], "target")[reservation_id].shortfall_rru
    judged = judgement.numbers.get("short_rru", 0.0)
    if found > judged + ROUNDING * case.asked.spec.capacity_rru:
        raise Overtaken(f"{case.asked.name} would lack {found:.6g} RRU and not {judged:.6g}: judge it again")


def _require_power(tx: Transaction, region_id: int, snapshot: FleetSnapshot, plan: TargetPlan) -> None:
    """Raise Overtaken if the granted servers take a domain above its limit on power, because another plan used the
    room meanwhile. Call it once the grant is written.
    """
    rows = plan.changes(snapshot)
    bounds = load_power_bounds(tx, region_id, snapshot, rows, plan.target[rows], written=True)
    beyond = bounds.beyond(np.ones(len(rows), bool))
    if beyond.any():
        raise Overtaken(f"{bounds.name[int(beyond.argmax())]} has no power left for the grant: judge it again")


def _require_quota(tx: Transaction, case: Case, judgement: Judgement) -> None:
    """Raise StaleGeneration if the request no longer fits the quota, because others of the owner were accepted
    meanwhile.

    The quota stays locked until the end of the transaction.
    """
    question = case.question
    before, asking = question.capacity_request_id, question.asking
    found = load_quota(tx, question.region, question.owner, before=before, question=asking, lock=True)
    if over_quota(replace(case, quota=found), judgement.cost_units) is not None:
        expected = case.quota.generation
        raise StaleGeneration("quota of", question.owner, expected=expected, found=found.generation)
