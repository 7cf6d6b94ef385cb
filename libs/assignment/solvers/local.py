"""The local search solver: first what is broken, then one priority after the other, each without losing the ones
above.
"""

from __future__ import annotations

import math
import time

import numpy as np

from libs.assignment.arrays import Floats, Ints
from libs.assignment.problem import Problem
from libs.assignment.search.anneal import anneal, sample_changes
from libs.assignment.search.descent import descend
from libs.assignment.search.heat import container_heat
from libs.assignment.search.program import Program, compile_problem
from libs.assignment.solvers.limits import SearchLimits, StoppedBy
from libs.assignment.solvers.result import Result, Step

CHUNKS = 100
"""Parts of a level's search: between them the clock is read, and everything is recomputed so that no error adds up."""
POLISH, POLISH_S_MAX = 0.05, 5.0
"""What is kept back of tries and time, and of time at most, to end at the bottom."""
SWEEP_TRIES = 2_000_000
"""Tries of a sweep between two looks at the clock."""
FIRST_CHUNK = 20_000
"""Tries before anything is known about their speed."""
SAMPLE, SAMPLE_TRIES = 2_000, 200_000
"""Worsening changes that the temperatures are taken from, and tries to find them."""
HOT, COLD = 0.97, 0.02
"""Quantiles of those changes: what makes things worse by so much is let through with a chance of 1/e, at first and
last.
"""


def solve_local(
    problem: Problem, limits: SearchLimits | None = None, *, seed: int = 0, start: Ints | None = None
) -> Result:
    """An assignment no worse than the start, at every priority.

    start   (N,) where to search from; None: where the objects are
    """
    limits = limits or SearchLimits()
    began = time.perf_counter()
    program = compile_problem(problem)
    search = Search(program, seed, began, problem.initial if start is None else start)
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
    )


class Search:
    """One search, and the best assignment that it has come to."""

    def __init__(self, program: Program, seed: int, began: float, start: Ints) -> None:
        self.program, self.seed, self.began = program, seed, began
        self.best = start.copy()
        self.state = program.state(self.best)
        self.first: Floats = self.state.part[: program.levels].copy()
        self.best_value = self.first.copy()
        self.tolerance: Floats = 1e-9 * np.maximum(np.abs(self.first), 1e-3)
        self.tries = self.made = self._seeds = 0
        self.timeline: list[Step] = []
        self._noted = program.problem.initial.copy()

    def run(self, limits: SearchLimits) -> StoppedBy:
        """Level by level, tries and time shared out evenly among those that have something to gain."""
        self._note()
        for level in range(self.program.levels):
            left = sum(self._open(k) for k in range(level, self.program.levels))
            if self._open(level):
                tries = None if limits.tries_max is None else (limits.tries_max - self.tries) // left
                self._search(level, tries, self._time_s() + (limits.time_s_max - self._time_s()) / left)
        if not any(self._open(level) for level in range(self.program.levels)):
            return StoppedBy.OPTIMAL
        by_time = limits.tries_max is None or self._time_s() >= limits.time_s_max
        return StoppedBy.TIME if by_time else StoppedBy.WORK

    def _search(self, level: int, tries: int | None, until_s: float) -> None:
        """Down to where single moves end, then annealing, then down again."""
        began = self.tries
        self._descend(level, None if tries is None else tries // 2, until_s)
        if tries is not None:
            tries -= self.tries - began
        polish = None if tries is None else int(tries * POLISH)
        left_s = until_s - self._time_s()
        anneal_s = until_s if left_s == math.inf else until_s - min(POLISH * left_s, POLISH_S_MAX)
        self._anneal(level, None if tries is None or polish is None else tries - polish, anneal_s)
        self._descend(level, polish, until_s)

    def _descend(self, level: int, tries_max: int | None, until_s: float) -> None:
        """Sweeps over all objects, those of hot containers first, until one changes nothing."""
        program, counts = self.program, np.zeros(3, dtype=np.int64)
        left = np.iinfo(np.int64).max if tries_max is None else tries_max
        gained = True
        while gained and left > 0 and self._open(level) and self._time_s() < until_s:
            assignment = self.state.whole[: len(self.best)]
            heat = container_heat(program.graph, program.goals, level, program.problem.initial, assignment)
            objects = np.argsort(-heat[assignment], kind="stable")
            gained = False
            while len(objects) and left > 0 and self._time_s() < until_s:
                chunk = min(left, SWEEP_TRIES)
                descend(program.tables, self.state, level, objects, chunk, self._next_seed(), self.tolerance, counts)
                tried, made, looked = (int(count) for count in counts)
                self.tries, self.made, left = self.tries + tried, self.made + made, left - max(tried, 1)
                gained, objects = gained or made > 0, objects[looked:]
            self.state = program.state(self.state.whole[: len(self.best)].copy())
            self._keep()
            self._note()

    def _keep(self) -> None:
        """Take the state for the best, if it is no worse."""
        now = self.state.part[: self.program.levels]
        for value, best, tolerance in zip(now, self.best_value, self.tolerance, strict=True):
            if value > best + tolerance:
                return
            if value < best - tolerance:
                break
        self.best[:], self.best_value[:] = self.state.whole[: len(self.best)], now

    def _anneal(self, level: int, tries: int | None, until_s: float) -> None:
        """From hot to cold over so many tries, or, where they are not limited, over the time that is left."""
        began_s, done, progress, chunk = self._time_s(), 0, 0.0, FIRST_CHUNK
        hot, cold = self._temperatures(level)
        if tries is not None and tries < 1:
            return
        while progress < 1.0 and self._open(level) and (not done or self._time_s() < until_s):
            if tries is not None:
                chunk = max(tries // CHUNKS, 1)
                chunk, after = min(chunk, tries - done), min((done + chunk) / tries, 1.0)
            else:
                used_s, whole_s = self._time_s() - began_s, until_s - began_s
                if done:
                    chunk = max(int(done / used_s * whole_s / CHUNKS), 1)
                progress = min(used_s / whole_s, 1.0)
                after = min(progress + 1.0 / CHUNKS, 1.0)
            self.made += anneal(
                self.program.tables,
                self.state,
                level,
                hot * (cold / hot) ** progress,
                hot * (cold / hot) ** after,
                chunk,
                self._next_seed(),
                self.tolerance,
                self.best,
                self.best_value,
            )
            done, progress = done + chunk, after
            self.tries += chunk
            self.state = self.program.state(self.state.whole[: len(self.best)].copy())
            self._note()
        self.state = self.program.state(self.best)
        self.best_value = self.state.part[: self.program.levels].copy()

    def _temperatures(self, level: int) -> tuple[float, float]:
        """From what random changes cost here: hot lets most of them through, cold hardly the cheapest."""
        found = np.zeros(SAMPLE)
        count = sample_changes(
            self.program.tables, self.state, level, found, SAMPLE_TRIES, self._next_seed(), self.tolerance[level]
        )
        if not count:
            return 1.0, 1.0
        hot, cold = np.quantile(found[:count], (HOT, COLD))
        return float(hot), float(cold)

    def _open(self, level: int) -> bool:
        """Whether a level has anything left to gain: its value is above the least that it can be."""
        return bool(self.best_value[level] > self.program.least[level] + self.tolerance[level])

    def _next_seed(self) -> int:
        self._seeds += 1
        return (self.seed * 1_000_003 + self._seeds) % 2**32

    def _time_s(self) -> float:
        return time.perf_counter() - self.began

    def _note(self) -> None:
        objective = tuple(map(float, self.best_value))
        who = np.flatnonzero(self.best != self._noted)
        moved, self._noted[who] = (who, self.best[who]), self.best[who]
        step = Step(time_s=self._time_s(), tries=self.tries, made=self.made, objective=objective, moved=moved)
        self.timeline.append(step)
