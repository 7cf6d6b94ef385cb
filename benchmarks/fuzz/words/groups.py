"""Draw specs of groups of objects."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.words.book import draws
from libs.assignment.language.specs.colocate_groups import ColocateGroupsSpec
from libs.assignment.language.specs.group_count import CountBound, GroupCountSpec, RelativeTo
from libs.assignment.language.specs.group_dependency import GroupDependencySpec
from libs.assignment.language.specs.group_diversity import GroupDiversitySpec
from libs.assignment.language.specs.largest_group import LargestGroupSpec
from libs.assignment.language.specs.limit import Bound, Limit, LimitType
from libs.assignment.language.specs.spec import Spec


@draws(GroupCountSpec)
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
        flavour=draw.flavour(),
        zero_allowed=draw.maybe(0.3),
        squares=draw.maybe(0.3),
        filter=draw.filter(scope),
    )


@draws(ColocateGroupsSpec)
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


@draws(GroupDependencySpec)
def group_dependency(draw: Draw) -> Spec:
    partition = draw.partition()
    size = draw.groups(partition)
    pairs = [(draw.ref(partition, k), draw.ref(partition, int(draw.rng.integers(size)))) for k in draw.some(size)]
    return GroupDependencySpec(partition=partition, pairs=pairs, scope=draw.scope(), dimension=draw.counted())


@draws(GroupDiversitySpec)
def group_diversity(draw: Draw) -> Spec:
    scope = draw.scope()
    return GroupDiversitySpec(
        partition=draw.partition(),
        scope=scope,
        dimension=draw.counted(),
        limit=draw.item_limit(scope, "count", 3),
        bound=draw.member(Bound),
        filter=draw.filter(scope),
    )


@draws(LargestGroupSpec, goal_only=True)
def largest_group(draw: Draw) -> Spec:
    scope = draw.scope()
    return LargestGroupSpec(
        partition=draw.partition(), scope=scope, dimension=draw.dimension(), filter=draw.filter(scope)
    )
