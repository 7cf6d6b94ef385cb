"""Relax in parts, for problems whose whole relaxation takes too long. Source: POP, section 3."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.relaxation import Relaxation, has_steps
from libs.assignment.solvers.portfolio.submodel import Submodel, parts_at_prices, restrict
from libs.assignment.solvers.portfolio.subproblem import Answer, Pool, Subproblem
from libs.assignment.solvers.portfolio.supply_prices import with_supply
from libs.assignment.solvers.portfolio.unpaid import missed, penalties, unpaid, without
from libs.assignment.solvers.portfolio.unplaced_loan import sink_columns, with_lent
from libs.mip.bound import bound_from_prices, reduced_costs
from libs.mip.model import Model

WHOLE_COUNTS = 40_000
"""Number of counts up to which the relaxation is solved as a whole."""
PART_COUNTS = 4_000
"""Number of counts in one part of the first round. The relaxation of a part of this size takes a quarter of a second.

The time of a part grows faster than its size.
"""
MERGED = (1, 2, 5)
"""Number of parts of the first round that one part replaces, for each round.

Each round deals the containers to parts again, so that surplus objects reach other containers. Small parts come near
fast, and larger parts come nearer.
"""
PATIENCE = 1.25
"""Least time left before another round, as a multiple of its expected time.

With less time, the search after the relaxation gains more than another round.
"""


def in_parts(lowered: Lowered, model: Model, shares: Shares) -> int:
    """Return the number of parts in which the first round relaxes `model`.

    The number is 1 if the problem is small, or if a row other than supply couples two containers.
    """
    counts = len(lowered.kind)
    large = counts > WHOLE_COUNTS and shares.separates(model) and shares.sink >= 0
    return -(-counts // PART_COUNTS) if large else 1


class PartedRelaxation:
    """A point of the relaxation that rounds improve. A round deals the containers to parts, and optimises each part.

    x        (C,)  the value of each column, at first those of `begin`. Without step functions no round makes the point
                   worse
    raw      (C,)  `x` as the parts of the last round found it, in which steps may be fractions; None without steps
    price    (N,)  the price of each row. The rows of a container have the prices that its part found. The supply row
                   of a class has the mean of the prices in the parts that use the class
    reduced  (Q,)  the reduced cost of each count in the part of its container
    solved   whether any part was solved in time
    """

    def __init__(
        self,
        lowered: Lowered,
        model: Model,
        shares: Shares,
        parts: int,
        time_s_max: float = np.inf,
        *,
        begin: Ints,
        pool: Pool,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        self.pool = pool
        self.lowered, self.model, self.shares, self.parts, self.cancelled = lowered, model, shares, parts, cancelled
        self.width, self.classes = len(lowered.kind), len(lowered.classes.size)
        self._until = time.perf_counter() + time_s_max
        self.x = lowered.point_of(begin)
        self.raw: Floats | None = None
        self.price = np.zeros(len(model.row_lower))
        self.reduced = np.zeros(self.width)
        self.solved = self.timed_out = False
        self._sink_of = sink_columns(lowered, shares.sink)
        self._known = self._sink_of >= 0
        self._penalty = penalties(model)
        self._real = np.flatnonzero(np.bincount(lowered.container, minlength=len(lowered.problem.containers)))
        self._real = self._real[self._real != shares.sink]

    def run(self, seed: int, merged: Sequence[int] = MERGED) -> Relaxation:
        """Run a round for each number of `merged` while there is time. Too long a round has smaller parts instead.

        A lower bound follows from the prices of containers in their last round. It is -inf if no part was solved.

        merged  number of the first parts that one part of the round replaces, for each round, ascending
        """
        rng, took_s = np.random.default_rng(seed), 0.0
        for most in merged:
            larger = next((k for k in reversed(merged) if k <= most and not self._late(took_s * k)), 0)
            if not larger:
                break
            began = time.perf_counter()
            self._round(rng, -(-self.parts // larger))
            took_s = (time.perf_counter() - began) / larger
        bound, rows = self._bounding(self.price) if self.solved else (-np.inf, None)
        found = Relaxation(
            fractional=self.x[: self.width],
            price=self.price[: self.classes],
            reduced=self.reduced,
            point=self.x,
            raw=self.raw,
            bound=bound,
            rows=rows,
            timed_out=self.timed_out,
        )
        return replace(found, raising=partial(self._raised, found, rng)) if self.solved else found

    def _late(self, expected_s: float) -> bool:
        """Return whether the time left is too short for a round that is expected to take `expected_s` seconds.

        If so, set `timed_out`, because the answer then depends on the clock.
        """
        late = self._left_s() < PATIENCE * expected_s
        self.timed_out |= late
        return late

    def _left_s(self) -> float:
        return self._until - time.perf_counter()

    def _round(self, rng: np.random.Generator, parts: int) -> None:
        """Optimise each of `parts` parts with the objects in its containers, and an equal share of unplaced objects.

        Leave out penalties that the point does not pay. Those that are missed are there again in the next round.
        """
        lowered, model, known = self.lowered, self.model, self._known
        activity, left_out = model.matrix @ self.x, unpaid(model, self._penalty, self.x)
        lean = without(model, left_out)
        lent = np.where(known, self.x[self._sink_of], 0.0) / parts
        subs = [
            with_lent(lowered, model, restrict(lean, columns, self.x, activity), self._sink_of, lent)
            for columns in self._dealt(rng, parts)
        ]
        paid, used = np.zeros(self.classes), np.zeros(self.classes)
        for sub, found in zip(subs, self._solved(subs), strict=True):
            if found.x is None or found.price is None or not found.optimal:
                continue
            self.solved = True
            counts = sub.columns[sub.columns < self.width]
            kind, n = lowered.kind[counts], found.x[: len(counts)]
            moved = np.bincount(kind, n - self.x[counts], self.classes)
            self.x[sub.columns] = found.x
            self.x[self._sink_of[known]] -= moved[known]
            supply = sub.rows < self.classes
            self.price[sub.rows[~supply]] = found.price[~supply]
            self.reduced[counts] = reduced_costs(sub.model, found.price)[: len(counts)]
            self._penalty[sub.columns] &= ~missed(sub.model, left_out[sub.columns], found.price)
            weight = np.bincount(kind, n, self.classes)[sub.rows[supply]]
            paid[sub.rows[supply]] += weight * found.price[supply]
            used[sub.rows[supply]] += weight
        self.price[: self.classes] = np.where(known, model.cost[self._sink_of], 0.0) + paid / np.maximum(used, 1e-9)
        self.raw = self.x if has_steps(lowered, model) else None
        self.x = lowered.point_of(np.maximum(self.x[: self.width], 0.0))

    def _raised(self, found: Relaxation, rng: np.random.Generator, ends: Callable[[], bool]) -> Relaxation:
        """Return `found` with the bound that follows if all containers meet the same prices of supply.

        These are the means of the prices in the parts. So containers agree far better than parts, each of which had
        its own supply. A container that is not solved before `ends` keeps the prices of its part. One part is solved
        at a time, so that the search beside it keeps its processor.
        """
        price, dealt = self.price.copy(), self._dealt(rng, self.parts)
        for sub in parts_at_prices(self.lowered, self.model, dealt, self.x, price[: self.classes]):
            if ends():
                break
            answer = self.pool.submit(Subproblem(model=sub.model, until=math.inf, method="simplex"), ends).result()
            if answer.price is not None and answer.optimal:
                price[sub.rows] = answer.price
        bound, rows = self._bounding(price)
        found = replace(found, raising=None)
        return found if bound <= found.bound else replace(found, bound=bound, rows=rows)

    def _bounding(self, price: Floats) -> tuple[float, Floats]:
        """Return a lower bound, and its prices (N,): those of containers in `price` (N,), and of supply to fit."""
        rows = with_supply(self.lowered, self.model, price)
        return bound_from_prices(self.model, rows), rows

    def _dealt(self, rng: np.random.Generator, parts: int) -> list[Ints]:
        """Deal the containers to `parts` parts at random, and return the columns of each part."""
        groups = np.array_split(rng.permutation(self._real), parts)
        return [np.flatnonzero(self.shares.of(np.sort(group))) for group in groups]

    def _solved(self, subs: list[Submodel]) -> list[Answer]:
        waiting = [self.pool.submit(Subproblem(model=sub.model, until=self._until), self.cancelled) for sub in subs]
        found = [each.result() for each in waiting]
        self.timed_out |= any(one.timed_out for one in found)
        return found


def relax_in_parts(
    lowered: Lowered,
    model: Model,
    shares: Shares,
    time_s_max: float = np.inf,
    *,
    parts: int,
    begin: Ints,
    pool: Pool,
    seed: int = 0,
    cancelled: Callable[[], bool] | None = None,
) -> Relaxation:
    """Return a feasible near-optimal fractional plan, prices and a bound, from parts that divide the objects.

    model  `lowered.model`, or a result of `lowered.at`. No row except supply may couple two containers. Any object of
           a class that `shares.sink` accepts can go there
    parts  number of parts of the first round, from `in_parts`
    begin  (Q,) the counts to begin with. A part that is not solved in time keeps them
    pool   solves the parts
    """
    parted = PartedRelaxation(lowered, model, shares, parts, time_s_max, begin=begin, pool=pool, cancelled=cancelled)
    return parted.run(seed)
