"""Answer a dry run with the decision that the request would get, without storing anything."""

from __future__ import annotations

from fastapi.responses import JSONResponse

from libs.domain.principal import Principal
from libs.web.auth import require_owner
from libs.web.context import WebContext
from services.portal.api.capacity_request_out import would_be_out
from services.portal.submit_requests import Submission


def answer_dry_run(submission: Submission, *, principal: Principal, context: WebContext) -> JSONResponse:
    """Judge the submission, and answer with the decision. Raises Problem: 403 for another owner's reservation, 429
    while too many submissions are judged.
    """
    require_owner(principal, submission.owner)
    from services.portal.dry_run import preview  # imported here because of services.portal.solving_code

    judgement, ways = preview(context.database, context.clock, submission, holder=principal.holder)
    answer = would_be_out(submission, judgement, ways, requested_by=principal.name)
    return JSONResponse(answer.model_dump(mode="json"))
