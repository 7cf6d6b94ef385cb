"""A plan of moves has, for any region, at most one move per server, within bounds, unused servers first, and an end."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.move import (
    MoveChange,
    MovesSnapshot,
    MoveStart,
    MoveStatus,
    MoveStep,
    RunningMove,
    StepResult,
    WaitingServers,
)
from libs.domain.mover import Mover
from libs.reconcile.calls import Backoff
from services.mover.moves_plan import MovePolicy, judge_outcome, plan_moves, steps_of

MOVER = Mover(region="r")
T0 = datetime(2026, 1, 1, tzinfo=UTC)
EFFECTIVE = (MoveStep.PREEMPT, MoveStep.HOST_PROFILE, MoveStep.JOIN)


@dataclass
class World:
    """The store in a few lines: servers by id, from 1; 0 is no reservation. Profiles are named for reservations."""

    current: dict[int, int]
    target: dict[int, int]
    in_use: set[int]
    msbs: int
    down: set[int] = field(default_factory=set)
    profile: dict[int, int] = field(default_factory=dict)
    uncleaned: set[int] = field(default_factory=set)
    running: dict[int, RunningMove] = field(default_factory=dict)
    ended: list[MoveChange] = field(default_factory=list)

    def snapshot(self) -> MovesSnapshot:
        waits = [
            s
            for s, target in self.target.items()
            if self.current[s] != target and s not in self.running and s not in self.down
        ]
        column = lambda values: np.array(list(values), np.int64)  # noqa: E731
        waiting = WaitingServers(
            id=column(waits),
            generation=column(1 for _ in waits),
            msb_id=column(s % self.msbs for s in waits),
            current_id=column(self.current[s] for s in waits),
            target_id=column(self.target[s] for s in waits),
            in_use=np.array([s in self.in_use for s in waits], bool),
            other_profile=np.array([self.profile.get(s) != self.target[s] for s in waits], bool),
            uncleaned=np.array([s in self.uncleaned for s in waits], bool),
            urgent=np.zeros(len(waits), bool),
        )
        moves = tuple(self._as_read(move) for move in self.running.values())
        servers = Counter(s % self.msbs for s in self.target)
        return MovesSnapshot(region="r", region_id=1, running=moves, waiting=waiting, msb_servers=servers, mover=MOVER)

    def _as_read(self, move: RunningMove) -> RunningMove:
        fields = {name: getattr(move, name) for name in RunningMove.__dataclass_fields__}
        s = move.server_id
        wanted, available = (move.to_reservation_id or 0) == self.target[s], s not in self.down
        return RunningMove(**{**fields, "wanted": wanted, "available": available})

    def start(self, start: MoveStart, now: datetime) -> None:
        assert start.server_id not in self.running
        self.running[start.server_id] = RunningMove(
            move_id=start.server_id,
            generation=1,
            server_id=start.server_id,
            server_generation=1,
            server=f"s{start.server_id}",
            msb_id=start.server_id % self.msbs,
            from_reservation_id=start.from_reservation_id,
            to_reservation_id=start.to_reservation_id,
            from_reservation=None,
            to_reservation=None,
            steps=start.steps,
            step_index=0,
            attempt=1,
            step_started_at=now,
            wanted=True,
            available=True,
            host_profile="",
            to_host_profile="",
        )

    def change(self, change: MoveChange) -> None:
        move = change.move
        s = move.server_id
        if change.result in (StepResult.DONE, StepResult.SKIPPED):
            if move.step is MoveStep.PREEMPT:
                assert self.current[s] == move.from_reservation_id
                self.current[s] = 0
                self.in_use.discard(s)
                self.uncleaned.add(s)
            elif move.step is MoveStep.CLEAN:
                self.uncleaned.discard(s)
            elif move.step is MoveStep.HOST_PROFILE:
                self.profile[s] = move.to_reservation_id or 0
            elif move.step is MoveStep.JOIN:
                assert self.current[s] == 0, "it joins while it is in another reservation"
                assert s not in self.uncleaned, "it joins with what its last owner left on it"
                assert self.profile[s] == move.to_reservation_id
                self.current[s] = move.to_reservation_id or 0
        if change.status is MoveStatus.RUNNING:
            fields = {name: getattr(move, name) for name in RunningMove.__dataclass_fields__}
            fields |= {"step_index": change.step_index, "attempt": change.attempt}
            self.running[s] = RunningMove(**{**fields, "step_started_at": change.step_started_at})
            return
        del self.running[s]
        self.ended.append(change)
        if change.status is MoveStatus.FAILED:
            self.down.add(s)


@st.composite
def worlds(draw: st.DrawFn) -> World:
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
    )


policies = st.builds(
    MovePolicy,
    moves_max=st.integers(1, 30),
    msb_share_max=st.sampled_from([0.01, 0.1, 0.5, 1.0]),
    attempts_max=st.integers(1, 3),
    backoff=st.just(Backoff(10.0)),
    step_s_max=st.just(100.0),
)


def tick(world: World, policy: MovePolicy, now: datetime, results: st.DataObject | None) -> None:
    """Run one tick of the mover, in which each requested step is done, fails or goes on, as drawn."""
    snapshot = world.snapshot()
    plan = plan_moves(snapshot, policy, now)
    check_starts(snapshot, plan.start, policy, world)
    for start in plan.start:
        world.start(start, now)
    changes = list(plan.cancel)
    for move in plan.ask:
        drawn = StepResult.DONE if results is None else results.draw(st.sampled_from([*StepResult, None]))
        change = judge_outcome(move, drawn, None, policy, now)
        changes += [] if change is None else [change]
    for change in changes:
        world.change(change)


def check_starts(snapshot: MovesSnapshot, starts: tuple[MoveStart, ...], policy: MovePolicy, world: World) -> None:
    ids = [start.server_id for start in starts]
    assert len(set(ids)) == len(ids)
    assert not set(ids) & set(world.running)
    assert not set(ids) & world.down
    assert len(snapshot.running) + len(starts) <= max(policy.moves_max, len(snapshot.running))
    leaving = Counter(m.msb_id for m in snapshot.running if m.takes_capacity)
    leaving.update(s.server_id % world.msbs for s in starts if s.from_reservation_id is not None)
    for msb_id, number in leaving.items():
        assert number <= max(1, int(snapshot.msb_servers[msb_id] * policy.msb_share_max))
    passed_over = set(snapshot.waiting.id.tolist()) - set(ids)
    for s in ids:
        if s in world.in_use:  # an unused one is passed over only because of its MSB
            for other in passed_over - world.in_use:
                assert world.current[other] != 0


@given(worlds(), policies, st.data())
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
        now += timedelta(seconds=60)
    assert not world.running
    waiting = {s for s in world.target if world.current[s] != world.target[s]}
    assert {change.move.server_id for change in world.ended} == waiting == world.down
    assert len(world.ended) == len(waiting), "it tries for ever"


def test_steps() -> None:
    def steps(a: bool, b: bool, profile: bool, uncleaned: bool) -> list[str]:
        return list(steps_of(from_reservation=a, to_reservation=b, other_profile=profile, uncleaned=uncleaned))

    assert steps(True, True, True, False) == ["preempt", "clean", "host_profile", "join"]
    assert steps(True, False, False, False) == ["preempt", "clean"]
    assert steps(False, True, False, False) == ["join"]
    assert steps(False, True, True, True) == ["clean", "host_profile", "join"]
