"""The API reference as one page, made from the OpenAPI document: no script, and nothing from another host."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

router = APIRouter(include_in_schema=False)
_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'", "Cache-Control": "no-cache"}
_METHODS = ("get", "put", "post", "patch", "delete")
_STYLE = "body{font:15px sans-serif;max-width:60em;margin:2em auto}code{font-size:14px}td{padding:0 1em 0 0}"


@router.get("/docs")
async def get_reference(request: Request) -> HTMLResponse:
    """Return the reference of every operation: its purpose, its parameters and its answers."""
    page = getattr(request.app.state, "reference", None)
    if page is None:
        page = request.app.state.reference = _page(request.app.openapi())
    return HTMLResponse(page, headers=_POLICY)


@router.get("/")
@router.get("/v1")
async def get_entry() -> dict[str, str]:
    """Return the paths to start from."""
    return {"reference": "/docs", "openapi": "/openapi.json", "regions": "/v1/regions", "ready": "/readyz"}


def _page(schema: dict[str, Any]) -> str:
    title = escape(f"{schema['info']['title']} {schema['info']['version']}")
    operations = [
        _operation(method, path, item[method])
        for path, item in sorted(schema["paths"].items())
        for method in _METHODS
        if method in item
    ]
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    described = escape(schema["info"].get("description", ""))
    about = f'<h1>{title}</h1><p>{described}</p><p><a href="/openapi.json">OpenAPI</a></p>'
    return "".join([head, about, *operations, "</html>"])


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = [
        (f"{parameter['name']} ({parameter['in']})", parameter.get("description", ""))
        for parameter in operation.get("parameters", ())
    ]
    rows += [("body", ", ".join(operation["requestBody"]["content"]))] if "requestBody" in operation else []
    rows += [(status, answer["description"]) for status, answer in sorted(operation["responses"].items())]
    table = "".join(f"<tr><td><code>{escape(name)}</code><td>{escape(text)}" for name, text in rows)
    return (
        f"<h3><code>{method.upper()} {escape(path)}</code></h3>"
        f"<p>{escape(operation.get('description', ''))}</p><table>{table}</table>"
    )
