"""The capacity requests of a region, and their decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from markupsafe import Markup

from libs.domain.principal import Role
from services.pages.api import Json
from services.pages.parts.table import Choice, Column
from services.pages.parts.words import moment_markup, said, spaced
from services.pages.views.ask_subject import OPEN_PHASES
from services.pages.views.editor import REASON, Button, Editor
from services.pages.views.listing import Listing
from services.pages.visit import Visit, link_markup, to_region

_PHASES = ("submitted", "assessing", "awaiting_approval", "granted", "degraded", "rejected", "withdrawn")
_KINDS = {"granted": "good", "degraded": "warn", "rejected": "bad", "awaiting_approval": "info"}


def _columns(visit: Visit) -> list[Column]:
    region = visit.place("region")
    return [
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
    ]


def _badge(phase: str) -> Markup:
    return Markup('<span class="badge {}">{}</span>').format(_KINDS.get(phase, ""), spaced(phase))


def _choices(visit: Visit, rows: Sequence[Json]) -> list[Choice]:
    return [Choice("phase", "Decision", [(one, spaced(one)) for one in _PHASES])]


def _is_open(request: Json) -> bool:
    return request["status"]["phase"] in OPEN_PHASES


def _read(visit: Visit, number: str) -> Json:
    region = visit.place("region")
    detail = f"There is no request {number[:40]} in {region}. The page of requests lists them."
    return visit.api.get_one("/v1/capacity-requests", number, noun="request", detail=detail, region=region)


def _facts(visit: Visit, request: Json) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = [
        ("Asks to", request["kind"]),
        ("Decision", _badge(request["status"]["phase"])),
        ("Why", said(request["status"]["message"])),
    ]
    if _is_open(request) and request["spec"] is not None:
        url = f"{to_region(visit.place('region'), 'ask')}?{urlencode({'amend': request['capacity_request_id']})}"
        found.append(("Amend it", link_markup(url, "Ask for something else instead")))
    return found


def _buttons(visit: Visit, request: Json) -> list[Button]:
    why_not = "" if visit.may(Role.REQUESTER) else "Owners withdraw their requests. You have another role."
    decided = "" if _is_open(request) else "It is decided, so there is nothing to withdraw."
    return [Button("withdraw", "Withdraw it", "danger", decided or why_not)]


def _send(visit: Visit, request: Json, act: str, form: Mapping[str, str]) -> None:
    path = f"/v1/capacity-requests/{request['capacity_request_id']}"
    reason = form.get("reason", "").strip() or None
    visit.api.send("DELETE", path, generation=request["generation"], query={"reason": reason})


REQUESTS = Listing(
    noun="capacity-requests",
    section="requests",
    title="Requests",
    columns=_columns,
    filters=("phase", "reservation", "owner"),
    choices=_choices,
    empty="Nobody has asked for capacity here yet. Ask for capacity begins it.",
    editor=Editor(
        word=lambda request: "Change" if _is_open(request) else "",
        key=lambda request: str(request["capacity_request_id"]),
        name=lambda request: f"Request for {request['reservation']}",
        read=_read,
        facts=_facts,
        inputs=lambda request: [REASON],
        buttons=_buttons,
        done={"withdraw": "The request is withdrawn."},
        send=_send,
    ),
)
