"""Log in and out. A way to log in turns a request into a bearer; the API turns the bearer into a session."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Protocol
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from libs.web.rates import Buckets
from services.pages.api import Api, ApiProblem
from services.pages.cookie import drop_secret, read_secret, set_secret, way_back
from services.pages.parts.words import parse_moment
from services.pages.site import site_of

ATTEMPTS_PER_S, ATTEMPTS_BURST = 0.2, 10
"""Attempts to log in per address: each of them costs the API a query."""
_TOKEN = re.compile(r"[!-~]{1,4000}")


class WayIn(Protocol):
    """A way to log in. Another one, such as OpenID Connect, adds its routes and ends in `open_session`."""

    def bearer(self, form: dict[str, str]) -> str | None:
        """Return the bearer that a form gives; None if it gives none."""


class ByToken:
    """The person pastes a token."""

    def bearer(self, form: dict[str, str]) -> str | None:
        """Return the token of the form."""
        token = form.get("token", "").strip()
        return token if _TOKEN.fullmatch(token) else None


def new_attempts() -> Buckets:
    """Return the buckets of attempts to log in, by address."""
    return Buckets(ATTEMPTS_PER_S, ATTEMPTS_BURST)


def show_login(request: Request) -> Response:
    """Return the form, or go on if there is a session."""
    site, back = site_of(request), way_back(request.query_params.get("next"))
    secret = read_secret(request)
    if secret is not None and site.sessions.wait_s(request, secret) == 0 and _is_open(site.api(secret)):
        return RedirectResponse(back, 303)
    return site.renderer.alone("login.html", back=back, error="", ended="ended" in request.query_params)


def log_in(request: Request, form: dict[str, str], way: WayIn) -> Response:
    """Open a session for the bearer of a form. A failed attempt shows the form again, and repeats nothing of it."""
    site, back = site_of(request), way_back(form.get("next"))
    address = request.client.host if request.client else "unknown"
    wait_s = site.attempts.take(address)
    if wait_s > 0:
        said = f"Too many attempts from your address. Try again in {wait_s:.0f} s."
        return site.renderer.alone("login.html", status=429, back=back, error=said, ended=False)
    bearer = way.bearer(form)
    if bearer is None:
        said = "That is no token. A token is one word, such as plim_…"
        return site.renderer.alone("login.html", status=422, back=back, error=said, ended=False)
    try:
        return open_session(request, bearer, back)
    except ApiProblem as problem:
        return site.renderer.alone("login.html", status=problem.status, back=back, error=problem.detail, ended=False)


def open_session(request: Request, bearer: str, back: str) -> Response:
    """Exchange a bearer for a session, and go to the page that the person wanted. Raises ApiProblem."""
    session = site_of(request).api(bearer).send("POST", "/v1/sessions")
    response = RedirectResponse(way_back(back), 303)
    ends_at = parse_moment(session["ends_at"])
    site_of(request).sessions.note(session["secret"], is_open=True)
    set_secret(request, response, session["secret"], ends_at=ends_at, now=datetime.now(UTC))
    return response


def log_out(request: Request) -> Response:
    """End the session, and forget its cookie. A session that has ended already is no error."""
    secret, sessions = read_secret(request), site_of(request).sessions
    if secret is not None and sessions.wait_s(request, secret) == 0:
        sessions.note(secret, is_open=False)
        try:
            site_of(request).api(secret).send("DELETE", "/v1/sessions/current")
        except ApiProblem as problem:
            if problem.status != 401:
                raise
    response = RedirectResponse("/login", 303)
    drop_secret(request, response)
    return response


def _is_open(api: Api) -> bool:
    try:
        api.get("/v1/whoami")
    except ApiProblem:
        return False
    return True


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form. The last of a repeated one counts, so a checkbox can follow its default."""
    body = (await request.body()).decode("utf-8", "replace")
    return {name: values[-1] for name, values in parse_qs(body, keep_blank_values=True, max_num_fields=2000).items()}
