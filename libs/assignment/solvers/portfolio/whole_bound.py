"""Raise the bound of a relaxation: let containers take whole objects, each by itself.

A relaxation cuts objects in pieces. So its bound is far below every answer where containers need few objects: one that
needs half an object pays for half. Assume that only the supply of objects couples containers. At given row prices the
bound is then a sum of one part for each container and one for the supply. In its part, a container may have all
objects, at the prices of their classes. Its least cost in whole objects, or a bound of that, may replace the part. The
sum still bounds every answer, by weak duality. Source: Lagrangian relaxation of supply, Geoffrion 1974.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.submodel import Submodel, parts_at_prices
from libs.assignment.solvers.portfolio.subproblem import Answer, CountSearch, Pool, Subproblem
from libs.mip.bound import bound_from_prices, reduced_costs, usable_prices
from libs.mip.model import Model

NODES, NODES_MIN, NODES_MAX = 2_000, 20, 50
"""Nodes of the trees of all containers together, and the least and the most for one of them."""
COUNTS_OF_NODE = 16
"""Counts of the whole problem for each node of the trees at prices of 0, if these are more. At such prices, containers
pay only what no object avoids, so few are solved. A proof of that saves a search, so it may take some of its time.
"""
COUNTS_MAX = 40_000
"""Most counts of all containers that are solved by themselves, so that a large problem does not wait for its bound."""
AT_ONCE = 4
"""Trees at once, on any number of processors up to this; with more processors, one for each.

A pool takes subproblems in their order. So neighbourhoods that are solved beside them wait for few trees only.
"""
REST = 0.001
"""Share of the bound. Containers that can raise it by less than this, all together, are not solved. The trees of all
others may together leave as much open.
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


class Whole(NamedTuple):
    """A lower bound of the cost of whole objects in a model.

    bound      of the whole cost
    gained     (K,) by how much whole objects cost each container more than its part of the bound of fractions
    timed_out  whether the clock ended the search for it
    """

    bound: float
    gained: Floats
    timed_out: bool = False

    def room(self, cost: float) -> Floats:
        """Return what each container (K,) may pay above its part of the bound of fractions, in a point of this `cost`.

        All others pay at least what they gained. So the rest is between this container's gain and the cost.
        """
        return self.gained + max(0.0, cost - self.bound)


def whole_bound(
    lowered: Lowered,
    model: Model,
    shares: Shares,
    price: Floats,
    x: Floats,
    *,
    pool: Pool,
    until: float,
    cancelled: Callable[[], bool] | None = None,
) -> Whole:
    """Return a lower bound of the cost of whole objects.

    model  the model to bound, with the columns and rows of `lowered.model`
    price  (N,) any row prices; the better they are, the better is the bound
    x      (C,) the best point known: containers that are dear there, against their part of the bound, come first
    until  time.perf_counter() at which to end
    """
    if not math.isfinite(bound := bound_from_prices(model, price)) or not shares.separates(model):
        return Whole(bound, np.zeros(len(lowered.problem.containers)))
    every = np.ones(len(lowered.problem.containers), np.bool_)
    found, *_ = _asked(lowered, model, shares, price, x, every, COUNTS_MAX, pool, until, cancelled, points=False)
    return found


def whole_wishes(
    lowered: Lowered,
    model: Model,
    shares: Shares,
    price: Floats,
    x: Floats,
    *,
    asked: Bools,
    pool: Pool,
    until: float,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[Whole, Ints]:
    """Return a lower bound of the cost of whole objects, and the counts (Q,) that containers want at these prices.

    Those that are not asked, or want nothing better, keep their counts in `x`. All may want too much together.

    asked  (K,) the containers to ask. All others keep their counts, and have their part of fractions in the bound
    """
    found, subs, answers = _asked(lowered, model, shares, price, x, asked, None, pool, until, cancelled, points=True)
    width = len(lowered.kind)
    wanted = np.rint(x[:width]).astype(np.int64)
    for sub, answer in zip(subs, answers, strict=True):
        if answer.x is not None:
            counts = sub.columns < width
            wanted[sub.columns[counts]] = np.rint(answer.x[counts])
    return found, wanted


def capped(model: Model, shares: Shares, goal: Floats, room: Floats) -> Model:
    """Return `model` with narrower bounds of the columns that cost in a goal, where containers may pay little for it.

    Trees with them are smaller, and no object leaves to save another cost. `shares` must separate the model.

    goal  (C,) the cost of each column in the goal
    room  (K,) what each container may pay for the goal, above the least that the bounds of its columns allow
    """
    of = np.diff(shares.columns.indptr) == 1
    paid = np.flatnonzero(of & (goal > 0))
    upper = model.upper.copy()
    most = np.maximum(room[shares.columns.indices[shares.columns.indptr[paid]]] / goal[paid], NARROWEST)
    upper[paid] = np.minimum(upper[paid], model.lower[paid] + most)
    return replace(model, upper=upper)


def whole_least(
    lowered: Lowered,
    model: Model,
    shares: Shares,
    price: Floats,
    x: Floats,
    chosen: Ints,
    *,
    pool: Pool,
    until: float,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[Floats, bool]:
    """Return the least cost (k,) of each container `chosen` (k,) in whole objects, net of the prices of its objects.

    It is a lower bound. Return also whether the clock ended the search for one. Arguments as in `whole_bound`.
    """
    price = usable_prices(model, price)
    rest = REST * max(1.0, abs(bound_from_prices(model, price)))
    subs, found = _solved(lowered, model, shares, price, x, chosen, rest, pool, until, cancelled)
    most = [float((sub.model.cost * x[sub.columns]).sum()) for sub in subs]
    least = [min(answer.bound, cost) for answer, cost in zip(found, most, strict=True)]
    return np.array(least), any(answer.timed_out for answer in found)


def _asked(
    lowered: Lowered,
    model: Model,
    shares: Shares,
    price: Floats,
    x: Floats,
    asked: Bools,
    counts_max: int | None,
    pool: Pool,
    until: float,
    cancelled: Callable[[], bool] | None,
    *,
    points: bool,
) -> tuple[Whole, list[Submodel], list[Answer]]:
    """Return the bound of whole objects, and the programs and answers of the trees for it.

    The trees are of the dearest containers among those `asked` (K,). Other arguments as in `_dearest` and `_solved`.
    """
    bound, price = bound_from_prices(model, price), usable_prices(model, price)
    rest, gained = REST * max(1.0, abs(bound)), np.zeros(len(asked))
    slack = np.where(asked, _slack(model, shares, price, x, model.matrix @ x), 0.0)
    chosen = _largest_first(lowered, _dearest(lowered, shares, slack, rest, counts_max))
    subs, found = _solved(lowered, model, shares, price, x, chosen, rest, pool, until, cancelled, points=points)
    gained[chosen] = [_gained(sub, price, x, answer) for sub, answer in zip(subs, found, strict=True)]
    timed_out = any(answer.timed_out for answer in found)
    return Whole(bound + float(gained.sum()), gained, timed_out), subs, found


def _solved(
    lowered: Lowered,
    model: Model,
    shares: Shares,
    price: Floats,
    x: Floats,
    chosen: Ints,
    rest: float,
    pool: Pool,
    until: float,
    cancelled: Callable[[], bool] | None,
    *,
    points: bool = False,
) -> tuple[list[Submodel], list[Answer]]:
    """Return the programs of the containers `chosen` at the prices `price` (N,), and the answers of their trees.

    rest    what all trees together may leave open
    points  whether points are wanted, too
    """
    parts = max(len(chosen), 1)
    nodes_max = min(max(NODES // parts, NODES_MIN), NODES_MAX)
    if not price.any():
        nodes_max = max(len(lowered.container) // COUNTS_OF_NODE // parts, nodes_max)
    subs = list(parts_at_prices(lowered, model, shares.each(chosen), x, price[: len(lowered.classes.size)]))
    loose = LOOSE if points else 1.0
    trees = [_tree(sub, price[sub.rows], x[sub.columns], nodes_max, rest / parts, loose) for sub in subs]
    found, under_way = list[Answer](), deque[Future[Answer]]()
    for tree, search in trees:
        if len(under_way) >= max(AT_ONCE, os.cpu_count() or 1):
            found.append(under_way.popleft().result())
        one = Subproblem(model=tree, until=until, search=search, bounds=True, points=points)
        under_way.append(pool.submit(one, cancelled))
    return subs, found + [one.result() for one in under_way]


def _slack(model: Model, shares: Shares, price: Floats, x: Floats, activity: Floats) -> Floats:
    """Return the cost of each container (K,) at the point `x`, less its part of the bound at the prices `price`."""
    reduced = reduced_costs(model, price)
    columns, rows = np.zeros(len(x)), np.zeros(len(price))
    for dear, ends in ((reduced > 0, model.lower), (reduced < 0, model.upper)):
        columns[dear] = reduced[dear] * (x - ends)[dear]
    for dear, ends in ((price > 0, model.row_lower), (price < 0, model.row_upper)):
        rows[dear] = price[dear] * (activity - ends)[dear]
    return np.asarray(shares.columns.T @ columns + shares.rows.T @ rows)


def _dearest(lowered: Lowered, shares: Shares, slack: Floats, rest: float, counts_max: int | None) -> Ints:
    """Return the containers of largest `slack` (K,), the largest first, until all others together have at most `rest`.

    If these have more than `counts_max` counts, leave out those of least slack for each count: their trees take most
    time for it.
    """
    if shares.sink >= 0:
        slack[shares.sink] = 0.0
    order = np.argsort(-slack, kind="stable")
    left = slack.sum() - np.cumsum(slack[order]) + slack[order]
    chosen, counts = order[left > rest], np.bincount(lowered.container, minlength=len(slack))
    if counts_max is not None and counts[chosen].sum() > counts_max:
        chosen = chosen[np.argsort(-slack[chosen] / np.maximum(counts[chosen], 1), kind="stable")]
        chosen = chosen[np.cumsum(counts[chosen]) <= counts_max]
    return np.asarray(chosen)


def _largest_first(lowered: Lowered, chosen: Ints) -> Ints:
    """Return `chosen` with those first that have most counts, so that none of them goes on alone at the end."""
    counts = np.bincount(lowered.container, minlength=len(lowered.problem.containers))
    return np.asarray(chosen[np.argsort(-counts[chosen], kind="stable")])


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


def _gained(sub: Submodel, price: Floats, x: Floats, answer: Answer) -> float:
    """Return by how much whole objects cost the container of `sub` more than its part of the bound, at least 0."""
    most = float((sub.model.cost * x[sub.columns]).sum())
    return max(0.0, min(answer.bound, most) - bound_from_prices(sub.model, price[sub.rows]))
