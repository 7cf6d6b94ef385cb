"""The local search solver: first what is broken, then one priority after the other, each without losing the ones
above.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from libs.assignment.arrays import Floats, Ints
from libs.assignment.problem import Problem
from libs.assignment.search.descent import descend
from libs.assignment.search.heat import container_heat
from libs.assignment.search.mix import Mix, usable_kinds
from libs.assignment.search.moves.kernighan_lin import MEMBERS_MAX, RUN_MAX, run_between
from libs.assignment.search.program import Program, compile_problem
from libs.assignment.search.schedule import Schedule
from libs.assignment.search.walk import Proposer, Walk, compare
from libs.assignment.solvers.limits import SearchLimits, StoppedBy
from libs.assignment.solvers.result import Result, Step

CHUNKS = 100
"""Parts of an annealing: between them the clock is read, walks are compared and kinds of changes weighed anew."""
PILOT = 0.15
"""Of the tries or the time: a quick annealing that the schedule of the other is taken from."""
MEETINGS = 10
"""How often, in an annealing, walks that are behind go on from where the best one is."""
POLISH, POLISH_S_MAX = 0.05, 5.0
"""What is kept back of tries and time, and of time at most, to end at the bottom."""
SWEEP_TRIES = 200_000
"""Tries of a sweep, or of the runs from one container, between two looks at the clock."""
AFTERWARDS = 4
"""Times that everything is computed whole after the clock has ended a search: so much of its time is kept back."""
AFTERWARDS_SHARE = 0.1
"""Of the time, at most: where kernels are not yet loaded, computing the first one whole takes long."""
RUN_CONTAINERS, RUN_PARTNERS = 32, 8
"""Hot containers that Kernighan-Lin runs begin at, and others for each."""
FIRST_CHUNK = 20_000
"""Tries before anything is known about their speed."""
SAMPLE, SAMPLE_TRIES = 2_000, 200_000
"""Worsening changes that the temperatures are taken from, and tries to find them."""
HOT, COLD = 0.9, 0.02
"""Quantiles of those changes: what makes things worse by so much is let through with a chance of 1/e, at first and
last.
"""


def solve_local(
    problem: Problem,
    limits: SearchLimits | None = None,
    *,
    seed: int = 0,
    start: Ints | None = None,
    proposer: Proposer | None = None,
) -> Result:
    """An assignment no worse than the start, at every priority.

    start     (N,) where to search from; None: where the objects are
    proposer  the caller's own changes (docs/assignment/local-search.md)
    """
    limits = limits or SearchLimits()
    began = time.perf_counter()
    program = compile_problem(problem, to_search=True)
    search = Search(program, seed, began, problem.initial if start is None else start, limits.threads, proposer)
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
    )


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
    ) -> None:
        self.program, self.began, self.proposer = program, began, proposer
        before = time.perf_counter()
        self.walks = [Walk(program, start, seed * 1_009 + k) for k in range(threads)]
        self.whole_s = (time.perf_counter() - before) / threads
        self.first: Floats = self.walks[0].value.copy()
        self.tolerance: Floats = 1e-9 * np.maximum(np.abs(self.first), 1e-3)
        self.mix = Mix(usable_kinds(program, proposals=proposer is not None))
        self.timeline: list[Step] = []
        self._noted = program.problem.initial.copy()

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
        time_s_max = limits.time_s_max - min(AFTERWARDS * self.whole_s, AFTERWARDS_SHARE * limits.time_s_max)
        for level in range(self.program.levels):
            left = sum(self._open(k) for k in range(level, self.program.levels))
            if self._open(level):
                tries = None if limits.tries_max is None else (limits.tries_max - self.tries) // left
                self._search(level, tries, self._time_s() + (time_s_max - self._time_s()) / left)
        if not any(self._open(level) for level in range(self.program.levels)):
            return StoppedBy.OPTIMAL
        by_time = limits.tries_max is None or self._time_s() >= time_s_max
        return StoppedBy.TIME if by_time else StoppedBy.WORK

    def _search(self, level: int, tries: int | None, until_s: float) -> None:
        """Down to where single moves end, then annealing, quick and slow, then down again."""
        began = self.tries
        self._descend(level, None if tries is None else tries // 2, until_s)
        start = self.best
        for walk in self.walks:
            walk.begin_at(start)
        if tries is not None:
            tries -= self.tries - began
        polish = None if tries is None else int(tries * POLISH)
        left_s = until_s - self._time_s()
        anneal_s = until_s if left_s == math.inf else until_s - min(POLISH * left_s, POLISH_S_MAX)
        schedule = self._schedule(level)
        pilot = None if tries is None else int(tries * PILOT)
        pilot_s = anneal_s if left_s == math.inf else self._time_s() + PILOT * (anneal_s - self._time_s())
        measured = self._anneal(level, schedule, pilot, pilot_s)
        schedule.adapt(measured[:, 0], measured[:, 1])
        slow = None if tries is None or polish is None or pilot is None else tries - polish - pilot
        self._anneal(level, schedule, slow, anneal_s)
        self.leader.begin_at(self.best)
        before = self.tries
        self._descend(level, polish, until_s)
        self._run_between(level, None if polish is None else polish - (self.tries - before), until_s)

    def _descend(self, level: int, tries_max: int | None, until_s: float) -> None:
        """Sweeps over all objects, those of hot containers first, until one changes nothing."""
        program, walk, counts = self.program, self.leader, np.zeros(3, dtype=np.int64)
        left = np.iinfo(np.int64).max if tries_max is None else tries_max
        gained = True
        while gained and left > 0 and self._open(level) and self._time_s() < until_s:
            heat = container_heat(program.graph, program.goals, level, program.problem.initial, walk.assignment)
            objects = np.argsort(-heat[walk.assignment], kind="stable")
            gained = False
            while len(objects) and left > 0 and self._time_s() < until_s:
                chunk = min(left, SWEEP_TRIES)
                seed = walk.next_seed()
                descend(program.tables, walk.state, level, objects, chunk, seed, self.tolerance, counts)
                tried, made, looked = (int(count) for count in counts)
                walk.tries, walk.made, left = walk.tries + tried, walk.made + made, left - max(tried, 1)
                gained, objects = gained or made > 0, objects[looked:]
            walk.recompute()
            walk.keep(self.tolerance)
            self._note()

    def _run_between(self, level: int, tries_max: int | None, until_s: float) -> None:
        """Kernighan-Lin runs from the hottest containers to others, and where they gain, down again."""
        program, walk = self.program, self.leader
        containers, counts = len(program.problem.containers), np.zeros(3 + MEMBERS_MAX + RUN_MAX, dtype=np.int64)
        if containers < 2 or not self._open(level) or self._time_s() >= until_s:
            return
        heat = container_heat(program.graph, program.goals, level, program.problem.initial, walk.assignment)
        hot = np.argsort(-heat, kind="stable")[:RUN_CONTAINERS]
        draws = np.random.default_rng(walk.next_seed()).integers(1, containers, size=(len(hot), RUN_PARTNERS))
        tried = kept = 0
        for first, others in zip(hot, (hot[:, None] + draws) % containers, strict=True):
            most = SWEEP_TRIES if tries_max is None else min(SWEEP_TRIES, tries_max - tried)
            if most <= 0 or self._time_s() >= until_s:
                break
            pairs = np.stack([np.full(RUN_PARTNERS, first), others], axis=1)
            run_between(program.tables, walk.state, level, pairs, most, walk.next_seed(), self.tolerance, counts)
            tried, kept = tried + int(counts[0]), kept + int(counts[1])
        walk.tries, walk.made = walk.tries + tried, walk.made + kept
        walk.recompute()
        walk.keep(self.tolerance)
        if kept:
            self._descend(level, None if tries_max is None else tries_max - tried, until_s)
        self._note()

    def _anneal(self, level: int, schedule: Schedule, tries: int | None, until_s: float) -> Floats:
        """Over so many tries, or, where they are not limited, over the time that is left.

        Returns (K, 2): temperatures, and the spread of the level there.
        """
        measured: list[tuple[float, float]] = []
        if tries is not None and tries < len(self.walks):
            return np.zeros((0, 2))
        began_s, done, progress, chunk = self._time_s(), 0, 0.0, FIRST_CHUNK
        share, met = None if tries is None else tries // len(self.walks), 0
        while progress < 1.0 and self._open(level) and (not done or self._time_s() < until_s):
            if share is not None:
                chunk = min(max(share // CHUNKS, 1), share - done)
                after = (done + chunk) / share
            else:
                used_s, whole_s = self._time_s() - began_s, until_s - began_s
                if done:
                    chunk = max(int(done / used_s * whole_s / CHUNKS), 1)
                progress = min(used_s / whole_s, 1.0)
                after = min(progress + 1.0 / CHUNKS, 1.0)
            hot, cold = schedule.temperature(progress), schedule.temperature(after)
            self._step(level, hot, cold, chunk)
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
        """The walk that is worst goes on from where the best one is."""
        if len(self.walks) < 2:
            return
        order = sorted(self.walks, key=lambda walk: tuple(walk.value[: level + 1].tolist()))
        order[-1].go_to(order[0].assignment)

    def _schedule(self, level: int) -> Schedule:
        """From what random changes cost here: hot lets most of them through, cold hardly the cheapest."""
        least = float(self.tolerance[level])
        found = self.walks[0].sample(level, SAMPLE, SAMPLE_TRIES, least, self.mix.base)
        if not len(found):
            return Schedule(1.0, 1.0)
        hot, cold = np.quantile(found, (HOT, COLD))
        return Schedule(float(hot), float(cold))

    def _open(self, level: int) -> bool:
        """Whether a level has anything left to gain: its value is above the least that it can be."""
        return bool(self.best_value[level] > self.program.least[level] + self.tolerance[level])

    def _time_s(self) -> float:
        return time.perf_counter() - self.began

    def _note(self) -> None:
        made = sum(walk.made for walk in self.walks)
        objective = tuple(map(float, self.best_value))
        best = self.best
        who = np.flatnonzero(best != self._noted)
        moved, self._noted[who] = (who, best[who]), best[who]
        step = Step(time_s=self._time_s(), tries=self.tries, made=made, objective=objective, moved=moved)
        self.timeline.append(step)
