"""Hold the agenda of a simulated day: actions at times on the Clock."""

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
    """Actions by the second of the day at which they are due. Actions of the same moment keep their order."""

    clock: Clock
    begins: datetime
    _due: list[tuple[float, int, Action]] = field(default_factory=list)
    _order: count[int] = field(default_factory=count)

    def at(self, at_s: float, action: Action) -> None:
        """Add an action at a time."""
        heapq.heappush(self._due, (at_s, next(self._order), action))

    def every(self, interval_s: float, until_s: float, action: Action) -> None:
        """Repeat an action at an interval. If the day runs late, skip the missed times."""

        def again(at_s: float) -> None:
            action()
            following = max(at_s + interval_s, self.now_s())
            if following < until_s:
                self.at(following, lambda: again(following))

        self.at(0.0, lambda: again(0.0))

    def now_s(self) -> float:
        """Return the seconds since the beginning of the simulated day."""
        return (self.clock.now() - self.begins) / timedelta(seconds=1)

    def run(self, until_s: float, meanwhile: Action) -> None:
        """Run all actions due before `until_s`, and return at that time. Call `meanwhile` repeatedly."""
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
