"""Log in at an issuer: send the browser there, and take it back with a code (design 0050)."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from services.pages.api import ApiProblem, ApiUnreachable
from services.pages.attempt import Attempt
from services.pages.code_flow import LoginFailed, address_of, fetch_bearer
from services.pages.cookie import drop_attempt, read_attempt, set_attempt, way_back
from services.pages.login import SILENT, form_page, must_wait, open_session
from services.pages.settings import CALLBACK
from services.pages.site import site_of

CODE_LENGTH_MAX = 8000
_STALE = "This login is over, or it was begun in another window or browser. Log in again."
_ERROR = re.compile(r"[a-z_]{1,40}")


def begin(request: Request) -> Response:
    """Send the browser to the issuer that the path names."""
    back, issuers = way_back(request.query_params.get("next")), site_of(request).issuers
    client = issuers.find(request.path_params["issuer"])
    if client is None or issuers.callback is None:
        return form_page(request, status=404, back=back, error="The platform has no such issuer for these pages.")
    ours = issuers.callback.removesuffix(CALLBACK)
    if f"{request.url.scheme}://{request.url.netloc}".lower() != ours:
        said = f"A login at {client.name} begins at {ours}, because it ends there. Open that address."
        return form_page(request, status=409, back=back, error=said)
    refusal = must_wait(request, back)
    if refusal is not None:
        return refusal
    attempt = Attempt.begin(client.name, back)
    try:
        response = RedirectResponse(address_of(client, attempt), 303)
    except LoginFailed as error:
        return form_page(request, status=502, back=back, error=str(error))
    set_attempt(request, response, attempt.text())
    return response


def end(request: Request) -> Response:
    """Take the browser back from the issuer. A failed login shows the form again. Either way the attempt is over."""
    response = _end(request, Attempt.read(read_attempt(request)))
    drop_attempt(request, response)
    return response


def _end(request: Request, attempt: Attempt | None) -> Response:
    given, issuers = request.query_params, site_of(request).issuers
    if attempt is None or not attempt.has_state(given.get("state", "")):
        return form_page(request, status=400, back="/", error=_STALE)
    back = way_back(attempt.back)
    client = issuers.find(attempt.issuer)
    # Not every issuer names itself (RFC 9207). The path does, because each issuer has one of its own (RFC 9700, 4.4).
    if (
        client is None
        or request.path_params["issuer"] != client.name
        or given.get("iss", client.issuer) != client.issuer
    ):
        return form_page(request, status=400, back=back, error="Another issuer has answered. Log in again.")
    if "error" in given:
        return form_page(request, status=403, back=back, error=_denial(client.name, given["error"]))
    code = given.get("code", "")
    if not 1 <= len(code) <= CODE_LENGTH_MAX:
        return form_page(request, status=400, back=back, error=f"{client.name} sent no usable code. Log in again.")
    refusal = must_wait(request, back)
    if refusal is not None:
        return refusal
    try:
        return open_session(request, fetch_bearer(client, attempt, code), back)
    except LoginFailed as error:
        return form_page(request, status=502, back=back, error=str(error))
    except ApiProblem as problem:
        return form_page(request, status=problem.status, back=back, error=problem.detail)
    except ApiUnreachable:
        return form_page(request, status=503, back=back, error=SILENT)


def _denial(name: str, error: str) -> str:
    if error == "access_denied":
        return f"{name} did not let you in, or the login was cancelled there."
    named = f" ({error})" if _ERROR.fullmatch(error) else ""
    return f"{name} has refused the login{named}. Try again, or tell your administrators."
