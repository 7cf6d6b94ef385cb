"""The real capacity and traffic behind the systems that the orchestrator calls, and a record of every effect on them.

The systems do what they are asked once, some time after the request, and record it. They recognise a request by its
key. Each new key is a new order: the same under another key is done again.
"""

from __future__ import annotations

import hashlib
import heapq
import threading
import time
from dataclasses import dataclass

from soak.history import Recorder

_DELAY_S_MAX = 5.0
_FAILS, _BROKEN = 0.08, 0.04
"""Share of attempts that fail, and of actions that fail at every attempt."""
_FIRST_RRU = 0.125
"""Capacity of a reservation before its first resize: one that no plan asks for."""


@dataclass(slots=True)
class Order:
    """One attempt at an action. `state` is "under way", "done", "failed" or "replaced".

    value   the capacity of a reservation, or the share of a product's traffic that shall have moved in all
    """

    number: int
    key: str
    place: tuple[str, ...]
    value: float
    state: str = "under way"


class Systems:
    """The portals of all regions, and the traffic. The seed and the key of an order decide its luck.

    Any thread may use it. A newer order about the same place replaces one that is under way.
    """

    def __init__(self, recorder: Recorder, seed: int) -> None:
        self._recorder, self._seed = recorder, seed
        self._lock = threading.Lock()
        self._orders: dict[str, Order] = {}
        self._attempts: dict[str, int] = {}  # action -> its latest attempt
        self._rru: dict[tuple[str, ...], float] = {}
        self._due: list[tuple[float, str]] = []

    def order(self, key: str, place: tuple[str, ...], value: float) -> Order | None:
        """Return the order with a key, begun now if it is new; None if a later attempt has begun."""
        action, attempt = split_key(key)
        with self._lock:
            known = self._orders.get(key)
            if known is not None:
                return known
            if attempt < self._attempts.get(action, 0):
                return None
            self._attempts[action] = attempt
            for other in self._orders.values():
                if other.place == place and other.state == "under way":
                    other.state = "replaced"
                    self._record("replaced", other, by=key)
            order = self._orders[key] = Order(len(self._orders) + 1, key, place, value)
            self._record("asked", order)
            heapq.heappush(self._due, (time.monotonic() + _DELAY_S_MAX * self.luck("delay", key), key))
            return order

    def refuse(self, order: Order) -> bool:
        """Give up an order that is under way, for good, and return True; False if it is done or failed already."""
        with self._lock:
            if order.state != "under way":
                return False
            self._fail(order)
            return True

    def under_way(self, place: tuple[str, ...]) -> Order | None:
        """Return the order about a place that is under way; None if there is none."""
        with self._lock:
            found = (order for order in self._orders.values() if order.place == place and order.state == "under way")
            return next(found, None)

    def find(self, number: int) -> Order | None:
        """Return the order with a number; None if there is none."""
        with self._lock:
            return next((order for order in self._orders.values() if order.number == number), None)

    def rru(self, place: tuple[str, ...]) -> float:
        """Return the capacity of a reservation."""
        with self._lock:
            return self._rru.get(place, _FIRST_RRU)

    def do_by_hand(self, key: str, place: tuple[str, ...], value: float) -> None:
        """Do an action at once, as an operator does who took it over. A slow operator, after a later execution has
        begun there, does nothing.

        key   with attempt 0: no request has it
        """
        with self._lock:
            others = [one.key for one in self._orders.values() if one.place == place]
            if all(_execution(one) <= _execution(key) for one in others):
                self._do(Order(0, key, place, value), by="hand")

    def work(self, over: threading.Event) -> None:
        """Do the orders that are due, until `over` is set."""
        while not over.wait(0.02):
            with self._lock:
                while self._due and self._due[0][0] <= time.monotonic():
                    self._end(self._orders[heapq.heappop(self._due)[1]])

    def luck(self, about: str, key: str) -> float:
        """Return a number from 0 to 1 for a key."""
        digest = hashlib.blake2b(f"{self._seed} {about} {key}".encode(), digest_size=8).digest()
        return int.from_bytes(digest) / 2**64

    def _end(self, order: Order) -> None:
        if order.state != "under way":
            return
        broken = self.luck("broken", split_key(order.key)[0]) < _BROKEN
        if broken or self.luck("fails", order.key) < _FAILS:
            self._fail(order)
        else:
            order.state = "done"
            self._do(order, by="receiver")

    def _fail(self, order: Order) -> None:
        order.state = "failed"
        self._record("failed", order)

    def _do(self, order: Order, *, by: str) -> None:
        if order.place[0] == "reservation":
            self._rru[order.place] = order.value
        self._record("done", order, by=by)

    def _record(self, what: str, order: Order, **more: str) -> None:
        self._recorder.write("system", what=what, key=order.key, place=list(order.place), value=order.value, **more)


def _execution(key: str) -> int:
    return int(key.partition("/")[0])


def split_key(key: str) -> tuple[str, int]:
    """Return the action of a key, with its execution, and the attempt."""
    action, _, attempt = key.rpartition("/")
    return action, int(attempt)


def traffic_place(product: str, region: str, other: str) -> tuple[str, ...]:
    """Return the place of a shift. To bring traffic back is about the same place."""
    return ("traffic", product, *sorted((region, other)))


def reservation_place(region: str, reservation: str) -> tuple[str, ...]:
    """Return the place of a resize."""
    return ("reservation", region, reservation)
