"""Walks side by side: annealed together, and the best assignment that any of them has come to."""

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
"""Parts of an annealing: between them the clock is read, walks are compared, kinds of changes weighed anew and prices
of bent limits too.
"""
CHUNK_MIN = 200
"""Tries."""
FIRST_CHUNK = 20_000
"""Tries before anything is known about their speed."""
FALLING = 0.3
"""Of an annealing: for so long prices of bent limits also fall."""
MEETINGS = 10
"""How often, in an annealing, walks that are behind go on from where the best one is."""
SAMPLE, SAMPLE_TRIES = 2_000, 200_000
"""Worsening changes that the temperatures are taken from, and tries to find them."""
COLD = 1 / 45
"""The last temperature is so much further down among those changes than the first."""


def _never() -> bool:
    return False


class Walks:
    """So many, from one assignment (N,)."""

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
        """Seconds that it takes to compute everything whole."""
        self.tolerance: Floats = 1e-9 * np.maximum(np.abs(self.all[0].value), 1e-3)
        self.mix = Mix(usable_kinds(program, proposals=proposer is not None))

    @property
    def leader(self) -> Walk:
        """The walk with the best assignment; the first of them."""
        best = self.all[0]
        for walk in self.all[1:]:
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
        return sum(walk.tries for walk in self.all)

    @property
    def made(self) -> int:
        """Changes, by all walks."""
        return sum(walk.made for walk in self.all)

    def open(self, level: int) -> bool:
        """Whether a level has anything left to gain: its value is above the least that it can be."""
        return bool(self.best_value[level] > self.program.least[level] + self.tolerance[level])

    def begin_at(self, assignment: Ints) -> None:
        """Start all from an assignment that is the best so far, with hard limits."""
        for walk in self.all:
            walk.begin_at(assignment)

    def schedule(self, level: int, tries: int, first: float) -> Schedule:
        """From what random changes cost here: at first a quantile `first` of it, at last hardly the cheapest."""
        least = float(self.tolerance[level])
        found = self.all[0].sample(level, SAMPLE, min(SAMPLE_TRIES, tries // 10 + 1), least, self.mix.base)
        if not len(found):
            return Schedule(1.0, 1.0)
        hot, cold = np.quantile(found, (first, first * COLD))
        return Schedule(float(hot), float(cold))

    def bend(self, hot: float) -> None:
        """Let the limits of stacks bend, each walk at prices of its own that begin for the temperature `hot`."""
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
        """Anneal over a span of a schedule, and a part of the work that is left: of its tries or of its time, whichever
        is over first.

        Where tries are what is limited, the temperature follows them alone, so that the answer is the same anywhere.
        `note` is called after each chunk.

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
        """A chunk of every walk, side by side."""
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
        """The walk that is worst goes on from where the best one is; while limits bend each goes its own way."""
        if len(self.all) < 2 or self.all[0].bent is not None:
            return
        order = sorted(self.all, key=lambda walk: tuple(walk.value[: level + 1].tolist()))
        order[-1].go_to(order[0].assignment)
