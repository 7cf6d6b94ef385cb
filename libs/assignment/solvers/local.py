"""The local search solver: first what is broken, then one priority after the other, each without losing the ones
above.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from libs.assignment.arrays import Floats, Ints
from libs.assignment.compiled import Compiled
from libs.assignment.legal import begun_at
from libs.assignment.problem import Problem
from libs.assignment.search.bent import Bent
from libs.assignment.search.mix import Mix, usable_kinds
from libs.assignment.search.program import Program, program_of
from libs.assignment.search.schedule import Schedule
from libs.assignment.search.sweeps import UNLIMITED, Sweeps, Work
from libs.assignment.search.walk import Proposer, Walk, compare
from libs.assignment.solvers.deadline import Deadline
from libs.assignment.solvers.limits import SearchLimits, StoppedBy
from libs.assignment.solvers.result import Result, Step

CHUNKS = 100
"""Parts of an annealing: between them the clock is read, walks are compared and kinds of changes weighed anew."""
BENT, FALLING, COOL = 0.5, 0.3, 0.05
"""Limits bend for so much of the tries or the time of a round; for so much of that, prices also fall; and until the
temperature is so much of the first.
"""
MEND = 0.2
"""Of what is left then: to come back to the limits.
"""
PILOT = 0.15
"""Of the tries or the time: a quick annealing that the schedule of the other is taken from."""
MEETINGS = 10
"""How often, in an annealing, walks that are behind go on from where the best one is."""
POLISH, POLISH_S_MAX = 0.05, 5.0
"""What is kept back of tries and time, and of time at most, to end at the bottom."""
AFTERWARDS = 4
"""Times that everything is computed whole after the clock has ended a search: so much of its time is kept back."""
AFTERWARDS_SHARE = 0.1
"""Of the time, at most: where kernels are not yet loaded, computing the first one whole takes long."""
ROUND_TRIES, ROUND_TRIES_MIN = 10, 1_000
"""Tries of a round: so many per object and change (a single move, a swap of two), and at least."""
ROUNDS_IDLE = 3
"""Rounds without a gain after which a search looks whether it is at the bottom, and ends there."""
CHUNK_MIN = 200
"""Tries."""
FIRST_CHUNK = 20_000
"""Tries before anything is known about their speed."""
SAMPLE, SAMPLE_TRIES = 2_000, 200_000
"""Worsening changes that the temperatures are taken from, and tries to find them."""
HOT, COLD = 0.9, 1 / 45
"""Quantile of those changes: what makes things worse by so much is let through with a chance of 1/e, at first; and
that share of it at last.
"""
LUKEWARM = 0.03
"""The first quantile where the start is good and is not to be melted down."""


def solve_local(
    problem: Problem,
    limits: SearchLimits | None = None,
    *,
    seed: int = 0,
    start: Ints | None = None,
    proposer: Proposer | None = None,
    compiled: Compiled | None = None,
    deadline: Deadline | None = None,
    refine: bool = False,
) -> Result:
    """An assignment no worse than the start, at every priority.

    start     (N,) where to search from, where that is no worse than where the objects are (legal.begun_at)
    refine    the start is legal and better than where the objects are: search near it, from a low temperature and
              within the limits
    proposer  the caller's own changes (docs/assignment/local-search.md)
    compiled  the problem compiled, where a caller has it already
    deadline  the clock of the solve that this one is part of; it counts instead of time_s_max
    """
    limits = limits or SearchLimits()
    deadline = deadline or Deadline.after(limits.time_s_max)
    limits, began = replace(limits, time_s_max=deadline.time_s_max), deadline.began
    compiled = compiled or Compiled.of(problem)
    begin = start if refine and start is not None else begun_at(compiled, start)
    program = program_of(compiled, to_search=True, begin=begin)
    search = Search(program, seed, began, begin, limits.threads, proposer, refine=refine)
    build_s = time.perf_counter() - began
    stopped_by = search.run(limits)
    final = program.state(search.best)
    levels = program.levels
    first, last = program.state(problem.initial).part[:levels], final.part[:levels]
    return Result(
        assignment=search.best,
        broken=(float(first[0]), float(last[0])),
        objective=(tuple(map(float, first[1:])), tuple(map(float, last[1:]))),
        improved=bool((search.best != problem.initial).any()),
        moved=int((search.best != problem.initial).sum()),
        tries=search.tries,
        seed=seed,
        stopped_by=stopped_by,
        build_s=build_s,
        solve_s=time.perf_counter() - began,
        timeline=tuple(search.timeline),
        bound=program.least,
    ).as_stated(compiled.unit)


class Search:
    """Walks side by side, and the best assignment that any has come to."""

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
    ) -> None:
        self.program, self.began, self.proposer = program, began, proposer
        self.refine, self.hot = refine, LUKEWARM if refine else HOT
        before = time.perf_counter()
        self.walks = [Walk(program, start, seed * 1_009 + k) for k in range(threads)]
        self.whole_s = (time.perf_counter() - before) / threads
        self.first: Floats = self.walks[0].value.copy()
        self.tolerance: Floats = 1e-9 * np.maximum(np.abs(self.first), 1e-3)
        self.mix = Mix(usable_kinds(program, proposals=proposer is not None))
        self.timeline: list[Step] = []
        self._noted = program.problem.initial.copy()
        movable, containers = len(program.movable), len(program.problem.containers)
        changes = movable * containers + movable * movable // 2
        self.begin_excess = Bent(program, 1.0).excess(self.walks[0].state)
        self.round_tries = max(ROUND_TRIES * movable * changes, ROUND_TRIES_MIN)

    @property
    def leader(self) -> Walk:
        """The walk with the best assignment; the first of them."""
        best = self.walks[0]
        for walk in self.walks[1:]:
            if compare(walk.best_value, best.best_value, self.tolerance) < 0:
                best = walk
        return best

    @property
    def best(self) -> Ints:
        """(N,)."""
        return self.leader.best

    @property
    def best_value(self) -> Floats:
        """(levels,)."""
        return self.leader.best_value

    @property
    def tries(self) -> int:
        """By all walks."""
        return sum(walk.tries for walk in self.walks)

    def run(self, limits: SearchLimits) -> StoppedBy:
        """Level by level, tries and time shared out evenly among those that have something to gain."""
        self._note()
        program = self.program
        if not len(program.movable):
            return StoppedBy.OPTIMAL
        time_s_max = limits.time_s_max - min(AFTERWARDS * self.whole_s, AFTERWARDS_SHARE * limits.time_s_max)
        at_bottom = True
        for level in range(program.levels):
            left = sum(self._open(k) for k in range(level, program.levels))
            if self._open(level):
                now_s = time.perf_counter() - self.began
                until_s = self.began + now_s + (time_s_max - now_s) / left
                timed = limits.tries_max is None
                tries = UNLIMITED if limits.tries_max is None else (limits.tries_max - self.tries) // left
                at_bottom = self._search(level, Work(tries, until_s, timed=timed), limits) and at_bottom
        if not any(self._open(level) for level in range(program.levels)):
            return StoppedBy.OPTIMAL
        if at_bottom:
            return StoppedBy.LOCAL
        by_time = limits.tries_max is None or time.perf_counter() - self.began >= time_s_max
        return StoppedBy.TIME if by_time else StoppedBy.WORK

    def _search(self, level: int, work: Work, limits: SearchLimits) -> bool:
        """Descend, then anneal from the best again and again, until that gains nothing or the work is done.

        Returns whether nothing is left to gain, or no single move and no swap improves and rounds found nothing.
        """
        sweeps = self._sweeps(level)
        sweeps.descend(work.part(0.5), first_improving=limits.first_improving)
        self._kept(sweeps)
        rounds = idle = 0
        while self._open(level) and (work.left or not rounds):
            rounds += 1
            before = self.best_value.copy()
            self._round(level, work, limits.first_improving)
            idle = 0 if compare(self.best_value, before, self.tolerance) < 0 else idle + 1
            if idle >= ROUNDS_IDLE:
                self.leader.begin_at(self.best)
                sweeps = self._sweeps(level)
                if sweeps.at_bottom(work):
                    return True
                self._kept(sweeps)
                idle = 0
        return not self._open(level)

    def _round(self, level: int, work: Work, first_improving: bool) -> None:
        """Anneal from the best, quickly and then slowly, and go down again from the best that is met."""
        start = self.best
        for walk in self.walks:
            walk.begin_at(start)
        all_tries = work.tries
        tries = min(all_tries, self.round_tries)
        if all_tries - tries < tries / 2:
            tries = all_tries
        until_s, timed = work.until_s, work.timed
        polish = int(tries * POLISH)
        left_s = until_s - time.perf_counter()
        anneal_s = until_s if left_s == math.inf else until_s - min(POLISH * left_s, POLISH_S_MAX)
        self._heat_and_cool(level, Work(tries - polish, anneal_s, work, timed=timed))
        self.leader.begin_at(self.best)
        sweeps = self._sweeps(level)
        last = Work(min(max(polish, 1), work.tries), until_s, work, timed=timed)
        sweeps.descend(last, first_improving=first_improving)
        if self._open(level) and sweeps.run_between(last):
            sweeps.descend(last, first_improving=first_improving)
        self._kept(sweeps)

    def _heat_and_cool(self, level: int, work: Work) -> None:
        """Anneal with bent limits, where there are any, and then on from there; else quickly and then slowly."""
        schedule = self._schedule(level, work.tries)
        hot, cold = schedule.temperature(0.0), schedule.temperature(1.0)
        if level == 1 and hot > cold and self.begin_excess and not self.refine:
            for walk in self.walks:
                walk.bent = Bent(self.program, hot)
            self._anneal(level, Schedule(hot, max(hot * COOL, cold)), work, BENT)
            if self._mend(work.part(MEND, MEND)):
                self._anneal(level, Schedule(max(hot * COOL, cold), cold), work, 1.0)
                return
        measured = self._anneal(level, schedule, work, PILOT)
        schedule.adapt(measured[:, 0], measured[:, 1])
        self._anneal(level, schedule, work, 1.0)

    def _mend(self, work: Work) -> bool:
        """From where each walk is after limits were bent, come back to them: what is broken is all that counts.

        A walk that does not goes on from the best. Returns whether any did.
        """
        mended = 0
        for walk in self.walks:
            bent, walk.bent = walk.bent, None
            mend = Search(self.program, walk.next_seed(), self.began, walk.assignment.copy())
            if mend._open(0):
                mend._search(0, work, SearchLimits())
            walk.tries, walk.made = walk.tries + mend.tries, walk.made + mend.walks[0].made
            walk.go_to(mend.best)
            over = [] if bent is None else bent.excess(walk.state)
            holds = all((now <= before).all() for now, before in zip(over, self.begin_excess, strict=True))
            if holds and walk.value[0] <= self.best_value[0] + self.tolerance[0]:
                mended += 1
                walk.keep(self.tolerance)
            else:
                walk.go_to(self.best)
        return mended > 0

    def _sweeps(self, level: int) -> Sweeps:
        """From where the leader is."""
        return Sweeps(self.program, self.leader, level, self.tolerance)

    def _kept(self, sweeps: Sweeps) -> None:
        """Take what sweeps came to."""
        sweeps.walk.keep(self.tolerance)
        self._note()

    def _anneal(self, level: int, schedule: Schedule, work: Work, part: float) -> Floats:
        """Anneal over a part of the work that is left: of its tries or of its time, whichever is over first.

        Where tries are what is limited, the temperature follows them alone, so that the answer is the same anywhere.

        Returns (K, 2): temperatures, and the spread of the level there.
        """
        tries, until_s, by_clock = int(work.tries * part), work.ends(part), work.timed
        measured: list[tuple[float, float]] = []
        share, walks = tries // len(self.walks), len(self.walks)
        if not share:
            return np.zeros((0, 2))
        began_s, done, progress, met = time.perf_counter(), 0, 0.0, 0
        chunk = min(FIRST_CHUNK, share) if by_clock else share // CHUNKS
        while progress < 1.0 and self._open(level) and (not done or time.perf_counter() < until_s):
            if by_clock:
                used_s, whole_s = time.perf_counter() - began_s, until_s - began_s
                if done:
                    chunk = int(done / used_s * whole_s / CHUNKS)
                progress = min(max(used_s / whole_s, done / share), 1.0)
                if done and progress == 1.0:
                    break
            chunk = min(max(chunk, min(CHUNK_MIN, share)), max(share // CHUNKS, CHUNK_MIN), share - done)
            after = min(progress + 1.0 / CHUNKS, 1.0) if by_clock else (done + chunk) / share
            hot, cold = schedule.temperature(progress), schedule.temperature(after)
            for walk in self.walks:
                if walk.bent is not None:
                    walk.bent.bend(walk.state, falling=progress < FALLING)
            self._step(level, hot, cold, chunk)
            work.spend(chunk * walks)
            measured.append((cold, float(np.mean([walk.spread for walk in self.walks]))))
            done, progress = done + chunk, after
            if int(progress * MEETINGS) > met:
                met = int(progress * MEETINGS)
                self._meet(level)
            self._note()
        for walk in self.walks:
            walk.recompute()
        return np.array(measured).reshape(-1, 2)

    def _step(self, level: int, hot: float, cold: float, chunk: int) -> None:
        """A chunk of every walk, side by side."""
        shares, tolerance = self.mix.shares, self.tolerance
        for walk in self.walks:
            if self.proposer is not None:
                walk.propose(self.proposer)
        if len(self.walks) == 1:
            self.walks[0].anneal(level, hot, cold, chunk, tolerance, shares)
        else:
            with ThreadPoolExecutor(len(self.walks)) as pool:
                list(pool.map(lambda walk: walk.anneal(level, hot, cold, chunk, tolerance, shares), self.walks))
        self.mix.learn(np.sum([walk.tally for walk in self.walks], axis=0))

    def _meet(self, level: int) -> None:
        """The walk that is worst goes on from where the best one is; with bent limits each goes its own way."""
        if len(self.walks) < 2 or self.walks[0].bent is not None:
            return
        order = sorted(self.walks, key=lambda walk: tuple(walk.value[: level + 1].tolist()))
        order[-1].go_to(order[0].assignment)

    def _schedule(self, level: int, tries: int) -> Schedule:
        """From what random changes cost here: hot lets most of them through, cold hardly the cheapest."""
        least = float(self.tolerance[level])
        found = self.walks[0].sample(level, SAMPLE, min(SAMPLE_TRIES, tries // 10 + 1), least, self.mix.base)
        if not len(found):
            return Schedule(1.0, 1.0)
        hot, cold = np.quantile(found, (self.hot, self.hot * COLD))
        return Schedule(float(hot), float(cold))

    def _open(self, level: int) -> bool:
        """Whether a level has anything left to gain: its value is above the least that it can be."""
        return bool(self.best_value[level] > self.program.least[level] + self.tolerance[level])

    def _note(self) -> None:
        made = sum(walk.made for walk in self.walks)
        objective = tuple(map(float, self.best_value))
        best = self.best
        who = np.flatnonzero(best != self._noted)
        moved, self._noted[who] = (who, best[who]), best[who]
        step = Step(
            time_s=time.perf_counter() - self.began, tries=self.tries, made=made, objective=objective, moved=moved
        )
        self.timeline.append(step)
