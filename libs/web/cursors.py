"""Lists by pages, with an opaque cursor and a bounded limit."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated

from fastapi import Depends, Query

from libs.web.model import ID_MAX
from libs.web.problems import FieldError, invalid

LIMIT_MAX = 1000


class PageQuery:
    """The start and the length of a page."""

    def __init__(self, cursor: str | None, limit: int) -> None:
        self._cursor, self.limit = cursor, limit

    def after(self, noun: str) -> int | None:
        """Return the last id of the page before in the list of `noun`; None for the first page.

        Raises Problem (422) if the cursor does not come from this list.
        """
        if self._cursor is None:
            return None
        try:
            text = base64.b64decode(self._cursor, altchars=b"-_", validate=True).decode()
        except (binascii.Error, ValueError):
            text = ""
        found = re.fullmatch(rf"{re.escape(noun)}:([0-9]{{1,19}})", text, re.ASCII)
        if found is None or int(found[1]) > ID_MAX:
            message = "is not a cursor of this list: leave it out to start again, or pass next_cursor unchanged"
            raise invalid(FieldError(field="cursor", location="query", code="bad_cursor", message=message))
        return int(found[1])


def _page(
    cursor: Annotated[
        str | None,
        Query(max_length=200, description="next_cursor of the page before; leave out for the first page"),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX, description="Items on the page, at most")] = 100,
) -> PageQuery:
    return PageQuery(cursor, limit)


Paging = Annotated[PageQuery, Depends(_page)]
"""A parameter of a list route: it adds `cursor` and `limit` to the query."""


def next_cursor(noun: str, last_id: int | None) -> str | None:
    """Return the cursor of the page that starts after `last_id`; None if `last_id` is None."""
    return None if last_id is None else base64.urlsafe_b64encode(f"{noun}:{last_id}".encode()).decode()
