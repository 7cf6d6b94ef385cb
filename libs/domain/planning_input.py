"""Planning inputs: tables that people write about the future, stored in versions. The latest version counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class InputVersion:
    """One version of a planning input. Versions count from 1 and never change.

    rows     number of rows
    comment  the author's reason, in the author's words
    """

    planning_input_version_id: int
    name: str
    version: int
    rows: int
    comment: str | None
    created_by: str
    created_at: datetime
