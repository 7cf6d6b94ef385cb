"""The real servers behind the webhook that the mover calls, and a record of every step done on them.

The world trusts no one: it does a step once, some time after the request, and records it. Its answers get lost, come
late or are errors, but the work goes on. So the platform's beliefs can be compared with the record.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

from libs.actuators.signature import SIGNATURE, Call, is_signed
from soak.history import Json, Recorder
from soak.unreliable import UnreliableServer

SECRET = "a secret of the soak alone"  # noqa: S105  # for a receiver on loopback that lives for minutes
_DELAY_S_MAX = 1.5
_FAILS, _BROKEN, _BROKEN_CLEAN = 0.04, 0.1, 0.3
"""Share of attempts that fail, and of steps that fail at every attempt: all steps but cleaning, and cleaning.

Cleaning is rarer, so its share is larger.
"""


@dataclass(slots=True)
class _Work:
    """One attempt at one step. `state` is "under way", "done", "failed" or "dropped"."""

    step: Json
    state: str = "under way"


class World:
    """The real servers. Each step is done once, after a delay. The seed and the key of a step decide its luck.

    Any thread may use it.
    """

    def __init__(self, recorder: Recorder, seed: int) -> None:
        self._recorder, self._seed = recorder, seed
        self._lock = threading.Lock()
        self._works: dict[str, _Work] = {}
        self._done: set[tuple[int, str]] = set()
        self._newest: dict[tuple[str, str], int] = {}  # server -> its latest move
        self._due: list[tuple[float, str]] = []

    def ask(self, step: Json) -> tuple[int, str]:
        """Start a step if it is new, and return its state as an HTTP status and a message."""
        key, server = _key(step), (step["region"], step["server"])
        with self._lock:
            work = self._works.get(key)
            if work is None:
                if step["move_id"] < self._newest.get(server, 0):
                    return 410, "a later move has begun with this server"
                self._newest[server] = step["move_id"]
                work = self._begin(key, step)
            if work.state == "done":
                return 204, ""
            return (202, "") if work.state == "under way" else (422, f"the world could not: {work.state}")

    def do_by_hand(self, step: Json) -> None:
        """Do a step at once, as an operator does before a skip, unless it is done or a later move has begun.

        Two operators may see the same dead letter. The slower one must not clean a server that has joined meanwhile.
        """
        with self._lock:
            is_late = step["move_id"] < self._newest.get((step["region"], step["server"]), 0)
            if not is_late and (step["move_id"], step["step"]) not in self._done:
                self._do(step, by="hand")

    def work(self, over: threading.Event) -> None:
        """Do the steps that are due, until `over` is set."""
        while not over.wait(0.02):
            with self._lock:
                while self._due and self._due[0][0] <= time.monotonic():
                    self._end(self._works[heapq.heappop(self._due)[1]])

    def _begin(self, key: str, step: Json) -> _Work:
        """Start a step, and drop any other step in progress on the same server."""
        server = step["region"], step["server"]
        for other in self._works.values():
            if other.state == "under way" and (other.step["region"], other.step["server"]) == server:
                other.state = "dropped"
        work = self._works[key] = _Work(step)
        if (step["move_id"], step["step"]) in self._done:  # done by an earlier attempt whose answer was lost
            work.state = "done"
        else:
            heapq.heappush(self._due, (time.monotonic() + _DELAY_S_MAX * self.luck("delay", key) ** 3, key))
        return work

    def _end(self, work: _Work) -> None:
        if work.state != "under way":
            return
        whole = f"{work.step['move_id']}/{work.step['step']}"
        broken = _BROKEN_CLEAN if work.step["step"] == "clean" else _BROKEN
        if self.luck("broken", whole) < broken or self.luck("fails", _key(work.step)) < _FAILS:
            work.state = "failed"
        else:
            self._do(work.step, by="receiver")
            work.state = "done"

    def _do(self, step: Json, *, by: str) -> None:
        self._done.add((step["move_id"], step["step"]))
        names = ("region", "server", "move_id", "step", "attempt", "from_reservation", "to_reservation")
        self._recorder.write("world", by=by, **{name: step[name] for name in names})

    def luck(self, about: str, key: str) -> float:
        """Return a number from 0 to 1 for a key."""
        digest = hashlib.blake2b(f"{self._seed} {about} {key}".encode(), digest_size=8).digest()
        return int.from_bytes(digest) / 2**64


class Receiver(UnreliableServer):
    """The world's webhook."""

    of = "servers"

    def __init__(self, world: World, recorder: Recorder) -> None:
        super().__init__(world, recorder)
        self._world = world

    @property
    def url(self) -> str:
        """URL to which the mover sends its calls."""
        return f"{self.address}/steps"

    def allows(self, call: BaseHTTPRequestHandler, body: bytes) -> bool:
        """See UnreliableServer."""
        return is_ours(call, body)

    def answer(self, method: str, path: str, key: str, body: bytes) -> tuple[int, Json]:
        """See UnreliableServer."""
        status, message = self._world.ask(json.loads(body))
        return status, {"message": message} if message else {}


def is_ours(call: BaseHTTPRequestHandler, body: bytes) -> bool:
    """Return whether the platform signed a call."""
    key = call.headers.get("Idempotency-Key", "")
    signed = Call(method=call.command, target=call.path, key=key, body=body)
    return is_signed(call.headers.get(SIGNATURE, ""), signed, [SECRET.encode()], now_s=time.time())


def _key(step: Json) -> str:
    return f"{step['move_id']}/{step['step']}/{step['attempt']}"
