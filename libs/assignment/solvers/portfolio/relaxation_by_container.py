"""Relax container by container, where the whole relaxation is not needed or takes too long.

A relaxation finds the prices of supply at which all containers together want as many objects as there are. Most
containers keep most of what they have, and prices hardly matter for them. So one step of coordinate ascent from prices
of 0 comes within some percent of the best bound, in a tenth of the time: the best prices of each container's own rows,
and then the best prices of supply for these (supply_prices.py). By weak duality the bound holds for any prices. If few
objects must move, it is within a percent, and nothing else is needed.
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
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.assignment.solvers.portfolio.submodel import parts_at_prices
from libs.assignment.solvers.portfolio.subproblem import Pool, Subproblem
from libs.assignment.solvers.portfolio.supply_prices import with_supply
from libs.assignment.solvers.portfolio.unpaid import paying, penalties
from libs.assignment.solvers.portfolio.whole_bound import whole_least
from libs.mip.bound import bound_from_prices, reduced_costs
from libs.mip.model import Model

FEW = 0.03
"""Most objects that mending may have moved, as a share of all, for the step to be enough."""
NEAR = 0.05
"""Most that the mended counts may cost above the bound, as a share of it, without penalties, for it to be enough."""
PAYING_MAX = 50
"""Most containers that pay penalties for which it is asked whether they must."""
AVOIDABLE = 1e-4
"""Share of penalties that may be avoidable after all, because trees widen rows a little (FEASIBLE)."""


def relax_by_container(
    lowered: Lowered,
    model: Model,
    alone: Alone,
    time_s_max: float = np.inf,
    *,
    cancelled: Callable[[], bool] | None = None,
) -> Relaxation:
    """Return prices and a bound, without a fractional plan.

    model  `lowered.model`, or a result of `lowered.at`. No row except supply may couple two containers
    alone  the containers of that model
    """
    until = time.perf_counter() + time_s_max
    wanted = alone.at(with_supply(lowered, model, np.zeros(len(model.row_lower))), until, cancelled)
    rows = with_supply(lowered, model, wanted.rows)
    return Relaxation(
        fractional=None,
        price=rows[: len(lowered.classes.size)],
        reduced=reduced_costs(model, rows)[: len(lowered.kind)],
        point=None,
        raw=wanted.x,
        bound=bound_from_prices(model, rows),
        rows=rows,
        timed_out=wanted.timed_out,
    )


def is_enough(
    lowered: Lowered,
    model: Model,
    shares: Shares,
    found: Relaxation,
    begin: Ints,
    time_s_max: float = np.inf,
    *,
    pool: Pool,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[bool, bool]:
    """Return whether no better relaxation than `found` is needed, and whether the clock ended a solver.

    It is enough if `begin` (Q,) moves few objects, and costs little above the bound and what whole objects must pay
    more than fractions. It must also pay no penalty that may be avoided: a plan rounded from another relaxation could
    avoid it. Arguments as in `relax_by_container`.
    """
    if not is_little_changed(lowered, begin):
        return False, False
    until = time.perf_counter() + time_s_max
    must, timed_out = penalties_to_pay(lowered, model, shares, begin, pool=pool, until=until, cancelled=cancelled)
    near = must is not None and is_near(model.objective(lowered.point_of(begin)), found.bound, *must)
    return near, timed_out


def is_little_changed(lowered: Lowered, counts: Ints) -> bool:
    """Return whether at most FEW of all objects are elsewhere in `counts` (Q,) than at the start of the problem."""
    return bool(np.abs(counts - lowered.held).sum() / 2 <= FEW * lowered.classes.size.sum())


def is_near(cost: float, bound: float, paid: float, whole: float) -> bool:
    """Return whether `cost` is at most NEAR above `bound`, as a share of the bound without penalties.

    paid, whole  as `penalties_to_pay` returns them
    """
    least = bound + whole
    return bool(np.isfinite(bound) and cost - least <= NEAR * max(least - paid, 0.0))


def penalties_to_pay(
    lowered: Lowered,
    model: Model,
    shares: Shares,
    counts: Ints,
    *,
    pool: Pool,
    until: float,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[tuple[float, float] | None, bool]:
    """Return the penalties that `counts` (Q,) pay in `model`, and what of that fractions of objects would avoid.

    None: a plan of whole objects might pay less. To tell that, each container that pays is alone, and may have all
    objects. Return also whether the clock ended a solver.
    """
    point = lowered.point_of(counts)
    chosen = np.flatnonzero(paying(model, shares, point))
    if not len(chosen) or len(chosen) > PAYING_MAX:
        return None if len(chosen) else (0.0, 0.0), False
    alone = replace(model, cost=np.where(penalties(model), model.cost, 0.0), offset=0.0)
    price = np.zeros(len(model.row_lower))
    least, timed_out = whole_least(
        lowered, alone, shares, price, point, chosen, pool=pool, until=until, cancelled=cancelled
    )
    paid = float(alone.cost @ point)
    if paid > least.sum() + AVOIDABLE * paid:
        return None, timed_out
    subs = list(parts_at_prices(lowered, alone, shares.each(chosen), point, price[: len(lowered.classes.size)]))
    found = [pool.submit(Subproblem(model=sub.model, until=until), cancelled) for sub in subs]
    avoided = 0.0
    for sub, one, cost in zip(subs, found, least, strict=True):
        answer = one.result()
        timed_out |= answer.timed_out
        if answer.price is not None:
            avoided += max(cost - bound_from_prices(sub.model, answer.price), 0.0)
    return (paid, avoided), timed_out
