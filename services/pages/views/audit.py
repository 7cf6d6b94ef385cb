"""The audit trail: each action with its actor, its subject and its reason."""

from __future__ import annotations

from collections.abc import Sequence

from services.pages.api import Json
from services.pages.parts.changes import changes
from services.pages.parts.table import Choice, Column, Field
from services.pages.parts.words import moment_markup, spaced
from services.pages.views.listing import TIME, Listing, values_of_rows
from services.pages.visit import Visit, link_markup, to_region

_TEXT_MAX = 160
"""Most characters of a change on the page. CSV has all of it."""


def _columns(visit: Visit) -> list[Column]:
    return [
        Column("at", "Time", lambda e: e["at"], lambda e: moment_markup(e["at"], visit.now)),
        Column("actor", "Actor", _actor, hint="With the person behind it"),
        Column("action", "Action", lambda e: e["action"], lambda e: spaced(e["action"])),
        Column("kind", "Subject", lambda e: e["subject_kind"], lambda e: spaced(e["subject_kind"])),
        Column("name", "Name", lambda e: e["subject"], _name),
        Column("reason", "Reason", lambda e: e["reason"]),
        Column("change", "What changed", _change, lambda e: _short(_change(e))),
    ]


def _actor(entry: Json) -> str:
    actor, person = str(entry["actor"]), entry["person"]
    return actor if person in (None, actor) else f"{actor} ({person})"


def _name(entry: Json) -> object:
    name = entry["subject"]
    return link_markup(to_region(name), name) if name and entry["subject_kind"] == "region" else name


def _change(entry: Json) -> str:
    found = changes(entry["before"], entry["after"])
    return "; ".join(f"{name}: {new}" if old == "–" else f"{name}: {old} → {new}" for name, old, new in found)


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]}…"


def _choices(visit: Visit, rows: Sequence[Json]) -> list[Choice]:
    return [
        values_of_rows("subject_kind", "Subject", rows, visit, spaced),
        values_of_rows("action", "Action", rows, visit, spaced),
    ]


AUDIT = Listing(
    noun="audit-entries",
    section="audit",
    title="Audit trail",
    columns=_columns,
    filters=("since", "until", "actor", "person", "action", "subject_kind"),
    choices=_choices,
    fields=(
        Field("since", "From (UTC)", TIME),
        Field("until", "Until (UTC)", TIME),
        Field("actor", "Actor"),
        Field("person", "Person"),
    ),
    fixed={"latest_first": "true"},
    intro="Every change, latest first. An actor is a token, or a person who logged in.",
    empty="Nothing was changed yet. The first change of the platform appears here.",
)
