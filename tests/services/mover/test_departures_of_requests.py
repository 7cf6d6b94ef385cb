"""Servers that change places with requests that wait for their grant: what they keep, take and give up."""

from dataclasses import replace
from datetime import timedelta

from services.mover.move_policy import MovePolicy
from services.mover.moves_plan import plan_moves
from tests.builders.moving_tick import tick
from tests.builders.moving_world import POLICY, T0, World, numbers, survives


def swapped(survives: bool) -> World:
    """The first reservation, which was granted 3 of its 4 RRU, and the second one exchange a server in each of two
    MSBs.
    """
    at = {1: 1, 2: 1, 3: 1, 4: 1, 5: 2, 6: 2, 7: 2, 8: 2}
    to = at | {1: 2, 2: 2, 5: 1, 6: 1}
    return World(current=at, target=to, in_use=set(), msbs=4, promised={1: 3.0, 2: 3.0}, survives=survives, profile={})


def test_in_an_exchange_with_a_waiting_request_its_servers_leave_first() -> None:
    """The granted reservation survives the loss of an MSB throughout, and no approval is needed."""
    world, now = swapped(survives=True), T0
    world.granted = {2: 0.0}
    started = {start.server_id for start in plan_moves(world.snapshot(), POLICY, T0).start}
    assert started == {5, 6}
    for _ in range(60):
        if tick(world, POLICY, now, None):
            break
        assert survives(world, 1) >= 3.0
        now += timedelta(seconds=1)
    assert world.current == world.target


def test_a_waiting_request_takes_nothing_from_what_another_reservation_survives() -> None:
    """Its servers are down. So none comes, and without a grant for the other one none leaves the first at *hold*."""
    for granted, started in (({2: 0.0}, set()), ({}, {1, 2}), ({1: 2.0, 2: 0.0}, {1, 2})):
        world = swapped(survives=True)
        world.down, world.granted = {5, 6}, granted
        plan = plan_moves(world.snapshot(), POLICY, T0)
        assert {start.server_id for start in plan.start} <= started
        assert bool(plan.start) == bool(started)
        assert numbers(plan)["r1"] == 2 - len(plan.start)


def test_what_was_granted_to_a_request_that_waits_for_more_is_kept() -> None:
    world = swapped(survives=False)
    world.promised[2], world.granted = 4.0, {2: 3.0}
    plan = plan_moves(world.snapshot(), POLICY, T0)
    assert {start.server_id for start in plan.start} == {1, 5}, "each can spare one"


def test_among_themselves_requests_that_wait_keep_what_they_hold() -> None:
    world = swapped(survives=False)
    world.promised, world.granted = {1: 4.0, 2: 4.0}, {1: 0.0, 2: 0.0}
    plan = plan_moves(world.snapshot(), POLICY, T0)
    assert (plan.start, numbers(plan)) == ((), {"r1": 2, "r2": 2})


def test_no_request_waits_for_a_server_that_leaves_at_survive_alone() -> None:
    """A server comes to One, which owes one to the request Three. That gives its own to the request Four at *hold*."""
    at = {1: 3, 2: 3, 3: 3, 4: 1, 5: 1, 6: 1, 8: 0}
    to = at | {1: 4, 4: 3, 8: 1}
    world = World(current=at, target=to, in_use=set(), msbs=4, survives=True, promised={1: 2.0, 3: 2.0, 4: 1.0})
    world.granted = {3: 0.0, 4: 0.0}
    assert {start.server_id for start in plan_moves(world.snapshot(), POLICY, T0).start} == {1, 8}


def begun_for_a_request(policy: MovePolicy) -> World:
    """One has a server to spare, and its move to a waiting request begins. Then One loses another server."""
    world = World(
        current={1: 1, 2: 1, 3: 1, 4: 0},
        target={1: 2, 2: 1, 3: 1, 4: 3},
        in_use=set(),
        msbs=4,
        survives=True,
        promised={1: 1.0, 2: 3.0, 3: 1.0},
        granted={2: 0.0},
        down={4},
    )
    tick(world, policy, T0, None)
    assert set(world.running) == {1}
    world.down = {3}
    return world


def test_a_move_that_may_not_go_on_leaves_its_place_to_others() -> None:
    policy = replace(POLICY, moves_max=1)
    world = begun_for_a_request(policy)
    for k in range(1, 6):
        tick(world, policy, T0 + timedelta(seconds=30 * k), None)
    assert world.current == {1: 1, 2: 1, 3: 1, 4: 3}
    assert not world.running


def test_a_move_whose_step_has_failed_keeps_its_attempts() -> None:
    """Else no operator would hear of a broken server that its reservation can hardly spare."""
    world = begun_for_a_request(POLICY)
    world.running[1] = replace(world.running[1], attempt=2)
    for k in range(1, 6):
        tick(world, POLICY, T0 + timedelta(seconds=30 * k), None)
    assert set(world.running) == {1}
