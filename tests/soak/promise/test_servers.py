"""The real servers do each step once and in time, and note what no sound platform asks for."""

from datetime import UTC, datetime

import numpy as np
import pytest

from libs.actuators.actuator import StepRequest, StepState
from libs.domain.move import MoveStep
from soak.promise.servers import Luck, RealServers


class World:
    def __init__(self, lost: float = 0.0, fails: float = 0.0) -> None:
        self.at_s = 0.0
        self.seen: list[float] = []
        self.servers = RealServers(
            np.array(["server-1"], object),
            np.array([0]),
            np.array([0]),
            luck=Luck(seed=1, lost=lost, fails=fails),
            now_s=lambda: self.at_s,
            watch=self.seen.append,
        )

    def ask(self, step: MoveStep, move: int = 1, attempt: int = 1, into: str | None = "web") -> StepState:
        request = StepRequest(
            move_id=move,
            step=step,
            attempt=attempt,
            started_at=datetime(2026, 11, 1, tzinfo=UTC),
            region="west",
            server="server-1",
            from_reservation=None,
            to_reservation=into,
            from_host_profile="default",
            to_host_profile=None,
        )
        return self.servers.perform([request])[0].state

    def do(self, step: MoveStep, move: int = 1, into: str | None = "web") -> StepState:
        self.ask(step, move, into=into)
        self.at_s += 10_000.0
        return self.ask(step, move, into=into)


def test_a_step_takes_time_and_is_seen_when_it_ends() -> None:
    world = World()
    assert world.ask(MoveStep.JOIN) is StepState.RUNNING
    ends_s = world.servers.next_due_s
    world.servers.go_on(ends_s + 60.0)
    assert world.seen == [ends_s]
    assert world.ask(MoveStep.JOIN) is StepState.DONE
    assert world.servers.counts.joined == 1


def test_a_server_is_leaving_while_its_preempt_is_in_progress() -> None:
    world = World()
    seen = [world.servers.leaving[0]]
    for step in (MoveStep.PREEMPT, MoveStep.CLEAN):
        world.ask(step)
        seen.append(world.servers.leaving[0])
        world.servers.go_on(1e6)
        seen.append(world.servers.leaving[0])
    assert seen == [False, True, False, False, False]


def test_work_goes_on_though_its_answer_is_lost() -> None:
    world = World(lost=1.0)
    assert world.ask(MoveStep.JOIN) is StepState.UNKNOWN
    world.servers.go_on(1e6)
    assert world.servers.counts.joined == 1
    assert world.servers.counts.lost_answers == 1


def test_a_later_move_ends_an_older_one() -> None:
    world = World()
    world.ask(MoveStep.JOIN, move=1)
    assert world.do(MoveStep.ABORT, move=2) is StepState.DONE
    assert world.servers.counts.joined == 0
    assert world.ask(MoveStep.CLEAN, move=1) is StepState.FAILED


@pytest.mark.parametrize("cleaned", [True, False])
def test_an_unclean_join_is_wrong(cleaned: bool) -> None:
    world = World()
    world.do(MoveStep.JOIN, move=1, into="web")
    world.do(MoveStep.PREEMPT, move=2, into="batch")
    if cleaned:
        world.do(MoveStep.CLEAN, move=2, into="batch")
    world.do(MoveStep.JOIN, move=2, into="batch")
    assert bool(world.servers.counts.wrong) is not cleaned


def test_a_join_of_a_server_that_has_not_left_is_wrong() -> None:
    world = World()
    world.do(MoveStep.JOIN, move=1, into="web")
    world.do(MoveStep.JOIN, move=2, into="batch")
    assert "had not left web" in world.servers.counts.wrong[0]


def test_a_server_that_is_down_does_nothing() -> None:
    world = World()
    world.servers.fail(np.array([0]))
    assert world.do(MoveStep.JOIN) is StepState.FAILED
