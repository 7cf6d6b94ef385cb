"""A plan of moves has, for any region, at most one move per server, within bounds, unused servers first, and an end."""

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from libs.actuators.actuator import StepOutcome, StepState
from libs.domain.move import MoveStatus, MoveStep, RunningMove, StepResult
from libs.reconcile.call_retries import Backoff
from services.mover.move_policy import MovePolicy
from services.mover.moves_plan import MovesPlan, judge_outcome, plan_moves, postpone, steps_of
from tests.builders.moving_tick import tick
from tests.builders.moving_world import POLICY, T0, World, running


@st.composite
def worlds(draw: st.DrawFn, buffers: frozenset[int] = frozenset()) -> World:
    servers = range(1, draw(st.integers(1, 25)) + 1)
    bindings = st.integers(0, 3)
    current = {s: draw(bindings) for s in servers}
    return World(
        current=current,
        target={s: draw(bindings) for s in servers},
        in_use={s for s in servers if current[s] and draw(st.booleans())},
        msbs=draw(st.integers(1, 4)),
        down={s for s in servers if draw(st.integers(0, 9)) == 0},
        profile={s: draw(bindings) for s in servers},
        buffers=buffers,
    )


policies = st.builds(
    MovePolicy,
    moves_max=st.integers(1, 30),
    msb_share_max=st.sampled_from([0.01, 0.1, 0.5, 1.0]),
    attempts_max=st.integers(1, 3),
    backoff=st.just(Backoff(10.0)),
    step_s_max=st.just(100.0),
)


@given(worlds() | worlds(frozenset({3})), policies, st.data())
@settings(max_examples=150, deadline=None)
def test_every_move_ends_and_no_server_is_bound_twice(world: World, policy: MovePolicy, data: st.DataObject) -> None:
    now = T0
    for _ in range(8):
        for s in data.draw(st.sets(st.sampled_from(sorted(world.target)), max_size=2)):
            world.target[s] = data.draw(st.integers(0, 3))
        if data.draw(st.booleans()):
            world.down ^= {data.draw(st.sampled_from(sorted(world.target)))}
        tick(world, policy, now, data)
        now += timedelta(seconds=data.draw(st.sampled_from([1, 30, 200])))
    # From now on no answer comes and no server is up to start: running moves must end all the same.
    world.down = set(world.target)
    for _ in range(10):
        for change in [
            judged
            for move in world.snapshot().running
            if (judged := judge_outcome(move, None, None, policy, now)) is not None
        ]:
            world.change(change)
        now += timedelta(hours=1)
    assert not world.running


@given(worlds(), policies)
@settings(max_examples=150, deadline=None)
def test_all_that_are_up_get_where_they_should_be(world: World, policy: MovePolicy) -> None:
    now = T0
    moves = sum(world.current[s] != t for s, t in world.target.items() if s not in world.down)
    for _ in range(moves * 6 + 1):
        tick(world, policy, now, None)
        now += timedelta(seconds=1)
    assert {s for s in world.target if world.current[s] != world.target[s]} <= world.down
    assert not world.running
    assert len(world.ended) == moves, "each server moves once"


@given(worlds(frozenset({2, 3})), policies)
@settings(max_examples=150, deadline=None)
def test_spare_servers_are_held_without_joining(world: World, policy: MovePolicy) -> None:
    now, held = T0, {s for s, r in world.current.items() if r in world.buffers}
    for _ in range(len(world.target) * 6 + 1):
        tick(world, policy, now, None)
        now += timedelta(seconds=1)
    assert {s for s in world.target if world.current[s] != world.target[s]} <= world.down
    for change in world.ended:
        steps = set(change.move.steps)
        assert change.move.server_id not in held or not steps & {MoveStep.PREEMPT, MoveStep.CLEAN}
        assert change.move.to_reservation_id not in world.buffers or MoveStep.JOIN not in steps


@given(worlds(), policies)
def test_a_step_that_always_fails_ends_in_one_report_a_server(world: World, policy: MovePolicy) -> None:
    world.down.clear()
    now = T0
    for _ in range(60 * 4):
        snapshot = world.snapshot()
        plan = plan_moves(snapshot, policy, now)
        for start in plan.start:
            world.start(start, now)
        for move in plan.ask:
            change = judge_outcome(move, StepResult.FAILED, "no", policy, now)
            assert change is not None
            world.change(change)
        if not (plan.start or plan.ask or world.running):
            break
        now += timedelta(seconds=60)
    assert not world.running
    waiting = {s for s in world.target if world.waits(s)}
    assert {change.move.server_id for change in world.ended} == waiting == world.down
    assert len(world.ended) == len(waiting), "it tries for ever"


def test_steps() -> None:
    def steps(runs: bool, joins: bool, profile: bool, unclean: bool, in_doubt: bool = False) -> list[str]:
        return list(steps_of(runs=runs, joins=joins, other_profile=profile, unclean=unclean, in_doubt=in_doubt))

    assert steps(True, True, True, False) == ["preempt", "clean", "host_profile", "join"]
    assert steps(True, False, False, False) == ["preempt", "clean"]
    assert steps(True, False, True, False) == ["preempt", "clean", "host_profile"], "to a shared buffer"
    assert steps(False, True, False, False) == ["join"]
    assert steps(False, True, True, True) == ["clean", "host_profile", "join"]
    assert steps(False, False, False, True) == ["clean"]
    assert steps(True, True, False, False, True) == ["abort", "preempt", "clean", "join"]


def planned(move: RunningMove, now: datetime) -> MovesPlan:
    empty = World(current={}, target={}, in_use=set(), msbs=1).snapshot()
    return plan_moves(replace(empty, running=(move,)), POLICY, now)


def test_a_step_under_way_is_asked_about_though_the_clock_went_back_and_is_not_cancelled() -> None:
    before = T0 - timedelta(hours=1)
    move = running(asked=True, wanted=False, ask_at=T0 + timedelta(hours=2))
    assert planned(move, before).ask == (move,)
    assert planned(move, before).cancel == ()


def test_a_back_off_that_a_clock_moved_far_away_does_not_hold_a_move_up() -> None:
    move = running(step_started_at=T0 + timedelta(hours=2))
    assert planned(move, T0).ask == (move,)
    soon = running(step_started_at=T0 + timedelta(seconds=5))
    assert planned(soon, T0).ask == ()


def test_an_attempt_that_was_not_asked_for_is_cancelled_at_once() -> None:
    plan = planned(running(wanted=False), T0)
    assert [change.status for change in plan.cancel] == [MoveStatus.CANCELLED]
    assert plan.cancel[0].result is None
    assert plan.ask == ()


def test_an_attempt_without_an_answer_is_unknown_and_not_failed() -> None:
    late = T0 + timedelta(seconds=101)
    again = judge_outcome(running(asked=True), None, None, POLICY, late)
    assert again is not None
    assert (again.result, again.status, again.attempt) == (StepResult.UNKNOWN, MoveStatus.RUNNING, 2)
    ended = judge_outcome(running(asked=True, wanted=False), None, None, POLICY, late)
    assert ended is not None
    assert (ended.result, ended.status) == (StepResult.UNKNOWN, MoveStatus.CANCELLED)
    last = judge_outcome(running(asked=True, attempt=3), None, None, POLICY, late, is_known=False)
    assert last is not None
    assert (last.result, last.status, last.reason) == (StepResult.UNKNOWN, MoveStatus.FAILED, "no_answer: join")


def test_an_accepted_step_is_asked_about_later_and_a_replacement_on_each_tick() -> None:
    accepted = StepOutcome(state=StepState.RUNNING, poll_s=15.0)
    for from_buffer, outcome, wait_s in (
        (False, accepted, 15.0),
        (True, accepted, None),
        (True, replace(accepted, ask_again_s=40.0), 40.0),
    ):
        later = postpone(running(from_buffer=from_buffer, asked=True), outcome, POLICY, T0)
        assert (later and (later.ask_at - T0).total_seconds()) == wait_s
