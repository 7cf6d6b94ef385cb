"""One server: its place, its bindings, and why it is free or in its reservation."""

from __future__ import annotations

from urllib.parse import urlencode

from services.pages.api import ApiProblem, Json
from services.pages.views.explanation import explained_when, explanation
from services.pages.views.servers import STATES
from services.pages.visit import Shown, Visit, to_server


def show_server(visit: Visit) -> Shown:
    """Show one server, and the effect of each of its best other places."""
    region, name, to = visit.place("region"), visit.place("name"), visit.query.get("to")
    found = visit.api.get("/v1/servers", region=region, name=name)["items"]
    if not found:
        detail = f"There is no server {name} in {region}. It may have left the fleet, or have another name."
        raise ApiProblem(404, {"title": "There is no such server", "detail": detail, "code": "not_found"})
    server: Json = found[0]
    path = f"/v1/servers/{server['server_id']}"
    part = "reservation_why.html"
    if visit.is_fragment:
        values = explanation(visit, path, to=to)
        return Shown(template=part, island=part, title=name, region=region, command=(), sources=[], values=values)
    explains, asked = explained_when(visit), {"to": to} if to else {}
    return Shown(
        template="server.html",
        title=name,
        region=region,
        section="servers",
        command=("explain", "--region", region, "--server", name, *(("--to", to) if to else ())),
        sources=[path, f"{path}/explain" + (f"?{urlencode(asked)}" if asked else "")],
        values={
            "server": server,
            "state": dict(STATES)[server["unavailability"]],
            "to": to or "",
            "explains": explains,
            "takes": "The region is judged with the server in each of its best other places.",
            "why_url": to_server(region, name) + (f"?{urlencode(asked)}" if asked else "?why=1"),
            **(explanation(visit, path, to=to) if explains == "now" else {}),
        },
    )
