"""The JSON behind a page, with the person's rights."""

from __future__ import annotations

import json
import re

from starlette.responses import PlainTextResponse, Response

from services.pages.visit import Visit

_PATH = re.compile(r"v1(?:/[A-Za-z0-9_~:@%+,=-][A-Za-z0-9._~:@%+,=-]*)+")


def show_source(visit: Visit) -> Response:
    """Return a document of the API. Only its reads are passed on."""
    path = visit.request.scope["path"].removeprefix("/json/")
    raw = visit.request.scope.get("raw_path", b"").decode("ascii", "replace").partition("?")[0].removeprefix("/json/")
    if not _PATH.fullmatch(raw or path):
        return PlainTextResponse("There is no such document.\n", 404)
    document = visit.api.get(f"/{raw or path}", **visit.query)
    return Response(json.dumps(document, indent=2, ensure_ascii=False) + "\n", media_type="application/json")
