"""The quotas of a region with their use, and the form that sets or removes a limit."""

from __future__ import annotations

from collections.abc import Mapping

from libs.domain.principal import Role
from services.pages.api import Json
from services.pages.form_fields import read_number
from services.pages.parts.table import Column
from services.pages.parts.words import count, percent
from services.pages.views.editor import REASON, Button, Editor, Input
from services.pages.views.listing import Listing
from services.pages.visit import Visit, segment


def _columns(visit: Visit) -> list[Column]:
    return [
        Column("owner", "Owner", lambda q: q["owner"]),
        Column("limit", "Limit", lambda q: q["limit_cost_units"], number=True, hint="In cost units"),
        Column("used", "Used", lambda q: q["used_cost_units"], number=True, hint="The most that its reservations hold"),
        Column("share", "Of the limit", _share, lambda q: percent(_share(q)), number=True),
        Column("pending", "Pending", lambda q: q["pending_cost_units"], number=True, hint="Undecided requests add it"),
    ]


def _share(quota: Json) -> float | None:
    limit: float | None = quota["limit_cost_units"]
    return float(quota["used_cost_units"]) / limit if limit else None


def _buttons(visit: Visit, quota: Json) -> list[Button]:
    why_not = "" if visit.may(Role.OPERATOR) else "Operators set quotas. You have another role."
    none = "There is no limit to remove." if quota["limit_cost_units"] is None else ""
    return [
        Button("set", "Set the limit", why_not=why_not),
        Button("remove", "Remove the limit", "danger", why_not or none),
    ]


def _facts(visit: Visit, quota: Json) -> list[tuple[str, object]]:
    limit = quota["limit_cost_units"]
    return [
        ("Limit", "none" if limit is None else count(limit, "cost unit")),
        ("Used", count(quota["used_cost_units"], "cost unit")),
        ("Pending", count(quota["pending_cost_units"], "cost unit")),
    ]


def _inputs(quota: Json) -> list[Input]:
    limit = quota["limit_cost_units"]
    hint = "In cost units. A limit below the present use removes nothing."
    return [Input("limit_cost_units", "New limit", "" if limit is None else f"{limit:g}", hint, True), REASON]


def _path(visit: Visit, owner: str) -> str:
    return f"/v1/quotas/{segment(visit.place('region'))}/{segment(owner)}"


def _send(visit: Visit, quota: Json, act: str, form: Mapping[str, str]) -> None:
    path, reason = _path(visit, quota["owner"]), form.get("reason", "").strip() or None
    if act == "remove":
        visit.api.send("DELETE", path, generation=quota["generation"], query={"reason": reason})
        return
    body = {"limit_cost_units": read_number(form, "limit_cost_units", needed=True), "reason": reason}
    visit.api.send("PUT", path, body, generation=quota["generation"])


QUOTAS = Listing(
    noun="quotas",
    section="quotas",
    title="Quotas",
    columns=_columns,
    order="owner",
    intro="A quota limits the cost units that an owner may come to hold. Owners without one have no limit.",
    empty="No owner has a limit here. Open the quota of an owner above to set one.",
    editor=Editor(
        word=lambda q: "Change",
        key=lambda q: str(q["owner"]),
        name=lambda q: f"Quota of {q['owner']}",
        read=lambda visit, owner: visit.api.get(_path(visit, owner)),
        facts=_facts,
        inputs=_inputs,
        buttons=_buttons,
        done={"set": "The limit is set. Later decisions apply it.", "remove": "The limit is removed."},
        send=_send,
        ask="Quota of the owner",
    ),
)
