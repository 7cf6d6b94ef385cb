"""Hold a problem as a mixed-integer program, and map solutions back to assignments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from libs.assignment.graph.classes import Classes
from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import ModelError
from libs.assignment.language.problem import Problem
from libs.assignment.model.assembly import Completion, RowBlock
from libs.assignment.model.counts_to_objects import place
from libs.assignment.model.leaving_counts import Leaving
from libs.assignment.model.movement import Movement
from libs.mip.model import Model

LEAST = 1e-9
"""Relative loss that a held level allows, for rounding in sums of floats. HiGHS's presolve goes wrong at 1e-6."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Level:
    """The objective of one level, cost @ x + offset: the total excess (level 0), or the goals of a priority.

    error  largest difference from the true value; 0 unless there are curves
    """

    cost: Floats
    offset: float
    error: float

    def least(self, model: Model) -> float:
        """Return the lower bound that follows from the bounds of the columns alone."""
        return float(np.minimum(self.cost * model.lower, self.cost * model.upper).sum()) + self.offset

    def held_at_least(self, model: Model) -> Model:
        """Return the model with each column of nonzero cost fixed at its cheapest bound. Solvers prefer that to
        a row.
        """
        return replace(
            model,
            upper=np.where(self.cost > 0, model.lower, model.upper),
            lower=np.where(self.cost < 0, model.upper, model.lower),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lowered:
    """A mixed-integer program over counts of objects per class and container.

    kind, container, held  (Q,) of the count columns, which are columns 0..Q-1: the class, the container, and the
                           number of its objects in the container at the start
    model                  all columns and rows; its cost is 0, because the levels have the costs. Row k < K says that
                           all objects of class k are placed. Every column has finite bounds. The start is feasible
    blocks                 the meaning of the rows, and their specs
    sound                  no level's value in the model is above the true one, so bounds are valid
    """

    problem: Problem
    compiled: Compiled
    classes: Classes
    movement: Movement
    kind: Ints
    container: Ints
    held: Ints
    model: Model
    levels: tuple[Level, ...]
    blocks: tuple[RowBlock, ...]
    leaving: Leaving
    completions: tuple[Completion, ...]
    sound: bool

    @property
    def stated(self) -> int:
        """Return the number of rows that say what the problem is. Those after them follow from these (ADR 0062)."""
        return max((block.last for block in self.blocks), default=0)

    @property
    def has_cuts(self) -> bool:
        """Return whether there are more rows. Then the cheapest point of fractional counts may break one."""
        return len(self.model.row_lower) > self.stated

    def at(self, level: int, most: Sequence[float] = ()) -> Model:
        """Return the model that minimises one level while the levels above stay at most at the given values."""
        model = self.model
        for held, (above, value) in enumerate(zip(self.levels[:level], most, strict=True)):
            if value <= above.least(self.model) + self.rounding(held, value):
                model = above.held_at_least(model)
            elif above.cost.any():
                model = replace(
                    model,
                    matrix=sp.csc_array(sp.vstack([model.matrix, sp.csr_array(above.cost[None, :])])),
                    row_lower=np.append(model.row_lower, -np.inf),
                    row_upper=np.append(model.row_upper, value - above.offset),
                )
        return replace(model, cost=self.levels[level].cost, offset=self.levels[level].offset)

    def rounding(self, level: int, value: float) -> float:
        """Return the loss that a level with this value may have while the solver minimises the levels below. It is less
        than any step of the level.
        """
        return min(LEAST * max(1.0, abs(value)), self.compiled.tolerance(level, value))

    def weighted(self, weights: Sequence[float]) -> Model:
        """Return the model that minimises a weighted sum of all levels."""
        pairs = list(zip(weights, self.levels, strict=True))
        cost = np.sum([by * level.cost for by, level in pairs], axis=0)
        return replace(self.model, cost=cost, offset=sum(by * level.offset for by, level in pairs))

    def counts(self, assignment: Ints) -> Ints:
        """Return the counts of an assignment, (Q,)."""
        containers = len(self.problem.containers)
        pairs, number = np.unique(self.classes.of * containers + assignment, return_counts=True)
        keys = self.kind * containers + self.container
        at = np.minimum(np.searchsorted(keys, pairs), len(keys) - 1)
        if (keys[at] != pairs).any():
            kind, container = divmod(int(pairs[keys[at] != pairs][0]), containers)
            who = np.flatnonzero((self.classes.of == kind) & (assignment == container))[0]
            raise ModelError(
                f"object {self.problem.objects.name(int(who))!r} in container "
                f"{self.problem.containers.name(container)!r}: a hard constraint forbids it"
            )
        counts = np.zeros(len(keys), dtype=np.int64)
        counts[at] = number
        return counts

    def point(self, assignment: Ints) -> Floats:
        """Return the point of an assignment, (C,)."""
        point = np.zeros(len(self.model.cost))
        point[: len(self.kind)] = self.counts(assignment)
        home, subclass = self.movement.home, self.movement.subclass
        left = (home[assignment] != home[self.problem.initial]) & (subclass >= 0)
        point[self.leaving.column] = np.bincount(subclass[left], minlength=len(self.leaving.column))
        return self._completed(point)

    def point_of(self, counts: Floats | Ints) -> Floats:
        """Return the cheapest point with these counts, (C,), also for fractional counts. Cheap objects leave first.

        With fractional counts it may break cuts.
        """
        point = np.zeros(len(self.model.cost))
        point[: len(self.kind)] = counts
        self.leaving.fill(point)
        return self._completed(point)

    def values(self, point: Floats) -> tuple[float, ...]:
        """Return the cost of a point at each level, according to the model."""
        # not cost @ point: that would start a thread on every core for little work
        return tuple(float((level.cost * point).sum()) + level.offset for level in self.levels)

    def assignment(self, counts: Ints, point: Floats | None = None) -> Ints:
        """Return an assignment with these counts, (N,). Objects stay if they can, and cheap ones leave first.

        point  if given, it decides how many objects of each subclass leave
        """
        leave = None if point is None else np.rint(point[self.leaving.column]).astype(np.int64)
        return place(self, np.asarray(counts, dtype=np.int64), leave)

    def _completed(self, point: Floats) -> Floats:
        for each in self.completions:
            each.fill(point)
        return point
