"""The stylesheet and scripts. They are read once, and their addresses change with their contents."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

FOLDER = Path(__file__).parent / "static"
_SUFFIXES = (".css", ".js", ".svg")


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file with its address."""

    url: str
    content: bytes
    media_type: str


def read_static_files(folder: Path = FOLDER) -> dict[str, StaticFile]:
    """Return the files by their path in the folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in _SUFFIXES:
            content, name = path.read_bytes(), path.relative_to(folder).as_posix()
            version = hashlib.sha256(content).hexdigest()[:12]
            media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            found[name] = StaticFile(f"/static/{version}/{name}", content, media_type)
    return found


def serve_static(request: Request) -> Response:
    """Return a file. An address with another version than the present one has nothing behind it."""
    files: dict[str, StaticFile] = request.app.state.static_files
    file = files.get(request.path_params["name"])
    if file is None or file.url != request.url.path:
        return PlainTextResponse("There is no such file.\n", 404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(file.content, media_type=file.media_type, headers=headers)
