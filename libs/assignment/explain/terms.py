"""Every constraint and every goal with a value of its own: what the objective adds up, taken apart again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.arrays import Floats, Ints
from libs.assignment.problem import Problem
from libs.assignment.search.delta import try_moves
from libs.assignment.search.linear import Graph
from libs.assignment.search.pack import Weighted, pack, start
from libs.assignment.search.tables import State
from libs.assignment.search.whole import compute


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


class Terms:
    """The graph of a problem with a level for each term instead of one for each priority, and no element forbidden."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        priorities = sorted({goal.priority for goal in problem.goals})
        graph = Graph(len(problem.containers), len(problem.objects))
        cells: list[Weighted] = []
        terms: list[Term] = []
        for constraint in problem.constraints:
            cells += [Weighted(graph.add(excess), len(terms), 1.0) for excess in constraint.excess]
            name, hard = constraint.spec.where, constraint.hard
            terms.append(Term(name=name, level=0, hard=hard, weight=constraint.weight))
        for goal in problem.goals:
            cells += [Weighted(cell, len(terms), by) for cell, by in graph.totals(goal.cost)]
            level, weight = 1 + priorities.index(goal.priority), goal.weight / goal.scale
            found = Term(name=goal.spec.where, level=level, hard=False, weight=weight, priority=goal.priority)
            terms.append(found)
        place = graph.reorder()
        self.graph, self.all = graph, tuple(terms)
        self._cells = [Weighted(place[one.cell], one.level, one.weight) for one in cells]
        self._tables = pack(graph, self._cells, problem.initial, max(len(terms), 1))

    def state(self, assignment: Ints) -> State:
        """Everything computed whole."""
        values = compute(self.graph, self.problem.initial, assignment)
        return start(self._tables, self.graph, values, self.problem.initial, assignment, self._cells)

    def values(self, assignment: Ints) -> Floats:
        """(T,) the value of each term, without its weight."""
        return self.state(assignment).part[: len(self.all)].copy()

    def change(self, state: State, objects: Ints, containers: Ints) -> Floats:
        """(T,) what some moves at once add to each term; nothing is moved."""
        try_moves(self._tables, state, objects, containers, False)
        count = max(len(self.all), 1)
        return np.asarray(state.part[count : count + len(self.all)].copy())

    def growing(self, before: Ints, after: Ints) -> list[int]:
        """Numbers of the hard constraints of which some element is larger after than before."""
        was, now = (compute(self.graph, self.problem.initial, one) for one in (before, after))
        found = set()
        for one in self._cells:
            if self.all[one.level].hard:
                grown = now[one.cell].y - was[one.cell].y
                most = grown.max() if self.graph.cells[one.cell].dense else grown.data.max(initial=0.0)
                if most > 1e-9 * max(1.0, float(np.abs(was[one.cell].total))):
                    found.add(one.level)
        return sorted(found)
