"""What a judge says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that the history breaks, and where: `ops` are numbers of its operations."""

    rule: str
    message: str
    ops: tuple[int, ...] = ()
