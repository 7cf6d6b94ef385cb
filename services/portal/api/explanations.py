"""`/v1/reservations/{id}/explain`: why it has its servers, and the effect of moving one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from libs.web.auth import Asking
from libs.web.context import Context
from libs.web.model import SomeName
from libs.web.openapi import problems
from libs.web.problems import FieldError, invalid
from services.portal.api.explanation_shapes import ExplanationOut, ServerExplanationOut
from services.portal.api.reservations import ReservationId

router = APIRouter(prefix="/v1/reservations", tags=["reservations"])


@router.get(
    "/{reservation_id}/explain",
    operation_id="explain_reservation",
    response_model=ExplanationOut | ServerExplanationOut,
    responses=problems(404, 409),
)
def get_explanation(
    reservation_id: ReservationId,
    context: Context,
    principal: Asking,
    server: Annotated[SomeName | None, Query(description="Explain the place of this server instead")] = None,
    to: Annotated[SomeName | None, Query(description="With server: the reservation to compare with, or free")] = None,
) -> ExplanationOut | ServerExplanationOut:
    """Explain the hardware mix and the spread of a reservation. Each decider is found by a solve without it."""
    from services.portal.api.explanation_out import (
        explanation_out,
        server_explanation_out,
    )  # imported here because of services.portal.solving_code
    from services.portal.explain_reservation import explain_reservation, explain_server

    if server is not None:
        effects = explain_server(context.database, reservation_id, server, to, holder=principal.holder)
        return server_explanation_out(effects, asked=to is not None)
    if to is not None:
        raise invalid(FieldError(field="server", location="query", code="missing", message="is required with `to`"))
    holder, now = principal.holder, context.clock.now()
    return explanation_out(*explain_reservation(context.database, reservation_id, holder=holder, now=now))
