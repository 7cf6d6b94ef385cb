"""Mix what containers propose, so that supply is enough: the master program of column generation.

    min  sum_j cost[j] share[j]  +  sum_k sunk[k] sink_cost[k]
    sum_j used[k, j] share[j] + sunk[k] = size[k]    for all classes k
    sum_{j of c} share[j] = 1                        for all containers c

A proposal j is a point of one container c that meets the rows of that container. `sunk` objects are in the sink.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import sparse

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.matrices import Matrix, csc, csr
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.unplaced_loan import sink_columns
from libs.mip.highs import Limits, Solution, solve_lp, solve_mip
from libs.mip.model import Model

NEWS = 1e-9
"""Least share of its cost by which a proposal must be cheaper than all others of its container to be kept."""


class Proposals:
    """The proposals of all containers, and their shares in the last mix.

    No row of the model except supply may couple two containers, and it must have a sink.

    cost   of the last mix; inf before any
    """

    def __init__(self, lowered: Lowered, model: Model, shares: Shares, x: Floats) -> None:
        """Begin with the proposals of the point `x` (C,), which meets all rows, so that there always is a mix."""
        self.lowered, self.model, self.shares, self.x = lowered, model, shares, x
        self.cost = np.inf
        self._classes, self._width = len(lowered.classes.size), len(lowered.kind)
        self._owner = np.full(len(x), -1)
        self._owner[np.diff(shares.columns.indptr) > 0] = shares.columns.indices
        self._owner[self._owner == shares.sink] = -1
        self._real = np.unique(self._owner[: self._width][self._owner[: self._width] >= 0])
        sink_of = sink_columns(lowered, shares.sink)
        self._sunk = np.flatnonzero(sink_of >= 0)
        self._sink = sink_of[self._sunk]
        kept = self._owner < 0
        kept[self._sink] = False
        self._rest = float((model.cost * x)[kept].sum())
        self._points: list[tuple[Ints, Floats]] = []
        self._point: Ints = np.zeros(0, np.int64)
        self._of: Ints = np.zeros(0, np.int64)
        self._costs: Floats = np.zeros(0)
        self._used: Matrix = csc((self._classes, 0))
        self._share: Floats = np.zeros(0)
        self.add(x, np.zeros(self._classes))

    def add(self, x: Floats, price: Floats) -> None:
        """Add the proposals of the point `x` (C,) that are cheaper than all known ones at prices of supply (K,)."""
        lowered, containers = self.lowered, self.shares.columns.shape[1]
        taken = np.flatnonzero((self._owner >= 0) & (x != 0.0))
        counts = taken[taken < self._width]
        entries = x[counts], (lowered.kind[counts], self._owner[counts])
        used = csc(csr(entries, (self._classes, containers)))
        costs = self.shares.costs(self.model.cost, x)
        best, net = np.full(containers, np.inf), costs - used.T @ price
        np.minimum.at(best, self._of, self._costs - self._used.T @ price)
        is_new = net + NEWS * (1.0 + np.abs(net)) < best
        new = self._real[is_new[self._real]]
        kept = taken[is_new[self._owner[taken]]]
        self._point = np.append(self._point, np.full(len(new), len(self._points)))
        self._points.append((kept, x[kept]))
        self._of = np.append(self._of, new)
        self._costs = np.append(self._costs, costs[new])
        self._used = csc(sparse.hstack([self._used, used[:, new]]))

    def mix(
        self,
        tolerance: float,
        until: float,
        *,
        near: tuple[Floats, float] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Floats | None:
        """Find the cheapest mix, and return its prices of supply (K,); None if there was no time for that.

        tolerance  of the master, relative
        until      time.perf_counter() at which to end
        near       prices (K,) and a distance: supply may be exceeded at a price that is so much above them, and left at
                   one that is so much below
        """
        found = self._solved(tolerance, until, near, cancelled)
        if not found.optimal or found.x is None or found.price is None:
            return None
        n, row = len(self._of), np.searchsorted(self._real, self._of)
        share = np.maximum(found.x[:n], 0.0)
        self._share = share / np.bincount(row, share, len(self._real))[row]
        self.cost = found.objective
        return found.price[: self._classes]

    def _solved(
        self,
        tolerance: float,
        until: float,
        near: tuple[Floats, float] | None,
        cancelled: Callable[[], bool] | None,
    ) -> Solution:
        master = self._master(self._costs, self.model.cost[self._sink], near)
        limits = Limits(time_s_max=until - time.perf_counter())
        found = solve_lp(master, "ipm", limits, tolerance=tolerance, presolve=False, cancelled=cancelled)
        if found.optimal or found.timed_out:
            return found
        limits = Limits(time_s_max=until - time.perf_counter())  # an interior point may end without an answer
        return solve_lp(master, "simplex", limits, cancelled=cancelled)

    def _master(self, of_proposals: Floats, of_sink: Floats, near: tuple[Floats, float] | None) -> Model:
        """Return the master for these costs of the proposals and of the sink; `near` as in `mix`."""
        n, classes, containers, sunk = len(self._of), self._classes, len(self._real), len(self._sunk)
        whole = csr((np.ones(n), (np.searchsorted(self._real, self._of), np.arange(n))), (containers, n))
        into = csr((np.ones(sunk), (self._sunk, np.arange(sunk))), (classes + containers, sunk))
        columns, costs = [sparse.vstack([self._used, whole]), into], [of_proposals, of_sink]
        least, most = [np.zeros(n), self.model.lower[self._sink]], [np.full(n, np.inf), self.model.upper[self._sink]]
        if near is not None:
            centre, reach = near
            off = sparse.vstack([sparse.eye_array(classes), csr((containers, classes))])
            columns += [off, -off]
            costs += [centre + reach, reach - centre]
            least += [np.zeros(classes)] * 2
            most += [np.full(classes, np.inf)] * 2
        cost = np.concatenate(costs)
        sides = np.append(self.lowered.classes.size.astype(np.float64), np.ones(containers))
        return Model(
            cost=cost,
            lower=np.concatenate(least),
            upper=np.concatenate(most),
            integer=np.zeros(len(cost), np.bool_),
            row_lower=sides,
            row_upper=sides,
            matrix=csc(sparse.hstack(columns)),
            offset=self.model.offset + self._rest,
        )

    def cheapest(self, price: Floats) -> Floats:
        """Return the point (C,) in which each container has its cheapest proposal at prices of supply (K,)."""
        net = self._costs - self._used.T @ price
        order = np.argsort(-net, kind="stable")
        last = np.full(self.shares.columns.shape[1], -1)
        last[self._of[order]] = order
        share = np.zeros(len(net))
        share[last[last >= 0]] = 1.0
        return self._at(share)

    def whole(
        self, model: Model, limits: Limits, cancelled: Callable[[], bool] | None = None
    ) -> tuple[Floats | None, bool]:
        """Return the cheapest point (C,) of `model` in which each container has one proposal; None if none was found.
        Return also whether the clock ended the search for it.

        model  with the columns and rows of the model of the proposals
        """
        costs = np.zeros(len(self._of))
        for k, (columns, values) in enumerate(self._points):
            here, containers = self._point == k, self.shares.columns.shape[1]
            paid = np.bincount(self._owner[columns], model.cost[columns] * values, containers)
            costs[here] = paid[self._of[here]]
        master = self._master(costs, model.cost[self._sink], None)
        integer = np.arange(len(master.cost)) < len(costs)
        found = solve_mip(replace(master, integer=integer), limits, symmetry=False, cancelled=cancelled)
        if found.x is None:
            return None, found.timed_out
        return self._at(np.rint(found.x[: len(costs)])), found.timed_out

    def mixed(self) -> Floats:
        """Return the point (C,) of the last mix. Columns of no container have their values at the first point."""
        return self._at(self._share)

    def _at(self, shares: Floats) -> Floats:
        """Return the point (C,) with these shares of all proposals; the sink has what they leave, as far as it can."""
        x = np.where(self._owner >= 0, 0.0, self.x)
        for k, (columns, values) in enumerate(self._points):
            share, here = np.zeros(self.shares.columns.shape[1]), self._point == k
            share[self._of[here]] = shares[here]
            x[columns] += share[self._owner[columns]] * values
        is_placed = self._owner[: self._width] >= 0
        used = np.bincount(self.lowered.kind, np.where(is_placed, x[: self._width], 0.0), self._classes)
        left = self.lowered.classes.size[self._sunk] - used[self._sunk]
        x[self._sink] = np.clip(left, self.model.lower[self._sink], self.model.upper[self._sink])
        return x
