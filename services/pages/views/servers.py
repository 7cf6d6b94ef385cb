"""The servers of a region, with the filters of the API."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from services.pages.api import Json
from services.pages.parts.table import Choice, Column, Table
from services.pages.parts.words import spaced
from services.pages.visit import Shown, Visit, link_markup, to_region

_FILTERS = ("current_reservation", "target_reservation", "msb", "rack", "hardware_type", "unavailability", "name")
_STATES = (("none", "up"), ("planned", "in maintenance"), ("unplanned", "down"))


def show_servers(visit: Visit) -> Shown:
    """Show the servers that pass the filters."""
    region = visit.place("region")
    query: dict[str, Any] = {key: visit.query[key] for key in _FILTERS if key in visit.query}
    rows = visit.api.items("/v1/servers", region=region, **query)
    filters = ", ".join(f"{spaced(key).lower()} {value}" for key, value in query.items())
    table = Table(
        name="servers",
        caption=f"Servers of {region}",
        columns=[
            Column("name", "Server", lambda s: s["name"]),
            Column("msb", "MSB", lambda s: s["msb"]),
            Column("rack", "Rack", lambda s: s["rack"]),
            Column("type", "Hardware type", lambda s: s["hardware_type"]),
            _bound(region, "current", "In"),
            _bound(region, "target", "Target"),
            Column("in_use", "In use", lambda s: "yes" if s["in_use"] else "no"),
            Column("state", "State", lambda s: dict(_STATES)[s["unavailability"]]),
            Column("waits", "Waits", lambda s: _waits(s)),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        choices=[Choice("unavailability", "State", _STATES)],
        empty="This region has no server. `plimsoll import` brings servers in.",
        cut="These are the first 1,000 servers: filter by MSB, hardware type or reservation to see others."
        if len(rows) == 1000
        else "",
    )
    where = " ".join(f"--where {key}={value}" for key, value in query.items())
    return Shown(
        template="table.html",
        title="Servers",
        region=region,
        section="servers",
        command=f"plimsoll get servers --where region={region} {where}".strip(),
        sources=[f"/v1/servers?{urlencode({'region': region, **query})}"],
        table=table,
        live=True,
        values={"note": f"Only servers with {filters}." if filters else ""},
    )


def _bound(region: str, key: str, title: str) -> Column:
    def link(server: Json) -> object:
        name = server[f"{key}_reservation"]
        return None if name is None else link_markup(to_region(region, "reservations", name), name)

    return Column(key, title, lambda server: server[f"{key}_reservation"], link)


def _waits(server: Json) -> str | None:
    return None if server["waits"] is None else str(server["waits"].get("message") or "yes")
