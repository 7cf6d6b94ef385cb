"""A Prometheus source of usage or traffic, and the progress of its pulls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Fills(StrEnum):
    """The table that a source fills."""

    USAGE = "usage"
    TRAFFIC = "traffic"

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that identify a series, in order."""
        return ("service", "region", "hardware_type") if self is Fills.USAGE else ("product", "region")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricQuery:
    """A query of a source.

    query         an expression in PromQL, one sample per series and step
    labels        kind of name (such as `service`) -> the label of Prometheus that holds the name
    constants     kind of name -> the constant name, where no label holds it
    step_minutes  minutes between samples
    scale         factor from a sample to the stored unit
    """

    fills: Fills
    query: str
    labels: Mapping[str, str]
    constants: Mapping[str, str]
    step_minutes: int
    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPull:
    """The progress of a source.

    pulled_until     end of the time that was pulled
    attempted_at     time of the last attempt
    samples          samples in the last answer
    series_left_out  series of the last answer that lack a name
    error            why the last attempt failed, in words; None: it succeeded
    """

    pulled_until: datetime
    attempted_at: datetime
    samples: int
    series_left_out: int
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSource:
    """A stored source. `pull` is None until the first attempt to pull."""

    metric_source_id: int
    name: str
    query: MetricQuery
    generation: int
    pull: MetricPull | None
