"""Show the estimated effect of a what-if, as a dry run of a simulation answers it."""

from __future__ import annotations

from collections.abc import Mapping

from services.cli.client import Json
from services.cli.output import Output, plural, print_json, print_rows, say, stdout
from services.cli.simulated_limits import show_power, show_uplinks

_SHOWN_MAX = 20
_UNKNOWN = {"short_rru_with_free": "unknown without a solve", "taken_servers": None, "missing_servers": None}
"""Cells of a reservation of which only a solve can tell which free servers would help it."""
_RESERVATION = {
    "RESERVATION": "reservation",
    "CAPACITY": "capacity_rru_now",
    "WOULD BE": "capacity_rru",
    "SHORT": "short_rru_now",
    "AT ONCE": "short_rru_at_once",
    "WITH FREE": "short_rru_with_free",
    "TAKES": "taken_servers",
    "MISSES": "missing_servers",
    "OF": "missing_hardware_type",
    "SPARES": "spare_servers",
}


def tell_short_of(of: Mapping[str, str]) -> None:
    """Say of which resource or guest reservations are short, where the tables count it in their own RRU.

    of   reservation -> the resource or guest, in words
    """
    for reservation, scarce in list(of.items())[:_SHOWN_MAX]:
        say(f"{reservation} is short of {scarce}; the table counts that in RRU of {reservation}.")


def show_estimate(found: Json, output: Output) -> None:
    """Print the answer of the API."""
    if output is Output.JSON:
        print_json(found)
        return
    with_free = "with free servers" + (", at most" if found["needing_solve"] else "")
    moments = {"now": "now", "at once": "at_once", with_free: "with_free"}
    rows = [{"when": words, **found[name]} for words, name in moments.items()]
    print_rows(rows, {"WHEN": "when", "RESERVATIONS SHORT": "reservations_short", "RRU SHORT": "shortfall_rru"})
    stdout.print()
    shown = [one | (_UNKNOWN if one["needs_solve"] else {}) for one in found["reservations"][:_SHOWN_MAX]]
    print_rows(shown, _RESERVATION)
    tell_short_of({one["reservation"]: one["short_of"] for one in found["reservations"] if one["short_of"]})
    more = found["reservations_affected"] - min(_SHOWN_MAX, len(found["reservations"]))
    if more:
        say(f"and {more} more reservations")
    stdout.print()
    print_rows(
        found["hardware_types"],
        {
            "TYPE": "hardware_type",
            "FREE": "free_now",
            "AT ONCE": "free_at_once",
            "TAKEN": "taken",
            "MISSING": "missing",
        },
    )
    show_power(found["power"], found["power_limits"], "at_once")
    show_uplinks(found["uplinks"], "at_once")
    for one in found["reservations"]:
        if one["most_rru"] < one["capacity_rru"]:
            say(f"{one['reservation']}: no state of the region gives it more than {one['most_rru']:g} RRU.")
    spare = found["spare_servers"]
    if spare:
        say(f"Reservations that are resized could give back at least {plural(spare, 'server')}.")
    say(found["covers"])
