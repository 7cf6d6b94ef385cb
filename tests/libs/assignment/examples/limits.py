"""Use the specs of scope items: capacities, and counts of groups."""

from __future__ import annotations

from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import CountBound, GroupCountSpec, RelativeTo
from libs.assignment.language.specs.limit import Bound, Limit, LimitType
from tests.libs.assignment.examples.example import Example, over
from tests.libs.assignment.worlds import CONTAINERS, JOBS, RACKS, util


def capacity(p, a):
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


def count(p, a):
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


TWO_RACKS = Filter(but=["rack1"])
EXAMPLES: dict[str, Example] = {
    "capacity": Example(CapacitySpec(dimension="cpu"), capacity),
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
    "group count": Example(GroupCountSpec(scope="rack", partition="job", limit=Limit(default=2)), count),
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
}
