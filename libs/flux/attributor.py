"""From batches of spans to the demand baseline: the open window in front, sums behind it, nothing else is kept."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from libs.domain.demand import Demand
from libs.domain.spans import Spans
from libs.flux.demand import demand_of
from libs.flux.trace_window import TraceWindow

SWEEPS_PER_WINDOW = 2


@dataclass(slots=True, kw_only=True)
class Attributor:
    """Takes spans in order of arrival and attributes each trace once it is complete.

    products  how many there are
    window    how long a trace stays open after its last span, in what arrivals count: spans of a file, or seconds
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
        """Spans dropped since their trace had been closed."""
        return self._window.late

    @property
    def open_spans(self) -> int:
        """Spans that wait for their trace to be complete."""
        return self._window.open_spans

    def add(self, spans: Spans, arrival: float, services: int) -> None:
        """Take a batch. `services` is how many names of services are known by now: it never falls."""
        self.spans += len(spans)
        self._window.add(spans, arrival)
        if arrival - self._swept >= self.window / SWEEPS_PER_WINDOW:
            self._sweep(arrival, services)

    def finish(self, services: int) -> Demand:
        """The demand of everything that was added; no trace stays open."""
        self._sweep(math.inf, services)
        return self.demand if self.demand is not None else Demand.none(services, self.products)

    def _sweep(self, now: float, services: int) -> None:
        self._swept = now
        closed = self._window.close(now)
        found = (
            demand_of(closed, services, self.products) if closed is not None else Demand.none(services, self.products)
        )
        self.demand = found if self.demand is None else self.demand.plus(found)
