"""The world does each step once, however often it is asked, and however it answers."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from libs.actuators.signature import SIGNATURE, Call, sign
from soak.history import History, Json, Recorder
from soak.unreliable import TIMEOUT_S
from soak.world import SECRET, Receiver, World

KINDLY = 1
"""A seed that breaks none of the steps below."""


def step(move: int = 1, name: str = "join", attempt: int = 1, server: str = "server-1") -> Json:
    said = {"move_id": move, "step": name, "attempt": attempt, "region": "soak", "server": server}
    return said | {"from_reservation": None, "to_reservation": "web"}


class Running:
    """A working world and its records."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "history.jsonl"
        self.recorder = Recorder(self.path)
        self.world = World(self.recorder, KINDLY)

    def ended(self, asked: Json) -> int:
        return until(lambda: (status := self.world.ask(asked)[0]) != 202 and status)

    def done(self) -> list[tuple[int, str, str]]:
        return [(one["move_id"], one["step"], one["by"]) for one in History.read(self.path).world]


def until(condition: Callable[[], int | bool]) -> int:
    deadline = time.monotonic() + 240.0
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return int(found)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    running, over = Running(tmp_path), threading.Event()
    thread = threading.Thread(target=running.world.work, args=(over,))
    thread.start()
    yield running
    over.set()
    thread.join()
    running.recorder.__exit__(None, None, None)


def test_a_step_is_done_once_however_often_it_is_asked(running: Running) -> None:
    assert running.ended(step()) == 204
    assert [running.world.ask(step())[0] for _ in range(3)] == [204] * 3
    assert running.done() == [(1, "join", "receiver")]


def test_it_is_done_though_nobody_asks_again(running: Running) -> None:
    running.world.ask(step())
    until(lambda: bool(running.done()))


def test_a_later_attempt_at_what_was_done_is_done(running: Running) -> None:
    assert running.ended(step()) == 204
    assert running.world.ask(step(attempt=2))[0] == 204
    assert len(running.done()) == 1


def test_a_later_move_ends_what_an_older_one_began(running: Running) -> None:
    running.world.ask(step(1))
    assert running.ended(step(2, "preempt")) == 204
    assert running.world.ask(step(1))[0] == 422
    assert running.world.ask(step(1, "clean"))[0] == 410
    assert running.done() == [(2, "preempt", "receiver")]


def test_the_hand_of_an_operator_is_recorded(running: Running) -> None:
    running.world.do_by_hand(step(5, "clean"))
    assert running.done() == [(5, "clean", "hand")]
    assert running.world.ask(step(5, "clean", attempt=2))[0] == 204


def test_of_two_operators_one_does_it_and_neither_after_a_later_move(running: Running) -> None:
    for _ in range(2):
        running.world.do_by_hand(step(5, "clean"))
    assert running.ended(step(7, "preempt")) == 204
    running.world.do_by_hand(step(6, "clean"))
    assert running.done() == [(5, "clean", "hand"), (7, "preempt", "receiver")]


def call(receiver: Receiver, asked: Json, secret: str = SECRET) -> int:
    body = json.dumps(asked).encode()
    signed = Call(method="POST", target="/steps", key="", body=body)
    headers = {SIGNATURE: sign(signed, [secret.encode()], at_s=int(time.time()))}
    try:
        with httpx.Client(trust_env=False, timeout=TIMEOUT_S) as client:
            return client.post(receiver.url, content=body, headers=headers).status_code
    except httpx.TransportError:
        return 0


def test_answers_get_lost_come_late_and_are_errors_and_the_work_is_done(tmp_path: Path) -> None:
    with Recorder(tmp_path / "history.jsonl") as recorder:
        world = World(recorder, KINDLY)
        with Receiver(world, recorder) as receiver:
            assert call(receiver, step(), "another secret") == 401
            statuses = {call(receiver, step(number, server=f"server-{number}")) for number in range(100)}
            until(lambda: len(History.read(tmp_path / "history.jsonl").world) > 80)
            receiver.be_away(30.0)
            assert call(receiver, step()) == 0
        assert {0, 202, 500} <= statuses
    how = {one["how"] for one in History.read(tmp_path / "history.jsonl").unheard}
    assert {"lost", "late", "error", "away"} <= how
