"""Compare the answer of a solver that ignores a start with that start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.assignment.graph.compiled import Compiled
from libs.assignment.graph.legal_start import begun_at
from libs.assignment.graph.lexicographic import compare
from libs.assignment.language.arrays import Ints
from libs.assignment.solvers.claim import claimed
from libs.assignment.solvers.result import Outcome, Step


def better_of(outcome: Outcome, compiled: Compiled, start: Ints) -> Outcome:
    """Return the better of an outcome and the caller's start (N,), with a note that names it.

    Objects that break a hard constraint in the start go back to their initial containers first.
    """
    begun, initial = begun_at(compiled, start), compiled.problem.initial
    found, known = compiled.values(outcome.assignment), compiled.values(begun)
    tolerance = np.array([compiled.tolerance(level, value) for level, value in enumerate(found)])
    if compare(np.array(known), np.array(found), tolerance) >= 0:
        return replace(
            outcome, notes=(*outcome.notes, f"{outcome.solver} does not begin from a start; it is no better")
        )
    unit = compiled.unit
    bounds = [bound / by for bound, by in zip(outcome.bound, unit, strict=False)]
    kept, stopped_by = claimed(compiled, known, bounds, outcome.stopped_by, 0.0)
    values = tuple(value * by for value, by in zip(known, unit, strict=True))
    who = np.flatnonzero(begun != outcome.assignment)
    step = Step(
        time_s=outcome.solve_s, tries=outcome.tries, made=outcome.tries, objective=values, moved=(who, begun[who])
    )
    moved = int((begun != initial).sum())
    return replace(
        outcome,
        assignment=begun,
        broken=(outcome.broken[0], values[0]),
        objective=(outcome.objective[0], values[1:]),
        improved=moved > 0,
        moved=moved,
        stopped_by=stopped_by,
        timeline=(*outcome.timeline, step),
        bound=tuple(bound * by for bound, by in zip(kept, unit, strict=False)),
        notes=(*outcome.notes, f"the start is better than the answer of {outcome.solver}, and was kept"),
    )
