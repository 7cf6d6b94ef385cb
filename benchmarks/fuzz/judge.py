"""Judge whether the claims of a result are true."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

import numpy as np

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.runs import Run
from benchmarks.fuzz.truth import NEAR, ROUNDING, Truth
from libs.assignment.language.arrays import Floats
from libs.assignment.language.errors import Contradiction, ModelError, NotLowerable
from libs.assignment.report.explain.explainer import Explainer
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.result import Outcome

FAR = 0.01
"""Largest allowed gap of the solver `auto` to the optimum on a tiny problem, as a share of a level's value. A level is
the value of all goals of one priority.
"""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A wrong claim of a solver. Findings of the same solver and kind are assumed to have the same cause."""

    solver: str
    kind: str
    what: str


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The findings of one run, the refusal if there was one, and the gap of each level to its best value."""

    findings: tuple[Finding, ...] = ()
    refused: str = ""
    loss: float | None = None


def judge(case: Case, truth: Truth, run: Run, seed: int, *, twice: bool = False) -> Judged:
    """Solve the case by `run`, and compare the result with `truth`."""
    try:
        problem = case.problem()
        result = run.of(problem, seed)
        again = run.of(case.problem(), seed) if twice and not run.timed else result
    except ModelError as refused:
        return _refused(truth, run, refused)
    except Exception as error:
        return Judged(findings=(crash(run.solver, error),))
    wrong = _wrong(case, truth, run, result) or _wrong_explained(case, truth, result, seed)
    found = [Finding(solver=run.solver, kind=kind, what=what) for kind, what in wrong]
    if (again.assignment != result.assignment).any() or again.objective != result.objective:
        found.append(Finding(solver=run.solver, kind="not-repeated", what=f"{result.assignment} {again.assignment}"))
    values = np.array([result.broken[1], *result.objective[1]])
    loss = max((float(gap) for gap in (values - truth.best) / truth.size), default=0.0)
    return Judged(findings=tuple(found), loss=loss)


def crash(solver: str, error: Exception) -> Finding:
    """Return a finding with the place in the library at which a solver crashed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/libs/" in frame.filename]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    place = f"{'/'.join(last.filename.split('/')[-2:])}:{last.name}"
    return Finding(solver=solver, kind=f"crash {type(error).__name__} in {place}", what=str(error))


def _refused(truth: Truth, run: Run, refused: ModelError) -> Judged:
    """Judge a solver's refusal of a case. The refusal is a finding if the solver had no good reason.

    A solver may refuse a problem for these reasons: it has no integer form, no market, or a container that cannot be
    split, or its hard constraints exclude each other.
    """
    said = f"{type(refused).__name__}: {refused}"
    if isinstance(refused, Contradiction):
        if (truth.hard.max(axis=1, initial=0.0) <= NEAR).any():
            finding = Finding(solver=run.solver, kind="no contradiction", what=said)
            return Judged(findings=(finding,))
        return Judged(refused="Contradiction")
    unlowered = isinstance(refused, NotLowerable) and run.solver in ("mip", "portfolio")
    if run.solver == "price" or unlowered or run.splits:
        return Judged(refused=type(refused).__name__)
    return Judged(findings=(Finding(solver=run.solver, kind="refused", what=said),))


def _wrong(case: Case, truth: Truth, run: Run, result: Outcome) -> list[tuple[str, str]]:
    """Return kind and text of each finding."""
    found: list[tuple[str, str]] = []
    assignment = result.assignment
    if assignment.shape != (case.objects,) or ((assignment < 0) | (assignment >= case.containers)).any():
        return [("no assignment", f"{assignment}")]
    here = Truth(case, np.asarray(assignment, dtype=np.int64)[None, :])
    now, start, near = here.levels[0], truth.at_start.levels[0], NEAR * truth.size
    said = (np.array([result.broken[0], *result.objective[0]]), np.array([result.broken[1], *result.objective[1]]))
    for name, by, really in (("before", said[0], start), ("after", said[1], now)):
        if len(by) != len(really) or (np.abs(by - really) > near).any():
            found.append(("misreported", f"{name}: {really}, said {by}"))
            return found
    moved = int((assignment != truth.world.initial).sum())
    if result.moved != moved:
        found.append(("misreported", f"{moved} moved, said {result.moved}"))
    if not (here.hard[0] - truth.at_start.hard[0] <= truth.slack).all():
        found.append(("hard-worse", f"{assignment}: an element by {here.worse[0]:g}"))
    if _verdicts(now, start, truth) == {1}:
        found.append(("worse than the start", f"{now}, start {start}"))
    for level, bound in enumerate(result.bound):
        least = truth.least(level, now)
        if bound > least + near[level]:
            found.append(("false-bound", f"level {level}: bound {bound:g}, and {least:g} can be reached ({now})"))
            break
    gap = 1e-4 if run.limits is None or run.limits.relative_gap is None else run.limits.relative_gap
    exact = run.solver == "mip" and not run.cut and result.stopped_by is not StoppedBy.TIME
    if result.stopped_by is StoppedBy.OPTIMAL or exact:
        found += _not_best(
            truth, now, near, gap, "false-optimum" if result.stopped_by is StoppedBy.OPTIMAL else "gave up"
        )
    elif run.solver == "auto" and not run.cut:
        found += _not_best(truth, now, near, FAR, "far")
    if result.stopped_by is StoppedBy.LOCAL:
        found += _not_local(case, here)
    return found


def _not_local(case: Case, here: Truth) -> list[tuple[str, str]]:
    """Find an allowed move or swap that improves an answer claimed to be a local optimum."""
    assignment = here.world.assignments[0]
    around = [assignment]
    for o in range(case.objects):
        around += [np.where(np.arange(case.objects) == o, c, assignment) for c in range(case.containers)]
        for p in range(o):
            swapped = assignment.copy()
            swapped[[o, p]] = assignment[[p, o]]
            around.append(swapped)
    near_by = Truth(case, np.stack(around))
    for k in np.flatnonzero(near_by.allowed):
        if _compare(near_by.levels[k], near_by.levels[0], NEAR * near_by.size) < 0:
            return [("not-local", f"{near_by.levels[0]}, and {near_by.levels[k]} by {around[k]}")]
    return []


def _wrong_explained(case: Case, truth: Truth, result: Outcome, seed: int) -> list[tuple[str, str]]:
    """Check the explanation of one move from the answer: its verdict, and the sums of its terms before and after."""
    if not case.objects:
        return []
    o, c = np.random.default_rng([seed, result.moved]).integers([case.objects, case.containers])
    there = result.assignment.copy()
    there[o] = c
    try:
        said = Explainer(case.problem(), result.assignment).move(int(o), int(c))
    except Exception as error:
        return [(crash("", error).kind, str(error))]
    both = Truth(case, np.stack([result.assignment, there]))
    near, levels = NEAR * truth.size, np.zeros((2, len(truth.size)))
    for one in said.changes:
        levels[:, one.term.level] += one.term.weight * np.array([one.before, one.after])
    if (np.abs(levels - both.levels) > near).any():
        return [("misexplained", f"object {o} to {c}: {both.levels.tolist()}, said {levels.tolist()}")]
    worse = both.hard[1] - both.hard[0]
    allowed = {bool((worse <= by * truth.slack).all()) for by in (1.0, ROUNDING / NEAR)}
    if said.allowed not in allowed:
        return [("misexplained", f"object {o} to {c} is allowed: {allowed}, said {said.allowed}")]
    verdicts = _verdicts(both.levels[1], both.levels[0], truth)
    if said.verdict not in verdicts | {_compare(both.growth[1], both.growth[0], np.zeros_like(near))}:
        return [("misexplained", f"object {o} to {c}: {both.levels.tolist()}, verdict {said.verdict}")]
    return []


def _not_best(truth: Truth, now: Floats, near: Floats, gap: float, kind: str) -> list[tuple[str, str]]:
    """Return the first level that could improve by more than a gap, a share of its value, with higher levels
    unchanged.
    """
    for level, value in enumerate(now):
        least = truth.least(level, now)
        if value > least + near[level] + gap * abs(value):
            return [(kind, f"level {level}: {value:g}, and {least:g} can be reached ({now}, best {truth.best})")]
    return []


def _verdicts(one: Floats, other: Floats, truth: Truth) -> set[int]:
    """Return the allowed verdicts on which of two assignments is better. Small differences may count or not, so several
    verdicts can be allowed.
    """
    slacks = NEAR * truth.size, ROUNDING * truth.size, ROUNDING * np.maximum(np.abs(one), np.abs(other))
    return {_compare(one, other, slack) for slack in slacks}


def _compare(one: Floats, other: Floats, near: Floats) -> int:
    """Compare lexicographically: below 0 if `one` is better."""
    for a, b, tolerance in zip(one, other, near, strict=True):
        if abs(a - b) > tolerance:
            return -1 if a < b else 1
    return 0
