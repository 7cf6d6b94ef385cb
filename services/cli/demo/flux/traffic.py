"""The traffic system of the demo: it moves traffic as it is asked, measures it, and sends spans, usage and traffic."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import orjson

from libs.reconcile.clock import Clock
from libs.simulator.shop import Shop
from services.cli.client import Client
from services.cli.demo.flux.outside import Document
from services.cli.demo.flux.record import Moment, held_now

_TRACES = 60
"""Traces of each product in one export. There is one of every hour, so a plan reads as many on a slow machine."""
_EVERY_MINUTES = 60
"""Simulated minutes between two exports of measurements."""


@dataclass(slots=True)
class TrafficSystem:
    """Moves traffic between regions.

    reader   a client that may read reservations; None: the platform is not up yet
    begins   the midnight at which the shop's minutes begin
    moved    shift of an execution -> the share that it has moved
    shifts   the changes of traffic, in order of time
    """

    shop: Shop
    clock: Clock
    begins: datetime
    reader: Client | None = None
    moved: dict[str, float] = field(default_factory=dict)
    shifts: list[Moment] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)
    _sent: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def minute(self) -> float:
        """Return the minutes since the beginning."""
        return (self.clock.now() - self.begins) / timedelta(minutes=1)

    def shift(self, body: Document) -> None:
        """Move traffic until as much of it has moved as the call says. A repeated call does nothing."""
        with self._lock:
            key = str(body["key"])
            if key in self._keys:
                return
            self._keys.add(key)
            name = key.rpartition("/")[0]
            more = body["share"] - self.moved.get(name, 0.0)
            self.moved[name] = body["share"]
            self.shop.move(self.minute(), body["product"], body["from_region"], body["to_region"], more)
            self.look()

    def look(self) -> None:
        """Add the present traffic, and what every service holds now, to the record."""
        assert self.reader is not None
        self.shifts.append(Moment(at=self.clock.now(), shares=self.shop.now(), held=held_now(self.reader)))

    def send(self, telemetry: Client, until: int) -> None:
        """Send the measurements of all whole hours before a minute that were not sent yet."""
        until -= until % _EVERY_MINUTES
        if until <= self._sent:
            return
        with self._lock:
            usage, traffic = self.shop.measured(self._sent, until)
        zero = self.begins.isoformat()
        for noun, table in (("usage", usage), ("traffic", traffic)):
            telemetry.post_content(f"/v1/{noun}", table.encode(), "text/csv", timeout_s=60.0, minute_zero=zero)
        zero_ns = int(self.begins.timestamp()) * 10**9
        for minute in range(self._sent, until, _EVERY_MINUTES):
            export = orjson.dumps(self.shop.spans(_TRACES, minute, zero_ns=zero_ns))
            telemetry.post_content("/v1/traces", export, "application/json", timeout_s=60.0)
        self._sent = until
