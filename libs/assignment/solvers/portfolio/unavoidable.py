"""Let the relaxation disregard what containers must pay for the first goal, even if each may have all objects.

With cuts a relaxation pays a part of it. Its prices are then those of objects that would save that part, and say little
about the later goals. So it has no cuts of these containers, and pays nothing for them. Their trees find what they must
pay, later and in full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from libs.assignment.language.arrays import Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.subproblem import Pool
from libs.assignment.solvers.portfolio.whole_bound import whole_least
from libs.mip.model import Model

CONTAINERS_MAX = 100
"""Most containers that are asked. If more seem to pay in spite of all objects, it is for another reason."""
NODES = 50
"""Nodes of one tree. More seldom tell of another container that it must pay, and take most of the time."""
MUST_MAX, MUST_SHARE = 5, 0.01
"""Most containers whose cuts are left out: in all, or as a share of all. If more must pay, objects are scarce, and
others pay too. Then prices have to be about that.
"""


def without_unavoidable(
    lowered: Lowered,
    level: int,
    first: Model,
    shares: Shares,
    counts: Ints,
    *,
    pool: Pool,
    until: float,
    cancelled: Callable[[], bool] | None = None,
) -> Model:
    """Return `first`, the program of the first goal, without the cuts of containers that must pay for it, if these are
    few.

    level   the number of the first goal
    counts  (Q,) the best ones known
    until   time.perf_counter() at which to end
    """
    if not (lowered.has_cuts and shares.separates(first)):
        return first
    paying = _paying(lowered, first, shares, counts)
    if not 0 < len(paying) <= CONTAINERS_MAX:
        return first
    price, x = np.zeros(len(first.row_lower)), lowered.point_of(counts)
    least, _ = whole_least(
        lowered, first, shares, price, x, paying, pool=pool, until=until, cancelled=cancelled, nodes_max=NODES
    )
    must = np.zeros(len(lowered.problem.containers))
    must[paying] = least > lowered.compiled.tolerance(level, float(least.max()))
    if must.sum() > max(MUST_MAX, MUST_SHARE * len(must)):
        return first
    cuts = (shares.rows @ must > 0) & (np.arange(len(price)) >= lowered.stated)
    return replace(first, row_lower=np.where(cuts, -np.inf, first.row_lower))


def _paying(lowered: Lowered, first: Model, shares: Shares, counts: Ints) -> Ints:
    """Return the containers that pay for the first goal now, and with all the objects that their counts allow.

    Those that pay for what they have too much of are among them.
    """
    now, full = (lowered.point_of(some) for some in (counts, first.upper[: len(lowered.kind)]))
    return np.flatnonzero((shares.costs(first.cost, now) > 0) & (shares.costs(first.cost, full) > 0))
