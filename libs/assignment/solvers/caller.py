"""Connect a solve with its caller, who can follow the progress and end the solve."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a solve, in the stated weights.

    time_s  seconds since the solve began
    level   0: broken constraints; 1 and up: the priorities that occur, in order
    value   of the best assignment so far, at that level
    bound   lower bound of the level, for assignments equally good at all levels above; -inf: not known yet
    """

    time_s: float
    level: int
    value: float
    bound: float = -math.inf


Listener = Callable[[Progress], None]
"""Called by the solver, in the thread in which it works."""
Cancelled = Callable[[], bool]
"""Return whether the solve must end now."""


class Caller:
    """Tells the listener, and asks whether to end. After the answer yes it does not ask again.

    began  time.perf_counter() when the solve began
    unit   (levels,) the factor from the units of a compiled problem to the stated weights
    """

    def __init__(
        self,
        began: float,
        unit: Sequence[float],
        progress: Listener | None = None,
        cancelled: Cancelled | None = None,
    ) -> None:
        self._began, self._unit = began, unit
        self._progress, self._cancelled = progress, cancelled
        self._over = False

    @property
    def listens(self) -> bool:
        """Return whether there is a listener. Values are computed only for a listener."""
        return self._progress is not None

    @property
    def relay(self) -> Listener | None:
        """Return the listener for an inner solve, with the times of the outer one. None without a listener."""
        heard, began = self._progress, self._began
        if heard is None:
            return None
        return lambda progress: heard(replace(progress, time_s=time.perf_counter() - began))

    @property
    def cancels(self) -> Cancelled | None:
        """Return the question for solvers that ask it themselves; None without one."""
        return None if self._cancelled is None else self.cancelled

    def cancelled(self) -> bool:
        """Return whether the caller has ended the solve."""
        if not self._over and self._cancelled is not None:
            self._over = bool(self._cancelled())
        return self._over

    def silent(self) -> Caller:
        """Return a caller without a listener that may end the same solve."""
        return Caller(self._began, self._unit, cancelled=self.cancelled)

    def tell(self, level: int, value: float, bound: float = -math.inf) -> None:
        """Report a value and a bound of a level, in the units of the compiled problem."""
        if self._progress is not None:
            by = self._unit[level]
            now_s = time.perf_counter() - self._began
            self._progress(Progress(time_s=now_s, level=level, value=value * by, bound=bound * by))
