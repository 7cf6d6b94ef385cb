"""Lists by pages, with an opaque cursor and a bounded limit."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated

from fastapi import Depends, Query

from libs.domain.page import ITEMS_MAX
from libs.web.model import ID_MAX
from libs.web.problems import FieldError, Problem, invalid

ORDERED_CURSOR_MAX = 1500
"""Characters of a cursor that holds the key of a row. The longest is a name of 200 characters."""


class PageQuery:
    """The start and the length of a page."""

    def __init__(self, cursor: str | None, limit: int) -> None:
        self._cursor, self.limit = cursor, limit

    def after(self, noun: str) -> int | None:
        """Return the last id of the page before in the list of `noun`; None for the first page.

        Raises Problem (422) if the cursor does not come from this list.
        """
        found = self._read(noun, "")
        return None if found is None else found[0]

    def place(self, noun: str, order: str) -> tuple[int, str] | None:
        """Return the last id of the page before in the list of `noun` in this order, and the text of its key; None for
        the first page.

        Raises Problem (422) if the cursor does not come from this list in this order.
        """
        return self._read(noun, order)

    def _read(self, noun: str, order: str) -> tuple[int, str] | None:
        if self._cursor is None:
            return None
        try:
            text = base64.b64decode(self._cursor, altchars=b"-_", validate=True).decode()
        except (binascii.Error, ValueError):
            text = ""
        found = re.fullmatch(rf"{re.escape(noun)}:([0-9]{{1,19}})(?::(-?[a-z_]{{1,50}}):([^\0]*))?", text, re.DOTALL)
        if found is None or int(found[1]) > ID_MAX:
            raise bad_cursor("is not a cursor of this list")
        of_order = found[2] or ""
        if of_order != order:
            raise bad_cursor(f"is a cursor of the list {in_order(of_order)}, and not {in_order(order)}")
        return int(found[1]), found[3] or ""


def in_order(order: str) -> str:
    """Return an order in words."""
    return f"with order={order}" if order else "without order"


def bad_cursor(trouble: str) -> Problem:
    """Return a 422 about the cursor."""
    message = f"{trouble}: leave it out to start again, or pass next_cursor unchanged"
    return invalid(FieldError(field="cursor", location="query", code="bad_cursor", message=message))


def _page(
    cursor: Annotated[
        str | None,
        Query(max_length=200, description="next_cursor of the page before; leave out for the first page"),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=ITEMS_MAX, description="Items on the page, at most")] = 100,
) -> PageQuery:
    return PageQuery(cursor, limit)


def _ordered_page(
    cursor: Annotated[
        str | None,
        Query(
            max_length=ORDERED_CURSOR_MAX,
            description="next_cursor of the page before, in the same order; leave out for the first page",
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=ITEMS_MAX, description="Items on the page, at most")] = 100,
) -> PageQuery:
    return PageQuery(cursor, limit)


Paging = Annotated[PageQuery, Depends(_page)]
"""A parameter of a list route: it adds `cursor` and `limit` to the query."""
OrderedPaging = Annotated[PageQuery, Depends(_ordered_page)]
"""The same of a list that has orders. A cursor may hold a name, so it is longer."""


def next_cursor(noun: str, last_id: int | None) -> str | None:
    """Return the cursor of the page that starts after `last_id`; None if `last_id` is None."""
    return None if last_id is None else _encoded(f"{noun}:{last_id}")


def next_ordered_cursor(noun: str, order: str, last: tuple[int, str] | None) -> str | None:
    """Return the cursor of the page that starts after the id and the key of `last` in this order; None if `last` is
    None.
    """
    return None if last is None else _encoded(f"{noun}:{last[0]}:{order}:{last[1]}")


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()
