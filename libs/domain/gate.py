"""Gates: conditions under which an action goes on, and the readings that decide them."""

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
    """Reaction to a bad verdict."""

    OBSERVE = "observe"
    """Only keep the readings, so that people learn whether to trust the gate."""
    HOLD = "hold"
    REVERSE = "reverse"
    """Bring the traffic of the shift back, unless a person changed the shift; then hold."""


class GateTime(StrEnum):
    """When a gate is read."""

    FRACTION = "fraction"
    """At each fraction of a shift, while it bakes."""
    DOWNSIZE = "downsize"
    """Before a downsize."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One condition on measurements.

    query        what to measure; {product}, {service}, {region} and {to_region} are replaced by the names of the action
    source       the adapter that measures, such as `prometheus` or `load_test`
    most, least  the value must lie between them; None: no bound on that side
    product, service   only for actions of this one; None: all
    samples_min  least number of readings with a value for the verdict good or bad
    bad_min      least number of consecutive readings out of bounds for the verdict bad
    age_s_max    seconds after which a reading no longer counts
    unknown_s_max  seconds that an action holds while the verdict is unknown
    then         reaction after that time: HOLD asks a person, REVERSE brings the traffic of a shift back
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
