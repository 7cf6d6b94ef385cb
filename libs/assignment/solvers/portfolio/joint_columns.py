"""Go on with columns of whole objects, if a search of all goals together leaves far more open than it should.

So it is where objects are scarce, and containers need few of them. Neighbourhoods then change little, because almost no
object is free, and prices of fractions do not say who should go short.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from libs.assignment.language.arrays import Ints
from libs.assignment.solvers.portfolio.whole_columns import is_for_columns, search_whole_columns
from libs.mip.model import Model

if TYPE_CHECKING:
    from libs.assignment.solvers.portfolio.joint import Joint

SCARCE = 0.05
"""Least distance of a plan from its bound, as a share of the bound, from which columns are worth their time.
Neighbourhoods close a smaller one in less time.
"""
COLUMNS_SHARE = 0.8
"""Share of the time left for columns."""


def is_scarce(joint: Joint, counts: Ints) -> bool:
    """Return whether columns are worth their time: the counts (Q,) cost far more than the bound of the plain sum.

    Both are taken without what no answer avoids of the first goal. A caller that limits the number of neighbourhoods,
    or wants no trees, wants no columns.
    """
    phases, unit, first = joint.phases, joint.unit, joint.goals[0]
    asked = phases.limits.whole_bound and phases.limits.neighbourhoods_max is None
    if not asked or joint.last is None or not is_for_columns(phases.lowered, phases.model, phases.shares):
        return False
    values = phases.lowered.values(phases.lowered.point_of(counts))
    least = 0.0 if joint.first is None else unit[first] * joint.first.bound
    cost, bound = sum(unit[k] * values[k] for k in joint.goals), joint.bound_of_sum
    return cost - bound > SCARCE * max(1.0, bound - least)


def with_columns(joint: Joint, model: Model, counts: Ints) -> tuple[Joint, Ints]:
    """Return the outcome with a better bound, and the counts (Q,), no worse than `counts`, after a search with columns.

    Steps and neighbourhoods improve the answer of the columns, at the prices of these.

    model  the plain sum
    """
    phases = joint.phases
    found = search_whole_columns(
        phases.lowered,
        model,
        phases.model,
        phases.shares,
        joint.relaxation,
        counts,
        pool=phases.pool,
        time_s_max=COLUMNS_SHARE * phases.watch.time_left(),
        cancelled=phases.watch.stop,
    )
    phases.watch.note(timed_out=found.timed_out)
    if found.counts is not None:
        counts = phases.better(found.counts, counts)
    bound = max(joint.bound, found.relaxation.bound)
    return replace(joint, bound=bound), phases.improve(found.relaxation, counts, bound)
