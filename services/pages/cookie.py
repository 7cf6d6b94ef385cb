"""The cookie that carries a session's secret, and the way back after a login."""

from __future__ import annotations

import re
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]{0,2000}")
"""A path on this host, with its query: no second slash, no backslash and no control character at its start or in it."""


def name_of(request: Request) -> str:
    """Return the cookie's name. The prefix __Host- makes browsers refuse it without HTTPS or for a wider domain."""
    return "__Host-plimsoll" if request.url.scheme == "https" else "plimsoll"


def read_secret(request: Request) -> str | None:
    """Return the session's secret; None without a session."""
    return request.cookies.get(name_of(request)) or None


def set_secret(request: Request, response: Response, secret: str, *, ends_at: datetime, now: datetime) -> None:
    """Give the browser a session's secret until the session's latest end."""
    response.set_cookie(
        name_of(request),
        secret,
        max_age=max(0, int((ends_at - now).total_seconds())),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


def drop_secret(request: Request, response: Response) -> None:
    """Make the browser forget the session."""
    response.delete_cookie(
        name_of(request), path="/", secure=request.url.scheme == "https", httponly=True, samesite="lax"
    )


def way_back(given: str | None) -> str:
    """Return the path to go to after a login: `given` if it is a path on this host, else the first page."""
    return given if given is not None and _PATH.fullmatch(given) else "/"
