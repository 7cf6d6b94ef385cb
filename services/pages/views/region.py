"""Regions, and one region at a glance: what is amiss, what waits, and a map of its servers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from services.pages.api import Json
from services.pages.parts.approval_names import name_of
from services.pages.parts.place_map import MODES, region_map
from services.pages.parts.table import Column, Table
from services.pages.parts.uplinks import uplink_bar, uplink_legend
from services.pages.parts.words import count, kilowatts, number, percent, spaced
from services.pages.views.region_past import RANGES, days_of, past_of
from services.pages.visit import Shown, Visit, segment, to_region

_NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that needs attention: how bad it is, its word, a sentence, and the page behind it."""

    kind: str
    word: str
    sentence: str
    href: str = ""
    action: str = ""


def show_first(visit: Visit) -> Response:
    """Lead to the one region, or to the list."""
    names = [region["name"] for region in visit.regions]
    return RedirectResponse(to_region(names[0]) if len(names) == 1 else "/regions", 303)


def show_regions(visit: Visit) -> Shown:
    """Show all regions with what is amiss in each."""
    rows = [
        {"region": one, "summary": visit.api.get(f"/v1/regions/{segment(one['name'])}/summary")}
        for one in visit.regions
    ]
    return Shown(
        template="regions.html",
        title="Regions",
        section="regions",
        command=("get", "regions"),
        sources=["/v1/regions"],
        live=True,
        values={"rows": rows, "amiss": _amiss},
    )


def show_region(visit: Visit) -> Shown:
    """Show one region."""
    name = visit.place("region")
    path = f"/v1/regions/{segment(name)}"
    past, days = past_of(visit, path) if "past" in visit.query else ({}, None)
    if past and visit.is_fragment:
        island = "region_past.html"
        return Shown(template=island, island=island, title=name, command=(), sources=(), values=past)
    region, summary = visit.api.get(path), visit.api.get(f"{path}/summary", places="true")
    power, uplinks = visit.api.get(f"{path}/power"), visit.api.get(f"{path}/uplinks", limits="false")
    powered, sending = _powered(visit, power), _sending(visit, uplinks)
    places = summary["places"]
    mode = visit.query.get("show", "bound")
    mode = mode if mode in MODES else "bound"
    return Shown(
        template="region.html",
        title=f"Region {name}",
        region=name,
        section="",
        command=("status", name),
        sources=[
            path,
            f"{path}/summary?places=true",
            f"{path}/power",
            f"{path}/uplinks?limits=false",
            f"{path}/history?days={days_of(visit)}",
        ],
        live=not past,
        table=(types := _types(visit, summary)),
        tables=[*([days] if days is not None else ()), powered, sending],
        values={
            **past,
            "past": bool(past),
            "ranges": RANGES,
            "days": days_of(visit),
            "summary": summary,
            "findings": _findings(visit, region, summary),
            "map": region_map(places, mode, partial(_servers_url, name)) if places else None,
            "modes": MODES,
            "mode": mode,
            "types": types,
            "power": power,
            "powered": powered if any(one["full_w"] for one in power["domains"]) else None,
            "uplinks": uplinks,
            "sending": sending if uplinks["racks_limited"] else None,
            "uplink_legend": uplink_legend(),
            "free": sum(one["free"] for one in summary["hardware_types"]),
            "to_move": sum(one["to_move"] for one in summary["hardware_types"]),
            "servers": sum(one["servers"] for one in summary["hardware_types"]),
            "down": sum(one["unavailable"] for one in summary["hardware_types"]),
        },
    )


def _servers_url(region: str, msb: str, hardware_type: str) -> str:
    return f"{to_region(region, 'servers')}?{urlencode({'msb': msb, 'hardware_type': hardware_type})}"


def _more_about(region: str, condition: str) -> tuple[str, str]:
    """Return the page that tells more of a condition, and the words of the link; "" if there is none."""
    return (to_region(region, "rollouts"), "Open") if condition == "PolicyRollout" else ("", "")


def _findings(visit: Visit, region: Json, summary: Json) -> list[Finding]:
    """Return what is amiss or waits, worst first."""
    name = region["name"]
    found = [
        Finding("bad", spaced(one["reason"]), one["message"], *_more_about(name, one["type"]))
        for one in region["conditions"]
        if one["status"] == "False"
    ]
    short = summary["short"][:_NAMED_MAX]
    for one in short:
        missing = f"{number(one['shortfall_rru'])} RRU short of {number(one['capacity_rru'])}"
        said = f"{one['name']} is {missing}. {one['message'] or ''}".strip()
        found.append(Finding("bad", "Short", said, to_region(name, "reservations", one["name"]), "Open"))
    more = summary["degraded"] - len(short)
    if more > 0:
        found.append(
            Finding("bad", "Short", f"{count(more, 'further reservation is', 'further reservations are')} short.")
        )
    letters = visit.api.get("/v1/moves", region=name, dead_letter="open", limit=_NAMED_MAX)["items"]
    for move in letters:
        step = spaced(move["step"]).lower()
        said = f"The move of {move['server']} failed for good at {step}: {move['note'] or 'no note'}"
        found.append(Finding("bad", "Move failed", said))
    pending = visit.api.items("/v1/approvals", region=name, status="pending", most=1000)
    if pending:
        what = ", ".join(name_of(one) for one in pending[:_NAMED_MAX])
        rest = f" and {number(len(pending) - _NAMED_MAX)} more" if len(pending) > _NAMED_MAX else ""
        wait = "waits for a decision" if len(pending) == 1 else "wait for a decision"
        sentence = f"{count(len(pending), 'change')} {wait}: {what}{rest}."
        found.append(Finding("warn", "Waits for you", sentence, to_region(name, "approvals"), "Decide"))
    readiness = summary["readiness"]
    if readiness is not None and readiness["capacity_lost"]:
        lost = readiness["capacity_lost"]
        less = "holds less than its promise" if lost == 1 else "hold less than their promises"
        said = f"{count(lost, 'reservation')} lost servers and {less}."
        found.append(Finding("warn", "Capacity lost", said))
    if readiness is not None and readiness["not_there_yet"]:
        lot = readiness["not_there_yet"]
        said = f"{count(lot, 'new or changed reservation is', 'new or changed reservations are')} not there yet."
        found.append(Finding("info", "On the way", said))
    found += [
        Finding("info", spaced(one["reason"]), one["message"])
        for one in region["conditions"]
        if one["status"] == "Unknown" or one["reason"] == "Simulated"
    ]
    return found


def _amiss(row: Json) -> str:
    parts = [c["reason"] for c in row["region"]["conditions"] if c["status"] == "False"]
    if row["summary"]["degraded"]:
        parts.append(f"{row['summary']['degraded']} short")
    return ", ".join(spaced(part) for part in parts)


def _powered(visit: Visit, power: Json) -> Table:
    def kw(key: str, title: str, hint: str = "") -> Column:
        return Column(key, title, lambda row: kilowatts(row[key]), number=True, hint=hint)

    def share(row: Json) -> float:
        most = row["allowed_w"] or row["full_w"]
        return max(row["current_w"], row["target_w"]) / most if most else 0.0

    return Table(
        name="power",
        caption="kW by domain",
        columns=[
            Column("domain", "Domain", lambda row: row["domain"]),
            Column("kind", "Kind", lambda row: row["kind"]),
            kw("current_w", "Now, kW", "By current bindings"),
            kw("target_w", "Planned, kW", "Once all servers are where their targets say"),
            kw("full_w", "In full, kW", "All of its servers in full"),
            kw("limit_w", "Limit, kW"),
            Column("headroom", "Headroom", lambda row: row["headroom"], show=lambda row: _percent(row["headroom"])),
            Column("used", "Used", share, show=lambda row: percent(share(row)), hint="Of the limit less headroom"),
        ],
        rows=power["domains"],
        path=visit.path,
        query=visit.query,
        empty="No domain draws power.",
        searched=False,
        key="power",
    )


def _sending(visit: Visit, uplinks: Json) -> Table:
    """Return the racks that send most against the limits of their uplinks."""

    def gbit(key: str, title: str, hint: str = "") -> Column:
        return Column(key, title, lambda row: row[key], number=True, hint=hint)

    def share(row: Json) -> float:
        return float(row["target_gbit"] / row["limit_gbit"])

    rows = uplinks["fullest"]
    return Table(
        name="uplinks",
        caption="Gbit/s by rack",
        columns=[
            Column("rack", "Rack", lambda row: row["rack"]),
            gbit("current_gbit", "Now", "By current bindings"),
            gbit("target_gbit", "Planned", "Once all servers are where their targets say"),
            gbit("limit_gbit", "Limit"),
            Column(
                "used", "Used", share, show=lambda row: percent(share(row)), number=True, hint="Planned, of the limit"
            ),
            Column("bar", "Planned", share, lambda row: uplink_bar(row["target_gbit"], row["limit_gbit"])),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        empty="No rack has a limit.",
        cut=f"These send most against their limits, of {count(uplinks['racks_limited'], 'rack')} with one."
        if uplinks["racks_limited"] > len(rows)
        else "",
        searched=False,
        key="uplinks",
        command=("uplinks", "show", visit.place("region")),
    )


def _percent(value: float | None) -> str:
    return "" if value is None else percent(value)


def _types(visit: Visit, summary: Json) -> Table:
    def column(key: str, title: str, hint: str = "") -> Column:
        return Column(key, title, lambda row: row[key], number=True, hint=hint)

    return Table(
        name="hardware-types",
        caption="Servers by hardware type",
        columns=[
            Column("hardware_type", "Hardware type", lambda row: row["hardware_type"]),
            column("servers", "Servers"),
            column("bound", "Bound", "To a reservation, by target"),
            column("free", "Free", "Bound to none, up, and not leaving"),
            column("in_use", "In use", "Running containers"),
            column("to_move", "To move", "Not yet where their target is"),
            column("unavailable", "Down"),
            column("in_maintenance", "Maintenance"),
        ],
        rows=summary["hardware_types"],
        path=visit.path,
        query=visit.query,
        empty="This region has no server. `plimsoll import` brings servers in.",
        searched=False,
    )
