"""The catalogue of hardware types, and the form that sets what a server of one counts."""

from __future__ import annotations

from collections.abc import Mapping

from libs.domain.principal import Role
from services.pages.api import Json
from services.pages.form_fields import read_number
from services.pages.parts.changes import plain
from services.pages.parts.table import Column
from services.pages.parts.words import number, spaced
from services.pages.views.editor import REASON, Button, Editor, Input
from services.pages.views.listing import Listing
from services.pages.visit import Visit, segment


def _columns(visit: Visit) -> list[Column]:
    hint = "What one server counts toward quotas and approval limits"
    return [
        Column("name", "Hardware type", lambda h: h["name"]),
        Column("units", "Cost units", lambda h: h["cost_units"], _units, number=True, hint=hint),
        Column("attributes", "Attributes", _attributes),
    ]


def _units(one: Json) -> str:
    return "default" if one["cost_units"] is None else number(one["cost_units"])


def _attributes(one: Json) -> str:
    return ", ".join(f"{spaced(name).lower()} {plain(value)}" for name, value in sorted(one["attributes"].items()))


def _buttons(visit: Visit, one: Json) -> list[Button]:
    why_not = "" if visit.may(Role.OPERATOR) else "Operators set cost units. You have another role."
    default = "It counts the default already." if one["cost_units"] is None else ""
    return [
        Button("set", "Set the cost units", why_not=why_not),
        Button("default", "Use the default", "danger", why_not or default),
    ]


def _facts(visit: Visit, one: Json) -> list[tuple[str, object]]:
    units = "default: its mean worth over all classes, or 1" if one["cost_units"] is None else _units(one)
    return [("Cost units", units), ("Attributes", _attributes(one) or "none")]


def _inputs(one: Json) -> list[Input]:
    units = one["cost_units"]
    hint = "Of one server. Later decisions on requests use them."
    return [Input("cost_units", "New cost units", "" if units is None else f"{units:g}", hint, True), REASON]


def _send(visit: Visit, one: Json, act: str, form: Mapping[str, str]) -> None:
    units = read_number(form, "cost_units", needed=True) if act == "set" else None
    body = {"cost_units": units, "reason": form.get("reason", "").strip() or None}
    path = f"/v1/hardware-types/{segment(one['name'])}/cost-units"
    visit.api.send("PUT", path, body, generation=one["generation"])


HARDWARE_TYPES = Listing(
    noun="hardware-types",
    section="hardware-types",
    title="Hardware types",
    columns=_columns,
    order="name",
    intro="All regions share this catalogue.",
    empty="No hardware type is known. `plimsoll import` brings them in with servers.",
    editor=Editor(
        word=lambda h: "Change",
        key=lambda h: str(h["name"]),
        name=lambda h: str(h["name"]),
        read=lambda visit, name: visit.api.get(f"/v1/hardware-types/{segment(name)}"),
        facts=_facts,
        inputs=_inputs,
        buttons=_buttons,
        done={"set": "The cost units are set, in all regions.", "default": "It counts the default again."},
        send=_send,
    ),
)
