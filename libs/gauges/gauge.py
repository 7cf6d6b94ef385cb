"""The interface of a gauge: a source of measurements for gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from libs.domain.execution_plan import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One measurement to make. `key` is the same for all measurements of a gate at one fraction of an action."""

    key: str
    action: Action
    query: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A value; or None, and why nothing was measured."""

    value: float | None
    note: str | None = None


@runtime_checkable
class Gauge(Protocol):
    """Measures, any number of questions at a time."""

    def measure(self, questions: Sequence[Question]) -> Sequence[Measured]:
        """Return what was measured, in the order of `questions`. Never raises for a source that does not answer."""
