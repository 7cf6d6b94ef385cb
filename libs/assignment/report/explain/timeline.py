"""A solve as it went on: what the objective came to, term by term, whenever the solver took note."""

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
    """One step of a timeline.

    moved   objects that the best assignment had elsewhere than a moment before
    values  (T,) each term without its weight
    bound   by level, of the whole solve: no assignment goes below; empty where the solver proves nothing
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
    """All moments whose moves the solver kept, and the terms that their values are of."""

    terms: tuple[Term, ...]
    moments: tuple[Moment, ...]

    def in_words(self) -> str:
        """A line for each moment, with the terms that changed."""
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
    """From the moves that the steps of a result have; evaluated now, so that a solve does not wait for it."""
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
