"""Give the answer of a solve in the names of the problem."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from libs.assignment.language.problem import Problem
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.report.tables import containers_of, moves_of, specs_of, utilisation_of
from libs.assignment.solvers.result import DUST, Outcome

if TYPE_CHECKING:
    import pyarrow as pa

    from libs.assignment.report.explain.comparison import Comparison

ROUNDING = 1e-8
"""Relative gaps up to this are rounding errors of a solver, and count as zero."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result(Outcome):
    """The outcome of a solve together with its problem.

    Tables are pyarrow Tables. Call `to_pandas()` of a table for a frame.

    problem  the problem as solved: with the objective `sum`, all its goals have priority 0
    """

    problem: Problem

    @classmethod
    def of(cls, outcome: Outcome, problem: Problem) -> Result:
        """Return the result with the fields of `outcome` and the problem `problem`."""
        fields = {field.name: getattr(outcome, field.name) for field in dataclasses.fields(outcome)}
        return cls(**fields, problem=problem)

    def container_of(self, object_: str | int) -> str:
        """Return the name of the container of the object `object_`, which is given by name or index.

        Raises: UnknownName with the nearest name.
        """
        problem = self.problem
        return problem.containers.name(int(self.assignment[problem.objects.index("container_of", object_)]))

    def moves(self) -> pa.Table:
        """Return a row for each object that moves: object, from, to."""
        return moves_of(self.problem, self.assignment)

    def by_container(self) -> pa.Table:
        """Return a row for each container: container, before, after, came, left.

        The column `container` has names. All other columns have numbers of objects.
        """
        return containers_of(self.problem, self.assignment)

    def by_spec(self) -> pa.Table:
        """Return a row for each spec: name, kind, priority, weight, before, after, broken.

        `before` and `after` are neither scaled nor weighted: the total excess of a constraint, or the cost of a goal.
        The call compiles the problem.
        """
        return specs_of(self.problem, self.assignment)

    def utilisation(self, dimension: str, scope: str = CONTAINER) -> pa.Table:
        """Return a row for each scope item: item, before, after, capacity and share of the capacity after.

        Raises: UnknownName, with the nearest name, for an unknown dimension or scope.
        """
        return utilisation_of(self.problem, self.assignment, dimension, scope)

    @property
    def gaps(self) -> tuple[float, ...]:
        """Return the relative gap of broken constraints, then of each priority, (levels,).

        A gap is a share of the value: (value - bound) / |value|. The gap is inf if the solver has no bound for the
        level, or if the value is 0 and the bound is below 0.
        """
        values = (self.broken[1], *self.objective[1])
        bounds = (*self.bound, *(-math.inf for _ in values))
        return tuple(_gap(value, bound) for value, bound in zip(values, bounds, strict=False))

    @property
    def gap(self) -> float:
        """Return the largest gap of any level. 0: the answer is proven optimal; inf: some level has no useful bound."""
        return max(self.gaps, default=0.0)

    def compare(self, other: Outcome) -> Comparison:
        """Return the value of each spec in this answer (before) and in `other`, another answer to this problem (after).

        Raises: BadValues if `other` has a different number of objects, or names containers that the problem lacks.
        """
        from libs.assignment.report.explain.comparison import compare  # its kernels take long to load

        return compare(self.problem, self.assignment, other.assignment)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values: numbers, moves and specs. Numbers that are not finite become null."""
        names = ("broken", *(f"priority {k}" for k in sorted({goal.priority for goal in self.problem.goals})))
        before, after = (self.broken[0], *self.objective[0]), (self.broken[1], *self.objective[1])
        bounds = (*self.bound, *(-math.inf for _ in names))
        levels = zip(names, before, after, bounds, self.gaps, strict=False)
        fields = ("level", "before", "after", "bound", "gap")
        return {
            "solver": self.solver,
            "stopped_by": self.stopped_by.value,
            "said": self.in_words(),
            "seed": self.seed,
            "tries": self.tries,
            "build_s": self.build_s,
            "solve_s": self.solve_s,
            "moved": self.moved,
            "gap": _finite(self.gap),
            "levels": [dict(zip(fields, map(_finite, one), strict=True)) for one in levels],
            "specs": self.by_spec().to_pylist(),
            "moves": self.moves().to_pylist(),
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict()` as a JSON document."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)


def _gap(value: float, bound: float) -> float:
    if not math.isfinite(bound):
        return math.inf
    short = value - bound
    if short <= ROUNDING * max(abs(value), abs(bound)):
        return 0.0
    return short / abs(value) if abs(value) > DUST else math.inf


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
