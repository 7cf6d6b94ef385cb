"""Turn an explanation into its JSON shapes. Importing this module loads the solver's code: see
services.portal.solving_code.
"""

from __future__ import annotations

from collections.abc import Sequence

from libs.domain.readiness import ReadinessHistory
from libs.domain.reservation import Reservation
from libs.domain.reservation_motion import ReservationMotion
from libs.ras.evaluate import Score
from libs.ras.explain.deciders import Decider
from libs.ras.explain.explanation import Explanation
from libs.ras.explain.move import MoveEffect
from libs.ras.explain.words import claim, effect_words, paragraph, server_words
from libs.web.motion_out import LoanSummaryOut, UrgentSummaryOut
from libs.web.wait_out import DepartureWaitOut
from services.portal.api.explanation_shapes import (
    AffectedOut,
    CostOut,
    DeciderOut,
    ExplanationOut,
    HoldingOut,
    LastSolveOut,
    MoveEffectOut,
    OutcomeOut,
    ServerExplanationOut,
    ShortageOut,
    StandingOut,
    TypeUseOut,
    ViolationOut,
)
from services.portal.api.reservation_out import further_losses, ready_condition


def explanation_out(
    e: Explanation,
    reservation: Reservation,
    history: ReadinessHistory,
    motion: ReservationMotion,
    granted_rru: float | None,
) -> ExplanationOut:
    """Return the explanation of a reservation as JSON, with the capacity that it holds now.

    granted_rru   as in `reservation_out`
    """
    last, ready = e.last_solve, ready_condition(reservation, history, motion, granted_rru=granted_rru)
    held = ready_condition(reservation, history, ReservationMotion(), granted_rru=granted_rru).message
    now = f"Now it {held[0].lower()}{held[1:]} {motion.message}".rstrip()
    return ExplanationOut(
        summary=paragraph(e, now=now) if reservation.spec.guest_of is None else _of_guest(e, reservation, now),
        reservation=e.reservation,
        capacity_rru=e.capacity_rru,
        survives_msb_loss=e.survives_msb_loss,
        survives_loss_of=list(reservation.spec.survives_loss_of),
        target_rru=e.standing.total_rru,
        held_rru=reservation.held.total_rru,
        held_after_msb_loss_rru=reservation.held.total_rru - reservation.held.worst_msb_rru,
        held_after_further_losses=further_losses(reservation),
        ready=ready,
        waits=None if motion.wait is None else DepartureWaitOut.model_validate(motion.wait),
        loans=None if motion.loans is None else LoanSummaryOut.model_validate(motion.loans),
        urgent=None if motion.urgent is None else UrgentSummaryOut.model_validate(motion.urgent),
        servers=e.servers,
        standing=StandingOut.model_validate(e.standing),
        worst_msb=e.worst_msb,
        holdings=[HoldingOut.model_validate(holding) for holding in e.holdings],
        types=[TypeUseOut.model_validate(use) for use in e.types],
        cost=_cost(e.cost),
        shortage=None if e.shortage is None else ShortageOut.model_validate(e.shortage),
        could_save=e.deciders.could_save,
        settled=e.deciders.settled,
        deciders=[_decider(decider) for decider in e.deciders.deciders],
        last_solve=None
        if last is None
        else LastSolveOut(
            plan_id=last.plan_id,
            gained=last.gained,
            lost=last.lost,
            before=_cost(last.before),
            after=_cost(last.after),
        ),
    )


def _of_guest(e: Explanation, guest: Reservation, now: str) -> str:
    """Return the summary for a guest: what it has, and then why its host `e` has these servers."""
    share = f"{guest.name} is a guest of {e.reservation} and has {guest.server_share:g} of each of its servers."
    return f"{share} {now} {paragraph(e)}"


def server_explanation_out(effects: Sequence[MoveEffect], *, asked: bool) -> ServerExplanationOut:
    """Return the explanation of a server as JSON. `asked`: whether the client named one place."""
    return ServerExplanationOut(
        summary=server_words(effects, asked=asked), moves=[_move_out(effect) for effect in effects]
    )


def _decider(decider: Decider) -> DeciderOut:
    afresh = decider.afresh
    return DeciderOut(
        name=decider.name,
        subject=decider.subject,
        claim=claim(decider),
        now=OutcomeOut.model_validate(decider.now),
        afresh=None if afresh is None else OutcomeOut.model_validate(afresh),
    )


def _move_out(effect: MoveEffect) -> MoveEffectOut:
    return MoveEffectOut(
        summary=effect_words(effect),
        server=effect.server,
        from_reservation=effect.from_reservation,
        to_reservation=effect.to_reservation,
        costs=effect.costs,
        before=_cost(effect.before),
        after=_cost(effect.after),
        affected=[AffectedOut.model_validate(one) for one in effect.affected],
        violations=[ViolationOut(reason=v.reason, message=v.message) for v in effect.violations],
    )


def _cost(score: Score) -> CostOut:
    return CostOut(**{name: getattr(score, name) for name in CostOut.model_fields})
