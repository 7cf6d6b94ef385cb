"""`/v1/whoami`: who the platform takes a client for, and why. `/v1/issuers`: where people may log in."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response
from pydantic import Field

from libs.domain.principal import Principal, Role
from libs.store.platform.sessions import IDLE_S_MAX, load_session_end
from libs.web.context import Context
from libs.web.logins import Client, log_name
from libs.web.model import ResponseModel

if TYPE_CHECKING:
    from libs.identity.identity import Identified, Identity

WHOAMI, ISSUERS = "/v1/whoami", "/v1/issuers"
VALUES_SHOWN_MAX = 500
router = APIRouter(tags=["identity"])


class ReadRule(ResponseModel):
    """A rule of the issuers' file, applied to the client's claims."""

    line: int = Field(description="Line of the rule in the issuers' file")
    when: dict[str, str] = Field(description="Claims, with the text that each must have; empty: every token matches")
    role: Role
    matches: bool
    owners: list[str] = Field(description="Owners that it gives")


class LoggedIn(ResponseModel):
    """Statements of an issuer about the client."""

    issuer: str = Field(description="Name of the issuer in the issuers' file")
    claims: dict[str, list[str]] = Field(description="Claims that rules read, with the values of the token")
    other_claims: list[str] = Field(description="Names of the token's other claims")
    left_out: list[str] = Field(description="Claims that rules read, and that the issuer left out for their length")
    rules: list[ReadRule]


class SessionOut(ResponseModel):
    """A session's limits."""

    ends_at: datetime = Field(description="The latest end of the session")
    idle_s_max: float = Field(description="Seconds without a request after which it ends sooner")


class Whoami(ResponseModel):
    """The client behind the request."""

    name: str = Field(description="Actor of its changes in the audit trail")
    person: str = Field(description="The person behind it, whom four eyes compare")
    role: Role | None = Field(description="null: no rule gives it a role, so it may do nothing")
    owners: list[str] = Field(description="Owners that a requester may act for; operators and admins may act for all")
    token_id: int | None = Field(description="null: it logged in at an issuer")
    log_name: str = Field(description="Its name in the platform's logs")
    session: SessionOut | None = Field(description="null: the request carried the token itself")
    login: LoggedIn | None


class IssuerOut(ResponseModel):
    """An issuer at which people may log in: by the device flow (RFC 8628), and in the pages if they have a client."""

    name: str
    issuer: str = Field(description="Its identifier: the discovery document lies below")
    client_id: str = Field(description="The client of the device flow")
    pages_client_id: str | None = Field(description="The client of the pages; null: they do not offer this issuer")
    scopes: list[str]
    audience: str
    algorithms: list[str] = Field(description="Algorithms with which it may sign")


class Issuers(ResponseModel):
    """The issuers at which people may log in."""

    items: list[IssuerOut]


@router.get(WHOAMI, operation_id="get_whoami", openapi_extra={"security": [{"token": []}]})
def get_whoami(request: Request, response: Response, context: Context) -> Whoami:
    """Return who the platform takes the client for: its claims, the rules that match, its role and its owners.

    It needs a valid token, and no role.
    """
    client: Client = request.state.client
    response.headers["Cache-Control"] = "no-store"
    principal, found = client.principal, client.identified
    if found is not None:
        name = person = found.person
    else:
        assert principal is not None
        name, person = principal.name, principal.person
    return Whoami(
        name=name,
        person=person,
        role=None if principal is None else principal.role,
        owners=[] if principal is None else sorted(principal.owners),
        token_id=None if principal is None else principal.token_id,
        log_name=log_name(client),
        session=_session(principal, context),
        login=None if found is None else _logged_in(found),
    )


@router.get(ISSUERS, operation_id="list_issuers")
async def get_issuers(request: Request) -> Issuers:
    """List the issuers at which people may log in. It needs no token."""
    identity: Identity | None = request.app.state.identity
    issuers = () if identity is None else identity.issuers
    return Issuers(
        items=[
            IssuerOut(
                name=one.name,
                issuer=one.source.issuer,
                client_id=one.login.client_id,
                pages_client_id=one.login.pages_client_id,
                scopes=list(one.login.scopes),
                audience=one.audiences[0],
                algorithms=list(one.algorithms),
            )
            for one in issuers
            if one.login is not None
        ]
    )


def _session(principal: Principal | None, context: Context) -> SessionOut | None:
    if principal is None or principal.session_id is None:
        return None
    with context.database.snapshot() as tx:
        ends_at = load_session_end(tx, principal.session_id)
    return None if ends_at is None else SessionOut(ends_at=ends_at, idle_s_max=IDLE_S_MAX)


def _logged_in(found: Identified) -> LoggedIn:
    from libs.identity.rules import values_of

    issuer, claims = found.issuer, found.claims
    read = dict.fromkeys([issuer.person_claim, *(claim for rule in issuer.rules for claim, _ in rule.when)])
    return LoggedIn(
        issuer=issuer.name,
        claims={claim: list(values_of(claims, claim)[:VALUES_SHOWN_MAX]) for claim in read},
        other_claims=sorted(name for name in claims if name not in read)[:VALUES_SHOWN_MAX],
        left_out=list(found.access.left_out),
        rules=[
            ReadRule(
                line=one.rule.line,
                when=dict(one.rule.when),
                role=one.rule.role,
                matches=one.owners is not None,
                owners=sorted(one.owners or ()),
            )
            for one in found.access.matches
        ],
    )
