"""The parameter `order` of lists of reservations, and the cursors of their pages."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import Query
from pydantic import AfterValidator

from libs.domain.reservation_order import RESERVATION_ORDERS, ReservationKey, ReservationOrder, ReservationPlace
from libs.web.cursors import PageQuery, bad_cursor, next_ordered_cursor

_NOUN = "reservations"


def _known(name: str) -> str:
    if name not in RESERVATION_ORDERS:
        raise ValueError(f"must be one of {', '.join(ReservationKey)}, with a - before it for the other direction")
    return name


OrderName = Annotated[
    str | None,
    AfterValidator(lambda name: name if name is None else _known(name)),
    Query(
        description="Order by this field of the reservation, its spec or its status, the least first; ready is the "
        "status of the condition Ready. A - before it turns the order. Equal ones follow in the order of their "
        "creation. RRU are compared to a millionth. A cursor belongs to one order",
        json_schema_extra={"enum": list(RESERVATION_ORDERS)},
        max_length=50,
    ),
]
"""A parameter of a list route: the name of an order."""


def place_of(paging: PageQuery, order: ReservationOrder) -> ReservationPlace | None:
    """Return the place of the last reservation of the page before; None for the first page.

    Raises Problem (422) if the cursor does not come from this order.
    """
    found = paging.place(_NOUN, str(order))
    if found is None:
        return None
    reservation_id, text = found
    return ReservationPlace(text if order.key.is_text else _number(text), reservation_id)


def cursor_of(order: ReservationOrder, last: ReservationPlace | None) -> str | None:
    """Return the cursor of the page after `last`; None if `last` is None."""
    return next_ordered_cursor(_NOUN, str(order), None if last is None else (last.reservation_id, str(last.value)))


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise bad_cursor("is not a cursor of this list")
    return value
