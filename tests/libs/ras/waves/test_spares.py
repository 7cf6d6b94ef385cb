"""Spares let a server leave once they have joined, or none is lent."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.holding import Holding
from libs.domain.waves import NONE
from libs.ras.waves.guard import Guard
from libs.ras.waves.spares import IdleKinds, Leaver, choose_spares, in_turn


def guard_of(promise: float, *held: float, survives: bool = True, granted: float = np.inf) -> Guard:
    """A reservation with the id 1 and what it holds by MSB."""
    by_msb = dict(enumerate(held))
    one = Holding(
        reservation_id=1,
        reservation="r1",
        capacity_rru=promise,
        granted_rru=granted,
        survives=(survives,),
        held_rru=(by_msb,),
    )
    return Guard([one])


def idle_of(*kinds: tuple[int, int], buffer: int = NONE, room: int = 0) -> IdleKinds:
    """Idle servers: (MSB, number)."""
    msb, number = np.array(kinds, np.int64).reshape(-1, 2).T
    return IdleKinds(msb[:, None], np.full(len(msb), buffer), number, {buffer: room})


def spares(guard: Guard, waiting: list[Leaver], idle: IdleKinds, most: int = 10) -> list[int]:
    return choose_spares(guard, 1, waiting, idle, np.ones(len(idle.number)), most=most)


def test_a_short_reservation_borrows_what_it_lacks_and_what_leaves_or_nothing() -> None:
    """It survives with 3 and holds 4, of a promise of 6. A spare raises what it must keep, up to the promise."""
    server = Leaver((1,), 1.0)
    for free, lent in ((1, 0), (2, 0), (3, 3), (9, 4)):
        idle = idle_of(*((msb, 1) for msb in range(4, 4 + free)))
        assert len(spares(guard_of(6.0, 1, 1, 1, 1), [server], idle)) == lent, (
            "three for the level hold, four to survive"
        )


def test_where_the_promise_is_out_of_reach_a_spare_beside_the_server_lets_it_go() -> None:
    """A spare elsewhere raises what is kept. One in the MSB of the server does not, because the loss of it counts."""
    guard, server = guard_of(30.0, 17, 17, survives=True), Leaver((0,), 1.0)
    assert spares(guard, [server], idle_of((1, 9), (2, 9))) == []
    assert spares(guard, [server], idle_of((2, 9), (0, 9))) == [1]


def test_another_server_than_the_first_one_may_be_one_that_a_spare_helps() -> None:
    """One of 5 RRU needs five spares, and there are two."""
    waiting = [Leaver((0,), 5.0), Leaver((1,), 1.0)]
    for order in (waiting, waiting[::-1]):
        assert spares(guard_of(10.0, 5, 5, survives=False), order, idle_of((2, 2))) == [0]


def test_a_spare_for_the_level_hold_is_lent_only_where_none_can_go_at_hold_without() -> None:
    server, idle = Leaver((1,), 1.0), idle_of((0, 1))
    assert spares(guard_of(4.0, 1, 1, 1, 1), [server], idle) == [0], "3 of 4 survive, and one spare keeps what is held"
    assert spares(guard_of(4.0, 2, 1, 1, 1), [server], idle) == [], "it holds one more than its promise"


def test_for_the_level_hold_no_more_is_lent_than_may_leave_at_a_time() -> None:
    waiting, idle = [Leaver((0,), 1.0)] * 9, idle_of((2, 9))
    for promise, few in ((20.0, 1), (200.0, 4)):
        assert spares(guard_of(promise, promise / 2, promise / 2), waiting, idle) == [0] * few


def test_a_request_that_waits_keeps_what_was_granted_where_its_server_yields() -> None:
    """A spare helps in place of the server that yields. To keep all that is asked for, nine are not enough."""
    guard = guard_of(30.0, 5, 5, survives=False, granted=10.0)
    assert spares(guard, [Leaver((0,), 1.0, yields=True)], idle_of((1, 9))) == [0]
    assert spares(guard, [Leaver((0,), 1.0)], idle_of((1, 9))) == []


def test_each_shared_buffer_lends_as_many_as_it_may() -> None:
    """Three are needed. The first buffer may lend one and the second two."""
    place, number = np.array([[4], [5]]), np.array([9, 9])
    for rooms, lent in (({7: 1, 8: 2}, [0, 1, 1]), ({7: 1, 8: 1}, []), ({8: 3}, [1, 1, 1])):
        idle = IdleKinds(place, np.array([7, 8]), number, rooms)
        chosen = spares(guard_of(6.0, 1, 1, 1, 1, survives=False), [Leaver((1,), 1.0)], idle)
        assert sorted(chosen) == lent


def test_the_reservation_that_lacks_least_borrows_first() -> None:
    lacks = {1: 5.0, 2: 0.0, 3: 2.0}
    holdings = [
        Holding(reservation_id=r, reservation="", capacity_rru=9.0 + more, survives=(False,), held_rru=({0: 9.0},))
        for r, more in lacks.items()
    ]
    assert in_turn(Guard(holdings), lacks) == [2, 3, 1]


@st.composite
def trials(draw: st.DrawFn) -> tuple[Holding, list[Leaver], IdleKinds, list[float]]:
    msbs, blocks = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    place = st.tuples(st.integers(0, msbs - 1), st.integers(0, blocks - 1))
    worth = st.sampled_from([0.5, 1.0, 1.0, 3.0])
    servers = draw(st.lists(st.tuples(place, worth), min_size=1, max_size=12))
    held: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for at, rru in servers:
        for by_domain, domain in zip(held, at, strict=True):
            by_domain[domain] = by_domain.get(domain, 0.0) + rru
    total = sum(rru for _, rru in servers)
    promise = max(0.0, total + draw(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0, 8.0])))
    one = Holding(
        reservation_id=1,
        reservation="r1",
        capacity_rru=promise,
        granted_rru=draw(st.sampled_from([np.inf, promise, max(0.0, promise - 2.0)])),
        survives=(draw(st.booleans()), draw(st.booleans())),
        held_rru=held,
    )
    waiting = [Leaver(at, rru, draw(st.booleans())) for at, rru in servers if draw(st.booleans())]
    kinds = draw(st.lists(st.tuples(place, st.integers(1, 3), st.sampled_from([NONE, 5, 6])), min_size=1, max_size=6))
    places, number, buffer = zip(*kinds, strict=True)
    idle = IdleKinds(np.array(places), np.array(buffer), np.array(number), {5: draw(st.integers(0, 3)), 6: 1})
    return one, waiting, idle, [draw(worth) for _ in kinds]


@given(trials(), st.integers(1, 10))
@settings(max_examples=500, deadline=None)
def test_with_spares_in_place_a_server_may_leave(
    drawn: tuple[Holding, list[Leaver], IdleKinds, list[float]], most: int
) -> None:
    """The guard that reads what is held after the spares joined agrees, and the one that was asked is as before."""
    one, waiting, idle, rru = drawn
    guard, number = Guard([one]), idle.number.copy()
    waiting = [server for server in waiting if not guard.may_leave(1, *server[:2], yields=server.yields)]
    if not waiting:
        return
    levels = [guard.level(1, survive) for survive in (True, False)]
    chosen = choose_spares(guard, 1, waiting, idle, np.array(rru), most=most)
    assert len(chosen) <= most
    assert np.allclose([guard.level(1, survive) for survive in (True, False)], levels)
    assert not any(guard.may_leave(1, *server[:2], yields=server.yields) for server in waiting)
    assert (idle.number == number).all()
    assert (np.bincount(chosen, minlength=len(number)) <= number).all()
    if not chosen:
        return
    stuck = not any(guard.may_leave(1, *server[:2], hold=True, yields=server.yields) for server in waiting)
    for kind in chosen:
        guard.arrive(1, tuple(idle.place[kind].tolist()), rru[kind])
    guard.start_again(1)
    assert any(
        guard.may_leave(1, *server[:2], hold=hold, yields=server.yields)
        for server in waiting
        for hold in ((False, True) if stuck else (False,))
    )
