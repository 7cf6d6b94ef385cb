"""`/v1/sessions`: a time-limited secret with the rights of a token, for a browser."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Request, Response
from pydantic import Field

from libs.domain.principal import Principal
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.sessions import IDLE_S_MAX, end_session, load_session_end, start_session
from libs.web.auth import Asking, digest, new_session_secret
from libs.web.context import Context
from libs.web.logins import bearer_of, no_such_token
from libs.web.openapi import problems
from libs.web.problems import Problem
from libs.web.whoami import SessionOut

router = APIRouter(prefix="/v1", tags=["sessions"])


class NewSessionOut(SessionOut):
    """A session with its secret."""

    secret: str = Field(
        description="Send it as Authorization: Bearer. It cannot be shown again", examples=["plim_session_..."]
    )


@router.post(
    "/sessions", operation_id="create_session", status_code=201, response_model=NewSessionOut, responses=problems(409)
)
def post_session(context: Context, principal: Asking, request: Request) -> Response:
    """Start a session with the rights of the token. It takes no Idempotency-Key: a saved answer would keep the secret.

    A session cannot start another, or it would outlive its limits.
    """
    if principal.session_id is not None:
        raise Problem(409, "in_session", "This is a session already: send the token itself to start another.")
    token_id = principal.token_id
    if token_id is None:
        raise Problem(409, "needs_token", "Sessions are kept for tokens of the platform: log in with one (plim_...).")
    sent = digest(bearer_of(request.headers.get("Authorization")) or "")
    secret = new_session_secret()
    with context.database.write() as tx:
        session_id = start_session(tx, token_id, token_sha256=sent, secret_sha256=digest(secret))
        if session_id is None:  # it was revoked or rotated since the request came
            raise no_such_token()
        ends_at = load_session_end(tx, session_id)
        assert ends_at is not None
        _audit(tx, "start", principal, session_id, context.clock.now())
    answer = NewSessionOut(secret=secret, ends_at=ends_at, idle_s_max=IDLE_S_MAX)
    return Response(answer.model_dump_json(), 201, headers={"Cache-Control": "no-store"}, media_type="application/json")


@router.delete("/sessions/current", operation_id="end_session", status_code=204, responses=problems(409))
def delete_session(context: Context, principal: Asking) -> Response:
    """End the session of this request."""
    if principal.session_id is None:
        raise Problem(409, "not_in_session", "The request carried a token, and no session to end.")
    with context.database.write() as tx:
        end_session(tx, principal.session_id)
        _audit(tx, "end", principal, principal.session_id, context.clock.now())
    return Response(status_code=204)


def _audit(tx: Transaction, action: str, principal: Principal, session_id: int, now: datetime) -> None:
    audit.append(tx, actor=principal.name, action=action, subject_kind="session", subject_id=session_id, now=now)
