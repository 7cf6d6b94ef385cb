"""`/v1/servers/{id}/explain`: why a server is free or in its reservation, and the effect of moving it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from libs.web.auth import Asking
from libs.web.context import Context
from libs.web.model import ID_MAX, SomeName
from libs.web.openapi import problems
from services.portal.api.explanation_shapes import ServerExplanationOut

router = APIRouter(prefix="/v1/servers", tags=["servers"])


@router.get("/{server_id}/explain", operation_id="explain_server", responses=problems(404, 409))
def get_server_explanation(
    server_id: Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the server")],
    context: Context,
    principal: Asking,
    to: Annotated[SomeName | None, Query(description="The reservation to compare with, or free")] = None,
) -> ServerExplanationOut:
    """Explain why a server is free or in its reservation: the effect of each of the best other places. The effects are
    those of target bindings.
    """
    from services.portal.api.explanation_out import (
        server_explanation_out,
    )  # imported here because of services.portal.solving_code
    from services.portal.explain_reservation import explain_any_server

    effects = explain_any_server(context.database, server_id, to, holder=principal.holder)
    return server_explanation_out(effects, asked=to is not None)
