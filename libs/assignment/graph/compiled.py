"""Compile a problem once: its expression graph, and the part of each constraint and goal in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from libs.assignment.graph.bounds import least_levels
from libs.assignment.graph.cell import Cell, Total
from libs.assignment.graph.contradictions import refuse_contradictions
from libs.assignment.graph.full_evaluation import CellValue, compute
from libs.assignment.graph.linear import Graph
from libs.assignment.graph.reach import PART, Reach, reaches
from libs.assignment.language.arrays import Ints
from libs.assignment.language.errors import BadValues
from libs.assignment.language.problem import Problem

NAMES_MAX = 3
"""Names of specs to show if many share a cell."""
THIN = 1e-5
"""A level that every object changes by less is scaled up, because solvers round 1e-9 to zero."""

TOLERANCE, SUMS = 1e-6, 1e-10
"""Relative errors of a level: rounding of solvers, and of very long sums of floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One constraint or goal.

    level    0: a constraint; 1 and up: the priorities that occur, in order
    weight   factor of its value in the objective: a goal's weight over its scale
    """

    name: str
    level: int
    hard: bool
    weight: float
    priority: int | None = None

    @property
    def kind(self) -> str:
        """Return the kind for people."""
        if self.priority is not None:
            return f"goal, priority {self.priority}"
        return "hard constraint" if self.hard else "soft constraint"


@dataclass(frozen=True, kw_only=True, eq=False)
class Compiled:
    """A problem as cells, each of them after the cells that it reads. All solvers read it, and none changes it.

    terms       constraints and goals in the order of their statement
    parts       the cells that each term adds up; `level` is the number of the term, and `weight` excludes its weight
    priorities  those that occur, in order
    """

    problem: Problem
    graph: Graph
    terms: tuple[Term, ...]
    parts: tuple[Total, ...]
    priorities: tuple[int, ...]

    @classmethod
    def of(cls, problem: Problem) -> Compiled:
        """Build the graph of all goals and constraints. Size and time grow with objects + containers.

        Raises: Contradiction if hard constraints exclude each other; BadValues if a value may overflow.
        """
        graph = Graph(len(problem.containers), len(problem.objects))
        terms: list[Term] = []
        parts: list[Total] = []
        hard: list[tuple[str, Cell]] = []
        for constraint in problem.constraints:
            name = constraint.spec.where
            for excess in constraint.excess:
                cell = graph.add(excess, hard=constraint.hard)
                parts.append(Total(cell, len(terms), 1.0))
                if constraint.hard:
                    hard.append((name, graph.cells[cell]))
            terms.append(Term(name=name, level=0, hard=constraint.hard, weight=constraint.weight))
        refuse_contradictions(hard)
        priorities = tuple(sorted({goal.priority for goal in problem.goals}))
        for goal in problem.goals:
            parts += [Total(cell, len(terms), by) for cell, by in graph.totals(goal.cost)]
            level, weight = 1 + priorities.index(goal.priority), goal.weight / goal.scale
            terms.append(
                Term(name=goal.spec.where, level=level, hard=False, weight=weight, priority=goal.priority),
            )
        found = cls(problem=problem, graph=graph, terms=tuple(terms), parts=tuple(parts), priorities=priorities)
        found._refuse_overflow()
        return found

    def _refuse_overflow(self) -> None:
        """Raises BadValues if a weight times the largest amount is not finite."""
        for cell, k, by in self.parts:
            term, most = self.terms[k], self.reaches[cell].total
            if not math.isfinite(abs(term.weight * by) * most):
                raise BadValues(
                    f"{term.name}: {most:g} times the weight {term.weight:g} is not finite; use larger units"
                )

    @property
    def levels(self) -> int:
        """Return the number of levels: one for broken constraints, and the priorities."""
        return 1 + len(self.priorities)

    @cached_property
    def unit(self) -> tuple[float, ...]:
        """Return the unit of `totals`, `values` and `least`, (levels,). A power of 2, so that scaling does not
        round.
        """
        largest, reached = [0.0] * self.levels, self.reaches
        for cell, k, by in self.parts:
            term = self.terms[k]
            largest[term.level] = max(largest[term.level], abs(term.weight * by) * reached[cell].most)
        return tuple(2.0 ** math.floor(math.log2(one)) if 0 < one < THIN else 1.0 for one in largest)

    @cached_property
    def reaches(self) -> tuple[Reach, ...]:
        """Return how much objects can change each cell."""
        return tuple(reaches(self.graph.cells))

    @cached_property
    def least_steps(self) -> tuple[float, ...]:
        """Return the least nonzero change of each level by one object, (levels,), in the level's unit; inf: no object
        changes the level.
        """
        found = [math.inf] * self.levels
        for cell, level, weight in self.totals:
            step = abs(weight) * self.reaches[cell].least
            if step > 0:
                found[level] = min(found[level], step)
        return tuple(found)

    def tolerance(self, level: int, value: float) -> float:
        """Return the tolerance of a level: two values count as equal if they differ by at most this. In the level's
        unit.

        The tolerance is a millionth of `value`, because solvers round. If one object can change the level by less, the
        tolerance is a part of that change.
        """
        size = max(1.0, abs(value))
        return max(min(TOLERANCE * size, PART * self.least_steps[level]), SUMS * size)

    @cached_property
    def totals(self) -> tuple[Total, ...]:
        """Return the cells of each level, with their weights. Level 0 is the total excess. Levels 1 and up are the
        priorities.
        """
        terms, unit = self.terms, self.unit
        return tuple(
            Total(cell, terms[k].level, terms[k].weight * by / unit[terms[k].level]) for cell, k, by in self.parts
        )

    @cached_property
    def least(self) -> tuple[float, ...]:
        """Return a lower bound of each level, (levels,). If only one assignment is possible, return its values."""
        if len(self.problem.containers) < 2 or not len(self.problem.objects):
            return self.added_up(self.start)
        return least_levels(self.graph, self.totals, self.levels)

    @cached_property
    def start(self) -> tuple[CellValue, ...]:
        """Return every cell's value at the start."""
        return tuple(compute(self.graph, self.problem.initial, self.problem.initial))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the specs of each cell, for messages."""
        cells = self.graph.cells
        specs: list[set[str]] = [set() for _ in cells]
        for part in self.parts:
            specs[part.cell].add(self.terms[part.level].name)
        for cell in reversed(range(len(cells))):
            for link in cells[cell].links:
                specs[link.source] |= specs[cell]
        return tuple(map(_joined, specs))

    def values(self, assignment: Ints) -> tuple[float, ...]:
        """Return the value of each level, from the definitions."""
        return self.added_up(compute(self.graph, self.problem.initial, assignment))

    def added_up(self, cells: tuple[CellValue, ...] | list[CellValue]) -> tuple[float, ...]:
        """Return the value of each level, from the values of all cells."""
        found = np.zeros(self.levels)
        for total in self.totals:
            found[total.level] += total.weight * cells[total.cell].total
        return tuple(map(float, found))


def _joined(names: set[str]) -> str:
    listed = sorted(names)
    more = len(listed) - NAMES_MAX
    return ", ".join(listed[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")
