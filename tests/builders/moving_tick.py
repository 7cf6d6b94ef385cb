"""One tick of the mover in a small world."""

from collections import Counter
from dataclasses import replace
from datetime import datetime

from libs.domain.move import MoveStart, RunningMove, StepResult
from libs.domain.moves_snapshot import MovesSnapshot
from services.mover.move_policy import MovePolicy
from services.mover.moves_plan import judge_outcome, plan_moves
from tests.builders.moving_world import Draws, World, choose

TOLD = [StepResult.DONE, StepResult.SKIPPED, StepResult.FAILED, None, None]
"""Answers about a step. None: no answer yet, and the step may be done all the same."""


def tick(world: World, policy: MovePolicy, now: datetime, results: Draws | None) -> bool:
    """Run one tick of the mover, in which each requested step is done, fails or goes on, as drawn.

    Return whether the world is at rest: no move runs, and a later tick changes nothing unless the world changes.
    """
    snapshot = world.snapshot()
    plan = plan_moves(snapshot, policy, now)
    check_starts(snapshot, plan.start, policy, world)
    for rebinding in plan.rebind:
        world.rebind(rebinding)
    for start in plan.start:
        world.start(start, now)
    for loan in plan.loans:
        world.write(loan, now)
    is_told = not world.stores_waits or plan.waits is None or plan.waits.is_same
    if world.stores_waits and plan.waits is not None:
        world.write_waits(plan.waits, now)
    changes = list(plan.cancel)
    for unmarked in plan.ask:
        move = world.running[unmarked.server_id] = replace(unmarked, asked=True)
        told = StepResult.DONE if results is None else choose(results, TOLD)
        if told is StepResult.FAILED and (move.move_id, move.step) in world.fleet.done:
            told = StepResult.DONE  # a receiver says of no step that was done that it failed
        if not move_is_late(world, move):
            world.fleet.ask(move)
        if told in (StepResult.DONE, StepResult.SKIPPED):
            world.fleet.late.pop(move.server_id, None)
            world.fleet.do(move)
        elif told is StepResult.FAILED:
            world.fleet.late.pop(move.server_id, None)
        elif results is not None:
            world.fleet.late[move.server_id] = move
        change = judge_outcome(move, told, None, policy, now)
        changes += [] if change is None else [change]
    if results is not None:
        for s, move in list(world.fleet.late.items()):
            if choose(results, range(3)) == 0:  # done, although the mover was not told
                del world.fleet.late[s]
                world.fleet.do(move)
    for change in changes:
        world.change(change)
    world.hurried -= {s for s in world.hurried if not world.current[s] and s not in world.in_doubt}
    return is_told and not (world.running or plan.rebind or plan.start or plan.loans or plan.cancel or plan.ask)


def move_is_late(world: World, move: RunningMove) -> bool:
    """Return whether this very attempt is under way already."""
    late = world.fleet.late.get(move.server_id)
    return late is not None and (late.move_id, late.step, late.attempt) == (move.move_id, move.step, move.attempt)


def check_starts(snapshot: MovesSnapshot, starts: tuple[MoveStart, ...], policy: MovePolicy, world: World) -> None:
    ids = [start.server_id for start in starts]
    assert len(set(ids)) == len(ids)
    assert not set(ids) & set(world.running)
    assert not set(ids) & world.down
    bounded = [start for start in starts if not start.is_replacement]
    if bounded:
        first = [] if world.hurried else [start for start in starts if start.is_replacement]
        assert len(snapshot.running) + len(bounded) + len(first) <= max(policy.moves_max, len(snapshot.running))
    leaving = Counter(m.msb_id for m in snapshot.running if m.takes_capacity)
    leaving.update(
        s.server_id % world.msbs
        for s in starts
        if s.from_reservation_id not in world.buffers | {None} and s.server_id not in world.in_doubt
    )
    for msb_id, number in leaving.items():
        assert number <= max(1, int(snapshot.msb_servers[msb_id] * policy.msb_share_max))
    passed_over = set(snapshot.waiting.id.tolist()) - set(ids)
    used = world.in_use - world.hurried if policy.msb_moves_max is None else set()
    for s in (start.server_id for start in bounded):
        if s in used:  # an unused one is passed over only because of its MSB
            for other in passed_over - world.in_use:
                assert world.current[other] not in world.buffers | {0} or not need_steps_of(snapshot, other)


def need_steps_of(snapshot: MovesSnapshot, server_id: int) -> bool:
    return bool(snapshot.waiting.need_steps[snapshot.waiting.id == server_id].all())
