"""The finding of a judge."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that the history breaks; `ops` are the numbers of the operations involved."""

    rule: str
    message: str
    ops: tuple[int, ...] = ()
