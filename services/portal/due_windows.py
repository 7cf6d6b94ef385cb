"""Check when a reservation may begin and end."""

from __future__ import annotations

from datetime import datetime, timedelta

from libs.domain.reservation import Reservation, ReservationSpec
from libs.domain.words import moment
from libs.web.past import past_error
from libs.web.problems import FieldError, invalid

HORIZON = timedelta(days=3 * 365)
"""Longest time from now to the beginning or end of a window. Hardware is not planned further ahead, so a later time is
a typing mistake.
"""


def require_window(spec: ReservationSpec, before: Reservation | None, *, now: datetime) -> None:
    """Raise Problem (422) that names the wrong field of an impossible window. Unchanged fields are not checked.

    before   the reservation that changes; None for a new one
    """
    kept_start = before is not None and spec.starts_at == before.spec.starts_at
    kept_end = before is not None and spec.ends_at == before.spec.ends_at
    errors = []
    past = past_error("spec.starts_at", spec.starts_at, now=now, todo="leave it out to begin at once")
    if spec.starts_at is not None and not kept_start:
        if before is not None and not before.scheduled:
            errors.append(_error("starts_at", "immutable", "cannot be changed: it has begun"))
        elif past is not None:
            errors.append(past)
        elif spec.starts_at > now + HORIZON:
            errors.append(
                _error("starts_at", "too_far", f"is more than {HORIZON.days} days ahead: name an earlier time")
            )
    if spec.ends_at is not None and not kept_end:
        if spec.ends_at <= now:
            errors.append(_error("ends_at", "past", "is over: delete the reservation, or name a later time"))
        elif spec.ends_at > now + HORIZON:
            errors.append(_error("ends_at", "too_far", f"is more than {HORIZON.days} days ahead: leave it out"))
    if not errors and spec.starts_at is not None and spec.ends_at is not None and spec.ends_at <= spec.starts_at:
        errors.append(_error("ends_at", "not_after_start", f"must be after its start at {moment(spec.starts_at)}"))
    if errors:
        raise invalid(*errors)


def _error(field: str, code: str, message: str) -> FieldError:
    return FieldError(field=f"spec.{field}", location="body", code=code, message=message)
