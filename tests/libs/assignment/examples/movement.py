"""Use the specs of movement and of forbidden places."""

from __future__ import annotations

from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.avoid_moving import AvoidMovingSpec
from libs.assignment.language.specs.group_move_limit import Aggregate, GroupMoveLimitSpec
from libs.assignment.language.specs.limit import Limit, LimitType
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.moves_in_progress import MovesInProgressSpec
from libs.assignment.language.specs.non_accepting import NonAcceptingSpec
from libs.assignment.language.specs.to_free import ToFreeFormula, ToFreeSpec
from tests.libs.assignment.examples.example import Example, over
from tests.libs.assignment.worlds import CONTAINERS, JOBS, OBJECTS, util


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


def _in_progress(p, a):
    return sum(a[o] != to for o, to in ((1, 2), (5, 2), (6, 4)))


EXAMPLES: dict[str, Example] = {
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
    "in progress": Example(MovesInProgressSpec(moves=[("task1", "host2"), (5, 2), (6, "host4")]), _in_progress),
}
