"""Limits on the length of request bodies."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from libs.web.problems import Problem

BODY_BYTES_MAX = 1_000_000


class BodyLimit:
    """ASGI middleware: it answers 413 to a body longer than the limit of its path, whether or not its length is
    announced.

    Starlette has one too, but it answers in plain text, and its exception is logged as an error.
    """

    def __init__(self, app: ASGIApp, large_bodies: Mapping[str, int]) -> None:
        self._app = app
        self._large = [(compile_path(path)[0], bytes_max) for path, bytes_max in large_bodies.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count the bytes of its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        bytes_max = next((limit for path, limit in self._large if path.match(scope["path"])), BODY_BYTES_MAX)
        scope["state"]["body_bytes_max"] = bytes_max
        announced = Headers(scope=scope).get("Content-Length", "0")
        if announced.isdecimal() and int(announced) > bytes_max:
            scope["state"]["problem_code"] = "too_large"
            await _too_large(bytes_max).response(scope["state"].get("request_id"))(scope, receive, send)
            return
        received = 0

        async def receive_counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > bytes_max:
                raise _too_large(bytes_max)
            return message

        await self._app(scope, receive_counted, send)


def _too_large(bytes_max: int) -> Problem:
    return Problem(413, "too_large", f"The body is larger than the {bytes_max} bytes that this route takes.")
