"""Use specs made of other specs."""

from __future__ import annotations

from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.limit import Bound, Limit, LimitType
from libs.assignment.language.specs.logical_and import LogicalAndSpec
from libs.assignment.language.specs.logical_or import LogicalOrSpec
from libs.assignment.language.specs.no_regression import NoRegressionSpec
from tests.libs.assignment.examples.example import Example, over
from tests.libs.assignment.examples.limits import capacity, count
from tests.libs.assignment.worlds import JOBS, RACKS, util


def _no_regression(p, a):
    def broken(where):
        u, n, most = util(p, where, "rack", "rru"), util(p, where, "rack", "count", "job"), (30.0, 25.0, 40.0)
        short = {i: over(1.5 * most[i] - u[i, 0]) for i in (0, 2)}
        return [3 * short.get(i, 0) + 0.5 * sum(over(n[i, g] - 2) for g in range(JOBS)) for i in range(RACKS)]

    return sum(over(now - was) for now, was in zip(broken(a), broken(p.initial), strict=True))


def _either(p, a):
    return min(capacity(p, a), count(p, a))


def _both(p, a):
    return capacity(p, a) + count(p, a)


EXAMPLES: dict[str, Example] = {
    "no regression": Example(
        NoRegressionSpec(
            scope="rack",
            specs=[
                CapacitySpec(
                    scope="rack",
                    dimension="rru",
                    bound=Bound.MIN,
                    limit=Limit(type=LimitType.RELATIVE, default=1.5),
                    filter=Filter(but=["rack1"]),
                ),
                GroupCountSpec(scope="rack", partition="job", limit=Limit(default=2)),
            ],
            weights=[3, 0.5],
        ),
        _no_regression,
    ),
    "either": Example(
        LogicalOrSpec(
            specs=[CapacitySpec(dimension="cpu"), GroupCountSpec(scope="rack", partition="job", limit=Limit(default=2))]
        ),
        _either,
    ),
    "both": Example(
        LogicalAndSpec(
            specs=[CapacitySpec(dimension="cpu"), GroupCountSpec(scope="rack", partition="job", limit=Limit(default=2))]
        ),
        _both,
    ),
}
