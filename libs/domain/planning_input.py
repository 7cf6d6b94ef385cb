"""What people say of the time to come: tables in versions, of which the latest counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class InputVersion:
    """One version of a planning input. Versions count from 1 and are never changed.

    rows     how many
    comment  why, in the words of who put it
    """

    planning_input_version_id: int
    name: str
    version: int
    rows: int
    comment: str | None
    created_by: str
    created_at: datetime
