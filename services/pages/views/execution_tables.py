"""The tables of the page of an execution."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from markupsafe import Markup

from services.pages.api import Json
from services.pages.parts.states import STATES, action_badge, words_of
from services.pages.parts.table import Choice, Column, Table
from services.pages.parts.words import moment_markup, number, percent, spaced
from services.pages.views.execution_pictures import PHASES, waiting_words
from services.pages.visit import Visit, link_markup

_IDENTIFIER = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+(?=:|$)")
_VERDICTS = {"good": "good", "bad": "bad", "unknown": "warn"}
Href = Callable[[str], str]


def of_actions(visit: Visit, actions: Sequence[Json], href: Href, regions: Sequence[str], cut: str) -> Table:
    """Return the actions in an order that works."""
    return Table(
        name="actions",
        caption="Actions",
        columns=[
            Column("action", "Action", lambda one: one["action"], lambda one: _link(one["action"], href)),
            Column("state", "State", lambda one: one["state"], lambda one: _state(one)),
            Column("reached", "Reached", lambda one: one["reached"], lambda one: percent(one["reached"]), number=True),
            Column("before", "Before", lambda one: one["before"], lambda one: amount(one, "before"), number=True),
            Column(
                *("size", "After", lambda one: one["size"], lambda one: amount(one, "size")),
                number=True,
                hint="Capacity; of a shift, the share of the product's traffic",
            ),
            Column("waiting", "Waits for", lambda one: waiting_words(one["waiting"])),
            Column("since", "Since", lambda one: one["since"], lambda one: moment_markup(one["since"], visit.now)),
            Column("note", "Note", lambda one: note_words(one["note"])),
        ],
        rows=actions,
        path=visit.path,
        query=visit.query,
        choices=[
            Choice("phase", "Phase", list(PHASES.items())),
            Choice("state", "State", [(state, words_of(state)) for state in STATES]),
            Choice("region", "Region", [(name, name) for name in regions]),
        ],
        empty="This execution has no action: its plan changes nothing.",
        cut=cut,
    )


def of_gates(visit: Visit, gates: Sequence[Json], href: Href, *, has_gates: bool) -> Table:
    """Return the gates that were read lately."""
    return Table(
        name="gates",
        key="gates",
        caption="Gates read in the last hour",
        columns=[
            Column("gate", "Gate", lambda one: one["gate"]),
            Column("action", "Action", lambda one: one["action"], lambda one: _link(one["action"], href)),
            Column("verdict", "Verdict", lambda one: one["verdict"], _verdict),
            Column("value", "Reading", lambda one: one["value"], _reading, number=True),
            Column("bound", "Bound", lambda one: one["bound"]),
            Column("mode", "If bad", lambda one: one["mode"], hint="What a bad verdict does"),
            Column("at", "Read", lambda one: one["at"], lambda one: moment_markup(one["at"], visit.now)),
            Column("note", "Note", lambda one: one["note"]),
        ],
        rows=gates,
        path=visit.path,
        query=visit.query,
        searched=False,
        empty="No gate was read in the last hour: gates are read while a shift bakes, and before a downsize."
        if has_gates
        else "This execution has no gates, so shifts go on after their bake time. Give `terms.gates` when you create "
        "one.",
    )


def of_readings(visit: Visit, readings: Sequence[Json]) -> Table:
    """Return the latest readings of the gates of one action."""
    return Table(
        name="readings",
        key="readings",
        caption="Readings of its gates",
        columns=[
            Column("at", "Read", lambda one: one["at"], lambda one: moment_markup(one["at"], visit.now)),
            Column("gate", "Gate", lambda one: one["gate"]),
            Column("value", "Reading", lambda one: one["value"], _reading, number=True),
            Column("bound", "Bound", lambda one: one["bound"]),
            Column("query", "Query", lambda one: one["query"]),
            Column("note", "Note", lambda one: one["note"]),
        ],
        rows=readings,
        path=visit.path,
        query=visit.query,
        searched=False,
        empty="No gate of this action was read.",
    )


def of_path(visit: Visit, timeline: Json, href: Href) -> Table:
    """Return the critical path."""
    steps = timeline["critical_path"]
    cut = f"These are the last {number(len(steps))} of {number(timeline['critical_actions'])} actions."

    def moment(key: str, title: str, past: str) -> Column:
        def show(one: Json) -> Markup:
            expected = Markup("") if one[past] else Markup(' <span class="none">expected</span>')
            return moment_markup(one[key], visit.now) + expected

        return Column(key, title, lambda one: one[key], show)

    return Table(
        name="critical-path",
        key="path",
        caption="Critical path",
        columns=[
            Column("action", "Action", lambda one: one["action"], lambda one: _link(one["action"], href)),
            Column("state", "State", lambda one: one["state"], lambda one: action_badge(one["state"])),
            moment("begins_at", "Begins", "begun"),
            moment("ends_at", "Ends", "ended"),
        ],
        rows=steps,
        path=visit.path,
        query=visit.query,
        searched=False,
        empty="This execution has no action.",
        cut=cut if timeline["critical_actions"] > len(steps) else "",
    )


def of_commands(visit: Visit, commands: Sequence[Json]) -> Table:
    """Return the commands that were given, with their outcomes."""
    return Table(
        name="commands",
        key="log",
        caption="Commands",
        columns=[
            Column("at", "Given", lambda one: one["given_at"], lambda one: moment_markup(one["given_at"], visit.now)),
            Column("by", "By", lambda one: one["actor"]),
            Column("verb", "Command", lambda one: spaced(one["verb"])),
            Column("about", "About", lambda one: one["subject"] or "the execution"),
            Column("outcome", "Outcome", lambda one: "accepted" if one["accepted"] else one["message"], _outcome),
            Column("reason", "Reason", lambda one: one["reason"]),
        ],
        rows=commands,
        path=visit.path,
        query=visit.query,
        searched=False,
        empty="Nobody has given a command yet.",
        cut=f"These are the latest {number(len(commands))}." if len(commands) == COMMANDS_MAX else "",
    )


COMMANDS_MAX = 50
"""Commands that the page reads."""


def amount(action: Json, key: str) -> str:
    """Return a size of an action: capacity, or the share of traffic that a shift moves."""
    return percent(action[key]) if action["phase"] == "shift" else number(action[key])


def note_words(note: str | None) -> str | None:
    """Return the note of an action. An identifier at its begin is written as words."""
    found = _IDENTIFIER.match(note or "")
    return note if note is None or found is None else spaced(found[0]) + note[found.end() :]


def _reading(one: Json) -> str | None:
    return None if one["value"] is None else f"{one['value']:.4g}"


def _link(action: str, href: Href) -> Markup:
    return link_markup(href(action), action)


def _state(one: Json) -> Markup:
    return action_badge(one["state"], paused=one["paused"])


def _verdict(one: Json) -> Markup:
    badge = Markup('<span class="badge {}">{}</span>').format(_VERDICTS[one["verdict"]], one["verdict"].capitalize())
    return badge + Markup(" overridden") if one["overridden"] else badge


def _outcome(one: Json) -> Markup:
    if one["accepted"]:
        return Markup('<span class="badge good">Accepted</span>')
    return Markup('<span class="badge bad">Refused</span> {}').format(one["message"])
