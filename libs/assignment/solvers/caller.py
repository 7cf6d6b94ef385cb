"""Connect a solve with its caller, who can follow the progress and end the solve."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a solve, in the weights of the problem as stated.

    time_s  seconds since the solve began
    level   0: broken constraints; 1 and up: the priorities that occur, in order
    value   the value of the best assignment so far, at that level. `mip` and `portfolio` tell the value of their
            model, which may be below by the error of its curves (docs/assignment/lowering.md)
    bound   lower bound of the level, for assignments equally good at all levels above; -inf: not known yet
    """

    time_s: float
    level: int
    value: float
    bound: float = -math.inf


Listener = Callable[[Progress], None]
"""A function that receives progress. The solver calls it in the thread in which the solver works."""
Cancelled = Callable[[], bool]
"""A function that returns whether the solve must end now."""


class Caller:
    """The caller of a solve: it hears of progress through a listener, and may end the solve.

    After the caller has ended the solve once, the question is not asked again.

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
        """Return a listener for an inner solve that passes on progress with the time of the outer solve.

        Return None without a listener.
        """
        heard, began = self._progress, self._began
        if heard is None:
            return None
        return lambda progress: heard(replace(progress, time_s=time.perf_counter() - began))

    @property
    def cancels(self) -> Cancelled | None:
        """Return the function that tells whether the solve must end; None if the caller gave no such function."""
        return None if self._cancelled is None else self.cancelled

    def cancelled(self) -> bool:
        """Return whether the caller has ended the solve."""
        if not self._over and self._cancelled is not None:
            self._over = bool(self._cancelled())
        return self._over

    def silent(self) -> Caller:
        """Return a copy of this caller without a listener. It ends its solve when this caller does."""
        return Caller(self._began, self._unit, cancelled=self.cancelled)

    def tell(self, level: int, value: float, bound: float = -math.inf) -> None:
        """Tell the listener the value and the bound of `level`, both given in the units of the compiled problem."""
        if self._progress is not None:
            by = self._unit[level]
            now_s = time.perf_counter() - self._began
            self._progress(Progress(time_s=now_s, level=level, value=value * by, bound=bound * by))
