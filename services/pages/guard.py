"""Safety of every answer and request: the content policy, and the check that a write comes from our own pages."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
FORM_BYTES_MAX = 100_000
"""Largest body of a form."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no-referrer, browsers send `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """ASGI middleware. It refuses writes of other sites, bounds bodies, and adds HEADERS to each answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    given.setdefault(name, value)
                given.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = refusal_of(scope["method"], Headers(scope=scope))
        app = self._app if refusal is None else refusal
        await app(scope, receive, send_guarded)


def refusal_of(method: str, headers: Headers) -> PlainTextResponse | None:
    """Return the answer to a write that another site may have caused, or whose body is too large; None: go on."""
    if method in SAFE_METHODS:
        return None
    if not _is_ours(headers):
        said = "This request did not come from a page of this host. Open the page again and repeat it there.\n"
        return PlainTextResponse(said, 403)
    length = headers.get("Content-Length", "")
    if not length.isdecimal() or int(length) > FORM_BYTES_MAX:
        return PlainTextResponse(f"A form has at most {FORM_BYTES_MAX} bytes.\n", 413)
    return None


def _is_ours(headers: Headers) -> bool:
    """Return whether the browser says that the request comes from a page of this host.

    Browsers omit Sec-Fetch-Site on plain HTTP to other hosts, and then send Origin with each form.
    """
    site = headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    origin = headers.get("Origin", "")
    return urlsplit(origin).netloc != "" and urlsplit(origin).netloc == headers.get("Host")
