"""Show the places with a limit in a what-if, in an estimate or in the answer of a simulation: power and uplinks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from services.cli.client import Json
from services.cli.output import percent, plural, print_rows, say, stdout

Moment: TypeAlias = Literal["at_once", "after"]
_SHOWN_MAX = 20
_ROUNDING = 1e-6
_WORDS = {"at_once": "AT ONCE", "after": "AFTER"}


def show_power(domains: Sequence[Json], number: int, moment: Moment) -> None:
    """Print the power of domains, `number` in all, where the what-if changes it. Without any, print nothing."""
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
        for one in _changed(domains, "w", moment)
    ]
    columns = {"KIND": "kind", "DOMAIN": "domain", "LIMIT KW": "limit_now", "WOULD BE": "limit", "HEADROOM": "headroom"}
    _print(rows, columns | {"FREE KW": "now", f"FREE {_WORDS[moment]} KW": "then"}, number, "domain", "on power")


def show_uplinks(found: Json | None, moment: Moment) -> None:
    """Print the uplinks that the what-if changes, and how many racks are above theirs. None: no rack has a limit."""
    if found is None:
        return
    columns = {"RACK": "rack", "LIMIT GBIT/S": "limit_gbit_now", "WOULD BE": "limit_gbit"}
    columns |= {"FREE GBIT/S": "free_gbit_now", f"FREE {_WORDS[moment]}": f"free_gbit_{moment}"}
    _print(_changed(found["racks"], "gbit", moment), columns, found["limits"], "rack", "on the uplink")
    now, then = (f"{found[one]['racks']:,} by {found[one]['gbit']:,.1f} Gbit/s" for one in ("now", moment))
    say(f"racks above their uplinks: {now} now, {then} {_WORDS[moment].lower()}")


def _print(rows: Sequence[Json], columns: Mapping[str, str], number: int, noun: str, on: str) -> None:
    """Print the rows of the first places whose limit or use changes; `number` places have a limit in all."""
    if not rows:
        return
    stdout.print()
    print_rows(rows[:_SHOWN_MAX], columns)
    if len(rows) > _SHOWN_MAX:
        say(f"and {plural(len(rows) - _SHOWN_MAX, f'more {noun}')} that change; --output json has them")
    say(f"In all, {plural(number, noun)} would have a limit {on}.")


def _changed(places: Sequence[Json], unit: str, moment: Moment) -> list[Json]:
    """Return the places whose limit or room in this unit is not as now. Smaller differences are rounding."""
    return [
        one
        for one in places
        if _differ(one[f"limit_{unit}_now"], one[f"limit_{unit}"])
        or _differ(one[f"free_{unit}_now"], one[f"free_{unit}_{moment}"])
    ]


def _differ(now: float | None, then: float | None) -> bool:
    if now is None or then is None:
        return now is not then
    return not math.isclose(now, then, rel_tol=_ROUNDING, abs_tol=_ROUNDING)


def _kw(watts: float | None) -> float | None:
    return None if watts is None else watts / 1000
