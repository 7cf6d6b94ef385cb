"""Waves of random plans keep every promise, leave out nothing that could go, and take the time that they say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.loss_axis import LossAxis
from libs.domain.mover import MoverBounds
from libs.domain.wave_loans import Lendable, WaveLoans
from libs.domain.waves import NEVER, NONE, MovesToMake, Promises, WavePlan
from libs.plan_check.waves import check_waves
from libs.ras.waves.loan_report import loan_seconds
from libs.ras.waves.plan_waves import plan_waves
from libs.ras.waves.wave_time import TICK_S

DEFAULT = MoverBounds()


def moves_of(*rows: tuple[int, int, int], seconds: float = 60.0, **other: object) -> MovesToMake:
    """Moves of servers worth 1 RRU: (MSB, source, to)."""
    msb, source, to = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    N = len(rows)
    given = {
        "server": np.arange(N),
        "domain": msb[:, None],
        "source": source,
        "to": to,
        "leaves_rru": np.ones(N),
        "brings_rru": np.ones(N),
        "gone": np.zeros(N, bool),
        "takes": source >= 0,
        "seconds": np.full(N, seconds),
        "needless": np.zeros(N, bool),
        "yields": np.zeros(N, bool),
        **other,
    }
    return MovesToMake(**given)


def promises_of(
    held: list[list[float]],
    capacity: list[float],
    *,
    survives: bool = True,
    domains: int = 0,
    survives_other: bool | None = None,
    granted: list[float] | None = None,
) -> Promises:
    """held: by MSB, and then by each of the `domains` of a further kind."""
    R, M = len(capacity), len(held[0]) - domains
    kinds = [survives] if survives_other is None else [survives, survives_other]
    return Promises(
        name=np.array([f"r{r}" for r in range(R)], object),
        capacity_rru=np.array(capacity),
        granted_rru=np.array(capacity if granted is None else granted),
        axis=LossAxis(ends=(M, M + domains)[: len(kinds)], survives=np.tile(kinds, (R, 1))),
        held_rru=np.array(held),
        msb_servers=np.full(M, 1000),
    )


def test_departures_follow_the_arrivals_that_allow_them() -> None:
    moves = moves_of((0, 0, -1), (1, -1, 0))  # r0 gives a server of MSB 0 and gets one of MSB 1
    promises = promises_of([[1.0, 0.0]], [1.0], survives=False)
    plan = plan_waves(moves, promises, DEFAULT)
    assert plan.wave.tolist() == [1, 0]
    assert not plan.at_hold.any()
    assert plan.seconds.tolist() == [60 + TICK_S] * 2
    assert check_waves(moves, promises, plan) == []


def test_an_exchange_without_a_free_server_goes_at_hold_one_reservation_at_a_time() -> None:
    moves = moves_of(*[(0, 0, 1), (1, 1, 0)] * 3)
    promises = promises_of([[3.0, 3.0], [3.0, 3.0]], [3.0, 3.0])  # 3 survive the loss of an MSB
    plan = plan_waves(moves, promises, DEFAULT)
    assert check_waves(moves, promises, plan) == []
    assert plan.wave.tolist() == [0, 1, 2, 3, 4, 5]
    assert plan.at_hold.all()
    together = replace(plan, wave=np.array([0, 0, 1, 1, 2, 2]), seconds=plan.seconds[:3])
    assert {one.reason for one in check_waves(moves, promises, together)} == {"Circle"}


def test_of_reservations_in_a_circle_the_one_that_lacks_least_goes_at_hold() -> None:
    """Of 20, 5 and 3 RRU each has what survives the loss of an MSB, and no more. The first exchanges with both."""
    moves = moves_of((0, 1, 0), (1, 2, 0), (0, 0, 1), (1, 0, 2))
    promises = promises_of([[4.0] * 6, [1.0] * 6, [1.0] * 4 + [0.0] * 2], [20.0, 5.0, 3.0])
    plan = plan_waves(moves, promises, DEFAULT)
    assert check_waves(moves, promises, plan) == []
    assert plan.at_hold.tolist() == [False, False, True, True]
    assert plan.wave.tolist() == [1, 3, 0, 2]


def test_at_hold_no_more_than_a_fiftieth_of_the_promise_leaves_at_a_time() -> None:
    moves = moves_of(*[(0, 0, 1)] * 10)
    promises = promises_of([[200.0, 200.0], [0.0, 0.0]], [200.0, 10.0])
    plan = plan_waves(moves, promises, DEFAULT)
    assert plan.at_hold.all()
    assert np.bincount(plan.wave).tolist() == [4, 4, 2]
    assert check_waves(moves, promises, plan) == []


def test_a_server_that_its_reservation_needs_goes_below_hold_with_an_approval() -> None:
    """The first gives its server before the second: the second has what it needs by then, and stays at *hold*."""
    moves = moves_of((0, 0, 1), (0, 1, 0))
    promises = promises_of([[1.0, 0.0], [1.0, 0.0]], [1.0, 1.0], survives=False)
    plan = plan_waves(moves, promises, DEFAULT)
    assert (plan.wave.tolist(), plan.approved) == ([0, 1], 0)
    assert (plan.below.tolist(), plan.below_rru.tolist()) == ([True, False], [1.0, 0.0])
    assert check_waves(moves, promises, plan) == []


def test_below_hold_few_leave_at_a_time_and_the_plan_names_how_much_lacks() -> None:
    moves = moves_of(*[(0, 0, 1)] * 10)
    promises = promises_of([[100.0], [0.0]], [150.0, 1.0], survives=False)  # it lacks 50 already
    plan = plan_waves(moves, promises, DEFAULT)
    assert np.bincount(plan.wave).tolist() == [3, 3, 3, 1]
    assert (plan.approved, plan.below.all(), plan.below_rru.tolist()) == (0, True, [60.0, 0.0])
    assert check_waves(moves, promises, plan) == []
    less = replace(plan, below_rru=np.array([59.0, 0.0]))
    assert {one.reason for one in check_waves(moves, promises, less)} == {"FallsBelow"}
    assert {one.reason for one in check_waves(moves, promises, replace(plan, approved=4))} == {"NotApproved"}
    once = replace(plan, wave=np.zeros(10, int), seconds=plan.seconds.max(keepdims=True))
    assert {one.reason for one in check_waves(moves, promises, once)} == {"TooMany"}


def test_below_hold_too_one_reservation_of_a_circle_goes_after_waves_that_concern_others() -> None:
    """A free server comes to the fourth first. Then each of the others needs the one that another is to give."""
    moves = moves_of((0, -1, 3), (0, 0, 1), (0, 1, 2), (0, 2, 0))
    promises = promises_of([[1.0], [1.0], [1.0], [0.0]], [1.0, 1.0, 1.0, 1.0], survives=False)
    plan = plan_waves(moves, promises, DEFAULT)
    assert plan.wave.tolist() == [0, 1, 2, 3]
    assert (plan.below.tolist(), plan.below_rru.tolist()) == ([False, True, False, False], [1.0, 0.0, 0.0, 0.0])
    assert check_waves(moves, promises, plan) == []


def test_a_server_that_goes_to_no_reservation_stays_where_its_own_would_not_survive_without_it() -> None:
    """Each holds what it must, or less, and nothing comes. The third has one more."""
    needless = np.array([False, True, False, False])
    moves = moves_of((0, 0, -1), (0, 1, 3), (0, 2, -1), (0, 2, -1), needless=needless)
    promises = promises_of([[2.0, 2.0], [1.0, 1.0], [3.0, 2.0], [0.0, 0.0]], [2.0, 2.0, 2.0, 0.0])
    plan = plan_waves(moves, promises, DEFAULT)
    assert (plan.wave.tolist(), plan.approved) == ([NEVER, NEVER, 0, NEVER], 1)
    assert not (plan.at_hold | plan.below).any()
    assert check_waves(moves, promises, plan) == []
    eager = replace(plan, wave=np.array([0, NEVER, 0, NEVER]), at_hold=np.array([True, False, False, False]))
    assert {one.reason for one in check_waves(moves, promises, eager)} == {"Needless"}
    lazy = replace(plan, wave=np.full(4, NEVER), seconds=np.array([]), approved=0)
    assert {one.reason for one in check_waves(moves, promises, lazy)} == {"LeftOut"}


@pytest.mark.parametrize(
    ("bounds", "seconds"),
    [
        (MoverBounds(), 60),
        (MoverBounds(moves_max=30), 240),
        (MoverBounds(msb_share_max=0.001), 3000),  # one server of an MSB at a time, and 50 in each
        (MoverBounds(msb_moves_max=10), 300),
        (MoverBounds(msb_starts_per_minute=25), 120),
    ],
)
def test_the_bounds_of_the_mover_make_a_wave_longer(bounds: MoverBounds, seconds: float) -> None:
    moves = moves_of(*[(k % 2, 0, -1) for k in range(100)])
    promises = promises_of([[500.0, 500.0]], [1.0])
    (taken,) = plan_waves(moves, promises, bounds).seconds
    assert taken == seconds + TICK_S


@st.composite
def plans(draw: st.DrawFn) -> tuple[MovesToMake, Promises]:
    """Servers with bindings before and after, and promises that either may cover."""
    R, M, S = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 25))
    rows = st.lists(st.integers(-1, R - 1), min_size=S, max_size=S)
    source, to = np.array(draw(rows)), np.array(draw(rows))
    msb = np.array(draw(st.lists(st.integers(0, M - 1), min_size=S, max_size=S)))
    N = draw(st.sampled_from([0, 2, 3]))  # domains of a further kind
    block = np.array(draw(st.lists(st.integers(0, max(N, 1) - 1), min_size=S, max_size=S)))
    domain = np.stack([msb, M + block] if N else [msb], axis=1)
    rru = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=S, max_size=S)))
    gone = np.array(draw(st.lists(st.sampled_from([False, False, True]), min_size=S, max_size=S)))
    held = np.zeros((R, M + N))
    there = (source >= 0) & ~gone
    np.add.at(held, (source[there, None], domain[there]), rru[there, None])
    moved = np.flatnonzero((source != to) | gone)
    brings = np.where(to[moved] >= 0, rru[moved] * draw(st.sampled_from([0.5, 1.0, 2.0])), 0.0)
    joins = (source[moved] >= 0) & (to[moved] >= 0)
    kinds = st.lists(st.sampled_from(["", "needless", "yields"]), min_size=len(moved), max_size=len(moved))
    kind = np.array(draw(kinds), object)
    moves = MovesToMake(
        server=moved,
        domain=domain[moved],
        source=source[moved],
        to=to[moved],
        leaves_rru=rru[moved],
        brings_rru=brings,
        gone=gone[moved],
        takes=(source[moved] >= 0) & ~gone[moved],
        seconds=np.array(draw(st.lists(st.floats(0, 900), min_size=len(moved), max_size=len(moved)))),
        needless=joins & (kind == "needless"),
        yields=joins & (kind == "yields"),
    )
    capacity = [draw(st.sampled_from([0.3, 0.7, 0.9, 1.0, 1.5])) * max(total, 1.0) for total in held[:, :M].sum(1)]
    other = draw(st.booleans()) if N else None
    granted = [draw(st.sampled_from([0.0, 0.5, 1.0])) * rru for rru in capacity]
    return moves, promises_of(
        held.tolist(), capacity, survives=draw(st.booleans()), domains=N, survives_other=other, granted=granted
    )


@given(plans(), st.sampled_from([MoverBounds(), MoverBounds(moves_max=2, msb_moves_max=1, msb_starts_per_minute=1)]))
@settings(max_examples=500, deadline=None)
def test_waves_of_random_plans_pass_the_check(drawn: tuple[MovesToMake, Promises], bounds: MoverBounds) -> None:
    moves, promises = drawn
    assert check_waves(moves, promises, plan_waves(moves, promises, bounds)) == []


def stock(promises: Promises, *kinds: tuple[int, int], lent: WaveLoans | None = None) -> Lendable:
    """Free servers worth 1 RRU to every reservation: (MSB, number). They are in the first domain of a further kind."""
    R, C = len(promises), len(kinds)
    msb, number = np.array(kinds, np.int64).reshape(-1, 2).T
    return Lendable(
        domain=np.column_stack([msb, *(np.full(C, first) for first in promises.axis.ends[:-1])]),
        hardware_type=np.zeros(C, np.int64),
        buffer=np.full(C, NONE),
        profile=np.zeros(C, np.int64),
        number=number,
        room={},
        type_rru=np.ones((R, 1)),
        borrows=np.ones(R, bool),
        wanted_profile=np.zeros(R, np.int64),
        join_s=20.0,
        profile_s=240.0,
        return_s=150.0,
        lent=WaveLoans() if lent is None else lent,
    )


def test_an_exchange_with_free_servers_goes_through_them_and_stays_at_survive() -> None:
    moves = moves_of((0, 0, 1), (0, 1, 0))
    promises = promises_of([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]], [1.0, 1.0])  # 1 survives the loss of an MSB
    lendable = stock(promises, (2, 5))
    plan = plan_waves(moves, promises, DEFAULT, lendable)
    assert check_waves(moves, promises, plan) == []
    assert (plan.wave.tolist(), plan.at_hold.any()) == ([1, 1], False)
    assert plan.loans.reservation.tolist() == [0, 1], "one server for each is enough"
    assert (plan.loans.begins.tolist(), plan.loans.ends.tolist()) == ([0, 0], [2, 2])
    assert plan.seconds.tolist() == [20 + TICK_S, 60 + TICK_S]
    assert loan_seconds(plan, lendable).tolist() == [25 + 65 + 150] * 2
    too_early = replace(plan, loans=replace(plan.loans, ends=np.array([1, 1])))
    assert "FallsBelow" in {one.reason for one in check_waves(moves, promises, too_early)}


def test_a_buffer_whose_servers_are_of_no_use_does_not_limit_what_another_one_lends() -> None:
    """Two servers of one place wait, so two loans let both go at once. The second buffer may lend one of its own."""
    moves = moves_of((0, 0, 1), (0, 0, 1))
    promises = promises_of([[2.0], [0.0], [0.0], [0.0]], [2.0, 0.0, 0.0, 0.0], survives=False)
    lendable = replace(
        stock(promises, (0, 4), (0, 4)),
        hardware_type=np.array([0, 1]),
        buffer=np.array([2, 3]),
        room={2: 2, 3: 1},
        type_rru=np.tile([1.0, 0.0], (4, 1)),
    )
    plan = plan_waves(moves, promises, DEFAULT, lendable)
    assert check_waves(moves, promises, plan) == []
    assert (plan.wave.tolist(), plan.loans.reservation.tolist()) == ([1, 1], [0, 0])


def test_servers_that_are_lent_already_are_not_lent_again() -> None:
    moves = moves_of((0, 0, 1), (0, 1, 0))
    lent = WaveLoans(
        reservation=np.array([0, 1]),
        domain=np.array([[2], [2]]),
        rru=np.ones(2),
        begins=np.array([-1, 0]),  # the second one is on its way
        ends=np.full(2, NEVER),
        foretold=np.zeros(2, bool),
    )
    promises = promises_of([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]], [1.0, 1.0])
    plan = plan_waves(moves, promises, DEFAULT, stock(promises, (2, 5), lent=lent))
    assert check_waves(moves, promises, plan) == []
    assert (plan.wave.tolist(), len(plan.loans)) == ([0, 1], 2)
    assert plan.loans.ends.tolist() == [2, 2]


def test_a_short_reservation_borrows_enough_or_nothing_and_the_check_refuses_a_loan_of_no_use() -> None:
    """The first survives with 3 of its 6, and holds 4."""
    moves = moves_of((1, 0, 1))
    promises = promises_of([[1.0, 1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]], [6.0, 0.0])
    few, enough = (plan_waves(moves, promises, DEFAULT, stock(promises, (4, number))) for number in (2, 3))
    assert (len(few.loans), few.approved, len(enough.loans), enough.approved) == (0, 0, 3, 2)
    for plan in (few, enough):
        assert check_waves(moves, promises, plan) == []
    only = np.arange(3) < 2
    loans = WaveLoans(**{name: getattr(enough.loans, name)[only] for name in WaveLoans.__dataclass_fields__})
    useless = {one.reason for one in check_waves(moves, promises, replace(enough, loans=loans))}
    assert "OfNoUse" in useless
    before = replace(loans, foretold=np.zeros(2, bool))
    assert "OfNoUse" not in {one.reason for one in check_waves(moves, promises, replace(enough, loans=before))}


def test_a_lent_server_stays_where_its_reservation_is_short_and_gives_nothing() -> None:
    moves = moves_of((0, 1, -1))
    promises = promises_of([[1.0, 1.0], [2.0, 2.0]], [3.0, 0.0], survives=False)
    lent = WaveLoans(
        reservation=np.array([0]),
        domain=np.array([[1]]),
        rru=np.ones(1),
        begins=np.array([-1]),
        ends=np.array([NEVER]),
        foretold=np.zeros(1, bool),
    )
    plan = plan_waves(moves, promises, DEFAULT, stock(promises, (0, 0), lent=lent))
    assert check_waves(moves, promises, plan) == []
    assert plan.loans.ends.tolist() == [NEVER]


def test_a_loan_that_cannot_end_is_named() -> None:
    """After the exchange both servers of each are in one MSB, so neither survives its loss without the spare."""
    moves = moves_of((0, 0, 1), (1, 1, 0))
    promises = promises_of([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]], [1.0, 1.0])
    plan = plan_waves(moves, promises, DEFAULT, stock(promises, (2, 5)))
    assert check_waves(moves, promises, plan) == []
    assert plan.loans.ends.tolist() == [NEVER, NEVER]


@given(plans(), st.data())
@settings(max_examples=400, deadline=None)
def test_waves_with_loans_pass_the_check(drawn: tuple[MovesToMake, Promises], data: st.DataObject) -> None:
    moves, promises = drawn
    M = promises.axis.msbs
    kinds = [(m, data.draw(st.integers(0, 12))) for m in range(M)]
    plan = plan_waves(moves, promises, DEFAULT, stock(promises, *kinds))
    assert check_waves(moves, promises, plan) == []
    loans = plan.loans
    last = np.where(loans.ends == NEVER, len(plan.seconds), loans.ends)
    there = [(loans.begins <= k) & (last > k) for k in range(len(plan.seconds))]
    for m in range(M):
        lent = [int((mask & (loans.domain[:, 0] == m)).sum()) for mask in there]
        assert max(lent, default=0) <= (number := dict(kinds)[m]), f"MSB {m} has {number}"


@given(plans())
@settings(max_examples=300, deadline=None)
def test_the_check_finds_a_departure_that_is_too_early(drawn: tuple[MovesToMake, Promises]) -> None:
    moves, promises = drawn
    plan = plan_waves(moves, promises, DEFAULT)
    if len(plan.seconds) < 2:
        return
    once = replace(plan, wave=np.zeros_like(plan.wave), seconds=plan.seconds.max(keepdims=True), approved=0)
    assert check_waves(moves, promises, once) != []


def test_the_check_refuses_what_the_planner_does_not_do() -> None:
    moves = moves_of((0, 0, 1), (0, 0, 1), (1, -1, 0))
    promises = promises_of([[2.0, 0.0], [0.0, 0.0]], [2.0, 0.0], survives=False)
    no = [False] * 3
    plan = WavePlan(
        wave=np.array([1, NEVER, 0]),
        at_hold=np.array(no),
        seconds=np.array([65.0, 65.0]),
        below=np.array(no),
        approved=2,
        below_rru=np.zeros(2),
    )
    assert check_waves(moves, promises, plan) == []

    def reasons(wave: list[int], seconds: list[float], at_hold: list[bool]) -> set[str]:
        plan_so = replace(plan, wave=np.array(wave), at_hold=np.array(at_hold), seconds=np.array(seconds))
        return {violation.reason for violation in check_waves(moves, promises, plan_so)}

    assert reasons([NEVER, NEVER, 0], [65.0], no) == {"LeftOut"}
    assert reasons([1, 1, 0], [65.0, 65.0], no) == {"FallsBelow"}
    assert reasons([1, NEVER, 0], [65.0, 10.0], no) == {"TooShort"}
    assert reasons([2, NEVER, 0], [65.0, 65.0], no) == {"WrongWaves"}
    wide = promises_of([[3.0, 0.0], [0.0, 0.0]], [0.5, 0.0], survives=False)
    plan = replace(plan, wave=np.zeros(3, int), at_hold=np.array([True, True, False]), seconds=np.array([65.0]))
    assert {one.reason for one in check_waves(moves, wide, plan)} == {"TooMany"}
