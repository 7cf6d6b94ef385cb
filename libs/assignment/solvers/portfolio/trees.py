"""Solve single containers by branch and bound, each by a tree of its own, at prices of supply.

A tree bounds what its container pays in whole objects, net of the prices of these. It may also find what the container
wants.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.submodel import Submodel, parts_at_prices
from libs.assignment.solvers.portfolio.subproblem import Answer, CountSearch, Pool, Subproblem
from libs.mip.bound import bound_from_prices, reduced_costs
from libs.mip.model import Model

NODES, NODES_MIN, NODES_MAX = 2_000, 20, 50
"""Nodes of the trees of all containers together, and the least and the most for one of them."""
COUNTS_OF_NODE = 16
"""Counts of the whole problem for each node of the trees at prices of 0, if these are more. At such prices, containers
pay only what no object avoids, so few are solved. A proof of that saves a search, so it may take some of its time.
"""
MORE_MIN, MORE_MAX = 500, 5_000
"""The least and the most nodes for a tree that goes on. Most trees that leave much open end within so many."""
AT_ONCE = 4
"""Trees at once, on any number of processors up to this; with more processors, one for each.

A pool takes subproblems in their order. So neighbourhoods that are solved beside them wait for few trees only.
"""
LOOSE = 10.0
"""Points that cost up to so many times the excess of the best one known are left in trees that look for points. Choices
of such points are mostly better plans (ADR 0064).
"""
ROUNDING = 1e-6
"""Relative tolerance, for rounding in sums of floats."""
NARROWEST = 1e-4
"""Least width of narrower bounds of a column that is no count. A solver calls good points infeasible where bounds are
a thousand million times as close as others.
"""


class Trees:
    """The trees of the containers `chosen` (k,), at prices of supply, and what they have found.

    subs    the programs of the containers
    starts  (k,) the cost of the points that were known before, net of prices
    """

    def __init__(
        self,
        lowered: Lowered,
        model: Model,
        shares: Shares,
        price: Floats,
        x: Floats,
        chosen: Ints,
        rest: float,
        *,
        pool: Pool,
        until: float,
        cancelled: Callable[[], bool] | None = None,
        points: bool = False,
        nodes_max: int | None = None,
    ) -> None:
        """Solve the trees, and return when all have ended, at the latest at time.perf_counter() `until`.

        price      (N,) usable prices of all rows of `model`
        x          (C,) the best point known
        rest       what all trees together may leave open
        points     whether points are wanted, and not only bounds
        nodes_max  most nodes of one tree; None: a share of those of all trees
        """
        self._pool, self._cancelled, self._points, self._rest = pool, cancelled, points, rest
        parts = max(len(chosen), 1)
        if nodes_max is None:
            nodes_max = min(max(NODES // parts, NODES_MIN), NODES_MAX)
            if not price.any():
                nodes_max = max(len(lowered.container) // COUNTS_OF_NODE // parts, nodes_max)
        self.subs = list(parts_at_prices(lowered, model, shares.each(chosen), x, price[: len(lowered.classes.size)]))
        self.starts = np.array([float((sub.model.cost * x[sub.columns]).sum()) for sub in self.subs])
        loose = LOOSE if points else 1.0
        self._trees = [_tree(sub, price[sub.rows], x[sub.columns], nodes_max, rest / parts, loose) for sub in self.subs]
        self._answers = self._answered(self._trees, until)
        self._nodes = np.full(len(self.subs), nodes_max)

    @property
    def costs(self) -> Floats:
        """Return the cost of the best point of each container, net of prices, (k,)."""
        return np.asarray(self.starts - [one.gained for one in self._answers])

    @property
    def bounds(self) -> Floats:
        """Return the lower bound of that cost for each container, (k,); -inf: none."""
        return np.asarray(np.minimum([one.bound for one in self._answers], self.starts))

    @property
    def timed_out(self) -> bool:
        """Return whether the clock or the caller ended a tree."""
        return any(one.timed_out for one in self._answers)

    def place(self, x: Floats) -> None:
        """Write the points that cost less than those known before into `x` (C,)."""
        for sub, one in zip(self.subs, self._answers, strict=True):
            if one.x is not None:
                x[sub.columns] = one.x

    def go_on(self, nodes: int, until: float) -> None:
        """Let those trees go on that leave most open, from the best points found, until the others leave little.

        A tree that had as many nodes before would only repeat them.

        nodes  of all of them together
        """
        open_ = self.costs - self.bounds
        again = largest(np.where(np.isfinite(open_), open_, 0.0), self._rest)[: nodes // MORE_MIN]
        nodes_max = min(nodes // max(len(again), 1), MORE_MAX)
        again = again[self._nodes[again] < nodes_max]
        self._nodes[again] = nodes_max
        trees = []
        for k in again:
            tree, search = self._trees[k]
            x = self._answers[k].x
            trees.append((tree, replace(search, start=search.start if x is None else x, nodes_max=nodes_max)))
        for k, found in zip(again, self._answered(trees, until), strict=True):
            known = self._answers[k]
            self._answers[k] = replace(
                known,
                x=known.x if found.x is None else found.x,
                gained=known.gained + found.gained,
                bound=max(known.bound, found.bound),
                timed_out=known.timed_out or found.timed_out,
            )

    def _answered(self, trees: list[tuple[Model, CountSearch]], until: float) -> list[Answer]:
        found, under_way = list[Answer](), deque[Future[Answer]]()
        for tree, search in trees:
            if len(under_way) >= max(AT_ONCE, os.cpu_count() or 1):
                found.append(under_way.popleft().result())
            one = Subproblem(model=tree, until=until, search=search, bounds=True, points=self._points)
            under_way.append(self._pool.submit(one, self._cancelled))
        return found + [one.result() for one in under_way]


def largest(values: Floats, rest: float) -> Ints:
    """Return the positions of `values` (k,), the largest first, until all others together have at most `rest`."""
    order = np.argsort(-values, kind="stable")
    left = values.sum() - np.cumsum(values[order]) + values[order]
    return np.asarray(order[left > rest])


def _tree(
    sub: Submodel, price: Floats, x: Floats, nodes_max: int, gap: float, loose: float
) -> tuple[Model, CountSearch]:
    """Return the program of one container, and the search for its bound.

    price, x   of the rows and columns of `sub`: the prices, and the best point known
    nodes_max  most nodes
    gap        gap at which the tree is good enough
    loose      which points keep the bounds of columns: those that cost up to so many times the excess of `x`
    """
    model = sub.model
    most = float((model.cost * x).sum())
    slack = most - bound_from_prices(model, price) + ROUNDING * max(1.0, abs(most))
    search = CountSearch(
        start=x, counts=0, loose=np.arange(len(sub.rows)), nodes_max=nodes_max, absolute_gap=gap, seed=0
    )
    return _cheaper(model, reduced_costs(model, price), loose * slack), search


def _cheaper(model: Model, reduced: Floats, slack: float) -> Model:
    """Return `model` with narrower bounds of columns. Points that cost at most `slack` above the bound keep them.

    reduced  (C,) the reduced costs: a column that leaves its cheaper bound by d costs at least |reduced| d
    """
    room = np.divide(slack, np.abs(reduced), out=np.full(len(reduced), np.inf), where=reduced != 0)
    room = np.where(model.integer, np.floor(room + ROUNDING), np.maximum(room, NARROWEST))
    lower = np.where(reduced < 0, np.maximum(model.lower, model.upper - room), model.lower)
    upper = np.where(reduced > 0, np.minimum(model.upper, model.lower + room), model.upper)
    return replace(model, lower=lower, upper=upper)
