"""Turn batches of spans into the demand baseline, keeping only the spans of open traces and the sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from libs.domain.demand import Demand
from libs.domain.spans import Spans
from libs.flux.attribution.demand import demand_of
from libs.flux.attribution.trace_window import TraceWindow

SWEEPS_PER_WINDOW = 2


@dataclass(slots=True, kw_only=True)
class Attributor:
    """Takes spans in order of arrival, and attributes each trace once it is complete: the cost of every span goes to a
    product.

    products  number of products
    window    time that a trace stays open after its last span, in the unit of `arrival`: spans of a file, or seconds
    """

    products: int
    window: float
    spans: int = 0
    demand: Demand | None = None
    _window: TraceWindow = field(init=False)
    _swept: float = -math.inf

    def __post_init__(self) -> None:
        self._window = TraceWindow(window=self.window)

    @property
    def late(self) -> int:
        """Number of spans dropped because their trace was closed already."""
        return self._window.late

    @property
    def open_spans(self) -> int:
        """Number of spans that wait for their trace to be complete."""
        return self._window.open_spans

    def add(self, spans: Spans, arrival: float, services: int) -> None:
        """Add a batch of spans. `services` is the number of service names known so far. This number must never fall."""
        self.spans += len(spans)
        self._window.add(spans, arrival)
        if arrival - self._swept >= self.window / SWEEPS_PER_WINDOW:
            self._sweep(arrival, services)

    def finish(self, services: int) -> Demand:
        """Close all traces and return the demand of all spans added."""
        self._sweep(math.inf, services)
        return self.demand if self.demand is not None else Demand.none(services, self.products)

    def _sweep(self, now: float, services: int) -> None:
        self._swept = now
        closed = self._window.close(now)
        found = (
            demand_of(closed, services, self.products) if closed is not None else Demand.none(services, self.products)
        )
        self.demand = found if self.demand is None else self.demand.plus(found)
