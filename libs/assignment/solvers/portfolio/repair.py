"""Repair counts that break a row or a bound. A count is the number of objects of one class in one container."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.mip.model import Model

TOLERANCE = 1e-10
"""Relative tolerance for rounding in sums of floats."""


def restored(lowered: Lowered, model: Model, shares: Shares, counts: Ints, known: Ints) -> Ints:
    """Return `counts` (Q,), but reset each container that breaks a row or a bound to its counts in `known` (Q,).

    The counts `known` break nothing. Rows of `model` beyond those of the lowered problem forbid growth of a higher
    level. If such a row is broken, the containers that cause the growth are reset.

    A reset container regains objects of a class from containers that hold more of the class than in `known`. Such
    containers exist, because all `known` counts fit together. A container that loses objects may then break a row, and
    is reset next. Each container is reset at most once, so the loop ends. Counts that break nothing are returned
    unchanged.
    """
    counts, kind = counts.copy(), lowered.kind
    done = np.zeros(len(lowered.problem.containers), dtype=np.bool_)
    height, before = shares.rows.shape[0], lowered.point_of(known)
    levels = model.matrix[height:].toarray()
    by_kind = np.argsort(kind, kind="stable")
    first = np.searchsorted(kind[by_kind], kind[by_kind])  # position of each count's class
    size = lowered.classes.size
    while True:
        point = lowered.point_of(counts)
        rows, columns = broken(model, point)
        own = rows[:height].astype(np.float64)
        worse = shares.rows.T @ own + shares.columns.T @ columns.astype(np.float64) > 0
        for cost in levels[rows[height:]]:
            worse |= shares.costs(cost, point) > shares.costs(cost, before) + TOLERANCE * max(1.0, abs(cost @ before))
        worse &= ~done
        if not worse.any():
            return counts
        done |= worse
        counts = np.where(done[lowered.container], known, counts)
        gained = np.maximum(counts - known, 0)[by_kind]
        over = np.bincount(kind, counts, len(size)).astype(np.int64) - size
        sooner = np.cumsum(gained) - gained
        counts[by_kind] -= np.clip(np.maximum(over, 0)[kind[by_kind]] - (sooner - sooner[first]), 0, gained)
        _fill(lowered, shares, counts, known, np.maximum(-over, 0))


def broken(model: Model, x: Floats) -> tuple[Bools, Bools]:
    """Return for each row (N,), and for each column (C,), whether the point `x` (C,) violates its bounds."""
    activity = model.matrix @ x
    size, most = TOLERANCE * np.maximum(1.0, np.abs(activity)), TOLERANCE * np.maximum(1.0, np.abs(x))
    rows = (activity < model.row_lower - size) | (activity > model.row_upper + size)
    return np.asarray(rows), np.asarray((x < model.lower - most) | (x > model.upper + most))


def is_broken(model: Model, x: Floats) -> bool:
    """Return whether the point `x` (C,) violates a row of `model`, or a bound of a column."""
    return any(bool(where.any()) for where in broken(model, x))


def _fill(lowered: Lowered, shares: Shares, counts: Ints, known: Ints, missing: Ints) -> None:
    """Add the `missing` objects (K,) of each class to `counts` (Q,), in place.

    The sink takes the objects first. A container takes as many as bring a count up to its value in `known`, because
    those are known to fit.
    """
    kind = lowered.kind
    for room in (
        np.where(lowered.container == shares.sink, missing[kind], 0),
        np.maximum(known - counts, 0),
    ):
        order = np.argsort(kind, kind="stable")
        there = room[order]
        before = np.cumsum(there) - there
        first = np.searchsorted(kind[order], kind[order])
        added = np.clip(missing[kind[order]] - (before - before[first]), 0, there)
        counts[order] += added
        missing = missing - np.bincount(kind[order], added, len(missing)).astype(np.int64)
