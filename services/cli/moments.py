"""Parse moments that people type."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import overload

from services.cli.failure import CliFailure

MOMENT = "TIME"
"""The metavar of an option that takes a moment."""
_EXAMPLES = "2026-11-02, 2026-11-02T09:30 (UTC) or 2026-11-02T09:30+01:00"


@overload
def moment(option: str, text: str) -> str: ...
@overload
def moment(option: str, text: None) -> None: ...
@overload
def moment(option: str, text: str | None) -> str | None: ...
def moment(option: str, text: str | None) -> str | None:
    """Return a date, or a date and time, in the interface's form. An offset is kept; without one it is UTC.

    Raises CliFailure.
    """
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise CliFailure(f"{option} {text} is not a time. Write one such as {_EXAMPLES}") from error
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).isoformat()
