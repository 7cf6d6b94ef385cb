"""Solve each container by itself, at prices of supply.

At given prices of supply nothing couples the containers. Each takes what it wants, and together that may be more
objects than there are, or fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from libs.assignment.language.arrays import Bools, Floats
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.submodel import parts_at_prices
from libs.assignment.solvers.portfolio.subproblem import Pool, Subproblem
from libs.mip.highs import Basis
from libs.mip.model import Model

CONTAINERS = 25
"""Containers in one linear program: with fewer, the overhead counts, and with more, its time grows faster than it."""


class Wanted(NamedTuple):
    """The wishes of all containers at prices of supply.

    x          (C,) the values of the columns. Containers that were not solved in time keep those they had
    rows       (N,) the prices of rows: those given, and for the rows of containers those that were found
    timed_out  whether the clock or the caller ended a solver
    """

    x: Floats
    rows: Floats
    timed_out: bool


class Alone:
    """The linear programs of all containers without supply. No row except supply may couple two containers.

    Each solve begins at the vertices of the last one. Only prices have changed since, so it takes a quarter of the
    time.

    kept  (C,) the columns without a value from the last solve: those of containers that were not solved in time, and
          those of no container
    """

    def __init__(self, lowered: Lowered, model: Model, shares: Shares, x: Floats, pool: Pool) -> None:
        """Build the programs. The point `x` (C,) has the columns of containers that are not solved in time."""
        self.lowered, self.x, self.pool = lowered, x, pool
        real = np.flatnonzero(np.bincount(lowered.container, minlength=len(lowered.problem.containers)))
        real = real[real != shares.sink]
        groups = np.array_split(real, -(-len(real) // CONTAINERS)) if len(real) else []
        parts = [np.flatnonzero(shares.of(some)) for some in groups]
        free = np.zeros(len(lowered.classes.size))
        self._subs = list(parts_at_prices(lowered, model, parts, x, free))
        self._bases: list[Basis | None] = [None] * len(self._subs)
        self.kept: Bools = np.ones(len(x), dtype=np.bool_)

    def at(self, rows: Floats, until: float, cancelled: Callable[[], bool] | None = None) -> Wanted:
        """Return what the containers want at the prices of supply in `rows` (N,).

        until  time.perf_counter() at which to end
        """
        x, rows, timed_out, kind = self.x.copy(), rows.copy(), False, self.lowered.kind
        self.kept[:] = True
        price = rows[: len(self.lowered.classes.size)]
        waiting = []
        for sub, basis in zip(self._subs, self._bases, strict=True):
            cost, counts = sub.model.cost.copy(), sub.columns < len(kind)
            cost[counts] -= price[kind[sub.columns[counts]]]
            one = Subproblem(model=replace(sub.model, cost=cost), until=until, basis=basis)
            waiting.append(self.pool.submit(one, cancelled))
        for k, (sub, each) in enumerate(zip(self._subs, waiting, strict=True)):
            found = each.result()
            self._bases[k] = found.basis or self._bases[k]
            timed_out |= found.timed_out
            if found.x is not None and found.price is not None and found.optimal:
                x[sub.columns], rows[sub.rows] = found.x, found.price
                self.kept[sub.columns] = False
        return Wanted(x=x, rows=rows, timed_out=timed_out)
