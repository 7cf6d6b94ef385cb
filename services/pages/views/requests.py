"""The capacity requests of a region, and their decisions."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from services.pages.api import Json
from services.pages.parts.table import Choice, Column
from services.pages.parts.words import moment_markup, said, spaced
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


REQUESTS = Listing(
    noun="capacity-requests",
    section="requests",
    title="Requests",
    columns=_columns,
    filters=("phase", "reservation", "owner"),
    choices=_choices,
    empty="Nobody has asked for capacity here yet. Ask for capacity begins it.",
)
