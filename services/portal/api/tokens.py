"""`/v1/tokens`: tokens with their roles and owners. A secret is shown once, in the answer that creates it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import ConfigDict, Field

from libs.domain.principal import Principal, Role, Token
from libs.domain.words import as_sentence
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.tokens import (
    create_token,
    list_tokens,
    load_token,
    lock_usable_admins,
    revoke_token,
    rotate_token,
    set_owners,
    set_person,
)
from libs.web.auth import Asking, digest, new_secret, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, Name, Owner, PageOf, Person, RequestModel, ResponseModel, Whole
from libs.web.openapi import headers, problems
from libs.web.problems import FieldError, Problem, invalid

router = APIRouter(prefix="/v1/tokens", tags=["tokens"], dependencies=[Depends(require(Role.ADMIN))])
_NOUN = "tokens"
GRACE_S_MAX = 7 * 86_400
TokenId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the token")]
Owners = Annotated[list[Owner], Field(max_length=1000, description="Owners that a requester may act for")]


class TokenIn(RequestModel):
    """A token to create."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "ci", "role": "requester", "owners": ["search-team"]}]}
    )
    name: Name = Field(description="Its holder; never used again, so that the audit trail stays clear")
    role: Role
    owners: Owners = Field(default_factory=list)
    person: Person | None = Field(
        default=None,
        description="The person who holds it. Without one, a token that a login makes belongs to that login, and any "
        "other stands for itself",
    )


class TokenPatch(RequestModel):
    """New owners, which replace the earlier ones, or the person who holds the token."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"owners": ["search-team", "ads-team"]}]})
    owners: Owners | None = None
    person: Person | None = Field(default=None, description="The person who holds it from now on")


class RotateIn(RequestModel):
    """How to change the secret."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"grace_s": 3600}]})
    grace_s: Annotated[Whole, Field(ge=0, le=GRACE_S_MAX)] = Field(
        default=3600, description="Seconds that the present secret stays valid; use 0 for a stolen one"
    )


class TokenOut(ResponseModel):
    """A token without its secret."""

    token_id: int
    name: str
    role: Role
    owners: list[str] = Field(description="Owners that a requester may act for; operators and admins may act for all")
    person: str | None = Field(description="The person who holds it; null: the token stands for itself")
    created_at: datetime
    revoked_at: datetime | None
    previous_until: datetime | None = Field(description="End of the validity of the secret before the last rotation")
    generation: int


class NewTokenOut(TokenOut):
    """A token with its secret."""

    secret: str = Field(description="Send it as Authorization: Bearer. It cannot be shown again", examples=["plim_..."])


@router.post(
    "",
    operation_id="create_token",
    status_code=201,
    response_model=NewTokenOut,
    responses={201: {"headers": headers("ETag", "Location")}, **problems(409)},
)
def post_token(body: TokenIn, context: Context, principal: Asking) -> Response:
    """Create a token. It takes no Idempotency-Key, because a saved answer would keep the secret."""
    _require_requester(body.role, body.owners)
    secret = new_secret()
    with context.database.write() as tx:
        now = context.clock.now()
        token = create_token(
            tx,
            name=body.name,
            role=body.role,
            owners=body.owners,
            person=body.person or _maker(principal),
            secret_sha256=digest(secret),
            now=now,
        )
        if token is None:
            message = f"there is or was a token {body.name}: choose another name"
            errors = [FieldError(field="name", location="body", code="duplicate_name", message=message)]
            raise Problem(409, "duplicate_name", as_sentence(message), errors=errors)
        _audit(tx, "create", None, token, principal, now)
    return _with_secret(token, secret, 201)


@router.get("", operation_id="list_tokens")
def get_tokens(
    context: Context,
    paging: Paging,
    role: Annotated[Role | None, Query(description="Of this role only")] = None,
    revoked: Annotated[bool | None, Query(description="true: revoked ones only; false: only those that open")] = None,
) -> PageOf[TokenOut]:
    """List tokens in the order of their creation, revoked ones too."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_tokens(tx, after=after, limit=paging.limit, role=role, revoked=revoked)
    items = [TokenOut.model_validate(token) for token in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{token_id}", operation_id="get_token", responses={200: {"headers": headers("ETag")}, **problems(404)})
def get_token(token_id: TokenId, context: Context, response: Response) -> TokenOut:
    """Return one token."""
    with context.database.snapshot() as tx:
        token = load_token(tx, token_id)
    response.headers.update(etag(token.generation))
    return TokenOut.model_validate(token)


@router.patch(
    "/{token_id}",
    operation_id="update_token",
    response_model=TokenOut,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def patch_token(
    token_id: TokenId,
    body: TokenPatch,
    expected: ExpectedGeneration,
    write: Write,
    context: Context,
    principal: Asking,
) -> Response:
    """Set the owners that a requester's token may act for, or the person who holds it."""
    if (body.owners is None) == (body.person is None):
        message = "give either owners or a person"
        raise invalid(FieldError(field="owners", location="body", code="not_possible", message=message))

    def effect(tx: Transaction) -> Answer:
        before = load_token(tx, token_id)
        if body.owners is None:
            token = set_person(tx, token_id, body.person, generation=expected)
        else:
            _require_requester(before.role, body.owners)
            token = set_owners(tx, token_id, body.owners, generation=expected)
        action = "set_person" if body.owners is None else "set_owners"
        _audit(tx, action, before, token, principal, context.clock.now())
        return Answer(200, TokenOut.model_validate(token), etag(token.generation))

    return write.once(effect)


@router.post(
    "/{token_id}/rotate",
    operation_id="rotate_token",
    response_model=NewTokenOut,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_rotate(
    token_id: TokenId, body: RotateIn, expected: ExpectedGeneration, context: Context, principal: Asking
) -> Response:
    """Change the secret. The present secret stays valid for `grace_s`; an older one in its grace ends now. Sessions
    that began before the end of a secret end with it.

    It takes no Idempotency-Key, because a saved answer would keep the secret. If the answer is lost, rotate again.
    """
    secret = new_secret()
    with context.database.write() as tx:
        now = context.clock.now()
        before = load_token(tx, token_id)
        if before.revoked_at is not None:
            detail = f"{before.name} was revoked: a new secret would open nothing. Make another token."
            raise Problem(409, "wrong_phase", detail)
        token = rotate_token(tx, token_id, secret_sha256=digest(secret), grace_s=body.grace_s, generation=expected)
        _audit(tx, "rotate", before, token, principal, now)
    return _with_secret(token, secret, 200)


@router.delete(
    "/{token_id}", operation_id="revoke_token", response_model=TokenOut, responses={200: {}, **problems(404, 409)}
)
def delete_token(token_id: TokenId, write: Write, context: Context, principal: Asking) -> Response:
    """Revoke a token from now on. Revoking it again changes nothing."""

    def effect(tx: Transaction) -> Answer:
        now = context.clock.now()
        usable = lock_usable_admins(tx)
        before = load_token(tx, token_id)
        if usable == {token_id}:
            detail = f"{before.name} is the last admin's token: nobody could make another. Make one for an admin first."
            raise Problem(409, "last_admin", detail)
        if token_id == principal.token_id:
            detail = f"{before.name} is the token that you are using: revoke it with another, or rotate it."
            raise Problem(409, "own_token", detail)
        revoked = revoke_token(tx, token_id, now=now)
        token = load_token(tx, token_id)
        if revoked:
            _audit(tx, "revoke", before, token, principal, now)
        return Answer(200, TokenOut.model_validate(token))

    return write.once(effect)


def _maker(principal: Principal) -> str | None:
    """Return the person of a token that names none. A login, or a token of a person, makes tokens of that person."""
    return None if principal.person == principal.name and principal.token_id is not None else principal.person


def _require_requester(role: Role, owners: list[str]) -> None:
    """Raise Problem (422) for owners in a token whose role has none."""
    if owners and role is not Role.REQUESTER:
        message = f"only a requester has owners; a token of role {role} has none to name"
        raise invalid(FieldError(field="owners", location="body", code="not_expected", message=message))


def _with_secret(token: Token, secret: str, status_code: int) -> Response:
    answer = NewTokenOut(**TokenOut.model_validate(token).model_dump(), secret=secret)
    more = {"Location": f"/v1/tokens/{token.token_id}"} if status_code == 201 else {}
    answer_headers = {"Cache-Control": "no-store", **etag(token.generation), **more}
    return Response(answer.model_dump_json(), status_code, answer_headers, media_type="application/json")


def _audit(
    tx: Transaction, action: str, before: Token | None, after: Token, principal: Principal, now: datetime
) -> None:
    audit.append(
        tx,
        actor=principal.name,
        action=action,
        subject_kind="token",
        subject_id=after.token_id,
        now=now,
        before=None if before is None else _told(before),
        after=_told(after),
    )


def _told(token: Token) -> Mapping[str, object]:
    return TokenOut.model_validate(token).model_dump(mode="json", exclude={"token_id", "created_at"})
