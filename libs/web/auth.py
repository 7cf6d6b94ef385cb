"""Bearer tokens: who is asking, and whether they may.

Whoever has no valid token is turned away before the request is routed and before its body is read. So a new route
cannot forget to ask, and nobody without a token can make us parse anything.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import structlog
from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from libs.domain.principal import Principal, Role
from libs.reconcile.clock import Clock
from libs.store.database import Database
from libs.store.errors import UNAVAILABLE
from libs.store.tokens import load_principal
from libs.web.problems import Problem
from libs.web.rates import RateLimits

PREFIX = "plim_"
PUBLIC_PATHS = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs", "/", "/v1"})
"""What needs no token: it tells nothing of any fleet."""
UNLIMITED_PATHS = frozenset({"/healthz", "/readyz"})
"""What is answered at any rate: whoever watches the process must not take a flood for its death."""
_scheme = HTTPBearer(
    scheme_name="token", bearerFormat="plim_...", description="An API token from POST /v1/tokens", auto_error=False
)


def new_secret() -> str:
    """A fresh token, to be shown once."""
    return PREFIX + secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """What is kept of a token. Its 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


class Authentication:
    """ASGI middleware: puts the principal into request.state, or answers 401, or 429 to who asks too fast."""

    def __init__(
        self, app: ASGIApp, database: Database, clock: Clock, rates: RateLimits | None, routers: Sequence[APIRouter]
    ) -> None:
        self._app, self._database, self._clock, self._rates = app, database, clock, rates
        self._roles = [
            (route.path_regex, route.methods or set(), role)
            for router in routers
            for route in router.routes
            if isinstance(route, APIRoute) and (role := _role_of(route)) is not None
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through with its principal."""
        if scope["type"] == "websocket":  # there is no such route
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] == "lifespan" or (scope["type"] == "http" and scope["path"] in UNLIMITED_PATHS):
            await self._app(scope, receive, send)
            return
        address = (scope.get("client") or ("unknown", 0))[0]
        try:
            if scope["path"] in PUBLIC_PATHS:
                self._charge_stranger(address)
                await self._app(scope, receive, send)
                return
            given = Headers(scope=scope).get("Authorization")
            principal = await run_in_threadpool(self._principal, given, address)
            self._require_role(principal, scope["method"], scope["path"])
        except Problem as problem:
            scope["state"]["problem_code"] = problem.code
            await problem.response(scope["state"].get("request_id"))(scope, receive, send)
            return
        scope["state"]["principal"] = principal
        structlog.contextvars.bind_contextvars(principal=principal.name)
        await self._app(scope, receive, send)

    def _require_role(self, principal: Principal, method: str, path: str) -> None:
        """Before the body is read: who may not do it cannot make us keep what it sends. Raises Problem (403)."""
        for pattern, methods, role in self._roles:
            if method in (methods or ()) and pattern.match(path):
                _require(principal, role)
                return

    def _principal(self, authorization: str | None, address: str) -> Principal:
        scheme, _, secret = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            self._charge_stranger(address)
            raise _unauthenticated("unauthenticated", "Send the header Authorization: Bearer, and then a token.", "")
        key = digest(secret.strip())
        known = self._rates is not None and key in self._rates.tokens
        if self._rates is not None:
            # Who has had his share does not get to ask the database: a token that was let in lately, by its own
            # bucket, and everything else by that of its address.
            _require_patience(self._rates.tokens.take(key) if known else self._rates.strangers.wait_s(address))
        try:
            with self._database.snapshot() as tx:
                principal = load_principal(tx, key)
        except UNAVAILABLE as unreachable:
            raise unavailable() from unreachable
        if principal is None:
            self._charge_stranger(address)
            detail = "No such token, or it was revoked. Ask an admin for a new one."
            raise _unauthenticated("invalid_token", detail, ', error="invalid_token"')
        if self._rates is not None and not known:
            _require_patience(self._rates.tokens.take(key))
        return principal

    def _charge_stranger(self, address: str) -> None:
        if self._rates is not None:
            _require_patience(self._rates.strangers.take(address))


def _require_patience(wait_s: float) -> None:
    """Raises Problem (429) where there is nothing to take yet."""
    if wait_s > 0:
        detail = f"Too many requests: try again in {math.ceil(wait_s)} s. Nothing was done."
        raise Problem(429, "rate_limited", detail, headers={"Retry-After": str(math.ceil(wait_s))})


def unavailable() -> Problem:
    """503: try again in a moment. Not that nothing was changed: a connection may break just after a commit."""
    detail = (
        "The database cannot be reached or is too busy. Try again in a few seconds; "
        "a write that carries the same Idempotency-Key again is done once."
    )
    return Problem(503, "unavailable", detail, headers={"Retry-After": "5"})


def _unauthenticated(code: str, detail: str, error: str) -> Problem:
    return Problem(401, code, detail, headers={"WWW-Authenticate": f'Bearer realm="plimsoll"{error}'})


async def _principal(
    request: Request, _documented: Annotated[HTTPAuthorizationCredentials | None, Depends(_scheme)]
) -> Principal:
    principal = getattr(request.state, "principal", None)
    if not isinstance(principal, Principal):  # only where a route of ours is mounted without the middleware
        raise _unauthenticated("unauthenticated", "Send the header Authorization: Bearer, and then a token.", "")
    return principal


Asking = Annotated[Principal, Depends(_principal)]
"""A parameter of a route: who is asking."""


def require(role: Role) -> Callable[[Principal], Awaitable[Principal]]:
    """A dependency that lets through whoever may do what this role may.

    Its function raises Problem (403) for any other.
    """
    return _RoleCheck(role)


@dataclass(frozen=True, slots=True)
class _RoleCheck:
    """A dependency, which says of which role it is: Authentication asks the same before the body is read."""

    role: Role

    async def __call__(self, principal: Asking) -> Principal:
        _require(principal, self.role)
        return principal


def _require(principal: Principal, role: Role) -> None:
    if not principal.role.includes(role):
        allowed = " or ".join(other for other in Role if other.includes(role))
        detail = f"This needs a token of role {allowed}; {principal.name} is {principal.role}."
        raise Problem(403, "forbidden", detail, required_role=role.value)


def _role_of(route: APIRoute) -> Role | None:
    """The role that a route is declared to need beyond reading."""
    checks = (dependency.dependency for dependency in route.dependencies)
    return next((check.role for check in checks if isinstance(check, _RoleCheck)), None)


def require_owner(principal: Principal, owner: str) -> None:
    """Raises Problem (403) unless the token may ask for this owner's capacity."""
    if principal.may_act_for(owner):
        return
    owners = sorted(principal.owners)
    theirs = f"It asks for {', '.join(owners)}" if owners else "It has no owners yet"
    detail = f"{principal.name} may not act for {owner}. {theirs}; an admin changes that with `plimsoll token owners`."
    raise Problem(403, "not_an_owner", detail, owner=owner, owners=owners)
