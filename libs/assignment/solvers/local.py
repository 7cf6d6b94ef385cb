"""The local search solver: first what is broken, then one priority after the other, each without losing the ones
above.
"""

from __future__ import annotations

import time

import numpy as np

from libs.assignment.arrays import Floats
from libs.assignment.problem import Problem
from libs.assignment.search.anneal import anneal, sample_changes
from libs.assignment.search.program import Program, compile_problem
from libs.assignment.solvers.limits import SearchLimits, StoppedBy
from libs.assignment.solvers.result import Result, Step

CHUNKS = 100
"""Parts of a level's search: between them the clock is read, and everything is recomputed so that no error adds up."""
FIRST_CHUNK = 20_000
"""Tries before anything is known about their speed."""
SAMPLE, SAMPLE_TRIES = 2_000, 200_000
"""Worsening changes that the temperatures are taken from, and tries to find them."""
HOT_QUANTILE = 0.9
"""Of those changes, how many are let through with a chance of more than 1/e at first."""


def solve_local(problem: Problem, limits: SearchLimits | None = None, *, seed: int = 0) -> Result:
    """An assignment no worse than the start, at every priority."""
    limits = limits or SearchLimits()
    began = time.perf_counter()
    program = compile_problem(problem)
    search = Search(program, seed, began)
    build_s = time.perf_counter() - began
    stopped_by = search.run(limits)
    final = program.state(search.best)
    levels = program.levels
    first, last = search.first, final.part[:levels]
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

    def __init__(self, program: Program, seed: int, began: float) -> None:
        self.program, self.seed, self.began = program, seed, began
        self.best = program.problem.initial.copy()
        self.state = program.state(self.best)
        self.first: Floats = self.state.part[: program.levels].copy()
        self.best_value = self.first.copy()
        self.tolerance: Floats = 1e-9 * np.maximum(np.abs(self.first), 1e-3)
        self.tries = self.made = self._seeds = 0
        self.timeline: list[Step] = []

    def run(self, limits: SearchLimits) -> StoppedBy:
        """Level by level, tries and time shared out evenly among those that have something to gain."""
        self._note()
        for level in range(self.program.levels):
            left = sum(self._open(k) for k in range(level, self.program.levels))
            if self._open(level):
                tries = None if limits.tries_max is None else (limits.tries_max - self.tries) // left
                self._anneal(level, tries, self._time_s() + (limits.time_s_max - self._time_s()) / left)
        if not any(self._open(level) for level in range(self.program.levels)):
            return StoppedBy.OPTIMAL
        return StoppedBy.TIME if self._time_s() >= limits.time_s_max else StoppedBy.WORK

    def _anneal(self, level: int, tries: int | None, until_s: float) -> None:
        """From hot to cold over so many tries, or, where they are not limited, over the time that is left."""
        began_s, done, progress, chunk = self._time_s(), 0, 0.0, FIRST_CHUNK
        hot, cold = self._temperatures(level)
        while progress < 1.0 and self._open(level) and (not done or self._time_s() < until_s):
            if tries is not None:
                chunk = max(tries // CHUNKS, 1)
                chunk, after = min(chunk, tries - done), min((done + chunk) / tries, 1.0)
            else:
                used_s = self._time_s() - began_s
                if done:
                    chunk = max(int(done / used_s * (until_s - began_s) / CHUNKS), 1)
                after = min(progress + 1.0 / CHUNKS, max(used_s / (until_s - began_s), progress) + 1.0 / CHUNKS, 1.0)
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
        """From what random changes cost here: hot lets nearly all of them through, cold hardly the cheapest."""
        found = np.zeros(SAMPLE)
        count = sample_changes(
            self.program.tables, self.state, level, found, SAMPLE_TRIES, self._next_seed(), self.tolerance[level]
        )
        if not count:
            return 1.0, 1.0
        return float(np.quantile(found[:count], HOT_QUANTILE)), float(found[:count].min())

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
        self.timeline.append(Step(time_s=self._time_s(), tries=self.tries, made=self.made, objective=objective))
