"""The servers of a region, with the filters of the API."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from markupsafe import Markup

from services.pages.api import Json
from services.pages.parts.table import Choice, Column
from services.pages.views.listing import Listing
from services.pages.visit import Visit, link_markup, server_link, to_region, to_server

STATES = (("none", "up"), ("planned", "in maintenance"), ("unplanned", "down"))


def _columns(visit: Visit) -> list[Column]:
    region = visit.place("region")
    return [
        Column("name", "Server", lambda s: s["name"], lambda s: server_link(region, s["name"])),
        Column("msb", "MSB", lambda s: s["msb"]),
        Column("rack", "Rack", lambda s: s["rack"]),
        Column("type", "Hardware type", lambda s: s["hardware_type"]),
        _bound(region, "current", "In"),
        _bound(region, "target", "Target"),
        Column("in_use", "In use", lambda s: "yes" if s["in_use"] else "no"),
        Column("state", "State", lambda s: dict(STATES)[s["unavailability"]]),
        Column("waits", "Waits", _waits, lambda s: _waits_shown(region, s)),
        Column("why", "Reasons", lambda s: s["target_reservation"], lambda s: _why(region, s)),
    ]


def _why(region: str, server: Json) -> Markup:
    """Return the link to the reasons why a server is in its reservation, or why it is free."""
    name, target = server["name"], server["target_reservation"]
    if target is None:
        url, place = f"{to_server(region, name)}#why", "free"
    else:
        url = f"{to_region(region, 'reservations', target)}?{urlencode({'server': name})}#why"
        place = f"in {target}"
    return Markup('<a href="{}" aria-label="Why {} is {}">Why</a>').format(url, name, place)


def _bound(region: str, key: str, title: str) -> Column:
    def link(server: Json) -> object:
        name = server[f"{key}_reservation"]
        return None if name is None else link_markup(to_region(region, "reservations", name), name)

    return Column(key, title, lambda server: server[f"{key}_reservation"], link)


def _waits(server: Json) -> str | None:
    return None if server["waits"] is None else str(server["waits"].get("message") or "yes")


def _waits_shown(region: str, server: Json) -> Markup | None:
    """Return a short link to the page of moves, which says it once for all servers of a reservation."""
    message = _waits(server)
    if message is None:
        return None
    words = f"until {server['current_reservation']} can spare it"
    return Markup('<a href="{}#waits" title="{}">{}</a>').format(to_region(region, "moves"), message, words)


def _choices(visit: Visit, rows: Sequence[Json]) -> list[Choice]:
    return [Choice("unavailability", "State", STATES)]


SERVERS = Listing(
    noun="servers",
    section="servers",
    title="Servers",
    columns=_columns,
    filters=("current_reservation", "target_reservation", "msb", "rack", "hardware_type", "unavailability", "name"),
    choices=_choices,
    empty="This region has no server. `plimsoll import` brings servers in.",
)
