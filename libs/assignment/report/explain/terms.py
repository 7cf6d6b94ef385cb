"""Evaluate every constraint and goal by itself, instead of their sums in the objective."""

from __future__ import annotations

import numpy as np

from libs.assignment.graph.cell import Total
from libs.assignment.graph.compiled import Compiled
from libs.assignment.graph.full_evaluation import compute
from libs.assignment.graph.reach import Reach, added_up, reaches, tolerance_of
from libs.assignment.incremental.delta import try_moves
from libs.assignment.incremental.pack import pack
from libs.assignment.incremental.program import Program
from libs.assignment.incremental.tables import State
from libs.assignment.language.arrays import Floats, Ints


class Terms:
    """A compiled problem in which each of its T terms has a level of its own. A term is one constraint or goal.

    Hard constraints forbid nothing here, so that any move can be evaluated.

    all      the terms
    reached  (T,) how much objects can change the value of each term
    """

    def __init__(self, compiled: Compiled) -> None:
        problem = compiled.problem
        self.problem, self.all = problem, compiled.terms
        self.graph, place = compiled.graph.settled(limited=False)
        self._cells = tuple(Total(place[cell], term, by) for cell, term, by in compiled.parts)
        self._reaches = reaches(self.graph.cells)
        parts: list[list[Reach]] = [[] for _ in self.all]
        for one in self._cells:
            parts[one.level].append(self._reaches[one.cell].times(abs(one.weight), abs(one.weight)))
        self.reached = [added_up(of_term) for of_term in parts]
        count = max(len(self.all), 1)
        self._program = Program(
            problem=problem,
            graph=self.graph,
            tables=pack(self.graph, self._cells, problem.initial, count),
            goals=self._cells,
            priorities=tuple(range(count - 1)),
            least=(-np.inf,) * count,
        )

    def state(self, assignment: Ints) -> State:
        """Return the state of a search at `assignment` (N,), computed in full."""
        return self._program.state(assignment)

    def values(self, assignment: Ints) -> Floats:
        """Return the value of each term under `assignment` (N,), without the weight of the term, (T,)."""
        return self.state(assignment).part[: len(self.all)].copy()

    def change(self, state: State, objects: Ints, containers: Ints) -> Floats:
        """Return the change of each term, (T,), if each of `objects` moves to its container in `containers`.

        The moves are not applied to `state`.
        """
        try_moves(self._program.tables, state, objects, containers, False)
        count = self._program.levels
        return np.asarray(state.part[count : count + len(self.all)].copy())

    def growing(self, before: Ints, after: Ints) -> dict[int, float]:
        """Return the numbers of the hard constraints with elements that are larger in `after` than in `before`, and
        the sum of the growth of these elements.
        """
        was, now = (compute(self.graph, self.problem.initial, one) for one in (before, after))
        found: dict[int, float] = {}
        for one in self._cells:
            if self.all[one.level].hard:
                cell = self.graph.cells[one.cell]
                change = now[one.cell].y - was[one.cell].y
                growth = change if cell.dense else change.data
                growth = growth[growth > tolerance_of(cell, self._reaches[one.cell])]
                if len(growth):
                    found[one.level] = found.get(one.level, 0.0) + float(growth.sum()) * one.weight
        return dict(sorted(found.items()))
