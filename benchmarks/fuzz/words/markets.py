"""Draw markets: objects of few shapes with a worth, to be placed within capacities; and at most one unpriced spec."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.fuzz.case import Case, DimensionWords, PartitionWords, Wish
from benchmarks.fuzz.draw import Draw, Name
from benchmarks.fuzz.words.wishes import stated
from benchmarks.fuzz.worlds import UNITS, draw_scopes, in_unit
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.avoid_moving import AvoidMovingSpec
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import CountBound, GroupCountSpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.non_accepting import NonAcceptingSpec
from libs.assignment.language.specs.to_free import ToFreeSpec

SHAPES_MAX = 3


def draw_market(draw: Draw, assignments_max: int) -> Case:
    """Return a market. Its last container is outside: objects there are not placed."""
    containers = int(draw.rng.integers(2, 5))
    most = min(7, int(np.log(assignments_max + 0.5) / np.log(containers)))
    objects = int(draw.rng.integers(2, most + 1))
    shape = [int(k) for k in draw.rng.integers(int(draw.rng.integers(1, SHAPES_MAX + 1)), size=objects)]

    def by_shape(most: int, least: int = 1) -> tuple[float, ...]:
        each = draw.numbers(SHAPES_MAX, most, least)
        return tuple(each[k] for k in shape)

    waiting = draw.maybe(0.6)
    where = draw.rng.integers(containers, size=objects)
    draw.case = Case(
        objects=objects,
        containers=containers,
        initial=tuple(containers - 1 if waiting else int(c) for c in where),
        scopes=draw_scopes(draw, containers),
        partitions={
            "job": PartitionWords(
                member=tuple(range(objects)),
                group=tuple(int(g) for g in draw.rng.integers(2, size=objects)),
                groups=2,
            )
        },
    )
    rooms = ("cpu", "memory")[: int(draw.rng.integers(1, 3))]
    for name in rooms:
        words = DimensionWords(objects=by_shape(4), containers=(*draw.numbers(containers - 1, 9), 0.0))
        draw.case.dimensions[name] = in_unit(words, draw.one(UNITS)) if draw.maybe(0.15) else words
    worth = DimensionWords(objects=by_shape(5))
    draw.case.dimensions["worth"] = in_unit(worth, draw.one(UNITS)) if draw.maybe(0.1) else worth
    wishes = [Wish(spec=CapacitySpec(dimension=name, filter=_inside(draw)), goal=False) for name in rooms]
    if draw.maybe(0.3):
        wishes.append(Wish(spec=_crowd(draw), goal=False))
    if draw.maybe(0.3):
        wishes.append(Wish(spec=_ban(draw, Flavour.AFTER), goal=False))
    value = draw.one(("worth", "worth", "count"))
    gain = MaximizeAllocationSpec(filter=_inside(draw), dimension=value)
    wishes.append(Wish(spec=gain, goal=True, normalise=draw.maybe(0.5), priority=int(draw.maybe(0.1))))
    if draw.maybe(0.7):
        wishes.append(_unpriced(draw))
    return stated(draw.case, wishes)


def _inside(draw: Draw) -> Filter:
    return Filter(but=[draw.case.containers - 1])


def _crowd(draw: Draw) -> GroupCountSpec:
    return GroupCountSpec(
        partition="job",
        scope=draw.scope(),
        bound=CountBound.MAX,
        limit=Limit(default=draw.whole(3, 1)),
        filter=_inside(draw) if draw.maybe(0.5) else Filter(),
    )


def _ban(draw: Draw, flavour: Flavour) -> AvoidAssignmentsSpec:
    scope = draw.scope()
    pairs: list[tuple[Name | list[Name], list[Name]]] = [
        (o, list(draw.some(draw.items(scope)))) for o in draw.some(draw.case.objects)
    ]
    return AvoidAssignmentsSpec(assignments=pairs, scope=scope, flavour=flavour)


def _unpriced(draw: Draw) -> Wish:
    """Return a goal or constraint that prices do not cover fully."""
    soft = Wish(spec=CapacitySpec(dimension="cpu", limit=Limit(default=draw.number(6))), goal=False, hard=False)
    small = draw.one((1e-6, 1e-3, 0.1, 1.0))
    movement = Wish(spec=MinimizeMovementSpec(), goal=True, weight=draw.one((1e-3, 0.1, 1.0, 3.0)))
    scope, hard = draw.scope(), draw.maybe(0.5)
    balance = BalanceSpec(dimension="cpu", formula=draw.member(BalanceFormula), filter=_inside(draw))
    return draw.one(
        (
            Wish(spec=balance, goal=True, weight=small),
            soft,
            replace(soft, weight=100.0),
            Wish(spec=MaximizeAllocationSpec(filter=_inside(draw), dimension=draw.dimension()), goal=True, priority=2),
            movement,
            replace(movement, priority=2),
            Wish(spec=_ban(draw, draw.member(Flavour)), goal=False),
            Wish(spec=NonAcceptingSpec(items=draw.some(draw.items(scope)), scope=scope), goal=False, hard=hard),
            Wish(spec=ToFreeSpec(items=draw.some(draw.items(scope)), scope=scope), goal=False, hard=hard),
            Wish(spec=AvoidMovingSpec(objects=draw.some(draw.case.objects)), goal=False, hard=hard),
            Wish(spec=AssignmentAffinitiesSpec(dimension="worth", scope=scope), goal=True),
            Wish(spec=CapacitySpec(dimension="cpu", flavour=draw.member(Flavour), filter=_inside(draw)), goal=False),
        )
    )
