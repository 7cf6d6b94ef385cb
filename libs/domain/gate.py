"""Gates: conditions under which an action goes on, and the readings that tell."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Verdict(StrEnum):
    """Judgement of a gate by its readings."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"


class GateMode(StrEnum):
    """Effect of a bad gate."""

    OBSERVE = "observe"
    """Nothing: its readings are kept, so that people learn whether to trust it."""
    HOLD = "hold"
    REVERSE = "reverse"
    """Bring the traffic of the shift back if no person had a hand in it; hold otherwise."""


class GateTime(StrEnum):
    """When a gate is read."""

    FRACTION = "fraction"
    """At each fraction of a shift, while it bakes."""
    DOWNSIZE = "downsize"
    """Before a downsize."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One condition on measurements.

    query        what to measure; {product}, {service}, {region} and {to_region} stand for those of the action
    source       the adapter that measures, such as `prometheus` or `load_test`
    most, least  the value must lie between them; None: no bound on that side
    product, service   only for actions of this one; None: all
    samples_min  readings with a value that it takes for a verdict, good or bad
    bad_min      readings in a row out of bounds that it takes for bad
    age_s_max    seconds; an older reading says nothing
    unknown_s_max  seconds that an action holds for an unknown verdict
    then         what follows then: HOLD asks a person, REVERSE brings the traffic of a shift back. It never goes on.
    """

    name: str
    time: GateTime
    query: str
    source: str = "prometheus"
    mode: GateMode = GateMode.HOLD
    most: float | None = None
    least: float | None = None
    product: str | None = None
    service: str | None = None
    samples_min: int = 1
    bad_min: int = 1
    age_s_max: float = 300.0
    unknown_s_max: float = 3600.0
    then: GateMode = GateMode.HOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReading:
    """One measurement of a gate for an action.

    position  position of the action in its execution
    value     None: nothing was measured
    query     with its names filled in
    bound     the bounds that held, as text
    note      why nothing was measured
    """

    position: int
    gate: str
    at: datetime
    value: float | None
    query: str
    bound: str
    note: str | None = None
