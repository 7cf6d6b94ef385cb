"""Show the power that limited domains have to spare in a what-if: in an estimate, or in the answer of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from services.cli.client import Json
from services.cli.output import percent, print_rows, say, stdout

_SHOWN_MAX = 20
_WORDS = {"at_once": "FREE AT ONCE KW", "after": "FREE AFTER KW"}


def show_power(domains: Sequence[Json], number: int, moment: Literal["at_once", "after"]) -> None:
    """Print the domains, `number` in all, now and at the given moment. Without any, print nothing."""
    if not domains:
        return
    stdout.print()
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
    print_rows(rows, columns | {"FREE KW": "now", _WORDS[moment]: "then"})
    if number > _SHOWN_MAX:
        say(f"and {number - _SHOWN_MAX} more domains with a limit on power")


def _kw(watts: float | None) -> float | None:
    return None if watts is None else watts / 1000
