"""Turn a page into HTML: the templates, their filters, and the ETag of a live part."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from libs.domain.page import ITEMS_MAX
from services.pages.navigation import EVERYWHERE, OF_A_REGION
from services.pages.parts import words
from services.pages.parts.table import is_name
from services.pages.static_files import StaticFile
from services.pages.visit import LIVE_S, Shown, Visit

TEMPLATES = Path(__file__).parent / "templates"
PRIVATE = "private, no-cache"


class Renderer:
    """Renders pages. It is made once and shared by all threads."""

    def __init__(self, files: dict[str, StaticFile]) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters |= {
            "number": words.number,
            "count": words.count,
            "percent": words.percent,
            "kilowatts": words.kilowatts,
            "duration": words.duration,
            "spaced": words.spaced,
            "said": words.said,
            "sentence": words.sentence,
            "segment": lambda name: quote(str(name), safe=""),
        }
        self._environment.tests["name"] = is_name
        self._environment.globals |= {"asset": lambda name: files[name].url, "live_s": LIVE_S, "items_max": ITEMS_MAX}
        self._environment.globals |= {"everywhere": EVERYWHERE, "of_a_region": OF_A_REGION}

    def page(self, visit: Visit, shown: Shown) -> Response:
        """Return the page, its live part alone, one of its tables as CSV, or 304 if the browser has the live part."""
        if visit.query.get("format") == "csv" and (table := shown.csv_table(visit.query.get("table", ""))) is not None:
            disposition = {"Content-Disposition": f'attachment; filename="{table.name}.csv"'}
            return PlainTextResponse(table.csv(), media_type="text/csv", headers=disposition)
        if visit.is_fragment and shown.island:
            return HTMLResponse(self._main(visit, shown, shown.island))
        main = self._main(visit, shown, shown.template)
        etag = hashlib.sha256(main.encode()).hexdigest()[:32]
        if visit.is_fragment:
            headers = {"ETag": f'"{etag}"', "Vary": "HX-Request", "Cache-Control": PRIVATE}
            if visit.request.headers.get("If-None-Match") == f'"{etag}"':
                return Response(status_code=304, headers=headers)
            part = self._environment.get_template("live.html")
            url = _own_url(visit)
            return HTMLResponse(part.render(main=main, etag=etag, url=url, live=shown.live), headers=headers)
        base = self._environment.get_template("page.html")
        html = base.render(
            main=main,
            etag=etag,
            url=_own_url(visit),
            live=shown.live,
            title=shown.title,
            command=shown.command_line,
            sources=shown.sources,
            region=shown.region,
            section=shown.section,
            login_ends=_login_ends(visit),
            visit=visit,
        )
        return HTMLResponse(html, shown.status, headers={"Vary": "HX-Request"})

    def alone(self, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
        """Return a page that needs no session."""
        return HTMLResponse(self._environment.get_template(template).render(**values), status)

    def _main(self, visit: Visit, shown: Shown, template: str) -> Markup:
        def moment(text: str | None) -> Markup:
            return words.moment_markup(text, visit.now)

        values = {"visit": visit, "table": shown.table, "moment": moment, "title": shown.title, "region": shown.region}
        values["command"] = shown.command_line if shown.command else ""
        html = self._environment.get_template(template).render({**values, **shown.values})
        return Markup(html)  # noqa: S704 - a template with autoescape made it


def _login_ends(visit: Visit) -> str:
    """Return the latest end of a session of an issuer, in real time; "" for others.

    It comes with the issuer's token, often within the hour. Those of the platform's tokens last a working day.
    """
    session, login = (visit.who.get(name) for name in ("session", "login"))
    if session is None or login is None:
        return ""
    return words.moment_text(words.parse_moment(session["ends_at"]), datetime.now(UTC))


def _own_url(visit: Visit) -> str:
    query = visit.request.url.query
    return f"{visit.path}?{query}" if query else visit.path
