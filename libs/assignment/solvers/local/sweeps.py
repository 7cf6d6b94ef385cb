"""Sweep over objects and containers, hot ones first, before and after an annealing."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from libs.assignment.incremental.program import Program
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.local.descent import TARGETS_MAX, descend, swap_all
from libs.assignment.solvers.local.hot_spots import container_heat, object_sizes
from libs.assignment.solvers.local.moves.kernighan_lin import MEMBERS_MAX, RUN_MAX, members_of, run_between
from libs.assignment.solvers.local.walk import Walk

UNLIMITED = int(np.iinfo(np.int64).max)
"""Number of tries if only the clock ends a search."""
SWEEP_TRIES = 200_000
"""Tries of a sweep, or of the runs from one container, between two checks of the clock."""
RUN_CONTAINERS, RUN_PARTNERS = 32, 8
"""Hot containers at which Kernighan-Lin runs begin, and partners of each."""


@dataclass(slots=True)
class Work:
    """The work that is left: a number of tries, and the time until `until_s` on time.perf_counter().

    of     the larger work that contains it
    timed  True: only the time is limited, and each round gets a number of tries of its own
    """

    tries: int
    until_s: float = math.inf
    of: Work | None = None
    timed: bool = False

    @property
    def left(self) -> bool:
        """Return whether any work is left."""
        return self.tries > 0 and time.perf_counter() < self.until_s

    def part(self, of_tries: float, of_time: float = 1.0) -> Work:
        """Return a share of the tries and of the time. Tries spent on it count for the whole."""
        tries = self.tries if self.tries == UNLIMITED else int(self.tries * of_tries)
        return Work(tries, self.ends(of_time), self, timed=self.timed)

    def ends(self, share: float) -> float:
        """Return the end of a share of the time."""
        now = time.perf_counter()
        return self.until_s if math.isinf(self.until_s) else now + share * (self.until_s - now)

    def spend(self, tries: int) -> None:
        """Count tries, at least one so that every loop ends."""
        if self.tries != UNLIMITED:
            self.tries -= max(tries, 1)
        if self.of is not None:
            self.of.spend(tries)


class Sweeps:
    """Sweeps of one walk at one level, by falling heat of containers; within a container large objects come first."""

    def __init__(self, program: Program, walk: Walk, level: int, tolerance: Floats) -> None:
        self.program, self.walk, self.level, self.tolerance = program, walk, level, tolerance

    def descend(self, work: Work, *, first_improving: bool = False) -> None:
        """Sweep over all movable objects until a sweep changes nothing."""
        while work.left and self._open() and self._sweep(work, TARGETS_MAX, first_improving=first_improving):
            pass

    def at_bottom(self, work: Work) -> bool:
        """Try every single move and every swap, and make those that improve. Return whether all were tried and none
        improved.
        """
        containers, movable = len(self.program.problem.containers), len(self.program.movable)
        needed = movable * containers + movable * movable // 2
        if work.tries < needed:
            return False
        gained = self._sweep(work, containers, first_improving=True)
        counts, objects = np.zeros(3, dtype=np.int64), self.program.movable
        while len(objects) and work.left:
            swap_all(self.program.tables, self.walk.state, self.level, objects, SWEEP_TRIES, self.tolerance, counts)
            gained, objects = self._count(counts, work) or gained, objects[int(counts[2]) :]
        self.walk.recompute()
        return not gained and not len(objects) and work.left

    def run_between(self, work: Work) -> bool:
        """Make Kernighan-Lin runs from the hottest containers to others. Return whether they gained."""
        program, walk = self.program, self.walk
        containers, counts = len(program.problem.containers), np.zeros(3 + MEMBERS_MAX + RUN_MAX, dtype=np.int64)
        hot = np.argsort(-self._heat(), kind="stable")[:RUN_CONTAINERS]
        draws = np.random.default_rng(walk.next_seed()).integers(1, containers, size=(len(hot), RUN_PARTNERS))
        members = members_of(walk.assignment, program.movable, containers)
        gained = False
        for first, others in zip(hot, (hot[:, None] + draws) % containers, strict=True):
            if not work.left:
                break
            pairs = np.stack([np.full(RUN_PARTNERS, first), others], axis=1)
            most = min(SWEEP_TRIES, work.tries)
            seed = walk.next_seed()
            run_between(program.tables, walk.state, members, self.level, pairs, most, seed, self.tolerance, counts)
            gained = self._count(counts, work) or gained
        walk.recompute()
        return gained

    def _sweep(self, work: Work, targets: int, *, first_improving: bool) -> bool:
        """Sweep once. Return whether anything moved."""
        program, walk, counts, gained = self.program, self.walk, np.zeros(3, dtype=np.int64), False
        objects = self._order()
        while len(objects) and work.left:
            descend(
                program.tables,
                walk.state,
                self.level,
                objects,
                targets,
                first_improving,
                min(work.tries, SWEEP_TRIES),
                walk.next_seed(),
                self.tolerance,
                counts,
            )
            gained, objects = self._count(counts, work) or gained, objects[int(counts[2]) :]
        walk.recompute()
        return gained

    def _count(self, counts: Ints, work: Work) -> bool:
        """Add a kernel's counts to the walk's. Return whether it changed anything."""
        tried, made = int(counts[0]), int(counts[1])
        self.walk.tries, self.walk.made = self.walk.tries + tried, self.walk.made + made
        work.spend(tried)
        return made > 0

    def _order(self) -> Ints:
        """Return the movable objects, those of hot containers first, and within a container the large ones first."""
        movable = self.program.movable
        where, size = self.walk.assignment[movable], object_sizes(self.program.graph)[movable]
        return movable[np.lexsort((-size, where, -self._heat()[where]))]

    def _heat(self) -> Floats:
        program = self.program
        initial = program.problem.initial
        return container_heat(program.graph, program.goals, self.level, initial, self.walk.assignment)

    def _open(self) -> bool:
        """Return whether the level has anything left to gain."""
        least = self.program.least[self.level]
        return bool(self.walk.value[self.level] > least + self.tolerance[self.level])
