"""Solve in parts (POP): solve each part on its own, join the answers of the parts, and polish the whole.

The polish is a local search over the whole problem from the joined answers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from libs.assignment.graph.compiled import Compiled
from libs.assignment.incremental.program import Program, program_of
from libs.assignment.language.arrays import Ints
from libs.assignment.language.errors import ModelError
from libs.assignment.language.problem import Problem
from libs.assignment.solvers.caller import Caller, Cancelled, Listener
from libs.assignment.solvers.deadline import Deadline
from libs.assignment.solvers.limits import PARTS_LIMIT, StoppedBy
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.partitioned.coalesce import Coalesced, coalesce
from libs.assignment.solvers.partitioned.granular import measure_granularity
from libs.assignment.solvers.partitioned.part import Part
from libs.assignment.solvers.partitioned.part_problem import part_problem
from libs.assignment.solvers.partitioned.parts import plan_parts
from libs.assignment.solvers.partitioned.restriction import Restriction
from libs.assignment.solvers.result import Outcome
from libs.assignment.solvers.settings import Partitioning, SearchLimits
from libs.assignment.solvers.timeline_record import Record

POLL_S = 0.1
"""Seconds between two checks for cancellation while other workers solve parts."""
CUT_SHORT = (StoppedBy.TIME, StoppedBy.WORK)
"""Reasons for the end of a part's solve that, without a polish, also become the reason for the end of the whole."""


def solve_partitioned(
    problem: Problem,
    limits: SearchLimits | None = None,
    *,
    seed: int = 0,
    progress: Listener | None = None,
    cancelled: Cancelled | None = None,
    options: Partitioning | None = None,
    solver: Callable[..., Outcome] = solve_local,
    executor: Executor | None = None,
    compiled: Compiled | None = None,
    deadline: Deadline | None = None,
) -> Outcome:
    """Return an assignment that keeps all constraints that held at the start, and is no worse at any priority.

    options   the way to cut the problem
    solver    solves the parts, or the whole problem if it is not cut: a callable of (problem, limits, seed=…,
              compiled=…, deadline=…), and of `cancelled` and `progress` if the caller gave them. An executor of
              processes needs a solver that can be imported by its name
    executor  solves the parts; None: this process solves one part after the other
    compiled  the compiled problem, if the caller has it already
    deadline  the clock of an enclosing solve; it replaces time_s_max
    """
    limits, options = limits or SearchLimits(), options or Partitioning()
    deadline = deadline or Deadline.after(limits.time_s_max)
    limits, began = replace(limits, time_s_max=deadline.time_s_max), deadline.began
    compiled = compiled or Compiled.of(problem)
    program = program_of(compiled)
    parts = tuple(
        part
        for part in plan_parts(
            program, options.parts, how=options.how, seed=seed, split=options.split, together=options.together
        )
        if len(part.objects) and len(part.containers) > 1
    )
    notes: list[str] = []
    if len(parts) > 1:
        found = measure_granularity(program, parts, seed)
        notes.append(found.in_words())
    if len(parts) < 2 or not (found.granular or options.insist):
        why = notes[-1] if notes else "not granular: all objects that can move lie in one part"
        heard = {"progress": progress, "cancelled": cancelled}
        asked = {name: one for name, one in heard.items() if one is not None}
        whole = solver(problem, limits, seed=seed, compiled=compiled, deadline=deadline, **asked)
        return replace(whole, notes=(f"{why}; solved as a whole", *whole.notes))
    caller = Caller(began, compiled.unit, progress, cancelled)
    return _Cut(compiled, program, parts, limits, options, seed, began, notes, caller).solve(solver, executor)


class _Cut:
    """One solve of a problem that has been cut into parts."""

    def __init__(
        self,
        compiled: Compiled,
        program: Program,
        parts: tuple[Part, ...],
        limits: SearchLimits,
        options: Partitioning,
        seed: int,
        began: float,
        notes: list[str],
        caller: Caller,
    ) -> None:
        self.caller = caller
        self.compiled = compiled
        self.program, self.parts, self.limits, self.options = program, parts, limits, options
        self.seed, self.began, self.notes = seed, began, notes
        self.record = Record(program.problem.initial, began)
        self.tries = 0
        self.stopped_by: set[StoppedBy] = set()

    def solve(self, solver: Callable[..., Outcome], executor: Executor | None) -> Outcome:
        """State the problem of each part, solve the parts, join their answers, and polish the whole."""
        problem = self.program.problem
        restriction = Restriction(self.parts, problem.initial, len(problem.containers))
        stated = [part_problem(problem, restriction, part) for part in range(len(self.parts))]
        build_s = self._time_s()
        self._first = first = self._note(problem.initial)
        answers = self._solve_parts(stated, solver, executor)
        merged = coalesce(self.program, list(self.parts), answers, self._late)
        self._say(merged)
        assignment, levels = merged.assignment, self._note(merged.assignment)
        stopped_by = next((one for one in CUT_SHORT if one in self.stopped_by), StoppedBy.DONE)
        if self.caller.cancelled():
            stopped_by = StoppedBy.CANCELLED
        elif self._late():
            stopped_by = StoppedBy.TIME
        elif self.options.polish > 0:
            polished = self._polish(assignment)
            assignment, stopped_by = polished.assignment, polished.stopped_by
            levels = self._note(assignment)
        return Outcome(
            assignment=assignment,
            broken=(first[0], levels[0]),
            objective=(first[1:], levels[1:]),
            improved=bool((assignment != problem.initial).any()),
            moved=int((assignment != problem.initial).sum()),
            tries=self.tries,
            seed=self.seed,
            stopped_by=stopped_by,
            build_s=build_s,
            solve_s=self._time_s(),
            timeline=tuple(self.record.steps),
            solver="partitioned",
            notes=tuple(self.notes),
        ).as_stated(self.compiled.unit)

    def _solve_parts(
        self, stated: list[Problem], solver: Callable[..., Outcome], executor: Executor | None
    ) -> list[Ints]:
        """Solve the problems `stated` of the parts. Return for each part the container of each of its objects."""
        asked = [
            (solver, one, self._limits_of(one), self.seed * PARTS_LIMIT + number) for number, one in enumerate(stated)
        ]
        if executor is None:
            answers = [self._in_turn(*one) for one in asked]
        else:
            waiting = [executor.submit(_solve_part, *one) for one in asked]
            answers = [self._awaited(each, problem) for each, problem in zip(waiting, stated, strict=True)]
        for number, answer in enumerate(answers):
            self.tries += answer.tries
            self.stopped_by.add(answer.stopped_by)
            if answer.failed:
                self.notes.append(f"part {number} stays as it is: {answer.failed}")
        return [answer.assignment for answer in answers]

    def _in_turn(self, solver: Callable[..., Outcome], problem: Problem, limits: Any, seed: int) -> _Answer:
        """Solve the problem of a part in this process. If the caller has ended the solve, leave the part unchanged."""
        if self.caller.cancelled():
            return _stays(problem, "")
        answer = _solve_part(solver, problem, limits, seed, self.caller.cancels)
        self.caller.tell(0, self._first[0])
        return answer

    def _awaited(self, part: Future[_Answer], problem: Problem) -> _Answer:
        """Wait for the answer of a part from the executor.

        If the caller ends the solve, a part whose solve has not begun stays unchanged.
        """
        while True:
            if self.caller.cancelled() and part.cancel():
                return _stays(problem, "")
            try:
                return part.result(timeout=None if self.caller.cancels is None else POLL_S)
            except TimeoutError:
                if part.done():  # then the part itself raised it
                    raise

    def _limits_of(self, part: Problem) -> SearchLimits:
        """Return the limits for the solve of a part.

        Tries are divided by the number of objects. The time is divided evenly among the parts that a worker solves.
        """
        share = (1.0 - self.options.polish) * len(part.objects) / sum(len(one.objects) for one in self.parts)
        tries = None if self.limits.tries_max is None else max(int(self.limits.tries_max * share), 1)
        left = self.limits.time_s_max - self._time_s()
        turns = math.ceil(len(self.parts) / self.options.workers)
        return replace(self.limits, tries_max=tries, time_s_max=max(left * (1.0 - self.options.polish) / turns, 1e-3))

    def _polish(self, start: Ints) -> Outcome:
        """Search locally over the whole problem from the assignment `start` (N,)."""
        tries = None if self.limits.tries_max is None else max(int(self.limits.tries_max * self.options.polish), 1)
        left = max(self.limits.time_s_max - self._time_s(), 1e-3)
        polished = solve_local(
            self.program.problem,
            replace(self.limits, tries_max=tries, time_s_max=left),
            seed=self.seed,
            start=start,
            progress=self.caller.relay,
            cancelled=self.caller.cancels,
            compiled=self.compiled,
        )
        self.tries += polished.tries
        return polished

    def _say(self, merged: Coalesced) -> None:
        said = f"{len(self.parts)} parts"
        if merged.piecemeal or merged.refused:
            said += f": {merged.whole} taken as they were, {merged.piecemeal} move by move, {merged.refused} not at all"
        self.notes.append(said)

    def _note(self, assignment: Ints) -> tuple[float, ...]:
        levels = tuple(map(float, self.program.state(assignment).part[: self.program.levels]))
        self.record.add(assignment, levels, tries=self.tries, made=len(self.record.steps))
        for level, (value, least) in enumerate(zip(levels, self.program.least, strict=False)):
            self.caller.tell(level, value, least)
        return levels

    def _late(self) -> bool:
        return self._time_s() >= self.limits.time_s_max

    def _time_s(self) -> float:
        return time.perf_counter() - self.began


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Answer:
    assignment: Ints
    tries: int
    stopped_by: StoppedBy
    failed: str


def _solve_part(
    solver: Callable[..., Outcome], problem: Problem, limits: Any, seed: int, cancelled: Cancelled | None = None
) -> _Answer:
    """Solve the problem of a part. Return only its answer, because another process may have to send it.

    If `solver` raises ModelError, the part stays unchanged.
    """
    more = {} if cancelled is None else {"cancelled": cancelled}
    try:
        result = solver(problem, limits, seed=seed, **more)
    except ModelError as error:
        return _stays(problem, str(error))
    return _Answer(assignment=result.assignment, tries=result.tries, stopped_by=result.stopped_by, failed="")


def _stays(problem: Problem, failed: str) -> _Answer:
    """Return an answer that leaves the part with the problem `problem` unchanged. `failed` is the reason, or empty."""
    return _Answer(assignment=np.asarray(problem.initial), tries=0, stopped_by=StoppedBy.DONE, failed=failed)
