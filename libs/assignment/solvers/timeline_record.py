"""Record the timeline of a solve."""

from __future__ import annotations

import time

import numpy as np

from libs.assignment.language.arrays import Ints
from libs.assignment.solvers.result import Step


class Record:
    """Steps, each with the changes of its assignment since the previous one.

    initial  (N,) the initial assignment
    began    the start of the solve, by time.perf_counter
    """

    def __init__(self, initial: Ints, began: float) -> None:
        self.began = began
        self.steps: list[Step] = []
        self._noted = np.array(initial)

    def add(
        self, assignment: Ints, objective: tuple[float, ...], *, tries: int, made: int, time_s: float | None = None
    ) -> None:
        """Record a step.

        objective  by level, of this assignment: the total excess, and the priorities
        time_s     since the solve began; None: now
        """
        who = np.flatnonzero(assignment != self._noted)
        moved = who, assignment[who].copy()
        self._noted[who] = moved[1]
        now = time.perf_counter() - self.began if time_s is None else time_s
        self.steps.append(Step(time_s=now, tries=tries, made=made, objective=objective, moved=moved))
