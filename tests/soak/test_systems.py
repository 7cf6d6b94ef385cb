"""The portals and the traffic do each order once, however often it is asked, and answer as real ones do."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from libs.actuators.signature import SIGNATURE, Call, sign
from soak.history import History, Recorder
from soak.systems import Systems, reservation_place, split_key, traffic_place
from soak.systems_server import TOKEN, SystemsServer
from soak.world import SECRET

PLACE = reservation_place("east", "web")
KEY = "1/upsize/web/east/hw"


class Running:
    """Working systems, and their records. Nothing fails by chance."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "history.jsonl"
        self.recorder = Recorder(self.path)
        self.systems = Systems(self.recorder, 1)
        self.bad: set[str] = set()
        self.systems.luck = lambda about, key: 0.0 if about in self.bad else 0.99 if about != "delay" else 0.1  # type: ignore[method-assign]

    def told(self) -> list[tuple[str, str]]:
        return [(one["what"], one["key"]) for one in History.read(self.path).systems]

    def end(self, key: str) -> None:
        """Wait until an order has ended."""
        until(lambda: any(one in self.told() for one in (("done", key), ("failed", key))))


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240.0
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    running, over = Running(tmp_path), threading.Event()
    thread = threading.Thread(target=running.systems.work, args=(over,))
    thread.start()
    yield running
    over.set()
    thread.join()
    running.recorder.__exit__(None, None, None)


def test_an_order_is_carried_out_once(running: Running) -> None:
    orders = [running.systems.order(f"{KEY}/1", PLACE, 8.0) for _ in range(3)]
    assert len({id(order) for order in orders}) == 1
    running.end(f"{KEY}/1")
    running.systems.order(f"{KEY}/1", PLACE, 8.0)
    assert running.told() == [("asked", f"{KEY}/1"), ("done", f"{KEY}/1")]
    assert running.systems.rru(PLACE) == 8.0


def test_a_new_key_is_a_new_order_and_an_older_one_comes_too_late(running: Running) -> None:
    running.systems.order(f"{KEY}/2", PLACE, 8.0)
    running.end(f"{KEY}/2")
    assert running.systems.order(f"{KEY}/1", PLACE, 8.0) is None
    running.systems.order(f"{KEY}/3", PLACE, 8.0)
    running.end(f"{KEY}/3")
    assert [what for what, _ in running.told()] == ["asked", "done"] * 2


def test_a_newer_order_replaces_one_under_way(running: Running) -> None:
    running.systems.luck = lambda about, key: 0.9  # type: ignore[method-assign]  # a second of work
    there, back = traffic_place("shop", "a", "b"), traffic_place("shop", "b", "a")
    assert there == back
    first = running.systems.order("1/shift/shop/a/b/1", there, 0.2)
    running.systems.order("2/shift/shop/a/b/back/1", back, 0.2)
    running.end("2/shift/shop/a/b/back/1")
    assert first is not None
    assert first.state == "replaced"
    assert ("done", "1/shift/shop/a/b/1") not in running.told()


def test_what_failed_or_was_refused_is_never_done(running: Running) -> None:
    running.bad = {"fails"}
    running.systems.order(f"{KEY}/1", PLACE, 8.0)
    running.end(f"{KEY}/1")
    order = running.systems.order(f"{KEY}/2", PLACE, 9.0)
    assert order is not None
    assert running.systems.refuse(order)
    assert not running.systems.refuse(order)
    assert [what for what, _ in running.told()] == ["asked", "failed"] * 2


def test_by_hand_it_is_done_at_once(running: Running) -> None:
    running.systems.do_by_hand(f"{KEY}/0", PLACE, 8.0)
    assert running.systems.rru(PLACE) == 8.0
    assert running.told() == [("done", f"{KEY}/0")]
    running.systems.order(f"2/{KEY[2:]}/1", PLACE, 9.0)
    running.systems.do_by_hand(f"{KEY}/0", PLACE, 8.0)
    assert ("done", f"{KEY}/0") not in running.told()[1:], "a later execution has begun"


def test_a_key_has_an_action_and_an_attempt() -> None:
    assert split_key("1/shift/shop/a/b/12") == ("1/shift/shop/a/b", 12)


@pytest.fixture
def server(running: Running) -> Iterator[SystemsServer]:
    with SystemsServer(running.systems, running.recorder) as server:
        yield server


def portal(server: SystemsServer, method: str, rest: str, token: str = TOKEN, **given: object) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": f"{KEY}/1"}
    with httpx.Client(trust_env=False) as client:
        return client.request(method, f"{server.address}/portals/east/v1/{rest}", headers=headers, **given)  # type: ignore[arg-type]


def test_a_portal_answers_what_a_resize_needs(running: Running, server: SystemsServer) -> None:
    assert portal(server, "GET", "reservations?name=web", token="another").status_code == 401
    asked = {"kind": "resize", "reservation": "web", "spec": {"capacity_rru": 8.0}}
    made = portal(server, "POST", "capacity-requests", json=asked)
    assert made.status_code == 201
    running.end(f"{KEY}/1")
    request = portal(server, "GET", f"capacity-requests/{made.json()['capacity_request_id']}").json()
    assert request["status"]["phase"] == "granted"
    [reservation] = portal(server, "GET", "reservations?name=web").json()["items"]
    assert reservation["spec"]["capacity_rru"] == 8.0
    assert reservation["status"]["conditions"][0]["status"] == "True"
    running.bad = {"stale"}
    assert portal(server, "POST", "capacity-requests", json=asked).json()["code"] == "stale_generation"
    assert running.told() == [("asked", f"{KEY}/1"), ("done", f"{KEY}/1")]


def shift(server: SystemsServer, attempt: int, share: float) -> int:
    key = f"1/shift/shop/a/b/{attempt}"
    body = json.dumps({"product": "shop", "from_region": "a", "to_region": "b", "share": share}).encode()
    call = Call(method="POST", target="/traffic", key=key, body=body)
    headers = {SIGNATURE: sign(call, [SECRET.encode()], at_s=int(time.time())), "Idempotency-Key": key}
    with httpx.Client(trust_env=False) as client:
        return client.post(f"{server.address}/traffic", content=body, headers=headers).status_code


def test_traffic_is_shifted_and_some_orders_are_refused(running: Running, server: SystemsServer) -> None:
    assert shift(server, 1, 0.1) == 202
    running.end("1/shift/shop/a/b/1")
    assert shift(server, 1, 0.1) == 200
    running.bad = {"conflict"}
    assert shift(server, 2, 0.2) == 409
    assert ("failed", "1/shift/shop/a/b/2") in running.told()
    assert shift(server, 1, 0.1) == 200, "it was done before"


def test_no_call_is_answered_while_they_are_away(running: Running, server: SystemsServer) -> None:
    server.be_away(60.0)
    with pytest.raises(httpx.TransportError):
        portal(server, "GET", "reservations?name=web")
    assert [(one["how"], one["of"]) for one in History.read(running.path).unheard] == [("away", "systems")]
