"""Something about a region that is so, not so, or not known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionCondition:
    """type and reason are identifiers that clients may match, CamelCase; message is for people.

    last_transition   since when it is so; None where it never was otherwise
    """

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str
    last_transition: datetime | None
