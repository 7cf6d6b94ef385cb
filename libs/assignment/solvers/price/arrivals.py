"""Place objects that arrive and leave over time. Each round places waiting objects, and moves no placed object."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.columns import dense
from libs.assignment.language.errors import BadValues, shown
from libs.assignment.language.given import one_by_one
from libs.assignment.language.problem import Column, Problem
from libs.assignment.solvers.price.availability import offer_of
from libs.assignment.solvers.price.recognise import read_market
from libs.assignment.solvers.price.relaxation import prices_of
from libs.assignment.solvers.price.rounding import ORDERS, fill, placed_gain, price_of, rank_at, round_prices
from libs.assignment.solvers.price.settings import PriceSettings
from libs.assignment.solvers.price.state import release, start
from libs.assignment.solvers.prices import Prices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Round:
    """The result of one call of `Stream.place`.

    placed      (n,) int   the objects that the round placed
    containers  (n,) int   the container of each placed object
    waiting     (m,) int   the objects that still have no place
    prices      Prices     the prices of the round; the next round starts from them
    bound       float      upper bound of the gain of placing the objects that waited in the room before the round
    steps       int        number of evaluations of the dual function
    """

    placed: Ints
    containers: Ints
    waiting: Ints
    prices: Prices
    bound: float
    steps: int


class Stream:
    """The placement of a problem whose objects arrive and leave over time.

    `problem` names all objects that may ever arrive. The solver recognises in it a container for unplaced objects. An
    object that starts in any other container counts as placed from the beginning.

    After a restart of the process, state the problem again. Put each placed object into its container as the initial
    assignment, and forbid its moves by AvoidMovingSpec.
    """

    def __init__(self, problem: Problem, settings: PriceSettings | None = None, *, seed: int = 0) -> None:
        self.settings = settings or PriceSettings()
        self.objects = problem.objects
        stated = read_market(Compiled.of(problem)).strict.market
        self.market = replace(stated, fixed=stated.fixed | (stated.initial != stated.outside))
        self._state = start(self.market, seed)
        self._waits = np.zeros(len(problem.objects), dtype=bool)
        self._price: Floats | None = None

    @property
    def assignment(self) -> Ints:
        """Return the container of each object, (N,). An unplaced object is in the container for unplaced objects."""
        return np.where(self._state.at >= 0, self._state.at, self.market.outside)

    def place(self, arriving: Column = ()) -> Round:
        """Place the objects `arriving`, and the objects that still wait, as far as there is room.

        arriving  objects that are neither placed nor waiting, by name or index

        Raises: BadValues for an object that is placed or waits already; UnknownName with the nearest name.
        """
        come = self._indices("place", arriving)
        there = come[(self._state.at[come] >= 0) | self._waits[come]]
        if len(there):
            raise BadValues(f"place: objects {shown(there.tolist())} arrived before; give only new ones")
        self._waits[come] = True
        who = np.flatnonzero(self._waits)
        market, settings = self.market, self.settings
        offer = offer_of(market, self._state, settings.rent)
        relaxed = price_of(market, offer, who, settings, self._price)
        ranking = rank_at(market, offer, who, relaxed)
        tried = [round_prices(market, offer, self._state, ranking, relaxed, order, settings) for order in ORDERS]
        self._state = max(tried, key=lambda one: placed_gain(market, one))
        for _ in range(settings.rounds):
            if not fill(market, self._state, who, settings):
                break
        self._price = relaxed.price
        done = who[self._state.at[who] >= 0]
        self._waits[done] = False
        return Round(
            placed=done,
            containers=self._state.at[done],
            waiting=np.flatnonzero(self._waits),
            prices=prices_of(market, relaxed),
            bound=relaxed.bound * market.unit,
            steps=relaxed.steps,
        )

    def leave(self, objects: Column) -> None:
        """Free the room of the objects `objects`, by name or index. An object of these that still waits will not be
        placed any more. Raises: UnknownName with the nearest name; BadValues for an index out of range.
        """
        gone = self._indices("leave", objects)
        self._waits[gone] = False
        self.market.fixed[gone] = False
        release(self.market, self._state, gone[self._state.at[gone] >= 0])

    def _indices(self, where: str, given: Column) -> Ints:
        """Return the indices of objects, each once, in order."""
        column = dense(given)
        return np.unique(one_by_one(where, column, len(column), self.objects))
