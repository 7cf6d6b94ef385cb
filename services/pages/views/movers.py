"""The movers of all regions with their bounds, and the form that pauses or resumes one."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from libs.domain.principal import Role
from services.pages.api import Json
from services.pages.parts.table import Column
from services.pages.parts.words import duration, moment_markup, number, percent
from services.pages.views.editor import REASON, Button, Editor
from services.pages.views.listing import Listing
from services.pages.visit import Visit, link_markup, segment, to_region


def _columns(visit: Visit) -> list[Column]:
    return [
        Column("region", "Region", lambda m: m["region"], lambda m: link_markup(to_region(m["region"]), m["region"])),
        Column("state", "State", _word, _state),
        Column("since", "Paused since", lambda m: m["paused_at"], lambda m: moment_markup(m["paused_at"], visit.now)),
        Column("reason", "Reason", lambda m: m["paused_reason"]),
        _bound("moves_max", "Moves at a time", number),
        _bound("msb_moves_max", "In one MSB", number, "Moves at a time in one MSB"),
        _bound("msb_share_max", "Share of an MSB", percent, "Servers of an MSB that may leave at a time"),
        _bound("msb_starts_per_minute", "Starts a minute", number, "Moves that start in one MSB in any minute"),
        _bound("loan_s_max", "Longest loan", duration),
    ]


def _bound(key: str, title: str, words: object, hint: str = "") -> Column:
    assert callable(words)
    return Column(
        key, title, lambda m: m[key], lambda m: words(m[key]) if m[key] is not None else "default", True, hint
    )


def _word(mover: Json) -> str:
    if mover["paused_at"] is not None:
        return "paused"
    return "actuator silent" if mover["actuator_probe_at"] is not None else "moving"


def _state(mover: Json) -> Markup:
    word = _word(mover)
    kind = {"paused": "warn", "moving": "good", "actuator silent": "bad"}[word]
    return Markup('<span class="badge {}">{}</span>').format(kind, word.capitalize())


def _buttons(visit: Visit, mover: Json) -> list[Button]:
    why_not = "" if visit.may(Role.OPERATOR) else "Operators pause and resume movers. You have another role."
    if mover["paused_at"] is None:
        return [Button("pause", "Pause", "danger", why_not)]
    return [Button("resume", "Resume", why_not=why_not)]


def _facts(visit: Visit, mover: Json) -> list[tuple[str, object]]:
    facts: list[tuple[str, object]] = [("State", _state(mover))]
    if mover["paused_at"] is not None:
        facts += [("Since", moment_markup(mover["paused_at"], visit.now)), ("Paused because", mover["paused_reason"])]
    if mover["actuator_probe_at"] is not None:
        facts.append(("Actuator asked again", moment_markup(mover["actuator_probe_at"], visit.now)))
    return facts


def _send(visit: Visit, mover: Json, act: str, form: Mapping[str, str]) -> None:
    body = {"reason": form.get("reason", "").strip()}
    visit.api.send("POST", f"/v1/movers/{segment(mover['region'])}/{act}", body)


MOVERS = Listing(
    noun="movers",
    section="movers",
    title="Movers",
    columns=_columns,
    order="region",
    intro="Paused, no move starts and no step begins; steps under way end. `plimsoll mover REGION` sets the bounds.",
    empty="There is no region yet, so there is no mover. `plimsoll import` makes a region.",
    editor=Editor(
        word=lambda m: "Pause" if m["paused_at"] is None else "Resume",
        key=lambda m: str(m["region"]),
        name=lambda m: f"Mover of {m['region']}",
        read=lambda visit, region: visit.api.get(f"/v1/movers/{segment(region)}"),
        facts=_facts,
        inputs=lambda mover: [REASON],
        buttons=_buttons,
        done={"pause": "It is paused. Steps under way end.", "resume": "It moves again."},
        send=_send,
    ),
)
