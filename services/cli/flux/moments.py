"""Moments as people type them."""

from __future__ import annotations

from datetime import UTC, datetime

from services.cli.failure import CliFailure


def moment(option: str, text: str | None) -> str | None:
    """A date, or a date and time, as the interface takes it: in UTC where it names no zone. Raises: CliFailure."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise CliFailure(f"{option} {text}: is no time such as 2026-11-02, or 2026-11-02T09:30:00Z") from error
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).isoformat()
