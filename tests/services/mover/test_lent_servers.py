"""Exchanges go through lent servers, and these go home."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from services.mover.moves_plan import plan_moves
from tests.builders.exchanges import exchanges_with_spares
from tests.builders.moving_tick import tick
from tests.builders.moving_world import POLICY, T0, World, survives


def test_a_server_whose_loan_is_over_goes_at_hold_where_another_reservation_waits_for_it() -> None:
    """A region that is short would keep its shortage where the loan left it, and not where the plan wants it."""
    for target, leaves in ((2, True), (0, False)):
        world = World(
            current={1: 1, 2: 1, 3: 1}, target={1: 1, 2: 1, 3: target}, in_use=set(), msbs=3, survives=True, profile={}
        )
        world.promised = {1: 2.0, 2: 1.0}
        world.spare_for, world.lent_until, world.recalled = {3: 1}, {3: T0}, {3: T0}
        started = {start.server_id for start in plan_moves(world.snapshot(), POLICY, T0).start}
        assert started == ({3} if leaves else set())


def test_for_such_a_server_another_one_is_lent_and_stays_until_it_can_go() -> None:
    """Three reservations give a server each to the next one, and one of these servers is a loan that is over. The last
    reservation borrows none, and could give first at *hold*. So a loan that ends at once and begins again would stop
    all three.
    """
    current = {1: 1, 2: 1, 3: 1, 4: 1, 5: 2, 6: 2, 7: 2, 9: 3, 10: 3, 100: 0}
    target = current | {4: 3, 7: 1, 10: 2}
    world = World(current=dict(current), target=dict(target), in_use=set(), msbs=4, survives=True)
    world.promised, world.no_loans = {1: 4.0, 2: 3.0, 3: 1.0}, {3}
    world.spare_for, world.lent_until, world.recalled = {4: 1}, {4: T0 + timedelta(hours=1)}, {4: T0}
    for second in range(60):
        if tick(world, POLICY, T0 + timedelta(seconds=second), None):
            break
    assert world.current == target | {100: 1}, "the first lacks what an MSB holds, so it keeps what was lent"
    assert world.recalled.keys() == world.spare_for.keys() == {100}


def test_so_does_the_move_of_such_a_server_that_started_before_others_failed() -> None:
    """It starts at *survive*, and the loss of the fourth server leaves it only the level *hold*."""
    for target, asked in ((2, True), (0, False)):
        at = {1: 1, 2: 1, 3: 1, 4: 1}
        world = World(current=at, target=at | {3: target}, in_use=set(), msbs=4, survives=True, profile={})
        world.promised = {1: 2.0, 2: 1.0}
        world.spare_for, world.lent_until, world.recalled = {3: 1}, {3: T0}, {3: T0}
        tick(world, POLICY, T0, None)
        assert set(world.running) == {3}
        world.down.add(4)
        plan = plan_moves(world.snapshot(), POLICY, T0 + timedelta(seconds=1))
        assert [move.server_id for move in plan.ask] == ([3] if asked else [])


@given(exchanges_with_spares(), st.data())
@settings(max_examples=200, deadline=None)
def test_an_exchange_goes_through_spares_and_keeps_what_survives(world: World, data: st.DataObject) -> None:
    now, lossy = T0, data.draw(st.booleans())
    for _ in range(60 if lossy else 300):
        rests = tick(world, POLICY, now, data if lossy else None)
        if world.down:
            return  # a move failed for good: its server is down
        for r, promised in world.promised.items():
            assert survives(world, r) >= promised
        if rests and not lossy:
            break
        now += timedelta(seconds=data.draw(st.sampled_from([1, 30, 200])) if lossy else 1)
    if not lossy:
        assert world.current == world.target, "every server is where it should be, spares included"
        assert not world.spare_for


@given(exchanges_with_spares(), st.data())
@settings(max_examples=200, deadline=None)
def test_spares_come_back_whatever_fails(world: World, data: st.DataObject) -> None:
    """Answers get lost, steps fail and targets change, those of lent servers too. Then all goes well again: the mover
    comes to rest, and no server stays lent.
    """
    now = T0
    for _ in range(20):
        tick(world, POLICY, now, data)
        for s in world.target:
            if (world.target[s] or s in world.spare_for) and data.draw(st.integers(0, 30)) == 0:
                world.target[s] = data.draw(st.sampled_from([world.current[s] or world.target[s], 1, 2]))
        now += timedelta(seconds=data.draw(st.sampled_from([1, 30, 200])))
    world.down.clear()
    seen = []
    for _ in range(300):
        rests = tick(world, POLICY, now, None)
        seen.append((world.number, dict(world.spare_for), dict(world.recalled)))
        if rests:
            break
        now += timedelta(seconds=200)
    assert rests or seen[-1] == seen[-30], "no move or loan begins and ends again and again"
    waits = {world.current[s] for s in world.target if world.current[s] and world.current[s] != world.target[s]}
    assert set(world.spare_for.values()) <= waits, "a reservation has a spare, and nothing to give"


def short_world(free: int, promise: float) -> World:
    """A reservation with a server in each of four MSBs of seven gives one to another. The free servers are in
    different MSBs.
    """
    current = {1: 1, 2: 1, 3: 1, 4: 1, 19: 2} | {100 + k: 0 for k in (5, 6, 7)[:free]}
    return World(
        current=dict(current), target=current | {1: 2}, in_use=set(), msbs=7, survives=True, profile={},
        promised={1: promise, 2: 1.0},
    )  # fmt: skip


def test_a_reservation_below_its_promise_borrows_enough_for_its_server_to_leave_or_nothing() -> None:
    """Each spare raises what it must keep, up to the promise. Two of three would be lent for nothing."""
    for free, lent in ((1, 0), (2, 0), (3, 3)):
        world = short_world(free, 6.0)
        seen = 0
        for second in range(60):
            if tick(world, POLICY, T0 + timedelta(seconds=second), None):
                break
            seen = max(seen, len(world.spare_for))
        assert (seen, world.current[1]) == (lent, 2 if lent else 1)


def test_a_spare_keeps_the_level_hold_where_none_keeps_survive() -> None:
    """Without it the move would wait for an approval, beside a server that is free."""
    world = short_world(1, 4.0)
    least = world.promised[1]
    for second in range(60):
        if tick(world, POLICY, T0 + timedelta(seconds=second), None):
            break
        least = min(least, world.holds(1))
    assert (world.current[1], least, set(world.spare_for)) == (2, 4.0, {105})


def test_the_reservation_that_lacks_least_borrows_first() -> None:
    """The first would need all free servers for one of its own. The second needs one for each of its two."""
    current = {8: 1, 9: 1, 10: 1, 2: 2, 3: 2, 104: 0, 105: 0, 106: 0}
    world = World(
        current=dict(current), target=current | {8: 2, 2: 1, 3: 1}, in_use=set(), msbs=8, profile={},
        promised={1: 5.0, 2: 2.0},
    )  # fmt: skip
    loans = plan_moves(world.snapshot(), POLICY, T0).loans
    assert [loan.reservation_id for loan in loans] == [2, 2]


def test_no_spare_is_lent_where_it_does_not_help() -> None:
    """The one free server is in the MSB whose loss counts, so the exchange goes at the level hold. The second holds as
    much as the first, so it waits for what the first gives.
    """
    world = World(
        current={2: 1, 4: 1, 1: 1, 6: 2, 8: 2, 3: 2, 100: 0},
        target={2: 1, 4: 1, 1: 2, 6: 2, 8: 2, 3: 1, 100: 0},
        in_use=set(), msbs=2, promised={1: 1.0, 2: 1.0}, survives=True,
    )  # fmt: skip
    plan = plan_moves(world.snapshot(), POLICY, T0)
    assert plan.loans == ()
    assert {start.server_id for start in plan.start} == {1}
