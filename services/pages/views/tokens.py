"""Tokens with their roles and owners, and the form that revokes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from libs.domain.principal import Role
from services.pages.api import Json
from services.pages.parts.table import Choice, Column
from services.pages.parts.words import moment_markup
from services.pages.views.editor import Button, Editor
from services.pages.views.listing import Listing
from services.pages.visit import Visit, segment


def _columns(visit: Visit) -> list[Column]:
    return [
        Column("name", "Token", lambda t: t["name"]),
        Column("role", "Role", lambda t: t["role"]),
        Column("owners", "Owners", _owners),
        Column("person", "Person", lambda t: t["person"]),
        Column("state", "State", lambda t: "revoked" if t["revoked_at"] else "open", _state),
        Column("created", "Made", lambda t: t["created_at"], lambda t: moment_markup(t["created_at"], visit.now)),
        Column("revoked", "Revoked", lambda t: t["revoked_at"], lambda t: _at(visit, t["revoked_at"])),
        Column(
            "previous", "Old secret until", lambda t: t["previous_until"], lambda t: _at(visit, t["previous_until"])
        ),
    ]


def _owners(token: Json) -> str:
    return ", ".join(token["owners"])


def _state(token: Json) -> Markup:
    revoked = token["revoked_at"] is not None
    return Markup('<span class="badge {}">{}</span>').format(*(("", "Revoked") if revoked else ("good", "Open")))


def _at(visit: Visit, moment: str | None) -> Markup | None:
    return None if moment is None else moment_markup(moment, visit.now)


def _choices(visit: Visit, rows: Sequence[Json]) -> list[Choice]:
    return [
        Choice("role", "Role", [(role.value, role.value) for role in Role]),
        Choice("revoked", "State", [("false", "open"), ("true", "revoked")]),
    ]


def _buttons(visit: Visit, token: Json) -> list[Button]:
    why_not = ""
    if not visit.may(Role.ADMIN):
        why_not = "Admins revoke tokens. You have another role."
    elif token["revoked_at"] is not None:
        why_not = "It is revoked already."
    elif token["token_id"] == visit.who["token_id"]:
        why_not = "You are using it. Another admin can revoke it."
    return [Button("revoke", "Revoke it", "danger", why_not)]


def _facts(visit: Visit, token: Json) -> list[tuple[str, object]]:
    return [
        ("Role", token["role"]),
        ("Owners", _owners(token) or "–"),
        ("Person", token["person"] or "stands for itself"),
        ("Made", moment_markup(token["created_at"], visit.now)),
        ("Revoked", moment_markup(token["revoked_at"], visit.now) if token["revoked_at"] else "no"),
    ]


def _revoke(visit: Visit, token: Json, act: str, form: Mapping[str, str]) -> None:
    visit.api.send("DELETE", f"/v1/tokens/{token['token_id']}")


TOKENS = Listing(
    noun="tokens",
    section="tokens",
    title="Tokens",
    columns=_columns,
    filters=("role", "revoked"),
    choices=_choices,
    order="name",
    intro="`plimsoll token create NAME --role ROLE` makes a token, and prints its secret once. No name is given twice.",
    empty="There is no token. `plimsoll token create NAME --role ROLE` makes one.",
    editor=Editor(
        word=lambda t: "Show" if t["revoked_at"] else "Revoke",
        key=lambda t: str(t["token_id"]),
        name=lambda t: str(t["name"]),
        read=lambda visit, key: visit.api.get(f"/v1/tokens/{segment(key)}"),
        facts=_facts,
        inputs=lambda token: (),
        buttons=_buttons,
        done={"revoke": "It is revoked: it opens nothing any more."},
        send=_revoke,
    ),
)
