"""No move takes a server from a reservation that needs it, for any plan and any answers."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.departure_exceptions import StoredExceptions as Stored
from libs.domain.departure_wait import Level, WaitsFor
from libs.domain.move import MoveStep, StepResult
from libs.ras.waves.guard import Guard
from services.mover.moves_plan import MovesPlan, judge_outcome, plan_moves
from tests.builders.excepted import excepted
from tests.builders.moving_tick import tick
from tests.builders.moving_world import POLICY, T0, World, numbers, survives


@st.composite
def exchanges(draw: st.DrawFn) -> World:
    """Plans that change the servers of reservations and keep their number, which is what is promised, or more."""
    servers = list(range(1, draw(st.integers(2, 20)) + 1))
    current = {s: draw(st.integers(0, 3)) for s in servers}
    shuffled = draw(st.permutations(list(current.values())))
    size = Counter(current.values())
    return World(
        current=current,
        target=dict(zip(servers, shuffled, strict=True)),
        in_use=set(),
        msbs=draw(st.integers(1, 4)),
        profile={s: draw(st.integers(0, 3)) for s in servers},
        promised={r: float(draw(st.integers(0, size[r]))) for r in (1, 2, 3)},
        survives=draw(st.booleans()),
        blocks=draw(st.sampled_from([0, 0, 2, 3])),
        survives_block=draw(st.booleans()),
    )


@given(exchanges(), st.data())
@settings(max_examples=200, deadline=None)
def test_no_reservation_falls_below_its_promise(world: World, data: st.DataObject) -> None:
    """Held in the world: a server whose preempt is done, heard or not, is gone; one that has joined counts."""
    now, lossy = T0, data.draw(st.booleans())
    for _ in range(30):
        tick(world, POLICY, now, data if lossy else None)
        if world.down:
            return  # a move failed for good: its server is down, which no order of moves prevents
        held = Counter(r for owners in world.fleet.owners.values() for r in owners)
        for r, promised in world.promised.items():
            assert held[r] >= promised, f"r{r} holds {held[r]} of {promised}"
        now += timedelta(seconds=data.draw(st.sampled_from([1, 30, 200])) if lossy else 1)


@given(exchanges())
@settings(max_examples=200, deadline=None)
def test_what_survives_each_loss_falls_only_where_nothing_arrives(world: World) -> None:
    world.survives, now = True, T0

    for _ in range(40):
        before = {r: survives(world, r) for r in world.promised}
        arriving = {
            move.to_reservation_id
            for move in world.running.values()
            if move.asked or move.step is not MoveStep.PREEMPT  # one that has yet to leave may wait itself
        }
        rests = tick(world, POLICY, now, None)
        for r, promised in world.promised.items():
            assert survives(world, r) >= min(promised, before[r]) or r not in arriving
        if rests:
            break
        now += timedelta(seconds=1)


@given(exchanges())
@settings(max_examples=200, deadline=None)
def test_what_waits_in_the_end_could_not_leave_without_breaking_the_promise(world: World) -> None:
    now = T0
    for _ in range(200):
        if tick(world, POLICY, now, None):
            break
        now += timedelta(seconds=1)
    snapshot = world.snapshot()
    plan = plan_moves(snapshot, POLICY, now)
    assert not plan.ask
    assert not plan.start
    waits = Counter(f"r{world.current[s]}" for s in world.target if world.waits(s))
    assert waits == numbers(plan)
    for s in (s for s in world.target if world.waits(s)):
        r = world.current[s]
        if s in world.recalled or not world.target[s]:  # no reservation waits for it, so it leaves at *survive* alone
            assert not Guard([world.holding(r)]).may_leave(r, world.place(s), 1.0)
            continue
        assert sum(world.holding(r).held_rru[0].values()) - 1 < world.promised[r]


def test_a_move_that_started_waits_with_its_preempt_where_servers_failed_since() -> None:
    world = World(
        current={1: 1, 2: 1, 3: 0}, target={1: 0, 2: 1, 3: 0}, in_use=set(), msbs=1, promised={1: 1.0}, profile={}
    )
    tick(world, POLICY, T0, None)
    assert set(world.running) == {1}
    world.down.add(2)
    plan = plan_moves(world.snapshot(), POLICY, T0 + timedelta(seconds=1))
    assert (plan.ask, numbers(plan)) == ((), {"r1": 1})
    world.down.clear()
    (asked,) = plan_moves(world.snapshot(), POLICY, T0 + timedelta(seconds=2)).ask
    done = judge_outcome(asked, StepResult.DONE, None, POLICY, T0)
    assert done is not None


def test_an_exchange_without_a_spare_waits_until_an_operator_approves_it() -> None:
    """Each of two reservations needs the one server that the other is to give."""
    world = World(
        current={1: 1, 2: 2}, target={1: 2, 2: 1}, in_use=set(), msbs=1, promised={1: 1.0, 2: 1.0}, profile={1: 2, 2: 1}
    )
    waits = plan_moves(world.snapshot(), POLICY, T0)
    assert (waits.start, numbers(waits)) == ((), {"r1": 1, "r2": 1})

    def planned(stored: Stored, now: datetime = T0) -> MovesPlan:
        return plan_moves(replace(world.snapshot(), exceptions=stored), POLICY, now)

    def causes(plan: MovesPlan) -> set[tuple[str, str | None]]:
        assert plan.waits is not None
        return {(wait.waits_for.value, wait.approval_state) for wait in plan.waits.now.values()}

    given = excepted({1: 1.0, 2: 0.0}, (1, 1, 2))
    assert [start.server_id for start in planned(given).start] == [1], "and only the named one"
    pending = planned(replace(given, decided_at=None))
    assert (pending.start, causes(pending)) == ((), {("Approval", "pending")})
    assert pending.waits is not None
    assert "approval 17, which is pending" in pending.waits.now[2].message
    rejected = planned(replace(given, is_rejected=True))
    assert (rejected.start, causes(rejected)) == ((), {("Approval", "rejected")})
    late = planned(given, T0 + timedelta(minutes=61))
    assert (late.start, causes(late)) == ((), {("Approval", "over")})
    assert planned(excepted({1: 1.0, 2: 0.0}, (1, 1, 0))).start == (), "it goes elsewhere than the plan said"
    assert planned(excepted({1: 0.5, 2: 0.0}, (1, 1, 2))).start == (), "more would lack than the plan said"


def test_a_wait_is_about_the_servers_that_other_reservations_wait_for() -> None:
    """4 gives half an RRU and is to become free, so it leaves at *survive* alone. r2 waits for 1, which r1 needs."""
    at = {1: 1, 2: 1, 3: 1, 4: 1}
    world = World(current=at, target=at | {1: 2, 4: 0}, in_use=set(), msbs=4, survives=True, promised={1: 3.0, 2: 1.0})
    world.kind, world.rru = {4: 1}, {(1, 1): 0.5}
    pending = excepted({1: 0.5}, (1, 1, 2), decided=None)
    for stored, waits_for in ((None, WaitsFor.CAPACITY), (pending, WaitsFor.APPROVAL)):
        world.exceptions = stored
        plan = plan_moves(world.snapshot(), POLICY, T0)
        assert plan.waits is not None
        (wait,) = plan.waits.now.values()
        assert (wait.servers, wait.level, wait.lacks_rru, wait.waits_for) == (2, Level.HOLD, 0.5, waits_for)


def test_a_server_that_no_reservation_waits_for_waits_for_no_approval() -> None:
    """Those that the plan named have left, or it was rejected: no approval lets the last one go."""
    at = {1: 1, 2: 1, 3: 1}
    world = World(current=at, target=at | {3: 0}, in_use=set(), msbs=3, survives=True, promised={1: 2.0, 2: 1.0})
    world.exceptions = excepted({1: 1.0}, (1, 1, 2), decided=None)
    plan = plan_moves(world.snapshot(), POLICY, T0)
    assert plan.waits is not None
    (wait,) = plan.waits.now.values()
    assert (wait.waits_for, wait.approval_id) == (WaitsFor.CAPACITY, None)


def test_of_what_was_approved_the_reservation_that_lacks_least_gives_first() -> None:
    """So did the plan foretell it. A server is half of what r2 was promised, and a quarter of what r1 was."""
    current = {1: 2, 2: 2, 3: 1, 4: 1, 5: 1, 6: 1}
    world = World(current=current, target=current | {1: 1, 3: 2}, in_use=set(), msbs=1, promised={1: 4.0, 2: 2.0})
    world.exceptions = excepted({1: 1.0, 2: 1.0}, (1, 2, 1), (3, 1, 2))
    assert [start.server_id for start in plan_moves(world.snapshot(), POLICY, T0).start] == [3]
    world.promised = {1: 3.0, 2: 1.0}
    tick(world, POLICY, T0, None)
    assert set(world.running) == {1, 3}
    world.promised = {1: 4.0, 2: 2.0}
    plan = plan_moves(world.snapshot(), POLICY, T0 + timedelta(seconds=1))
    assert [move.server_id for move in plan.ask] == [3]


def test_a_move_that_rests_on_an_approval_says_so_when_its_preempt_is_due() -> None:
    world = World(
        current={1: 1, 2: 2}, target={1: 2, 2: 1}, in_use=set(), msbs=1, promised={1: 1.0, 2: 1.0}, profile={1: 2, 2: 1}
    )
    given = excepted({1: 1.0, 2: 0.0}, (1, 1, 2))
    (start,) = plan_moves(replace(world.snapshot(), exceptions=given), POLICY, T0).start
    world.start(start, T0)
    plan = plan_moves(replace(world.snapshot(), exceptions=given), POLICY, T0 + timedelta(seconds=1))
    (move,) = plan.ask
    assert plan.below_hold == {move.move_id}
    held_back = plan_moves(world.snapshot(), POLICY, T0 + timedelta(seconds=1))
    assert (held_back.ask, numbers(held_back)) == ((), {"r1": 1, "r2": 1}), "a newer plan needs no approval"


@given(exchanges(), st.data())
@settings(max_examples=200, deadline=None)
def test_below_its_promise_a_reservation_falls_by_no_more_than_was_approved(world: World, data: st.DataObject) -> None:
    """Steps fail, and any part is approved. An approval that covers every server lets every server go in the end."""
    now, lossy = T0, data.draw(st.booleans())
    most = {r: float(data.draw(st.integers(0, 3))) for r in world.promised}
    ways = [(s, world.current[s], world.target[s]) for s in world.current]
    named = ways if not lossy else data.draw(st.lists(st.sampled_from(ways), unique=True))
    world.exceptions = excepted(most, *named)
    at_least = {r: min(promised, world.holds(r)) for r, promised in world.promised.items()}
    for _ in range(30 if lossy else 200):
        rests = tick(world, POLICY, now, data if lossy else None)
        if world.down:
            return
        if rests and not lossy:
            break
        for r, promised in world.promised.items():
            assert world.holds(r) >= min(promised - most[r], at_least[r])
        now += timedelta(seconds=data.draw(st.sampled_from([1, 30, 200])) if lossy else 1)
    if not lossy and min(most.values()) >= 1.0:
        on_loan = set(world.recalled)  # a lent server goes back only where its reservation can spare it
        assert all(world.current[s] == world.target[s] for s in set(world.target) - on_loan)


def test_the_last_server_that_goes_at_hold_waits_until_its_preempt_is_asked_for() -> None:
    """Each of r1's servers is in an MSB of its own, so 1 leaves at *hold*. The second tick looks for spares first."""
    at = {1: 1, 2: 1, 3: 1}
    world = World(current=at, target=at | {1: 2}, in_use=set(), msbs=3, survives=True, stores_waits=True)
    world.promised = {1: 2.0, 2: 1.0}
    tick(world, POLICY, T0, None)
    known = dict(world.waiting)
    assert (known.keys(), world.running) == ({1}, {})
    tick(world, POLICY, T0 + timedelta(seconds=5), None)
    assert (world.running.keys(), world.waiting) == ({1}, known)
    tick(world, POLICY, T0 + timedelta(seconds=10), None)
    assert (world.running[1].step, world.waiting, world.waits_of) == (MoveStep.CLEAN, {}, {})


def test_few_servers_at_a_time_change_their_host_profile_at_hold() -> None:
    """200 servers have another profile than their reservation. A fiftieth of 150 RRU is 3."""
    servers = dict.fromkeys(range(1, 201), 1)
    world = World(
        current=dict(servers), target=servers, in_use=set(), msbs=4, survives=True, profile=dict(servers),
        promised={1: 150.0}, profile_of={1: 2},
    )  # fmt: skip
    policy = replace(POLICY, moves_max=100)
    tick(world, policy, T0, None)
    assert len(world.running) == 3
    tick(world, policy, T0 + timedelta(seconds=1), None)
    assert {move.step for move in world.running.values()} == {MoveStep.CLEAN}, "all of them leave together"


def test_of_reservations_in_a_circle_the_one_that_lacks_least_goes_at_hold() -> None:
    """No server is free. 1 exchanges with 2 and 3. A server is a tenth of its promise, and more of theirs."""
    servers = {1: range(1, 13), 2: range(13, 19), 3: range(19, 23)}
    current = {server: r for r, own in servers.items() for server in own}
    swapped = {13: 1, 20: 1, 1: 2, 2: 3}
    world = World(
        current=current, target=current | swapped, in_use=set(), msbs=6, promised={1: 10.0, 2: 5.0, 3: 3.0},
        survives=True,
    )  # fmt: skip
    plan = plan_moves(world.snapshot(), POLICY, T0)
    assert {start.server_id for start in plan.start} == {1}


def test_a_move_that_is_held_back_does_not_wait_for_what_its_own_place_holds_back() -> None:
    """A step of 1 failed, and then 4 did. One server of an MSB moves at a time, so 9 waits for 1, and r1 for 9."""
    current = {1: 2, 2: 2, 3: 2, 4: 2, 5: 1, 6: 1, 7: 1, 9: 0}
    world = World(
        current=current, target=current | {1: 3, 5: 2, 9: 1}, in_use={9}, msbs=4, promised={1: 2.0, 2: 2.0, 3: 1.0},
        survives=True,
    )  # fmt: skip
    policy, now = replace(POLICY, msb_moves_max=1), T0
    tick(world, policy, now, None)
    assert set(world.running) == {1}
    world.running[1] = replace(world.running[1], attempt=2)
    world.down.add(4)
    for _ in range(40):
        now += timedelta(seconds=30)
        if tick(world, policy, now, None):
            break
    assert world.current == world.target


def test_a_move_that_is_held_back_gives_its_place_to_the_server_that_it_waits_for() -> None:
    """A step of 1 failed, and then 2 did, so r1 needs 9 before 1 may leave. One move at a time may run."""
    for policy in (replace(POLICY, moves_max=1), replace(POLICY, msb_moves_max=1)):
        world = World(
            current={1: 1, 2: 1, 3: 1, 9: 0}, target={1: 0, 2: 1, 3: 1, 9: 0}, in_use={9}, msbs=1, promised={1: 2.0},
            stores_waits=True,
        )  # fmt: skip
        tick(world, policy, T0, None)
        assert set(world.running) == {1}
        world.running[1] = replace(world.running[1], attempt=2)
        world.down, world.target[9] = {2}, 1
        for second in range(1, 40):
            tick(world, policy, T0 + timedelta(seconds=second), None)
        assert world.current == world.target


def test_a_move_that_is_held_back_keeps_its_failed_attempts_where_it_is_in_no_ones_way() -> None:
    world = World(
        current={1: 1, 2: 1, 3: 1}, target={1: 0, 2: 1, 3: 1}, in_use=set(), msbs=1, promised={1: 2.0}, profile={}
    )
    tick(world, POLICY, T0, None)
    world.running[1] = replace(world.running[1], attempt=2)
    world.down = {2}
    tick(world, POLICY, T0 + timedelta(seconds=1), None)
    assert world.running[1].attempt == 2


def test_a_server_that_becomes_free_leaves_at_survive_alone() -> None:
    """Of both reservations two servers survive, as promised. r1 is to get 6 for 3, and no reservation waits for 3."""
    world = World(
        current={1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2}, target={1: 1, 2: 1, 3: 0, 4: 2, 5: 2, 6: 1},
        in_use=set(), msbs=3, promised={1: 2.0, 2: 2.0}, survives=True,
    )  # fmt: skip
    plan = plan_moves(world.snapshot(), POLICY, T0)
    assert {start.server_id for start in plan.start} == {6}
    world.target[6] = 2
    plan = plan_moves(world.snapshot(), POLICY, T0)
    assert plan.start == ()
    (wait,) = plan.waits.now.values()
    assert wait.waits_for is WaitsFor.CAPACITY, "nothing will come; a solve can let r1 keep it"


def test_a_started_move_to_nowhere_waits_likewise_with_its_preempt() -> None:
    world = World(
        current={1: 1, 2: 1, 3: 1, 7: 1, 8: 1, 4: 2, 5: 2, 6: 2},
        target={1: 1, 2: 1, 3: 0, 7: 1, 8: 1, 4: 2, 5: 2, 6: 2},
        in_use=set(), msbs=3, promised={1: 2.0, 2: 2.0}, survives=True,
    )  # fmt: skip
    tick(world, POLICY, T0, None)
    assert set(world.running) == {3}
    world.down.add(7)
    for target in (1, 2):
        world.target[6] = target
        assert plan_moves(world.snapshot(), POLICY, T0 + timedelta(seconds=1)).ask == ()
    world.down.remove(7)
    assert [move.server_id for move in plan_moves(world.snapshot(), POLICY, T0 + timedelta(seconds=1)).ask] == [3]
