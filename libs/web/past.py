"""Refuse times that lie in the past: an earlier time than a day ago is a typing mistake, such as a wrong year."""

from __future__ import annotations

from datetime import datetime, timedelta

from libs.web.problems import FieldError, invalid

PAST = timedelta(days=1)
"""Longest time by which a time may lie in the past. A time within PAST means at once."""


def past_error(
    field: str, at: datetime | None, *, now: datetime, todo: str, location: str = "body"
) -> FieldError | None:
    """Return the error of a field whose time lies in the past; None if it does not, or if it is not given.

    todo   how to say "now" instead
    """
    if at is None or at >= now - PAST:
        return None
    return FieldError(field=field, location=location, code="past", message=f"is more than a day ago: {todo}")


def require_not_past(field: str, at: datetime | None, *, now: datetime) -> None:
    """Raise Problem (422) if the time in a query lies in the past."""
    wrong = past_error(field, at, now=now, todo="leave it out for now, or name a later time", location="query")
    if wrong is not None:
        raise invalid(wrong)
