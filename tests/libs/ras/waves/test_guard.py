"""The guard of departures lets a server go only while its reservation keeps what it was promised."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.holding import Holding
from libs.domain.move import MoveStep
from libs.ras.waves.departures import Departures
from libs.ras.waves.guard import Guard
from tests.builders.moving_world import running


def holding(held: dict[int, float], capacity_rru: float, *, survives: bool = True) -> Holding:
    return Holding(
        reservation_id=1, reservation="web", capacity_rru=capacity_rru, survives=(survives,), held_rru=(held,)
    )


def test_a_server_may_leave_while_what_survives_covers_the_promise() -> None:
    guard = Guard([holding({1: 4.0, 2: 4.0, 3: 3.0}, 6.0)])  # 7 survive the loss of an MSB
    assert guard.may_leave(1, (3,), 1.0)
    guard.let_go(1, (3,), 1.0)
    assert not guard.may_leave(1, (3,), 1.0), "5 would survive"
    assert guard.may_leave(1, (3,), 1.0, hold=True), "9 would be held"
    assert guard.may_leave(1, (1,), 0.0), "it gives nothing"
    assert guard.may_leave(2, (1,), 5.0), "nothing is promised"


def test_where_nothing_is_promised_the_last_server_may_leave_though_sums_leave_a_residue() -> None:
    guard = Guard([holding(dict.fromkeys(range(3), 0.7), 0.0, survives=False)])
    for msb in range(3):
        assert guard.may_leave(1, (msb,), 0.7)
        guard.let_go(1, (msb,), 0.7)
    assert guard.level(1, survive=False) < 0, "or this test shows nothing"


def test_below_its_promise_a_reservation_gives_nothing_that_it_would_miss() -> None:
    guard = Guard([holding({1: 3.0, 2: 1.0}, 6.0)])  # 1 survives
    assert not guard.may_leave(1, (2,), 1.0)
    assert not guard.may_leave(1, (1,), 1.0), "without it less than the 4 of now is held"
    spare = Guard([holding({1: 7.0, 2: 1.0}, 6.0)])
    assert spare.may_leave(1, (1,), 1.0), "7 are held, and of the fullest MSB nothing is counted"


def test_with_nothing_under_way_one_server_leaves_at_the_level_hold() -> None:
    departures = Departures(Guard([holding({1: 2.0, 2: 2.0}, 2.0)]))
    assert not departures.allow(1, (1,), 1.0) or not departures.allow(1, (2,), 1.0)
    held_back = Departures(
        Guard([holding({1: 2.0, 2: 2.0}, 2.0)]), [running(steps=(MoveStep.JOIN,), to_reservation_id=1)]
    )
    held_back.allow(1, (2,), 1.0)
    held_back.allow(1, (1,), 1.0)
    assert not held_back.relieve(1, (1,), 1.0), "a server is on its way"


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_the_guard_judges_many_servers_as_it_judges_one(data: st.DataObject) -> None:
    rru, place = st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.tuples(st.integers(0, 3), st.integers(0, 2))
    guard = Guard(
        Holding(
            reservation_id=r,
            reservation=f"r{r}",
            capacity_rru=data.draw(st.sampled_from([1.0, 3.0, 6.0])),
            survives=data.draw(st.tuples(st.booleans(), st.booleans())),
            held_rru=by_kind(data.draw(st.lists(st.tuples(place, rru), max_size=6))),
        )
        for r in (1, 2)
    )
    guard.let_go(1, data.draw(place), data.draw(rru))
    asked = data.draw(st.lists(st.tuples(st.integers(0, 3), place, rru), max_size=12))
    r, given_rru = (np.array([one[k] for one in asked], np.int64 if k == 0 else np.float64) for k in (0, 2))
    places = np.array([one[1] for one in asked], np.int64).reshape(-1, 2)
    for hold in (False, True):
        lacks = guard.lacks(r, places, given_rru, hold=hold)
        assert [lack <= 0 for lack in lacks] == [guard.may_leave(*one, hold=hold) for one in asked]
        assert all(guard.lack(*one, hold=hold).rru == lack for one, lack in zip(asked, lacks, strict=True) if lack > 0)


def by_kind(servers: list[tuple[tuple[int, int], float]]) -> tuple[dict[int, float], dict[int, float]]:
    """Return MSB -> RRU and block -> RRU of servers."""
    held: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for place, rru in servers:
        for k, domain in enumerate(place):
            held[k][domain] = held[k].get(domain, 0.0) + rru
    return held


Servers = list[tuple[tuple[int, int], float]]


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_the_guard_keeps_each_promise_by_definition(data: st.DataObject) -> None:
    """Servers leave and join at random. The judge loses every domain of every kind in turn."""
    server = st.tuples(st.tuples(st.integers(0, 3), st.integers(0, 2)), st.sampled_from([0.5, 1.0, 2.0]))
    there: Servers = data.draw(st.lists(server, max_size=10))
    survives = data.draw(st.tuples(st.booleans(), st.booleans()))
    capacity_rru = data.draw(st.sampled_from([1.0, 3.0, 6.0]))

    def left(servers: Servers, *, survive: bool) -> float:
        lost = [(k, place[k]) for place, _ in servers for k in (0, 1) if survive and survives[k]]
        whole = [sum(rru for _, rru in servers)]
        return min(whole + [sum(rru for place, rru in servers if place[k] != d) for k, d in lost])

    guard = Guard(
        [
            Holding(
                reservation_id=1, reservation="r", capacity_rru=capacity_rru, survives=survives, held_rru=by_kind(there)
            )
        ]
    )
    floors = {survive: min(capacity_rru, left(there, survive=survive)) for survive in (False, True)}
    for comes in data.draw(st.lists(st.none() | server, max_size=10)):
        if comes is not None:
            guard.arrive(1, *comes)
            guard.start_again(1)
            there = [*there, comes]
            floors = {survive: min(capacity_rru, left(there, survive=survive)) for survive in (False, True)}
            continue
        for row, (place, rru) in enumerate(there):
            rest = there[:row] + there[row + 1 :]
            may = [left(rest, survive=survive) >= floors[survive] - 1e-9 for survive in (False, True)]
            assert guard.may_leave(1, place, rru, hold=True) == may[0]
            assert guard.may_leave(1, place, rru) == all(may)
        going = next((one for one in there if guard.may_leave(1, *one)), None)
        if going is not None:
            guard.let_go(1, *going)
            there.remove(going)
