"""`/v1/tokens`: who may ask. A token's secret is shown once, in the answer that makes it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response
from pydantic import ConfigDict, Field

from libs.domain.principal import Role, Token
from libs.store import audit
from libs.store.database import Transaction
from libs.store.refusals import NotFound
from libs.store.tokens import create_token, list_tokens, load_token, revoke_token
from libs.web.auth import Asking, digest, new_secret, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, Name, PageOf, RequestModel, ResponseModel
from libs.web.openapi import headers, problems
from libs.web.problems import FieldError, Problem

router = APIRouter(prefix="/v1/tokens", tags=["tokens"], dependencies=[Depends(require(Role.ADMIN))])
_NOUN = "tokens"


class TokenIn(RequestModel):
    """A token that is wanted."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "ci", "role": "requester"}]})
    name: Name = Field(description="Who or what will hold it; never used again, so that the audit trail stays clear")
    role: Role


class TokenOut(ResponseModel):
    """A token without its secret."""

    token_id: int
    name: str
    role: Role
    created_at: datetime
    revoked_at: datetime | None


class NewTokenOut(TokenOut):
    """A token with its secret."""

    secret: str = Field(description="Send it as Authorization: Bearer. It cannot be shown again", examples=["plim_..."])


@router.post(
    "",
    operation_id="create_token",
    status_code=201,
    response_model=NewTokenOut,
    responses={201: {"headers": headers("Location")}, **problems(409)},
)
def post_token(body: TokenIn, context: Context, principal: Asking) -> Response:
    """Make a token. It takes no Idempotency-Key, because a saved answer would keep the secret."""
    secret = new_secret()
    with context.database.write() as tx:
        now = context.clock.now()
        token = create_token(tx, name=body.name, role=body.role, secret_sha256=digest(secret), now=now)
        if token is None:
            message = f"there is or was a token {body.name}: choose another name"
            errors = [FieldError(field="name", location="body", code="duplicate_name", message=message)]
            raise Problem(409, "duplicate_name", f"{message.capitalize()}.", errors=errors)
        _audit(tx, "create", token, principal.name, now)
    answer = NewTokenOut(**_out(token).model_dump(), secret=secret)
    location = {"Location": f"/v1/tokens/{token.token_id}", "Cache-Control": "no-store"}
    return Response(answer.model_dump_json(), 201, location, media_type="application/json")


@router.get("", operation_id="list_tokens")
def get_tokens(context: Context, paging: Paging) -> PageOf[TokenOut]:
    """Tokens in the order in which they were made, revoked ones too."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_tokens(tx, after=after, limit=paging.limit)
    return PageOf(items=[_out(token) for token in page.items], next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.delete(
    "/{token_id}", operation_id="revoke_token", response_model=TokenOut, responses={200: {}, **problems(404)}
)
def delete_token(
    token_id: Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the token")],
    write: Write,
    context: Context,
    principal: Asking,
) -> Response:
    """Revoke a token: from now on it opens nothing. Revoking it again changes nothing."""

    def effect(tx: Transaction) -> Answer:
        now = context.clock.now()
        revoked = revoke_token(tx, token_id, now=now)
        token = load_token(tx, token_id)
        if token is None:
            raise NotFound("token", token_id)
        if revoked:
            _audit(tx, "revoke", token, principal.name, now)
        return Answer(200, _out(token))

    return write.once(effect)


def _out(token: Token) -> TokenOut:
    return TokenOut(
        token_id=token.token_id,
        name=token.name,
        role=token.role,
        created_at=token.created_at,
        revoked_at=token.revoked_at,
    )


def _audit(tx: Transaction, action: str, token: Token, actor: str, now: datetime) -> None:
    after = {"name": token.name, "role": token.role.value}
    audit.append(tx, actor=actor, action=action, subject_kind="token", subject_id=token.token_id, now=now, after=after)
