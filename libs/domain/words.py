"""Numbers with their nouns, and times, in sentences."""

from __future__ import annotations

import math
from datetime import UTC, datetime

_DIGITS = 6
_ROUNDING = 1e-4
"""Part of the last digit that counts as rounding of floats: at most 1e-9 of an amount (`reservation.ROUNDING`)."""


def counted(amount: float, one: str, many: str = "") -> str:
    """Return an amount with its noun, such as `1 rack` or `2.5 racks`. Give `many` if it is not `one` and an s."""
    said = f"{amount:,}" if isinstance(amount, int) else f"{amount:,.6g}"
    return f"{said} {one if amount == 1 else many or one + 's'}"


def counted_are(amount: int, one: str) -> str:
    """Return an amount with its noun and verb, such as `1 rack is` or `2 racks are`."""
    return f"{counted(amount, one)} {'is' if amount == 1 else 'are'}"


def rounded_down(amount: float) -> str:
    """Return a positive amount with 6 digits, or as a whole number, and never more than it is; "0" for others.

    People may ask for exactly the amount that they read. One that is rounded up would be refused.
    """
    if amount <= 0:
        return "0"
    places = max(_DIGITS - 1 - math.floor(math.log10(amount)), 0)
    return f"{math.floor(amount * 10**places + _ROUNDING) / 10**places:.15g}"


def cost_units(amount: float) -> str:
    """Return an amount of cost units with its noun."""
    return counted(amount, "cost unit")


def as_sentence(clause: str) -> str:
    """Return a clause with a capital first letter and a full stop, unless it ends a sentence already. Names stay."""
    return clause[:1].upper() + clause[1:] + ("" if clause.endswith((".", "?", "!")) else ".")


def moment(at: datetime) -> str:
    """Return a time as people read it, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
