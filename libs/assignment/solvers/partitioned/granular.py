"""Test whether a problem is granular, so that it may be cut into parts.

A problem is granular if each part offers its objects about as good containers as the whole problem does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.incremental.delta import try_moves
from libs.assignment.incremental.program import Program
from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.solvers.partitioned.part import Part

OBJECTS_MIN = 10
"""Least average number of objects in a part. The method (POP) needs parts with many objects."""
SAMPLE_OBJECTS, SAMPLE_CONTAINERS = 200, 200
LOST_MAX = 0.4
"""Largest loss at which a problem may be cut.

The loss is a share of the gain of objects in their best container over an average container. With independent
preferences for a hundred containers, a part with a quarter of them loses a fifth. If each object has a single good
container, four parts lose three quarters.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granularity:
    """The measured conditions for a cut (POP, section 2).

    objects     average number of objects in a part
    containers  number of containers in the smallest part
    lost        share of the gain of objects in their best container that their part does not offer
    """

    objects: float
    containers: int
    lost: float

    @property
    def granular(self) -> bool:
        """Return whether the parts have enough objects and containers, and `lost` is at most LOST_MAX."""
        return self.objects >= OBJECTS_MIN and self.containers >= 2 and self.lost <= LOST_MAX

    def in_words(self) -> str:
        """Return a sentence that says whether the problem is granular, and why."""
        if self.objects < OBJECTS_MIN:
            return f"not granular: {self.objects:.3g} objects a part are too few"
        if self.containers < 2:
            return f"not granular: a part has {self.containers} container(s) only, and no choice"
        of = f"of what objects gain where each is best off, {self.lost:.0%} lies outside their part"
        return f"granular: {of}" if self.granular else f"not granular: {of}; one container does not do for another"


def measure_granularity(program: Program, parts: tuple[Part, ...], seed: int) -> Granularity:
    """Measure how granular a problem is, by single moves of a sample of objects to a sample of containers.

    Let g[o, c] be the gain of the move of object o to container c. A gain in c that is equal for all objects does not
    tie an object to the part of c. So take r = g - row means - column means. `lost` is

        sum_o (max_c r[o, c] - max_{c in the part of o} r[o, c]) / sum_o (max_c r[o, c] - mean_c r[o, c])
    """
    rng, problem = np.random.default_rng(seed), program.problem
    part_of = np.full(len(problem.objects), -1)
    inside = np.zeros((len(parts), len(problem.containers)), dtype=np.bool_)
    for k, part in enumerate(parts):
        part_of[part.objects] = k
        inside[k, part.containers] = True
    objects = _some(rng, np.flatnonzero(part_of >= 0), SAMPLE_OBJECTS)
    containers = _some(rng, np.arange(len(problem.containers)), SAMPLE_CONTAINERS)
    smallest = min(len(part.containers) for part in parts)
    per_part = len(problem.objects) / len(parts)
    gains = _gains(program, objects, containers)
    own = inside[part_of[objects]][:, containers]
    return Granularity(objects=per_part, containers=smallest, lost=_lost(gains, own))


def _lost(gains: Floats, own: Bools) -> float:
    known = np.isfinite(gains)
    use = known.sum(axis=1) > 1
    gains, own, known = gains[use], own[use], known[use]
    if not len(gains):
        return 0.0
    rest = np.where(known, gains, np.nan)
    for _ in range(2):
        rest = rest - np.nanmean(rest, axis=1, keepdims=True)
        columns = known.any(axis=0)
        rest[:, columns] -= np.nanmean(rest[:, columns], axis=0, keepdims=True)
    best = np.nanmax(rest, axis=1)
    mean = np.nanmean(rest, axis=1)
    here = np.where(known & own, rest, -np.inf).max(axis=1)
    here = np.where(np.isfinite(here), np.maximum(here, mean), mean)
    wanted = float((best - mean).sum())
    scale = float(np.abs(np.where(known, gains, 0.0)).sum(axis=1).max(initial=0.0))
    return float((best - here).sum() / wanted) if wanted > 1e-9 * max(scale, 1e-300) else 0.0


def _gains(program: Program, objects: Ints, containers: Ints) -> Floats:
    """Return the gain of the move of each object to each container, (objects, containers); nan: the move is forbidden.

    The gain is that of the first level that any of the moves changes.
    """
    state, levels = program.state(program.problem.initial), program.levels
    gains = np.full((levels, len(objects), len(containers)), np.nan)
    for i, o in enumerate(objects):
        who = np.array([o])
        for j, c in enumerate(containers):
            if c == program.problem.initial[o]:
                gains[:, i, j] = 0.0
            elif try_moves(program.tables, state, who, np.array([c]), False):
                gains[:, i, j] = -state.part[levels : 2 * levels]
    for level in gains:
        if np.nanmax(np.abs(level), initial=0.0) > 0:
            return np.asarray(level)
    return np.asarray(gains[0])


def _some(rng: np.random.Generator, among: Ints, most: int) -> Ints:
    return among if len(among) <= most else np.sort(rng.choice(among, size=most, replace=False))
