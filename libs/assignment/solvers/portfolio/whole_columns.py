"""Search with columns of whole objects, where a relaxation says little.

Objects are scarce, and containers need few of them: then most of a plan's cost is in what no fraction pays. Containers
propose what they want in whole objects, each by a tree at prices of supply (whole_bound.py). A master mixes the
proposals, and gives the next prices, as in relaxation_by_columns.py. Each round gives a lower bound for whole objects.
At the end, branch and bound chooses one proposal for each container, so that supply is enough.

Sources: Dantzig and Wolfe 1960; Barnhart, Johnson, Nemhauser, Savelsbergh and Vance 1998 (branch and price).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.alone import Alone, Wanted
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.proposals import Proposals
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.assignment.solvers.portfolio.relaxation_by_columns import EARLY, REACH, SHRINK
from libs.assignment.solvers.portfolio.subproblem import Pool
from libs.assignment.solvers.portfolio.whole_bound import whole_wishes
from libs.mip.bound import reduced_costs
from libs.mip.highs import Limits
from libs.mip.model import Model

COUNTS_MAX = 60_000
"""Most counts of a problem that is searched with columns: each round takes a tree for each container."""
ROUNDS = 14
"""Most rounds of proposals."""
NEAR = 2e-3
"""Distance of a mix from the bound, as a share of it, at which rounds end. Branch and bound ends there, too."""
GROW = 1.5
"""Factor on the distance of prices off supply after a round that raised the bound, but for the first one."""
SWINGS = 4
"""Rounds after the first one in which prices swing, and bound nothing. So not all containers propose."""
FEW, FEW_SHARE = 200, 0.75
"""Containers that propose in such a round: at least so many, or a share of all. Those with many objects do not: their
trees take most of the time, and fractions say most of them.
"""
NODES = 2_000
"""Most nodes of the branch and bound that chooses proposals."""
CHOICE_SHARE = 0.2
"""Share of the time that is kept for the choice of proposals."""


class WholeColumns(NamedTuple):
    """The result of a search with columns.

    counts      (Q,) the counts of the best choice; None if there is none
    relaxation  with the best prices of supply, and the lower bound for whole objects
    timed_out   whether the clock or the caller ended the search
    """

    counts: Ints | None
    relaxation: Relaxation
    timed_out: bool


def is_for_columns(lowered: Lowered, model: Model, shares: Shares) -> bool:
    """Return whether `model` can be searched with columns: it has a sink, and only supply couples containers."""
    return len(lowered.kind) <= COUNTS_MAX and shares.separates(model) and shares.sink >= 0


def search_whole_columns(
    lowered: Lowered,
    model: Model,
    led: Model,
    shares: Shares,
    relaxation: Relaxation,
    counts: Ints,
    *,
    pool: Pool,
    time_s_max: float,
    cancelled: Callable[[], bool] | None = None,
) -> WholeColumns:
    """Search from the prices of `relaxation` and the plan `counts` (Q,).

    model  the model of the relaxation, in which only supply couples containers. There must be a sink
    led    the model with the objective of the choice between proposals
    """
    assert relaxation.rows is not None
    began, classes, width = time.perf_counter(), len(lowered.classes.size), len(lowered.kind)
    until = began + (1.0 - CHOICE_SHARE) * time_s_max
    known, best = lowered.point_of(counts), relaxation
    proposals, alone = Proposals(lowered, model, shares, known), Alone(lowered, model, shares, known, pool)
    at, timed_out = relaxation.rows, False
    proposals.add(lowered.point_of(np.where(lowered.container == shares.sink, counts, 0)), at[:classes])
    reach = REACH * max(1.0, abs(model.objective(known))) / lowered.classes.size.sum()
    for number in range(ROUNDS):
        if number:
            assert best.rows is not None
            near = best.rows[:classes], reach
            price = proposals.mix(EARLY, until, near=near, cancelled=cancelled)
            if price is None:
                timed_out = True
                break
            if proposals.cost - best.bound <= NEAR * max(1.0, abs(best.bound)):
                break
            at = best.rows.copy()
            at[:classes] = (best.rows[:classes] + price) / 2
        wanted, x = alone.at(at, until, cancelled), proposals.cheapest(at[:classes])
        asked = _asked(lowered, x, all_=not 0 < number <= SWINGS)
        whole, found = whole_wishes(
            lowered, model, shares, wanted.rows, x, asked=asked, pool=pool, until=until, cancelled=cancelled
        )
        proposals.add(lowered.point_of(found), at[:classes])
        if whole.bound > best.bound:
            best = _at(best, model, wanted, whole.bound, classes)
            reach *= GROW if number else 1.0
        else:
            reach *= SHRINK
        if wanted.timed_out or whole.timed_out:
            timed_out = True
            break
    limits = Limits(time_s_max=began + time_s_max - time.perf_counter(), nodes_max=NODES, relative_gap=NEAR)
    chosen, late = proposals.whole(led, limits, cancelled)
    return WholeColumns(
        counts=None if chosen is None else np.rint(chosen[:width]).astype(np.int64),
        relaxation=best,
        timed_out=timed_out or late,
    )


def _asked(lowered: Lowered, x: Floats, *, all_: bool) -> Bools:
    """Return the containers (K,) that propose: all, or those with fewest objects at the point `x` (C,).

    Trees of these take least time.
    """
    counts, containers = x[: len(lowered.kind)], len(lowered.problem.containers)
    taken = np.bincount(lowered.container, np.rint(counts), containers)
    few = containers if all_ else max(FEW, round(FEW_SHARE * containers))
    asked = np.zeros(containers, np.bool_)
    asked[np.argsort(taken, kind="stable")[:few]] = True
    return asked


def _at(relaxation: Relaxation, model: Model, wanted: Wanted, bound: float, classes: int) -> Relaxation:
    """Return `relaxation` at other prices: those at which containers want `wanted`, with the bound that they give."""
    return replace(
        relaxation,
        fractional=None,
        price=wanted.rows[:classes],
        reduced=reduced_costs(model, wanted.rows)[: len(relaxation.reduced)],
        point=None,
        bound=bound,
        rows=wanted.rows,
        raw=wanted.x,
    )
