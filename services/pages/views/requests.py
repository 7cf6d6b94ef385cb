"""The capacity requests of a region, and their decisions."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from services.pages.parts.table import Choice, Column, Table
from services.pages.parts.words import moment_markup, said, spaced
from services.pages.visit import Shown, Visit, link_markup, to_region

_PHASES = ("submitted", "assessing", "awaiting_approval", "granted", "degraded", "rejected", "withdrawn")
_KINDS = {"granted": "good", "degraded": "warn", "rejected": "bad", "awaiting_approval": "info"}
_MOST = 1000


def show_requests(visit: Visit) -> Shown:
    """Show the requests of a region, the newest first."""
    region = visit.place("region")
    query: dict[str, Any] = {key: visit.query[key] for key in ("phase", "reservation", "owner") if key in visit.query}
    rows = visit.api.items("/v1/capacity-requests", most=_MOST, region=region, **query)
    rows.sort(key=lambda row: row["created_at"], reverse=True)
    table = Table(
        name="requests",
        caption=f"Capacity requests of {region}",
        columns=[
            Column(
                "reservation",
                "Reservation",
                lambda r: r["reservation"],
                lambda r: link_markup(to_region(region, "reservations", r["reservation"]), r["reservation"]),
            ),
            Column("kind", "Asks to", lambda r: r["kind"]),
            Column("owner", "Owner", lambda r: r["owner"]),
            Column("rru", "RRU", lambda r: None if r["spec"] is None else r["spec"]["capacity_rru"], number=True),
            Column("phase", "Decision", lambda r: r["status"]["phase"], lambda r: _badge(r["status"]["phase"])),
            Column("message", "Why", lambda r: r["status"]["message"], lambda r: said(r["status"]["message"])),
            Column("by", "Asked by", lambda r: r["requested_by"]),
            Column("at", "Asked", lambda r: r["created_at"], lambda r: moment_markup(r["created_at"], visit.now)),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        choices=[Choice("phase", "Decision", [(one, spaced(one)) for one in _PHASES])],
        empty="Nobody has asked for capacity here yet. Ask for capacity begins it.",
        cut="These are the first 1,000 requests: filter to see others." if len(rows) == _MOST else "",
    )
    where = " ".join(f"--where {key}={value}" for key, value in query.items())
    return Shown(
        template="table.html",
        title="Requests",
        region=region,
        section="requests",
        command=f"plimsoll get capacity-requests --where region={region} {where}".strip(),
        sources=[f"/v1/capacity-requests?{urlencode({'region': region, **query})}"],
        table=table,
        live=True,
        values={"note": f"Only requests for {query['reservation']}." if "reservation" in query else ""},
    )


def _badge(phase: str) -> Markup:
    return Markup('<span class="badge {}">{}</span>').format(_KINDS.get(phase, ""), spaced(phase))
