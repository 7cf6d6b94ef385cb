"""A problem made ready for local search."""

from __future__ import annotations

from dataclasses import dataclass

from libs.assignment.arrays import Ints
from libs.assignment.problem import Problem
from libs.assignment.search.bounds import least_levels
from libs.assignment.search.cell import Cell
from libs.assignment.search.contradictions import refuse_contradictions
from libs.assignment.search.linear import Graph
from libs.assignment.search.pack import Weighted, pack, start
from libs.assignment.search.tables import State, Tables
from libs.assignment.search.whole import compute


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """The graph of a problem, its arrays, and what its cells count.

    Level 0 is what is broken; levels 1 and up are the priorities of the goals that occur, in order. No assignment
    takes a level below `least`.
    """

    problem: Problem
    graph: Graph
    tables: Tables
    goals: list[Weighted]
    priorities: tuple[int, ...]
    least: tuple[float, ...]

    @property
    def levels(self) -> int:
        """What is broken, and the priorities."""
        return 1 + len(self.priorities)

    def state(self, assignment: Ints) -> State:
        """Everything computed whole."""
        values = compute(self.graph, self.problem.initial, assignment)
        return start(self.tables, self.graph, values, self.problem.initial, assignment, self.goals)


def compile_problem(problem: Problem, *, to_search: bool = False) -> Program:
    """Build the graph of all goals and constraints. Size and time grow with objects + containers.

    to_search  also find out which objects are alike, for local search to draw from
    """
    graph = Graph(len(problem.containers), len(problem.objects))
    goals: list[Weighted] = []
    hard: list[tuple[str, Cell]] = []
    for constraint in problem.constraints:
        for excess in constraint.excess:
            cell = graph.add(excess, hard=constraint.hard)
            goals.append(Weighted(cell, 0, constraint.weight))
            if constraint.hard:
                hard.append((constraint.spec.where, graph.cells[cell]))
    refuse_contradictions(hard)
    priorities = tuple(sorted({goal.priority for goal in problem.goals}))
    for goal in problem.goals:
        level, weight = 1 + priorities.index(goal.priority), goal.weight / goal.scale
        goals.extend(Weighted(cell, level, weight * by) for cell, by in graph.totals(goal.cost))
    place = graph.reorder()
    goals = [Weighted(place[goal.cell], goal.level, goal.weight) for goal in goals]
    least = least_levels(graph, goals, 1 + len(priorities))
    tables = pack(graph, goals, problem.initial, 1 + len(priorities), compare=to_search)
    return Program(problem=problem, graph=graph, tables=tables, goals=goals, priorities=priorities, least=least)
