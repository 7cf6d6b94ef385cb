"""Draw specs that limit scope items."""

from __future__ import annotations

from benchmarks.fuzz.draw import Draw, Name
from benchmarks.fuzz.words.book import draws
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.drain_capacity import DrainCapacitySpec
from libs.assignment.language.specs.limit import Bound
from libs.assignment.language.specs.non_accepting import NonAcceptingSpec
from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from libs.assignment.language.specs.spec import Spec
from libs.assignment.language.specs.to_free import ToFreeFormula, ToFreeSpec


@draws(CapacitySpec)
def capacity(draw: Draw) -> Spec:
    scope = draw.scope()
    dimension = draw.capacitated(scope) if draw.maybe(0.7) else draw.dimension()
    return CapacitySpec(
        dimension=dimension,
        scope=scope,
        limit=draw.item_limit(scope, dimension),
        bound=Bound.MAX if draw.maybe(0.7) else Bound.MIN,
        flavour=draw.flavour(),
        zero_allowed=draw.maybe(0.3),
        filter=draw.filter(scope),
    )


@draws(DrainCapacitySpec)
def drain_capacity(draw: Draw) -> Spec:
    scope = draw.scope()
    size = draw.items(scope)
    spill: dict[Name, dict[Name, float]] = {}
    for i in draw.some(size):
        takers = [j for j in draw.some(size) if j != i]
        spill[draw.ref(scope, i)] = {draw.ref(scope, j): draw.one((0.3, 0.5, 1.0)) for j in takers}
    return DrainCapacitySpec(dimension=draw.capacitated(scope), scope=scope, spill=spill)


@draws(AvoidAssignmentsSpec)
def avoid_assignments(draw: Draw) -> Spec:
    scope = draw.scope()
    partition = draw.partition() if draw.maybe(0.4) else None
    noun, size = ("object", draw.case.objects) if partition is None else (partition, draw.groups(partition))
    pairs: list[tuple[Name | list[Name], list[Name]]] = []
    for k in draw.some(size):
        who: Name | list[Name] = draw.ref(noun, k) if draw.maybe(0.6) else draw.refs(noun, size)
        pairs.append((who, draw.refs(scope, draw.items(scope))))
    return AvoidAssignmentsSpec(assignments=pairs, scope=scope, partition=partition, flavour=draw.flavour())


@draws(NonAcceptingSpec)
def non_accepting(draw: Draw) -> Spec:
    scope = draw.scope()
    return NonAcceptingSpec(items=draw.refs(scope, draw.items(scope)), scope=scope, dimension=draw.counted())


@draws(ToFreeSpec)
def to_free(draw: Draw) -> Spec:
    scope = draw.scope()
    return ToFreeSpec(
        items=draw.refs(scope, draw.items(scope)),
        scope=scope,
        dimension=draw.counted(),
        formula=draw.member(ToFreeFormula),
    )


@draws(SingleGroupFailureBufferSpec)
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
