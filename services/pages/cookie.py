"""The cookies of a session's secret and of a login that has begun, and the way back after a login."""

from __future__ import annotations

import re
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]{0,2000}")
"""A path on this host, with its query: no second slash, no backslash and no control character at its start or in it."""


_SECRET, _ATTEMPT = "plimsoll", "plimsoll-login"
ATTEMPT_S = 600
"""Seconds that a login at an issuer may take."""


def name_of(request: Request, plain: str = _SECRET) -> str:
    """Return a cookie's name. The prefix __Host- makes browsers refuse it without HTTPS or for a wider domain."""
    return f"__Host-{plain}" if request.url.scheme == "https" else plain


def read_secret(request: Request) -> str | None:
    """Return the session's secret; None without a session."""
    return request.cookies.get(name_of(request)) or None


def set_secret(request: Request, response: Response, secret: str, *, ends_at: datetime, now: datetime) -> None:
    """Give the browser a session's secret until the session's latest end."""
    _set(request, response, _SECRET, secret, seconds=max(0, int((ends_at - now).total_seconds())))


def drop_secret(request: Request, response: Response) -> None:
    """Make the browser forget the session."""
    _set(request, response, _SECRET, "", seconds=0)


def read_attempt(request: Request) -> str | None:
    """Return the text of the login that has begun; None if none has."""
    return request.cookies.get(name_of(request, _ATTEMPT)) or None


def set_attempt(request: Request, response: Response, text: str) -> None:
    """Give the browser the text of a login that begins. The issuer sends people back from its site, so it is lax."""
    _set(request, response, _ATTEMPT, text, seconds=ATTEMPT_S)


def drop_attempt(request: Request, response: Response) -> None:
    """Make the browser forget the login that had begun."""
    _set(request, response, _ATTEMPT, "", seconds=0)


def way_back(given: str | None) -> str:
    """Return the path to go to after a login: `given` if it is a path on this host, else the first page."""
    return given if given is not None and _PATH.fullmatch(given) else "/"


def _set(request: Request, response: Response, plain: str, value: str, *, seconds: int) -> None:
    response.set_cookie(
        name_of(request, plain),
        value,
        max_age=seconds,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
