"""For every spec at least one use of it, with its cost written out in plain Python: what all specs are tested with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from libs.assignment.flavour import Flavour
from libs.assignment.problem import Problem
from libs.assignment.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.specs.avoid_moving import AvoidMovingSpec
from libs.assignment.specs.balance import BalanceBound, BalanceFormula, BalanceSpec
from libs.assignment.specs.capacity import CapacitySpec
from libs.assignment.specs.colocate_groups import ColocateGroupsSpec
from libs.assignment.specs.drain_capacity import DrainCapacitySpec
from libs.assignment.specs.filter import Filter
from libs.assignment.specs.group_count import CountBound, GroupCountSpec, RelativeTo
from libs.assignment.specs.group_dependency import GroupDependencySpec
from libs.assignment.specs.group_diversity import GroupDiversitySpec
from libs.assignment.specs.group_move_limit import Aggregate, GroupMoveLimitSpec
from libs.assignment.specs.largest_group import LargestGroupSpec
from libs.assignment.specs.limit import Bound, Limit, LimitType
from libs.assignment.specs.logical_and import LogicalAndSpec
from libs.assignment.specs.logical_or import LogicalOrSpec
from libs.assignment.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.specs.minimize_bins import MinimizeBinsSpec
from libs.assignment.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.specs.minimize_nth_largest_utilization import MinimizeNthLargestUtilizationSpec
from libs.assignment.specs.move_group import MoveGroupSpec
from libs.assignment.specs.moves_in_progress import MovesInProgressSpec
from libs.assignment.specs.no_regression import NoRegressionSpec
from libs.assignment.specs.non_accepting import NonAcceptingSpec
from libs.assignment.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from libs.assignment.specs.spec import Spec
from libs.assignment.specs.to_free import ToFreeFormula, ToFreeSpec
from libs.assignment.specs.util_increase_cost import UtilIncreaseCostSpec
from tests.libs.assignment.worlds import CONTAINERS, JOBS, OBJECTS, RACKS, util


@dataclass(frozen=True)
class Example:
    spec: Spec
    cost: Callable[[Problem, np.ndarray], float]


def over(x: float) -> float:
    return max(0.0, x)


def _capacity(p, a):
    u, most = util(p, a, "container", "cpu"), p.dimensions["cpu"].capacities["container"]
    return sum(over(u[i, 0] - most[i]) for i in range(CONTAINERS))


def _capacity_transient(p, a):
    most = p.dimensions["cpu"].capacities["container"]
    parts = [util(p, a, "container", "cpu", flavour=f) for f in (Flavour.AFTER, Flavour.ANY)]
    return sum(over(u[i, 0] - most[i]) for u in parts for i in range(CONTAINERS))


def _capacity_min(p, a):
    u, least = util(p, a, "rack", "rru"), p.dimensions["rru"].capacities["rack"]
    return sum(over(1.5 * least[i] - u[i, 0]) for i in (0, 2))


def _capacity_min_or_empty(p, a):
    u = util(p, a, "container", "cpu")
    return sum(over(15 - u[i, 0]) for i in range(CONTAINERS) if u[i, 0] > 0)


def _capacity_new(p, a):
    u = util(p, a, "rack", "count", flavour=Flavour.NEW)
    return sum(over(u[i, 0] - k) for i, k in enumerate((1, 2, 2)))


def _count(p, a):
    u = util(p, a, "rack", "count", "job")
    return sum(over(u[i, g] - 2) for i in range(RACKS) for g in range(JOBS))


def _count_overlapping_squares(p, a):
    u = util(p, a, "container", "cpu", "tag")
    return sum(over(u[i, g] - 4) ** 2 for i in range(CONTAINERS) for g in range(4))


def _count_share_of_group(p, a):
    u, total = util(p, a, "rack", "cpu", "job"), p.partitions["job"].matrix @ p.dimensions["cpu"].objects
    share = {(0, 1): 0.1}
    return sum(over(u[i, g] - share.get((i, g), 0.4) * total[g]) for i in range(RACKS) for g in range(JOBS))


def _count_share_of_item(p, a):
    u, whole = util(p, a, "rack", "cpu", "job"), util(p, a, "rack", "cpu")
    return sum(over(u[i, g] - 0.3 * whole[i, 0]) for i in range(RACKS) for g in range(JOBS))


def _count_min_where_present(p, a):
    u = util(p, a, "rack", "count", "job")
    return sum(over(k - u[i, g]) for i in range(RACKS) for g, k in enumerate((2, 3, 2, 2, 4)) if u[i, g] > 0)


def _count_exact(p, a):
    u = util(p, a, "rack", "count", "job")
    return sum(abs(u[i, g] - 1) for i in (1, 2) for g in range(JOBS))


def _spread(p, a):
    u = util(p, a, "rack", "count", "job")
    return sum(over(k - sum(u[i, g] > 0 for i in range(RACKS))) for g, k in enumerate((3, 1, 2, 3, 2)))


def _together(p, a):
    u = util(p, a, "container", "count", "job")
    weight = [2, 1, 1, 1, 0, 1, 1]
    return sum(over(sum(weight[i] * (u[i, g] > 0) for i in range(CONTAINERS)) - 2) ** 2 for g in range(JOBS))


def _dependency(p, a):
    u = util(p, a, "rack", "count", "job")
    return sum(u[i, g] > 0 and not u[i, h] > 0 for i in range(RACKS) for g, h in ((0, 1), (0, 2), (3, 1), (2, 0)))


def _movement(p, a):
    item = p.scopes["rack"].item
    return over(sum(p.dimensions["cpu"].objects[o] for o in range(OBJECTS) if item[p.initial[o]] != item[a[o]]) - 3)


def _worst_group_move(p, a):
    u = util(p, a, "container", "count", "job", Flavour.NEW)
    return max(over(sum(u[i, g] for i in range(CONTAINERS)) - 1) for g in range(JOBS))


def _group_moves(p, a):
    u, total = (
        util(p, a, "container", "cpu", "tag", Flavour.NEW),
        p.partitions["tag"].matrix @ p.dimensions["cpu"].objects,
    )
    return sum(over(sum(u[i, g] for i in range(CONTAINERS)) - 0.25 * total[g]) for g in range(4))


def _affinity(p, a):
    return -sum(util(p, a, "container", "liking").values())


def _avoid_moving(p, a):
    return sum(p.initial[o] != a[o] for o in (1, 5, 9))


def _non_accepting(p, a):
    u = util(p, a, "rack", "cpu", flavour=Flavour.NEW)
    return u[1, 0] + u[2, 0]


def _to_free(p, a):
    u = util(p, a, "rack", "cpu")
    return u[0, 0] + u[2, 0]


def _to_free_occupied(p, a):
    return sum(util(p, a, "container", "count")[i, 0] > 0 for i in (0, 3, 6))


def _avoid(p, a):
    item = p.scopes["rack"].item
    return sum(item[a[o]] in away for o, away in ((1, (0,)), (2, (0, 1)), (3, (0, 1)), (7, (1, 2))))


def _avoid_new(p, a):
    item, job = p.scopes["rack"].item, p.partitions["job"].matrix.toarray()
    away = {1: (0,), 2: (0, 1), 4: (0, 1)}
    wrong = 0
    for o in range(OBJECTS):
        stayed = item[p.initial[o]] == item[a[o]]
        wrong += any(job[g, o] and item[a[o]] in items and not stayed for g, items in away.items())
    return wrong


def _largest_group(p, a):
    parts = util(p, a, "rack", "rru", "tag")
    return sum(max(parts[i, g] for g in range(4)) for i in (0, 2))


def _no_regression(p, a):
    def broken(where):
        u, n, most = util(p, where, "rack", "rru"), util(p, where, "rack", "count", "job"), (30.0, 25.0, 40.0)
        short = {i: over(1.5 * most[i] - u[i, 0]) for i in (0, 2)}
        return [3 * short.get(i, 0) + 0.5 * sum(over(n[i, g] - 2) for g in range(JOBS)) for i in range(RACKS)]

    return sum(over(now - was - 0.25) for now, was in zip(broken(a), broken(p.initial), strict=True))


def _in_progress(p, a):
    return sum(a[o] != to for o, to in ((1, 2), (5, 2), (6, 4)))


def _bins(p, a):
    u = util(p, a, "container", "count")
    return over(sum((3 if i == 2 else 1) * (u[i, 0] > 0) for i in range(CONTAINERS) if i != 5) - 2)


def _diversity(p, a):
    u = util(p, a, "rack", "count", "job")
    return sum(over(k - sum(u[i, g] > 0 for g in range(JOBS))) for i, k in enumerate((5, 4, 4)))


def _diversity_most(p, a):
    u = util(p, a, "container", "count", "job")
    return sum(over(sum(u[i, g] > 0 for g in range(JOBS)) - 2) for i in (0, 1, 2))


def _buffer(p, a):
    u, parts, wanted = (
        util(p, a, "rack", "rru"),
        util(p, a, "rack", "rru", "tag"),
        p.dimensions["rru"].capacities["rack"],
    )
    return sum(over(2 * wanted[i] - u[i, 0] + max(parts[i, g] for g in range(4))) for i in range(RACKS))


def _drain(p, a):
    u, most = util(p, a, "container", "cpu"), p.dimensions["cpu"].capacities["container"]
    return sum(over(u[j, 0] + t * u[i, 0] - most[j]) for i, j, t in ((0, 1, 0.5), (0, 2, 0.5), (3, 1, 1.0)))


def _move_group(p, a):
    before, after = (util(p, a, "container", "count", "job", f) for f in (Flavour.INITIAL, Flavour.AFTER))
    spread = [[sum(u[i, g] > 0 for i in range(CONTAINERS)) for g in range(JOBS)] for u in (before, after)]
    return sum(over(y - x) for x, y in zip(*spread, strict=True))


def _rel(p, a, flavour=Flavour.AFTER):
    u, most = util(p, a, "container", "cpu", flavour=flavour), p.dimensions["cpu"].capacities["container"]
    return np.array([u[i, 0] / most[i] for i in range(CONTAINERS)]), most


def _third_largest(p, a):
    return over(sorted(_rel(p, a)[0])[-3] - 0.2)


def _allocation(p, a):
    u = util(p, a, "rack", "rru")
    return -(u[0, 0] + u[2, 0])


def _increase(p, a):
    return sum(over(x - 0.5) ** 2 for x in _rel(p, a)[0])


def _balance(p, a, formula, bound):
    rel, most = _rel(p, a)
    average = sum(rel * most) / sum(most)
    above = [over(x - {"RELATIVE": 1.1 * average, "ABSOLUTE": average + 1.1, "RELATIVE_UTIL": 1.1}[bound]) for x in rel]
    if formula == "IDEAL":
        return sum(most * rel**2)
    return {"LINEAR": sum(above), "SQUARES": sum(x * x for x in above), "MAX": max(above)}[formula]


def _balance_moved(p, a):
    rel, most = _rel(p, a, Flavour.NEW)
    return sum(over(x - sum(rel * most) / sum(most)) for x in rel)


def _either(p, a):
    return min(_capacity(p, a), _count(p, a))


def _both(p, a):
    return _capacity(p, a) + _count(p, a)


TWO_RACKS = Filter(but=["rack1"])
PAIRS = [("job0", "job1"), ("job0", "job2"), ("job3", "job1"), ("job2", "job0")]
EXAMPLES: dict[str, Example] = {
    "capacity": Example(CapacitySpec(dimension="cpu"), _capacity),
    "capacity while moving": Example(
        CapacitySpec(dimension="cpu", flavour=Flavour.DURING_AND_AFTER), _capacity_transient
    ),
    "capacity at least": Example(
        CapacitySpec(
            scope="rack",
            dimension="rru",
            bound=Bound.MIN,
            limit=Limit(type=LimitType.RELATIVE, default=1.5),
            filter=TWO_RACKS,
        ),
        _capacity_min,
    ),
    "capacity at least, or empty": Example(
        CapacitySpec(dimension="cpu", bound=Bound.MIN, limit=Limit(default=15), zero_allowed=True),
        _capacity_min_or_empty,
    ),
    "capacity moved in": Example(
        CapacitySpec(scope="rack", dimension="count", flavour=Flavour.NEW, limit=Limit(default=2, items={"rack0": 1})),
        _capacity_new,
    ),
    "group count": Example(GroupCountSpec(scope="rack", partition="job", limit=Limit(default=2)), _count),
    "group count, overlapping, squares": Example(
        GroupCountSpec(partition="tag", dimension="cpu", limit=Limit(default=4), squares=True),
        _count_overlapping_squares,
    ),
    "group count, share of the group": Example(
        GroupCountSpec(
            scope="rack",
            partition="job",
            dimension="cpu",
            limit=Limit(type=LimitType.RELATIVE, default=0.4, pairs={("rack0", "job1"): 0.1}),
        ),
        _count_share_of_group,
    ),
    "group count, share of the item": Example(
        GroupCountSpec(
            scope="rack",
            partition="job",
            dimension="cpu",
            limit=Limit(type=LimitType.RELATIVE, default=0.3),
            relative_to=RelativeTo.SCOPE_ITEM_UTIL,
        ),
        _count_share_of_item,
    ),
    "group count, at least where present": Example(
        GroupCountSpec(
            scope="rack",
            partition="job",
            bound=CountBound.MIN,
            limit=Limit(groups=[2, 3, 2, 2, 4]),
            zero_allowed=True,
        ),
        _count_min_where_present,
    ),
    "group count, exact": Example(
        GroupCountSpec(scope="rack", partition="job", bound=CountBound.EXACT, filter=Filter(items=["rack1", "rack2"])),
        _count_exact,
    ),
    "spread": Example(
        ColocateGroupsSpec(scope="rack", partition="job", bound=Bound.MIN, limit=Limit(groups=[3, 1, 2, 3, 2])), _spread
    ),
    "together": Example(
        ColocateGroupsSpec(
            partition="job",
            limit=Limit(default=2),
            item_weights={"host0": 2},
            filter=Filter(but=["host4"]),
            squares=True,
        ),
        _together,
    ),
    "dependency": Example(GroupDependencySpec(scope="rack", partition="job", pairs=PAIRS), _dependency),
    "movement": Example(MinimizeMovementSpec(scope="rack", dimension="cpu", allowance=3), _movement),
    "worst group move": Example(GroupMoveLimitSpec(partition="job", aggregate=Aggregate.MAX), _worst_group_move),
    "group moves": Example(
        GroupMoveLimitSpec(partition="tag", dimension="cpu", limit=Limit(type=LimitType.RELATIVE, default=0.25)),
        _group_moves,
    ),
    "stay": Example(AvoidMovingSpec(objects=["task1", "task5", 9]), _avoid_moving),
    "non accepting": Example(NonAcceptingSpec(scope="rack", items=["rack1", 2], dimension="cpu"), _non_accepting),
    "to free": Example(ToFreeSpec(scope="rack", items=["rack0", "rack2"], dimension="cpu"), _to_free),
    "to free, occupied": Example(ToFreeSpec(items=[0, 3, 6], formula=ToFreeFormula.OCCUPIED), _to_free_occupied),
    "avoid": Example(
        AvoidAssignmentsSpec(
            scope="rack", assignments=[("task1", ["rack0"]), ([2, 3], ["rack0", "rack1"]), (7, ["rack1"]), (7, [2])]
        ),
        _avoid,
    ),
    "avoid, newly": Example(
        AvoidAssignmentsSpec(
            scope="rack",
            partition="job",
            assignments=[("job1", ["rack0"]), ([2, 4], ["rack0", "rack1"])],
            flavour=Flavour.NEW,
        ),
        _avoid_new,
    ),
    "largest group": Example(
        LargestGroupSpec(scope="rack", partition="tag", dimension="rru", filter=Filter(but=["rack1"])), _largest_group
    ),
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
            slack=0.25,
        ),
        _no_regression,
    ),
    "in progress": Example(MovesInProgressSpec(moves=[("task1", "host2"), (5, 2), (6, "host4")]), _in_progress),
    "bins": Example(MinimizeBinsSpec(costs={"host2": 3}, enough=2, filter=Filter(but=["host5"])), _bins),
    "diversity": Example(GroupDiversitySpec(scope="rack", partition="job", limit=Limit(items=[5, 4, 4])), _diversity),
    "diversity at most": Example(
        GroupDiversitySpec(partition="job", bound=Bound.MAX, limit=Limit(default=2), filter=Filter(items=[0, 1, 2])),
        _diversity_most,
    ),
    "failure buffer": Example(
        SingleGroupFailureBufferSpec(
            scope="rack", partition="tag", dimension="rru", limit=Limit(type=LimitType.RELATIVE, default=2)
        ),
        _buffer,
    ),
    "drain": Example(
        DrainCapacitySpec(dimension="cpu", spill={"host0": {"host1": 0.5, "host2": 0.5}, 3: {1: 1.0}}), _drain
    ),
    "move group": Example(MoveGroupSpec(partition="job"), _move_group),
    "third largest": Example(MinimizeNthLargestUtilizationSpec(dimension="cpu", n=2, target=0.2), _third_largest),
    "allocation": Example(
        MaximizeAllocationSpec(scope="rack", dimension="rru", filter=Filter(but=["rack1"])), _allocation
    ),
    "increase": Example(UtilIncreaseCostSpec(dimension="cpu", lower_bound=0.5), _increase),
    "balance moved in": Example(BalanceSpec(dimension="cpu", flavour=Flavour.NEW), _balance_moved),
    **{
        f"balance {formula} {bound}": Example(
            BalanceSpec(dimension="cpu", formula=formula, bound=bound, upper_bound=1.1),
            partial(_balance, formula=formula, bound=bound),
        )
        for formula in BalanceFormula
        for bound in BalanceBound
    },
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
    "affinity": Example(AssignmentAffinitiesSpec(dimension="liking"), _affinity),
}
