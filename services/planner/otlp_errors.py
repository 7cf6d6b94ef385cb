"""Turn errors of `/v1/traces` into a google.rpc.Status, in protobuf or JSON as in the request.

Routes and middleware raise problem documents, and this middleware translates them. Source: OTLP specification,
OTLP/HTTP response.
"""

from __future__ import annotations

import json

import orjson
from google.rpc.status_pb2 import Status
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from libs.web.problems import MEDIA_TYPE

PATH = "/v1/traces"
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 408: 4, 413: 8, 415: 3, 422: 3, 429: 8, 503: 14}
"""gRPC code by HTTP status: INVALID_ARGUMENT, UNAUTHENTICATED, PERMISSION_DENIED, ...; a missing status is INTERNAL."""
_INTERNAL = 13


class OtlpErrors:
    """ASGI middleware, outside of all others."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and turn a problem document in the answer into a Status."""
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        wants_json = Headers(scope=scope).get("Content-Type", "").startswith("application/json")
        start: Message | None = None
        body = b""

        async def rewrite(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                if Headers(raw=message["headers"]).get("Content-Type", "") == MEDIA_TYPE:
                    start = message
                    return
            elif start is not None and message["type"] == "http.response.body":
                body += message.get("body", b"")
                if message.get("more_body"):
                    return
                content = _status(start["status"], body, wants_json)
                headers = MutableHeaders(raw=start["headers"])
                headers["Content-Type"] = "application/json" if wants_json else "application/x-protobuf"
                headers["Content-Length"] = str(len(content))
                await send(start)
                await send({"type": "http.response.body", "body": content})
                return
            await send(message)

        await self._app(scope, receive, rewrite)


def _status(status: int, problem: bytes, wants_json: bool) -> bytes:
    code, message = _CODES.get(status, _INTERNAL), str(json.loads(problem).get("detail", ""))
    if wants_json:
        return orjson.dumps({"code": code, "message": message})
    found: bytes = Status(code=code, message=message).SerializeToString()
    return found
