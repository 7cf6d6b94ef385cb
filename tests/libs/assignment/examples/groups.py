"""Use the specs of groups: together, apart, and the cost of losing one."""

from __future__ import annotations

from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.colocate_groups import ColocateGroupsSpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_dependency import GroupDependencySpec
from libs.assignment.language.specs.group_diversity import GroupDiversitySpec
from libs.assignment.language.specs.largest_group import LargestGroupSpec
from libs.assignment.language.specs.limit import Bound, Limit, LimitType
from libs.assignment.language.specs.move_group import MoveGroupSpec
from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from tests.libs.assignment.examples.example import Example, over
from tests.libs.assignment.worlds import CONTAINERS, JOBS, RACKS, util


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


def _largest_group(p, a):
    parts = util(p, a, "rack", "rru", "tag")
    return sum(max(parts[i, g] for g in range(4)) for i in (0, 2))


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


def _move_group(p, a):
    before, after = (util(p, a, "container", "count", "job", f) for f in (Flavour.INITIAL, Flavour.AFTER))
    spread = [[sum(u[i, g] > 0 for i in range(CONTAINERS)) for g in range(JOBS)] for u in (before, after)]
    return sum(over(y - x) for x, y in zip(*spread, strict=True))


PAIRS = [("job0", "job1"), ("job0", "job2"), ("job3", "job1"), ("job2", "job0")]
EXAMPLES: dict[str, Example] = {
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
    "largest group": Example(
        LargestGroupSpec(scope="rack", partition="tag", dimension="rru", filter=Filter(but=["rack1"])), _largest_group
    ),
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
    "move group": Example(MoveGroupSpec(partition="job"), _move_group),
}
