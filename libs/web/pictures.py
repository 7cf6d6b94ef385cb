"""Answer with pictures."""

from __future__ import annotations

from typing import Any

from fastapi import Response

SVG = "image/svg+xml"
SVG_RESPONSE: dict[int | str, dict[str, Any]] = {200: {"content": {SVG: {"schema": {"type": "string"}}}}}


def picture(content: str | bytes) -> Response:
    """Return an SVG picture."""
    # A picture holds names that people chose. Forbid scripts in it, wherever a page shows it.
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
    return Response(content, media_type=SVG, headers=policy)
