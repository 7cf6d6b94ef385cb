"""A problem compiled once: its expression graph, and what every constraint and goal takes from it."""

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
"""Specs that are named where many share a cell."""
THIN = 1e-5
"""A level to which no object adds more is computed in units of what one adds: solvers take 1e-9 for nothing."""

TOLERANCE, SUMS = 1e-6, 1e-10
"""Of a level: what solvers round to, and what sums of very many floats are off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One constraint or goal.

    level    0: a constraint; 1 and up: the priorities that occur, in order
    weight   what the objective multiplies its value by: a goal's weight over its scale
    """

    name: str
    level: int
    hard: bool
    weight: float
    priority: int | None = None

    @property
    def kind(self) -> str:
        """For people."""
        if self.priority is not None:
            return f"goal, priority {self.priority}"
        return "hard constraint" if self.hard else "soft constraint"


@dataclass(frozen=True, kw_only=True, eq=False)
class Compiled:
    """Cells in an order in which each comes after those that it reads. All solvers read it; none changes it.

    terms       constraints and goals, in the order in which they were stated
    parts       the cells that each term adds up; `level` is the number of the term, and its weight is not in `weight`
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

        Raises: Contradiction where hard constraints rule each other out; BadValues where a value may overflow.
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
        """A weight times all that there is may be no number any more."""
        for cell, k, by in self.parts:
            term, most = self.terms[k], self.reaches[cell].total
            if not math.isfinite(abs(term.weight * by) * most):
                raise BadValues(f"{term.name}: amounts of {most:g} times a weight of {term.weight:g} are not finite")

    @property
    def levels(self) -> int:
        """What is broken, and the priorities."""
        return 1 + len(self.priorities)

    @cached_property
    def unit(self) -> tuple[float, ...]:
        """(levels,) what 1 in `totals`, `values` and `least` stands for. A power of 2, so that nothing is rounded."""
        largest, reached = [0.0] * self.levels, self.reaches
        for cell, k, by in self.parts:
            term = self.terms[k]
            largest[term.level] = max(largest[term.level], abs(term.weight * by) * reached[cell].most)
        return tuple(2.0 ** math.floor(math.log2(one)) if 0 < one < THIN else 1.0 for one in largest)

    @cached_property
    def reaches(self) -> tuple[Reach, ...]:
        """By how much objects change each cell."""
        return tuple(reaches(self.graph.cells))

    @cached_property
    def least_steps(self) -> tuple[float, ...]:
        """(levels,) the least by which an object changes a level, in its unit, where it changes it; inf: none does."""
        found = [math.inf] * self.levels
        for cell, level, weight in self.totals:
            step = abs(weight) * self.reaches[cell].least
            if step > 0:
                found[level] = min(found[level], step)
        return tuple(found)

    def tolerance(self, level: int, value: float) -> float:
        """By how much values of a level may differ and count as equal, in its unit.

        A millionth, as solvers round; of a level to which objects add little beside its value, a part of that.
        """
        size = max(1.0, abs(value))
        return max(min(TOLERANCE * size, PART * self.least_steps[level]), SUMS * size)

    @cached_property
    def totals(self) -> tuple[Total, ...]:
        """What each level adds up: level 0 is what is broken; levels 1 and up are the priorities."""
        terms, unit = self.terms, self.unit
        return tuple(
            Total(cell, terms[k].level, terms[k].weight * by / unit[terms[k].level]) for cell, k, by in self.parts
        )

    @cached_property
    def least(self) -> tuple[float, ...]:
        """(levels,) No assignment takes a level below. Where there is only one, that is what it comes to."""
        if len(self.problem.containers) < 2 or not len(self.problem.objects):
            return self.added_up(self.start)
        return least_levels(self.graph, self.totals, self.levels)

    @cached_property
    def start(self) -> tuple[CellValue, ...]:
        """Every cell's value at the start."""
        return tuple(compute(self.graph, self.problem.initial, self.problem.initial))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The specs that each cell belongs to, for messages."""
        cells = self.graph.cells
        specs: list[set[str]] = [set() for _ in cells]
        for part in self.parts:
            specs[part.cell].add(self.terms[part.level].name)
        for cell in reversed(range(len(cells))):
            for link in cells[cell].links:
                specs[link.source] |= specs[cell]
        return tuple(map(_joined, specs))

    def values(self, assignment: Ints) -> tuple[float, ...]:
        """Each level, from the definitions."""
        return self.added_up(compute(self.graph, self.problem.initial, assignment))

    def added_up(self, cells: tuple[CellValue, ...] | list[CellValue]) -> tuple[float, ...]:
        """Each level, from the value of every cell."""
        found = np.zeros(self.levels)
        for total in self.totals:
            found[total.level] += total.weight * cells[total.cell].total
        return tuple(map(float, found))


def _joined(names: set[str]) -> str:
    listed = sorted(names)
    more = len(listed) - NAMES_MAX
    return ", ".join(listed[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")
