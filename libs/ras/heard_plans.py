"""Follow the progress of a solve: of each plan found, the sums over all priorities."""

from __future__ import annotations

import math
from collections.abc import Callable

from libs.assignment import Progress


class HeardPlans:
    """A listener that keeps the latest value and bound of every priority, and passes on their sums.

    The values of one plan come one after the other, the last priority last. So sums are passed on only then: before,
    values of two plans would be in one sum.
    """

    def __init__(self, levels: int, tell: Callable[[str, float, float], None]) -> None:
        self._tell = tell
        self._value = [math.nan] * levels
        self._bound = [-math.inf] * levels

    def __call__(self, progress: Progress) -> None:
        """Record the value and bound of a priority. Pass on the sums once the last priority has its value."""
        if progress.level:
            self._value[progress.level - 1] = progress.value
            self._bound[progress.level - 1] = progress.bound
        if progress.level == len(self._value):
            self._tell("search", sum(self._value), max(0.0, sum(self._bound)))
