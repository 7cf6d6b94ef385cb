"""Solve by local search: first broken constraints, then the priorities one after the other, without loss at higher
priorities.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from libs.assignment.graph.compiled import Compiled
from libs.assignment.graph.legal_start import begun_at
from libs.assignment.graph.lexicographic import compare
from libs.assignment.incremental.program import Program, program_of
from libs.assignment.language.arrays import Ints
from libs.assignment.language.problem import Problem
from libs.assignment.solvers.caller import Caller, Cancelled, Listener
from libs.assignment.solvers.deadline import Deadline
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.local.soft_limits import Bent
from libs.assignment.solvers.local.stoppable import Stoppable
from libs.assignment.solvers.local.sweeps import UNLIMITED, Sweeps
from libs.assignment.solvers.local.walk import Proposer
from libs.assignment.solvers.local.walks import Walks
from libs.assignment.solvers.result import Outcome, Step
from libs.assignment.solvers.settings import SearchLimits

PILOT = 0.15
"""Share of the tries or the time for a quick annealing, which gives the schedule of the main one."""
BENT = 0.85
"""Share of the schedule with bent limits, at the first priority, if containers have limits."""
MEND = 0.2
"""Share of the rest for the return to the limits."""
HOT, LUKEWARM = 0.9, 0.03
"""Quantiles of the cost of random worsening changes. A change of that cost is accepted at first with probability 1/e.
The second is for a good start that must not be lost.
"""
POLISH, POLISH_S_MAX = 0.05, 5.0
"""Share of tries and time, and most seconds, reserved for a final descent."""
AFTERWARDS = 4
"""Reserve of time after the clock has ended a search, in full evaluations."""
AFTERWARDS_SHARE = 0.1
"""Largest share of the time for that reserve. The first full evaluation is slow if kernels are not loaded yet."""
ROUND_TRIES, ROUND_TRIES_MIN = 10, 1_000
"""Tries of a round per object and kind of change (a single move, a swap of two), and at least."""
ROUNDS_IDLE = 3
"""Rounds without gain until a search checks for a local optimum, and ends there."""


def solve_local(
    problem: Problem,
    limits: SearchLimits | None = None,
    *,
    seed: int = 0,
    start: Ints | None = None,
    progress: Listener | None = None,
    cancelled: Cancelled | None = None,
    proposer: Proposer | None = None,
    compiled: Compiled | None = None,
    deadline: Deadline | None = None,
    refine: bool = False,
) -> Outcome:
    """Return an assignment no worse than the start, at every priority.

    cancelled  called after every chunk of an annealing and every sweep; the answer is then the best so far
    start     (N,) where to search from, if that is no worse than the initial assignment (legal_start.begun_at)
    refine    the start is legal and better than the initial assignment: search near it, from a low temperature and
              within the limits
    proposer  the caller's own changes (docs/assignment/local-search.md)
    compiled  the compiled problem, if the caller has it already
    deadline  the clock of an enclosing solve; it replaces time_s_max
    """
    limits = limits or SearchLimits()
    deadline = deadline or Deadline.after(limits.time_s_max)
    limits, began = replace(limits, time_s_max=deadline.time_s_max), deadline.began
    compiled = compiled or Compiled.of(problem)
    begin = start if refine and start is not None else begun_at(compiled, start)
    program = program_of(compiled, to_search=True, begin=begin)
    caller = Caller(began, compiled.unit, progress, cancelled)
    search = Search(program, seed, began, begin, limits.threads, proposer, refine=refine, caller=caller)
    walks = search.walks
    build_s = time.perf_counter() - began
    stopped_by = search.run(limits)
    final = program.state(walks.best)
    levels = program.levels
    first, last = program.state(problem.initial).part[:levels], final.part[:levels]
    return Outcome(
        assignment=walks.best,
        broken=(float(first[0]), float(last[0])),
        objective=(tuple(map(float, first[1:])), tuple(map(float, last[1:]))),
        improved=bool((walks.best != problem.initial).any()),
        moved=int((walks.best != problem.initial).sum()),
        tries=walks.tries,
        seed=seed,
        stopped_by=stopped_by,
        build_s=build_s,
        solve_s=time.perf_counter() - began,
        timeline=tuple(search.timeline),
        bound=program.least,
    ).as_stated(compiled.unit)


class Search:
    """A search level by level, round after round, from `start` (N,)."""

    def __init__(
        self,
        program: Program,
        seed: int,
        began: float,
        start: Ints,
        threads: int = 1,
        proposer: Proposer | None = None,
        *,
        refine: bool = False,
        caller: Caller,
    ) -> None:
        self.program, self.began, self.refine, self.caller = program, began, refine, caller
        self.walks = Walks(program, start, seed, threads=threads, proposer=proposer, cancelled=caller.cancelled)
        self._level = 0
        self.timeline: list[Step] = []
        self._noted = program.problem.initial.copy()
        movable, containers = len(program.movable), len(program.problem.containers)
        changes = movable * containers + movable * movable // 2
        self.begin_excess = Bent(program, 1.0).excess(self.walks.all[0].state)
        self.round_tries = max(ROUND_TRIES * movable * changes, ROUND_TRIES_MIN)

    def run(self, limits: SearchLimits) -> StoppedBy:
        """Search level by level. Levels with a possible gain share tries and time evenly."""
        self._note()
        program, walks = self.program, self.walks
        if not len(program.movable):
            return self._stuck()
        time_s_max = limits.time_s_max - min(AFTERWARDS * walks.whole_s, AFTERWARDS_SHARE * limits.time_s_max)
        at_bottom = True
        for level in range(program.levels):
            left = sum(walks.open(k) for k in range(level, program.levels))
            if walks.open(level):
                now_s = time.perf_counter() - self.began
                until_s = self.began + now_s + (time_s_max - now_s) / left
                timed = limits.tries_max is None
                tries = UNLIMITED if limits.tries_max is None else (limits.tries_max - walks.tries) // left
                work = Stoppable(tries, until_s, timed=timed, cancelled=self.caller.cancelled)
                at_bottom = self.search(level, work, limits) and at_bottom
        if not any(walks.open(level) for level in range(program.levels)):
            return StoppedBy.OPTIMAL
        if self.caller.cancelled():
            return StoppedBy.CANCELLED
        if at_bottom:
            return StoppedBy.LOCAL
        by_time = limits.tries_max is None or time.perf_counter() - self.began >= time_s_max
        return StoppedBy.TIME if by_time else StoppedBy.WORK

    def _stuck(self) -> StoppedBy:
        """Return the reason for the end of a search in which no object may move.

        The initial assignment is then the only possible one. From another start, a limit that is broken at the initial
        assignment may allow objects to return there, so only a bound proves the answer.
        """
        proven = bool((self.walks.best == self.program.problem.initial).all())
        proven = proven or not any(self.walks.open(level) for level in range(self.program.levels))
        return StoppedBy.OPTIMAL if proven else StoppedBy.DONE

    def search(self, level: int, work: Stoppable, limits: SearchLimits) -> bool:
        """Descend, then anneal from the best again and again, until that gains nothing or the work is done.

        Return whether nothing is left to gain: the bound is reached, or no single move and no swap improves and rounds
        found nothing.
        """
        walks, self._level = self.walks, level
        sweeps = self._sweeps(level)
        sweeps.descend(work.part(0.5), first_improving=limits.first_improving)
        self._kept(sweeps)
        rounds = idle = 0
        while walks.open(level) and (work.left or not rounds) and not self.caller.cancelled():
            rounds += 1
            before = walks.best_value.copy()
            self._round(level, work, limits.first_improving)
            idle = 0 if compare(walks.best_value, before, walks.tolerance) < 0 else idle + 1
            if idle >= ROUNDS_IDLE:
                walks.leader.begin_at(walks.best)
                sweeps = self._sweeps(level)
                if sweeps.at_bottom(work):
                    return True
                self._kept(sweeps)
                idle = 0
        return not walks.open(level)

    def _round(self, level: int, work: Stoppable, first_improving: bool) -> None:
        """Anneal from the best, quickly and then slowly, and descend from the best that was found."""
        walks = self.walks
        walks.begin_at(walks.best)
        all_tries = work.tries
        tries = min(all_tries, self.round_tries)
        if all_tries - tries < tries / 2:
            tries = all_tries
        until_s = work.until_s
        polish = int(tries * POLISH)
        left_s = until_s - time.perf_counter()
        anneal_s = until_s if left_s == math.inf else until_s - min(POLISH * left_s, POLISH_S_MAX)
        self._heat_and_cool(level, work.share(tries - polish, anneal_s))
        walks.leader.begin_at(walks.best)
        sweeps = self._sweeps(level)
        last = work.share(min(max(polish, 1), work.tries), until_s)
        sweeps.descend(last, first_improving=first_improving)
        if walks.open(level) and sweeps.run_between(last):
            sweeps.descend(last, first_improving=first_improving)
        self._kept(sweeps)

    def _heat_and_cool(self, level: int, work: Stoppable) -> None:
        """Anneal quickly and then slowly, until it is cold. Bend limits meanwhile, if there are any."""
        walks = self.walks
        schedule = walks.schedule(level, work.tries, LUKEWARM if self.refine else HOT)
        hot = schedule.temperature(0.0)
        bends = level == 1 and hot > schedule.temperature(1.0) and self._may_bend()
        if bends:
            walks.bend(hot)
        measured = walks.anneal(level, schedule, work, PILOT, self._note)
        schedule.adapt(measured[:, 0], measured[:, 1])
        if not bends:
            walks.anneal(level, schedule, work, 1.0, self._note)
            return
        walks.anneal(level, schedule, work, BENT, self._note, span=(0.0, BENT))
        self._mend(work.part(MEND, MEND))
        walks.anneal(level, schedule, work, 1.0, self._note, span=(BENT, 1.0))

    def _may_bend(self) -> bool:
        """Return whether limits may bend. All constraints must be hard and kept, because level 0 is not checked."""
        if self.refine or not self.begin_excess or not all(one.hard for one in self.program.problem.constraints):
            return False
        start = self.program.state(self.program.problem.initial)
        return bool(start.part[0] <= self.walks.tolerance[0])

    def _mend(self, work: Stoppable) -> None:
        """Make the hard limits hold again in each walk. A walk is one of several searches that run in parallel.

        A walk may have searched with hard limits as soft penalties. So a search for broken constraints alone continues
        from the assignment of the walk. The walk keeps the result if no hard limit is exceeded more than at the start,
        and the result is no worse than the best of the walk. Otherwise the walk goes to the best assignment of all
        walks.
        """
        tolerance = self.walks.tolerance
        for walk in self.walks.all:
            bent, walk.bent = walk.bent, None
            silent = self.caller.silent()
            mend = Search(self.program, walk.next_seed(), self.began, walk.assignment.copy(), caller=silent)
            if mend.walks.open(0):
                mend.search(0, work, SearchLimits())
            walk.tries, walk.made = walk.tries + mend.walks.tries, walk.made + mend.walks.made
            walk.go_to(mend.walks.best)
            over = [] if bent is None else bent.excess(walk.state)
            holds = all((now <= before).all() for now, before in zip(over, self.begin_excess, strict=True))
            if holds and compare(walk.value, walk.best_value, tolerance) <= 0:
                walk.keep(tolerance)
            else:
                walk.go_to(self.walks.best)

    def _sweeps(self, level: int) -> Sweeps:
        """Return sweeps of the leading walk."""
        return Sweeps(self.program, self.walks.leader, level, self.walks.tolerance)

    def _kept(self, sweeps: Sweeps) -> None:
        """Keep the result of sweeps."""
        sweeps.walk.keep(self.walks.tolerance)
        self._note()

    def _note(self) -> None:
        walks, best = self.walks, self.walks.best
        self.caller.tell(self._level, float(walks.best_value[self._level]), self.program.least[self._level])
        who = np.flatnonzero(best != self._noted)
        moved, self._noted[who] = (who, best[who]), best[who]
        self.timeline.append(
            Step(
                time_s=time.perf_counter() - self.began,
                tries=walks.tries,
                made=walks.made,
                objective=tuple(map(float, walks.best_value)),
                moved=moved,
            )
        )
