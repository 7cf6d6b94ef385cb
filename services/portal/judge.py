"""Decide on a capacity request. The assessment commits this decision, and a dry run prints it.

Pure: services.portal.case loads the data. The order of the checks, with reasons:
docs/designs/0003-access-and-approvals.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from libs.domain.approval import ApprovalLimits, Cause
from libs.domain.approval_causes import approval_causes, own_rru_causes
from libs.domain.calendar import Calendar, NewBooking, Window, Windowed, is_beyond_horizon, window_of
from libs.domain.capacity_request import CapacityRequestPhase
from libs.domain.cost_units import CostTable, held_cost_units, most_cost_units
from libs.domain.fleet import FleetSnapshot, TargetPlan
from libs.domain.guest import guest_amounts, on_servers_of, with_amounts
from libs.domain.quota import Quota
from libs.domain.reservation import Reservation, ReservationSpec
from libs.domain.rru_catalogue import RruCatalogue
from libs.domain.stack import Asking, Stack
from libs.domain.stacked_region import with_guests
from libs.domain.verdict import Verdict
from libs.domain.what_if import with_reservation
from libs.domain.words import moment
from libs.ras.admission import refusal_of
from libs.ras.bookings import Decision, beyond_horizon, booking_of, decide
from services.portal.guest_share import naming_the_share
from services.portal.quota_rule import exceeds_quota, excess_in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question: a capacity request to decide on, stored or not.

    capacity_request_id      None: the request is not stored, and comes after all stored requests
    reservation_id           the reservation that the request changes; None: it creates one
    reservation_generation   the generation of that reservation as read
    accepted                 True: the reservation was stored for this request, and waits for its window to begin
    """

    capacity_request_id: int | None
    region: str
    name: str
    owner: str
    spec: ReservationSpec
    reservation_id: int | None
    reservation_generation: int | None
    accepted: bool = False

    @property
    def asking(self) -> Asking:
        """Return the request for the reservation."""
        return self.name, self.owner, self.spec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A case: a question, and all data that decide it.

    calendar   the coming changes of the region
    found      the reservation that the request changes, or else the live reservation with the requested name; None:
               neither
    snapshot   the whole region, because bound servers also decide whether the request could ever be met
    stack      the reservations that share servers with it
    quota      quota of the owner, in which this question and later requests do not count
    catalogue  RRU catalogue of the region
    costs      cost units of the region
    approved   True: a person approved the request, and it has not changed since
    not_followed  why it cannot follow the reservation that it names, as the end of a sentence; None: it can
    """

    question: Question
    found: Reservation | None
    snapshot: FleetSnapshot
    calendar: Calendar
    quota: Quota
    catalogue: RruCatalogue
    costs: CostTable
    limits: ApprovalLimits
    approved: bool
    now: datetime
    not_followed: str | None = None
    stack: Stack = field(default_factory=Stack)

    @property
    def asked(self) -> Question:
        """Return the question as solves see it: with the resources that stand for guests. A question about a guest is
        one about its host.
        """
        question, host = self.question, self.stack.host
        spec = self.stack.asked(question.name, question.owner, question.spec)
        if host is None:
            return replace(question, spec=spec)
        return replace(
            question,
            name=host.name,
            spec=spec,
            reservation_id=host.reservation_id,
            reservation_generation=host.generation,
        )

    @property
    def costs_before(self) -> CostTable:
        """Return the cost units of the region with the guest in question as it is now."""
        was = () if self.stack.was is None else (self.stack.was,)
        return replace(self.costs, amounts=with_amounts(self.costs.amounts, guest_amounts(was)))

    def imagined(self, *, reservation_id: int = 0) -> tuple[FleetSnapshot, int]:
        """Return the region with the reservation of the question, and its row: that of its host, if it is a guest.

        reservation_id   its stored id, if it is new
        """
        question, asked = self.question, self.asked
        snapshot = with_guests(self.snapshot, self.stack.asking(question.name, question.owner, question.spec))
        return with_reservation(snapshot, asked.name, asked.spec, reservation_id=reservation_id)

    def refusal_with(self, spec: ReservationSpec) -> Verdict | None:
        """Return the refusal of the question with another spec; None if some state of the region could meet it."""
        other = replace(self, question=replace(self.question, spec=spec))
        return refusal_of(*other.imagined())

    @property
    def begins_later(self) -> bool:
        """Return whether the reservation takes no servers yet. A reservation that has begun goes on, even if its start
        is changed.
        """
        return (self.found is None or self.found.scheduled) and self.asking.window.from_s > self.now.timestamp()

    @property
    def is_promised(self) -> bool:
        """Return whether this request was promised already, as it is: then nothing is left to approve."""
        booking = None if self.found is None else self.found.booking
        return self.question.accepted and booking is not None and booking.is_promise

    @property
    def is_beyond_horizon(self) -> bool:
        """Return whether the reservation starts so far ahead that no servers are booked for it yet."""
        starts_at, promised = self.question.spec.starts_at, None
        if self.found is not None and self.found.booking is not None and self.found.booking.is_promise:
            promised = self.found.spec.starts_at
        if starts_at is None:
            return False
        return is_beyond_horizon(starts_at, self.snapshot.policy, now=self.now, promised=promised)

    @property
    def asking(self) -> Windowed:
        """Return the reservation of the question with the window in which it needs servers."""
        question, found = self.asked, self.stack.before(self.found)
        begun = found is not None and not found.scheduled
        kept = [one.rows for one in self.calendar.scheduled if one.name == question.name]
        return Windowed(
            reservation_id=question.reservation_id,
            name=question.name,
            generation=question.reservation_generation or 1,
            spec=question.spec,
            window=window_of(question.spec, self.snapshot.policy, now=self.now, begun=begun),
            rows=kept[0] if kept else np.zeros(0, np.int32),
            is_promise=self.is_promised,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judgement:
    """The decision on a question. `plan` holds the targets to commit if the request is granted or degraded. `causes`
    are the reasons why a person must approve. `cost_units` is what the reservation would count toward the quota.

    booking    what to keep for a reservation that begins later; None: it begins now, or is not accepted
    rebooked   bookings of others that move to other servers for it
    """

    phase: CapacityRequestPhase
    reason: str
    message: str
    numbers: Mapping[str, float]
    plan: TargetPlan | None = None
    causes: tuple[Cause, ...] = ()
    cost_units: float = 0.0
    booking: NewBooking | None = None
    rebooked: tuple[NewBooking, ...] = ()


def judge(case: Case) -> Judgement:
    """Decide on a case. The decision depends only on `case`."""
    question = case.asked
    refused = _overtaken(case) or _chained(case) or _over(case)
    if refused is not None:
        return refused
    most = most_cost_units(question.spec, case.costs)
    refused = over_quota(case, most)
    if refused is not None:
        return refused
    asked, row = case.imagined()
    decision = _decided(case, asked, row)
    verdict = decision.verdict
    refused = _breaks_promise(case, verdict)
    if refused is not None:
        return refused
    if case.stack.host is not None:
        host, guest = case.stack.host.name, case.question
        verdict = naming_the_share(verdict, guest.name, guest.spec, host, case.refusal_with)
        verdict = replace(verdict, message=on_servers_of(host) + verdict.message)
    if question.spec.affinity_follows is not None and verdict.reason == "BeyondAffinity":
        follows = f" Its shares are those of {question.spec.affinity_follows}: to have others, name shares instead."
        verdict = replace(verdict, message=verdict.message + follows)
    if verdict.plan is None:
        return _as_it_is(verdict)
    if not (case.begins_later and case.is_beyond_horizon):  # that one gets no servers now, and books none
        most = max(most, held_cost_units(asked, row, verdict.plan.target, case.costs))
    refused = over_quota(case, most)
    if refused is not None:
        return refused
    verdict = replace(verdict, numbers={**verdict.numbers, "cost_units": most, **_quota_left(case.quota, most)})
    return replace(_accepted(case, asked, row, replace(decision, verdict=verdict)), cost_units=most)


def _decided(case: Case, asked: FleetSnapshot, row: int) -> Decision:
    """Return the verdict on the question for the window of its reservation. Beyond the horizon of bookings, it is the
    verdict for a reservation that begins now.
    """
    asking, others = case.asking, case.calendar.without(case.asked.name)
    if case.begins_later and case.is_beyond_horizon:
        window = Window(case.now.timestamp(), asking.window.until_s)
        return replace(decide(asked, row, replace(asking, window=window), others), rebooked=())
    return decide(asked, row, asking, others)


def _accepted(case: Case, asked: FleetSnapshot, row: int, decision: Decision) -> Judgement:
    """Return the judgement on a question that the region could meet and that fits the quota.

    asked   the region with the reservation of the question at `row`
    """
    verdict, question = decision.verdict, case.question
    assert verdict.plan is not None
    before = case.stack.before(case.found)
    causes = (
        ()
        if case.approved or case.is_promised
        else (
            *own_rru_causes(question.spec, case.found, case.catalogue),
            *approval_causes(
                asked,
                row,
                case.asked.spec,
                before,
                verdict.plan.target,
                verdict.numbers.get("short_rru", 0.0),
                case.limits,
                case.costs,
                0.0 if before is None else most_cost_units(before.spec, case.costs_before),
                verdict.numbers["cost_units"],
            ),
        )
    )
    if case.begins_later:
        judged = _scheduled(case, row, decision)
    else:
        judged = replace(_as_it_is(verdict), rebooked=decision.rebooked)
    return _awaiting_approval(judged, verdict, causes) if causes else judged


def _overtaken(case: Case) -> Judgement | None:
    """Return the reason why no region could grant the request, because another request has overtaken it; None: no such
    reason.
    """
    question, found, name = case.question, case.found, case.question.name
    fault = case.stack.fault(name, question.owner, question.spec)
    if fault is not None:
        message = f"It cannot be a guest: {fault.because}. To ask again, {fault.todo}."
        return _rejected("CannotBeGuest", message, {})
    if found is None:
        return None
    if question.reservation_id is None:
        message = f"Another request created {name} first. Ask again under another name, or resize that one."
        return _rejected("NameTaken", message, {"reservation_id": found.reservation_id})
    if found.deleted_at is not None:
        message = f"{name} was deleted after this was asked. Ask for a new reservation if it is still needed."
        return _rejected("ReservationDeleted", message, {})
    if found.generation != question.reservation_generation:
        message = (
            f"{name} was changed after this was asked: it is at generation {found.generation}, this request rests on "
            f"{question.reservation_generation}. Read it, and ask again if the change is still wanted."
        )
        return _rejected("ReservationChanged", message, {"found_generation": found.generation})
    return None


def _chained(case: Case) -> Judgement | None:
    """Refuse a request whose shares follow a reservation that another request has made a follower since."""
    if case.not_followed is None:
        return None
    message = f"Its shares cannot follow {case.question.spec.affinity_follows}: that one {case.not_followed}."
    return _rejected("CannotFollow", message, {})


def _over(case: Case) -> Judgement | None:
    """Refuse a request whose window ended while the request waited. Otherwise servers would join the reservation only
    to leave it.
    """
    ends_at = case.question.spec.ends_at
    if ends_at is None or ends_at > case.now:
        return None
    message = f"Its time ended at {moment(ends_at)}, before it was decided. Ask again with a later end."
    return _rejected("WindowOver", message, {})


def _breaks_promise(case: Case, verdict: Verdict) -> Judgement | None:
    """Refuse a change with which a promised start would be no promise. A start beyond the horizon never is one, so an
    owner who asks for that gives the promise up.
    """
    found, spec = case.found, case.question.spec
    if found is None or not found.scheduled or found.booking is None or not found.booking.is_promise:
        return None
    if case.question.accepted or verdict.phase != "degraded" or case.is_beyond_horizon:
        return None
    promised = found.spec.capacity_rru
    rest = ", or for the rest under another name" if spec.capacity_rru > promised else ""
    assert found.spec.starts_at is not None
    message = (
        f"Its start at {moment(found.spec.starts_at)} is a promise of {promised:g} RRU, and stays as it is: with this "
        f"change it would be none. {verdict.message} Ask for another change{rest}, or delete it and ask again."
    )
    return _rejected("BreaksPromise", message, {**verdict.numbers, "promised_rru": promised})


def over_quota(case: Case, asked: float) -> Judgement | None:
    """Refuse a request that exceeds its owner's quota. Return None if it fits, asks for no more than before, or is a
    promised start: the quota was asked when its servers were booked.

    asked   cost units that the reservation would count
    """
    quota = case.quota
    fits = case.is_promised or not exceeds_quota(quota, asked=asked, had=quota.own_cost_units)
    if fits:
        return None
    return _rejected("QuotaExceeded", *excess_in_words(quota, asked=asked))


def _quota_left(quota: Quota, asked: float) -> dict[str, float]:
    """Return the cost units that the owner's quota would have left after the request, by name; {} without a limit."""
    if quota.limit_cost_units is None:
        return {}
    return {"quota_left_cost_units": quota.limit_cost_units - quota.used_cost_units - quota.pending_cost_units - asked}


def _awaiting_approval(judged: Judgement, verdict: Verdict, causes: tuple[Cause, ...]) -> Judgement:
    """Return that a person must approve, and what would be judged then."""
    numbers = dict(verdict.numbers)
    for cause in causes:
        numbers |= cause.numbers
    why = "; ".join(cause.message for cause in causes)
    return Judgement(
        phase=CapacityRequestPhase.AWAITING_APPROVAL,
        reason="NeedsApproval",
        message=f"Waits for an operator: {why}. Approved now, it would be {judged.phase}: {judged.message}",
        numbers=numbers,
        causes=causes,
    )


def _scheduled(case: Case, row: int, decision: Decision) -> Judgement:
    verdict = decision.verdict
    if case.is_beyond_horizon:
        booking = beyond_horizon(case.asking, case.snapshot.policy, verdict)
    else:
        booking = booking_of(case.asking, row, verdict)
    return Judgement(
        phase=CapacityRequestPhase.SCHEDULED,
        reason="Booked" if booking.is_promise else "Scheduled",
        message=booking.message,
        numbers={**verdict.numbers, **booking.numbers},
        booking=booking,
        rebooked=decision.rebooked,
    )


def _as_it_is(verdict: Verdict) -> Judgement:
    return Judgement(
        phase=CapacityRequestPhase(verdict.phase),
        reason=verdict.reason,
        message=verdict.message,
        numbers=verdict.numbers,
        plan=verdict.plan,
    )


def _rejected(reason: str, message: str, numbers: Mapping[str, float]) -> Judgement:
    return Judgement(phase=CapacityRequestPhase.REJECTED, reason=reason, message=message, numbers=numbers)
