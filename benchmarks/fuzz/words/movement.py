"""Draw specs of movement."""

from __future__ import annotations

from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.words.book import draws
from libs.assignment.language.specs.avoid_moving import AvoidMovingSpec
from libs.assignment.language.specs.group_move_limit import Aggregate, GroupMoveLimitSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.move_group import MoveGroupSpec
from libs.assignment.language.specs.moves_in_progress import MovesInProgressSpec
from libs.assignment.language.specs.spec import Spec


@draws(MinimizeMovementSpec, goal_only=True)
def minimize_movement(draw: Draw) -> Spec:
    return MinimizeMovementSpec(
        scope=draw.scope(), dimension=draw.counted(), allowance=draw.one((0.0, 0.0, 0.0, 1.0, 2.5))
    )


@draws(AvoidMovingSpec)
def avoid_moving(draw: Draw) -> Spec:
    return AvoidMovingSpec(objects=draw.refs("object", draw.case.objects))


@draws(MovesInProgressSpec)
def moves_in_progress(draw: Draw) -> Spec:
    to = draw.rng.integers(draw.case.containers, size=draw.case.objects)
    moves = [(draw.ref("object", o), draw.ref("container", int(to[o]))) for o in draw.some(draw.case.objects)]
    return MovesInProgressSpec(moves=moves)


@draws(MoveGroupSpec)
def move_group(draw: Draw) -> Spec:
    return MoveGroupSpec(partition=draw.partition())


@draws(GroupMoveLimitSpec)
def group_move_limit(draw: Draw) -> Spec:
    partition = draw.partition()
    return GroupMoveLimitSpec(
        partition=partition,
        dimension=draw.counted(),
        limit=draw.group_limit(partition, relative=True),
        aggregate=draw.member(Aggregate),
    )
