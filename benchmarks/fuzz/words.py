"""A generator of random words for each spec."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.fuzz.case import Case, Wish
from benchmarks.fuzz.draw import Draw, Name
from benchmarks.fuzz.own import SHAPES, OwnSpec
from libs.assignment.errors import ModelError
from libs.assignment.flavour import Flavour
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

GOALS_ONLY = {
    "AssignmentAffinitiesSpec",
    "BalanceSpec",
    "LargestGroupSpec",
    "MaximizeAllocationSpec",
    "MinimizeBinsSpec",
    "MinimizeMovementSpec",
    "MinimizeNthLargestUtilizationSpec",
    "UtilIncreaseCostSpec",
}
WEIGHTS = (1.0, 1.0, 1.0, 1.0, 2.0, 10.0, 0.5, 0.1)
ODD_WEIGHTS = (0.0, 1e-9, 1e-3, 1e4, 1e9)
WISHES_MAX = 5
DEPTH_MAX = 2
"""How deep specs of specs go."""


def draw_case(draw: Draw) -> Case:
    """A world with up to five wishes, of which the library takes all."""
    case, wishes = draw.case, []
    for _ in range(int(draw.rng.integers(1, WISHES_MAX + 1))):
        wish = draw_wish(draw)
        try:
            replace(case, wishes=(wish,)).problem()
        except ModelError:  # the words do not fit this world, and the library says so
            continue
        except Exception:  # a finding: the case is judged by its statement alone
            return replace(case, wishes=(wish,))
        wishes.append(wish)
    return replace(case, wishes=tuple(wishes))


def draw_wish(draw: Draw) -> Wish:
    """Any spec, as a goal or a constraint."""
    name = draw.one(sorted(GENERATORS))
    if draw.maybe(0.25):  # what real problems have most of
        name = draw.one(("CapacitySpec", "MaximizeAllocationSpec", "BalanceSpec", "GroupCountSpec"))
    spec = draw.one([OwnSpec]).__name__ if draw.maybe(0.12) else name
    made = own_spec(draw) if spec == "OwnSpec" else GENERATORS[name](draw)
    if draw.maybe(0.1):
        made = replace(made, name=f"wish {int(draw.rng.integers(3))}")
    weight = draw.one(ODD_WEIGHTS) if draw.maybe(0.06) else draw.one(WEIGHTS)
    if type(made).__name__ in GOALS_ONLY or draw.maybe(0.45):
        priority = int(draw.one((0, 0, 0, 1, 2)))
        return Wish(spec=made, goal=True, weight=weight, priority=priority, normalise=draw.maybe(0.5))
    return Wish(spec=made, goal=False, weight=weight or 1.0, hard=draw.maybe(0.7))


def own_spec(draw: Draw) -> Spec:
    return OwnSpec(
        shape=draw.one(SHAPES),
        dimension=draw.dimension(),
        scope=draw.scope(),
        partition=draw.partition() if draw.maybe(0.4) else None,
        flavour=draw.one([one for one in Flavour if one is not Flavour.DURING_AND_AFTER]),
        a=draw.one((1.0, 1.0, -1.0, 0.5, 2.0)),
        b=draw.one((0.0, 0.0, -1.0, -2.0, 1.0, 0.3)),
        c=draw.one((0.0, 0.0, 1.0, -1.0, 2.0)),
        sign=draw.one((1.0, 1.0, -1.0)),
    )


def assignment_affinities(draw: Draw) -> Spec:
    return AssignmentAffinitiesSpec(dimension="like" if draw.maybe(0.9) else draw.dimension(), scope=draw.scope())


def avoid_assignments(draw: Draw) -> Spec:
    scope = draw.scope()
    partition = draw.partition() if draw.maybe(0.4) else None
    noun, size = ("object", draw.case.objects) if partition is None else (partition, draw.groups(partition))
    pairs: list[tuple[Name | list[Name], list[Name]]] = []
    for k in draw.some(size):
        who: Name | list[Name] = draw.ref(noun, k) if draw.maybe(0.6) else draw.refs(noun, size)
        pairs.append((who, draw.refs(scope, draw.items(scope))))
    return AvoidAssignmentsSpec(
        assignments=pairs, scope=scope, partition=partition, flavour=_often(draw, Flavour.AFTER)
    )


def avoid_moving(draw: Draw) -> Spec:
    return AvoidMovingSpec(objects=draw.refs("object", draw.case.objects))


def balance(draw: Draw) -> Spec:
    scope = draw.scope()
    return BalanceSpec(
        dimension=draw.capacitated(scope) if draw.maybe(0.7) else draw.dimension(),
        scope=scope,
        formula=draw.member(BalanceFormula),
        bound=draw.member(BalanceBound),
        upper_bound=draw.one((1.0, 1.0, 0.5, 0.0, 1.2)),
        flavour=_often(draw, Flavour.AFTER),
        filter=draw.filter(scope),
    )


def capacity(draw: Draw) -> Spec:
    scope = draw.scope()
    dimension = draw.capacitated(scope) if draw.maybe(0.7) else draw.dimension()
    return CapacitySpec(
        dimension=dimension,
        scope=scope,
        limit=draw.item_limit(scope, dimension),
        bound=Bound.MAX if draw.maybe(0.7) else Bound.MIN,
        flavour=_often(draw, Flavour.AFTER),
        zero_allowed=draw.maybe(0.3),
        filter=draw.filter(scope),
    )


def colocate_groups(draw: Draw) -> Spec:
    scope, partition = draw.scope(), draw.partition()
    weights = {draw.ref(scope, k): draw.number(3) for k in draw.some(draw.items(scope))}
    return ColocateGroupsSpec(
        partition=partition,
        scope=scope,
        dimension="count" if draw.maybe(0.7) else draw.dimension(),
        limit=draw.group_limit(partition, relative=False),
        bound=draw.member(Bound),
        item_weights=weights if draw.maybe(0.3) else None,
        squares=draw.maybe(0.3),
        filter=draw.filter(scope),
    )


def drain_capacity(draw: Draw) -> Spec:
    scope = draw.scope()
    size = draw.items(scope)
    spill: dict[Name, dict[Name, float]] = {}
    for i in draw.some(size):
        takers = [j for j in draw.some(size) if j != i]
        spill[draw.ref(scope, i)] = {draw.ref(scope, j): draw.one((0.3, 0.5, 1.0)) for j in takers}
    return DrainCapacitySpec(dimension=draw.capacitated(scope), scope=scope, spill=spill)


def group_count(draw: Draw) -> Spec:
    scope, partition = draw.scope(), draw.partition()
    limit = draw.group_limit(partition, relative=True)
    relative_to = RelativeTo.GROUP_SIZE
    if draw.maybe(0.2):
        relative_to = RelativeTo.SCOPE_ITEM_UTIL
        limit = Limit(type=LimitType.RELATIVE, default=draw.one((0.0, 0.4, 0.5, 1.0)))
    elif draw.maybe(0.3):
        limit = Limit(default=draw.number(3), items=list(draw.numbers(draw.items(scope), 3)))
    if draw.maybe(0.15) and relative_to is RelativeTo.GROUP_SIZE:
        pairs = {
            (draw.ref(scope, i), draw.ref(partition, g)): draw.number(3)
            for i in draw.some(draw.items(scope))
            for g in draw.some(draw.groups(partition))
        }
        limit = replace(limit, pairs=pairs)
    return GroupCountSpec(
        partition=partition,
        scope=scope,
        dimension="count" if draw.maybe(0.5) else draw.dimension(),
        limit=limit,
        bound=draw.member(CountBound),
        relative_to=relative_to,
        flavour=_often(draw, Flavour.AFTER),
        zero_allowed=draw.maybe(0.3),
        squares=draw.maybe(0.3),
        filter=draw.filter(scope),
    )


def group_dependency(draw: Draw) -> Spec:
    partition = draw.partition()
    size = draw.groups(partition)
    pairs = [(draw.ref(partition, k), draw.ref(partition, int(draw.rng.integers(size)))) for k in draw.some(size)]
    return GroupDependencySpec(partition=partition, pairs=pairs, scope=draw.scope(), dimension=_count(draw))


def group_diversity(draw: Draw) -> Spec:
    scope = draw.scope()
    return GroupDiversitySpec(
        partition=draw.partition(),
        scope=scope,
        dimension=_count(draw),
        limit=draw.item_limit(scope, "count", 3),
        bound=draw.member(Bound),
        filter=draw.filter(scope),
    )


def group_move_limit(draw: Draw) -> Spec:
    partition = draw.partition()
    return GroupMoveLimitSpec(
        partition=partition,
        dimension=_count(draw),
        limit=draw.group_limit(partition, relative=True),
        aggregate=draw.member(Aggregate),
    )


def largest_group(draw: Draw) -> Spec:
    scope = draw.scope()
    return LargestGroupSpec(
        partition=draw.partition(), scope=scope, dimension=draw.dimension(), filter=draw.filter(scope)
    )


def single_group_failure_buffer(draw: Draw) -> Spec:
    scope = draw.scope()
    dimension = draw.capacitated(scope)
    return SingleGroupFailureBufferSpec(
        partition=draw.partition(),
        scope=scope,
        dimension=dimension,
        limit=draw.item_limit(scope, dimension),
        filter=draw.filter(scope),
    )


def logical_and(draw: Draw) -> Spec:
    return LogicalAndSpec(specs=_members(draw))


def logical_or(draw: Draw) -> Spec:
    return LogicalOrSpec(specs=_members(draw))


def no_regression(draw: Draw) -> Spec:
    scope = draw.scope()
    specs: list[Spec] = []
    for _ in range(int(draw.rng.integers(1, 4))):
        makers = (capacity, group_count, single_group_failure_buffer, group_diversity, avoid_assignments)
        of_scope: Any = {"scope": scope}
        specs.append(replace(draw.one(makers)(draw), **of_scope))
    weights = list(draw.numbers(len(specs), 3, 1)) if draw.maybe(0.5) else []
    most = list(draw.numbers(draw.items(scope), 3)) if draw.maybe(0.3) else None
    return NoRegressionSpec(specs=specs, weights=weights, scope=scope, most=most)


def maximize_allocation(draw: Draw) -> Spec:
    scope = draw.scope()
    last = draw.case.containers - 1
    by = Filter(but=[draw.ref("container", last)]) if scope == "container" and draw.maybe(0.7) else draw.filter(scope)
    return MaximizeAllocationSpec(scope=scope, dimension=_count(draw), filter=by)


def minimize_bins(draw: Draw) -> Spec:
    scope = draw.scope()
    costs = {draw.ref(scope, k): draw.number(3) for k in draw.some(draw.items(scope))}
    return MinimizeBinsSpec(
        scope=scope,
        dimension=_count(draw),
        costs=costs if draw.maybe(0.4) else None,
        enough=draw.one((0.0, 0.0, 0.0, 1.0, 2.0)),
        filter=draw.filter(scope),
    )


def minimize_movement(draw: Draw) -> Spec:
    return MinimizeMovementSpec(
        scope=draw.scope(), dimension=_count(draw), allowance=draw.one((0.0, 0.0, 0.0, 1.0, 2.5))
    )


def minimize_nth_largest_utilization(draw: Draw) -> Spec:
    scope = draw.scope()
    return MinimizeNthLargestUtilizationSpec(
        dimension=draw.dimension(),
        scope=scope,
        n=int(draw.rng.integers(3)),
        target=draw.one((0.0, 0.0, 0.5, 1.0)),
        filter=draw.filter(scope),
    )


def move_group(draw: Draw) -> Spec:
    return MoveGroupSpec(partition=draw.partition())


def moves_in_progress(draw: Draw) -> Spec:
    to = draw.rng.integers(draw.case.containers, size=draw.case.objects)
    moves = [(draw.ref("object", o), draw.ref("container", int(to[o]))) for o in draw.some(draw.case.objects)]
    return MovesInProgressSpec(moves=moves)


def non_accepting(draw: Draw) -> Spec:
    scope = draw.scope()
    return NonAcceptingSpec(items=draw.refs(scope, draw.items(scope)), scope=scope, dimension=_count(draw))


def to_free(draw: Draw) -> Spec:
    scope = draw.scope()
    return ToFreeSpec(
        items=draw.refs(scope, draw.items(scope)),
        scope=scope,
        dimension=_count(draw),
        formula=draw.member(ToFreeFormula),
    )


def util_increase_cost(draw: Draw) -> Spec:
    scope = draw.scope()
    return UtilIncreaseCostSpec(
        dimension=draw.capacitated(scope),
        scope=scope,
        lower_bound=draw.one((0.0, 0.0, 0.5, 1.0)),
        squares=draw.maybe(0.6),
        filter=draw.filter(scope),
    )


def _count(draw: Draw) -> str:
    return "count" if draw.maybe(0.5) else draw.dimension()


def _often(draw: Draw, flavour: Flavour) -> Flavour:
    return flavour if draw.maybe(0.5) else draw.member(Flavour)


def _members(draw: Draw, depth: int = 1) -> list[Spec]:
    """Specs that can be constraints, of which some may be made of specs in turn."""
    names = sorted(set(GENERATORS) - GOALS_ONLY - {"LogicalAndSpec", "LogicalOrSpec"})
    found: list[Spec] = []
    for _ in range(int(draw.rng.integers(1, 4))):
        if depth < DEPTH_MAX and draw.maybe(0.15):
            kind = draw.one((LogicalAndSpec, LogicalOrSpec))
            found.append(kind(specs=_members(draw, depth + 1)))
        elif draw.maybe(0.1):
            found.append(own_spec(draw))
        else:
            found.append(GENERATORS[draw.one(names)](draw))
    return found


GENERATORS: dict[str, Callable[[Draw], Spec]] = {
    "AssignmentAffinitiesSpec": assignment_affinities,
    "AvoidAssignmentsSpec": avoid_assignments,
    "AvoidMovingSpec": avoid_moving,
    "BalanceSpec": balance,
    "CapacitySpec": capacity,
    "ColocateGroupsSpec": colocate_groups,
    "DrainCapacitySpec": drain_capacity,
    "GroupCountSpec": group_count,
    "GroupDependencySpec": group_dependency,
    "GroupDiversitySpec": group_diversity,
    "GroupMoveLimitSpec": group_move_limit,
    "LargestGroupSpec": largest_group,
    "LogicalAndSpec": logical_and,
    "LogicalOrSpec": logical_or,
    "MaximizeAllocationSpec": maximize_allocation,
    "MinimizeBinsSpec": minimize_bins,
    "MinimizeMovementSpec": minimize_movement,
    "MinimizeNthLargestUtilizationSpec": minimize_nth_largest_utilization,
    "MoveGroupSpec": move_group,
    "MovesInProgressSpec": moves_in_progress,
    "NoRegressionSpec": no_regression,
    "NonAcceptingSpec": non_accepting,
    "SingleGroupFailureBufferSpec": single_group_failure_buffer,
    "ToFreeSpec": to_free,
    "UtilIncreaseCostSpec": util_increase_cost,
}
"""By the name of the spec: a spec without one fails a test."""
