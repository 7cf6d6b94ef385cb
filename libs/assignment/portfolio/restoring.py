"""Counts that break what must hold are mended, and not thrown away."""

from __future__ import annotations

import numpy as np

from libs.assignment.arrays import Bools, Floats, Ints
from libs.assignment.lowering.lowered import Lowered
from libs.assignment.portfolio.shares import Shares
from libs.mip.model import Model

TOLERANCE = 1e-10
"""Relative: what sums of floats may differ by."""


def restored(lowered: Lowered, shares: Shares, counts: Ints) -> Ints:
    """(Q,) the counts, with containers whose rows are broken given back what they hold at the start.

    The start breaks no row. What they take back comes from whoever gains of that class: all that is held at the start
    fits, so it is there. Those who lose by it may be next; each is given back but once, so this ends. Nothing changes
    where no row is broken.
    """
    counts, held, kind = counts.copy(), lowered.held, lowered.kind
    done = np.zeros(len(lowered.problem.containers), dtype=np.bool_)
    by_kind = np.argsort(kind, kind="stable")
    first = np.searchsorted(kind[by_kind], kind[by_kind])  # where each count's class begins
    while True:
        broken = broken_rows(lowered.model, lowered.point_of(counts))
        worse = (np.asarray(shares.rows.T @ broken.astype(np.float64)) > 0) & ~done
        if not worse.any():
            return counts
        done |= worse
        counts = np.where(done[lowered.container], held, counts)
        gained = np.maximum(counts - held, 0)[by_kind]
        size = lowered.classes.size
        over = np.bincount(kind, counts, len(size)).astype(np.int64) - size
        before = np.cumsum(gained) - gained
        counts[by_kind] -= np.clip(np.maximum(over, 0)[kind[by_kind]] - (before - before[first]), 0, gained)
        _fill(lowered, shares, counts, np.maximum(-over, 0), done)


def broken_rows(model: Model, x: Floats) -> Bools:
    """(N,) rows that a point does not satisfy."""
    activity = model.matrix @ x
    size = TOLERANCE * np.maximum(1.0, np.abs(activity))
    return np.asarray((activity < model.row_lower - size) | (activity > model.row_upper + size))


def _fill(lowered: Lowered, shares: Shares, counts: Ints, missing: Ints, done: Bools) -> None:
    """Put objects that are nowhere into the sink, or else where they were taken from at the start."""
    kind = lowered.kind
    for room in (
        np.where(lowered.container == shares.sink, missing[kind], 0),
        np.maximum(lowered.held - counts, 0),
    ):
        order = np.argsort(kind, kind="stable")
        there = room[order]
        before = np.cumsum(there) - there
        first = np.searchsorted(kind[order], kind[order])
        added = np.clip(missing[kind[order]] - (before - before[first]), 0, there)
        counts[order] += added
        missing = missing - np.bincount(kind[order], added, len(missing)).astype(np.int64)
