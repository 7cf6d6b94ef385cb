"""The tables of the page of buffers and failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from libs.domain.domain_kind import unplaced_name
from services.pages.api import Json, Part
from services.pages.parts.table import Column, Table
from services.pages.parts.words import duration, moment_markup, number, parse_moment, said, sentence, spaced
from services.pages.views.what_if import address_of
from services.pages.views.what_if_losses import losses_form
from services.pages.visit import Visit, link_markup, server_link, to_region

NAMED_MAX = 3
"""Reservations that the outlook names for each domain."""
_LATER = "Servers that an import brought in after it was allowed. They go on working until they may join."
_VERDICTS = {"now": "good", "queued": "warn", "refused": "bad"}
_STATES = {"allowed": "info", "queued": "warn", "awaiting_approval": "warn", "refused": "bad", "announced": ""}
_STATE_WORDS = {
    "allowed": "Under way",
    "queued": "Queued",
    "awaiting_approval": "Waits for a second person",
    "refused": "Refused",
    "announced": "Announced",
}


def kind_words(kind: str) -> str:
    """Return a kind of domain for a sentence, such as MSB or network block."""
    return "MSB" if kind == "msb" else kind.replace("_", " ")


def _badge(kind: str, words: str) -> Markup:
    return Markup('<span class="badge {}">{}</span>').format(kind, words)


def of_losses(visit: Visit, region: str, losses: Json) -> Table:
    """Return the domains of a kind with what their loss would do now, for an answer of `domain-losses`."""
    kind, items = losses["kind"], losses["items"]
    inside = [Column("datacenter", "Datacenter", lambda one: one["datacenter"])] if kind in ("msb", "rack") else []

    def ask(one: Json) -> Markup:
        if one["domain"] == unplaced_name(kind):  # a missing label cannot fail
            return Markup("")
        return link_markup(address_of(region, losses_form([{"scope": kind, "name": one["domain"]}])), "What if?")

    def column(key: str, title: str, hint: str = "") -> Column:
        return Column(key, title, lambda one: one[key], number=True, hint=hint)

    return Table(
        name="domain-losses",
        caption=f"What the loss of each {kind_words(kind)} would do now",
        columns=[
            Column("domain", sentence(kind_words(kind)), lambda one: one["domain"]),
            *inside,
            column("servers", "Servers"),
            column("down", "Down already"),
            column("in_use", "In use", "Servers with containers that would stop"),
            column("spare", "Spare", "Servers of shared buffers that would go"),
            column("reservations", "Reservations hit", "Those that hold capacity in it"),
            Column("broken", "Guarded", lambda one: one["broken"], _guarded, hint="Those that ask to survive it"),
            column("missing_rru", "RRU lacking", "That the loss adds to what reservations lack of their promises"),
            Column("short", "Who would be short", _short_text, lambda one: _short(region, one)),
        ],
        rows=items,
        path=visit.path,
        query=visit.query,
        empty="This region has no server. `plimsoll import` brings servers in.",
        order="-missing_rru",
        cut=f"These are the worst {number(len(items))} of {number(losses['domains'])}."
        if losses["domains"] > len(items)
        else "",
        act=ask,
        command=("get", "domain-losses", "--where", f"region={region}", "--where", f"kind={kind}"),
    )


def _guarded(one: Json) -> Markup:
    if one["broken"]:
        return _badge("bad", f"{number(one['broken'])} short")
    return _badge("warn", "others short") if one["reservations_short"] else _badge("good", "none short")


def _short_text(one: Json) -> str:
    return "; ".join(f"{short['reservation']} lacks {number(short['missing_rru'])} RRU" for short in one["short"])


def _short(region: str, one: Json) -> Markup:
    parts = [
        Markup("{} lacks {} of {} RRU{}").format(
            link_markup(to_region(region, "reservations", short["reservation"]), short["reservation"]),
            number(short["missing_rru"]),
            number(short["granted_rru"]),
            "" if short["survives"] else ", not guarded",
        )
        for short in one["short"]
    ]
    more = one["reservations_short"] - len(parts)
    if more > 0:
        parts.append(Markup("{} more").format(number(more)))
    return Markup("<br>").join(parts) if parts else Markup('<span class="none">nobody</span>')


def of_buffers(visit: Visit, region: str, buffers: Sequence[Json]) -> Table:
    """Return the shared buffers; each also has `lent`, the servers that it lends."""
    return Table(
        name="shared-buffers",
        key="buffers",
        caption="Shared buffers by hardware type",
        columns=[
            Column("type", "Hardware type", _types, lambda one: _buffer_link(region, one)),
            Column("wanted", "Wanted", lambda one: one["spec"]["capacity_rru"], number=True, hint="Servers"),
            Column("bound", "By target", lambda one: one["status"]["target_rru"], number=True),
            Column("there", "There", lambda one: one["status"]["held_rru"], number=True, hint="Up, and in the buffer"),
            Column("lent", "Lent", lambda one: one["lent"], number=True, hint="To reservations, for an exchange"),
            Column("state", "State", _missing, _buffer_state),
        ],
        rows=buffers,
        path=visit.path,
        query=visit.query,
        empty="This region keeps no shared buffer, so a lost server waits for the next solve. "
        "`plimsoll policy` sets shared_buffer_share.",
        order="type",
        searched=False,
        command=("get", "reservations", "--where", f"region={region}", "--where", "kind=shared_buffer"),
    )


def _types(one: Json) -> str:
    return ", ".join(sorted(one["spec"]["rru"]))


def _buffer_link(region: str, one: Json) -> Markup:
    return link_markup(to_region(region, "reservations", one["name"]), _types(one))


def _missing(one: Json) -> float:
    return max(0.0, float(one["spec"]["capacity_rru"]) - float(one["status"]["held_rru"]))


def _buffer_state(one: Json) -> Markup:
    missing, wanted = _missing(one), one["spec"]["capacity_rru"]
    if missing <= 0:
        return _badge("good", "Whole")
    return _badge("bad" if missing >= wanted else "warn", f"{number(missing)} missing")


def of_failures(visit: Visit, region: str, failed: Part) -> Table:
    """Return the failures that are open."""
    return Table(
        name="failures",
        key="failures",
        caption="Failures now",
        columns=[
            Column("name", "What", lambda one: one["scope_name"], lambda one: _place(region, one)),
            Column("scope", "Scope", lambda one: _scope(one)),
            Column("reason", "Reason", lambda one: one["reason"]),
            Column("since", "Since", lambda one: one["starts_at"], _at(visit, "starts_at")),
            Column("until", "Expected back", lambda one: one["ends_at"], _at(visit, "ends_at")),
        ],
        rows=failed.items,
        next_cursor=failed.next_cursor,
        path=visit.path,
        query=visit.query,
        empty="Nothing is down. Health systems report failures to /v1/unavailability-events.",
        order="-since",
        command=_events_command(region, "unplanned"),
    )


def _events_command(region: str, kind: str) -> tuple[str, ...]:
    where = (f"region={region}", "open=true", f"kind={kind}")
    return ("get", "unavailability-events", *(part for one in where for part in ("--where", one)))


def _scope(one: Json) -> str:
    return kind_words(one["scope"])


def _place(region: str, one: Json) -> object:
    """Return the place of an event: a server is a link to its page."""
    return server_link(region, one["scope_name"]) if one["scope"] == "server" else one["scope_name"]


def _at(visit: Visit, name: str) -> Any:
    return lambda one: moment_markup(one[name], visit.now) if one[name] else None


def of_replacements(visit: Visit, region: str, found: Json) -> Table:
    """Return the lost servers that spare ones replaced."""
    rows = found["latest"]
    return Table(
        name="replacements",
        key="replaced",
        caption="Lost servers that were replaced",
        columns=[
            Column("server", "Lost server", lambda one: one["server"], lambda one: server_link(region, one["server"])),
            Column("spare", "Replaced by", lambda one: one["spare"], lambda one: server_link(region, one["spare"])),
            Column(
                "reservation",
                "For",
                lambda one: one["reservation"],
                lambda one: link_markup(to_region(region, "reservations", one["reservation"]), one["reservation"]),
            ),
            Column("type", "Hardware type", lambda one: one["hardware_type"]),
            Column("msb", "MSB", lambda one: one["msb"]),
            Column("failed", "Failed", lambda one: one["failed_at"], _at(visit, "failed_at")),
            Column("drawn", "Chosen after", lambda one: _took(one, "drawn_at"), lambda one: _told(one, "drawn_at")),
            Column("joined", "Joined after", lambda one: _took(one, "joined_at"), lambda one: _told(one, "joined_at")),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        empty="No lost server was replaced in this time.",
        cut=f"These are the latest {number(len(rows))} of {number(found['drawn'])}."
        if found["drawn"] > len(rows)
        else "",
    )


def _took(one: Json, end: str) -> float | None:
    """Return the seconds from a failure until `end`."""
    if one[end] is None:
        return None
    return (parse_moment(one[end]) - parse_moment(one["failed_at"])).total_seconds()


def _told(one: Json, end: str) -> object:
    took = _took(one, end)
    return _badge("info", "on its way") if took is None else duration(took)


def of_maintenance(visit: Visit, region: str, planned: Part, refused: Sequence[Json]) -> Table:
    """Return planned events: under way, waiting, announced, and those that were refused lately."""
    events = [*planned.items, *refused]
    names = {one["unavailability_event_id"]: one["scope_name"] for one in events}
    return Table(
        name="maintenance",
        key="maintenance",
        caption="Planned maintenance",
        columns=[
            Column("name", "What", lambda one: one["scope_name"], lambda one: _place(region, one)),
            Column("scope", "Scope", lambda one: _scope(one)),
            Column("reason", "Reason", lambda one: one["reason"]),
            Column("state", "State", lambda one: one["state"], _state),
            Column("answer", "Answer", _answer_text, _answer),
            Column("waits", "Waits for", lambda one: _waits(one, names)),
            Column("later", "Later servers", _later_text, _later, hint=_LATER),
            Column("begins", "Begins", lambda one: _begins(one), lambda one: _begins_shown(visit, one)),
            Column("ends", "Ends", lambda one: one["ends_at"], _at(visit, "ends_at")),
        ],
        rows=events,
        next_cursor=planned.next_cursor,
        path=visit.path,
        query=visit.query,
        empty="No maintenance is under way or waits. `plimsoll drain` asks for it.",
        command=_events_command(region, "planned"),
    )


def _state(one: Json) -> Markup:
    return _badge(_STATES[one["state"]], _STATE_WORDS[one["state"]])


def _answer_text(one: Json) -> str | None:
    return None if one["answer"] is None else f"{spaced(one['answer']['reason'])}: {one['answer']['message']}"


def _answer(one: Json) -> Markup | None:
    answer = one["answer"]
    if answer is None:
        return None
    place = f" {answer['position']}" if answer["position"] else ""
    return Markup("{}{} {}").format(
        _badge(_VERDICTS[answer["verdict"]], f"{answer['verdict'].capitalize()}"),
        f" at place{place}:" if place else "",
        said(answer["message"]),
    )


def _waits(one: Json, names: dict[int, str]) -> str | None:
    if one["answer"] is None:
        return None
    return ", ".join(names.get(event, "an event that ended") for event in one["answer"]["waits_for"]) or None


def _later_text(one: Json) -> str | None:
    """Return how many servers entered its scope after it was allowed, and why it does not take them."""
    later = one.get("newcomers")  # a broker of the previous version does not tell
    return None if later is None else f"{number(later['servers'])} not taken: {later['answer']['message']}"


def _later(one: Json) -> Markup | None:
    later = one.get("newcomers")
    if later is None:
        return None
    answer = later["answer"]
    badge = _badge(_VERDICTS[answer["verdict"]], f"{number(later['servers'])} not taken")
    return Markup("{} {}").format(badge, said(answer["message"]))


def _begins(one: Json) -> str | None:
    if one["state"] in ("allowed", "announced"):
        return str(one["starts_at"])
    begins = None if one["answer"] is None else one["answer"]["begins_at"]
    return None if begins is None else str(begins)


def _begins_shown(visit: Visit, one: Json) -> Markup | None:
    begins = _begins(one)
    if begins is not None:
        return moment_markup(begins, visit.now)
    return Markup('<span class="none">{}</span>').format("never" if one["state"] == "refused" else "not known")
