"""Authentication by bearer tokens and sessions, and the checks of roles and owners.

A request without a valid token is refused before it is routed and before its body is read. So a new route cannot forget
the check, and no stranger can make this process parse anything.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import structlog
from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from libs.domain.principal import Principal, Role
from libs.reconcile.clock import Clock
from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE
from libs.web.logins import (
    PREFIX,
    Client,
    bearer_of,
    digest,
    find_client,
    log_name,
    new_secret,
    new_session_secret,
    require_principal,
    unauthenticated,
)
from libs.web.problems import Problem
from libs.web.rates import RateLimits, network_of
from libs.web.whoami import ISSUERS, WHOAMI

if TYPE_CHECKING:
    from libs.identity.identity import Identity

__all__ = [
    "PREFIX",
    "Asking",
    "Authentication",
    "digest",
    "new_secret",
    "new_session_secret",
    "require",
    "require_owner",
    "require_role",
    "unavailable",
]
PUBLIC_PATHS = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs", "/", "/v1", ISSUERS})
"""Paths that need no token. They reveal nothing about any fleet."""
UNLIMITED_PATHS = frozenset({"/healthz", "/readyz"})
"""Probe endpoints are never rate-limited, so a flood does not trigger a restart."""
_scheme = HTTPBearer(
    scheme_name="token",
    bearerFormat="plim_... or JWT",
    description="An API token from POST /v1/tokens, or a token of an issuer of the issuers' file",
    auto_error=False,
)


class Authentication:
    """ASGI middleware: it puts the principal into request.state. It answers 401 without a valid token, and 429 at too
    high a rate.
    """

    def __init__(
        self,
        app: ASGIApp,
        database: Database,
        clock: Clock,
        rates: RateLimits | None,
        routers: Sequence[APIRouter],
        identity: Identity | None = None,
    ) -> None:
        self._app, self._database, self._clock, self._rates = app, database, clock, rates
        self._identity = identity
        self._roles = [
            (route.path_regex, route.methods or set(), role)
            for router in routers
            for route in router.routes
            if isinstance(route, APIRoute) and (role := _role_of(route)) is not None
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its principal, or answer with a problem."""
        if scope["type"] == "websocket":  # there is no such route
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] == "lifespan" or (scope["type"] == "http" and scope["path"] in UNLIMITED_PATHS):
            await self._app(scope, receive, send)
            return
        address = network_of((scope.get("client") or ("unknown", 0))[0])
        try:
            if scope["path"] in PUBLIC_PATHS:
                self._charge_stranger(address)
                await self._app(scope, receive, send)
                return
            given = Headers(scope=scope).get("Authorization")
            client = await run_in_threadpool(self._client, given, address)
            scope["state"]["client"] = client
            if scope["path"] != WHOAMI:
                scope["state"]["principal"] = principal = require_principal(client)
                self._require_role(principal, scope["method"], scope["path"])
        except Problem as problem:
            scope["state"]["problem_code"] = problem.code
            await problem.response(scope["state"].get("request_id"))(scope, receive, send)
            return
        structlog.contextvars.bind_contextvars(principal=log_name(client))
        await self._app(scope, receive, send)

    def _require_role(self, principal: Principal, method: str, path: str) -> None:
        """Check the role before the body is read, so that an unauthorised client cannot make us store it. Raises
        Problem (403).
        """
        for pattern, methods, role in self._roles:
            if method in (methods or ()) and pattern.match(path):
                require_role(principal, role)
                return

    def _client(self, authorization: str | None, address: str) -> Client:
        secret = bearer_of(authorization)
        if secret is None:
            self._charge_stranger(address)
            raise unauthenticated("unauthenticated", "Send the header Authorization: Bearer, and then a token.", "")
        key = digest(secret)
        known = None if self._rates is None else self._rates.accepted.client(key)
        if self._rates is not None:
            # A client over its rate causes no query. The rate of a recently accepted bearer counts by the bucket of its
            # client, and any other by that of its address.
            _require_patience(
                self._rates.strangers.wait_s(address) if known is None else self._rates.tokens.take(known)
            )
        try:
            client = find_client(secret, self._database, self._identity)
        except UNAVAILABLE as unreachable:
            raise unavailable() from unreachable
        except Problem:
            if self._rates is not None:
                self._rates.accepted.discard(key)
            self._charge_stranger(address)
            raise
        if self._rates is not None and known is None:
            self._rates.accepted.add(key, client.rated_by)
            _require_patience(self._rates.tokens.take(client.rated_by))
        return client

    def _charge_stranger(self, address: str) -> None:
        if self._rates is not None:
            _require_patience(self._rates.strangers.take(address))


def _require_patience(wait_s: float) -> None:
    """Raise Problem (429) if the client must wait."""
    if wait_s > 0:
        detail = f"Too many requests: try again in {math.ceil(wait_s)} s. Nothing was done."
        raise Problem(429, "rate_limited", detail, headers={"Retry-After": str(math.ceil(wait_s))})


def unavailable() -> Problem:
    """Return the 503 for an unavailable database. It does not claim that nothing changed: a commit may have
    succeeded.
    """
    detail = (
        "The database cannot be reached or is too busy. Try again in a few seconds; "
        "a write that carries the same Idempotency-Key again is done once."
    )
    return Problem(503, "unavailable", detail, headers={"Retry-After": "5"})


async def _principal(
    request: Request, _documented: Annotated[HTTPAuthorizationCredentials | None, Depends(_scheme)]
) -> Principal:
    principal = getattr(request.state, "principal", None)
    if not isinstance(principal, Principal):  # only if a route is mounted without the middleware
        raise unauthenticated("unauthenticated", "Send the header Authorization: Bearer, and then a token.", "")
    return principal


Asking = Annotated[Principal, Depends(_principal)]
"""A parameter of a route: the principal of the request."""


def require(role: Role) -> Callable[[Principal], Awaitable[Principal]]:
    """Return a dependency that lets principals of this role or a higher one through.

    Calling it raises Problem (403) for any other.
    """
    return _RoleCheck(role)


@dataclass(frozen=True, slots=True)
class _RoleCheck:
    """A dependency that knows its role, so that Authentication can check the role before the body is read."""

    role: Role

    async def __call__(self, principal: Asking) -> Principal:
        require_role(principal, self.role)
        return principal


def require_role(principal: Principal, role: Role) -> None:
    """Check that a principal has a role. Raises Problem (403)."""
    if not principal.role.includes(role):
        allowed = " or ".join(other for other in Role if other.includes(role))
        detail = f"This needs a token of role {allowed}; {principal.name} is {principal.role}. {principal.lacking}"
        raise Problem(403, "forbidden", detail.rstrip(), required_role=role.value)


def _role_of(route: APIRoute) -> Role | None:
    """Return the role that a route declares beyond reading; None if it declares none."""
    checks = (dependency.dependency for dependency in route.dependencies)
    return next((check.role for check in checks if isinstance(check, _RoleCheck)), None)


def require_owner(principal: Principal, owner: str) -> None:
    """Check that the token of `principal` may act for `owner`. Raises Problem (403)."""
    if principal.may_act_for(owner):
        return
    owners = sorted(principal.owners)
    theirs = f"It may act for {', '.join(owners)}" if owners else "It has no owners yet"
    if principal.token_id is None:
        way = "the rules of the issuers' file decide that"
    else:
        way = "an admin changes that with `plimsoll token owners`"
    detail = f"{principal.name} may not act for {owner}. {theirs}; {way}. {principal.lacking}".rstrip()
    raise Problem(403, "not_an_owner", detail, owner=owner, owners=owners)
