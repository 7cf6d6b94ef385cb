"""Where Prometheus is asked for use or traffic, and how far that has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Fills(StrEnum):
    """What a source measures."""

    USAGE = "usage"
    TRAFFIC = "traffic"

    @property
    def names(self) -> tuple[str, ...]:
        """What names a series of it, in order."""
        return ("service", "region", "hardware_type") if self is Fills.USAGE else ("product", "region")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricQuery:
    """What is asked.

    query         an expression of PromQL, one sample per series and step
    labels        name of a series -> the label that holds it
    constants     name of a series -> what it is in all of them
    step_minutes  between samples
    scale         what a value is multiplied by, into the unit that is kept
    """

    fills: Fills
    query: str
    labels: Mapping[str, str]
    constants: Mapping[str, str]
    step_minutes: int
    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPull:
    """How far a source was pulled.

    samples          of the last answer
    series_left_out  of the last answer, those that lack a name
    error            in words, why the last attempt failed; None: it did not
    """

    pulled_until: datetime
    attempted_at: datetime
    samples: int
    series_left_out: int
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSource:
    """A source as it is kept. pull: None until it was first tried."""

    metric_source_id: int
    name: str
    query: MetricQuery
    generation: int
    pull: MetricPull | None
