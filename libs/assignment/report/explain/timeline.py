"""Show the progress of a solve: the value of each term at each recorded step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.graph.compiled import Compiled, Term
from libs.assignment.language.arrays import Floats
from libs.assignment.language.problem import Problem
from libs.assignment.report.explain.terms import Terms
from libs.assignment.solvers.result import Outcome


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moment:
    """One step of a timeline: the best assignment at some time.

    time_s     seconds since the start of the solve
    tries      number of tries until then, as the solver counts tries
    made       number of successful tries until then
    moved      number of objects whose container differs from that in the previous moment
    objective  (levels,) the value of each level
    values     (T,) the value of each constraint and goal, without its weight
    bound      (levels,) lower bounds at the end of the solve; empty if the solver proves nothing
    """

    time_s: float
    tries: int
    made: int
    moved: int
    objective: tuple[float, ...]
    values: Floats
    bound: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Timeline:
    """The moments of a solve for which the solver kept the moves.

    terms    (T,) the constraints and goals whose values the moments have
    moments  the moments in the order of time
    """

    terms: tuple[Term, ...]
    moments: tuple[Moment, ...]

    def in_words(self) -> str:
        """Return a line for each moment, and below it a line for each constraint or goal whose value changed."""
        lines = []
        before: Floats | None = None
        for one in self.moments:
            objective = ", ".join(f"{level:g}" for level in one.objective)
            lines.append(f"{one.time_s:.3f} s, {one.tries} tries, {one.moved} objects moved: {objective}")
            for term, value, was in zip(self.terms, one.values, one.values if before is None else before, strict=True):
                if value != was:
                    lines.append(f"  {term.name}: {was:g} -> {value:g}")
            before = one.values
        return "\n".join(lines)


def timeline_of(problem: Problem, result: Outcome) -> Timeline:
    """Return the timeline of `result`, from the moves in its steps.

    The values of constraints and goals are computed only here, so that a solve does not wait for them.
    """
    terms, assignment, moments = Terms(Compiled.of(problem)), problem.initial.copy(), []
    for step in result.timeline:
        if step.moved is None:
            continue
        who, where = step.moved
        assignment[who] = where
        moments.append(
            Moment(
                time_s=step.time_s,
                tries=step.tries,
                made=step.made,
                moved=len(np.asarray(who)),
                objective=step.objective,
                values=terms.values(assignment),
                bound=result.bound,
            )
        )
    return Timeline(terms=terms.all, moments=tuple(moments))
