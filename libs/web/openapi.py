"""The OpenAPI document. It lists the errors of every operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from libs.web.auth import PUBLIC_PATHS
from libs.web.generations import DEMANDED
from libs.web.problems import MEDIA_TYPE, ProblemDocument

_DESCRIPTIONS = {
    400: "The request cannot be read",
    401: "The token is missing or not valid",
    403: "The token's role does not allow this",
    404: "It does not exist",
    408: "The body did not arrive in time",
    409: "It conflicts with the present state; read again",
    413: "The body is too large",
    415: "The route does not take this type of body",
    422: "Some fields are not valid; each is named",
    428: "If-Match is missing",
    429: "Too many requests; Retry-After says when",
    500: "A fault of the server; the log has it under the request id",
    503: "The database cannot be reached; try again",
}
_OF_FASTAPI = {"description": "Validation Error"}
"""FastAPI's own description of a 422, which we replace."""
_METHODS = ("get", "put", "post", "delete", "patch")
_HEADERS = {
    "ETag": ("The generation: send it back as If-Match", '"7"'),
    "Location": ("Path of the new resource", "/v1/capacity-requests/12"),
    "Idempotency-Replayed": ("true if this is the saved answer to an earlier request", "true"),
    "X-Request-Id": ("Id of this request in the log", "4f7c0d"),
}


def problems(*statuses: int, content: dict[str, Any] | None = None) -> dict[int | str, dict[str, Any]]:
    """Return the errors of a route for `responses=`, beyond those of every route (`_complete`).

    content   media type -> schema of the answers, if they are not problem documents
    """
    return {status: _problem(status, content) for status in statuses}


def headers(*names: str) -> dict[str, Any]:
    """Return the documentation of headers of a route's answers, for `responses=`."""
    return {name: _header(name) for name in names}


def document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of the app's routes."""
    schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    components = schema.setdefault("components", {}).setdefault("schemas", {})
    problem = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
    components.update(problem.pop("$defs"))
    components["Problem"] = problem
    for path, operation in _operations(schema):
        _complete(operation, public=path in PUBLIC_PATHS)
    components.pop("HTTPValidationError", None)
    components.pop("ValidationError", None)
    return schema


def _operations(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in schema["paths"].items():
        for method in _METHODS:
            if method in item:
                yield path, item[method]


def _complete(operation: dict[str, Any], *, public: bool) -> None:
    responses = operation["responses"]
    common = (500,) if public else (401, 403, 422, 429, 500, 503)
    has_body = "requestBody" in operation
    writes = any(parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", ()))
    for status in (*common, *((400, 413) if has_body else ())):
        if responses.get(str(status), _OF_FASTAPI)["description"] == _OF_FASTAPI["description"]:
            responses[str(status)] = _problem(status)
    for status, response in responses.items():
        documented = response.setdefault("headers", {})
        documented["X-Request-Id"] = _header("X-Request-Id")
        if writes and status.startswith("2"):
            documented["Idempotency-Replayed"] = _header("Idempotency-Replayed")
    for parameter in operation.get("parameters", ()):
        if parameter["name"] == "If-Match":
            parameter["required"] = bool(parameter["schema"].get(DEMANDED))
            parameter["schema"] = {"type": "string", "pattern": '^"[0-9]{1,19}"$'}
            responses.setdefault("400", _problem(400))
            if parameter["required"]:
                responses.setdefault("428", _problem(428))


def _problem(status: int, content: dict[str, Any] | None = None) -> dict[str, Any]:
    content = content or {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    described: dict[str, Any] = {"description": _DESCRIPTIONS[status], "content": content}
    if status == 401:
        described["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}}}
    return described


def _header(name: str) -> dict[str, Any]:
    description, example = _HEADERS[name]
    return {"description": description, "schema": {"type": "string"}, "example": example}
