"""The OpenAPI document: every operation says how it fails, and with what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from libs.web.auth import PUBLIC_PATHS
from libs.web.problems import MEDIA_TYPE, ProblemDocument

_DESCRIPTIONS = {
    400: "The request cannot be read",
    401: "No token, or not a valid one",
    403: "The token's role does not allow this",
    404: "There is no such thing",
    408: "The body did not come in time",
    409: "It conflicts with what is there; read again",
    413: "The body is too large",
    415: "This type of body is not taken",
    422: "Some fields are not valid; each is named",
    428: "If-Match is missing",
    429: "Too many requests; Retry-After says when",
    500: "Our mistake; the log has it under the request id",
    503: "The database cannot be reached; try again",
}
_OF_FASTAPI = {"description": "Validation Error"}
"""How it documents a 422 of its own, of which we answer none."""
_METHODS = ("get", "put", "post", "delete", "patch")
_HEADERS = {
    "ETag": ("The generation: send it back as If-Match", '"7"'),
    "Location": ("Where the new thing is read", "/v1/capacity-requests/12"),
    "Idempotency-Replayed": ("true where this is the saved answer of an earlier request", "true"),
    "X-Request-Id": ("Under which the log has this request", "4f7c0d"),
}


def problems(*statuses: int, content: dict[str, Any] | None = None) -> dict[int | str, dict[str, Any]]:
    """For `responses=` of a route: how it fails, beyond what every route does (`_complete`).

    content   media type -> schema of what it answers with then, where that is no problem document
    """
    return {status: _problem(status, content) for status in statuses}


def headers(*names: str) -> dict[str, Any]:
    """For `responses=` of a route: documentation of headers that it answers with."""
    return {name: _header(name) for name in names}


def document(app: FastAPI) -> dict[str, Any]:
    """Make the OpenAPI document of the routes that the app has."""
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
            parameter["required"] = True
            parameter["schema"] = {"type": "string", "pattern": '^"[0-9]{1,19}"$'}
            responses.setdefault("400", _problem(400))
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
