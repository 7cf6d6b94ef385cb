"""`/v1/telemetry/names`: which token brought how many names of services and series, and forgetting those of one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import AwareDatetime, Field

from libs.domain.principal import Role
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.tokens import find_token
from libs.store.telemetry.names_by_token import forget_named_by, list_named_by
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.idempotency import Answer, Write
from libs.web.model import ResponseModel, SomeName
from libs.web.openapi import problems
from libs.web.reasons import ReasonQuery
from services.planner.span_intake import SpanDoor

router = APIRouter(prefix="/v1/telemetry/names", tags=["telemetry"], dependencies=[Depends(require(Role.OPERATOR))])


class CountsOut(ResponseModel):
    """How many names."""

    services: int = Field(description="That spans named")
    usage_series: int
    traffic_series: int


class NamedByOut(CountsOut):
    """How many names a token brought first."""

    named_by: str | None = Field(description="The token; null: none, or it was before that was noted")


class NamesOut(ResponseModel):
    """How many names there are, by the token that brought them, and how many there may be."""

    tokens: list[NamedByOut]
    services_max: int
    series_max: int = Field(description="Of use, and as many of traffic")


@router.get("", operation_id="list_telemetry_names")
def get_names(context: Context, door: SpanDoor) -> NamesOut:
    """Who brought the names that there are. A token may have no more of a kind than are free."""
    with context.database.snapshot() as tx:
        found = list_named_by(tx)
    limits = door.settings
    return NamesOut(
        tokens=[NamedByOut.model_validate(one) for one in found],
        services_max=limits.traced_services_max,
        series_max=limits.series_max,
    )


@router.delete("", operation_id="forget_telemetry_names", response_model=CountsOut, responses=problems(404))
def delete_names(
    named_by: Annotated[SomeName, Query(description="The token that brought them")],
    write: Write,
    principal: Asking,
    context: Context,
    since: Annotated[AwareDatetime | None, Query(description="Only what it brought from then on")] = None,
    reason: ReasonQuery = None,
) -> Response:
    """Forget the names that a token brought, and all that was summed or measured of them: others may have the room.

    Revoke the token first, if it means harm: whatever it sends again is there again.
    """

    def effect(tx: Transaction) -> Answer:
        token = find_token(tx, named_by)
        forgotten = forget_named_by(tx, named_by, since=since)
        audit.append(
            tx,
            actor=principal.name,
            action="forget_telemetry_names",
            subject_kind="telemetry_names",
            subject_id=token.token_id,
            now=context.clock.now(),
            before={"since": since and since.isoformat(), **forgotten},
            reason=reason,
        )
        return Answer(200, CountsOut(**forgotten))

    return write.once(effect)
