"""Relax by column generation, where the whole relaxation takes too long.

Containers propose what they want at prices of supply (alone.py). A small linear program, the master, mixes the
proposals so that supply is enough, and gives the next prices (proposals.py). It has one row for each class and each
container. Each round gives a lower bound, and the last mix is a plan of the relaxation.

The prices of a master with few proposals swing. Three things hold them:

- A mix may be off supply, at prices that are a distance from the best ones known. The distance shrinks each time that
  the master's prices bound less.
- Containers propose at the middle of the best prices and those of the master.
- The master ends early, with prices in the middle of all that are nearly as good.

Sources: Dantzig and Wolfe 1960; du Merle, Villeneuve, Desrosiers and Hansen 1999; Wentges 1997; Gondzio,
Gonzalez-Brevis and Munari 2013.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from libs.assignment.language.arrays import Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.alone import Alone
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.proposals import Proposals
from libs.assignment.solvers.portfolio.relaxation import Relaxation, has_steps
from libs.assignment.solvers.portfolio.supply_prices import with_supply
from libs.mip.bound import bound_from_prices, reduced_costs
from libs.mip.model import Model

COUNTS = 40_000
"""Number of counts up to which the relaxation is solved as a whole."""
ROUNDS = 8
"""Most rounds of proposals."""
NEAR = 1.5e-3
"""Distance of a mix from the bound, as a share of it, at which rounds end."""
REACH, SHRINK = 4.0, 0.7
"""Distance of prices off supply at first, as a multiple of the cost of an object, and its factor after a weak round."""
EARLY, LATE = 1e-2, 1e-4
"""Relative tolerance of the master that gives prices, and of the one that gives the plan."""
PATIENCE = 2.0
"""Least time left before another round, as a multiple of the time of the last one: the last mix needs some, too."""


def is_by_columns(lowered: Lowered, model: Model, shares: Shares) -> bool:
    """Return whether `model` is relaxed by columns: it is large, it has a sink, and only supply couples containers."""
    return len(lowered.kind) > COUNTS and shares.separates(model) and shares.sink >= 0


def relax_by_columns(
    lowered: Lowered,
    model: Model,
    shares: Shares,
    alone: Alone,
    step: Relaxation,
    time_s_max: float = np.inf,
    *,
    begin: Ints,
    cancelled: Callable[[], bool] | None = None,
) -> Relaxation:
    """Return a feasible near-optimal fractional plan, prices and a bound. Without time, return `step`.

    model  `lowered.model`, or a result of `lowered.at`. No row except supply may couple two containers. Any object of
           a class that `shares.sink` accepts can go there
    alone  the containers of that model
    step   the relaxation that relax_by_container found
    begin  (Q,) counts of a plan, to begin with
    """
    assert step.rows is not None
    assert step.raw is not None
    until, classes, width = time.perf_counter() + time_s_max, len(lowered.classes.size), len(lowered.kind)
    known, rows, bound = lowered.point_of(begin), step.rows, step.bound
    proposals = Proposals(lowered, model, shares, known)
    proposals.add(step.raw, rows[:classes])
    reach = REACH * max(1.0, abs(model.objective(known))) / lowered.classes.size.sum()
    timed_out, took_s = False, 0.0
    for _ in range(ROUNDS):
        began = time.perf_counter()
        late = began + PATIENCE * took_s > until
        price = None if late else proposals.mix(EARLY, until, near=(rows[:classes], reach), cancelled=cancelled)
        if price is None:
            timed_out = True
            break
        if np.isfinite(bound) and proposals.cost - bound <= NEAR * max(1.0, abs(bound)):
            break
        between = rows.copy()
        between[:classes] = (rows[:classes] + price) / 2
        wanted = alone.at(between, until, cancelled)
        proposals.add(wanted.x, between[:classes])
        raised = with_supply(lowered, model, wanted.rows)
        least = bound_from_prices(model, raised)
        if least > bound:
            rows, bound = raised, least
        else:
            reach *= SHRINK
        if wanted.timed_out:
            timed_out = True
            break
        took_s = time.perf_counter() - began
    bounded = replace(step, price=rows[:classes], reduced=reduced_costs(model, rows)[:width], bound=bound, rows=rows)
    if proposals.mix(LATE, until, cancelled=cancelled) is None:
        return replace(bounded, timed_out=True)
    mixed = proposals.mixed()
    fractional = np.maximum(mixed[:width], 0.0)
    return replace(
        bounded,
        fractional=fractional,
        point=lowered.point_of(fractional),
        raw=mixed if has_steps(lowered, model) or lowered.has_cuts else None,
        timed_out=timed_out,
    )
