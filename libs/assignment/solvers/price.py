"""Price and round: prices from a relaxation over shapes of containers, then greedy placing by net gain."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from libs.assignment.arrays import Ints
from libs.assignment.errors import ModelError
from libs.assignment.prices.check import broken
from libs.assignment.prices.improvement import improve, raise_shares
from libs.assignment.prices.market import Market
from libs.assignment.prices.offer import Offer, offer_of
from libs.assignment.prices.prices import Prices, prices_of
from libs.assignment.prices.recognise import market_of
from libs.assignment.prices.rounding import ORDERS, fill, placed_gain, price_of, rank_at, round_prices
from libs.assignment.prices.settings import Granularity, PriceSettings
from libs.assignment.prices.state import State, start
from libs.assignment.problem import Problem
from libs.assignment.solvers.limits import SearchLimits, StoppedBy
from libs.assignment.solvers.result import Result, Step

CLOSE = 1e-9
"""An answer that is this share of the bound away from it is the best."""


def recognises(problem: Problem) -> bool:
    """Whether price-and-round can solve a problem: objects worth something are to be placed within capacities."""
    return why_not(problem) is None


def why_not(problem: Problem) -> str | None:
    """What is beyond price-and-round, by the name of the spec; None where it can solve the problem."""
    try:
        market_of(problem)
    except ModelError as refused:
        return str(refused)
    return None


def solve_price(
    problem: Problem,
    limits: SearchLimits | None = None,
    *,
    seed: int = 0,
    settings: PriceSettings | None = None,
    prices: Prices | None = None,
) -> Result:
    """A placement no worse than the start, the relaxation's prices, and its bound.

    `prices` of an earlier solve are where the new ones are looked for. Of the limits only the time counts: when it is
    up, what is placed is the answer. Raises: ModelError, with the name of a spec that it cannot take.
    """
    began = time.perf_counter()
    market, settings = market_of(problem), settings or PriceSettings()
    if settings.granularity is Granularity.GLOBAL:
        market = replace(market, pool=np.zeros_like(market.pool))
    run = Run(problem, market, settings, seed, began, (limits or SearchLimits()).time_s_max)
    build_s = time.perf_counter() - began
    run.place(prices)
    return run.result(build_s)


class Run:
    """One solve, phase by phase."""

    def __init__(
        self, problem: Problem, market: Market, settings: PriceSettings, seed: int, began: float, time_s_max: float
    ) -> None:
        self.problem, self.market, self.settings, self.seed = problem, market, settings, seed
        self.began, self.time_s_max, self.cut = began, time_s_max, False
        self.who: Ints = np.flatnonzero(~market.fixed)
        self.state: State = start(market, seed)
        self.offer: Offer = offer_of(market, self.state, settings.rent)
        everyone_out = np.where(market.fixed, market.initial, market.outside)
        self.base = self._value(everyone_out) + placed_gain(market, self.state)
        self.steps: list[tuple[float, int, float]] = []
        self.looked_at = 0

    def place(self, prices: Prices | None) -> None:
        """Relax, round in each order, fill what is left, exchange, and put priorities in order."""
        market, settings = self.market, self.settings
        known = None if prices is None or prices.price.shape != self.offer.supply.shape else prices.price
        self.relaxed = price_of(market, self.offer, self.who, settings, known)
        ranking = rank_at(market, self.offer, self.who, self.relaxed)
        empty, best = self.state, -math.inf
        for order in ORDERS:
            if best > -math.inf and self._late():
                break
            tried = round_prices(market, self.offer, empty, ranking, self.relaxed, order, settings)
            if placed_gain(market, tried) > best:
                best, self.state = placed_gain(market, tried), tried
            self._note(len(self.who))
        for _ in range(settings.rounds):
            if self._late() or not fill(market, self.state, self.who, settings):
                break
            self._note(len(self.who))
        if not self._late() and improve(market, self.offer, self.state, ranking, settings):
            fill(market, self.state, self.who, settings)
            self._note(len(self.who))
        if settings.rising and len(market.level) and not self._late():
            raise_shares(market, self.offer, self.state, ranking, settings)
            self._note(len(self.who))

    def result(self, build_s: float) -> Result:
        """The placement, or the start where that is no worse."""
        market, initial = self.market, self.market.initial
        found = np.where(self.state.at >= 0, self.state.at, market.outside)
        bad = broken(self.problem, market.groups, initial), broken(self.problem, market.groups, found)
        value = self._value(initial), self._value(found)
        keep = (bad[0], value[0]) <= (bad[1], value[1])
        best = initial if keep else found
        bound = self.base - self.relaxed.bound - self._fixed_gain()
        after = (bad[0], value[0]) if keep else (bad[1], value[1])
        optimal = after[1] - bound <= CLOSE * max(abs(after[1]), abs(bound))
        stopped_by = StoppedBy.TIME if self.cut else StoppedBy.OPTIMAL if optimal else StoppedBy.DONE
        return Result(
            assignment=best.copy(),
            broken=(bad[0], after[0]),
            objective=((value[0],), (after[1],)),
            improved=not keep,
            moved=int((best != initial).sum()),
            tries=self.looked_at,
            seed=self.seed,
            stopped_by=stopped_by,
            build_s=build_s,
            solve_s=time.perf_counter() - self.began,
            timeline=tuple(
                Step(time_s=time_s, tries=tries, made=tries, objective=(after[0], self.base - gain))
                for time_s, tries, gain in self.steps
            ),
            bound=(0.0, bound),
            prices=prices_of(market, self.relaxed),
            solver="price",
        )

    def _fixed_gain(self) -> float:
        on = np.flatnonzero(self.market.fixed)
        return float(self.market.gain(on, self.market.initial[on]).sum())

    def _value(self, assignment: Ints) -> float:
        """The goals, by definition."""
        goals = self.problem.goals
        return sum(goal.weight / goal.scale * float(goal.cost.value(assignment)[0, 0]) for goal in goals)

    def _late(self) -> bool:
        self.cut = self.cut or time.perf_counter() - self.began >= self.time_s_max
        return self.cut

    def _note(self, looked_at: int) -> None:
        self.looked_at += looked_at
        now = time.perf_counter() - self.began
        self.steps.append((now, self.looked_at, placed_gain(self.market, self.state)))
