"""The reservations of a region, and one of them: asked for, granted, target and held, its map, its past, and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.responses import Response

from services.pages.api import Json
from services.pages.parts.asked_lines import asked_lines
from services.pages.parts.pictures import Part, Series, bar_svg, legend, lines_svg
from services.pages.parts.place_map import reservation_map
from services.pages.parts.table import Choice, Column
from services.pages.parts.words import number, parse_moment, spaced
from services.pages.views.explanation import explained_when, explanation
from services.pages.views.listing import Listing, values_of_rows
from services.pages.views.missing_reservation import missing_reservation
from services.pages.views.return_reservation import asked_to_return, return_it
from services.pages.visit import Shown, Visit, link_markup, segment, to_region

PAST = timedelta(days=30)
_PHASES = ("granted", "degraded", "pending", "scheduled")
_KINDS = {"granted": "good", "degraded": "bad", "pending": "info", "scheduled": "", "deleted": ""}
_UNDER_WAY_MAX = 100
_DELETED_MAX = 1000
"""Most deleted reservations of one name among which the latest is looked for."""
_ASKS = ("explain", "server", "to", "type")
"""Parameters of the address that ask for an explanation."""


def badge_of(phase: str) -> Markup:
    """Return the badge of a reservation's phase."""
    return Markup('<span class="badge {}">{}</span>').format(_KINDS.get(phase, ""), spaced(phase))


def _columns(visit: Visit) -> list[Column]:
    region = visit.place("region")

    def status(row: Json, name: str) -> Any:
        return row["status"][name]

    return [
        Column("name", "Reservation", lambda r: r["name"], lambda r: link_markup(_path(region, r["name"]), r["name"])),
        Column("owner", "Owner", lambda r: r["owner"]),
        Column("phase", "Phase", lambda r: status(r, "phase"), lambda r: badge_of(status(r, "phase"))),
        Column(
            "promised",
            "Capacity RRU",
            lambda r: r["spec"]["capacity_rru"],
            number=True,
            hint="Asked for, and promised as far as it is granted",
        ),
        Column("target", "Target RRU", lambda r: status(r, "target_rru"), number=True, hint="Once all moves are done"),
        Column("held", "Held RRU", lambda r: status(r, "held_rru"), number=True, hint="Joined and up"),
        Column(
            "after",
            "Held after MSB loss",
            lambda r: status(r, "held_after_msb_loss_rru"),
            number=True,
            hint="Without its largest MSB",
        ),
        Column("short", "Short RRU", lambda r: status(r, "shortfall_rru"), number=True, hint="Of the targets"),
        Column(
            "ready",
            "Holds its capacity",
            lambda r: _condition(r, "Ready")["status"],
            _ready,
            hint="While a request waits, also what was granted of it",
        ),
    ]


def _choices(visit: Visit, rows: Sequence[Json]) -> list[Choice]:
    return [
        Choice("phase", "Phase", [(one, spaced(one)) for one in _PHASES]),
        Choice("short", "Short", [("true", "short"), ("false", "not short")]),
        Choice("kind", "Kind", [("guaranteed", "guaranteed"), ("shared_buffer", "shared buffer")]),
        values_of_rows("owner", "Owner", rows, visit),
    ]


RESERVATIONS = Listing(
    noun="reservations",
    section="reservations",
    title="Reservations",
    columns=_columns,
    filters=("phase", "owner", "short", "kind"),
    choices=_choices,
    empty="There is no reservation yet. Ask for the first one.",
    order="name",
    orders={
        "name": "name",
        "owner": "owner",
        "phase": "phase",
        "promised": "capacity_rru",
        "target": "target_rru",
        "held": "held_rru",
        "after": "held_after_msb_loss_rru",
        "short": "shortfall_rru",
        "ready": "ready",
    },
)


def show_reservation(visit: Visit) -> Shown | Response:
    """Show one reservation, or return it. Of a deleted one, show what is known of its past."""
    region, name = visit.place("region"), visit.place("name")
    found = visit.api.get("/v1/reservations", region=region, name=name)["items"] or _deleted(visit, region, name)
    if not found:
        raise missing_reservation(visit, region, name)
    path = f"/v1/reservations/{found[-1]['reservation_id']}"
    asks_why = visit.query.keys() & {"explain", "server"} and found[-1]["deleted_at"] is None
    explains = explained_when(visit) if asks_why else ""
    if visit.is_fragment and explains:
        return Shown(
            template="reservation_why.html",
            island="reservation_why.html",
            title=name,
            region=region,
            command=(),
            sources=[],
            values=_explained(visit, path),
        )
    trouble = ""
    if visit.form:
        requests_url = f"{to_region(region, 'requests')}?{urlencode({'reservation': name})}"
        answer = return_it(visit, path, requests_url)
        if isinstance(answer, Response):
            return answer
        trouble = answer
    row = visit.api.get(path)
    returns = asked_to_return(visit, row, trouble)
    counts_path = f"/v1/regions/{segment(region)}/server-counts"
    counts_url = f"{counts_path}?{urlencode({'reservation': name})}"
    places = visit.api.get(counts_path, reservation=name)["items"] if row["deleted_at"] is None else []
    past, under_way = visit.api.items(f"{path}/history", most=1000), visit.api.get(f"{path}/under-way")
    spec, status = row["spec"], row["status"]
    moves = visit.api.items("/v1/moves", region=region, status="running")
    moves = [move for move in moves if name in (move["from_reservation"], move["to_reservation"])]
    survives = spec["survives_msb_loss"]
    return Shown(
        template="reservation.html",
        title=name,
        region=region,
        section="reservations",
        command=("get", "reservations", name, "--where", f"region={region}"),
        sources=[path, *([counts_url] if row["deleted_at"] is None else ()), f"{path}/history", f"{path}/under-way"],
        live=not explains and not returns["open"],
        status=409 if trouble else 200,
        values={
            "row": row,
            "survived": _survived(spec),
            "phase": badge_of(status["phase"]),
            "granted": _condition(row, "Granted"),
            "waits": _waits(row),
            "ready": _condition(row, "Ready"),
            "booked": _condition(row, "Booked") if status["phase"] == "scheduled" else None,
            "map": reservation_map(
                places,
                spec["capacity_rru"],
                survives=survives,
                servers_url=partial(_servers_url, region, name),
                why_url=partial(_why_url, visit),
            )
            if places
            else None,
            "why_type": partial(_why_url, visit),
            "bar": _bar(row),
            "past": _past(past, visit.now, survives=survives),
            "under_way": under_way["message"],
            "moves": [{**one, "why": _why_of_move(visit, one)} for one in moves[:_UNDER_WAY_MAX]],
            "moves_more": len(moves) - _UNDER_WAY_MAX,
            "servers_url": f"{to_region(region, 'servers')}?{urlencode({'current_reservation': name})}",
            "arriving_url": f"{to_region(region, 'servers')}?{urlencode({'target_reservation': name})}",
            "explains": explains,
            "takes": "Solves without each constraint tell which of them decides.",
            "returns": returns,
            "server": visit.query.get("server", ""),
            "to": visit.query.get("to", ""),
            "type": visit.query.get("type", ""),
            "why_url": f"{visit.path}?{urlencode({key: visit.query[key] for key in _ASKS if key in visit.query})}",
            **(_explained(visit, path) if explains == "now" else {}),
        },
    )


def _deleted(visit: Visit, region: str, name: str) -> list[Json]:
    """Return the deleted reservations of this name, the latest last. Links of pages and of people outlive them."""
    return visit.api.items("/v1/reservations", most=_DELETED_MAX, region=region, name=name, phase="deleted")


def _explained(visit: Visit, path: str) -> Json:
    """Return the explanation that the URL asks for: of the reservation, or of a server with another place."""
    server, to, kind = (visit.query.get(key) for key in ("server", "to", "type"))
    found = explanation(visit, path, server=server, to=to if server else None)
    why = found["why"]
    return {**found, "of_type": None if why is None or kind is None or server else _of_type(why, kind)}


def _of_type(why: Json, kind: str) -> Json:
    """Return what an explanation says of a hardware type: its use, its places, and what decides about it."""
    use = next((one for one in why["types"] if one["hardware_type"] == kind), None)
    places = [one for one in why["holdings"] if one["hardware_type"] == kind and one["servers"]]
    deciders = [one for one in why["deciders"] if one["subject"] in (kind, None)]
    deciders = [one for one in deciders if one["subject"] == kind or _moves_type(one, kind)]
    return {"name": kind, "use": use, "places": places, "deciders": deciders}


def _moves_type(decider: Json, kind: str) -> bool:
    """Return whether the reservation would have other servers of this type without a decider."""
    outcomes = (decider["now"], decider["afresh"])
    return any(change["hardware_type"] == kind for one in outcomes if one for change in one["changes"])


def _servers_url(region: str, name: str, msb: str, kind: str) -> str:
    query = {"current_reservation": name, "msb": msb, "hardware_type": kind}
    return f"{to_region(region, 'servers')}?{urlencode(query)}"


def _why_of_move(visit: Visit, move: Json) -> str:
    """Return the address of the reasons for a move's server: to be here, or not to be here any more."""
    name = visit.place("name")
    asked = {"server": move["server"]} if move["to_reservation"] == name else {"server": move["server"], "to": name}
    return f"{visit.path}?{urlencode(asked)}#why"


def _why_url(visit: Visit, kind: str) -> str:
    return f"{visit.path}?{urlencode({'explain': 1, 'type': kind})}#why"


def _bar(row: Json) -> Json:
    status, promised = row["status"], row["spec"]["capacity_rru"]
    held, target, survived = status["held_rru"], status["target_rru"], _survived(row["spec"])
    left = [one["held_after_rru"] for one in status["held_after_further_losses"]]
    if row["spec"]["survives_msb_loss"]:
        left.append(status["held_after_msb_loss_rru"])
    after = min(left, default=held)
    parts = [
        Part(f"held, whichever {' or '.join(survived)} goes", "f3", after),
        Part("on its way", "f2", max(0.0, target - held)),
    ]
    if not survived:
        parts = [Part("held", "f3", held), Part("on its way", "f2", max(0.0, target - held))]
    missing = max(0.0, status["shortfall_rru"])
    if missing:
        parts.append(Part("short", "f5", missing))
    if survived:
        largest = "MSB" if survived == ["MSB"] else "domain"
        parts.append(Part(f"held, and lost with the largest {largest}", "f1", held - after))
    return {
        "svg": bar_svg("RRU", parts, whole=promised),
        "legend": legend(
            [
                *((part.colour, part.name) for part in parts),
                ("f6", f"mark: {'promised' if status['granted_rru'] >= promised else 'asked for'}"),
            ]
        ),
    }


def _survived(spec: Json) -> list[str]:
    """Return the kinds of domain of which any one may be lost, for people."""
    return [*(["MSB"] if spec["survives_msb_loss"] else []), *(spaced(one).lower() for one in spec["survives_loss_of"])]


def _past(intervals: list[Json], now: datetime, *, survives: bool) -> Markup | None:
    """Return what it asked for, was granted and held over the last 30 days; None if that is not known."""
    shown = [one for one in reversed(intervals) if parse_moment(one["until_at"]) > now - PAST]
    if not shown:
        return None
    field = "held_after_msb_loss_rru" if survives else "held_rru"
    times = [parse_moment(one["from_at"]) for one in shown] + [parse_moment(shown[-1]["until_at"])]
    if times[-1] <= times[0]:
        return None
    rows, held = [*shown, shown[-1]], "held" + (" after MSB loss" if survives else "")
    lines, words = asked_lines(rows)
    lines.append(Series(held, "l1", [one[field] for one in rows]))
    return legend([*words, ("f1", held)]) + lines_svg("Asked for and held, RRU", times, lines)


def _condition(row: Json, kind: str) -> Json:
    found: Json = next(one for one in row["status"]["conditions"] if one["type"] == kind)
    return found


def _ready(row: Json) -> Markup:
    condition = _condition(row, "Ready")
    kind = {"True": "good", "False": "warn"}.get(condition["status"], "")
    kind = "bad" if condition["reason"] == "CapacityLost" else kind
    badge = Markup('<span class="badge {}" title="{}">{}</span>').format(
        kind, condition["message"], spaced(condition["reason"])
    )
    granted, asked = row["status"]["granted_rru"], row["spec"]["capacity_rru"]
    return badge + (f" {number(granted)} of {number(asked)} granted" if _waits(row) else "")


def _waits(row: Json) -> bool:
    """Return whether a request of it waits for more. Less is granted also of one that has not begun or was deleted."""
    status = row["status"]
    has_all: bool = status["granted_rru"] >= row["spec"]["capacity_rru"]
    return not has_all and status["phase"] not in ("scheduled", "deleted")


def _path(region: str, name: str) -> str:
    return to_region(region, "reservations", name)
