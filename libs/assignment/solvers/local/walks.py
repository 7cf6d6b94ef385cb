"""Run several walks side by side, and keep the best assignment of all."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from libs.assignment.graph.lexicographic import compare
from libs.assignment.incremental.program import Program
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.local.cooling import Schedule
from libs.assignment.solvers.local.move_frequencies import Mix, usable_kinds
from libs.assignment.solvers.local.soft_limits import Bent
from libs.assignment.solvers.local.sweeps import Work
from libs.assignment.solvers.local.walk import Proposer, Walk

CHUNKS = 100
"""Chunks of an annealing. Between them the clock is read, walks are compared, and shares of kinds and prices of bent
limits are updated.
"""
CHUNK_MIN = 200
"""Least tries of a chunk."""
FIRST_CHUNK = 20_000
"""Tries of the first chunk, before their speed is known."""
FALLING = 0.3
"""Share of an annealing in which prices of bent limits may also fall."""
MEETINGS = 10
"""Times in an annealing at which walks behind continue from the best one's assignment."""
SAMPLE, SAMPLE_TRIES = 2_000, 200_000
"""Worsening changes that give the temperatures, and tries to find them."""
COLD = 1 / 45
"""Ratio of the quantiles of these changes for the last temperature and the first."""


def _never() -> bool:
    return False


class Walks:
    """A number of walks from one assignment (N,)."""

    def __init__(
        self,
        program: Program,
        start: Ints,
        seed: int,
        *,
        threads: int = 1,
        proposer: Proposer | None = None,
        cancelled: Callable[[], bool] = _never,
    ) -> None:
        self.program, self.proposer, self.cancelled = program, proposer, cancelled
        before = time.perf_counter()
        self.all = [Walk(program, start, seed * 1_009 + k) for k in range(threads)]
        self.whole_s = (time.perf_counter() - before) / threads
        """Seconds of one evaluation in full."""
        self.tolerance: Floats = 1e-9 * np.maximum(np.abs(self.all[0].value), 1e-3)
        self.mix = Mix(usable_kinds(program, proposals=proposer is not None))

    @property
    def leader(self) -> Walk:
        """Return the walk with the best assignment; of equals the first."""
        best = self.all[0]
        for walk in self.all[1:]:
            if compare(walk.best_value, best.best_value, self.tolerance) < 0:
                best = walk
        return best

    @property
    def best(self) -> Ints:
        """Return the best assignment, (N,)."""
        return self.leader.best

    @property
    def best_value(self) -> Floats:
        """Return the value of the best assignment, (levels,)."""
        return self.leader.best_value

    @property
    def tries(self) -> int:
        """Return the tries of all walks."""
        return sum(walk.tries for walk in self.all)

    @property
    def made(self) -> int:
        """Return the changes made by all walks."""
        return sum(walk.made for walk in self.all)

    def open(self, level: int) -> bool:
        """Return whether a level's value is above its lower bound."""
        return bool(self.best_value[level] > self.program.least[level] + self.tolerance[level])

    def begin_at(self, assignment: Ints) -> None:
        """Start all walks from an assignment as the best so far, with hard limits."""
        for walk in self.all:
            walk.begin_at(assignment)

    def schedule(self, level: int, tries: int, first: float) -> Schedule:
        """Return a schedule from the costs of random changes: from their quantile `first` down to about the
        cheapest.
        """
        least = float(self.tolerance[level])
        found = self.all[0].sample(level, SAMPLE, min(SAMPLE_TRIES, tries // 10 + 1), least, self.mix.base)
        if not len(found):
            return Schedule(1.0, 1.0)
        hot, cold = np.quantile(found, (first, first * COLD))
        return Schedule(float(hot), float(cold))

    def bend(self, hot: float) -> None:
        """Bend the limits of stacks. Each walk has its own prices, which begin for the temperature `hot`."""
        for walk in self.all:
            walk.bent = Bent(self.program, hot)

    def anneal(
        self,
        level: int,
        schedule: Schedule,
        work: Work,
        part: float,
        note: Callable[[], None],
        *,
        span: tuple[float, float] = (0.0, 1.0),
    ) -> Floats:
        """Anneal over a span of a schedule with a part of the remaining work, in tries or time, whichever ends first.

        If tries are limited, the temperature follows them alone, so the answer is the same on any machine. `note` is
        called after each chunk.

        Returns (K, 2): temperatures, and the spread of the level there.
        """
        tries, until_s, by_clock = int(work.tries * part), work.ends(part), work.timed
        measured: list[tuple[float, float]] = []
        share, (begin, end) = tries // len(self.all), span
        if not share:
            return np.zeros((0, 2))
        began_s, done, progress, met = time.perf_counter(), 0, 0.0, 0
        chunk = min(FIRST_CHUNK, share) if by_clock else share // CHUNKS
        while progress < 1.0 and self.open(level) and (not done or time.perf_counter() < until_s):
            if done and self.cancelled():
                break
            if by_clock:
                used_s, whole_s = time.perf_counter() - began_s, until_s - began_s
                if done:
                    chunk = int(done / used_s * whole_s / CHUNKS)
                progress = min(max(used_s / whole_s, done / share), 1.0)
                if done and progress == 1.0:
                    break
            chunk = min(max(chunk, min(CHUNK_MIN, share)), max(share // CHUNKS, CHUNK_MIN), share - done)
            after = min(progress + 1.0 / CHUNKS, 1.0) if by_clock else (done + chunk) / share
            hot, cold = (schedule.temperature(begin + (end - begin) * at) for at in (progress, after))
            for walk in self.all:
                if walk.bent is not None:
                    walk.bent.bend(walk.state, falling=progress < FALLING)
            self._step(level, hot, cold, chunk)
            work.spend(chunk * len(self.all))
            measured.append((cold, float(np.mean([walk.spread for walk in self.all]))))
            done, progress = done + chunk, after
            if int(progress * MEETINGS) > met:
                met = int(progress * MEETINGS)
                self._meet(level)
            note()
        for walk in self.all:
            walk.recompute()
        return np.array(measured).reshape(-1, 2)

    def _step(self, level: int, hot: float, cold: float, chunk: int) -> None:
        """Run a chunk of every walk in parallel."""
        shares, tolerance = self.mix.shares, self.tolerance
        for walk in self.all:
            if self.proposer is not None:
                walk.propose(self.proposer)
        if len(self.all) == 1:
            self.all[0].anneal(level, hot, cold, chunk, tolerance, shares)
        else:
            with ThreadPoolExecutor(len(self.all)) as pool:
                list(pool.map(lambda walk: walk.anneal(level, hot, cold, chunk, tolerance, shares), self.all))
        self.mix.learn(np.sum([walk.tally for walk in self.all], axis=0))

    def _meet(self, level: int) -> None:
        """Continue the worst walk from the assignment of the best. While limits bend, each walk keeps its own."""
        if len(self.all) < 2 or self.all[0].bent is not None:
            return
        order = sorted(self.all, key=lambda walk: tuple(walk.value[: level + 1].tolist()))
        order[-1].go_to(order[0].assignment)
