"""Log in with a token, and out. The API turns the token into a session; issuer_login.py has the other way to log in."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from libs.web.rates import Buckets
from services.pages.api import Api, ApiProblem, ApiUnreachable
from services.pages.cookie import drop_secret, read_secret, set_secret, way_back
from services.pages.known_sessions import visitor_of
from services.pages.parts.words import parse_moment
from services.pages.site import site_of

ATTEMPTS_PER_S, ATTEMPTS_BURST = 0.2, 10
"""Attempts to log in per address, or /64 of IPv6: each of them costs the API a query, or an issuer a call."""
SILENT = "The API does not answer. Try again in some seconds."
_TOKEN = re.compile(r"[!-~]{1,4000}")


def new_attempts() -> Buckets:
    """Return the buckets of attempts to log in, by address."""
    return Buckets(ATTEMPTS_PER_S, ATTEMPTS_BURST)


def show_login(request: Request) -> Response:
    """Return the form, or go on if there is a session."""
    site, back = site_of(request), way_back(request.query_params.get("next"))
    secret = read_secret(request)
    if secret is not None and site.sessions.wait_s(request, secret) == 0 and _is_open(site.api(secret)):
        return RedirectResponse(back, 303)
    return form_page(request, back=back, ended="ended" in request.query_params)


def form_page(request: Request, *, back: str, status: int = 200, error: str = "", ended: bool = False) -> Response:
    """Return the page with all ways to log in.

    back    the page to go to afterwards
    error   the reason for which an attempt has failed; "": none has
    ended   whether a session has ended
    """
    site = site_of(request)
    return site.renderer.alone(
        "login.html", status=status, back=back, error=error, ended=ended, issuers=site.issuers.names
    )


def must_wait(request: Request, back: str) -> Response | None:
    """Count an attempt of the address. Return the answer to one too many; None: go on."""
    wait_s = site_of(request).attempts.take(visitor_of(request))
    if wait_s <= 0:
        return None
    said = f"Too many attempts from your address. Try again in {math.ceil(wait_s)} s."
    return form_page(request, status=429, back=back, error=said)


def log_in(request: Request, form: dict[str, str]) -> Response:
    """Open a session for the token of a form. A failed attempt shows the form again, and repeats nothing of it."""
    back = way_back(form.get("next"))
    refusal = must_wait(request, back)
    if refusal is not None:
        return refusal
    token = form.get("token", "").strip()
    if not _TOKEN.fullmatch(token):
        said = "That is no token. A token is one word, such as plim_…"
        return form_page(request, status=422, back=back, error=said)
    try:
        return open_session(request, token, back)
    except ApiProblem as problem:
        return form_page(request, status=problem.status, back=back, error=problem.detail)
    except ApiUnreachable:
        return form_page(request, status=503, back=back, error=SILENT)


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
            if problem.status not in (401, 403):  # 403: the rules no longer give the person a role
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
