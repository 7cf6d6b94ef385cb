"""State the problem of a part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.problem import Constraint, Goal, Problem
from libs.assignment.language.specs.spec import Spec

if TYPE_CHECKING:
    from libs.assignment.solvers.partitioned.restriction import Restriction


@dataclass(frozen=True, kw_only=True)
class PartOf(Spec):
    """A spec in the problem of a part. It has the name of the spec `whole`, and is stated in expressions alone."""

    whole: Spec

    @property
    def where(self) -> str:
        """Return the name of the whole spec."""
        return self.whole.where


def part_problem(problem: Problem, restriction: Restriction, part: int) -> Problem:
    """Return the problem of the part number `part`.

    It has the goals and constraints of the whole problem `problem`, with the same weights and scales. So the gains of
    all parts add up. A goal or constraint that the part cannot change is left out.

    Solvers that read expressions solve the problem as usual. Solvers that read specs find no spec that they know.
    """
    of = restriction.parts[part]
    made = Problem(objects=len(of.objects), containers=len(of.containers), initial=restriction.starts[part])
    for constraint in problem.constraints:
        seen = [restriction.of(one)[part] for one in constraint.excess]
        excess = tuple(one for one in seen if one is not None)
        if excess:
            stated = PartOf(whole=constraint.spec)
            made.constraints.append(
                Constraint(spec=stated, excess=excess, hard=constraint.hard, weight=constraint.weight)
            )
    for goal in problem.goals:
        cost: Expression | None = restriction.of(goal.cost)[part]
        if cost is not None:
            stated = PartOf(whole=goal.spec)
            made.goals.append(
                Goal(spec=stated, cost=cost, scale=goal.scale, weight=goal.weight, priority=goal.priority)
            )
    return made
