"""The agenda of a simulated day: who does what when, on the Clock."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count

from libs.reconcile.clock import Clock

Action = Callable[[], None]


@dataclass(slots=True)
class Agenda:
    """Actions by the second of the day at which they are due; those of one moment in the order in which they came."""

    clock: Clock
    begins: datetime
    _due: list[tuple[float, int, Action]] = field(default_factory=list)
    _order: count[int] = field(default_factory=count)

    def at(self, at_s: float, action: Action) -> None:
        """Do this then."""
        heapq.heappush(self._due, (at_s, next(self._order), action))

    def every(self, interval_s: float, until_s: float, action: Action) -> None:
        """Do this now and again. A day that is behind skips what it has missed."""

        def again(at_s: float) -> None:
            action()
            following = max(at_s + interval_s, self.now_s())
            if following < until_s:
                self.at(following, lambda: again(following))

        self.at(0.0, lambda: again(0.0))

    def now_s(self) -> float:
        """Seconds into the day."""
        return (self.clock.now() - self.begins) / timedelta(seconds=1)

    def run(self, until_s: float, meanwhile: Action) -> None:
        """Do everything that is due before `until_s`, and be there until then; `meanwhile` is called now and again."""
        while True:
            meanwhile()
            following = self._due[0][0] if self._due else until_s
            wait_s = min(following, until_s) - self.now_s()
            if wait_s > 0:
                self.clock.sleep(min(wait_s, 300.0))
            elif following >= until_s:
                return
            else:
                heapq.heappop(self._due)[2]()
