"""A problem's graph with what each cell counts for, before any solver's own form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from libs.assignment.arrays import Ints
from libs.assignment.problem import Problem
from libs.assignment.search.cell import Cell
from libs.assignment.search.contradictions import refuse_contradictions
from libs.assignment.search.linear import Graph
from libs.assignment.search.whole import CellValue, compute

NAMES_MAX = 3
"""Specs that are named where many share a cell."""


class Total(NamedTuple):
    """A level has weight * (sum of a cell's elements) in it."""

    cell: int
    level: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stated:
    """Cells in an order in which each comes after those that it reads.

    names   the specs that each cell belongs to
    totals  level 0 is what is broken; levels 1 and up are the priorities that occur, in order
    start   every cell's value at the start
    """

    problem: Problem
    graph: Graph
    names: tuple[str, ...]
    totals: tuple[Total, ...]
    priorities: tuple[int, ...]
    start: tuple[CellValue, ...]

    @property
    def levels(self) -> int:
        """What is broken, and the priorities."""
        return 1 + len(self.priorities)

    def values(self, assignment: Ints) -> tuple[float, ...]:
        """Each level, from the definitions."""
        cells = compute(self.graph, self.problem.initial, assignment)
        found = np.zeros(self.levels)
        for total in self.totals:
            found[total.level] += total.weight * cells[total.cell].total
        return tuple(map(float, found))


def state(problem: Problem) -> Stated:
    """Build the graph; refuse hard constraints that rule each other out."""
    graph = Graph(len(problem.containers), len(problem.objects))
    totals: list[Total] = []
    specs: dict[int, set[str]] = {}
    hard: list[tuple[str, Cell]] = []
    for constraint in problem.constraints:
        for excess in constraint.excess:
            cell = graph.add(excess, hard=constraint.hard)
            totals.append(Total(cell, 0, constraint.weight))
            specs.setdefault(cell, set()).add(constraint.spec.where)
            if constraint.hard:
                hard.append((constraint.spec.where, graph.cells[cell]))
    refuse_contradictions(hard)
    priorities = tuple(sorted({goal.priority for goal in problem.goals}))
    for goal in problem.goals:
        level, weight = 1 + priorities.index(goal.priority), goal.weight / goal.scale
        for cell, by in graph.totals(goal.cost):
            totals.append(Total(cell, level, weight * by))
            specs.setdefault(cell, set()).add(goal.spec.where)
    for cell in reversed(range(len(graph.cells))):
        for link in graph.cells[cell].links:
            specs.setdefault(link.source, set()).update(specs.get(cell, set()))
    return Stated(
        problem=problem,
        graph=graph,
        names=tuple(_joined(specs.get(cell, set())) for cell in range(len(graph.cells))),
        totals=tuple(totals),
        priorities=priorities,
        start=tuple(compute(graph, problem.initial, problem.initial)),
    )


def _joined(names: set[str]) -> str:
    listed = sorted(names)
    more = len(listed) - NAMES_MAX
    return ", ".join(listed[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")
