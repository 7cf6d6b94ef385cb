"""Show a reservation as JSON: spec is the owner's wish, status the present state."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field

from libs.domain.finding import Finding
from libs.domain.guest import unit_in_words
from libs.domain.readiness import Readiness, ReadinessHistory, readiness_of
from libs.domain.reservation import ROUNDING, Coverage, HeldResource, Reservation, ReservationKind
from libs.domain.reservation_motion import ReservationMotion
from libs.domain.reservation_phase import ReservationPhase
from libs.domain.words import counted_are, moment
from libs.store.capacity.reservation_servers import ServerCount
from libs.web.model import ResponseModel
from libs.web.motion_out import LoanSummaryOut, UrgentSummaryOut
from libs.web.resources import ResourceStatus, resource_statuses
from libs.web.specs import SpecOut
from libs.web.wait_out import DepartureWaitOut


class Condition(ResponseModel):
    """One condition: true, false, or unknown yet."""

    type: Literal["Granted", "Ready", "Booked"] = Field(
        description="Granted: the target bindings meet the spec. Ready: the servers that it holds now give "
        "what it asks for, of which only the granted part is promised. Booked, only before it begins: the servers that "
        "are kept for it meet the spec when it starts"
    )
    status: Literal["True", "False", "Unknown"]
    reason: str = Field(description="Identifier to match on")
    message: str = Field(description="For people: the state, and what to do next")
    observed_generation: int | None = Field(description="The generation of the spec that was assessed")
    last_transition: datetime | None = Field(description="When it got this status; null: not recorded, or not yet")


class FurtherLossOut(ResponseModel):
    """The worst loss of a further kind of domain."""

    kind: str
    domain: str | None = Field(
        description="The domain that gives most; a phrase for the servers without a place; null: nothing is held"
    )
    held_after_rru: float = Field(description="Held RRU without this domain")


class CoverageOut(ResponseModel):
    """The capacity of a set of bindings, without servers that are down."""

    servers: int
    unavailable_servers: int
    total_rru: float
    worst_msb_rru: float = Field(description="RRU in the MSB that gives most")
    worst_msb: str | None
    shortfall_rru: float = Field(
        description="RRU that the capacity lacks, after the worst loss that the reservation must survive"
    )


class ServerCountOut(ResponseModel):
    """Servers of one hardware type in one MSB."""

    hardware_type: str
    msb: str
    current: int = Field(description="Servers bound now")
    target: int = Field(description="Servers that target bindings give")


class GuestOut(ResponseModel):
    """A reservation of the same owner that has a share of each server."""

    name: str
    share: float


class ReservationStatus(ResponseModel):
    """The present state of a reservation."""

    phase: ReservationPhase
    conditions: list[Condition]
    capacity_rru: float = Field(description="RRU asked for, and promised as far as they are granted")
    granted_rru: float = Field(
        description="RRU that are promised: less than capacity_rru only while a request waits for servers, and 0 while "
        "the condition Booked says that its start is no promise, and of a deleted reservation. What it holds beyond "
        "them may go to granted reservations"
    )
    target_rru: float = Field(description="RRU that its target bindings will give")
    held_rru: float = Field(description="RRU of the servers that have joined it and are up")
    held_after_msb_loss_rru: float = Field(description="RRU of the same servers without the MSB that gives most")
    held_after_further_losses: list[FurtherLossOut] = Field(
        description="The worst loss of each further kind of domain in survives_loss_of"
    )
    guests: list[GuestOut] = Field(description="The guests on its servers, in order of name")
    resources: list[ResourceStatus] = Field(description="The resources that it asks for beside RRU, in order of name")
    availability_30d: float | None = Field(
        description="Share of the watched time of the last 30 days in which Ready was True; null: never watched"
    )
    watched_30d_s: float = Field(
        description="Seconds of the last 30 days in which its window had begun and the platform looked at it"
    )
    numbers: dict[str, object] = Field(description="The figures behind the messages of the conditions")
    booked_servers: int = Field(description="Servers that are kept for it until it begins")
    current: CoverageOut
    target: CoverageOut
    shortfall_rru: float = Field(description="RRU that the target bindings lack")
    embedded_buffer_rru: float = Field(description="RRU in target bindings beyond the capacity, for the worst loss")
    waits: DepartureWaitOut | None = Field(
        description="Servers that may not leave the reservation yet, and the cause; null: all may leave"
    )
    loans: LoanSummaryOut | None = Field(
        description="Servers lent to the reservation for the time of an exchange; null: none"
    )
    urgent: UrgentSummaryOut | None = Field(
        description="Servers that operators want out of the reservation at once; null: none"
    )
    servers: list[ServerCountOut] | None = Field(description="By hardware type and MSB; null in lists")


class ReservationOut(ResponseModel):
    """One reservation."""

    reservation_id: int
    region: str
    name: str
    kind: ReservationKind
    owner: str
    spec: SpecOut
    status: ReservationStatus
    generation: int
    created_at: datetime
    deleted_at: datetime | None


def reservation_out(
    reservation: Reservation,
    history: ReadinessHistory,
    motion: ReservationMotion,
    counts: Sequence[ServerCount] | None = None,
    *,
    granted_rru: float | None,
) -> ReservationOut:
    """Return the reservation as JSON.

    granted_rru   RRU granted so far of a request that waits, from `load_waiting`; None: nothing waits
    """
    target, phase = reservation.target, _phase(reservation)
    booked = [booked_condition(reservation)] if phase is ReservationPhase.SCHEDULED else []
    promised = reservation.spec.capacity_rru if granted_rru is None else granted_rru
    is_promise = phase is not ReservationPhase.DELETED and all(one.status == "True" for one in booked)
    return ReservationOut(
        reservation_id=reservation.reservation_id,
        region=reservation.region,
        name=reservation.name,
        kind=reservation.kind,
        owner=reservation.owner,
        spec=SpecOut.model_validate(reservation.spec),
        status=ReservationStatus(
            phase=phase,
            conditions=[
                _granted(reservation),
                ready_condition(reservation, history, motion, granted_rru=granted_rru),
                *booked,
            ],
            booked_servers=0 if reservation.booking is None else reservation.booking.servers,
            capacity_rru=reservation.spec.capacity_rru,
            granted_rru=promised if is_promise else 0.0,
            target_rru=target.total_rru,
            held_rru=reservation.held.total_rru,
            held_after_msb_loss_rru=reservation.held.total_rru - reservation.held.worst_msb_rru,
            held_after_further_losses=further_losses(reservation),
            guests=[GuestOut(name=name, share=share) for name, share in reservation.guests.items()],
            resources=resource_statuses(reservation),
            availability_30d=history.availability.share,
            watched_30d_s=history.availability.watched_s,
            numbers=_numbers(reservation),
            current=_coverage(reservation.current),
            target=_coverage(target),
            shortfall_rru=target.shortfall_rru,
            embedded_buffer_rru=target.total_rru - target.left_rru,
            waits=None if motion.wait is None else DepartureWaitOut.model_validate(motion.wait),
            loans=None if motion.loans is None else LoanSummaryOut.model_validate(motion.loans),
            urgent=None if motion.urgent is None else UrgentSummaryOut.model_validate(motion.urgent),
            servers=None if counts is None else [ServerCountOut.model_validate(count) for count in counts],
        ),
        generation=reservation.generation,
        created_at=reservation.created_at,
        deleted_at=reservation.deleted_at,
    )


def _phase(reservation: Reservation) -> ReservationPhase:
    if reservation.deleted_at is not None:
        return ReservationPhase.DELETED
    if reservation.scheduled:
        return ReservationPhase.SCHEDULED
    return ReservationPhase.PENDING if reservation.finding is None else reservation.finding.phase


def ready_condition(
    reservation: Reservation, history: ReadinessHistory, motion: ReservationMotion, *, granted_rru: float | None
) -> Condition:
    """Return the condition that servers give what is asked for now. It follows from the numbers beside it. Its time is
    recorded. The message says how much of a waiting request is promised. It tells of urgent departures, because these
    use the embedded buffer.

    granted_rru   as in `reservation_out`
    """
    held, asked, last = reservation.held, reservation.spec.capacity_rru, history.last
    state = readiness_of(
        held,
        capacity_rru=asked,
        granted_rru=asked if granted_rru is None else granted_rru,
        is_promised=not reservation.scheduled and reservation.deleted_at is None,
        generation=reservation.generation,
        last=last,
    )
    if state is Readiness.NOTHING_PROMISED:
        why = "was deleted" if reservation.deleted_at is not None else "has not begun"
        message = f"It {why}, so it need not hold anything now."
    elif state is Readiness.HELD:
        kinds = reservation.spec.kinds_survived
        loss = f" after the loss of any one {' or '.join(kinds)}" if kinds else ""
        message = f"Holds {_amounts(held, asked, survive=True)}{loss}."
    elif state is Readiness.SURVIVES_LOSS:
        lost = next(one.kind for one in held.survived if one.is_loss)
        message = f"Holds {_amounts(held, asked, survive=False)} while one {lost} is down or in maintenance."
    else:
        loss = f" after the loss of {held.worst.words}" if held.worst is not None else ""
        scarce = held.scarce(asked)
        if scarce is not None:
            loss = " after its worst loss" if held.worst is not None else ""
        before = "It held its promise before and lost servers. " if state is Readiness.CAPACITY_LOST else ""
        message = f"Holds {_scarcest(held, asked, scarce)}{loss}. {before}"
        message += _coming(reservation, scarce)
    if granted_rru is not None and state is not Readiness.NOTHING_PROMISED:
        message = f"{message} {_promised(granted_rru, asked)}"
    if motion.urgent is not None:
        message = f"{message} {motion.urgent.message}"
    return Condition(
        type="Ready",
        status=state.status.value,
        reason=state.value,
        message=message,
        observed_generation=reservation.generation,
        last_transition=last.since_at if last is not None and last.readiness.status is state.status else None,
    )


def _coming(reservation: Reservation, scarce: HeldResource | None) -> str:
    """Return what the targets of a reservation give that holds too little, and where the servers that it lacks are."""
    current, target = reservation.current, reservation.target
    if not target.servers:
        return "It has no server by target, so none is on its way."
    gives = f"The targets give {_given(target, scarce)}"
    down, maintained = current.unavailable_servers, _is_less(reservation.held, current)
    if _is_less(current, target) or not (down or maintained):
        return f"{gives}: `plimsoll get moves` shows the servers on their way."
    why = [f"{counted_are(down, 'server')} down"] if down else []
    why += ["some are in maintenance"] if maintained else []
    where = f"-w region={reservation.region} -w current={reservation.name}"
    return f"{gives}, and moves bring no more. Of its own, {' and '.join(why)}: `plimsoll get servers {where}`."


def _is_less(one: Coverage, other: Coverage) -> bool:
    return other.total_rru - one.total_rru > ROUNDING * other.total_rru


def _promised(granted_rru: float, asked_rru: float) -> str:
    """Return how much of a waiting request is promised, as a sentence."""
    if granted_rru == 0:
        return f"None of the {asked_rru:g} RRU asked for is granted yet, so none is promised."
    return f"{granted_rru:g} of the {asked_rru:g} RRU asked for are granted, and only these are promised."


def _amounts(held: Coverage, asked_rru: float, *, survive: bool) -> str:
    """Return what is held of the RRU and of each resource, with or without the worst loss."""
    parts = [f"{held.left_rru if survive else held.total_rru:g} of {asked_rru:g} RRU"]
    parts += [
        f"{one.left if survive else one.total:g} of {one.asked:g} {unit_in_words(one.resource)}"
        for one in held.resources
    ]
    return " and ".join(parts)


def _scarcest(held: Coverage, asked_rru: float, scarce: HeldResource | None) -> str:
    """Return what is left after the worst loss, of the RRU or of the resource that lacks most."""
    if scarce is None:
        return f"{held.left_rru:g} of {asked_rru:g} RRU"
    return f"{scarce.left:g} of {scarce.asked:g} {unit_in_words(scarce.resource)}"


def _given(target: Coverage, scarce: HeldResource | None) -> str:
    """Return what the targets give of the RRU, or of the resource `scarce`."""
    if scarce is None:
        return f"{target.total_rru:g}"
    return next((f"{one.total:g}" for one in target.resources if one.resource == scarce.resource), "0")


def _granted(reservation: Reservation) -> Condition:
    finding = reservation.finding
    if reservation.deleted_at is not None:
        return Condition(
            type="Granted",
            status="False",
            reason="Deleted",
            message="It was deleted, so nothing is granted to it any more.",
            observed_generation=reservation.generation,
            last_transition=reservation.deleted_at,
        )
    if reservation.scheduled:
        assert reservation.spec.starts_at is not None
        return Condition(
            type="Granted",
            status="Unknown",
            reason="Scheduled",
            message=f"Starts at {moment(reservation.spec.starts_at)} and holds no server yet. The condition Booked "
            "tells whether that start is a promise.",
            observed_generation=None,
            last_transition=None,
        )
    if finding is None:
        return Condition(
            type="Granted",
            status="Unknown",
            reason="AwaitingSolve",
            message="No solve has looked at it yet. The region's next one will; the numbers beside this are true now.",
            observed_generation=None,
            last_transition=None,
        )
    return Condition(
        type="Granted",
        status="True" if finding.phase is ReservationPhase.GRANTED else "False",
        reason=finding.reason,
        message=f"{finding.message}{_as_of(reservation, finding)}",
        observed_generation=finding.observed_generation,
        last_transition=finding.changed_at,
    )


def _as_of(reservation: Reservation, finding: Finding) -> str:
    """Return a sentence that says of which generation an earlier finding is; "" for one of the present generation."""
    if finding.observed_generation == reservation.generation:
        return ""
    return (
        f" This was so at generation {finding.observed_generation}, and {reservation.name} is at generation "
        f"{reservation.generation}: the region's next solve looks again."
    )


def booked_condition(reservation: Reservation) -> Condition:
    """Return the condition that the start of a reservation is a promise. `reservation` must not have begun."""
    booking = reservation.booking
    if booking is None or booking.observed_generation != reservation.generation:
        return Condition(
            type="Booked",
            status="Unknown",
            reason="NotYetBooked",
            message="Nothing was decided yet on servers for its start. That takes a minute: read it again.",
            observed_generation=None,
            last_transition=None,
        )
    return Condition(
        type="Booked",
        status="True" if booking.is_promise else "False",
        reason=booking.reason,
        message=booking.message,
        observed_generation=booking.observed_generation,
        last_transition=booking.changed_at,
    )


def further_losses(reservation: Reservation) -> list[FurtherLossOut]:
    """Return the worst loss of each further kind of domain that the reservation survives, by what it holds now."""
    held = reservation.held
    worst = {one.kind: one for one in held.further}
    return [
        FurtherLossOut(
            kind=kind,
            domain=worst[kind].domain if kind in worst else None,
            held_after_rru=held.total_rru - (worst[kind].rru if kind in worst else 0.0),
        )
        for kind in reservation.spec.survives_loss_of
    ]


def _numbers(reservation: Reservation) -> dict[str, object]:
    decided = reservation.booking if reservation.scheduled else reservation.finding
    return {} if decided is None else dict(decided.numbers)


def _coverage(coverage: Coverage) -> CoverageOut:
    return CoverageOut.model_validate(coverage)
