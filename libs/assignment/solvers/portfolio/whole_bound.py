"""Raise the bound of a relaxation: let containers take whole objects, each by itself.

A relaxation cuts objects in pieces. So its bound is far below every answer where containers need few objects: one that
needs half an object pays for half. Assume that only the supply of objects couples containers. At given row prices the
bound is then a sum of one part for each container and one for the supply. In its part, a container may have all
objects, at the prices of their classes. Its least cost in whole objects, or a bound of that, may replace the part. The
sum still bounds every answer, by weak duality. Source: Lagrangian relaxation of supply, Geoffrion 1974.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.subproblem import Pool
from libs.assignment.solvers.portfolio.trees import NARROWEST, Trees, largest
from libs.mip.bound import bound_from_prices, reduced_costs, usable_prices
from libs.mip.model import Model

COUNTS_MAX = 40_000
"""Most counts of all containers that are solved by themselves, so that a large problem does not wait for its bound."""
REST = 0.001
"""Share of the bound. Containers that can raise it by less than this, all together, are not solved. The trees of all
others may together leave as much open.
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
    return Wishes(
        lowered,
        model,
        shares,
        price,
        x,
        asked=every,
        pool=pool,
        until=until,
        cancelled=cancelled,
        counts_max=COUNTS_MAX,
    ).whole


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
    nodes_max: int | None = None,
) -> tuple[Floats, bool]:
    """Return the least cost (k,) of each container `chosen` (k,) in whole objects, net of the prices of its objects.

    It is a lower bound. Return also whether the clock ended the search for one. Arguments as in `whole_bound`;
    `nodes_max` as in `Trees`.
    """
    price = usable_prices(model, price)
    rest = REST * max(1.0, abs(bound_from_prices(model, price)))
    trees = Trees(
        lowered,
        model,
        shares,
        price,
        x,
        chosen,
        rest,
        pool=pool,
        until=until,
        cancelled=cancelled,
        nodes_max=nodes_max,
    )
    return trees.bounds, trees.timed_out


class Wishes:
    """The whole objects that containers want, each alone, at given prices, and the lower bound that they give.

    Those that are not asked, or want nothing better than they have, keep what they have. All together may want too
    much.
    """

    def __init__(
        self,
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
        counts_max: int | None = None,
        points: bool = False,
    ) -> None:
        """Ask those containers by trees that can raise the bound. Other arguments as in `whole_bound`.

        x           (C,) what each container has
        asked       (K,) the containers that may be asked. All others have their part of fractions in the bound
        counts_max  most counts of all containers that are asked; None: no limit
        points      whether wishes are wanted, and not only the bound
        """
        self._x, self._width, self._containers = x, len(lowered.kind), len(asked)
        self._fractions, price = bound_from_prices(model, price), usable_prices(model, price)
        rest = REST * max(1.0, abs(self._fractions))
        slack = np.where(asked, _slack(model, shares, price, x, model.matrix @ x), 0.0)
        self._chosen = chosen = _largest_first(lowered, _dearest(lowered, shares, slack, rest, counts_max))
        self._trees = Trees(
            lowered, model, shares, price, x, chosen, rest, pool=pool, until=until, cancelled=cancelled, points=points
        )
        self._parts = np.array([bound_from_prices(sub.model, price[sub.rows]) for sub in self._trees.subs])

    @property
    def whole(self) -> Whole:
        """Return the bound of whole objects."""
        gained = np.zeros(self._containers)
        gained[self._chosen] = self._gained(self._trees.bounds)
        return Whole(self._fractions + float(gained.sum()), gained, self._trees.timed_out)

    @property
    def estimate(self) -> float:
        """Return the bound that there would be if no tree left anything open."""
        return self._fractions + float(self._gained(self._trees.costs).sum())

    @property
    def counts(self) -> Ints:
        """Return the counts (Q,) that the containers want."""
        x = self._x.copy()
        self._trees.place(x)
        return np.rint(x[: self._width]).astype(np.int64)

    def go_on(self, nodes: int, until: float) -> None:
        """Let the trees that leave most open go on, for so many nodes, or until time.perf_counter() `until`."""
        self._trees.go_on(nodes, until)

    def _gained(self, costs: Floats) -> Floats:
        """Return by how much these costs (k,) of the asked containers exceed their parts of the bound of fractions."""
        return np.asarray(np.maximum(0.0, costs - self._parts))


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
    chosen, counts = largest(slack, rest), np.bincount(lowered.container, minlength=len(slack))
    if counts_max is not None and counts[chosen].sum() > counts_max:
        chosen = chosen[np.argsort(-slack[chosen] / np.maximum(counts[chosen], 1), kind="stable")]
        chosen = chosen[np.cumsum(counts[chosen]) <= counts_max]
    return np.asarray(chosen)


def _largest_first(lowered: Lowered, chosen: Ints) -> Ints:
    """Return `chosen` with those first that have most counts, so that none of them goes on alone at the end."""
    counts = np.bincount(lowered.container, minlength=len(lowered.problem.containers))
    return np.asarray(chosen[np.argsort(-counts[chosen], kind="stable")])
