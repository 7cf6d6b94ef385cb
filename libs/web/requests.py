"""The scope of every request: its id, log line, metrics and span, and the answer to an unexpected exception."""

from __future__ import annotations

import re
import time
import uuid

import structlog
from opentelemetry.trace import Span, SpanKind, StatusCode
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog import get_logger

from libs.observability.logs import redact
from libs.observability.traces import span
from libs.web.metrics import METHODS, observe_request
from libs.web.problems import Problem

REQUEST_ID = "X-Request-Id"
log = get_logger(__name__)


class RequestScope:
    """ASGI middleware, the outermost of ours."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request. If the app raises, answer with a 500 problem."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope).get(REQUEST_ID))
        scope.setdefault("state", {})["request_id"] = request_id
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        method = scope["method"] if scope["method"] in METHODS else "OTHER"
        about = {"http.request.method": method, "plimsoll.request_id": request_id}
        with span(method, about, kind=SpanKind.SERVER, parent=Headers(scope=scope).get("traceparent")) as current:
            await self._answer(scope, receive, send, request_id, method, current)

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, request_id: str, method: str, current: Span
    ) -> None:
        started_s, status = time.perf_counter(), 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except Exception:
            log.exception("request.failed", method=scope["method"], route=_route(scope))
            if status:  # the answer has begun, so only breaking the connection is left
                raise
            detail = f"The server failed, and logged it as {request_id}. "
            detail += "Read again before you repeat a write: it may have been done."
            scope["state"]["problem_code"] = "internal_error"
            await Problem(500, "internal_error", detail).response(request_id)(scope, receive, send_with_id)
        finally:
            duration_s, route = time.perf_counter() - started_s, _route(scope)
            current.update_name(f"{method} {route}")
            current.set_attributes({"http.route": route, "http.response.status_code": status})
            if status >= 500:
                current.set_status(StatusCode.ERROR)
            observe_request(route, method, status, duration_s, scope["state"].get("problem_code", ""))
            log.info(
                "request.done", method=scope["method"], route=route, status=status, duration_s=round(duration_s, 4)
            )


def _request_id(offered: str | None) -> str:
    """Return the client's own id if it is harmless, so that both logs can be compared; else a new one."""
    harmless = offered and re.fullmatch(r"[A-Za-z0-9._-]{1,64}", offered) and redact(offered) == offered
    return offered if offered and harmless else uuid.uuid4().hex


def _route(scope: Scope) -> str:
    """Return the route's template. The path itself contains ids, which would make an unbounded number of metrics."""
    return str(getattr(scope.get("route"), "path_format", None) or getattr(scope.get("route"), "path", "unmatched"))
