"""Pictures of an execution: its graph by phases, and its lanes over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from services.pages.api import Json
from services.pages.parts.dag import Box, dag_svg
from services.pages.parts.lanes import Bar, Lane, lanes_svg
from services.pages.parts.states import colour_of, words_of
from services.pages.parts.words import count, moment_text, number, parse_moment, percent
from services.pages.visit import Visit

PHASES = {
    "upsize": "Upsize",
    "shift": "Shift traffic",
    "downsize": "Downsize",
    "settled": "Room is free",
    "grow": "Grow",
}
_WAITS_MAX = 3


def name_within(action: str, phase: str) -> str:
    """Return the id of an action without its phase."""
    return action.removeprefix(f"{phase}/")


def graph_of_actions(actions: Sequence[Json], critical: set[str], chosen: str, href: Callable[[str], str]) -> Markup:
    """Return the graph with a box for each action. `href` is the page with an action chosen."""
    columns = {
        words: [
            Box(
                key=one["action"],
                name=name_within(one["action"], phase),
                words=words_of_action(one),
                colour=colour_of({one["state"]: 1}),
                href=href(one["action"]),
                strong=one["action"] in critical,
                chosen=one["action"] == chosen,
            )
            for one in actions
            if one["phase"] == phase
        ]
        for phase, words in PHASES.items()
    }
    edges = [(before, one["action"]) for one in actions for before in one["waits_for"]]
    return dag_svg("Actions by phase, and what waits for what", columns, edges)


def words_of_action(one: Json) -> str:
    """Return how far an action is, in few words."""
    words = words_of(one["state"])
    part = f", {percent(one['reached'])}" if 0 < one["reached"] < 1 else ""
    return words + part + (", paused" if one["paused"] else "")


def graph_of_lanes(lanes: Sequence[Json], href: Callable[[str, str], str]) -> Markup:
    """Return the graph with a box for each lane: a phase, perhaps in one region. `href` has (phase, region)."""
    columns = {
        words: [
            Box(
                key=f"{phase}/{one['region'] or ''}",
                name=one["region"] or "all regions",
                words=_shares(one["states"]),
                colour=colour_of(one["states"]),
                href=href(phase, one["region"] or ""),
                strong=one["critical"] > 0,
            )
            for one in lanes
            if one["phase"] == phase
        ]
        for phase, words in PHASES.items()
    }
    return dag_svg("Actions by phase and region", columns, [])


def _shares(states: dict[str, int]) -> str:
    done, whole = states.get("done", 0) + states.get("skipped", 0), sum(states.values())
    worst = [f"{number(states[name])} {words_of(name)}" for name in ("failed", "held") if states.get(name)]
    return ", ".join([f"{number(done)} of {number(whole)} done", *worst])


def time_line(visit: Visit, lanes: Sequence[Json]) -> Markup | None:
    """Return the lanes over time; None if nothing began, and nothing is expected."""
    return lanes_svg("When actions ran, run, and are expected to run", [_lane(visit, one) for one in lanes], visit.now)


def _lane(visit: Visit, lane: Json) -> Lane:
    if lane["action"] is not None:
        name = lane["action"]
        said = words_of(next(iter(lane["states"])))
    else:
        place = f", {lane['region']}" if lane["region"] else ""
        whole = sum(lane["states"].values())
        name, said = f"{PHASES[lane['phase']]}{place}: {count(whole, 'action')}", _shares(lane["states"])
    past = colour_of(lane["states"])
    # A lane of many is coloured by what it does. One that only waits for more has done all that it began.
    past = "f3" if past == "f0" else past
    bars = [
        Bar(
            begins := parse_moment(one["begins_at"]),
            ends := parse_moment(one["ends_at"]),
            "expected" if one["expected"] else past,
            f"{'expected' if one['expected'] else said}, {moment_text(begins, visit.now)} to "
            f"{moment_text(ends, visit.now)}",
        )
        for one in lane["intervals"]
    ]
    return Lane(name, bars, strong=lane["critical"] > 0)


def waiting_words(waiting: Sequence[str]) -> str:
    """Return what an action waits for, in words."""
    shown = [one.removeprefix("action ") for one in waiting[:_WAITS_MAX]]
    more = f" and {number(len(waiting) - _WAITS_MAX)} more" if len(waiting) > _WAITS_MAX else ""
    return ", ".join(shown) + more
