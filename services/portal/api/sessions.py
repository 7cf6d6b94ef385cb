"""`/v1/sessions`: a time-limited secret with the rights of a token or of a login at an issuer, for a browser."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response
from pydantic import Field

from libs.domain.principal import Principal
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.sessions import (
    IDLE_S_MAX,
    LIFE_S_MAX,
    end_session,
    load_session_end,
    start_login_session,
    start_session,
)
from libs.web.auth import Asking, digest, new_session_secret
from libs.web.context import Context
from libs.web.logins import Client, bearer_of, invalid_token, no_such_token
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
    """Start a session with the rights of the token, which may also be one of an issuer. A session ends with its token.

    It takes no Idempotency-Key: a saved answer would keep the secret. A session cannot start another, or it would
    outlive its limits.
    """
    if principal.session_id is not None:
        raise Problem(409, "in_session", "This is a session already: send the token itself to start another.")
    sent = bearer_of(request.headers.get("Authorization")) or ""
    secret = new_session_secret()
    with context.database.write() as tx:
        if principal.token_id is None:
            session_id = _start_of_login(tx, request.state.client, sent, secret)
        else:
            started = start_session(tx, principal.token_id, token_sha256=digest(sent), secret_sha256=digest(secret))
            if started is None:  # it was revoked or rotated since the request came
                raise no_such_token()
            session_id = started
        ends_at = load_session_end(tx, session_id)
        if ends_at is None:  # it was taken with a minute of tolerance, and a session has none
            raise invalid_token("The token is not valid: it has expired.")
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


def _start_of_login(tx: Transaction, client: Client, sent: str, secret: str) -> int:
    """Start a session for a token of an issuer, which is verified. Return its id."""
    from libs.identity.sealed import seal  # here: only processes with an issuers' file load the code of signatures

    assert client.identified is not None
    latest_s = time.time() + LIFE_S_MAX  # a token may end in a year that datetime does not know
    ends_at = datetime.fromtimestamp(min(client.identified.claims["exp"], latest_s), UTC)
    return start_login_session(
        tx,
        client.identified.person,
        sealed_bearer=seal(sent, secret),
        bearer_ends_at=ends_at,
        secret_sha256=digest(secret),
    )


def _audit(tx: Transaction, action: str, principal: Principal, session_id: int, now: datetime) -> None:
    audit.append(tx, actor=principal.name, action=action, subject_kind="session", subject_id=session_id, now=now)
