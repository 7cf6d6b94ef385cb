"""Prepare a problem for local search."""

from __future__ import annotations

from dataclasses import dataclass

from libs.assignment.graph.cell import Total
from libs.assignment.graph.compiled import Compiled
from libs.assignment.graph.full_evaluation import compute
from libs.assignment.graph.linear import Graph
from libs.assignment.incremental.immovable import movable_objects
from libs.assignment.incremental.pack import pack, start
from libs.assignment.incremental.tables import MOVABLE, MOVABLES, State, Tables
from libs.assignment.language.arrays import Ints
from libs.assignment.language.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """The cells of a problem in the order of settling, their arrays, and the goals that they count in.

    Level 0 is the total excess; levels 1 and up are the priorities of the goals, in order. No assignment has a level
    below `least`.
    """

    problem: Problem
    graph: Graph
    tables: Tables
    goals: tuple[Total, ...]
    priorities: tuple[int, ...]
    least: tuple[float, ...]

    @property
    def movable(self) -> Ints:
        """Return the objects that a search draws from, (M,)."""
        first, count = self.tables.node[0, [MOVABLE, MOVABLES]]
        return self.tables.lookup[first : first + count]

    @property
    def levels(self) -> int:
        """Return the number of levels: one for broken constraints, and the priorities."""
        return 1 + len(self.priorities)

    def state(self, assignment: Ints) -> State:
        """Return the state of an assignment, computed in full."""
        values = compute(self.graph, self.problem.initial, assignment)
        return start(self.tables, self.graph, values, self.problem.initial, assignment, self.goals)


def program_of(compiled: Compiled, *, to_search: bool = False, begin: Ints | None = None) -> Program:
    """Pack a compiled problem for the kernels.

    to_search  also find movable objects and similar objects, for local search to draw from
    begin      (N,) the start of the search; None: the initial assignment
    """
    problem, levels = compiled.problem, compiled.levels
    graph, place = compiled.graph.settled()
    goals = tuple(Total(place[cell], level, weight) for cell, level, weight in compiled.totals)
    movable = None
    if to_search:
        movable = movable_objects(graph, problem.initial, problem.initial if begin is None else begin)
    return Program(
        problem=problem,
        graph=graph,
        tables=pack(graph, goals, problem.initial, levels, movable=movable, compare=to_search),
        goals=goals,
        priorities=compiled.priorities,
        least=compiled.least,
    )


def compile_problem(problem: Problem, *, to_search: bool = False) -> Program:
    """Compile a problem and pack it: program_of(Compiled.of(problem))."""
    return program_of(Compiled.of(problem), to_search=to_search)
