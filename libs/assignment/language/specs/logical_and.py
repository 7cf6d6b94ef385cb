"""LogicalAndSpec: require all of several specs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.specs.spec import Spec, spec

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class LogicalAndSpec(Spec):
    """The excesses of all members. It is useful inside LogicalOrSpec."""

    specs: Sequence[Spec]

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the members' excesses, one after the other."""
        if not self.specs:
            raise self.refuse("specs", self.specs, "needs at least one")
        return tuple(part for one in self.specs for part in one.excess(problem))

    def scale(self, problem: Problem) -> float:
        """Return the sum of the members' scales."""
        return sum(one.scale(problem) for one in self.specs)
