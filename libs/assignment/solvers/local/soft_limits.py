"""Bend limits: a walk may exceed them at a price, and returns to them as prices rise.

In nearly full containers few changes fit, and an annealing of fitting changes alone stays near its start. Here an
excess over the limit of a stack's row costs a price per unit. Initially an object of mean size over a limit costs one
temperature. Between two chunks the price of a row over its limit rises, and at first the other prices fall. So each
price approaches the value of room in its row. Later, prices only rise. On the way a walk is sometimes within all
limits, and its assignment then counts like any other. Source: strategic oscillation, F. Glover (1977); multipliers that
follow violations, as in Lagrangian relaxation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.incremental.program import Program
from libs.assignment.incremental.tables import (
    EXCESS,
    GUARD,
    GUARDED,
    HELD,
    LAYERS,
    LIMIT,
    OVER,
    OVER_MAX,
    OVER_ROWS,
    PRICE,
    STACK,
    State,
)
from libs.assignment.language.arrays import Floats, Ints

RISE, FALL = 1.2, 0.97
"""Factors per chunk on the price of a row over its limit, and on other prices."""
LEAST = 0.01
"""Least price, as a share of the initial one."""


@dataclass(slots=True)
class Guards:
    """The limits of one stack. Offsets: price, held. Arrays: `layer` (guards,); `limit` (rows, guards)."""

    price: int
    held: int
    layers: int
    layer: Ints
    limit: Floats
    base: Floats


class Bent:
    """The prices of one walk. `hot` is the temperature at which the annealing begins."""

    def __init__(self, program: Program, hot: float) -> None:
        self.levels = program.levels
        self.guards = list(_guards(program, hot))
        self.prices = [guards.base.copy() for guards in self.guards]

    def excess(self, state: State) -> list[Floats]:
        """Return the excess over each limit, (rows, guards) per stack."""
        found = []
        for one in self.guards:
            rows = len(one.limit)
            held = state.part[one.held :][: rows * one.layers].reshape(rows, one.layers)
            found.append(np.maximum(held[:, one.layer] - one.limit, 0.0))
        return found

    def bend(self, state: State, *, falling: bool) -> None:
        """Adapt prices to the excess, and write them into a state. From then on its limits bend."""
        total, exceeded = 0.0, 0
        for one, price, over in zip(self.guards, self.prices, self.excess(state), strict=True):
            price *= np.where(over > 0, RISE, FALL if falling else 1.0)
            np.maximum(price, LEAST * one.base, out=price)
            state.part[one.price :][: price.size] = price.ravel()
            total, exceeded = total + float((price * over).sum()), exceeded + int(np.count_nonzero(over))
        state.part[2 * self.levels + np.array([OVER, OVER_MAX, OVER_ROWS])] = total, 1.0, exceeded


def _guards(program: Program, hot: float) -> list[Guards]:
    tables, found = program.tables, []
    for n, stack in enumerate(program.graph.stacks, int(tables.node[0, STACK])):
        row, rows = tables.node[n], stack.rows.shape[0]
        guards = int(row[GUARDED])
        if not guards:
            continue
        layer = tables.lookup[row[GUARD] :][:guards]
        limit = tables.number[row[LIMIT] :][: rows * guards].reshape(rows, guards)
        slack = tables.number[row[EXCESS] :][: 2 * rows * guards : 2].reshape(rows, guards)
        values = np.abs(stack.values[:, layer])
        mean = values.sum(axis=0) / np.maximum((values > 0).sum(axis=0), 1)
        base = np.where(mean > 0, hot / np.where(mean > 0, mean, 1.0), 0.0) * np.ones((rows, 1))
        found.append(
            Guards(
                price=int(row[PRICE]),
                held=int(row[HELD]),
                layers=int(row[LAYERS]),
                layer=layer,
                limit=limit + slack,
                base=base,
            )
        )
    return found
