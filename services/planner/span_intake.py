"""Receive spans in one API process: cache names, bound the amount, and store spans."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from fastapi import Depends, Request

from libs.domain.spans import Spans
from libs.interchange.traces.intake import Intake
from libs.interchange.world.read import load_gateways
from libs.reconcile.environment import read_environment
from libs.store.planner.planning_inputs import load_current
from libs.store.platform.database import Database, Transaction
from libs.store.telemetry.span_batches import count_waiting, put_spans
from libs.store.telemetry.traced_names import is_name, number_products, number_services
from libs.web.problems import Problem
from services.planner.telemetry_settings import TelemetrySettings

KNOWN_S = 5.0
"""Seconds that a process caches entry points and names. After that it sees an operator's change."""
WAITING_S = 1.0
"""Seconds that a process caches the number of waiting spans. The bound may be exceeded by the spans of one second."""
RETRY_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The result of storing spans.

    unnamed: services whose spans were rejected, because there are too many names or the name is unusable.
    """

    spans: int
    rejected: int
    unnamed: tuple[str, ...]


@dataclass(slots=True)
class SpanIntake:
    """The intake of one process; threads share it. Its caches may be lost at any time."""

    database: Database
    settings: TelemetrySettings
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _bodies_bytes: int = 0
    _entry_points: Intake | None = None
    _services: dict[str, int] = field(default_factory=dict)
    _known_until: float = 0.0
    _waiting: int = 0
    _waiting_until: float = 0.0

    def enter(self, body_bytes: int) -> None:
        """Reserve room for a body before reading it; leave() must follow. Raises Problem (429) if there is no room."""
        self.require_room(0)
        with self._lock:
            if self._bodies_bytes and self._bodies_bytes + body_bytes > self.settings.trace_bodies_bytes:
                raise _full("Too many exports are in progress", 1)
            self._bodies_bytes += body_bytes

    def leave(self, body_bytes: int) -> None:
        """Release the room of a body."""
        with self._lock:
            self._bodies_bytes -= body_bytes

    def require_room(self, spans: int) -> None:
        """Raise Problem (429) if so many further spans would exceed the number that may wait to be summed."""
        with self._lock:
            count = time.monotonic() > self._waiting_until
            if count:  # this thread counts; meanwhile the others use the last count
                self._waiting_until = time.monotonic() + WAITING_S
        if count:
            with self.database.snapshot() as tx:
                waiting = count_waiting(tx).spans
            with self._lock:
                self._waiting = waiting
        with self._lock:
            if self._waiting + spans >= self.settings.spans_waiting_max:
                raise _full("Too many spans wait to be summed", RETRY_S)

    def reader(self) -> Intake:
        """Return a reader for one request, with today's entry points and no services yet."""
        with self._lock:
            if self._entry_points is None or time.monotonic() > self._known_until:
                self._entry_points, self._services = self._load_entry_points(), {}
                self._known_until = time.monotonic() + KNOWN_S
            return self._entry_points.afresh()

    def keep(self, spans: Spans, services: Sequence[str], *, named_by: str, rejected: int = 0) -> Kept:
        """Store spans, with services by their numbers in the store. Once this has returned, the answer may acknowledge
        them.

        named_by   the token that brings them: see libs.store.telemetry.names_by_token
        """
        self.require_room(len(spans))
        with self.database.write() as tx:
            kept = self.keep_in(tx, spans, services, named_by=named_by, rejected=rejected)
        with self._lock:
            self._waiting += kept.spans
        return kept

    def keep_in(
        self, tx: Transaction, spans: Spans, services: Sequence[str], *, named_by: str, rejected: int = 0
    ) -> Kept:
        """Store spans as `keep` does, in the caller's transaction. The caller has called require_room."""
        known = self._numbers(tx, services, named_by)
        service = np.array([known.get(name, -1) for name in services], np.int32)[spans.service]
        good = service >= 0
        taken = spans if good.all() else spans.take(good)
        rejected += len(spans) - len(taken)
        if len(taken) or rejected:
            put_spans(tx, replace(taken, service=service[good]), rejected=rejected)
        unnamed = tuple(name for name in services if name not in known)
        return Kept(spans=len(taken), rejected=rejected, unnamed=unnamed)

    def _numbers(self, tx: Transaction, services: Sequence[str], named_by: str) -> dict[str, int]:
        with self._lock:
            known = {name: self._services[name] for name in services if name in self._services}
        if len(known) < len(services):
            names = [name for name in services if is_name(name)]
            known = number_services(tx, names, most=self.settings.traced_services_max, named_by=named_by)
            with self._lock:
                self._services.update(known)
        return known

    def _load_entry_points(self) -> Intake:
        with self.database.write() as tx:
            found = load_current(tx, "gateways")
            if found is None:
                return Intake(gateways={})
            gateways = load_gateways({"gateways.parquet": found[1]})
            ids = number_products(tx, [str(name) for name in gateways.products])
        return Intake(gateways={at: ids[str(gateways.products[p])] for at, p in gateways.operations.items()})


def _full(what: str, retry_s: int) -> Problem:
    detail = f"{what}: try again in {retry_s} s. Nothing of this export was taken."
    return Problem(429, "rate_limited", detail, headers={"Retry-After": str(retry_s)})


def _intake(request: Request) -> SpanIntake:
    state = request.app.state
    if not hasattr(state, "span_intake"):
        state.span_intake = SpanIntake(state.context.database, read_environment(TelemetrySettings))
    found = state.span_intake
    assert isinstance(found, SpanIntake)
    return found


SpanDoor = Annotated[SpanIntake, Depends(_intake)]
"""A parameter of a route. It is the span intake of this process."""
