"""Show the places with a limit in a what-if, in an estimate or in the answer of a simulation: power and uplinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from services.cli.client import Json
from services.cli.output import percent, plural, print_rows, say, stdout

Moment: TypeAlias = Literal["at_once", "after"]
_SHOWN_MAX = 20
_WORDS = {"at_once": "AT ONCE", "after": "AFTER"}


def show_power(domains: Sequence[Json], number: int, moment: Moment) -> None:
    """Print the power that domains have to spare, `number` in all, now and at the given moment. Without any, print
    nothing.
    """
    rows = [
        {
            "kind": one["kind"],
            "domain": one["domain"],
            "limit_now": _kw(one["limit_w_now"]),
            "limit": _kw(one["limit_w"]),
            "headroom": percent(one["headroom"]),
            "now": _kw(one["free_w_now"]),
            "then": _kw(one[f"free_w_{moment}"]),
        }
        for one in domains[:_SHOWN_MAX]
    ]
    columns = {"KIND": "kind", "DOMAIN": "domain", "LIMIT KW": "limit_now", "WOULD BE": "limit", "HEADROOM": "headroom"}
    _print(rows, columns | {"FREE KW": "now", f"FREE {_WORDS[moment]} KW": "then"}, number, "domain", "on power")


def show_uplinks(found: Json | None, moment: Moment) -> None:
    """Print the Gbit/s that racks have to spare, now and at the given moment. None: no rack has a limit."""
    if found is None:
        return
    columns = {"RACK": "rack", "LIMIT GBIT/S": "limit_gbit_now", "WOULD BE": "limit_gbit"}
    columns |= {"FREE GBIT/S": "free_gbit_now", f"FREE {_WORDS[moment]}": f"free_gbit_{moment}"}
    _print(found["racks"][:_SHOWN_MAX], columns, found["limits"], "rack", "on its uplink")
    now, then = (f"{found[one]['racks']:,} by {found[one]['gbit']:,.1f} Gbit/s" for one in ("now", moment))
    say(f"racks above their uplinks: {now} now, {then} {_WORDS[moment].lower()}")


def _print(rows: Sequence[Json], columns: Mapping[str, str], number: int, noun: str, on: str) -> None:
    """Print the rows of the first places with a limit, of `number` in all."""
    if not rows:
        return
    stdout.print()
    print_rows(rows, columns)
    if number > len(rows):
        say(f"and {plural(number - len(rows), f'more {noun}')} with a limit {on}")


def _kw(watts: float | None) -> float | None:
    return None if watts is None else watts / 1000
