"""Bearer tokens: who is asking, and whether they may.

Whoever has no valid token is turned away before the request is routed and before its body is read. So a new route
cannot forget to ask, and nobody without a token can make us parse anything.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import Annotated

import structlog
from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from libs.domain.principal import Principal, Role
from libs.store.database import Database
from libs.store.errors import UNAVAILABLE
from libs.store.tokens import load_principal
from libs.web.problems import Problem

PREFIX = "plim_"
PUBLIC_PATHS = frozenset({"/healthz", "/readyz", "/openapi.json"})
"""What needs no token: it tells nothing of any fleet."""
_RANK = {role: rank for rank, role in enumerate(Role)}
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
    """ASGI middleware: puts the principal into request.state, or answers 401."""

    def __init__(self, app: ASGIApp, database: Database) -> None:
        self._app, self._database = app, database

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through with its principal."""
        if scope["type"] == "lifespan" or (scope["type"] == "http" and scope["path"] in PUBLIC_PATHS):
            await self._app(scope, receive, send)
            return
        try:
            principal = await run_in_threadpool(self._principal, Headers(scope=scope).get("Authorization"))
        except Problem as problem:
            scope["state"]["problem_code"] = problem.code
            await problem.response(scope["state"].get("request_id"))(scope, receive, send)
            return
        scope["state"]["principal"] = principal
        structlog.contextvars.bind_contextvars(principal=principal.name)
        await self._app(scope, receive, send)

    def _principal(self, authorization: str | None) -> Principal:
        scheme, _, secret = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            raise _unauthenticated("unauthenticated", "Send a token: Authorization: Bearer plim_...", "")
        try:
            with self._database.snapshot() as tx:
                principal = load_principal(tx, digest(secret.strip()))
        except UNAVAILABLE as unreachable:
            raise unavailable() from unreachable
        if principal is None:
            detail = "No such token, or it was revoked. Ask an admin for a new one."
            raise _unauthenticated("invalid_token", detail, ', error="invalid_token"')
        return principal


def unavailable() -> Problem:
    """503: try again in a moment. Not that nothing was changed: a connection may break just after a commit."""
    detail = (
        "The database cannot be reached or is too busy. Try again in a few seconds; "
        "a write that carries the same Idempotency-Key again is done once."
    )
    return Problem(503, "unavailable", detail, headers={"Retry-After": "5"})


def _unauthenticated(code: str, detail: str, error: str) -> Problem:
    return Problem(401, code, detail, headers={"WWW-Authenticate": f'Bearer realm="plimsoll"{error}'})


def _principal(
    request: Request, _documented: Annotated[HTTPAuthorizationCredentials | None, Depends(_scheme)]
) -> Principal:
    principal = getattr(request.state, "principal", None)
    if not isinstance(principal, Principal):  # only where a route of ours is mounted without the middleware
        raise _unauthenticated("unauthenticated", "Send a token: Authorization: Bearer plim_...", "")
    return principal


Asking = Annotated[Principal, Depends(_principal)]
"""A parameter of a route: who is asking."""


def require(role: Role) -> Callable[[Principal], Principal]:
    """A dependency that lets this role and those above it through.

    Its function raises Problem (403) for any other.
    """

    def check(principal: Asking) -> Principal:
        if _RANK[principal.role] < _RANK[role]:
            detail = f"This needs a token of role {role} or above; {principal.name} is {principal.role}."
            raise Problem(403, "forbidden", detail, required_role=role.value)
        return principal

    return check
