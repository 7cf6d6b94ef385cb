"""Answer a solve whose model was not built in time."""

from __future__ import annotations

from libs.assignment.graph.compiled import Compiled
from libs.assignment.graph.legal_start import begun_at
from libs.assignment.language.arrays import Ints
from libs.assignment.solvers.deadline import Deadline
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.result import Outcome
from libs.assignment.solvers.timeline_record import Record


def unbuilt(compiled: Compiled, deadline: Deadline, *, solver: str, seed: int, start: Ints | None = None) -> Outcome:
    """Return the initial assignment, or the caller's start (N,) if that is no worse, with the lower bounds of
    levels.
    """
    initial, best = compiled.problem.initial, begun_at(compiled, start)
    first, last = compiled.values(initial), compiled.values(best)
    record = Record(initial, deadline.began)
    record.add(best, last, tries=0, made=0)
    moved = int((best != initial).sum())
    return Outcome(
        assignment=best,
        broken=(first[0], last[0]),
        objective=(first[1:], last[1:]),
        improved=moved > 0,
        moved=moved,
        tries=0,
        seed=seed,
        stopped_by=StoppedBy.TIME,
        build_s=deadline.elapsed_s,
        solve_s=deadline.elapsed_s,
        timeline=tuple(record.steps),
        bound=tuple(compiled.least),
        solver=solver,
        notes=("building the model took all the time",),
    ).as_stated(compiled.unit)
