"""Buffers and failures of a region: what the next loss would do, what is spare, what failed, and what is maintained."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from libs.domain.page import ITEMS_MAX
from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json, Part
from services.pages.views import failure_tables as tables
from services.pages.visit import Shown, Visit, segment

LATELY_H = 24
"""Hours that count as lately for replacements."""
_EVENTS_MAX = ITEMS_MAX
"""Open events of a kind that the page reads. A link leads to further ones."""
_REFUSED_FOR = timedelta(days=7)
_SCOPES = ("server", "rack", "msb", "datacenter")
"""The scopes of maintenance in every region. Its further kinds of domain follow them."""
_ANSWERED = (404, 409, 422, 429)


def show_failures(visit: Visit) -> Shown:
    """Show the page; with a scope and a place in the URL, also what maintenance of it would be answered."""
    region = visit.place("region")
    path = f"/v1/regions/{segment(region)}"
    kind = visit.query.get("kind") or "msb"
    losses = visit.api.get(f"{path}/domain-losses", kind=kind, named_max=tables.NAMED_MAX, limit=ITEMS_MAX)
    replaced = visit.api.get(f"{path}/replacements", hours=LATELY_H)
    failed = _open(visit, region, "unplanned", "failures.after")
    planned = _open(visit, region, "planned", "maintenance.after")
    refused = visit.api.items(
        "/v1/unavailability-events",
        region=region,
        state="refused",
        ended_after=(visit.now - _REFUSED_FOR).isoformat(),
    )
    buffers = visit.api.items("/v1/reservations", region=region, kind="shared_buffer")
    loans = visit.api.items("/v1/loans", region=region)
    main = tables.of_losses(visit, region, losses)
    spare = tables.of_buffers(visit, region, [{**one, "lent": _lent(one, loans)} for one in buffers])
    down = tables.of_failures(visit, region, failed)
    past = tables.of_replacements(visit, region, replaced)
    maintenance = tables.of_maintenance(visit, region, planned, list(reversed(refused)))
    return Shown(
        template="failures.html",
        title="Buffers and failures",
        region=region,
        section="failures",
        command=("get", "unavailability-events", "--where", f"region={region}", "--where", "open=true"),
        sources=[
            f"{path}/domain-losses?{urlencode({'kind': kind})}",
            f"{path}/replacements?hours={LATELY_H}",
            f"/v1/unavailability-events?{urlencode({'region': region, 'open': 'true'})}",
            f"/v1/reservations?{urlencode({'region': region, 'kind': 'shared_buffer'})}",
            f"/v1/loans?{urlencode({'region': region})}",
        ],
        table=main,
        tables=[spare, down, past, maintenance],
        live="place" not in visit.query,
        values={
            "losses": main,
            "buffers": spare,
            "failures": down,
            "replacements": past,
            "maintenance": maintenance,
            "replaced": replaced,
            "lately_h": LATELY_H,
            "kind": kind,
            "kind_words": tables.kind_words(kind),
            "kinds": [(one, tables.kind_words(one)) for one in losses["kinds"]],
            "down": losses["down"],
            "servers": losses["servers"],
            "breaking": losses["domains_breaking"],
            "domains": losses["domains"],
            "wanted": sum(one["spec"]["capacity_rru"] for one in buffers),
            "there": sum(one["status"]["held_rru"] for one in buffers),
            "lent": len(loans),
            "waiting": sum(one["state"] in ("queued", "awaiting_approval") for one in planned.items),
            "underway": sum(one["state"] == "allowed" for one in planned.items),
            "planned_cut": planned.next_cursor is not None or "maintenance.after" in visit.query,
            **_foreseen(visit, region, losses["kinds"]),
        },
    )


def _open(visit: Visit, region: str, kind: str, after: str) -> Part:
    """Return the open events of a kind, from the cursor in the URL on."""
    query = {"region": region, "open": "true", "kind": kind}
    return visit.api.part("/v1/unavailability-events", most=_EVENTS_MAX, cursor=visit.query.get(after), **query)


def _lent(buffer: Json, loans: list[Json]) -> int:
    """Return how many servers of a buffer are lent to others now."""
    return sum(one["home"] == buffer["name"] for one in loans)


def _foreseen(visit: Visit, region: str, kinds: Sequence[str]) -> dict[str, Any]:
    """Return what maintenance of the place in the URL would be answered now. Nothing is written."""
    scope, place = visit.query.get("scope", "rack"), visit.query.get("place", "").strip()
    scopes = [(one, tables.kind_words(one)) for one in (*_SCOPES, *(kind for kind in kinds if kind not in _SCOPES))]
    values: dict[str, Any] = {"scopes": scopes, "scope": scope, "place": place, "answer": None, "refused": ""}
    values["may"] = visit.may(Role.HEALTH)
    if not place:
        return values
    body = {"region": region, "scope": scope, "scope_name": place, "kind": "planned", "reason": "preview"}
    try:
        values["answer"] = visit.api.send("POST", "/v1/unavailability-events", body, dry_run=True)
    except ApiProblem as problem:
        if problem.status not in (*_ANSWERED, 403):
            raise
        values["refused"] = " ".join([problem.detail, *problem.fields.values()])
    return values
